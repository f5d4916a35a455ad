"""The catalogue of clauses. Sources name where a guarantee comes from, not where we read it."""

from __future__ import annotations

from schedproof.judge.clause import Clause
from schedproof.judge.conditions import judge_binds, judge_unschedulable_condition
from schedproof.judge.invariants import judge_accounted, judge_alive, judge_own_pods
from schedproof.judge.placement import judge_placement
from schedproof.judge.preference import judge_flip, judge_least_traffic, no_packets_for

__all__ = ["CATALOGUE"]

_AUDIT = frozenset({"audit"})
_NODES = frozenset({"change-nodes"})
_SEVERAL = frozenset({"several-nodes"})
_SCRIPTED = frozenset({"scripted-metrics"}) | _SEVERAL

CATALOGUE: dict[str, Clause] = {
    clause.id: clause
    for clause in (
        Clause(
            "core/alive", "The scheduler neither exits, panics nor crash-loops, whatever it is given.",
            "schedproof", judge_alive, always=True,
        ),
        Clause(
            "core/own-pods-only",
            "Beyond reading, no request of any kind concerns a pod of another schedulerName.",
            "Kubernetes: PodSpec.schedulerName", judge_own_pods, needs=_AUDIT, always=True,
        ),
        Clause(
            "core/all-accounted",
            "Every pod ends bound or Pending with a reason; at most one Binding succeeds, and none follows it.",
            "Kubernetes: pods/binding, PodCondition PodScheduled", judge_accounted, needs=_AUDIT, always=True,
        ),
        Clause(
            "core/binds", "A feasible pod is bound within the deadline, through the binding subresource.",
            "Kubernetes: pods/binding; e2e sig-scheduling", judge_binds, needs=_AUDIT,
        ),
        Clause(
            "core/fit-cpu", "A pod whose CPU request exceeds what is free on a node is kept off that node.",
            "e2e sig-scheduling: validates resource limits of pods that are allowed to run", judge_placement,
        ),
        Clause(
            "core/taint-noschedule", "A NoSchedule taint keeps off every pod that does not tolerate it, and no other.",
            "e2e sig-scheduling: validates that taints-tolerations is respected", judge_placement,
            needs=_NODES | _SEVERAL,
        ),
        Clause(
            "core/unschedulable-condition",
            "A pod that fits nowhere stays Pending with PodScheduled=False and reason Unschedulable.",
            "Kubernetes: PodCondition PodScheduled, PodReasonUnschedulable", judge_unschedulable_condition,
        ),
        Clause(
            "core/requeue-node-added", "A pod that fitted nowhere is scheduled once a node joins on which it fits.",
            "scheduler framework: EventsToRegister (Node/Add)", judge_placement, needs=_NODES,
        ),
        Clause(
            "network/least-traffic",
            "Among feasible nodes, the one with the least traffic gets the pod, whichever node that is.",
            "the candidate's own claim", judge_least_traffic, needs=_SCRIPTED,
        ),
        Clause(
            "network/flip", "When the load is swapped, the preference follows within window plus refresh.",
            "the candidate's own claim", judge_flip, needs=_SCRIPTED,
        ),
        Clause(
            "network/feasible-first", "An infeasible node is never chosen, however quiet it is.",
            "scheduler framework: scores rank only what passed the filters", judge_placement,
            needs=_SCRIPTED | _NODES,
        ),
        Clause(
            "network/real-traffic",
            "The quietest node gets the pod end to end: real packets, a real exporter, a real scrape.",
            "the candidate's own claim", judge_flip, needs=frozenset({"load"}) | _SEVERAL,
            obstacle=no_packets_for,
        ),
    )
}  # fmt: skip
