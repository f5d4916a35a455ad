"""What a clause is."""

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
"""Where the line can be cut, candidates are processes of this machine: what they serve can be asked for."""
ADVANCE_VERSIONS = frozenset({"advance-versions"})
SECOND_APISERVER = frozenset({"second-apiserver"})
SEVERAL_NODES = frozenset({"several-nodes"})
SCRIPTED_METRICS = frozenset({"scripted-metrics"}) | SEVERAL_NODES

# Clauses that others stand on.
RETRIED = frozenset({"core/requeue-bind-refused"})
"""Where a Binding is refused: if no other one follows, nothing else can be shown."""
TRIED_AGAIN = frozenset({"core/requeue-label-changed"})
"""Where a pod fits once something has changed: if it is not tried again, it is not after any other change either."""
STEERED = frozenset({"core/node-selector"})
"""Where pods are sent to a node by a selector: if that is ignored, nothing else can be shown."""


@dataclasses.dataclass(frozen=True)
class Clause:
    """One guarantee that a scheduler is held to. Ids are stable: added or split, never renamed."""

    id: str
    guarantee: str
    source: str
    """Where the guarantee comes from, not where we read it."""
    judge: Callable[[History, str], Finding]
    """What the record shows of it; `judge.judge` adds the timeline and the logs of the case to the evidence."""
    level: Literal["required", "recommended"] = "required"
    features: frozenset[str] = frozenset()
    """Only where the candidate claims all of these."""
    also: frozenset[str] = frozenset()
    """Features of which it judges more where they are claimed; it is judged without them as well."""
    needs: frozenset[str] = frozenset()
    """Capabilities of the cluster without which it is skipped."""
    hint: str = ""
    """Where to look first when it fails; empty for a test of the user's own."""
    obstacle: Callable[[Claims, RunCluster], str] = lambda _claims, _cluster: ""
    """Why this claim cannot be tried on this cluster (the `cluster` of a history's header); empty where it can."""
    unclaimed: Callable[[Claims], str] = lambda _claims: ""
    """Why it is not claimed, beyond profile and features; empty where it is."""
    whole_run: bool = False
    """Judged over all of a run, at its end."""
    always: bool = False
    """Judged in every run, whatever is tested; over all of it."""
    stands_on: frozenset[str] = frozenset()
    """Clauses without which it is not tried: where the candidate ignores what they are about, it fails by that."""
    pooled: bool = False
    """Judged over the requests of all instances of a candidate at once: what one does not do, another may."""
    at_start: bool = False
    """About the start of the candidate: judged also where that fails."""

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
        """Whether a candidate that binds nothing cannot be tried on it."""
        return not (self.last or self.at_start)
