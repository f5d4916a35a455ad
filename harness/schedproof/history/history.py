"""Queries of a history for judges. Pure: no I/O, no clock."""

from __future__ import annotations

import bisect
import dataclasses
import datetime
import functools
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from schedproof.candidate.claims import Claims, Exclusion
from schedproof.documents.reading import adapter
from schedproof.history.acts import (
    Accepted,
    CasePhase,
    Fence,
    LineFault,
    PodCreated,
    Run,
    RunEnd,
    Tolerates,
)
from schedproof.history.audit_order import BINDINGS, STEP, AuditOrder
from schedproof.history.faults import Line
from schedproof.history.index import Index
from schedproof.history.observations import (
    ApiRequest,
    AuditErrors,
    AuditMark,
    Configured,
    KeptWaiting,
    RequestBegun,
    WatchEvent,
)
from schedproof.history.outages import Outage, outages
from schedproof.history.record import Record
from schedproof.history.watched import Binding, PodSights
from schedproof.history.world import ClusterState

_Kind = TypeVar("_Kind", bound=Record)


@dataclasses.dataclass(frozen=True)
class TestPod:
    """A pod that the harness created for a case."""

    case: str
    name: str
    """`namespace/name`"""
    uid: str
    role: str
    at: float
    phase: int
    """The number of the load at its creation; -1 if there was none."""

    __test__ = False  # pytest: not a test class


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A request that would place a pod, accepted by the apiserver or not."""

    pod: str
    uid: str
    """The uid of the pod that it can place; "" if it places any pod of that name.

    The latter is true of a Binding without metadata.uid, and of one to the legacy resource `bindings`, where the
    apiserver removes the uid (endpoints/handlers/create.go: WipeObjectMetaSystemFields).
    """
    node: str
    user: str
    code: int
    received: float
    completed: float
    """On the clock of the run; see `schedproof.history.audit_order`."""
    line: int = 0
    """Its place in the audit log; 0 in histories that were saved before it was kept."""
    call: str = ""
    """The number of the call of the harness's webhook for it, if there was one."""
    legacy: bool = False
    """Whether it was posted to the namespace's `bindings`, and not to the pod's subresource."""

    @property
    def succeeded(self) -> bool:
        return self.code == HTTPStatus.CREATED

    def precedes(self, at: float) -> bool:
        """Whether it was received before a time of the run's clock, whatever the offset of its stamps."""
        return self.received < at - STEP

    @property
    def unanswered(self) -> bool:
        """Whether its result is unknown: its client disconnected before the response. It may have been carried out."""
        return self.code == HTTPStatus.GATEWAY_TIMEOUT


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a candidate is shown to have seen: nodes as of one revision, assigned pods as of another."""

    nodes: int
    pods: int


class _OwnPods(Mapping[str, dict[str, Any]]):
    """The pods that have one of these schedulerNames; computed when requested."""

    def __init__(self, manifests: Mapping[str, dict[str, Any]], scheduler_names: Collection[str]) -> None:
        self._manifests, self._names = manifests, scheduler_names

    def __getitem__(self, uid: str) -> dict[str, Any]:
        pod = self._manifests[uid]
        if pod["spec"].get("schedulerName") not in self._names:
            raise KeyError(uid)
        return pod

    def __iter__(self) -> Iterator[str]:
        return (uid for uid in self._manifests if uid in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class History:
    """One candidate's run: the records of an index up to a place, such as the end of a case."""

    def __init__(self, records: Sequence[Record] | Index, end: int | None = None) -> None:
        """Args:
        records: or the index of them, which serves all that is asked about the same run.
        end: how many of them there are; all, where it is not given.
        """
        self._index = records if isinstance(records, Index) else Index(records)
        self._end = len(self._index.records) if end is None else end
        run = self._index.records[0]
        assert isinstance(run, Run)
        self.run = run

    @functools.cached_property
    def records(self) -> Sequence[Record]:
        return self._index.records[: self._end]

    @property
    def ended_at(self) -> float:
        """The time of the last record."""
        return self._index.records[self._end - 1].at

    @functools.cached_property
    def claims(self) -> Claims:
        return adapter(Claims).validate_python(self.run.candidate.claims)

    @functools.cached_property
    def candidate_users(self) -> frozenset[str]:
        return frozenset(self.run.users.candidate)

    @functools.cached_property
    def scheduler_names(self) -> frozenset[str]:
        return frozenset(self.run.scheduler_names)

    @functools.cached_property
    def _shown(self) -> tuple[ClusterState, PodSights]:
        return self._index.watched.read(self._index.records, self._end)

    @property
    def world(self) -> ClusterState:
        return self._shown[0]

    @property
    def _pods(self) -> PodSights:
        return self._shown[1]

    @functools.cached_property
    def configuration(self) -> dict[str, Any]:
        """The KubeSchedulerConfiguration that the candidate's scheduler was started with; empty if there was none."""
        return next((record.document for record in self.of(Configured)), {})

    @functools.cached_property
    def cuts(self) -> tuple[tuple[float, float], ...]:
        """When the candidate was cut off from the apiserver, and when it could reach it again."""
        return tuple((outage.begin, outage.end) for outage in self.outages("apiserver"))

    def outages(self, line: Line, case: str | None = None) -> tuple[Outage, ...]:
        """The outages of a line, in order; of a case if one is given."""
        return tuple(outages(record for record in self.of(LineFault, case) if record.line == line))

    def kept(self, begin: float, end: float) -> dict[str, float]:
        """How many seconds which processes waited for a processor between two times; at most 1 s more on each side."""
        kept: dict[str, float] = {}
        for record in self.of(KeptWaiting):
            if record.at > begin and record.begun < end:
                for name, seconds in record.kept.items():
                    kept[name] = kept.get(name, 0.0) + seconds
        return kept

    def of(self, kind: type[_Kind], case: str | None = None) -> Iterator[_Kind]:
        """The records of a kind, and of a case if one is given."""
        return self._index.of(kind, self._end, **({} if case is None else {"case": case}))

    def of_pod(self, kind: type[_Kind], pod: str) -> Iterator[_Kind]:
        """The records of a kind that are about a pod."""
        return self._index.of(kind, self._end, pod=pod)

    @functools.cached_property
    def cases(self) -> tuple[str, ...]:
        """The clauses that were tried, in order."""
        return self._index.cases(self._end)

    def ended(self, case: str) -> bool:
        """Whether its last trial was completed."""
        return [record.phase for record in self.of(CasePhase, case)][-1:] == ["end"]

    def ended_early(self, case: str) -> bool:
        """Whether the candidate missed a deadline, so that the rest of the stimulus was skipped."""
        return any(record.early for record in self.of(CasePhase, case))

    @property
    def over(self) -> bool:
        """Whether the run was completed."""
        return any(self.of(RunEnd))

    def up_to_end(self, case: str = "") -> History:
        """The history as of the end of a case; without a case, of the run.

        What follows (cleaning up, other cases) is not part of it, and may have been recorded incompletely.
        """
        found = self._index.last(CasePhase, self._end, case=case) if case else self._index.last(RunEnd, self._end)
        return self if found is None else History(self._index, found + 1)

    def records_since(self, case: str) -> Sequence[Record]:
        """The records since a case began; all except the header if it did not."""
        begin = next(self._index.places(CasePhase, self._end, case=case), 1)
        return self._index.records[begin : self._end]

    def span(self, case: str) -> tuple[float, float]:
        """When a case began and ended; an unfinished case ends with the last record."""
        begin = next((r.at for r in self.of(CasePhase, case) if r.phase == "begin"), 0.0)
        end = next((r.at for r in self.of(CasePhase, case) if r.phase == "end"), self.ended_at)
        return begin, end

    def test_pods(self, case: str | None = None, role: str = "") -> tuple[TestPod, ...]:
        """The pods that the harness created, for a case or with a role if given."""
        if case not in self._created:
            self._created[case] = tuple(
                TestPod(r.case, r.pod, r.uid, r.role, r.at, r.phase) for r in self.of(PodCreated, case)
            )
        created = self._created[case]
        return tuple(pod for pod in created if pod.role == role) if role else created

    @functools.cached_property
    def _created(self) -> dict[str | None, tuple[TestPod, ...]]:
        return {}

    def fenced(self, case: str, rv: int) -> float:
        """Among a case's fences up to a revision, the latest begin: older pods had been decided on by then.

        -inf if there was none.
        """
        if case not in self._fences:
            sentinels = {pod.name: pod for pod in self.test_pods(case, "sentinel") if pod.uid in self.bindings}
            fences = sorted(
                (fence for fence in self.of(Fence, case) if fence.pod in sentinels), key=lambda fence: fence.rv
            )
            begun = itertools.accumulate((sentinels[fence.pod].at for fence in fences), max)
            self._fences[case] = ([fence.rv for fence in fences], [-math.inf, *begun])
        revisions, begun_by = self._fences[case]
        return begun_by[bisect.bisect_right(revisions, rv)]

    @functools.cached_property
    def _fences(self) -> dict[str, tuple[list[int], list[float]]]:
        return {}

    def released(self, case: str) -> tuple[TestPod, ...]:
        """The pods that had to wait, with the time from which on they could be placed, and the load at that time.

        They got a toleration then, or their Bindings were no longer refused.
        """
        pods = {pod.uid: pod for pod in self.test_pods(case)}
        released: list[Tolerates | Accepted] = [*self.of(Tolerates, case), *self.of(Accepted, case)]
        return tuple(dataclasses.replace(pods[record.uid], at=record.at, phase=record.phase) for record in released)

    @property
    def bindings(self) -> dict[str, Binding]:
        """Pod uid to its first appearance on a node, for pods that were created without a node."""
        return self._pods.bindings

    def guards(self, first: int, last: int) -> list[dict[str, Any]]:
        """Pods with anti-affinity, which repel others, that were on a node at some revision from `first` to `last`.

        Each is in its first state there.
        """
        return [guard.manifest for guard in self._pods.guards.values() if guard.came <= last and guard.gone > first]

    @functools.cached_property
    def placements(self) -> tuple[tuple[float, str], ...]:
        """When pods came to which nodes, by any client's request, in order of time."""
        return tuple(self._pods.placements.values())

    @property
    def endings(self) -> dict[str, WatchEvent]:
        """Pod uid to the first event that showed its deletion, or that it is gone."""
        return self._pods.endings

    @property
    def manifests(self) -> dict[str, dict[str, Any]]:
        """Pod uid to its last state."""
        return self._pods.manifests

    def own_pods(self) -> Mapping[str, dict[str, Any]]:
        """Uid to manifest of the pods that are the candidate's to schedule."""
        return _OwnPods(self.manifests, self.scheduler_names)

    def requests(self) -> Iterator[ApiRequest]:
        """The requests of the audit log, in its order.

        A request of which the log has only the begin has the code 0: it has passed authorization, and may have been
        carried out.
        """
        return iter(self._with_lost) if any(self.of(RequestBegun)) else self.of(ApiRequest)

    @functools.cached_property
    def _with_lost(self) -> tuple[ApiRequest, ...]:
        """As `requests`, for a run with requests of which the log had only the begin."""
        ended = list(self.of(ApiRequest))
        lost = (ApiRequest(code=0, **record.model_dump(exclude={"id"})) for record in self._unended)
        return tuple(sorted([*ended, *lost], key=lambda request: request.line))

    @functools.cached_property
    def _unended(self) -> tuple[RequestBegun, ...]:
        """The requests of which the log has only the begin."""
        ended = {request.begun for request in self.of(ApiRequest) if request.begun}
        return tuple(record for record in self.of(RequestBegun) if record.id not in ended)

    @property
    def lost_requests(self) -> int:
        """How many audit events the apiserver could not write, besides the ends of requests whose begin is on record.

        0 in older histories.
        """
        errors = sum(record.events for record in self.of(AuditErrors))
        return max(0, errors - len(self._unended))

    @functools.cached_property
    def order(self) -> AuditOrder:
        """The order of requests and of the harness's actions."""
        return AuditOrder(list(self.of(AuditMark)), list(self.requests()))

    @functools.cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every POST of a Binding that was meant to take effect (no dry runs), in the order of the audit log."""
        return tuple(
            self._attempt(r)
            for r in self.of(ApiRequest)
            if r.verb == "create" and r.resource in BINDINGS and not r.dry_run
        )

    def _attempt(self, request: ApiRequest) -> Attempt:
        body, legacy = request.fields, request.resource == "bindings"
        uid = "" if legacy else body.get("metadata", {}).get("uid") or ""
        received, completed = self.order.times(request)
        return Attempt(
            f"{request.namespace}/{request.name}", uid, body.get("target", {}).get("name", ""), request.user,
            request.code, received, completed, request.line, request.call, legacy,
        )  # fmt: skip

    @functools.cached_property
    def _incarnations(self) -> dict[str, list[ApiRequest]]:
        """Name of a pod to the requests that created one of this name."""
        found: dict[str, list[ApiRequest]] = {}
        for r in self.of(ApiRequest):
            if r.uid and (r.verb, r.resource) == ("create", "pods"):
                found.setdefault(f"{r.namespace}/{r.name}", []).append(r)
        return found

    def uid_at(self, pod: str, line: int) -> str:
        """The uid of the pod that had this name at a line of the audit log; "" if its creation is not on record."""
        earlier = [r.uid for r in self._incarnations.get(pod, ()) if r.line < line]
        return earlier[-1] if earlier else ""

    def precedes_pod(self, attempt: Attempt, pod: TestPod) -> bool:
        """Whether an attempt was received before its client could know this pod: it was meant for an earlier one.

        The apiserver stamps the pod's creation as it stamps the attempt, so that these are compared where the creation
        is on record, however soon one follows the other.
        """
        creation = next((r for r in self._incarnations.get(pod.name, ()) if r.uid == pod.uid), None)
        return attempt.precedes(pod.at) or (creation is not None and attempt.received < self.order.times(creation)[1])

    @functools.cached_property
    def _candidate_attempts(self) -> dict[str, list[Attempt]]:
        found: dict[str, list[Attempt]] = {}
        for attempt in self.attempts:
            if attempt.user in self.candidate_users:
                found.setdefault(attempt.pod, []).append(attempt)
        return found

    def attempts_at(self, pod: str) -> Sequence[Attempt]:
        """The candidate's attempts to place a pod of this name, whichever of that name they were meant for."""
        return self._candidate_attempts.get(pod, ())

    def attempts_on(self, pod: str, uid: str) -> list[Attempt]:
        """The candidate's attempts to place this pod, by its uid or by its name while it existed."""
        return [
            a for a in self.attempts_at(pod) if a.uid == uid or (not a.uid and self.uid_at(a.pod, a.line) in ("", uid))
        ]

    def seen_before(self, rv: int) -> Seen:
        """The newest revisions that the candidate is shown to have seen before revision `rv`."""
        return Seen(*self._index.seen_before(rv, self._end))

    @property
    def day(self) -> str:
        """When the run began, in UTC: 2027-06-30."""
        return datetime.datetime.fromtimestamp(self.run.epoch, datetime.UTC).date().isoformat()

    @functools.cached_property
    def exclusions(self) -> tuple[Exclusion, ...]:
        return tuple(adapter(Exclusion).validate_python(exclusion) for exclusion in self.run.candidate.exclusions)

    @functools.cached_property
    def excluded(self) -> frozenset[str]:
        """The clauses that the candidate excludes."""
        return frozenset(exclusion.clause for exclusion in self.exclusions)
