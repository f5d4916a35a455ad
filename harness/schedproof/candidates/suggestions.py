"""The nearest thing that somebody may have meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["did_you_mean", "nearest"]


def nearest(word: str, options: Collection[str]) -> str | None:
    """The option that `word` most likely misspells, if any is near."""
    folded = {_fold(option): option for option in options}
    close = difflib.get_close_matches(_fold(word), folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(word: str, options: Collection[str], *, shown: Callable[[str], str] = str) -> str:
    """A fix: the nearest option, or where none is near all of them."""
    guess = nearest(word, options)
    if guess is not None:
        return f"did you mean {shown(guess)}?"
    return f"one of: {', '.join(shown(option) for option in options)}" if options else "leave it out"


def _fold(word: str) -> str:
    # onMissing, on_missing and On-Missing are all meant to be on-missing.
    return word[:100].replace("-", "").replace("_", "").lower()
