"""The reference controller's loop, with a simulated apiserver, Prometheus and clock."""

from __future__ import annotations

import queue
from types import SimpleNamespace
from typing import Any

import pytest

from .worlds import Manifest, modules, namespace, update

Outcome = modules.binding.Outcome
BOUND, REFUSED, UNKNOWN = Outcome.BOUND, Outcome.REFUSED, Outcome.UNKNOWN


class Rig:
    """A controller in a world of these manifests, with the fakes that it calls."""

    def __init__(
        self,
        *nodes: Manifest,
        pods: list[Manifest] | None = None,
        on_missing: str = "neutral",
        on_outage: str = "schedule",
        scheduling: type = modules.scheduling.Scheduling,
    ) -> None:
        self.now = 1000.0
        self.traffic = {manifest["metadata"]["name"]: 100.0 for manifest in nodes}
        self.outage = ""
        self.queries = 0
        self.outcomes: list[Any] = []
        """Outcomes of the next bindings; later ones succeed. An exception is raised."""
        self.bound: list[tuple[str, str]] = []
        """Attempts: uid and node."""
        self.conditions: list[tuple[str, str]] = []
        """Conditions: uid, and reason with message."""
        self.events: list[tuple[str, str]] = []
        self.looked_at: dict[str, Manifest | None] = {}
        """By uid, the result of reading the pod; by default the state that the watch has shown."""
        self.looks = 0
        self.during_query: list[Any] = []
        """Put into the inbox by the next query."""
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        preference = modules.preference.Preference(0.1, on_missing, on_outage)
        self.scheduling: Any = scheduling("own", self.inbox, self, self, preference, self)
        for kind, manifests in (("nodes", list(nodes)), ("namespaces", [namespace("default")]), ("pods", pods or [])):
            self.inbox.put(modules.watching.Listing(kind, manifests))

    # What the controller sees of the world outside.

    def bind(self, candidate: Any, node: str) -> tuple[Any, str]:
        self.bound.append((candidate.uid, node))
        outcome = self.outcomes.pop(0) if self.outcomes else BOUND
        if isinstance(outcome, Exception):
            raise outcome
        return outcome, "" if outcome is BOUND else "said no"

    def look(self, candidate: Any) -> Manifest | None:
        self.looks += 1
        return self.looked_at.get(candidate.uid, candidate.manifest)

    def explain(self, candidate: Any, reason: str, message: str) -> bool:
        self.conditions.append((candidate.uid, f"{reason}: {message}"))
        return True

    def tell(self, candidate: Any, _kind: str, reason: str, _message: str) -> None:
        self.events.append((candidate.uid, reason))

    def read(self) -> Any:
        self.queries += 1
        while self.during_query:
            self.inbox.put(self.during_query.pop(0))
        return modules.traffic.Reading({} if self.outage else self.traffic, self.outage, 0.0)

    # What a test does.

    def see(self, kind: str, manifest: Manifest, *, gone: bool = False) -> None:
        self.inbox.put(update(kind, manifest, gone=gone))

    def run(self, *, after: float = 0.0) -> list[tuple[str, str]]:
        """Let `after` seconds pass and the controller do all that is due; return the bindings that it attempted."""
        self.now += after
        before = len(self.bound)
        self.scheduling.absorb(wait=False)
        while self.scheduling.ready and self.scheduling.step():
            self.scheduling.absorb(wait=False)
        return self.bound[before:]

    def arrive(self, manifest: Manifest) -> list[tuple[str, str]]:
        self.see("pods", manifest)
        return self.run()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[Rig]:
    """The loop's clock is that of the latest rig."""
    rigs: list[Rig] = []
    monkeypatch.setattr(modules.scheduling, "time", SimpleNamespace(monotonic=lambda: rigs[-1].now if rigs else 0.0))
    original = Rig.__init__

    def noted(self: Rig, *args: Any, **more: Any) -> None:
        rigs.append(self)
        original(self, *args, **more)

    monkeypatch.setattr(Rig, "__init__", noted)
    return rigs


def bound_to(manifest: Manifest, name: str) -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], "nodeName": name}}
