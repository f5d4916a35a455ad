"""Runs a benchmark: all candidates and the baseline on the same stages, interleaved in random order."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.benchmark.compare.comparing import knee_of
from schedproof.benchmark.contestant import Contestant
from schedproof.benchmark.driver import BINARY as DRIVER
from schedproof.benchmark.measure.phases import Trace, trace
from schedproof.benchmark.results import BrokenCandidate, Knee, Mode
from schedproof.benchmark.round import Round
from schedproof.benchmark.rounds import Order, measure
from schedproof.benchmark.stage import Stage
from schedproof.benchmark.workloads.workload import Workload
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.kinds import KINDS
from schedproof.clusters.minimal import MinimalCluster
from schedproof.deploy.plugin_build.plugin_build import scheduler_binary
from schedproof.foundation.errors import CandidateError, UsageError
from schedproof.foundation.progress import Progress

_SHARE = 0.5
"""The rate at which candidates are compared in an open loop, as a fraction of the slowest candidate's drain throughput:
high enough for a queue to form, and low enough that it does not grow without bound."""

_SWEEP = (0.25, 0.5, 0.7, 0.85, 1.0, 1.15)
"""Rates of the sweep to the knee, as fractions of the candidate's drain throughput."""

_SINGLE = 100
"""The largest number of pods in a one-at-a-time round."""


