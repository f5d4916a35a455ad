"""Models of bench.json (`schedproof.bench/v1`): `benchmark` writes them, `report` reads them.

Fields that older documents lack have defaults; unknown fields of newer documents are ignored. Durations and moments are
in seconds, memory is in bytes, rates and throughputs are in pods per second.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import pydantic

from schedproof.documents.part import Part
from schedproof.judge.verdict import ClauseOutcome

SCHEMA: Final = "schedproof.bench/v1"

Mode = Literal["drain", "open-loop", "one-at-a-time"]
MODES: tuple[Mode, ...] = get_args(Mode)

Limit = Literal["", "faster", "slower", "unknown"]
"""How the scheduler's true speed relates to what an invalid round measured; see `round.Round`."""


class LatencySummary(Part):
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


class ProcessUsage(Part):
    cpu: float
    """CPU time since counting began."""
    peak: float
    """The largest resident memory."""
    cpu_per_pod: float | None = None
    """CPU time for each pod bound since counting began; missing in older documents."""


class OwnMetricsCheck(Part):
    """kube-scheduler's own metrics of a round, compared with what the harness measured."""

    attempts: int = 0
    attempt_mean: float | None = None
    algorithm_mean: float | None = None
    sli_mean: float | None = None
    rate_limited: float | None = None
    measured_mean: float | None = None
    agrees: bool = True
    explanation: str = ""


class RoundResult(Part):
    block: int
    order: int | None = None
    """Its position among the rounds of its block."""
    seconds: float = 0.0
    pods: int
    bound: int = 0
    unaccounted: int = 0
    warm_up: int = 0
    """How many of the first bound pods are excluded from throughput and latency."""
    throughput: float | None = None
    time_to_drain: float | None = None
    """From the candidate's start on the full queue to the last binding; null in other modes, and in older documents."""
    seed: int | None = None
    """Of the arrivals in an open loop, or of the pauses between pods that arrive one at a time."""
    latency: LatencySummary = LatencySummary()
    usage: dict[str, ProcessUsage] = {}
    """By process."""
    own_processes: list[str] = []
    """The processes in `usage` that belong to the candidate."""
    own_metrics: OwnMetricsCheck | None = None
    invalid: list[str] = []
    """Why its numbers are not the scheduler's own."""
    limit: Limit = ""
    wrong: list[str] = []
    """Pods that were bound to nodes where they must not run."""
    not_judged: list[str] = []
    """Rules of placement that were not checked."""


class Measured(Part):
    """A result of a candidate on a workload."""

    workload: str
    candidate: str


class InSetting(Measured):
    """A result of a candidate on a workload in a mode, at a rate."""

    mode: Mode
    rate: float | None = None
    """The offered rate; null if the mode has no arrival times."""


class Histogram(Part):
    edges: list[float] = []
    counts: list[int] = []


class Measurement(InSetting):
    """All rounds of a candidate in a setting, with the distribution of the valid rounds' latencies."""

    rounds: list[RoundResult] = []
    cdf: list[tuple[float, float]] = []
    """Pairs of a latency and the fraction of pods that were bound within it."""
    histogram: Histogram = Histogram()


class Comparison(InSetting):
    """A comparison of a candidate with the baseline, by a metric in a setting; see `compare.ratio.Difference`."""

    metric: str
    baseline: str
    ratio: float | None = None
    """Candidate / baseline."""
    low: float | None = None
    high: float | None = None
    verdict: Literal["faster", "slower", "less", "more", "no difference shown", "invalid"]
    blocks: int = 0
    reason: str = ""
    ratios: list[float] = []
    """The ratio of each block."""
    bound: Literal["", "at least", "at most"] = ""

    @property
    def shown_ratio(self) -> float | None:
        """The ratio, or None: an invalid comparison may have none."""
        return self.ratio if self.ratio and self.ratio > 0 else None


