"""Records of the harness's own actions, and of what they showed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from schedproof.candidate.reading import CandidateKind
from schedproof.history.faults import Fault, Line
from schedproof.history.record import Model, Number, OfCase, Record

Expected = Literal["bound", "pending", "unwilling"]
ElectionEvent = Literal["second-started", "first-frozen", "first-thawed", "first-awake", "second-ends"]
TokenEvent = Literal["found", "replaced", "refused"]
LoadSource = Literal["packets", "scripted"]


class RunCandidate(Model):
    """The candidate: its descriptor, with durations in seconds."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: CandidateKind
    """The field of that name has the descriptor's settings for the kind."""
    scheduler_name: str = Field(validation_alias="schedulerName", serialization_alias="schedulerName")
    path: str
    """The folder of its candidate.yaml."""
    extender: dict[str, Any] | None = None
    """For an extender: `config`, as in kube-scheduler's configuration, without the address."""
    plugin: dict[str, Any] | None = None
    """For a compiled scheduler: what to run."""
    scheduler_config: dict[str, Any] | None = Field(
        None, validation_alias="schedulerConfig", serialization_alias="schedulerConfig"
    )  # fmt: skip
    """Its own KubeSchedulerConfiguration, as written."""
    claims: dict[str, Any]
    claimed_window: Number | None = Field(
        None, validation_alias="claimedWindow", serialization_alias="claimedWindow"
    )  # fmt: skip
    """Seconds; set if another window is tried than the claimed one."""
    exclusions: list[dict[str, Any]] = Field(default_factory=list)


class RunCluster(Model):
    """The cluster of the run."""

    name: str
    """`embedded`, `kind` or `existing`."""
    minor: str = ""
    """The minor version of Kubernetes, such as `1.36`."""
    feature_gates: dict[str, bool] = Field(default_factory=dict)
    """Those that differ from the defaults of the version."""
    capabilities: list[str]
    """The capabilities of the cluster."""
    withheld: dict[str, str] = Field(default_factory=dict)
    """By capability, why it cannot be used with this candidate, which the harness did not start."""
    nodes: list[str] = Field(default_factory=list)
    device: str = ""
    """The network interface of the nodes whose traffic counts."""
    scrape_interval: Number = 0.0
    """Seconds."""


class Users(Model):
    """User names, as in the audit log, by role."""

    candidate: list[str]
    """The candidate's users; its main identity first."""
    control: list[str] = Field(default_factory=list)
    harness: list[str] = Field(default_factory=list)


class Rights(Model):
    """RBAC rules."""

    declared: list[dict[str, Any]] = Field(default_factory=list)
    """The rules of the candidate's identity; one that counts in a single namespace has that as `namespace`."""
    schedulers: list[dict[str, Any]] = Field(default_factory=list)
    """The rules that Kubernetes grants to schedulers."""
    processes: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)
    """By user name, the rules of the candidate's processes that have identities of their own."""


class Run(Record, kind="run"):
    """The first record of a history."""

    version: str = Field(validation_alias="schema", serialization_alias="schema")
    """The history's schema."""
    candidate: RunCandidate
    cluster: RunCluster
    seed: int
    versions: dict[str, Any]
    """Versions of the harness, of Kubernetes and of the other programs."""
    machine: dict[str, str | int] = Field(default_factory=dict)
    """The harness's machine: `architecture`, `processors`, `memory` (bytes), `kernel`. Missing in older histories."""
    users: Users
    rbac: Rights | None = None
    """Missing in older histories."""
    scheduler_names: list[str]
    """Pods that name one of these are the candidate's to schedule."""
    namespace: str
    """The namespaces in which cases create their pods."""
    epoch: Number
    """The wall-clock time, in seconds, at which `at` was 0."""


