"""The options of a run: `--NAME` of `schedproof run`, and `--sched-NAME` of pytest."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

__all__ = ["BENCH_OPTIONS", "CANDIDATE_HELP", "CLUSTER_OPTIONS", "OPTIONS", "Option", "add_options", "given"]

CANDIDATE_HELP = "a candidate.yaml, its folder, or the name of a shipped candidate"


@dataclasses.dataclass(frozen=True)
class Option:
    """One option. A repeated one collects a list."""

    name: str
    metavar: str
    help: str
    type: Callable[[str], Any] = str
    repeated: bool = False
    flag: bool = False
    """Whether it takes no value: given or not."""
    default: Any = None


CLUSTER_OPTIONS = (
    Option("cluster", "NAME", "where to run: embedded (default), kind, or existing", default="embedded"),
    Option("cluster-file", "FILE", "embedded, kind: a cluster definition instead of clusters/NAME.yaml", Path),
    Option("nodes", "N", "embedded, kind: the number of identical nodes", int),
    Option("deploy", "WAY", "how candidates run: process, pod (default on kind), or control-plane"),
    Option("keep-cluster", "", "kind: let it run on, and use it again the next time", flag=True, default=False),
    Option("cluster-name", "NAME", "kind: the name of the cluster"),
    Option("node-image", "REF", "kind: the image of the nodes (default: kind's own, or one that is built here)"),
    Option("kubeconfig", "FILE", "existing: how the cluster is reached", Path),
    Option("context", "NAME", "existing: a context of the kubeconfig (default: the current one)"),
    Option("prometheus", "URL", "existing: the Prometheus that knows the nodes' traffic"),
    Option("namespace-prefix", "PREFIX", "existing: how the names of the namespaces begin that are made in it"),
    Option("allow-node-changes", "", "existing: nodes may be labelled, tainted, added", flag=True, default=False),
    Option("audit-log", "FILE", "existing: the apiserver's audit log, as this machine can read it", Path),
    Option("callback-address", "ADDRESS", "existing: this machine's address as the apiserver reaches it"),
)
"""What `Settings` has a field for, of the same name."""

OPTIONS = (
    *CLUSTER_OPTIONS,
    Option("profile", "P", "only clauses of this profile", repeated=True),
    Option("clause", "ID", "only this clause", repeated=True),
    Option(
        "surface",
        "NAME",
        "normalization: only this surface: python, extender, plugin, normalize-score, scheduler",
        repeated=True,
    ),
    Option("cases", "N", "normalization: how many for each clause: quick (default), ci, thorough, or a number"),
    Option("replay", "ID", "normalization: only this case, which failed before"),
    Option("report", "DIR", "where report and evidence go (default: schedproof-results/TIME)", Path),
    Option("seed", "N", "what the cases draw from (default: random, printed)", int),
    Option("binary", "NAME=PATH", "use this binary, such as kube-scheduler=./kube-scheduler", repeated=True),
)


BENCH_OPTIONS = (
    Option("baseline", "CANDIDATE", "what the others are compared with (default: stock)", default="stock"),
    Option("workload", "NAME", "a workload's file, or a shipped one's name (default: basic)", repeated=True),
    Option("scheduler-perf", "FILE", "upstream's performance-config.yaml; --workload then names its cases", Path),
    Option("mode", "MODE", "drain, open-loop or one-at-a-time (default: all)", repeated=True),
    Option("rounds", "N", "of each candidate, in each mode (default: 10)", int, default=10),
    Option("nodes", "N", "in place of the workload's own number; several show how it scales", int, repeated=True),
    Option("pods", "N", "in place of the workload's own number", int),
    Option("sweep", "", "raise the open loop's rate until latency does", flag=True, default=False),
    Option("phases", "", "tell where a pod's time goes, in a pass of its own", flag=True, default=False),
    Option("fail-if", "GATE", 'such as "p99 ratio > 1.2 vs stock": exit 1 where that is shown', repeated=True),
    Option("conformance", "FILE", "a report.json of the same candidates, to be shown beside", Path),
    Option("cluster", "NAME", "where to measure: embedded (default) or kind", default="embedded"),
    Option("node-image", "REF", "kind: the image of the nodes (default: kind's own, or one that is built here)"),
    Option("report", "DIR", "where results go (default: schedproof-results/TIME)", Path),
    Option("seed", "N", "of orders, arrivals and readings (default: random, printed)", int),
    Option("binary", "NAME=PATH", "use this binary, such as kube-scheduler=./kube-scheduler", repeated=True),
)
"""Of `schedproof bench`, and of pytest on suites/benchmark."""


def add_options(
    add: Callable[..., object], *, prefix: str, only: Collection[str] = (), options: Sequence[Option] = OPTIONS
) -> None:
    """Declare all options, or `only` some, with argparse's, or pytest's, way of adding one."""
    for option in options:
        if only and option.name not in only:
            continue
        flag = f"--{prefix}{option.name}"
        if option.flag:
            add(flag, action="store_true", default=option.default, help=option.help)
        elif option.repeated:
            text = f"{option.help}; may be repeated"
            add(flag, action="append", type=option.type, default=[], metavar=option.metavar, help=text)
        else:
            add(flag, type=option.type, default=option.default, metavar=option.metavar, help=option.help)


def given(
    value_of: Callable[[str], Any],
    *,
    prefix: str,
    without: frozenset[str] = frozenset(),
    options: Sequence[Option] = OPTIONS,
) -> list[str]:
    """The command-line arguments that say again what was said, but for those named in `without`.

    Args:
        value_of: an option's value, by its name.
        prefix: as for `add_options`.
        without: names to leave out.
        options: which were declared.
    """
    values = {option: value_of(option.name) for option in options if option.name not in without}
    return [
        f"--{prefix}{option.name}" + ("" if option.flag else f"={one}")
        for option, value in values.items()
        for one in (value if option.repeated else [value])
        if one != option.default
    ]
