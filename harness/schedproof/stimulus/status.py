"""What the candidate says of pods: in the conditions of their status, and in events."""

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
    """Waits for what is said. That nothing was is on record as `Missed`."""

    def __init__(self, context: Context, pods: PodChanges, expect: Expectations) -> None:
        self._recorder, self._pods, self._expect = context.recorder, pods, expect

    def await_condition(self, pods: Sequence[Pod], condition: str, deadline: Deadline, *, reason: str = "") -> None:
        """Give the candidate until `deadline` to say something about these pods in their status; for this `reason`."""

        def said() -> None:
            for pod in pods:
                found = self._pods.denied(pod, condition)
                if not found or reason not in ("", found.get("reason")):
                    raise NotYet(f"{pod.name} has {dict(found) or f'no {condition} condition'}")

        self._expect.said(said, deadline, f"the condition {condition}")

    def await_decision(self, pod: Pod, deadline: Deadline) -> None:
        """Give the candidate until `deadline` to bind a pod, or to say in its status why it does not."""

        def decided() -> None:
            if not self._pods.node_of(pod) and not self.unwillingness(pod):
                raise NotYet(f"{pod.name} is not bound, and its condition gives no reason")

        self._expect.said(decided, self._expect.due(deadline), "a decision")

    def await_eviction(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Give the candidate until `deadline` to evict one of these pods."""

        def evicted() -> None:
            if not any("deletionTimestamp" in self._recorder.pods.get(pod.uid, {}).get("metadata", {}) for pod in pods):
                raise NotYet(f"none is to end of {', '.join(pod.name for pod in pods)}")

        self._expect.said(evicted, deadline, "an eviction")

    def await_refusal(self, pod: Pod) -> None:
        """Give the candidate a moment to say that a pod fits nowhere. Whether it did is not on record."""

        def refused() -> None:
            if not self.unwillingness(pod):
                raise NotYet(f"no condition or event reports on {pod.name}")

        self._expect.patiently(refused, FRESHNESS, "the condition PodScheduled")

    def await_event(self, pods: Sequence[Pod], deadline: Deadline) -> None:
        """Wait until `deadline` for events of the candidate about these pods."""

        def told() -> None:
            events = [r for r in self._recorder.records if isinstance(r, WatchEvent) and r.resource == "events"]
            if missing := [pod.name for pod in pods if not any(e.tells_of(pod.full_name, pod.uid) for e in events)]:
                raise NotYet(f"no event about {', '.join(missing)}")

        self._expect.said(told, deadline, "an event")

    def unwillingness(self, pod: Pod) -> Mapping[str, str]:
        """The condition that says why a pod is not bound; empty where there is none."""
        return self._pods.denied(pod, "PodScheduled")
