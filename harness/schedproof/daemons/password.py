"""A password of the harness, which Prometheus checks by its bcrypt hash (`--web.config.file`)."""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import secrets
from pathlib import Path
from urllib.parse import unquote, urlsplit

from schedproof.foundation.errors import HostError

USER = "schedproof"
_SALT = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_LIBRARIES = ("libcrypt.so.1", "libcrypt.so.2")
"""Of Debian and Ubuntu; of Fedora. Python's module `crypt` was removed in 3.13."""


def protect(web_config: Path) -> str:
    """Write a web configuration that refuses requests without a new password; return the password.

    Raises:
        HostError: this machine's libcrypt has no bcrypt.
    """
    password = secrets.token_urlsafe(24)
    web_config.touch(mode=0o600)
    web_config.write_text(json.dumps({"basic_auth_users": {USER: _bcrypt(password)}}))
    return password


def authorization(url: str) -> dict[str, str]:
    """Return the Authorization header for the user and password in a URL; none if it has no user."""
    base = urlsplit(url)
    if base.username is None:
        return {}
    pair = f"{unquote(base.username)}:{unquote(base.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _bcrypt(password: str) -> str:
    # The password is random, so 2^4 rounds, the minimum, are enough.
    # The last of the 22 characters has two bits: "O" is one of its four possible values.
    salt = "$2b$04$" + "".join(secrets.choice(_SALT) for _ in range(21)) + "O"
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):
            crypt = ctypes.CDLL(name).crypt
            crypt.restype = ctypes.c_char_p
            hashed: bytes | None = crypt(password.encode(), salt.encode())
            if hashed and hashed.startswith(b"$2b$"):
                return hashed.decode()
    raise HostError("this machine's libcrypt has no bcrypt", remedy="apt-get install libcrypt1")
