"""Records of observations: by the harness's own watch, in the audit log, at the taps, in logs, of processes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, GetPydanticSchema
from typing_extensions import TypedDict

from schedproof.history.record import Number, OfCase, Record

CLIENT_LEFT = "the client ended the connection"
"""The `error` of a request whose client has disconnected."""
IDLE_CLOSED = "the server closed its idle connection as the request was sent"
"""Likewise of a request that crossed the end of its connection, which no client can avoid."""
REFUSED_HERE = "the tap cannot read it"
"""The beginning of an `error` that another client might not have had."""


class _Metadata(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    name: str
    uid: NotRequired[str | None]


class _Object(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    metadata: _Metadata
    spec: NotRequired[dict[str, Any]]


Manifest = Annotated[dict[str, Any], GetPydanticSchema(lambda _, handler: handler(_Object))]
"""A Kubernetes object, as the apiserver returns it."""


class WatchEvent(Record, kind="object"):
    """An event of the harness's own watch."""

    resource: str
    """`namespaces`, `nodes`, `pods`, `events`, `storageclasses`, `persistentvolumes`, `persistentvolumeclaims`,
    `csinodes`, `csidrivers` or `csistoragecapacities`; of a candidate that claims `dra` or `dra-extended` also
    `deviceclasses`, `resourceslices` and `resourceclaims`.
    """
    type: str
    """LISTED, ADDED, MODIFIED or DELETED."""
    rv: int
    """The resourceVersion as a number: etcd's revision orders all resources of a cluster."""
    object: Manifest

    @property
    def explains(self) -> bool:
        """Whether it is an Event with a message."""
        return self.resource == "events" and bool(self.object.get("message"))

    def tells_of(self, pod: str, uid: str) -> bool:
        """Whether it is an Event about a pod (`namespace/name`); without a uid, about any pod of that name."""
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
    """By the apiserver's wall clock, minus the run's `epoch`: see `audit_order`."""
    completed: float
    """As `received`."""


class _Request(AuditLine):
    """A request of the candidate, of another client that changes pods or nodes, or with the response 401."""

    user: str
    """Empty if the request was not authenticated."""
    verb: str
    group: str | None = None
    """The API group; missing in older histories."""
    resource: str
    """With the subresource: `pods/binding`; empty for a path that is no resource."""
    namespace: str
    name: str
    dry_run: bool = False
    impersonates: str = ""
    """The impersonated user."""
    credential: str = ""
    """The id of the token, at the first request with it by one of the candidate's users. Missing in older histories."""


class ApiRequest(_Request, kind="request"):
    """A request that the apiserver has answered."""

    code: int
    """The HTTP status; 0: unknown, because the log has only the begin of the request (`RequestBegun`)."""
    body: dict[str, Any] | list[Any] | None = None
    """The body of the request; a list is a JSON patch."""
    path: str = ""
    """The path, if it is no resource."""
    uid: str = ""
    """The uid of the created pod."""
    selector: str = ""
    """For deletecollection: the label and field selectors, as in the query; missing in older histories."""
    call: str = ""
    """The number of the call of the harness's webhook for it: see `admission`."""
    begun: str = ""
    """The `id` of its `RequestBegun`, if there is one."""

    @property
    def fields(self) -> dict[str, Any]:
        """The body, if it is an object; empty for a JSON patch, and without a body."""
        return self.body if isinstance(self.body, dict) else {}


class RequestBegun(_Request, kind="begun"):
    """The apiserver has received a patch, and the audit log did not have its end when it was read.

    The patch is in flight, or its end is lost: kube-apiserver cannot write an audit event whose request body is not
    JSON, as the YAML of a server-side apply, and drops it (apiserver: plugin/pkg/audit/log, Backend.logEvent).
    """

    id: str
    """The audit ID."""


class AuditErrors(Record, kind="audit-errors"):
    """How many audit events the apiserver could not write in this run, by its own metric, at the run's end."""

    events: int


class AuditMark(AuditLine, kind="mark"):
    """A request of the harness's own, which only marks a place in the audit log."""

    mark: int
    """Its number, from 1."""
    answered: float
    """When it was received; `at` is when it was sent."""
    line: int


class Admission(OfCase, kind="admission"):
    """A Binding that passed the harness's webhook."""

    pod: str
    uid: str
    """The uid in the Binding."""
    node: str
    user: str
    call: str = ""
    """The number of the call, also at its request."""
    code: int
    """The status with which it was refused; 0: it passed."""
    held: bool
    """Whether the webhook held it."""
    effective: bool
    """Whether it took effect, by a Binding of the harness, although its response was `code`."""


# -- what went through the taps


class Tapped(Record):
    """A request and its response. Texts are decoded if the request offered the coding."""

    request: str
    status: int
    """0: no response."""
    answer: str
    seconds: Number
    """From the end of the request to the end of the response."""
    bytes: int = 0
    """Bytes of path and both bodies, as transferred."""
    fault: str = ""
    """The fault that the tap injected."""
    broken: str = ""
    """Why the response was not complete."""
    cut: bool = False
    """Whether more was transferred than is kept."""

    @property
    def begun(self) -> float:
        """When the request was complete, on the run's clock; it is recorded after its response, or its end without one.

        A request belongs to the case in which it began; a hanging one may be recorded in the next case.
        """
        return self.at - self.seconds


