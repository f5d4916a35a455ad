"""The options of a run: `--NAME` of `schedproof run`, and `--sched-NAME` of pytest."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters.kinds import DEFAULT, KINDS, MEASURED

_RATES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_LEAST_RATE = 100e3
"""Below, a cluster's own traffic counts for more."""

CANDIDATE_HELP = "a candidate.yaml, its folder, or the name of a shipped candidate"


def folder_name(text: str) -> Path:
    """The type of an option that names a folder."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the folder is empty\\n  fix: name a folder, or omit the option")
    return Path(text)


def seed(text: str) -> int:
    """The type of an option that is a seed; seeds are parts of names, too."""
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"expected a whole number from 0, found {text}\n  fix: use the seed that a report shows"
        )
    return int(text)


def count(text: str) -> int:
    """The type of an option that is a number of at least one."""
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, found {text}\n  fix: write one such as 4")
    return int(text)


@dataclasses.dataclass(frozen=True, order=True)
class Shard:
    """The `number`th, from 1, of `count` parts of a run, which machines of their own try."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def shard(text: str) -> Shard:
    """The type of an option that is a shard: "2/3"."""
    found = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
    if not found or int(found[1]) > int(found[2]):
        raise argparse.ArgumentTypeError(
            f"expected the number of a shard and how many there are, found {text}\n  fix: write 1/3, 2/3 and 3/3"
        )
    return Shard(int(found[1]), int(found[2]))


def rate(text: str) -> float:
    """The type of an option that is a number of bytes per second: "10M"."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,3})?)([kMG]?)", text)
    bytes_per_second = float(found[1]) * _RATES[found[2]] if found else 0.0
    if bytes_per_second < _LEAST_RATE:
        raise argparse.ArgumentTypeError(
            f"expected bytes per second, at least 100k, found {text}\n  fix: write one such as 10M (10,000,000, or 80 "
            "Mbit/s)"
        )
    return bytes_per_second


def minutes(text: str) -> float:
    """The type of an option that is a duration in minutes; up to a week, so that a slip of the keyboard is noticed."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 7 * 24 * 60:
        raise argparse.ArgumentTypeError(
            f"expected a number of minutes above 0 and up to 10080 (a week), found {text}\n  fix: write one such as 10"
        )
    return found


@dataclasses.dataclass(frozen=True)
class Option:
    """One option. A repeated one collects a list."""

    name: str
    metavar: str
    help: str
    type: Callable[[str], Any] = str
    repeated: bool = False
    flag: bool = False
    """Whether it is a flag without a value."""
    default: Any = None


KUBERNETES = Option(
    "kubernetes",
    "MINOR",
    "embedded, kind: the minor version of Kubernetes, such as 1.35; overrides the cluster definition; "
    "`schedproof run` also takes several (1.35,1.37) or all",
)

CLUSTER_OPTIONS = (
    Option("cluster", "NAME", f"where to run: {', '.join(KINDS)} (default: {DEFAULT})", default=DEFAULT),
    Option("cluster-file", "FILE", "embedded, kind: a cluster definition instead of clusters/NAME.yaml", Path),
    Option("nodes", "N", "embedded, kind: the number of identical nodes", count),
    KUBERNETES,
    Option("deploy", "MODE", "how candidates are deployed: process, pod (kind, existing), or control-plane (kind)"),
    Option(
        "keep-cluster",
        "",
        "kind: keep the cluster after the run, and reuse it in the next one",
        flag=True,
        default=False,
    ),
    Option("cluster-name", "NAME", "kind: the name of the cluster"),
    Option("node-image", "REF", "kind: the image of the nodes (default: kind's own, or one that is built here)"),
    Option("kubeconfig", "FILE", "existing: the kubeconfig of the cluster", Path),
    Option("context", "NAME", "existing: a context of the kubeconfig (default: the current one)"),
    Option("prometheus", "URL", "existing: URL of a Prometheus server that scrapes node_exporter on every node"),
    Option("namespace-prefix", "PREFIX", "existing: prefix of the names of the namespaces that the run creates"),
    Option(
        "allow-node-changes",
        "",
        "existing: allow the run to label, taint and add nodes",
        flag=True,
        default=False,
    ),
    Option(
        "allow-restart",
        "",
        "existing: allow the run to delete the pods of a candidate that runs there already (spec.attached)",
        flag=True,
        default=False,
    ),
    Option(
        "allow-load",
        "RATE",
        "existing: allow up to RATE bytes per second (such as 10M) between pods of the run, per node, to judge clauses "
        "about real traffic",
        rate,
    ),
    Option(
        "registry",
        "HOST/PATH",
        "existing: where images are pushed to by this machine's Docker, and pulled from by the nodes (--deploy pod)",
    ),
    Option(
        "python-image",
        "REF",
        "existing: an image with Python, for pods that send load, and as the base of pushed images (default: "
        "python:3-slim)",
    ),
    Option("audit-log", "FILE", "existing: the apiserver's audit log, a file that this machine can read", Path),
    Option("callback-address", "ADDRESS", "existing: an address of this machine that the apiserver can reach"),
)
"""The options for which `Settings` has a field of the same name."""

