"""The options of a run: `--NAME` of `schedproof run`, and `--sched-NAME` of pytest."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CANDIDATE_HELP", "OPTIONS", "Option", "add_options", "given"]

CANDIDATE_HELP = "a candidate.yaml, its folder, or the name of a shipped candidate"


@dataclasses.dataclass(frozen=True)
class Option:
    """One option. A repeated one collects a list."""

    name: str
    metavar: str
    help: str
    type: Callable[[str], Any] = str
    repeated: bool = False
    default: Any = None


OPTIONS = (
    Option("cluster", "NAME", "where to run: embedded (default)", default="embedded"),
    Option("cluster-file", "FILE", "a cluster definition instead of clusters/NAME.yaml", Path),
    Option("nodes", "N", "the number of identical nodes", int),
    Option("profile", "P", "only clauses of this profile", repeated=True),
    Option("clause", "ID", "only this clause", repeated=True),
    Option("report", "DIR", "where report and evidence go (default: schedproof-results/TIME)", Path),
    Option("seed", "N", "what the cases draw from (default: random, printed)", int),
    Option("binary", "NAME=PATH", "use this binary, such as kube-scheduler=./kube-scheduler", repeated=True),
)


def add_options(add: Callable[..., object], *, prefix: str) -> None:
    """Declare all options with argparse's, or pytest's, way of adding one."""
    for option in OPTIONS:
        flag = f"--{prefix}{option.name}"
        if option.repeated:
            text = f"{option.help}; may be repeated"
            add(flag, action="append", default=[], metavar=option.metavar, help=text)
        else:
            add(flag, type=option.type, default=option.default, metavar=option.metavar, help=option.help)


def given(value_of: Callable[[str], Any], *, prefix: str, without: frozenset[str] = frozenset()) -> list[str]:
    """The command-line arguments that say again what was said, but for those named in `without`.

    Args:
        value_of: an option's value, by its name.
        prefix: as for `add_options`.
        without: names to leave out.
    """
    values = {option: value_of(option.name) for option in OPTIONS if option.name not in without}
    return [
        f"--{prefix}{option.name}={one}"
        for option, value in values.items()
        for one in (value if option.repeated else [value])
        if one != option.default
    ]
