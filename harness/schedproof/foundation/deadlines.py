"""Every deadline of the harness: its name, its length in seconds, and the reason for it.

A deadline only bounds how long a *failure* takes to show: each is several times what a loaded
two-core machine needs, and nothing is ever judged by how close it came to one.
"""

from __future__ import annotations

import dataclasses

__all__ = [
    "AUDIT_CAUGHT_UP",
    "BIND",
    "BINDING_HELD",
    "CANDIDATE_READY",
    "CANDIDATE_STOP",
    "CONTROL_PLANE_READY",
    "DAEMON_READY",
    "FIRST_SCRAPE",
    "NODE_READY",
    "OBJECT_GONE",
    "REACTION",
    "REQUEUE",
    "SANDBOX_REPLY",
    "WEBHOOK_CALLED",
    "Deadline",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Deadline:
    """A bound on waiting: `seconds`, under a `name` that appears in the error."""

    name: str
    seconds: float
    reason: str


SANDBOX_REPLY = Deadline("sandbox reply", 20, "forking from a small process takes milliseconds")
CONTROL_PLANE_READY = Deadline("control plane ready", 90, "kube-apiserver takes 3 s alone on two cores")
DAEMON_READY = Deadline("daemon ready", 45, "prometheus, kwok and exporters start in under a second")
NODE_READY = Deadline("node ready", 45, "kwok posts Ready within a second; the node controller lifts the taint")
FIRST_SCRAPE = Deadline("first scrape", 45, "targets are scraped within one interval of being discovered")
CANDIDATE_READY = Deadline("candidate ready", 30, "an interpreter and its imports, cold, on a busy machine")
CANDIDATE_STOP = Deadline("candidate stop", 5, "SIGTERM, then SIGKILL: a scheduler keeps no state to save")
BIND = Deadline("bind", 20, "a feasible pod is bound in milliseconds; one back-off of 10 s must fit in")
REACTION = Deadline("reaction", 20, "a condition or an event follows a decision at once")
REQUEUE = Deadline("requeue", 30, "the change plus 10 s of back-off (core/requeue-*), on a busy machine")
OBJECT_GONE = Deadline("object gone", 30, "deletion with no grace period is one write")
AUDIT_CAUGHT_UP = Deadline("audit log caught up", 20, "the apiserver writes a line when the response is done")
WEBHOOK_CALLED = Deadline("webhook called", 20, "the apiserver's watch of webhooks delivers in milliseconds")
BINDING_HELD = Deadline("binding held", 20, "as for a bind: a feasible pod's Binding is posted in milliseconds")
