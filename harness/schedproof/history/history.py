"""Questions that a judge asks of a history. Pure: no I/O, no clock."""

from __future__ import annotations

import dataclasses
import functools
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from schedproof.candidates.claims import Claims, Exclusion
from schedproof.history.world import World, key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schedproof.history.record import Record

__all__ = ["Attempt", "Binding", "History", "TestPod"]


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
    """Of the pod that it was meant for; "" where the request did not say."""
    node: str
    user: str
    code: int
    received: float
    completed: float

    @property
    def succeeded(self) -> bool:
        return self.code == HTTPStatus.CREATED

    @property
    def unanswered(self) -> bool:
        """Whether nobody knows what came of it: its client was gone before the answer. It may have been carried out."""
        return self.code == HTTPStatus.GATEWAY_TIMEOUT


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

    def of(self, kind: str, case: str | None = None) -> Iterator[Record]:
        """The records of a kind, and of a case where one is given."""
        for record in self.records:
            if record["kind"] == kind and (case is None or record.get("case") == case):
                yield record

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
    def manifests(self) -> dict[str, dict[str, Any]]:
        """Pod uid to the last sight of it."""
        return {
            event["object"]["metadata"]["uid"]: event["object"]
            for event in self.of("object")
            if event["resource"] == "pods"
        }

    def own_pods(self) -> dict[str, dict[str, Any]]:
        """Uid to manifest of the pods that are the candidate's to schedule."""
        return {
            uid: pod for uid, pod in self.manifests.items() if pod["spec"].get("schedulerName") in self.scheduler_names
        }

    @functools.cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every POST of a Binding, in the order of the audit log."""
        return tuple(
            Attempt(
                f"{r['namespace']}/{r['name']}", (r["body"] or {}).get("metadata", {}).get("uid") or "",
                (r["body"] or {}).get("target", {}).get("name", ""), r["user"], r["code"], r["received"],
                r["completed"],
            )
            for r in self.of("request")
            if r["verb"] == "create" and r["resource"] in ("pods/binding", "bindings")
        )  # fmt: skip

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
        """The candidate's attempts to place this very pod, or whichever pod bears its name."""
        return [attempt for attempt in self.attempts_at(pod) if attempt.uid in ("", uid)]

    def seen_rv(self, before: int) -> int:
        """The newest revision that the candidate can be shown to have seen before revision `before`."""
        return max((r["rv"] for r in self.of("seen") if r["shown_at_rv"] < before), default=0)

    @functools.cached_property
    def exclusions(self) -> tuple[Exclusion, ...]:
        return tuple(Exclusion(**exclusion) for exclusion in self.run["candidate"].get("exclusions", ()))
