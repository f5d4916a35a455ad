"""The records in which the harness says what it did, and what it found out by that."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from schedproof.history.record import Model, Number, OfCase, Record


class RunCandidate(Model):
    """What is judged: its descriptor, with durations in seconds."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: str
    """`extender`, `controller`, `plugin` or `attached`; the field of that name has what the descriptor says there."""
    scheduler_name: str = Field(validation_alias="schedulerName", serialization_alias="schedulerName")
    path: str
    """Of its candidate.yaml."""
    extender: dict[str, Any] | None = None
    """Of an extender: `config`, as kube-scheduler's configuration has it, but for the address."""
    plugin: dict[str, Any] | None = None
    """Of a compiled scheduler: what to run."""
    scheduler_config: dict[str, Any] | None = Field(
        None, validation_alias="schedulerConfig", serialization_alias="schedulerConfig"
    )  # fmt: skip
    """A KubeSchedulerConfiguration of its own, as it is written."""
    claims: dict[str, Any]
    claimed_window: Number | None = Field(
        None, validation_alias="claimedWindow", serialization_alias="claimedWindow"
    )  # fmt: skip
    """Seconds; where another window is tried than is claimed."""
    exclusions: list[dict[str, Any]] = Field(default_factory=list)


class RunCluster(Model):
    """Where it is judged."""

    name: str
    """`embedded`, `kind` or `existing`."""
    capabilities: list[str]
    """What can be tried there."""
    nodes: list[str] = Field(default_factory=list)
    device: str = ""
    """The nodes' interface that has their traffic."""
    scrape_interval: Number = 0.0
    """Seconds."""


class Users(Model):
    """Names of users, as the audit log has them, by role."""

    candidate: list[str]
    """The candidate's own identity first."""
    control: list[str] = Field(default_factory=list)
    harness: list[str] = Field(default_factory=list)


class Rights(Model):
    """Rules of RBAC."""

    declared: list[dict[str, Any]] = Field(default_factory=list)
    """What the candidate's identity is granted."""
    schedulers: list[dict[str, Any]] = Field(default_factory=list)
    """What Kubernetes grants to schedulers."""
    processes: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)
    """By user name, what processes of the candidate's are granted that have identities of their own."""


class Run(Record, kind="run"):
    """The first record."""

    version: str = Field(validation_alias="schema", serialization_alias="schema")
    """The history's schema."""
    candidate: RunCandidate
    cluster: RunCluster
    seed: int
    versions: dict[str, Any]
    """Of the harness, of Kubernetes and of what else runs."""
    users: Users
    rbac: Rights | None = None
    """Missing in older histories."""
    scheduler_names: list[str]
    """Pods that name one of these are the candidate's to schedule."""
    namespace: str
    """In which cases create their pods."""
    epoch: Number
    """The wall-clock time, in seconds, at which `at` was 0."""


class Selected(Record, kind="selected"):
    """What this run is to judge."""

    clauses: list[str]
    """Ids, in order."""
    allow_skipped: bool = True
    """Whether what the cluster cannot try may stay untried. In older histories it may."""


class CasePhase(OfCase, kind="case"):
    """A case begins or ends."""

    phase: str
    """`begin` or `end`."""
    early: bool = False
    """At its end: whether a missed deadline cut it short."""


class RunEnd(Record, kind="over"):
    """All that was to be tried has been, and all logs have been read up to here; missing where the run was cut off."""


class Broken(OfCase, kind="broken"):
    """This case has shown that the candidate binds nothing: no more that needs bindings is tried."""

    basic: bool = False
    """It has shown that what it is about is ignored: only what stands on that clause is not tried any more."""


class Trouble(OfCase, kind="trouble"):
    """The harness could not do its part."""

    text: str


class Asserted(OfCase, kind="asserted"):
    """An assertion of a test of the user's own does not hold."""

    text: str


