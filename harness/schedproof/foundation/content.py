"""Finds what the harness is pointed at, in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def content(*parts: str) -> Path:
    """The path of shipped content, such as `content("clusters", "binaries.lock.yaml")`.

    The first part is one of `suites`, `fixtures` and `clusters`. They are siblings of `harness/`
    in a checkout, and the wheel carries them in `schedproof/content/`.
    """
    root = _PACKAGE.parent.parent if is_checkout() else _PACKAGE / "content"
    return root.joinpath(*parts)


def is_checkout() -> bool:
    """Whether this is a checkout, which has all content; an installed wheel has what users need of it."""
    return not (_PACKAGE / "content").is_dir()
