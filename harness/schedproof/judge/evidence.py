"""The evidence of a finding: what a verdict shows beside its summary, as models of report.json.

A part that a finding does not have is not written; the default stands for it. Reports of earlier versions lack parts
and fields.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from pydantic.json_schema import SkipJsonSchema, WithJsonSchema

from schedproof.documents.part import Part, optional
from schedproof.history.record import Number
from schedproof.oracle.resources import Room

Real = Annotated[Number, WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]})]
"""A number; NaN and infinities are text in report.json, as Prometheus writes them."""
Amounts = dict[str, str | int | float]
"""Resource to quantity, as in a manifest."""

Pattern = Literal["one-node", "inverted", "ignored", "partly", "outweighed"]
"""What probes have in common: all on one node, whichever is the quietest; all on the busiest; as by chance; right more
often than by chance; wrong where nodes differ in more than their traffic.
"""


class InitContainer(Part):
    requests: Amounts
    sidecar: bool


class NodeRow(Part):
    """A node in the table of a decision."""

    node: str
    feasible: bool
    reasons: list[str]
    """Why it is not feasible."""
    rules: list[str] = []
    """The oracle's rules that exclude it."""
    traffic: Real | None = None
    """In bytes per second, as Prometheus had it at the decision; null if it was not read."""
    scores: dict[str, Real] = {}
    """By scorer."""
    expected: bool
    chosen: bool
    room: dict[str, Room] | None = optional(None)
    """Of each resource that the pod requests, and of `pods`: how much is `asked`, `free`, and the `total`, in
    thousandths of a cpu, bytes, or whole units. Missing if it is not known."""


class Decision(Part):
    """A decision on a pod."""

    pod: str
    requests: list[Amounts]
    """Those of each container, as in the manifest."""
    init: list[InitContainer] = []
    """Those of each init container."""
    needed: dict[str, str] = {}
    """What the pod needs of a node in all."""
    varied: list[str] = []
    """How the pod differs in looks from the case's description."""
    expected: str
    """A node, or several with " or " between them; empty if none is known."""
    chosen: str
    """The node; empty if the pod was not bound."""
    query: str
    """The query for `traffic`; empty if there was none."""
    nodes: list[NodeRow]
    """All nodes, and a chosen node that does not exist. The harness's own node, which repels pods, is included only if
    the pod was bound to it."""

    @property
    def is_right(self) -> bool:
        """Whether the chosen node is feasible, and expected if there are expected nodes."""
        expected = [node for node in self.nodes if node.expected]
        return any(node.chosen and node.feasible for node in expected or self.nodes)


class ScoredNode(Part):
    node: str
    reading: str
    """As text: JSON has no NaN."""
    scores: list[Number | str]
    """None if it got no score; several if it got several. Text if JSON has no such number."""


class Question(Part):
    unanswered: str = ""
    """Why it has no usable answer; empty if it has one."""
    more: int = 0
    """How many nodes are left out."""
    nodes: list[ScoredNode]


class Scoring(Part):
    """A search on a surface, with the questions of one case."""

    surface: str
    holds: bool = False
    """Whether the clause holds on this surface, and not on others."""
    cases: int
    id: str = ""
    """The case, for `schedproof replay`; empty if it is not kept."""
    asked: int = 0
    """How many questions were asked; 0 as `seconds` and `waited` if the answers are those of another search."""
    seconds: float = 0.0
    waited: float = 0.0
    """For how many of these seconds answers were awaited."""
    of: Literal["traffic B/s", "raw score"] = "traffic B/s"
    """What the readings are."""
    questions: list[Question]


class SmallestWorld(Part):
    """The smallest generated world that breaks a guarantee."""

    id: str
    """For `schedproof replay`."""
    words: str
    file: str
    """The file that has it as YAML, in the candidate's folder of the evidence."""
    worlds: int
    """How many were tried."""


SymptomKind = Literal[
    "process-ended", "nothing-sent", "request-refused", "call-unanswered", "query-refused", "query-without-result",
    "blocked", "none-tried", "unbound-with", "weight-overflows", "needs-readings", "outdated", "rule-ignored",
    "never-retried", "preference",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Symptom:
    """A fault that was seen while a clause was tried."""

    kind: SymptomKind
    about: str
    """Its subject, in the same words wherever it is seen: a process, a request, a rule."""
    text: str
    """The fault as a sentence, with what was seen in this case."""


LaneKind = Literal["pod", "requests", "harness"]
EventKind = Literal["waits", "bound", "answered", "refused", "done"]
"""`refused` for all that failed."""


@dataclasses.dataclass(frozen=True)
class LaneEvent:
    """An event between two times; they are the same if it has no length."""

    at: float
    until: float
    kind: EventKind
    text: str


@dataclasses.dataclass(frozen=True)
class Lane:
    """The events of a pod, of the requests on a line, or of the harness. `more`: how many events are left out."""

    name: str
    kind: LaneKind
    text: str
    """The result; empty if the events say all."""
    more: int
    events: list[LaneEvent]


@dataclasses.dataclass(frozen=True)
class Load:
    """The traffic of nodes from a time on, in bytes per second."""

    at: float
    traffic: dict[str, Real]


@dataclasses.dataclass(frozen=True)
class RequestCount:
    request: str
    code: int
    count: int


@dataclasses.dataclass(frozen=True)
class Lanes:
    """A case as a picture: times are seconds since its begin."""

    seconds: float
    """Its length."""
    load: list[Load]
    lanes: list[Lane]
    requests: list[RequestCount]
    """Of the candidate to the apiserver, refusals first."""
    more: int
    """How many pods have no lane."""


class Evidence(Part):
    timeline: list[str] = []
    """The events of the case; of a clause that passed, only what its summary mentions."""
    logs: dict[str, list[str]] = {}
    """The last lines of each log of the candidate."""
    decisions: list[Decision] = []
    """The decisions that show the finding; of a clause that passed, at most one."""
    measured: dict[str, Real] = {}
    """Numbers on which the finding rests, by their names."""
    scorings: list[Scoring] = []
    """Searches for wrong scores, by surface."""
    world: SmallestWorld | None = None
    symptoms: list[Symptom] = []
    """Faults beside the finding that may be its cause."""
    rules: list[str] = []
    """The rules of the oracle that placements broke, the rule with the most breaches first."""
    misplaced: list[str] = []
    """The pods that broke them."""
    pattern: Pattern | None = None
    lanes: SkipJsonSchema[Lanes | None] = None
    """For the picture in report.html only: the record has it, and the timeline tells it."""

    def __or__(self, other: Evidence) -> Evidence:
        """The parts of both; where both have a part, that of the other."""
        return self.model_copy(update={name: getattr(other, name) for name in other.model_fields_set})
