"""Secrets are removed from what is kept and shown; other text stays."""

from __future__ import annotations

import pytest

from schedproof.foundation.redaction import REDACTED, Secrets, is_secret_name

SECRET = "Tr0ub4dor&3/x"


@pytest.mark.parametrize(
    "name",
    ["API_TOKEN", "--db-password", "clientSecret", "SECRET", "GITHUB_TOKEN", "PROM_PASSWORD", "apiKey", "API_KEY",
     "KEY", "clientKeyData", "AWS_SECRET_ACCESS_KEY", "authorization"],
)  # fmt: skip
def test_names_of_secrets_are_recognized(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "LOG_LEVEL", "TOKEN_FILE", "key", "topologyKey", "PARTITION_KEY", "keyboard", "SSH_AUTH_SOCK", "TOKEN_URL",
     "PUBLIC_KEY", "monkey", "tokenizer"],
)  # fmt: skip
def test_other_names_are_not_names_of_secrets(name: str) -> None:
    assert not is_secret_name(name)


def learned() -> Secrets:
    secrets = Secrets()
    secrets.learn({"API_TOKEN": SECRET, "LOG_LEVEL": "debug-4711", "PROMETHEUS": "http://me:hunter2hunter@prom:9090"})
    secrets.learn_all({"command": ["./it", "--password", "s3cret word", "--token=abc/def/123", "--verbose"]})
    return secrets


@pytest.mark.parametrize("secret", [SECRET, "hunter2hunter", "s3cret word", "abc/def/123"])
def test_a_learned_secret_is_redacted_in_any_text(secret: str) -> None:
    assert learned().redact(f"refused ({secret})!") == f"refused ({REDACTED})!"


def test_values_of_other_names_are_not_redacted() -> None:
    assert learned().redact("level debug-4711 of ./it --verbose") == "level debug-4711 of ./it --verbose"


@pytest.mark.parametrize(
    "value", ["true", "8080", "/var/run/token", "{kubeconfig}", "http://localhost:9090", "short", "kubernetes", "",
              "topology.kubernetes.io/zone", "least-traffic", "node-1"],
)  # fmt: skip
def test_common_values_are_not_learned_as_secrets(value: str) -> None:
    secrets = Secrets()
    secrets.learn({"TOKEN": value, "SECRET": value})
    assert secrets.redact(f"it said {value} of node-1") == f"it said {value} of node-1"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("GET http://me:pass@prom:9090/api", f"GET http://me:{REDACTED}@prom:9090/api"),
        ("Authorization: Bearer abcdef123456", f"Authorization: Bearer {REDACTED}"),
        ("'authorization': 'Basic bWU6cGFzcw=='", f"'authorization': 'Basic {REDACTED}'"),
        ("got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl!", f"got {REDACTED}!"),
        ('{"password": "hunter2", "user": "me"}', f'{{"password": "{REDACTED}", "user": "me"}}'),
        ("/api/v1/query?token=abcdef123&query=up", f"/api/v1/query?token={REDACTED}&query=up"),
        ("db_password=hunter2!", f"db_password={REDACTED}"),
    ],
)
def test_text_in_the_form_of_a_secret_is_redacted(text: str, redacted: str) -> None:
    assert Secrets().redact(text) == redacted
    assert Secrets().redact(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    ["http://127.0.0.1:9090/api", "bearer token authentication", "no secret of that name", "tokens are missing",
     "key: 5", "2024-01-01T00:00:00Z user@host", 'secrets "x" is forbidden'],
)  # fmt: skip
def test_other_text_is_not_redacted(text: str) -> None:
    assert Secrets().redact(text) == text


def test_documents_are_redacted_by_names_of_fields_and_options() -> None:
    document = {
        "env": {"API_TOKEN": "x", "LOG_LEVEL": "debug", "TOKEN_FILE": "/run/token", "USE_TOKEN": "true"},
        "command": ["./it", "--token", "y", "--level", "debug", "--password=hunter2"],
        "affinity": [{"key": "zone", "operator": "In"}],
        "port": 8080,
    }
    assert Secrets().redact_all(document) == {
        "env": {"API_TOKEN": REDACTED, "LOG_LEVEL": "debug", "TOKEN_FILE": "/run/token", "USE_TOKEN": "true"},
        "command": ["./it", "--token", REDACTED, "--level", "debug", f"--password={REDACTED}"],
        "affinity": [{"key": "zone", "operator": "In"}],
        "port": 8080,
    }
