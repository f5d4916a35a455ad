"""The records of what was seen: by the harness's own watch, in the audit log, at the taps, in logs, of processes."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, GetPydanticSchema
from typing_extensions import TypedDict

from schedproof.history.record import Number, OfCase, Record

CLIENT_LEFT = "the client ended the connection"
"""The `error` of a request whose client has gone."""


class _Metadata(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    name: str
    uid: NotRequired[str | None]


class _Object(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    metadata: _Metadata
    spec: NotRequired[dict[str, Any]]


Manifest = Annotated[dict[str, Any], GetPydanticSchema(lambda _, handler: handler(_Object))]
"""An object of Kubernetes, as the apiserver gives it."""


class WatchEvent(Record, kind="object"):
    """An event of the harness's own watch."""

    resource: str
    """`namespaces`, `nodes`, `pods`, `events`, `storageclasses`, `persistentvolumes` or `persistentvolumeclaims`;
    of a candidate that claims `dra` also `deviceclasses`, `resourceslices` and `resourceclaims`.
    """
    type: str
    """LISTED, ADDED, MODIFIED or DELETED."""
    rv: int
    """The resourceVersion as a number: etcd's revision orders all resources of a cluster."""
    object: Manifest

    def tells_of(self, pod: str, uid: str) -> bool:
        """Whether it is an Event about a pod (`namespace/name`); without a uid, about whichever bears that name."""
        if self.resource != "events":
            return False
        about = self.object.get("involvedObject") or {}
        if about.get("uid"):
            return bool(about["uid"] == uid)
        return about.get("kind") == "Pod" and f"{about.get('namespace')}/{about.get('name')}" == pod


# -- the audit log


class AuditLine(Record):
    """A line of the audit log."""

    line: int = 0
    """Its place in the log; lines that are not kept count. 0 in older histories."""
    received: float
    """As the apiserver's wall clock has it, less the run's `epoch`: see `audit_order`."""
    completed: float
    """Likewise."""


class ApiRequest(AuditLine, kind="request"):
    """Every request of the candidate, of others what changes pods and nodes, and what was answered with 401."""

    user: str
    """Empty where the request was not authenticated."""
    verb: str
    group: str | None = None
    """Of the API; missing in older histories."""
    resource: str
    """With the subresource: `pods/binding`; empty for a path that is none."""
    namespace: str
    name: str
    code: int
    body: dict[str, Any] | list[Any] | None = None
    """What was sent; a list is a JSON patch."""
    path: str = ""
    """One that is no resource."""
    uid: str = ""
    """Of the pod that was created."""
    dry_run: bool = False
    impersonates: str = ""
    """A user."""
    call: str = ""
    """The number of the call to the harness's webhook that it led to: see `admission`."""
    credential: str = ""
    """Of the candidate's users at the first request by each of their tokens: its id. Missing in older histories."""

    @property
    def fields(self) -> dict[str, Any]:
        """Of the object that was sent; empty where none was."""
        return self.body if isinstance(self.body, dict) else {}


class AuditMark(AuditLine, kind="mark"):
    """A request of the harness's own, of which there is nothing else to say."""

    mark: int
    """Its number, from 1."""
    answered: float
    """When it was, as `at` is when it was sent."""
    line: int


class Admission(OfCase, kind="admission"):
    """A Binding that passed the harness's webhook."""

    pod: str
    uid: str
    """Which the Binding names."""
    node: str
    user: str
    call: str = ""
    """The number of the call, also at its request."""
    code: int
    """With which it was refused; 0: it passed."""
    held: bool
    """Whether it had to wait."""
    effective: bool
    """Whether it took effect, by a Binding of the harness, although it was answered with `code`."""


# -- what went through the taps


class Tapped(Record):
    """A request and its answer. Texts are decoded, where the request offered the coding."""

    request: str
    status: int
    """0: it was not answered."""
    answer: str
    seconds: Number
    """From the request's end to the answer's."""
    bytes: int = 0
    """Of path and both bodies, as they passed."""
    fault: str = ""
    """What the tap did to it."""
    broken: str = ""
    """Why the answer did not come whole."""
    cut: bool = False
    """Whether more passed than is kept."""

    @property
    def begun(self) -> float:
        """When the request was complete, on the run's clock; it is on record once it is answered, or given up.

        What a case is charged with began in it: one that hangs may be recorded in the next.
        """
        return self.at - self.seconds


class PrometheusQuery(Tapped, kind="query"):
    """What the candidate asked Prometheus: `request` is the query, or the path where there is none."""

    path: str