class GateResult(Part):
    gate: str
    """As written on the command line."""
    outcome: Literal["passed", "failed", "unproved"]
    """failed: the whole interval of a comparison lies beyond the limit. unproved: no interval does, but a comparison is
    invalid, or there is no comparison; that is not passed."""
    detail: str = ""


class KneePoint(Part):
    rate: float
    completed: float | None = None
    p50: float | None = None
    p99: float | None = None


class Knee(Measured):
    knee: float | None = None
    """The highest rate up to which p99 stays below ten times the median of the lowest rate, and all pods are bound."""
    points: list[KneePoint] = []


class ScalingPoint(Part):
    nodes: int
    throughput: float | None = None
    p50: float | None = None
    p99: float | None = None


class Scaling(Measured):
    points: list[ScalingPoint] = []


class PhaseTime(Part):
    name: str
    mean: float
    p50: float | None = None
    p99: float | None = None


class TappedLatency(Part):
    tapped: float | None = None
    """The mean latency of a pod in the pass with taps."""
    untapped: float | None = None


class Phases(Measured):
    """Where a pod's time goes, from a separate pass with taps."""

    pods: int
    latency: TappedLatency = TappedLatency()
    phases: list[PhaseTime] = []


class QueryCost(Measured):
    """Requests of a candidate for each pod, from the separate pass with taps."""

    nodes: int
    pods: int
    prometheus: dict[str, float] | None = None
    """`queries` and `bytes`."""
    extender: dict[str, float] | None = None
    """`round_trips` and `bytes`."""


class Conformance(Part):
    """The verdicts of a report.json on a candidate, shown beside the measurements."""

    name: str
    kind: str = ""
    clauses: list[ClauseOutcome] = []


class CandidateSummary(Part):
    name: str
    kind: str = ""


class WorkloadSummary(Part):
    name: str
    description: str = ""
    source: str = ""
    nodes: int | None = None
    initial_pods: int | None = None
    pods: int | None = None
    """How many pods are measured."""


class BrokenCandidate(Measured):
    """A candidate that did not start on a workload, or did not restart."""

    said: str
    """The error."""


class MachineSummary(Part):
    cpu: str | None = None
    cores: int | None = None
    memory: float | None = None
    kernel: str | None = None
    python: str | None = None


class Ceiling(Part):
    binds_per_second: float | None = None
    """How many bindings the apiserver accepts per second from a client that makes no scheduling decisions."""


class BenchRun(Part):
    seed: int | None = None
    cluster: str | None = None
    command: str = ""
    baseline: str = "stock"
    alpha: float = 0.01
    """The confidence level of each interval is 1 - alpha."""
    minimum_effect: float | None = None
    """The smallest difference that counts, as a fraction of the baseline."""
    seconds: float | None = None
    versions: dict[str, str] = {}
    environment: MachineSummary = MachineSummary()
    client_limits: dict[str, dict[str, float]] = {}
    """By candidate: `qps` and `burst` of its client of the apiserver."""
    nodes_to_score: dict[str, int] = {}
    """By candidate that has a kube-scheduler: percentageOfNodesToScore; 0: Kubernetes' adaptive default."""
    ceiling: Ceiling | None = None
    broken: list[BrokenCandidate] = []
    error: str = ""
    """Why the benchmark ended early."""
    exit_code: int | None = None


class BenchDocument(Part):
    """All results of a benchmark. A list is empty if its kind of result was not measured."""

    # Not `schema`: pydantic has a method of that name.
    format: Literal["schedproof.bench/v1"] = pydantic.Field(default=SCHEMA, alias="schema")
    run: BenchRun = BenchRun()
    candidates: list[CandidateSummary] = []
    conformance: list[Conformance] | None = None
    workloads: list[WorkloadSummary] = []
    measurements: list[Measurement] = []
    comparisons: list[Comparison] = []
    knees: list[Knee] = []
    scaling: list[Scaling] = []
    phases: list[Phases] = []
    queries: list[QueryCost] = []
    gates: list[GateResult] = []
