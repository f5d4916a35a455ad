"""The catalogue of clauses. Sources name where a guarantee comes from, not where we read it."""

from __future__ import annotations

from schedproof.judge.binding import (
    judge_bind_uid,
    judge_gates,
    judge_no_nodes,
    judge_prebound,
    judge_refused,
    judge_restart,
)
from schedproof.judge.clause import Clause
from schedproof.judge.conditions import judge_binds, judge_unschedulable_condition
from schedproof.judge.extender import (
    judge_cache_mode,
    judge_filter_subset,
    judge_malformed,
    judge_score_range,
    judge_verbs_served,
)
from schedproof.judge.invariants import judge_accounted, judge_alive, judge_own_pods
from schedproof.judge.manners import judge_rbac_minimal, judge_steady
from schedproof.judge.normalization import (
    judge_documented,
    judge_scores,
    judge_surfaces_agree,
    no_examples,
    no_readings,
    no_readings_for,
)
from schedproof.judge.placement import judge_placement
from schedproof.judge.preference import judge_flip, judge_least_traffic, judge_ranking, no_packets_for
from schedproof.judge.readings import (
    judge_missing_node,
    judge_outage,
    judge_query_cost,
    judge_zero_traffic,
    no_outage_policy,
)
from schedproof.judge.start import judge_args_typed, judge_config_version, judge_registered_name
from schedproof.normalization.rules import RULES

__all__ = ["CATALOGUE"]

