"""A password that only the harness knows, as Prometheus checks it: by its bcrypt hash (`--web.config.file`)."""

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
"""Debian's and Ubuntu's; Fedora's. Python's own module `crypt` is gone since 3.13."""


def protect(web_config: Path) -> str:
    """Write a web configuration that refuses all requests without a fresh password; returns the password.

    Raises:
        HostError: this machine's C library has no bcrypt.
    """
    password = secrets.token_urlsafe(24)
    web_config.touch(mode=0o600)
    web_config.write_text(json.dumps({"basic_auth_users": {USER: _bcrypt(password)}}))
    return password


def authorization(url: str) -> dict[str, str]:
    """The header by which a request shows the user and password of a server's URL; none where it has none."""
    base = urlsplit(url)
    if base.username is None:
        return {}
    pair = f"{unquote(base.username)}:{unquote(base.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _bcrypt(password: str) -> str:
    # The password is random: 2^4 rounds, the fewest that there are, protect it as well as more would.
    # The last of the 22 characters stands for two bits: "O" is one of the four that it may be.
    salt = "$2b$04$" + "".join(secrets.choice(_SALT) for _ in range(21)) + "O"
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):
            crypt = ctypes.CDLL(name).crypt
            crypt.restype = ctypes.c_char_p
            found: bytes | None = crypt(password.encode(), salt.encode())
            if found and found.startswith(b"$2b$"):
                return found.decode()
    raise HostError("no bcrypt in this machine's libcrypt", remedy="apt-get install libcrypt1")
