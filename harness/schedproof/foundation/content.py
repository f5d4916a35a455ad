"""Finds the shipped content, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def content(*parts: str) -> Path:
    """The path of shipped content, for example `content("clusters", "binaries.lock.yaml")`.

    The first part is one of `suites`, `fixtures` and `clusters`. They are siblings of `harness/` in a checkout, and are
    in `schedproof/content/` in the wheel.
    """
    root = _PACKAGE.parent.parent if is_checkout() else _PACKAGE / "content"
    return root.joinpath(*parts)


def is_checkout() -> bool:
    """Whether this is a checkout, which has all content; an installed wheel has only what users need."""
    return not (_PACKAGE / "content").is_dir()
