"""Shell completion, if argcomplete is installed (`pip install 'schedproof[completion]'`)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any


def complete(parser: argparse.ArgumentParser) -> None:
    """Complete a command line and exit, if the shell requests it; otherwise return at once."""
    if "_ARGCOMPLETE" not in os.environ:  # argcomplete's protocol
        return
    import argcomplete

    for action in _actions(parser):
        if completer := _COMPLETERS.get(action.dest):
            action.completer = completer  # type: ignore[attr-defined] # where argcomplete looks for it
    argcomplete.autocomplete(parser)


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    """The options of a parser, and those of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                yield from _actions(command)


def _candidates(prefix: str, **_: Any) -> list[str]:
    from argcomplete.completers import FilesCompleter

    from schedproof.candidate.shipped import shipped_names

    return [*shipped_names(), *FilesCompleter()(prefix)]


def _clauses(**_: Any) -> list[str]:
    from schedproof.judge.catalogue import CATALOGUE

    return list(CATALOGUE)


def _profiles(**_: Any) -> list[str]:
    from schedproof.candidate.profiles import profile_of
    from schedproof.judge.catalogue import CATALOGUE

    return sorted(set(map(profile_of, CATALOGUE)))


def _kinds(**_: Any) -> list[str]:
    return ["controller", "extender", "plugin"]


_COMPLETERS: dict[str, Callable[..., list[str]]] = {
    "candidates": _candidates, "candidate": _candidates, "clause": _clauses, "clauses": _clauses,
    "profile": _profiles, "kind": _kinds,
}  # fmt: skip
"""The completer of an option or argument, by its name."""
