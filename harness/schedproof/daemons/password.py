"""A password of the harness, which Prometheus checks by its bcrypt hash (`--web.config.file`)."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from urllib.parse import unquote, urlsplit

import bcrypt

USER = "schedproof"
_ROUNDS = 4
"""The base-2 logarithm of bcrypt's rounds: its minimum is enough for a random password."""


def protect(web_config: Path) -> str:
    """Write a web configuration that refuses requests without a new password; return the password."""
    password = secrets.token_urlsafe(24)
    hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(_ROUNDS)).decode()
    web_config.touch(mode=0o600)
    web_config.write_text(json.dumps({"basic_auth_users": {USER: hashed}}))
    return password


def authorization(url: str) -> dict[str, str]:
    """Return the Authorization header for the user and password in a URL; none if it has no user."""
    base = urlsplit(url)
    if base.username is None:
        return {}
    pair = f"{unquote(base.username)}:{unquote(base.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