class Marked(OfCase):
    """What the harness did at a moment that is compared with those of requests."""

    mark: int = 0
    """The number of a `mark`: requests before that line of the audit log came before this. 0 where there is none."""


# -- pods, and what is waited for


class PodCreated(OfCase, kind="pod"):
    """The harness created a pod. `case` is empty where it is of none."""

    pod: str
    """`namespace/name`"""
    uid: str
    role: str
    """probe, sentinel, settle, control, filler, waiter (it must wait to the end of the run), and what a case says of
    its own."""
    phase: int = -1
    """Of the load; -1 where there is none."""
    varied: list[str] = Field(default_factory=list)
    """In which ways it looks otherwise than its case describes it, and means the same. Missing in older histories."""


class GroupCreated(OfCase, kind="group"):
    """The harness has created all pods of a group."""

    name: str
    """What stands for `{group}` in the candidate's claim."""
    pods: list[str]
    """Uids of its members."""


class Expect(OfCase, kind="expect"):
    """The harness waited for an outcome, and the wait is over."""

    pod: str
    uid: str
    outcome: str
    """`bound`, `pending`, or `unwilling`: it fits, and the candidate claims not to schedule it."""
    rv: int
    """The newest revision that the harness had seen by then."""
    within: Number
    """Seconds."""
    deadline: str = ""
    """Its name."""
    kept: dict[str, Number] = {}  # noqa: RUF012 - pydantic copies it
    """Seconds for which processes waited for a processor meanwhile, by their names. Missing in older histories."""


class Missed(OfCase, kind="missed"):
    """The candidate was waited for in vain."""

    what: str
    """It was to say."""
    within: Number
    """Seconds."""
    deadline: str = ""
    """Its name."""
    kept: dict[str, Number] = {}  # noqa: RUF012 - pydantic copies it
    """Seconds for which processes waited for a processor meanwhile, by their names. Missing in older histories."""


class Fence(OfCase, kind="fence"):
    """All that was created before a sentinel has been decided on."""

    pod: str
    """The sentinel."""
    rv: int


class Lift(Marked, kind="lift"):
    """The harness removes the scheduling gates of a pod."""

    pod: str
    uid: str


class Tolerates(OfCase, kind="tolerates"):
    """The harness gives a pod that waits a toleration: from here on it can be placed."""

    pod: str
    uid: str
    phase: int = -1
    """Of the load; -1 where there is none."""


class Accepted(OfCase, kind="accepted"):
    """The Bindings of a pod, which were refused until now, are refused no more: from here on it can be placed."""

    pod: str
    uid: str
    phase: int = -1
    """Of the load; -1 where there is none."""


# -- what the candidate has seen


class ShownSeen(Record, kind="seen"):
    """The candidate is known to have seen nodes and pods, because it did what only that admits."""

    rv: int
    """The revision up to which it has seen both."""
    nodes: int | None = None
    """The revision of the nodes that it has seen; `rv` where it is missing, as in older histories."""
    pods: int | None = None
    """The revision of the pods on nodes that it has seen; `rv` where it is missing, as in older histories."""
    shown_at_rv: int
    """The newest revision when that was shown."""
    pod: str
    """The proof."""


class Unseen(Record, kind="unseen"):
    """It could not be shown that the candidate saw a revision."""

    case: str | None = None
    """Missing in older histories."""
    rv: int
    reason: str


class Aged(OfCase, kind="aged"):
    """The harness's watch has shown a node as of a revision, so long ago that the candidate must heed it."""

    node: str
    rv: int
    seconds: Number
    """The candidate's claimed freshness."""
    kept: dict[str, Number] = {}  # noqa: RUF012 - pydantic copies it
    """Seconds for which processes waited for a processor meanwhile, by their names. Missing in older histories."""


class Emptied(OfCase, kind="emptied"):
    """The harness takes all nodes away."""


# -- the candidate and its lines


class Halted(OfCase, kind="halted"):
    """The harness has ended the candidate."""