class Selected(Record, kind="selected"):
    """The clauses that this run is to judge."""

    clauses: list[str]
    """Ids, in order."""
    shard: str = ""
    """Which part of a run this is, such as `2/3`; empty if it is all of it."""
    of_all_shards: list[str] = Field(default_factory=list)
    """The ids of what all shards are to judge, in order; empty without shards."""
    allow_skipped: bool = True
    """Whether clauses that the cluster cannot try may stay untried. True in older histories."""


class CasePhase(OfCase, kind="case"):
    """A case begins or ends."""

    phase: Literal["begin", "end"]
    early: bool = False
    """At its end: whether a missed deadline ended it early."""


class RunEnd(Record, kind="over"):
    """All selected clauses have been tried, and all logs have been read; missing if the run was interrupted."""


class Broken(OfCase, kind="broken"):
    """The case has shown that the candidate binds nothing: clauses that need bindings are no longer tried."""

    basic: bool = False
    """The case has shown that the candidate ignores its subject: only clauses that depend on it are no longer tried."""


class Unsupported(OfCase, kind="unsupported"):
    """The case ended because it needs what the candidate does not support."""

    subject: str
    clause: str
    """The clause about it, which the candidate excludes, or whose feature it does not claim."""


class MadeWay(OfCase, kind="made-way"):
    """Pods of the case that waited are about to be deleted, because others that fit are not bound in time."""

    waiting: list[str]
    """Uids."""
    unbound: list[str]
    """Uids of the others."""


class LeftOut(OfCase, kind="left-out"):
    """After the case, the candidate bound plain pods, but not all with these changes, which later pods are without."""

    kinds: dict[str, str]
    """Each kind of variation, such as `node affinity`, and the clause about it."""


class Unblocked(OfCase, kind="unblocked"):
    """After the case, the candidate bound plain pods, but not before the pods that wait for the whole run were deleted.

    No pod waits so from then on.
    """


class PlainPods(OfCase, kind="plain-pods"):
    """After the case, the harness tried whether the candidate binds pods that fit on every node."""

    bound: bool


Habit = Literal["binds", "binds-nothing", "ignores-selectors", "avoids-reserved"]


class Noted(OfCase, kind="noted"):
    """What the candidate did with pods of the case, as later cases have to know it; once for each habit."""

    habit: Habit
    """`binds`, `binds-nothing`: whether pods were bound at the end of a wait; `ignores-selectors`: a pod was bound to
    another node than it selects, although that was free; `avoids-reserved`: pods are bound, but none to the reserved
    node, although they tolerate its taints.
    """


class Trouble(OfCase, kind="trouble"):
    """The harness could not do its part."""

    text: str


class Asserted(OfCase, kind="asserted"):
    """An assertion of a user's own test does not hold."""

    text: str


class Marked(OfCase):
    """An action of the harness at a time that is compared with the times of requests."""

    mark: int = 0
    """The number of a `mark`: requests before that line of the audit log came before this. 0 if there is none."""


# -- pods, and what is waited for


class PodCreated(OfCase, kind="pod"):
    """The harness created a pod. `case` is empty if it belongs to none."""

    pod: str
    """`namespace/name`"""
    uid: str
    role: str
    """probe, sentinel, settle, control, filler, waiter (it must wait to the end of the run), or a role of the case."""
    phase: int = -1
    """The number of the load; -1 if there is none."""
    varied: list[str] = Field(default_factory=list)
    """How it differs in looks, with the same meaning, from the case's description. Missing in older histories."""


class GroupCreated(OfCase, kind="group"):
    """The harness has created all pods of a group."""

    name: str
    """The value of `{group}` in the candidate's claim."""
    pods: list[str]
    """Uids of its members."""


class Expect(OfCase, kind="expect"):
    """The harness has waited for an outcome of a pod."""

    pod: str
    uid: str
    outcome: Expected
    """`unwilling`: it fits, but the candidate claims not to schedule it."""
    rv: int
    """The newest revision that the harness had seen by then."""
    within: Number
    """Seconds."""
    deadline: str = ""
    """The deadline's name."""
    kept: dict[str, Number] = {}  # noqa: RUF012 - pydantic copies it
    """Seconds for which processes waited for a processor meanwhile, by their names. Missing in older histories."""


