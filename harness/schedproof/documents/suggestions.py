"""Suggests names that are similar to what the user wrote."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection

_NEAR = 3
"""The maximum number of suggestions."""


def nearest(word: str, options: Collection[str]) -> str | None:
    """Return the option that `word` most likely misspells; None if none is similar."""
    folded = {_fold(option): option for option in options}
    close = difflib.get_close_matches(_fold(word), folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(word: str, options: Collection[str], *, shown: Callable[[str], str] = str) -> str:
    """Return a fix: the nearest option, or all options if none is similar."""
    guess = nearest(word, options)
    if guess is not None:
        return f"did you mean {shown(guess)}?"
    return f"one of: {', '.join(shown(option) for option in options)}" if options else "leave it out"


def did_you_mean_one_of(word: str, options: Collection[str], *, listed_by: str) -> str:
    """Return a fix for one of many names: up to three similar ones, or the command that lists all.

    The part behind a slash is enough.
    """
    folded = [(_fold(name), option) for option in options for name in (option, option.rpartition("/")[2])]
    close = difflib.get_close_matches(_fold(word), [name for name, _ in folded], n=2 * _NEAR)
    near = [option for match in close for name, option in folded if name == match]
    near += [option for option in options if len(word) > _NEAR and _fold(word) in _fold(option)]
    if not near:
        return f"`{listed_by}` lists them"
    *others, last = sorted(dict.fromkeys(near), key=lambda option: option.count("/"))[:_NEAR]
    first = f"{', '.join(others)} or " if others else ""
    return f"did you mean {first}{last}? `{listed_by}` lists all"


def _fold(word: str) -> str:
    # onMissing, on_missing and On-Missing all mean on-missing.
    return word[:100].replace("-", "").replace("_", "").lower()