class Resumed(Marked, kind="resumed"):
    """The harness has started the candidate again; `mark` is from before its start."""


class Election(OfCase, kind="election"):
    """What the harness does with two instances of a candidate that elects a leader."""

    event: str
    """`second-started`, `first-frozen`, `first-thawed`, `first-awake` (it had the time to heed what happened meanwhile)
    or `second-ends`."""
    user: str
    """The second instance's."""


class AccountTokens(OfCase, kind="tokens"):
    """What becomes of the tokens in the files of the candidate's ServiceAccounts; see `ApiRequest.credential`."""

    event: str
    """`found` (they are there since its last start), `replaced` (from here on others are there) or `refused` (those
    that were found are not valid any more)."""
    credentials: list[str]
    """Ids of the tokens."""


class LineFault(OfCase, kind="fault"):
    """The harness breaks or heals a line of the candidate's."""

    line: str
    """`prometheus`, `extender` or `apiserver`."""
    fault: str
    """Its name; empty where the line is healed."""
    on: bool
    """Whether the line is broken from here on."""
    connections: int = 0
    """Of the line to the apiserver: how many had come through it since the candidate's start."""


class TransportTried(OfCase, kind="transport"):
    """The harness asked the extender a question past the tap."""

    how: str
    """`as configured`, `over plain HTTP` or `without a certificate`."""
    status: int
    """0: it was not answered."""
    error: str = ""
    """Why it was not."""


class Calm(Marked, kind="calm"):
    """From here on the harness does nothing."""

    seconds: Number
    """For so long."""


class CalmOver(Marked, kind="calm-over"):
    """The harness did nothing."""

    seconds: Number
    """For so long."""


class Tried(OfCase, kind="tried"):
    """A compiled scheduler was started beside itself with other args."""

    arg: str
    """The one that was changed or left out; empty where all were."""
    value: Any = None
    """What it was given."""
    code: int | None = None
    """With which it ended; null: it got ready."""
    log: list[str]


# -- load and scores


class NodesLoad(OfCase, kind="load"):
    """Traffic asked for."""

    phase: int
    traffic: dict[str, Number]
    """Bytes per second, by node."""
    source: str
    """`packets` or `scripted`."""


class Reading(OfCase, kind="reading"):
    """What Prometheus answers at the moment of a decision."""

    pod: str
    query: str
    traffic: dict[str, Number]
    """Bytes per second, by node."""


class Surfaces(OfCase, kind="surfaces"):
    """Where the scores of the candidate can be asked for."""

    names: list[str]


class ScoringSearch(OfCase, kind="scoring"):
    """A search for a case that breaks a rule of scores, on one surface."""

    surface: str
    cases: int
    """How many were tried."""
    id: str = ""
    """Of the case that breaks it, by which it can be asked again; empty where none does."""
    asked: int = 0
    """Questions."""
    seconds: Number = 0.0
    waited: Number = 0.0
    """Of these seconds, those in which readings were waited for."""
    steady: bool = True
    """Whether it breaks every time that it is asked."""
    questions: list[Any]
    """Of the case that is shown: the nodes and their readings."""
    answers: list[Any]


class WorldSearch(OfCase, kind="worlds"):
    """A search for a world in which a pod is placed wrongly."""

    worlds: int
    """How many were tried, before one was made smaller."""
    tries: int = 0
    """To make it smaller."""
    seconds: Number = 0.0
    id: str = ""
    """Of the smallest that was found, by which it can be tried again; empty where there is none."""
    world: dict[str, Any] | None = None
    """That one: its nodes, and the steps by which pods come."""
    words: str = ""
    """The same as a person would say it."""
    file: str = ""
    """Where it is as YAML that kubectl takes, below the folder of this history."""
    pods: list[str] = Field(default_factory=list)
    """Uids of its pods as it was tried last; empty where all was right then."""
    steady: bool = True
    """Whether it went wrong each time."""