_AUDIT = frozenset({"audit"})
_NODES = frozenset({"change-nodes"})
_IDLE = frozenset({"idle-nodes"})
_HOLD = frozenset({"hold-bindings"})
_SEVERAL = frozenset({"several-nodes"})
_SCORES = "scheduler framework: ScorePlugin, NormalizeScore; extender API: HostPriorityList"
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
            "core/prebound-untouched", "A pod that is created with its nodeName set is left alone.",
            "Kubernetes: PodSpec.nodeName", judge_prebound, needs=_AUDIT,
        ),
        Clause(
            "core/no-overcommit", "Of a burst of pods, no node ever holds more than its allocatable.",
            "e2e sig-scheduling: validates resource limits of pods that are allowed to run", judge_placement,
        ),
        Clause(
            "core/no-head-of-line",
            "A pod that cannot be scheduled, or whose Binding is refused, does not delay others beyond the deadline.",
            "scheduler framework: the backoff and unschedulable queues", judge_refused, needs=_HOLD | _AUDIT,
        ),
        Clause(
            "core/fit-cpu", "A pod whose CPU request exceeds what is free on a node is kept off that node.",
            "e2e sig-scheduling: validates resource limits of pods that are allowed to run", judge_placement,
        ),
        Clause(
            "core/fit-memory", "A pod whose memory request exceeds what is free on a node is kept off that node.",
            "e2e sig-scheduling: validates resource limits of pods that are allowed to run", judge_placement,
        ),
        Clause(
            "core/fit-pods", "A node never gets more pods than its allocatable says, whatever they request.",
            "Kubernetes: NodeStatus.allocatable, pods", judge_placement, needs=_NODES,
        ),
        Clause(
            "core/fit-terminated",
            "Succeeded and Failed pods free their resources; terminating pods still hold them.",
            "e2e sig-scheduling: validates that there is no conflict with pods in Succeeded or Failed phase",
            judge_placement, needs=frozenset({"ending-pods"}),
        ),
        Clause(
            "core/node-selector", "A pod goes only to a node that has every label of its nodeSelector.",
            "e2e sig-scheduling: validates that NodeSelector is respected", judge_placement, needs=_NODES | _SEVERAL,
        ),
        Clause(
            "core/node-affinity",
            "Required node affinity holds: all operators and fields, terms ORed, expressions ANDed.",
            "e2e sig-scheduling: validates that required NodeAffinity setting is respected", judge_placement,
            needs=_NODES | _SEVERAL,
        ),
        Clause(
            "core/taint-noschedule", "A NoSchedule taint keeps off every pod that does not tolerate it, and no other.",
            "e2e sig-scheduling: validates that taints-tolerations is respected", judge_placement,
            needs=_NODES | _SEVERAL,
        ),
        Clause(
            "core/cordon", "A node that is cordoned gets no pod that does not tolerate that.",
            "Kubernetes: NodeSpec.unschedulable; NodeUnschedulable plugin", judge_placement, needs=_NODES | _SEVERAL,
        ),
        Clause(
            "core/scheduling-gates",
            "There is no attempt to bind a gated pod; it is scheduled once its last gate goes.",
            "Kubernetes: PodSpec.schedulingGates (KEP-3521)", judge_gates, needs=_AUDIT,
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
            "core/requeue-pod-deleted",
            "A pod that fitted nowhere is scheduled once a pod is deleted in whose place it fits.",
            "scheduler framework: EventsToRegister (AssignedPod/Delete)", judge_placement,
        ),
        Clause(
            "core/requeue-bind-refused", "A pod whose Binding was answered with an error is tried again.",
            "kube-scheduler: handleBindingCycleError", judge_refused, needs=_HOLD | _AUDIT,
        ),
        Clause(
            "core/no-nodes", "With no node at all, pods wait; with the first node they are scheduled.",
            "kube-scheduler: ErrNoNodesAvailable", judge_no_nodes, needs=frozenset({"empty-cluster"}),
        ),
        Clause(
            "core/bind-uid",
            "A pod that is deleted and created anew under its name is not bound by a decision made for the old one.",
            "Kubernetes: Binding.metadata.uid", judge_bind_uid, needs=_HOLD | _AUDIT,
        ),
        Clause(
            "core/restart", "After the scheduler restarts, pending pods are scheduled, and bound ones left alone.",
            "Kubernetes: controllers keep their state in the API", judge_restart, needs=_AUDIT | _NODES,
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
            "network/ranking",
            "Where the quietest node is infeasible, the second-quietest gets the pod, and so on down.",
            "the candidate's own claim", judge_ranking, needs=_SCRIPTED | _NODES,
        ),
        Clause(
            "network/feasible-first", "An infeasible node is never chosen, however quiet it is.",
            "scheduler framework: scores rank only what passed the filters", judge_placement,
            needs=_SCRIPTED | _NODES,
        ),
        Clause(
            "network/zero-traffic", "With no traffic anywhere, pods are scheduled.",
            "scheduler framework: NormalizeScore must not divide by zero", judge_zero_traffic, needs=_SCRIPTED,
        ),
        Clause(
            "network/large-counters", "Counters near 2^60, and rates to match, rank correctly.",
            "Prometheus: samples are float64; scores are int64", judge_flip, needs=_SCRIPTED,
        ),
        Clause(
            "network/missing-node",
            "A node without samples blocks nobody, and is treated as the candidate claims (on-missing).",
            "the candidate's own claim", judge_missing_node, needs=_SCRIPTED | _NODES,
        ),
        Clause(
            "network/prometheus-down",
            "While Prometheus is down, pods are scheduled or wait, as claimed; then the preference is back.",
            "the candidate's own claim", judge_outage, needs=_SCRIPTED, unclaimed=no_outage_policy,
        ),
        Clause(
            "network/prometheus-slow",
            "While Prometheus does not answer, pods are scheduled or wait, as claimed; then the preference is back.",
            "the candidate's own claim", judge_outage, needs=_SCRIPTED, unclaimed=no_outage_policy,
        ),
        Clause(
            "network/window", "Load older than the claimed window has no say.",
            "the candidate's own claim", judge_flip, needs=_SCRIPTED,
        ),
        Clause(
            "network/rate-not-total", "A node that is busy now loses to one that is idle now, whatever their totals.",
            "Prometheus: counters are read as rates", judge_flip, needs=_SCRIPTED,
        ),
        Clause(
            "network/counter-reset",
            "A rebooted node is neither the quietest nor the loudest because its counter started over.",
            "Prometheus: rate() adjusts for counter resets", judge_flip, needs=_SCRIPTED,
        ),
        Clause(
            "network/interface", "Only the claimed device counts.",
            "the candidate's own claim", judge_flip, needs=_SCRIPTED,
        ),
        Clause(
            "network/query-cost", "The queries that a decision takes do not grow with the number of nodes.",
            "schedproof", judge_query_cost, needs=_SCRIPTED | _NODES | _IDLE,
        ),
        Clause(
            "network/real-traffic",
            "The quietest node gets the pod end to end: real packets, a real exporter, a real scrape.",
            "the candidate's own claim", judge_flip, needs=frozenset({"load"}) | _SEVERAL,
            obstacle=no_packets_for,
        ),
        Clause(
            "extender/verbs-served", "Every configured verb answers.",
            "extender API: a 404 on prioritize is ignored by kube-scheduler", judge_verbs_served, needs=_SEVERAL,
        ),
        Clause(
            "extender/filter-subset", "Filter answers only with nodes that were asked about.",
            "extender API: ExtenderFilterResult", judge_filter_subset, needs=_NODES,
        ),
        Clause(
            "extender/prioritize-range", "Scores are integers from 0 to 10.",
            "extender API: MaxExtenderPriority", judge_score_range, needs=_IDLE,
        ),
        Clause(
            "extender/cache-capable",
            "It answers in the mode that its configuration claims: names where nodeCacheCapable, else nodes.",
            "extender API: nodeCacheCapable", judge_cache_mode,
        ),
        Clause(
            "extender/malformed",
            "Malformed input is answered with an error status, or 200 with Error; and it keeps serving.",
            "extender API: ExtenderFilterResult.Error", judge_malformed,
        ),
        Clause(
            "extender/rbac-minimal", "It asks for no more rights than it uses, and for no fewer.",
            "Kubernetes: RBAC good practices", judge_rbac_minimal, needs=_AUDIT, whole_run=True,
        ),
        Clause(
            "plugin/config-version", "Its configuration is of an API version that this Kubernetes serves.",
            "kubescheduler.config.k8s.io: v1 alone since 1.29", judge_config_version, at_start=True,
        ),
        Clause(
            "plugin/registered-name",
            "Every name in its configuration is that of a registered plugin, so that its args arrive.",
            "scheduler framework: NewFramework", judge_registered_name, at_start=True,
        ),
        Clause(
            "plugin/args-typed", "Ill-typed args fail at the start, with a message that names them.",
            "scheduler framework: PluginFactory", judge_args_typed, at_start=True,
        ),
        Clause(
            "controller/rbac-minimal", "It asks for no more rights than it uses, and for no fewer.",
            "Kubernetes: RBAC good practices", judge_rbac_minimal, needs=_AUDIT, whole_run=True,
        ),
        Clause(
            "controller/steady", "While a pod is unschedulable, or its Binding refused, requests are few.",
            "Kubernetes: controllers back off", judge_steady, needs=_HOLD | _AUDIT,
        ),
        *(
            Clause(
                rule.clause, rule.guarantee, _SCORES, judge_scores,
                features=frozenset({rule.feature} - {""}), unclaimed=no_readings_for(rule),
            )
            for rule in RULES.values()
        ),
        Clause(
            "normalize/surfaces-agree", "The same readings have the same scores on every surface.",
            _SCORES, judge_surfaces_agree, unclaimed=no_readings,
        ),
        Clause(
            "normalize/documented", "The worked examples of its documentation hold.",
            "the candidate's own claim", judge_documented, unclaimed=no_examples,
        ),
    )
}  # fmt: skip
