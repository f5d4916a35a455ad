"""The system and processor for which binaries are built."""

from __future__ import annotations

import platform

_GOARCH = {"x86_64": "amd64", "aarch64": "arm64"}


def machine() -> str:
    """Return the system and processor in Go's names, such as `linux-amd64`."""
    name = platform.machine()
    return f"linux-{_GOARCH.get(name, name)}"
