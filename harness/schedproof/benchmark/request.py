"""Turns the options of `schedproof bench` and of pytest into a plan."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.benchmark.bench import BenchPlan, contestants
from schedproof.benchmark.compare.ratio import FEWEST_BLOCKS
from schedproof.benchmark.driver import BINARY
from schedproof.benchmark.results import MODES, Mode
from schedproof.benchmark.workloads.reader import load_workload
from schedproof.benchmark.workloads.scheduler_perf import import_case
from schedproof.benchmark.workloads.workload import Workload
from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.binaries.resolve import paths
from schedproof.candidate.scheduler_config import scoring_all_nodes
from schedproof.candidate.surroundings import WorldSpec
from schedproof.clusters.kinds import KINDS, MEASURED
from schedproof.clusters.registration import Minimal
from schedproof.documents.suggestions import did_you_mean
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.private import make_private
from schedproof.foundation.progress import Progress
from schedproof.run.candidates import find_candidates

DEFAULT_BASELINE = "stock"
DEFAULT_WORKLOAD = "basic"
_MOST_ROUNDS = 1_000


@dataclasses.dataclass(frozen=True)
class Request:
    """The options of a benchmark. `candidates` and `baseline`: files, folders or names.

    `workloads`: files or names; with `scheduler_perf`, cases in that file. `nodes` and `pods`: override the workload's
    own counts; with several node counts it is measured with each. Empty `modes`: all modes. `cluster`: a kind of
    cluster that has a minimal one. `node_image`: of its nodes; None: the default of `schedproof run`. `kubernetes`: the
    minor version.
    """

    candidates: Sequence[str]
    folder: Path
    seed: int
    rounds: int
    baseline: str = DEFAULT_BASELINE
    workloads: Sequence[str] = ()
    scheduler_perf: Path | None = None
    modes: Sequence[str] = ()
    nodes: Sequence[int] = ()
    pods: int | None = None
    score_all_nodes: bool = False
    sweep: bool = False
    phases: bool = False
    cluster: str = "embedded"
    node_image: str | None = None
    kubernetes: str = DEFAULT_KUBERNETES


def prepare(request: Request, binaries: Mapping[str, Path], progress: Progress) -> BenchPlan:
    """Read the candidates and workloads of a request, and obtain the binaries. Nothing is started.

    Args:
        request: the options.
        binaries: paths from the command line, by name.
        progress: shows builds.

    Raises:
        UsageError: a candidate, workload or option is missing or invalid.
        HostError: the folder for the report cannot be written, or a binary is not available.
    """
    if not FEWEST_BLOCKS <= request.rounds <= _MOST_ROUNDS:
        raise UsageError(
            f"--rounds {request.rounds}: expected {FEWEST_BLOCKS} to {_MOST_ROUNDS}",
            remedy=f"use --rounds {FEWEST_BLOCKS} or more: fewer rounds cannot tell a difference from noise",
        )
    modes: list[Mode] = [mode for mode in MODES if mode in request.modes or not request.modes]
    for mode in request.modes:
        if mode not in MODES:
            raise UsageError(f"--mode {mode}: unknown mode", remedy=did_you_mean(mode, MODES))
    minimal = _minimal(request)
    baseline, *found = find_candidates([request.baseline, *request.candidates])
    if request.score_all_nodes:
        baseline, *found = map(scoring_all_nodes, (baseline, *found))
    for candidate in (baseline, *found):
        if candidate.world != WorldSpec():
            raise UsageError(
                f"{candidate.path}: spec.world is not supported in benchmarks: the workload defines pods and nodes",
                remedy="define the pods and nodes in your own workload (--workload), and benchmark a candidate.yaml "
                "that `extends` this file and sets `world: null`",
            )
    families: dict[str, str] = {}
    names = request.workloads or (DEFAULT_WORKLOAD,)
    workloads = [workload for name in names for workload in _workloads(name, request, families)]
    plan = BenchPlan(
        contestants(baseline, found), workloads, families, modes, request.rounds, request.seed, request.folder,
        request.kubernetes, {}, sweep=request.sweep, phases=request.phases,
    )  # fmt: skip
    _require_folder(request.folder)
    image = minimal.prepare(request.node_image, request.kubernetes, progress)
    return dataclasses.replace(
        plan, binaries=paths((*minimal.binaries, BINARY), request.kubernetes, binaries, progress),
        cluster=request.cluster, node_image=image,
    )  # fmt: skip


def _minimal(request: Request) -> Minimal:
    """The minimal cluster of the requested kind."""
    kind = KINDS.get(request.cluster)
    if kind is None or kind.minimal is None:
        raise UsageError(
            f"--cluster {request.cluster} is not supported in benchmarks", remedy=f"use one of {', '.join(MEASURED)}"
        )
    if request.node_image is not None and "node_image" not in kind.options:
        fitting = [name for name in MEASURED if "node_image" in KINDS[name].options]
        raise UsageError(
            f"--node-image is not supported with --cluster {request.cluster}",
            remedy=f"leave out --node-image, or use --cluster {' or '.join(fitting)}",
        )
    return kind.minimal


def _workloads(name: str, request: Request, families: dict[str, str]) -> list[Workload]:
    parameters = {} if request.pods is None else {"pods": request.pods}
    if len(request.nodes) == 1:
        parameters["nodes"] = request.nodes[0]
    if request.scheduler_perf is not None:
        if request.nodes or request.pods:
            raise UsageError(
                "--nodes and --pods are not supported with --scheduler-perf",
                remedy="the case sets these numbers: choose another case",
            )
        found = [import_case(request.scheduler_perf, name)]
    elif len(request.nodes) > 1:
        found = [load_workload(name, parameters={**parameters, "nodes": nodes}) for nodes in request.nodes]
        found = [dataclasses.replace(workload, name=f"{workload.name}-{workload.nodes}") for workload in found]
    else:
        found = [load_workload(name, parameters=parameters)]
    families.update((workload.name, name) for workload in found)
    if parameters and list(request.modes) != ["one-at-a-time"]:  # that mode sends at most 100 pods
        for workload in found:
            _check_room(workload)
    return found


def _check_room(workload: Workload) -> None:
    """Refuse a workload whose pods do not fit on its nodes: every round would wait for pods that stay Pending."""
    if (short := workload.shortage()) is None:
        return
    resource, times = short
    enough = f"at least {math.ceil(workload.nodes * times)} nodes" if times < math.inf else "nodes that offer it"
    raise UsageError(
        f"{workload.name}: {workload.nodes} nodes have too little {resource} for {workload.initial_pods} initial pods "
        f"and {workload.pods} measured pods",
        remedy=f"use {enough} (--nodes), or fewer pods (--pods)",
    )


def _require_folder(folder: Path) -> None:
    if (folder / "bench.json").exists():
        raise UsageError(
            f"{folder} holds the results of an earlier benchmark",
            remedy="choose another folder with --report, or remove this folder",
        )
    try:
        make_private(folder)
    except OSError as error:
        raise HostError(
            f"cannot write results to {folder}: {error.strerror}", remedy="choose another folder with --report"
        ) from error