class Missed(OfCase, kind="missed"):
    """The harness waited for the candidate in vain."""

    what: str
    """The missing event."""
    within: Number
    """Seconds."""
    deadline: str = ""
    """The deadline's name."""
    kept: dict[str, Number] = {}  # noqa: RUF012 - pydantic copies it
    """Seconds for which processes waited for a processor meanwhile, by their names. Missing in older histories."""


class Fence(OfCase, kind="fence"):
    """The candidate has decided on every pod that was created before a sentinel."""

    pod: str
    """The sentinel."""
    rv: int


class Lift(Marked, kind="lift"):
    """The harness removes the scheduling gates of a pod."""

    pod: str
    uid: str


class Tolerates(OfCase, kind="tolerates"):
    """The harness adds a toleration to a waiting pod: from here on it can be placed."""

    pod: str
    uid: str
    phase: int = -1
    """The number of the load; -1 if there is none."""


class Accepted(OfCase, kind="accepted"):
    """The harness stops refusing the Bindings of a pod: from here on it can be placed."""

    pod: str
    uid: str
    phase: int = -1
    """The number of the load; -1 if there is none."""


class StatusRefused(OfCase, kind="status-refused"):
    """The harness's webhook refused a write of a pod's status."""

    pod: str
    """`namespace/name`"""
    user: str
    """The client, as in the audit log."""


# -- what the candidate has seen


class ShownSeen(Record, kind="seen"):
    """The candidate has seen nodes and pods, as it shows by an action that is possible only then."""

    rv: int
    """The revision up to which it has seen both."""
    nodes: int | None = None
    """The revision of the nodes that it has seen; `rv` if missing, as in older histories."""
    pods: int | None = None
    """The revision of the pods on nodes that it has seen; `rv` if missing, as in older histories."""
    shown_at_rv: int
    """The newest revision when that was shown."""
    pod: str
    """The pod that shows it."""


class Unseen(Record, kind="unseen"):
    """It could not be shown that the candidate saw a revision."""

    case: str | None = None
    """Missing in older histories."""
    rv: int
    reason: str


class Aged(OfCase, kind="aged"):
    """The harness's watch showed a revision so long ago that the candidate's decisions must consider it."""

    node: str
    """The node of which it is a revision; empty: all nodes and pods up to this revision."""
    rv: int
    seconds: Number
    """The candidate's claimed freshness."""
    kept: dict[str, Number] = {}  # noqa: RUF012 - pydantic copies it
    """Seconds for which processes waited for a processor meanwhile, by their names. Missing in older histories."""


class Emptied(OfCase, kind="emptied"):
    """The harness removes all nodes."""


# -- the candidate and its lines


class Halted(OfCase, kind="halted"):
    """The harness has ended the candidate."""


class Resumed(Marked, kind="resumed"):
    """The harness has restarted the candidate; `mark` is from before its start."""


class Election(OfCase, kind="election"):
    """An action of the harness on two instances of a candidate that elects a leader."""

    event: ElectionEvent
    """`first-awake`: it had time to process what happened meanwhile."""
    user: str
    """The user name of the second instance."""


class AccountTokens(OfCase, kind="tokens"):
    """An action on the tokens in the files of the candidate's ServiceAccounts; see `ApiRequest.credential`."""

    event: TokenEvent
    """`found`: the tokens in the files since its last start; `replaced`: from here on the files have other tokens;
    `refused`: the found tokens are no longer valid.
    """
    credentials: list[str]
    """Ids of the tokens."""


