"""Finds what the harness is pointed at, in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def content(*parts: str) -> Path:
    """The path of shipped content, such as `content("clusters", "binaries.lock.yaml")`.

    The first part is one of `suites`, `fixtures` and `clusters`. They are siblings of `harness/`
    in a checkout, and the wheel carries them in `schedproof/content/`.
    """
    installed = _PACKAGE / "content"
    root = installed if installed.is_dir() else _PACKAGE.parent.parent
    return root.joinpath(*parts)
