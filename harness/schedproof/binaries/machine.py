"""The machine that binaries are for."""

from __future__ import annotations

import platform

_GOARCH = {"x86_64": "amd64", "aarch64": "arm64"}


def machine() -> str:
    """The system and processor as Go names them, such as `linux-amd64`."""
    name = platform.machine()
    return f"linux-{_GOARCH.get(name, name)}"