class PrometheusQuery(Tapped, kind="query"):
    """A request to Prometheus: `request` is the query, or the path if there is none."""

    path: str
    span: Number = 0.0
    """For a range of time (query_range): its seconds; missing in older histories."""


class QueryReads(Record, kind="query-reads"):
    """What a query of the candidate reads, according to Prometheus' own parser: once for each text of a query."""

    request: str
    metrics: list[str]
    """The names of metrics that it gives literally."""
    look_back: Number | None
    """How many seconds before its evaluation the oldest sample may be; null if it fixes the moment itself."""


class MetricsServed(Record, kind="metrics-served"):
    """Names of metrics of which Prometheus servers of the harness have samples, and that no earlier record has."""

    names: list[str]


class ExtenderCall(Tapped, kind="extender"):
    """A call of the extender: `request` is the verb.

    Nodes, scores and error of the response are those that kube-scheduler reads (`documents/extender_answers.py`).
    """

    by: str = ""
    """`scheduler` or `harness`."""
    case: str | None = None
    """For calls of the harness: the clause; missing for calls of kube-scheduler, which belong to no clause."""
    verb: str = ""
    """For calls of the harness: what it sends, in words."""
    what: str = ""
    """For calls of the harness: the body."""
    pod: str
    asked: list[str] | None = None
    """Names of the requested nodes; null if there were none."""
    answered: list[str] | None = None
    """Names of nodes that passed a filter; null if there were none."""
    mode: str = ""
    """The mode of the request: `names`, `nodes`, or empty."""
    answered_mode: str = ""
    """The mode of the response."""
    scores: list[list[Any]] | None = None
    """Hosts, each with its score; null if the response is no HostPriorityList."""
    failed: dict[str, str] | None = None
    """Reasons by node that did not pass, with lower-case keys; missing in older histories."""
    uid: str | None = None
    """For bind: the uid of the pod; missing in older histories."""
    node: str | None = None
    """For bind: the node; missing in older histories."""
    victims_asked: dict[str, list[str]] = Field(default_factory=dict)
    """For preempt: the uids of the victims in the request, by node."""
    victims_answered: dict[str, list[str]] = Field(default_factory=dict)
    """For preempt: the uids of the victims in the response, by node."""
    violations_asked: dict[str, int] = Field(default_factory=dict)
    """For preempt: the NumPDBViolations in the request, by node, if not 0; missing in older histories."""
    violations_answered: dict[str, int] = Field(default_factory=dict)
    """For preempt: the NumPDBViolations in the response, likewise."""
    error: str = ""
    """The Error of the response."""
    is_json: bool = Field(False, validation_alias="json", serialization_alias="json")
    """Whether the response is complete."""
    unreadable: str | None = None
    """Why kube-scheduler cannot read the response, empty if it can; missing in older histories."""

    @property
    def is_redirect(self) -> bool:
        """Whether Go's client sends the same request to another URL: the response to the following call counts."""
        return self.status in (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)


# -- what the candidate runs as, and says


class Configured(Record, kind="configuration"):
    """The harness is about to start a scheduler."""

    document: dict[str, Any]
    """The KubeSchedulerConfiguration."""


class StartFailed(Record, kind="start-failed"):
    """A program of the candidate ended at its start."""

    text: str
    fix: str


class EndpointAnswer(OfCase, kind="endpoint"):
    """The harness requested a path that a compiled scheduler serves."""

    path: str
    status: int
    """0: no response."""
    answer: str
    """The beginning of the response, or why there was none."""
    counted: Number | None = None
    """How many pods it has scheduled, by its metrics; null if they do not say."""


class LeaseHolder(OfCase, kind="lease"):
    """The holder of the Lease by which a compiled scheduler elects its leader."""

    name: str
    """`namespace/name`"""
    holder: str
    """Empty if there was none."""


class ProcessEvent(Record, kind="process"):
    """A process of the candidate started or ended.

    With `descendant`: a process that such a process has forked, and only if it runs files of the candidate's.
    """

    name: str
    event: str
    """`started`, `exited`, `stopped` (by the harness) or `stood-down` (as the previous leader).

    Of descendants: `exited`; `replaced`: the process `pid` has been followed by another with the same `argv`;
    `unwatched`: the kernel lists no children.
    """
    code: int | None = None
    """Of an exit; null if the kernel does not report it."""
    log: list[str] = Field(default_factory=list)
    """Its last log lines; of a descendant, those of the second before."""
    cause: str = ""
    """Why it ended, from its log; missing in older histories."""
    descendant: bool = False
    pid: int = 0
    argv: list[str] = Field(default_factory=list)
    lived: Number = 0.0
    """The least number of seconds that it lived; shorter lives are left out, except the first with code 0."""
    forked: bool = False
    """Whether it is a copy of its parent, as a worker is."""
    by: int | None = None
    """The pid of its successor."""


class KeptWaiting(Record, kind="kept"):
    """How long processes that a Binding depends on waited for a processor, if it was noticeable."""

    seconds: Number
    """The seconds of the span that ended then."""
    kept: dict[str, Number]
    """The seconds of waiting, by the processes' names."""

    @property
    def begun(self) -> float:
        return self.at - self.seconds


class NodeScore(Record, kind="score"):
    """From a scheduler's log: a score, normalized, times its weight."""

    pod: str
    scorer: str
    """The scoring plugin; `total` for the sum."""
    node: str
    score: Number


class LogTail(OfCase, kind="log"):
    """The last lines of a log at the end of a case."""

    name: str
    lines: list[str]
