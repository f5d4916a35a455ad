"""Waits for what the candidate reports on pods, in the conditions of their status and in events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schedproof.foundation.deadlines import FRESHNESS, Deadline
from schedproof.foundation.waiting import NotYet
from schedproof.history.observations import WatchEvent
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.pods import Pod


class PodStatus:
    """Waits for conditions, events, decisions and evictions. A missed deadline is recorded as `Missed`."""

    def __init__(self, context: Context, pods: PodChanges, expect: Expectations) -> None:
        self._recorder, self._pods, self._expect = context.recorder, pods, expect

    def await_condition(self, pods: Sequence[Pod], condition: str, deadline: Deadline, *, reason: str = "") -> None:
        """Wait until each of these pods has the condition with status False and, if given, with this `reason`.

        A scheduler may report another reason first, so a clause whose judge asks for a reason waits for that reason.
        """

        def reported() -> None:
            for pod in pods:
                found = self._pods.denied(pod, condition)
                if not found or reason not in ("", found.get("reason")):
                    raise NotYet(f"{pod.name} has {dict(found) or f'no {condition} condition'}")

        of_reason = f" with reason {reason}" if reason else ""
        self._expect.reported(reported, deadline, f"the condition {condition}{of_reason}")

    def await_decision(self, pod: Pod, deadline: Deadline) -> None:
        """Wait until the pod is bound, or its condition PodScheduled gives the reason why it is not."""

        def decided() -> None:
            if not self._pods.node_of(pod) and not self.unwillingness(pod):
                raise NotYet(f"{pod.name} is not bound, and its condition gives no reason")

        self._expect.reported(decided, self._expect.due(deadline), "a decision")

    def await_eviction(self, pods: Sequence[Pod], deadline: Deadline, count: int = 1) -> list[Pod]:
        """Wait until the candidate has evicted at least `count` of these pods; return those that are terminating."""

        def terminating() -> list[Pod]:
            seen = self._recorder.pods
            return [pod for pod in pods if "deletionTimestamp" in seen.get(pod.uid, {}).get("metadata", {})]

        def evicted() -> None:
            if len(found := terminating()) < count:
                raise NotYet(f"{len(found)} of {count} are terminating, of {', '.join(pod.name for pod in pods)}")

        self._expect.reported(evicted, deadline, "an eviction")
        return terminating()

    def await_refusal(self, pod: Pod) -> None:
        """Wait a moment for the condition of a pod that fits nowhere. Nothing is recorded."""

        def refused() -> None:
            if not self.unwillingness(pod):
                raise NotYet(f"no condition or event reports on {pod.name}")

        self._expect.patiently(refused, FRESHNESS, "the condition PodScheduled")

    def await_event(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Wait until there are events with a message about all of these pods."""

        def reported() -> None:
            events = [r for r in self._recorder.records if isinstance(r, WatchEvent) and r.explains]
            if missing := [pod.name for pod in pods if not any(e.tells_of(pod.full_name, pod.uid) for e in events)]:
                raise NotYet(f"no event with a message about {', '.join(missing)}")

        self._expect.reported(reported, deadline, "an event")

    def unwillingness(self, pod: Pod) -> Mapping[str, str]:
        """Return the PodScheduled condition with status False, which says why a pod is not bound; empty if none."""
        return self._pods.denied(pod, "PodScheduled")
