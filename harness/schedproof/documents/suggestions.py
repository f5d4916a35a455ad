"""The nearest name to what was written."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection

_NEAR = 3
"""As many are suggested."""


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


def did_you_mean_one_of(word: str, options: Collection[str], *, listed_by: str) -> str:
    """A fix for names of which there are many: up to three near ones, or the command that lists all.

    The part behind a slash is often all that people remember.
    """
    folded = [(_fold(name), option) for option in options for name in (option, option.rpartition("/")[2])]
    close = difflib.get_close_matches(_fold(word), [name for name, _ in folded], n=2 * _NEAR)
    near = [option for one in close for name, option in folded if name == one]
    near += [option for option in options if len(word) > _NEAR and _fold(word) in _fold(option)]
    if not near:
        return f"`{listed_by}` lists them"
    *others, last = sorted(dict.fromkeys(near), key=lambda option: option.count("/"))[:_NEAR]
    first = f"{', '.join(others)} or " if others else ""
    return f"did you mean {first}{last}? `{listed_by}` lists all"


def _fold(word: str) -> str:
    # onMissing, on_missing and On-Missing are all meant to be on-missing.
    return word[:100].replace("-", "").replace("_", "").lower()
