"""The options of `schedproof bench` and of pytest, and the plan that follows from them."""

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
from schedproof.binaries.resolve import resolve
from schedproof.candidate.kinds import WorldSpec
from schedproof.clusters.embedded import minimal as lean
from schedproof.clusters.kind import minimal as lean_kind
from schedproof.clusters.kind.docker import require_docker
from schedproof.clusters.node_image.image_choice import obtain_images
from schedproof.documents.suggestions import did_you_mean
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.private import make_private
from schedproof.foundation.progress import Progress
from schedproof.run.candidates import find_candidates

DEFAULT_BASELINE = "stock"
DEFAULT_WORKLOAD = "basic"
CLUSTERS = ("embedded", "kind")
_MOST_ROUNDS = 1_000


@dataclasses.dataclass(frozen=True)
class Request:
    """`candidates` and `baseline`: files, folders or names.

    `workloads`: files or names; with `scheduler_perf`, cases in that file. `nodes` and `pods`: in place of the
    workload's own numbers; with several numbers of nodes it is measured with each. No `modes`: all. `cluster`: one of
    `CLUSTERS`. `node_image`: with kind, of its node; None: as for a run. `kubernetes`: the minor version.
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
    sweep: bool = False
    phases: bool = False
    cluster: str = "embedded"
    node_image: str | None = None
    kubernetes: str = DEFAULT_KUBERNETES


def prepare(request: Request, binaries: Mapping[str, Path], progress: Progress) -> BenchPlan:
    """Read all that is asked for, and obtain the binaries.

    Args:
        request: what is asked for.
        binaries: those that were named on the command line.
        progress: shows builds.

    Raises:
        UsageError: something is not there, or not right; nothing has been started.
        HostError: the folder for the report cannot be written, or a binary cannot be had.
    """
    if not FEWEST_BLOCKS <= request.rounds <= _MOST_ROUNDS:
        raise UsageError(
            f"--rounds {request.rounds}: expected {FEWEST_BLOCKS} to {_MOST_ROUNDS}",
            remedy=f"--rounds {FEWEST_BLOCKS}, or more: fewer cannot tell a difference from noise",
        )
    modes: list[Mode] = [mode for mode in MODES if mode in request.modes or not request.modes]
    for mode in request.modes:
        if mode not in MODES:
            raise UsageError(f"--mode {mode}: unknown mode", remedy=did_you_mean(mode, MODES))
    _check_cluster(request)
    baseline, *found = find_candidates([request.baseline, *request.candidates])
    for candidate in (baseline, *found):
        if candidate.world != WorldSpec():
            raise UsageError(
                f"{candidate.path}: spec.world is not supported in benchmarks: the workload defines pods and nodes",
                remedy="write what its pods and nodes must have into a workload of your own (--workload), and leave "
                "spec.world out of a candidate.yaml that `extends` this one (`world: null`)",
            )
    families: dict[str, str] = {}
    names = request.workloads or (DEFAULT_WORKLOAD,)
    workloads = [one for name in names for one in _workloads(name, request, families)]
    plan = BenchPlan(
        contestants(baseline, found), workloads, families, modes, request.rounds, request.seed, request.folder,
        request.kubernetes, {}, sweep=request.sweep, phases=request.phases,
    )  # fmt: skip
    _require_folder(request.folder)
    on_kind = request.cluster == "kind"
    needed = (*(lean_kind.BINARIES if on_kind else lean.BINARIES), BINARY)
    resolved = resolve(needed, kubernetes=request.kubernetes, explicit=binaries, progress=progress)
    return dataclasses.replace(
        plan, binaries={name: one.path for name, one in resolved.items()},
        node_image=obtain_images(request.node_image, request.kubernetes, progress).node if on_kind else None,
    )  # fmt: skip


def _check_cluster(request: Request) -> None:
    if request.cluster not in CLUSTERS:
        raise UsageError(
            f"--cluster {request.cluster}: benchmarks do not run there", remedy=f"one of {', '.join(CLUSTERS)}"
        )
    if request.cluster == "kind":
        require_docker()
    elif request.node_image is not None:
        raise UsageError(
            f"--node-image does not go with --cluster {request.cluster}",
            remedy="leave it out, or choose --cluster kind",
        )


def _workloads(name: str, request: Request, families: dict[str, str]) -> list[Workload]:
    given = {} if request.pods is None else {"pods": request.pods}
    if len(request.nodes) == 1:
        given["nodes"] = request.nodes[0]
    if request.scheduler_perf is not None:
        if request.nodes or request.pods:
            raise UsageError(
                "--nodes and --pods do not go with --scheduler-perf",
                remedy="its cases set these numbers: choose another case",
            )
        found = [import_case(request.scheduler_perf, name)]
    elif len(request.nodes) > 1:
        found = [load_workload(name, parameters={**given, "nodes": nodes}) for nodes in request.nodes]
        found = [dataclasses.replace(one, name=f"{one.name}-{one.nodes}") for one in found]
    else:
        found = [load_workload(name, parameters=given)]
    families.update((one.name, name) for one in found)
    if given and list(request.modes) != ["one-at-a-time"]:  # that sends a hundred pods at most
        for one in found:
            _check_room(one)
    return found


def _check_room(workload: Workload) -> None:
    """Refuse nodes that cannot hold what is to be placed on them: every round would wait for pods that stay Pending."""
    if (short := workload.shortage()) is None:
        return
    resource, times = short
    enough = f"at least {math.ceil(workload.nodes * times)} nodes" if times < math.inf else "nodes that offer it"
    raise UsageError(
        f"{workload.name}: {workload.nodes} nodes have too little {resource} for {workload.initial_pods} pods that are "
        f"there before and {workload.pods} that are measured",
        remedy=f"take {enough} (--nodes), or fewer pods (--pods)",
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
            f"cannot keep results in {folder}: {error.strerror}", remedy="choose another folder with --report"
        ) from error