OPTIONS = (
    *CLUSTER_OPTIONS,
    Option("profile", "P", "only clauses of this profile", repeated=True),
    Option("clause", "ID", "only this clause", repeated=True),
    Option(
        "shard",
        "I/N",
        "only the I-th of N parts of about the same length; needs --seed; `schedproof merge` joins their reports",
        shard,
    ),
    Option(
        "surface",
        "NAME",
        "normalization: only this surface: python, extender, plugin, normalize-score, scheduler",
        repeated=True,
    ),
    Option("cases", "N", "normalization: cases for each clause: quick (default), ci, thorough, or a number"),
    Option("worlds", "N", "core/random-worlds: worlds to generate (default: up to 200, in up to 60 s)", count),
    Option("replay", "ID", "normalization, core/random-worlds: only the saved case with this id"),
    Option(
        "window",
        "DURATION",
        "for candidates that take {window}: a window to use instead of the claimed one",
    ),
    Option("keep-going", "", "try all clauses, even if the candidate binds no pod", flag=True, default=False),
    Option("fail-fast", "", "stop at the first clause that fails or cannot be proved", flag=True, default=False),
    Option("allow-skipped", "", "exit 0 even if the cluster cannot try some clauses", flag=True, default=False),
    Option("report", "DIR", "folder for report and evidence (default: schedproof-results/TIME)", folder_name),
    Option("seed", "N", "seed of all random choices (default: random, printed)", seed),
    Option(
        "binary",
        "NAME=PATH",
        "use this binary instead of the default, such as kube-scheduler=./kube-scheduler",
        repeated=True,
    ),
)


JOBS = Option(
    "jobs",
    "N",
    "number of clusters side by side (default: as many as shorten the run on embedded clusters, else 1)",
    count,
)
"""For the command line only: with pytest use `-n` of pytest-xdist."""

RESUME = Option(
    "resume",
    "DIR",
    "go on with an interrupted run of the same candidates: try what is untried, and complete its report",
    folder_name,
)
"""For the command line only."""

WATCH = Option(
    "watch", "", "repeat the failed clauses on the same cluster whenever a file changes", flag=True, default=False
)
"""For the command line only."""

DRY_RUN = Option(
    "dry-run",
    "",
    "existing: print what the run may touch and what it cannot judge, and stop",
    flag=True,
    default=False,
)
"""For the command line only."""

CONFORMANCE = Option(
    "conformance",
    "FILE",
    "write what a project publishes about its scheduler, with an attestation and a badge beside it",
    Path,
)
"""For the command line only."""

RELEASE = Option("release", "VERSION", "with --conformance: the version in the report: a tag, a commit, or a digest")
"""For the command line only."""

SINCE = Option("since", "REPORT", "also list failures that are fixed, new, or still there since this earlier run", Path)
"""For the command line only."""

REPEAT = Option("repeat", "N", "number of runs, each on new clusters; ends with a count of failures", count, default=1)
"""For the command line only."""

MINUTES = Option("minutes", "N", "how long worlds are generated (at least 6 for a statement about leaks)", minutes)
"""Of `schedproof soak`, which requires it."""

_ALSO_OF_SOAKS = ("window", "allow-skipped", "report", "seed", "binary")
SOAK_OPTIONS = (*CLUSTER_OPTIONS, *(option for option in OPTIONS if option.name in _ALSO_OF_SOAKS))
"""Options of `schedproof soak`: those of `run` that apply."""

BENCH_OPTIONS = (
    Option(
        "baseline", "CANDIDATE", "the candidate that the others are compared with (default: stock)", default="stock"
    ),
    Option("workload", "NAME", "a workload's file, or a shipped one's name (default: basic)", repeated=True),
    Option("scheduler-perf", "FILE", "upstream's performance-config.yaml; --workload then names its cases", Path),
    Option("mode", "MODE", "drain, open-loop or one-at-a-time (default: all)", repeated=True),
    Option("rounds", "N", "rounds of each candidate in each mode (default: 10)", count, default=10),
    Option(
        "nodes", "N", "nodes, in place of the workload's own number; several show how it scales", count, repeated=True
    ),
    Option("pods", "N", "pods to measure, in place of the workload's own number", count),
    Option(
        "score-all-nodes",
        "",
        "let kube-schedulers with a configuration of their own score all nodes, as all others do",
        flag=True,
        default=False,
    ),
    Option("sweep", "", "raise the rate of the open loop until latency rises", flag=True, default=False),
    Option(
        "phases",
        "",
        "measure in a separate pass how long each phase of scheduling a pod takes",
        flag=True,
        default=False,
    ),
    Option(
        "fail-if",
        "GATE",
        'such as "p99 ratio > 1.2 vs stock": exit with 1 if the measurements show this',
        repeated=True,
    ),
    Option("conformance", "FILE", "a report.json of the same candidates, shown beside the numbers", Path),
    Option("cluster", "NAME", f"where to measure: {', '.join(MEASURED)} (default: {DEFAULT})", default=DEFAULT),
    KUBERNETES,
    Option("node-image", "REF", "kind: the image of the nodes (default: kind's own, or one that is built here)"),
    Option("report", "DIR", "folder for results (default: schedproof-results/TIME)", folder_name),
    Option("seed", "N", "seed of orders, arrivals and readings (default: random, printed)", seed),
    Option(
        "binary",
        "NAME=PATH",
        "use this binary instead of the default, such as kube-scheduler=./kube-scheduler",
        repeated=True,
    ),
)
"""Options of `schedproof bench`, and of pytest on suites/benchmark."""


def add_options(
    add: Callable[..., object], *, prefix: str, only: Collection[str] = (), options: Sequence[Option] = OPTIONS
) -> None:
    """Declare all options, or `only` some, by argparse's or pytest's function that adds an option."""
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
    """Rebuild the command line from parsed options, except those named in `without`.

    Args:
        value_of: an option's value, by its name.
        prefix: as for `add_options`.
        without: names to leave out.
        options: the declared options.
    """
    values = {option: value_of(option.name) for option in options if option.name not in without}
    return [
        f"--{prefix}{option.name}" + ("" if option.flag else f"={item}")
        for option, value in values.items()
        for item in (value if option.repeated else [value])
        if item != option.default
    ]