@dataclasses.dataclass(frozen=True)
class BenchPlan:
    """What to measure. `contestants`: by name, the baseline first; `blocks`: rounds of each contestant in each mode.

    `families`: by the name of each workload, the name that it shares with its variants of other node counts.
    `cluster`: its kind. `node_image`: of its nodes; None if they have none.
    """

    contestants: Mapping[str, Candidate]
    workloads: Sequence[Workload]
    families: Mapping[str, str]
    modes: Sequence[Mode]
    blocks: int
    seed: int
    folder: Path
    kubernetes: str
    binaries: Mapping[str, Path]
    cluster: str = "embedded"
    node_image: str | None = None
    sweep: bool = False
    phases: bool = False

    @property
    def baseline(self) -> str:
        return next(iter(self.contestants))


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Open-loop rounds of one candidate at rising rates."""

    workload: str
    candidate: str
    rounds: Sequence[Round]

    def result(self) -> Knee:
        return knee_of(self.workload, self.candidate, self.rounds)


def contestants(baseline: Candidate, candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """Return the candidates by name, the baseline first. A candidate that is the baseline itself gets the suffix
    `-again`: a difference between the two is an error of measurement.

    Raises:
        UsageError: two candidates have the same name.
    """
    found = {baseline.name: baseline}
    for candidate in candidates:
        name = candidate.name
        if candidate.path == baseline.path:
            name = f"{name}-again"
            candidate = dataclasses.replace(candidate, name=name)  # noqa: PLW2901 - the same candidate, renamed
        if name in found:
            raise UsageError(f"two candidates have the name {name}", remedy="give each its own metadata.name")
        found[name] = candidate
    return found


class Bench:
    """Runs a plan. Its attributes hold the results so far, also when `run` is interrupted."""

    def __init__(self, plan: BenchPlan, progress: Progress) -> None:
        self.plan = plan
        self.rounds: list[Round] = []
        self.sweeps: list[Sweep] = []
        self.traces: list[Trace] = []
        self.ceilings: list[float] = []
        """Bindings per second, measured in each block of drains; see `Stage.ceiling`."""
        self.client_limits: dict[str, Mapping[str, Any]] = {}
        self.nodes_to_score: dict[str, int] = {}
        """By candidate that has a kube-scheduler; see `Contestant.nodes_to_score`."""
        self.versions: dict[str, str] = {}
        self.seconds = 0.0
        self.broken: list[BrokenCandidate] = []
        self._hopeless: set[tuple[str, str]] = set()
        """Pairs of workload and candidate to skip: the candidate is broken, or bound no pod in a round. Each further
        round would wait a minute for nothing."""
        self._progress = progress
        self._random = random.Random(plan.seed)  # noqa: S311 - a repeatable order, not a secret

    def run(self) -> None:
        """Measure everything in the plan.

        A candidate that does not start is added to `broken`, as long as another one is left to compare.

        Raises:
            SchedproofError: a cluster is broken; the baseline does not start, or no candidate does.
        """
        begin = time.monotonic()
        try:
            self._compile()
            for workload in self.plan.workloads:
                self._measure(workload)
                if self.plan.phases:
                    self._trace(workload)
        finally:
            self.seconds = time.monotonic() - begin

    def _compile(self) -> None:
        """Build the schedulers of plugins before anything is measured."""
        for name, candidate in self.plan.contestants.items():
            if isinstance(candidate.spec, PluginSpec):
                scheduler_binary(candidate.spec, name=name, kubernetes=self.plan.kubernetes, progress=self._progress)

    @contextlib.contextmanager
    def _stage(self, workload: Workload, folder: str, *, audited: bool = False) -> Iterator[Stage]:
        with self._progress.step(
            f"setting up {workload.name}",
            why=f"{workload.nodes} nodes, {workload.initial_pods} pods that the stock scheduler places",
        ):
            logs = self.plan.folder / folder / workload.name
            cluster = self._cluster(logs, audited=audited)
            cluster.host.sandbox.hide(self.plan.folder)
            stage = Stage(workload, cluster, self.plan.binaries[DRIVER], logs, seed=self.plan.seed)
        with contextlib.closing(stage):
            self.versions.update(stage.cluster.versions())
            yield stage

    def _cluster(self, logs: Path, *, audited: bool) -> MinimalCluster:
        plan = self.plan
        minimal = KINDS[plan.cluster].minimal
        assert minimal is not None
        return minimal.start(plan.kubernetes, plan.binaries, plan.node_image, logs, audited)

    @contextlib.contextmanager
    def _excusing(self, workload: Workload, name: str) -> Iterator[None]:
        """Record a candidate that does not start as broken; raise if it is the baseline or the last candidate."""
        try:
            yield
        except CandidateError as error:
            broken = {failure.candidate for failure in self.broken if failure.workload == workload.name} | {name}
            if self.plan.baseline in broken or len(broken) == len(self.plan.contestants) - 1:
                raise
            self.broken.append(BrokenCandidate(workload=workload.name, candidate=name, said=str(error)))
            self._hopeless.add((workload.name, name))

    def _measure(self, workload: Workload) -> None:
        with self._stage(workload, "stages") as stage, contextlib.ExitStack() as undo:
            contestants = []
            for name, candidate in self.plan.contestants.items():
                folder = self.plan.folder / "candidates" / name / workload.name
                with self._excusing(workload, name):
                    contestants.append(Contestant(stage, name, candidate, folder))
                    undo.callback(contestants[-1].close)
            modes, drained = self.plan.modes, {}
            if "drain" in modes:
                self._blocks(stage, contestants, "drain", None)
            if "open-loop" in modes or self.plan.sweep:
                drained = self._drained(stage, contestants)
            if "open-loop" in modes:
                rate = _rounded(_SHARE * min(drained.values(), default=0.0))
                self._blocks(stage, contestants, "open-loop", rate)
            if "one-at-a-time" in modes:
                self._blocks(stage, contestants, "one-at-a-time", None)
            for contestant in contestants if self.plan.sweep else ():
                if contestant.name in drained:
                    self._sweep(stage, contestant, drained[contestant.name])
            for contestant in contestants:
                self.client_limits[contestant.name] = contestant.client_limits
                if (percentage := contestant.nodes_to_score) is not None:
                    self.nodes_to_score[contestant.name] = percentage

    def _blocks(self, stage: Stage, contestants: Sequence[Contestant], mode: Mode, rate: float | None) -> None:
        offered = "" if rate is None else f" at {rate:g} pods/s"
        step = f"{stage.workload.name}, {mode}{offered}: {self.plan.blocks} rounds of {len(contestants)} schedulers"
        with self._progress.step(step):
            for block in range(self.plan.blocks):
                seed = self._random.randrange(1 << 32)
                if mode == "drain":
                    # In every block, because the machine's speed drifts.
                    stage.measure_ceiling()
                    self.ceilings.append(stage.ceiling)
                # No more pods than the workload has: more might not fit on its nodes.
                count = min(_SINGLE, stage.workload.pods) if mode == "one-at-a-time" else None
                for order, contestant in enumerate(self._shuffled(contestants)):
                    self.rounds += self._round(stage, contestant, Order(mode, block, order, seed, rate, count))

    def _round(self, stage: Stage, contestant: Contestant, spec: Order) -> list[Round]:
        """Measure a round; an empty list if the candidate is skipped or does not start."""
        key = (stage.workload.name, contestant.name)
        found: list[Round] = []
        if key not in self._hopeless:
            with self._excusing(stage.workload, contestant.name):
                found.append(measure(stage, contestant, spec))
            if not found:
                stage.restore()
            elif not found[0].bound:
                self._hopeless.add(key)
        return found

    def _shuffled(self, contestants: Sequence[Contestant]) -> list[Contestant]:
        return self._random.sample(contestants, len(contestants))

    def _drained(self, stage: Stage, contestants: Sequence[Contestant]) -> dict[str, float]:
        """Return each contestant's median drain throughput, from rounds that bound all pods.

        If drains are not measured, each contestant runs one that does not count, to choose the open loop's rate.
        """
        workload = stage.workload.name
        drains = [drain for drain in self.rounds if drain.workload == workload and drain.mode == "drain"]
        if not drains:
            for order, contestant in enumerate(self._shuffled(contestants)):
                drains += self._round(stage, contestant, Order("drain", 0, order, 0))
        found: dict[str, list[float]] = {}
        for drain in drains:
            if not drain.unbound:
                found.setdefault(drain.candidate, []).append(drain.throughput)
        return {name: statistics.median(values) for name, values in found.items()}

    def _sweep(self, stage: Stage, contestant: Contestant, drained: float) -> None:
        with self._progress.step(f"{stage.workload.name}, sweep of {contestant.name} to the knee"):
            seed = self._random.randrange(1 << 32)
            rounds: list[Round] = []
            for number, share in enumerate(_SWEEP):
                rounds += self._round(stage, contestant, Order("open-loop", number, 0, seed, _rounded(share * drained)))
        self.sweeps.append(Sweep(stage.workload.name, contestant.name, rounds))

    def _trace(self, workload: Workload) -> None:
        """Trace each contestant in a separate pass, because taps and the audit log slow scheduling down."""
        with self._stage(workload, "tapped", audited=True) as stage:
            for name, candidate in self.plan.contestants.items():
                if (workload.name, name) in self._hopeless:
                    continue
                folder = self.plan.folder / "candidates" / name / f"{workload.name}-tapped"
                step = self._progress.step(f"{workload.name}, phases of {name}")
                with step, self._excusing(workload, name):
                    self.traces.append(trace(stage, name, candidate, folder))


def _rounded(rate: float) -> float:
    """Round to two digits: easier to read, and the next run is likely to offer the same rate."""
    return float(f"{max(rate, 1.0):.2g}")
