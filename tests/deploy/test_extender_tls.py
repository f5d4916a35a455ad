"""The TLS configuration with which kube-scheduler calls an extender; what it would refuse is an error."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.kinds import TlsConfig
from schedproof.candidate.placeholders import CERTIFICATES
from schedproof.deploy.extender_tls import ExtenderTls
from schedproof.documents.reading import adapter
from schedproof.foundation.errors import CandidateError

MADE = {name: f"pem of {name}" for name in CERTIFICATES}
VALUES = {name: f"/files/{file}" for name, file in CERTIFICATES.items()}


def tls(config: dict[str, Any], certificates: dict[str, str] | None) -> ExtenderTls:
    spec: Any = SimpleNamespace(config=SimpleNamespace(tls_config=adapter(TlsConfig).validate_python(config)))
    return ExtenderTls(spec, Path("candidate.yaml"), {**VALUES, "address": "here"}, certificates)


def test_configured_certificate_files_are_passed_to_kube_scheduler() -> None:
    assert tls({"caFile": "/own/ca.pem", "serverName": "{address}"}, None).config() == {
        "caFile": "/own/ca.pem", "serverName": "here",
    }  # fmt: skip


def test_generated_certificates_are_passed_to_kube_scheduler_as_data() -> None:
    found = tls({}, MADE).config()
    assert found.pop("serverName") == "localhost"
    assert found == {
        name.replace("File", "Data"): base64.b64encode(pem.encode()).decode() for name, pem in MADE.items()
    }


def test_if_any_generated_certificate_is_named_only_the_named_are_passed() -> None:
    found = tls({"caFile": "{caFile}", "serverName": "other"}, MADE).config()
    assert found == {"caData": base64.b64encode(MADE["caFile"].encode()).decode(), "serverName": "other"}


def test_a_file_that_is_not_a_certificate_is_a_candidate_error(tmp_path: Path) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text("no certificate")
    with pytest.raises(CandidateError, match=r"candidate\.yaml: extender\.config\.tlsConfig"):
        tls({"caFile": str(wrong)}, None).trust("name")
