"""Reference pages of commands and options, from argparse and the table of options."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from prose import escaped

from schedproof.cli.main import command_line
from schedproof.run.options import BENCH_OPTIONS, OPTIONS, Option


def command_pages() -> dict[str, str]:
    """Return paths, relative to the folder of all pages, to Markdown."""
    parser = command_line()
    parser.prog = "schedproof"
    return {
        "reference/commands.md": "# Commands\n\n" + "\n".join(_commands(parser, "schedproof")),
        "reference/pytest.md": _pytest(),
    }


def _commands(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    for action in parser._actions:  # argparse has no public way to ask
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield from _command(command, f"{name} {word}")


def _command(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    yield f"## {name}\n"
    if parser.description:
        yield f"{escaped(parser.description)}\n"
    yield f"```console\n$ {name} {_shape(parser)}\n```\n"
    if rows := [_row(action) for action in parser._actions if _is_listed(action)]:
        yield "| argument | meaning |\n|---|---|"
        yield from rows
        yield ""
    if parser.epilog:
        yield f"```text\n{parser.epilog}\n```\n"
    yield from _commands(parser, name)


def _shape(parser: argparse.ArgumentParser) -> str:
    """Return the arguments as they follow the command's name."""
    words = {"+": "{0} ...", "?": "[{0}]"}
    shown = [action for action in parser._actions if _is_listed(action)]
    named = [action for action in shown if not action.option_strings]
    places = [words.get(str(action.nargs), "{0}").format(action.metavar or action.dest) for action in named]
    return " ".join([*(["[OPTIONS]"] if len(places) < len(shown) else []), *places])


def _is_listed(action: argparse.Action) -> bool:
    return not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))


def _row(action: argparse.Action) -> str:
    value = action.metavar or ("" if action.nargs == 0 else " or ".join(action.choices or ()))
    flags = [f"`{flag} {value}".rstrip() + "`" for flag in action.option_strings] or [f"`{value}`"]
    return f"| {', '.join(flags)} | {escaped(action.help or '')} |"


_PYTEST = """\
# Options of pytest

With `pytest SUITES`, or in a test module with `from schedproof.suites import *`, the options of `schedproof run` have
the prefix `--sched-`. `--sched-candidate FILE` names the candidate, and may be repeated.

{run}

## Benchmarks

`pytest SUITES/benchmark` takes those of `schedproof bench`:

{bench}
"""


def _pytest() -> str:
    return _PYTEST.format(run="\n".join(_table(OPTIONS)), bench="\n".join(_table(BENCH_OPTIONS)))


def _table(options: Iterable[Option]) -> Iterator[str]:
    yield "| option | meaning |\n|---|---|"
    for option in options:
        flag = f"--sched-{option.name} {option.metavar}".strip()
        yield f"| `{flag}` | {escaped(option.help)}{'; may be repeated' if option.repeated else ''} |"