class LineFault(OfCase, kind="fault"):
    """The harness breaks or heals a line of the candidate's."""

    line: Line
    fault: Annotated[Fault, Field(strict=False)] | Literal[""]
    """The fault; empty if the line is healed."""
    on: bool
    """Whether the line is broken from here on."""
    connections: int = 0
    """For the line to the apiserver: the number of connections through it since the candidate's start."""


class TransportTried(OfCase, kind="transport"):
    """The harness sent the extender a question past the tap."""

    how: str
    """`as configured`, `over plain HTTP` or `without a certificate`."""
    status: int
    """0: no response."""
    error: str = ""
    """Why there was none."""


class Calm(Marked, kind="calm"):
    """From here on the harness does nothing."""

    seconds: Number
    """For so many seconds."""


class CalmOver(Marked, kind="calm-over"):
    """The harness did nothing."""

    seconds: Number
    """For so many seconds."""


class Rested(OfCase, kind="rested"):
    """The harness did nothing for a moment, while a pod waited that had just been tried again in vain."""

    seconds: Number
    """For so many seconds."""
    used: dict[str, Number]
    """CPU time of the processes of each component of the candidate meanwhile; none that this machine does not see."""
    kept: dict[str, Number] = {}  # noqa: RUF012 - pydantic copies it
    """For how long processes were kept from running meanwhile, by their names."""


class Tried(OfCase, kind="tried"):
    """A compiled scheduler was started with other args, beside the running one."""

    arg: str
    """The arg that was changed or left out; empty if all were."""
    value: Any = None
    """The value that it got."""
    code: int | None = None
    """The exit code; null: it became ready."""
    log: list[str]


# -- load and scores


class NodesLoad(OfCase, kind="load"):
    """The load that the harness generates."""

    phase: int
    traffic: dict[str, Number]
    """Bytes per second, by node."""
    source: LoadSource


class Reading(OfCase, kind="reading"):
    """The values that Prometheus has at the time of a decision."""

    pod: str
    query: str
    traffic: dict[str, Number]
    """Bytes per second, by node."""


class Surfaces(OfCase, kind="surfaces"):
    """The surfaces on which the candidate's scores can be asked for."""

    names: list[str]


class ScoringSearch(OfCase, kind="scoring"):
    """A search for a case that breaks a rule about scores, on one surface."""

    surface: str
    cases: int
    """The number of cases that were tried."""
    id: str = ""
    """The id of the case that breaks it, by which it can be repeated; empty if none does."""
    asked: int = 0
    """The number of questions."""
    seconds: Number = 0.0
    waited: Number = 0.0
    """The part of these seconds in which readings were waited for."""
    steady: bool = True
    """Whether it breaks the rule each time."""
    questions: list[Any]
    """The nodes and readings of the case that is shown."""
    answers: list[Any]


class WorldSearch(OfCase, kind="worlds"):
    """A search for a world in which a pod is placed wrongly."""

    worlds: int
    """The number of worlds that were tried before shrinking."""
    tries: int = 0
    """The number of worlds that were tried for shrinking."""
    seconds: Number = 0.0
    freed: dict[str, int] = Field(default_factory=dict)
    """`RULE, KIND OF STEP` to how many waiting pods were bound where the rule had kept them off before the step."""
    disturbed: dict[str, int] = Field(default_factory=dict)
    """`FAULT, WHAT` to how often a fault was on during a kind of step, or while a rule kept a pod off."""
    id: str = ""
    """The id of the smallest failing world, by which it can be repeated; empty if there is none."""
    world: dict[str, Any] | None = None
    """That world: its nodes, and the steps by which pods come."""
    words: str = ""
    """That world as a sentence."""
    events: list[str] = Field(default_factory=list)
    """What happens in it beside pods that come, and changes of nodes and pods; without it, the world passes."""
    file: str = ""
    """The place of its YAML for kubectl, below the folder of this history."""
    pods: list[str] = Field(default_factory=list)
    """Uids of its pods as it was tried last; empty if that passed."""
    steady: bool = True
    """Whether it failed each time."""
