"""What a kind of cluster is to the rest of the harness: its options, its start, and what it needs on this machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from schedproof.clusters.health import Health
from schedproof.foundation.content import content
from schedproof.foundation.progress import Progress

if TYPE_CHECKING:
    from schedproof.clusters.api import Api
    from schedproof.clusters.cluster import Cluster
    from schedproof.clusters.minimal import MinimalCluster


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The user's options about a cluster. One that is not set gets the default of its kind."""

    cluster: str = "embedded"
    """The name of its kind."""
    cluster_file: Path | None = None
    nodes: int | None = None
    kubernetes: str | None = None
    keep_cluster: bool = False
    cluster_name: str | None = None
    node_image: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    prometheus: str | None = None
    namespace_prefix: str | None = None
    allow_node_changes: bool = False
    allow_restart: bool = False
    audit_log: Path | None = None
    callback_address: str | None = None
    allow_load: float | None = None
    """Bytes per second."""
    registry: str | None = None
    python_image: str | None = None
    binaries: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    """Name to path of binaries that the user names."""


def flag(field: str) -> str:
    """The option of a field, as it is typed."""
    return f"--{field.replace('_', '-')}"


def definition(options: ClusterOptions) -> Path:
    """The file that defines the cluster: the user's, or that of its kind."""
    return options.cluster_file or content("clusters", f"{options.cluster}.yaml")


class Starter(Protocol):
    """Starts a cluster of a kind, or connects to it."""

    def __call__(self, options: ClusterOptions, progress: Progress, logs: Path | None, *, readings: bool) -> Cluster:
        """Return it, once it is ready.

        Args:
            options: of which those of its kind matter; `check` has accepted them.
            progress: is called for steps that take noticeable time.
            logs: the folder for logs; None: they are removed with the cluster.
            readings: whether any candidate needs readings of the nodes' traffic.

        Raises:
            SchedproofError: it is not available; nothing is left behind.
        """


@dataclasses.dataclass(frozen=True)
class Minimal:
    """A minimal cluster for benchmarks (`clusters.minimal.MinimalCluster`).

    Attributes:
        binaries: names of the binaries that it needs.
        start: returns it, from the minor version, name to path of its binaries, the image of its nodes, the folder for
            logs, and whether the apiserver writes an audit log.
        prepare: checks the machine, and returns that image, from the one that the user names and the minor version;
            None if its nodes have none.
    """

    binaries: tuple[str, ...]
    start: Callable[[str, Mapping[str, Path], str | None, Path, bool], MinimalCluster]
    prepare: Callable[[str | None, str, Progress], str | None] = lambda _image, _kubernetes, _progress: None


@dataclasses.dataclass(frozen=True)
class Surveyed:
    """A cluster that others run, before anything is changed in it.

    Attributes:
        where: what it is, in words.
        api: the connection of the user.
        kubernetes: its minor version.
        nodes: the names of those that any pod can use.
        capabilities: see `Cluster`.
        touched: what a run may create, change and delete, a sentence each, with `it` for the run.
        added_by: the options that add capabilities.
        require_prometheus: raises UsageError if it is not known where readings come from.
    """

    where: str
    api: Api
    kubernetes: str
    nodes: Sequence[str]
    capabilities: frozenset[str]
    touched: Sequence[str]
    added_by: Mapping[str, str]
    require_prometheus: Callable[[], None] = lambda: None


@dataclasses.dataclass(frozen=True)
class ClusterKind:
    """A kind of cluster, as `--cluster` names it. What can be done with one is its `capabilities`.

    Attributes:
        name: the value of `--cluster`.
        start: see `Starter`.
        binaries: names of what `doctor` looks for and `prefetch` gets; none: neither knows this kind.
        options: fields of `ClusterOptions` that concern it, beside `cluster` and `binaries`.
        check: refuses wrong values of these.
        deploys: how candidates can be deployed in it; the first is the default.
        attaches: whether a candidate may be a scheduler that runs there already.
        survey: looks at a cluster that others run, by the options that `check` has accepted; None: the run starts it.
        light: whether it starts within seconds, so that several run side by side unless the user says otherwise.
        single: why there can only be one at a time; "" if there can be several.
        local: whether its processes run on this machine, so that their waits for a processor can be measured.
        health: what `doctor` says of the rest that it needs, for a minor version of Kubernetes.
        fetch: gets what it needs beside binaries, for a minor version; returns a line for each part that is ready.
        minimal: for benchmarks; None: there are none on it.
    """

    name: str
    start: Starter
    binaries: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    check: Callable[[ClusterOptions], None] = lambda _: None
    deploys: tuple[str, ...] = ("process",)
    attaches: bool = False
    survey: Callable[[ClusterOptions], AbstractContextManager[Surveyed]] | None = None
    light: bool = False
    single: str = ""
    local: bool = True
    health: Callable[[str], Health] = lambda _: Health()
    fetch: Callable[[str, Progress], Iterator[str]] = lambda _version, _progress: iter(())
    minimal: Minimal | None = None
