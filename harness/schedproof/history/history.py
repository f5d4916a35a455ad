"""Questions that a judge asks of a history. Pure: no I/O, no clock."""

from __future__ import annotations

import dataclasses
import functools
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from schedproof.candidates.claims import Claims, Exclusion
from schedproof.history.audit_order import BINDINGS, AuditOrder
from schedproof.history.world import World, key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schedproof.history.record import Record

__all__ = ["Attempt", "Binding", "History", "Seen", "TestPod"]


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
    """Of the load that was on when it was created; -1 where none was chosen."""

    __test__ = False  # pytest: not a test class


@dataclasses.dataclass(frozen=True)
class Binding:
    """A pod was seen on a node for the first time."""

    pod: str
    uid: str
    node: str
    rv: int
    at: float
    manifest: dict[str, Any]
    """The pod as it was then."""


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A request that would place a pod, whether or not the apiserver took it."""

    pod: str
    uid: str
    """Of the pod that it can place; "" where whichever pod bears the name is placed.

    That is what a Binding without metadata.uid does, and one to the legacy resource `bindings`, where the apiserver
    wipes the uid (endpoints/handlers/create.go: WipeObjectMetaSystemFields).
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
    """The number of the call to the harness's webhook that it led to, if it did."""
    legacy: bool = False
    """Whether it was posted to the namespace's `bindings`, and not to the pod's subresource."""

    @property
    def succeeded(self) -> bool:
        return self.code == HTTPStatus.CREATED

    @property
    def unanswered(self) -> bool:
        """Whether its result is unknown: its client was gone before the answer. It may have been carried out."""
        return self.code == HTTPStatus.GATEWAY_TIMEOUT


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a candidate has shown to have seen: nodes as of one revision, assigned pods as of another."""

    nodes: int
    pods: int


class History:
    """One candidate's run, from its records so far."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.run: Record = records[0]

    @functools.cached_property
    def claims(self) -> Claims:
        return Claims.from_dict(self.run["candidate"]["claims"])

    @functools.cached_property
    def candidate_users(self) -> frozenset[str]:
        return frozenset(self.run["users"]["candidate"])

    @functools.cached_property
    def scheduler_names(self) -> frozenset[str]:
        return frozenset(self.run["scheduler_names"])

    @functools.cached_property
    def world(self) -> World:
        return World(list(self.of("object")))

    @functools.cached_property
    def configuration(self) -> dict[str, Any]:
        """The KubeSchedulerConfiguration that the candidate's scheduler was started with; empty where none was."""
        document: dict[str, Any] = next((record["document"] for record in self.of("configuration")), {})
        return document

    @functools.cached_property
    def cuts(self) -> tuple[tuple[float, float], ...]:
        """When the candidate was cut off from the apiserver, and when it could reach it again."""
        faults = [record for record in self.of("fault") if record["line"] == "apiserver"]
        ends = [record["at"] for record in faults if not record["on"]]
        begins = [record["at"] for record in faults if record["on"]]
        return tuple((begin, next((end for end in ends if end >= begin), math.inf)) for begin in begins)

    def of(self, kind: str, case: str | None = None) -> Iterator[Record]:
        """The records of a kind, and of a case where one is given."""
        for record in self._of_kind.get(kind, ()):
            if case is None or record.get("case") == case:
                yield record

    @functools.cached_property
    def _of_kind(self) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {}
        for record in self.records:
            found.setdefault(record["kind"], []).append(record)
        return found

    @functools.cached_property
    def cases(self) -> tuple[str, ...]:
        """The clauses that were tried, in order."""
        return tuple(dict.fromkeys(record["case"] for record in self.of("case")))

    def ended(self, case: str) -> bool:
        """Whether its trial came to its end, the last time that it was tried."""
        return [record["phase"] for record in self.of("case", case)][-1:] == ["end"]

    def ended_early(self, case: str) -> bool:
        """Whether the candidate missed a deadline, so that the rest of the stimulus was left out."""
        return any(record.get("early", False) for record in self.of("case", case))

    @property
    def over(self) -> bool:
        """Whether the run came to its end."""
        return any(self.of("over"))

    @property
    def shown_broken_by(self) -> str:
        """The clause that showed that the candidate binds nothing, so that no more was tried; empty where none did."""
        return next((str(record["case"]) for record in self.of("broken")), "")

    def up_to_end(self, case: str = "") -> History:
        """As it was when a case ended; without one, when the run did.

        What follows (cleaning up, other cases) is no part of it, and may have been recorded in part only.
        """
        end = ("case", case) if case else ("over", "")
        for number in range(len(self.records), 0, -1):
            record = self.records[number - 1]
            if (record["kind"], record.get("case", "")) == end:
                return History(self.records[:number])
        return self

    def span(self, case: str) -> tuple[float, float]:
        """When a case began and ended; an unfinished one ends with the last record."""
        begin = next((r["at"] for r in self.of("case", case) if r["phase"] == "begin"), 0.0)
        end = next((r["at"] for r in self.of("case", case) if r["phase"] == "end"), self.records[-1]["at"])
        return begin, end

    @functools.cached_property
    def _test_pods(self) -> tuple[TestPod, ...]:
        return tuple(
            TestPod(r["case"], r["pod"], r["uid"], r["role"], r["at"], r.get("phase", -1)) for r in self.of("pod")
        )

    def test_pods(self, case: str | None = None, role: str = "") -> tuple[TestPod, ...]:
        return tuple(
            pod for pod in self._test_pods if (case is None or pod.case == case) and (not role or pod.role == role)
        )

    @functools.cached_property
    def bindings(self) -> dict[str, Binding]:
        """Pod uid to the first sight of it on a node, for pods that were created without one."""
        found: dict[str, Binding] = {}
        unbound: set[str] = set()
        for event in self.of("object"):
            if event["resource"] != "pods":
                continue
            pod = event["object"]
            uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName", "")
            if not node:
                unbound.add(uid)
            elif uid in unbound and uid not in found:
                found[uid] = Binding(key(pod), uid, node, event["rv"], event["at"], pod)
        return found

    @functools.cached_property
    def guards(self) -> tuple[dict[str, Any], ...]:
        """Pods with anti-affinity that came to a node, as they were first seen there: they keep others off."""
        found: dict[str, dict[str, Any]] = {}
        for event in self.of("object"):
            if event["resource"] == "pods" and event["object"]["spec"].get("nodeName"):
                pod = event["object"]
                if (pod["spec"].get("affinity") or {}).get("podAntiAffinity"):
                    found.setdefault(pod["metadata"]["uid"], pod)
        return tuple(found.values())

    @functools.cached_property
    def placements(self) -> tuple[tuple[float, str], ...]:
        """When pods came to which nodes, by any client's request, in order of time."""
        seen: set[str] = set()
        moments = []
        for event in self.of("object"):
            if event["resource"] == "pods" and (node := event["object"]["spec"].get("nodeName")):
                uid = event["object"]["metadata"]["uid"]
                if uid not in seen:
                    seen.add(uid)
                    moments.append((event["at"], node))
        return tuple(moments)

    @functools.cached_property
    def manifests(self) -> dict[str, dict[str, Any]]:
        """Pod uid to the last sight of it."""
        return {
            event["object"]["metadata"]["uid"]: event["object"]
            for event in self.of("object")
            if event["resource"] == "pods"
        }

    def own_pods(self) -> dict[str, dict[str, Any]]:
        """Uid to manifest of the pods that are the candidate's to schedule."""
        return self._own_pods

    @functools.cached_property
    def _own_pods(self) -> dict[str, dict[str, Any]]:
        return {
            uid: pod for uid, pod in self.manifests.items() if pod["spec"].get("schedulerName") in self.scheduler_names
        }

    @functools.cached_property
    def order(self) -> AuditOrder:
        """What came before what, of requests and of what the harness did."""
        return AuditOrder(self.records)

    @functools.cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every POST of a Binding that was meant to take effect (no dry runs), in the order of the audit log."""
        return tuple(
            self._attempt(r)
            for r in self.of("request")
            if r["verb"] == "create" and r["resource"] in BINDINGS and not r.get("dry_run")
        )

    def _attempt(self, request: Record) -> Attempt:
        body, legacy = request["body"] or {}, request["resource"] == "bindings"
        uid = "" if legacy else body.get("metadata", {}).get("uid") or ""
        received, completed = self.order.times(request)
        return Attempt(
            f"{request['namespace']}/{request['name']}", uid, body.get("target", {}).get("name", ""), request["user"],
            request["code"], received, completed, request.get("line", 0), request.get("call", ""), legacy,
        )  # fmt: skip

    @functools.cached_property
    def _incarnations(self) -> dict[str, list[tuple[int, str]]]:
        """Name of a pod to the lines at which one was created under it, and its uid."""
        found: dict[str, list[tuple[int, str]]] = {}
        for r in self.of("request"):
            if r.get("uid") and (r["verb"], r["resource"]) == ("create", "pods"):
                found.setdefault(f"{r['namespace']}/{r['name']}", []).append((r["line"], r["uid"]))
        return found

    def _bearer(self, attempt: Attempt) -> str:
        """The uid of the pod that bore the name when an attempt was answered; "" where that is not on record."""
        earlier = [uid for line, uid in self._incarnations.get(attempt.pod, ()) if line < attempt.line]
        return earlier[-1] if earlier else ""

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
        """The candidate's attempts to place this very pod, or whichever bore its name when it did."""
        return [a for a in self.attempts_at(pod) if a.uid == uid or (not a.uid and self._bearer(a) in ("", uid))]

    def seen_before(self, rv: int) -> Seen:
        """The newest revisions that the candidate can be shown to have seen before revision `rv`."""
        shown = [seen for at, seen in self._seen if at < rv]
        return Seen(max((seen.nodes for seen in shown), default=0), max((seen.pods for seen in shown), default=0))

    @functools.cached_property
    def _seen(self) -> tuple[tuple[int, Seen], ...]:
        def seen(record: Record) -> Seen:
            # Histories of earlier versions say one revision for both.
            both = {"nodes": record["rv"], "pods": record["rv"], **record}
            return Seen(both["nodes"], both["pods"])

        return tuple((record["shown_at_rv"], seen(record)) for record in self.of("seen"))

    @functools.cached_property
    def exclusions(self) -> tuple[Exclusion, ...]:
        return tuple(Exclusion(**exclusion) for exclusion in self.run["candidate"].get("exclusions", ()))
