"""The definition of a clause."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

from schedproof.candidate.claims import Claims
from schedproof.history.acts import RunCluster
from schedproof.history.history import History
from schedproof.judge.verdict import Finding

# Capabilities of a cluster that clauses need.
AUDIT = frozenset({"audit"})
CHANGE_NODES = frozenset({"change-nodes"})
CUT_APISERVER = frozenset({"cut-apiserver"})
DEVICES = frozenset({"claimed-devices"})
HOLD_BINDINGS = frozenset({"hold-bindings"})
IDLE_NODES = frozenset({"idle-nodes"})
PROCESSES = CUT_APISERVER
"""On clusters where the line can be cut, candidates are processes of this machine, and their endpoints can be
requested.
"""
ADVANCE_VERSIONS = frozenset({"advance-versions"})
SECOND_APISERVER = frozenset({"second-apiserver"})
SEVERAL_NODES = frozenset({"several-nodes"})
SCRIPTED_METRICS = frozenset({"scripted-metrics"}) | SEVERAL_NODES

# What the harness does with a candidate. With one that it starts, all of it is possible; what is not with another one,
# `RunCluster.withheld` has.
CONFIGURE = frozenset({"configure-candidate"})
GRANT = frozenset({"grant-candidate"})
RESTART = frozenset({"restart-candidate"})
STOP = frozenset({"stop-candidate"})
TAP = frozenset({"tap-candidate"})
WATCH = frozenset({"watch-candidate"})
OF_CANDIDATE = CONFIGURE | GRANT | RESTART | STOP | TAP | WATCH

# Clauses that others stand on.
RETRIED = frozenset({"core/requeue-bind-refused"})
"""For clauses about a refused Binding: without another attempt, they can show nothing."""
TRIED_AGAIN = frozenset({"core/requeue-label-changed"})
"""For clauses about a pod that fits after a change: if it is not tried again after this change, it is not after others.
"""
STEERED = frozenset({"core/node-selector"})
"""For clauses that send pods to a node by a selector: if that is ignored, they can show nothing."""

ANSWERED = frozenset({"extender/verbs-served"})
"""For clauses about the responses of an extender, and about what they lead to."""
PREFERRED = frozenset({"network/least-traffic"})
"""For clauses about traffic and scores: if traffic does not decide among equal nodes, they can show nothing."""


@dataclasses.dataclass(frozen=True)
class Clause:
    """One guarantee that a scheduler is held to. Ids are stable: added or split, never renamed."""

    id: str
    guarantee: str
    source: str
    """The origin of the guarantee: a specification or documentation, not the place where it was read."""
    judge: Callable[[History, str], Finding]
    """What the record shows of it; `judge.judge` adds the timeline and the logs of the case to the evidence."""
    level: Literal["required", "recommended"] = "required"
    features: frozenset[str] = frozenset()
    """It applies only if the candidate claims all of these."""
    also: frozenset[str] = frozenset()
    """Features that extend what it judges; it is judged without them as well."""
    needs: frozenset[str] = frozenset()
    """Capabilities of the cluster, and of the harness with the candidate, without which it is skipped."""
    gate: str = ""
    """The feature gate of Kubernetes that it is about: not claimed on versions where this is off by default."""
    hint: str = ""
    """Where to look first when it fails; empty for a test of the user's own."""
    obstacle: Callable[[Claims, RunCluster], str] = lambda _claims, _cluster: ""
    """Why this claim cannot be tried on this cluster (the `cluster` of a history's header); empty if it can."""
    unclaimed: Callable[[Claims], str] = lambda _claims: ""
    """Why it is not claimed, beyond profile and features; empty if it is."""
    whole_run: bool = False
    """Judged over the whole run, at its end."""
    always: bool = False
    """Judged in every run, whatever clauses are tried; over the whole run."""
    stands_on: frozenset[str] = frozenset()
    """Clauses without which it is not tried: a candidate that fails them would fail it for the same reason."""
    pooled: bool = False
    """Judged over the requests of all instances of a candidate together: each may use other rights."""
    at_start: bool = False
    """About the start of the candidate: judged also if that fails."""

    @property
    def last(self) -> bool:
        """Whether it is judged at the end of a run."""
        return self.whole_run or self.always

    @property
    def fresh(self) -> bool:
        """Whether it needs a cluster on which little has happened."""
        return self.needs >= ADVANCE_VERSIONS

    @property
    def needs_bindings(self) -> bool:
        """Whether it cannot be tried on a candidate that binds nothing."""
        return not (self.last or self.at_start)