class ExtenderCall(Tapped, kind="extender"):
    """What the extender was asked: `request` is the verb.

    Nodes, scores and error of the answer are those that kube-scheduler reads (`documents/extender_answers.py`).
    """

    by: str = ""
    """`scheduler` or `harness`."""
    case: str | None = None
    """Of calls of the harness; missing where kube-scheduler called, which it may do in any case."""
    verb: str = ""
    """Of calls of the harness: what it called."""
    what: str = ""
    """Of calls of the harness: what was sent."""
    pod: str
    asked: list[str] | None = None
    """Names of nodes; null where there were none."""
    answered: list[str] | None = None
    """Names of nodes that passed a filter; null where there were none."""
    mode: str = ""
    """How nodes were given: `names`, `nodes`, or empty."""
    answered_mode: str = ""
    """Likewise."""
    scores: list[list[Any]] | None = None
    """Hosts, each with its score; null where the answer is no HostPriorityList."""
    failed: dict[str, str] | None = None
    """Reasons, by the nodes that did not pass, in lower case; missing in older histories."""
    uid: str | None = None
    """Of a bind: of the pod; missing in older histories."""
    node: str | None = None
    """Of a bind: where to; missing in older histories."""
    victims_asked: dict[str, list[str]] = Field(default_factory=dict)
    """Of a preempt: the uids of the pods that were offered, by node."""
    victims_answered: dict[str, list[str]] = Field(default_factory=dict)
    """Of a preempt: the uids of the victims that were answered, by node."""
    violations_asked: dict[str, int] = Field(default_factory=dict)
    """Of a preempt: the NumPDBViolations that were offered, by node, where not 0; missing in older histories."""
    violations_answered: dict[str, int] = Field(default_factory=dict)
    """Of a preempt: those that were answered, likewise."""
    error: str = ""
    """The answer's own."""
    is_json: bool = Field(False, validation_alias="json", serialization_alias="json")
    """Whether the answer is."""
    unreadable: str | None = None
    """Why kube-scheduler cannot read the answer, empty where it can; missing in older histories."""


# -- what the candidate runs as, and says


class Configured(Record, kind="configuration"):
    """A scheduler is about to be started."""

    document: dict[str, Any]
    """The KubeSchedulerConfiguration."""


class StartFailed(Record, kind="start-failed"):
    """A program of the candidate ended at its start."""

    text: str
    fix: str


class EndpointAnswer(OfCase, kind="endpoint"):
    """A compiled scheduler was asked for a path that it serves."""

    path: str
    status: int
    """0: it did not answer."""
    answer: str
    """Its beginning; why there was none."""
    counted: Number | None = None
    """How many pods it has scheduled, by its metrics; null where they do not tell."""


class LeaseHolder(OfCase, kind="lease"):
    """The holder of the Lease by which a compiled scheduler was to elect its leader."""

    name: str
    """`namespace/name`"""
    holder: str
    """Empty where there was none."""


class ProcessEvent(Record, kind="process"):
    """A process of the candidate started or ended.

    With `descendant`: what such a process has forked, and only where it runs files of the candidate's.
    """

    name: str
    event: str
    """`started`, `exited`, `stopped` (by the harness) or `stood-down` (as the instance that led before).

    Of descendants: `exited`; `replaced`: what had `pid` has been followed by another process with the same `argv`;
    `listener-replaced`: what listened at the candidate's port has ended, and another process listens there;
    `unwatched`: the kernel lists no children.
    """
    code: int | None = None
    """Of an exit; null where the kernel does not tell."""
    log: list[str] = Field(default_factory=list)
    """Its last lines; of a descendant what was printed in the second before."""
    cause: str = ""
    """Why it ended, as its log tells it; missing in older histories."""
    descendant: bool = False
    pid: int = 0
    argv: list[str] = Field(default_factory=list)
    lived: Number = 0.0
    """Seconds at least; shorter lives are left out, but for the first with code 0."""
    forked: bool = False
    """Whether it is a copy of its parent, as a worker is."""
    by: int | None = None
    """The pid of what has followed it."""
    port: int = 0
    """Of the listener that was replaced."""


class KeptWaiting(Record, kind="kept"):
    """For how long processes that a Binding passes waited for a processor, where that was worth a word."""

    seconds: Number
    """The stretch that ended then."""
    kept: dict[str, Number]
    """Seconds of it, by the processes' names."""

    @property
    def begun(self) -> float:
        return self.at - self.seconds


class NodeScore(Record, kind="score"):
    """From a scheduler's log: a score, normalized, times its weight."""

    pod: str
    scorer: str
    """`total` for their sum."""
    node: str
    score: Number


class LogTail(OfCase, kind="log"):
    """The last lines of a log at the end of a case."""

    name: str
    lines: list[str]
