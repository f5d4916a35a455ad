"""What bench.json holds (`schedproof.bench/v1`), as models: `benchmark` writes them, `report` reads them.

Fields that older documents lack have defaults; what newer ones have besides is not read. Durations and moments are in
seconds, memory is in bytes, rates and throughputs are in pods per second.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import pydantic

from schedproof.documents.json_schema import DRAFT, Schema

SCHEMA: Final = "schedproof.bench/v1"

Mode = Literal["drain", "open-loop", "one-at-a-time"]
MODES: tuple[Mode, ...] = get_args(Mode)

Limit = Literal["", "faster", "slower", "unknown"]
"""What an invalid round says of the scheduler's true speed; see `round.Round`."""


class Result(pydantic.BaseModel):
    """A part of the document."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class LatencySummary(Result):
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


class ProcessUsage(Result):
    cpu: float
    """Processor time since the count began."""
    peak: float
    """The largest resident memory."""
    cpu_per_pod: float | None = None
    """Processor time for each pod that was bound meanwhile; missing in documents that count from the first pod on."""


class OwnMetricsCheck(Result):
    """What kube-scheduler says of a round, held against what the harness measured."""

    attempts: int = 0
    attempt_mean: float | None = None
    algorithm_mean: float | None = None
    sli_mean: float | None = None
    rate_limited: float | None = None
    measured_mean: float | None = None
    agrees: bool = True
    explanation: str = ""


class RoundResult(Result):
    block: int
    order: int | None = None
    """Its place among the rounds of its block."""
    seconds: float = 0.0
    pods: int
    bound: int = 0
    unaccounted: int = 0
    warm_up: int = 0
    """So many of the first pods count neither for throughput nor for latency."""
    throughput: float | None = None
    latency: LatencySummary = LatencySummary()
    usage: dict[str, ProcessUsage] = {}
    """By process."""
    own_processes: list[str] = []
    """Those of `usage` that are the candidate's."""
    own_metrics: OwnMetricsCheck | None = None
    invalid: list[str] = []
    """Why its numbers are not the scheduler's own."""
    limit: Limit = ""
    wrong: list[str] = []
    """What is wrong with where the pods are."""
    not_judged: list[str] = []
    """Rules about where the pods are that were not checked."""


class Measured(Result):
    """Something that was found of one candidate on one workload."""

    workload: str
    candidate: str


class InSetting(Measured):
    """The same in one mode, at one rate."""

    mode: Mode
    rate: float | None = None
    """Offered; none where pods do not arrive by a clock."""


class Histogram(Result):
    edges: list[float] = []
    counts: list[int] = []


class Measurement(InSetting):
    """All rounds of one candidate in one setting; the distribution is of the valid rounds' latencies."""

    rounds: list[RoundResult] = []
    cdf: list[tuple[float, float]] = []
    """Latency, and the share of pods that were bound within it."""
    histogram: Histogram = Histogram()


class Comparison(InSetting):
    """A candidate with the baseline, by one metric in one setting; see `compare.ratio.Difference`."""

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
    """Of each block."""
    bound: Literal["", "at least", "at most"] = ""

    @property
    def shown_ratio(self) -> float | None:
        """The ratio, where there is one: an invalid comparison may have none."""
        return self.ratio if self.ratio and self.ratio > 0 else None


class GateResult(Result):
    gate: str
    """As it was asked for."""
    outcome: Literal["passed", "failed", "unproved"]
    """failed: a comparison lies beyond the limit with its whole interval. unproved: none does, but one is invalid, or
    there is none at all; that is not passed."""
    detail: str = ""


class KneePoint(Result):
    rate: float
    completed: float | None = None
    p50: float | None = None
    p99: float | None = None


class Knee(Measured):
    knee: float | None = None
    """The highest rate up to which p99 stays below ten times the median of the lowest rate, and all pods are bound."""
    points: list[KneePoint] = []


class ScalingPoint(Result):
    nodes: int
    throughput: float | None = None
    p50: float | None = None
    p99: float | None = None


class Scaling(Measured):
    points: list[ScalingPoint] = []


class PhaseTime(Result):
    name: str
    mean: float
    p50: float | None = None
    p99: float | None = None


class TappedLatency(Result):
    tapped: float | None = None
    """A pod's mean latency in the pass with taps."""
    untapped: float | None = None


class Phases(Measured):
    """Where a pod's time goes, from a separate pass with taps."""

    pods: int
    latency: TappedLatency = TappedLatency()
    phases: list[PhaseTime] = []


class QueryCost(Measured):
    """What a candidate asks others for each pod, from the same pass."""

    nodes: int
    pods: int
    prometheus: dict[str, float] | None = None
    """`queries` and `bytes`."""
    extender: dict[str, float] | None = None
    """`round_trips` and `bytes`."""


class ClauseOutcome(Result):
    """A verdict of a report.json that is shown beside the measurements."""

    id: str
    level: Literal["required", "recommended"] = "required"
    outcome: Literal["passed", "failed", "excluded", "not-claimed", "skipped", "invalid"]
    summary: str = ""
    stale: bool = False


class Conformance(Result):
    name: str
    kind: str = ""
    clauses: list[ClauseOutcome] = []


class CandidateSummary(Result):
    name: str
    kind: str = ""


class WorkloadSummary(Result):
    name: str
    description: str = ""
    source: str = ""
    nodes: int | None = None
    initial_pods: int | None = None
    pods: int | None = None
    """Those that are measured."""


class BrokenCandidate(Measured):
    """A candidate that could not be brought up on a workload, or not again; and what it said."""

    said: str


class MachineSummary(Result):
    cpu: str | None = None
    cores: int | None = None
    memory: float | None = None
    kernel: str | None = None
    python: str | None = None


class Ceiling(Result):
    binds_per_second: float | None = None
    """How fast pods can be created and bound without any decision."""


class BenchRun(Result):
    seed: int | None = None
    cluster: str | None = None
    command: str = ""
    baseline: str = "stock"
    alpha: float = 0.01
    """The level of each interval is 1 - alpha."""
    minimum_effect: float | None = None
    """The smallest difference that counts, as a part of the baseline."""
    seconds: float | None = None
    versions: dict[str, str] = {}
    environment: MachineSummary = MachineSummary()
    client_limits: dict[str, dict[str, float]] = {}
    """By candidate: `qps` and `burst` towards the apiserver."""
    ceiling: Ceiling | None = None
    broken: list[BrokenCandidate] = []
    error: str = ""
    """Why it was cut short."""
    exit_code: int | None = None


class BenchDocument(Result):
    """All that a benchmark has found. A list is empty where that was not measured."""

    # Not `schema`: pydantic's own method has that name.
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


def bench_schema() -> Schema:
    """The JSON Schema of bench.json."""
    return {"$schema": DRAFT, **BenchDocument.model_json_schema(), "title": f"bench.json ({SCHEMA})"}
