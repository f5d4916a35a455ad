"""Where to look when a clause fails: the usual causes, as the designs under test and upstream's own code show them."""

from __future__ import annotations

import fnmatch

_HINTS = {
    "core/alive": (
        "Catch errors around each pod, not around the whole loop; the last log lines have the panic or the exit."
    ),
    "core/own-pods-only": (
        "Compare spec.schedulerName for equality before anything is done to a pod: no prefix, no lower case."
    ),
    "core/all-accounted": (
        "After a Binding that took effect, drop the pod; put one that fits nowhere back with its condition."
    ),
    "core/feasible": (
        "Filter at the moment of the decision, by the newest nodes and pods, and count what was just bound."
    ),
    "core/random-worlds": (
        "Compare the decision's table with the pod of the smallest world: each row says which rule keeps it off, or "
        "none does. Repeat it with `schedproof replay ID`; its YAML is for kubectl."
    ),
    "core/binds": (
        "POST to pods/NAME/binding with target.name; check schedulerName, RBAC for pods/binding, and the log."
    ),
    "core/prebound-untouched": "Skip pods whose spec.nodeName is set.",
    "core/no-overcommit": (
        "Count pods as soon as they are decided (assume them), not when the watch shows them bound."
    ),
    "core/no-head-of-line": "Give each pod its own back-off, and go on with the next one.",
    "core/failing-binding-isolated": "Do not retry a Binding in place: put the pod back, and read it again first.",
    "core/fit-terminated": (
        "Free the requests of Succeeded and Failed pods, and keep those of pods that are terminating."
    ),
    "core/fit-init": "A pod needs the larger of its largest init container and the sum of its containers.",
    "core/fit-sidecar": (
        "Init containers with restartPolicy Always add to the containers, and to the init containers after them."
    ),
    "core/fit-overhead": "Add spec.overhead to what a pod needs and to what it holds.",
    "core/fit-pod-level": "Where spec.resources.requests names cpu or memory, that replaces the containers' sum.",
    "core/fit-resize": (
        "What a pod holds is the largest of spec, status.allocatedResources and status.resources of each container."
    ),
    "core/fit-*": (
        "Per node: allocatable less the requests of all pods bound to it, of every scheduler; pods count too."
    ),
    "core/node-selector": "Every label of spec.nodeSelector must be on the node, with that value.",
    "core/node-affinity": (
        "Terms are ORed, the expressions and fields of one term ANDed; NotIn also matches an absent label."
    ),
    "core/toleration": (
        "No operator means Equal; no key, with Exists, covers every taint; no effect covers every effect."
    ),
    "core/cordon-tolerated": "A cordon is a taint: a pod that tolerates it may go there.",
    "core/host-port": "Compare hostPort, protocol and hostIP with the node's pods; 0.0.0.0 meets every address.",
    "core/pod-affinity": (
        "One pod must be meant by all terms, and by all of a term's expressions (NotIn also matches an absent label); "
        "pods that have ended do not count; a node needs the label of each topologyKey, also for the first of a group."
    ),
    "core/pod-anti-affinity": "Compare the values of the topologyKey's label, not the names of nodes.",
    "core/anti-affinity-symmetry": "Read the anti-affinity of the pods that are there, too, not only the new pod's.",
    "core/affinity-namespaces": (
        "No namespaces and no namespaceSelector: the owner's namespace. An empty namespaceSelector: all of them. The "
        "first of a group must be in one of them itself."
    ),
    "core/topology-spread": (
        "Count per place the pods that are selected and stay, of all nodes that the pod's policies let count; then "
        "count + 1 - fewest <= maxSkew."
    ),
    "core/volume-node-affinity": (
        "Before a pod is bound: compare the node with node affinity and zone labels of its claims' volumes, and "
        "bind claims whose class has the binding mode WaitForFirstConsumer."
    ),
    "core/dra": (
        "Before a pod is bound: choose free devices that its claims select and that the node reaches, write them to "
        "status.allocation, and the pod to status.reservedFor. Watch ResourceSlices and ResourceClaims."
    ),
    "core/gang": (
        "Place all members of a group in a copy of the world first, and bind them only where there is room for all."
    ),
    "core/priority-order": (
        "List all waiting pods before the first decision, and take the one with the highest spec.priority (none: 0)."
    ),
    "core/prefer-no-schedule": "Score nodes by the PreferNoSchedule taints that a pod does not tolerate.",
    "core/prefer-node-affinity": "Per node, add up the weights of the preferred terms that match it: count no terms.",
    "core/prefer-pod-affinity": "Per topology value, add up the weights of the preferred terms for each pod they mean.",
    "core/prefer-pod-anti-affinity": "Take the weights of preferred anti-affinity away from what affinity gives.",
    "core/prefer-spread": "Per topology value, count the pods that a ScheduleAnyway constraint selects.",
    "plugin/args-defaults": "The configuration is nil where there is no pluginConfig: check for that first.",
    "extender/tls": (
        "Serve TLS on the port, with nothing beside it; to see clients' certificates, require and verify them."
    ),
    "extender/preempt": (
        "Answer NodeNameToMetaVictims with metadata.uid of each victim, on nodes of the request; leave out a node, not "
        "its victims."
    ),
    "extender/empty-nodes": "An empty list is no request for all nodes, and has no first element.",
    "extender/both-cache-modes": "Look which of NodeNames and Nodes the request has, and answer with the same one.",
    "core/leader": (
        "Stand by until the lease is yours, renew it from a thread of its own, and end the process once it is lost."
    ),
    "core/preemption-lands": "Try the pod again once those that were evicted are gone. RBAC: delete pods.",
    "core/preemption-lower": "Compare spec.priority: only a lower one may be evicted; an equal one is not lower.",
    "core/preemption-spares": "Remove all pods of lower priority, then keep those that leave room, the highest first.",
    "core/preemption-budget": "Evict pods first that no PodDisruptionBudget (status.disruptionsAllowed: 0) protects.",
    "core/preemption-choice": (
        "Compare nodes by what is evicted there: violated budgets, highest priority, sum (2^31 added to each), number, "
        "latest start; or claim `preemption: {choice: any}`."
    ),
    "core/preemption-never": "Evict no pod for one whose spec.preemptionPolicy is Never.",
    "core/preemption-condition": "PATCH pods/status with DisruptionTarget=True (PreemptionByScheduler), then DELETE.",
    "core/taint-*": ("A pod must tolerate every NoSchedule and NoExecute taint: key, operator, value and effect."),
    "core/cordon": "Treat spec.unschedulable like the taint node.kubernetes.io/unschedulable:NoSchedule.",
    "core/freshness": (
        "Watch nodes instead of listing them now and then, and use what the watch delivered in the next decision."
    ),
    "core/scheduling-gates": "Skip pods while spec.schedulingGates is not empty; watch for its change.",
    "core/unschedulable-condition": (
        "PATCH pods/status with PodScheduled=False, reason Unschedulable; RBAC: pods/status."
    ),
    "core/requeue-bind-refused": (
        "A Binding that fails puts the pod back, with a back-off, and forgets where it was assumed."
    ),
    "core/deleted-while-pending": "Drop a pod once it has a deletionTimestamp, and not only when it is gone.",
    "core/bind-existing-node": "Remove a node from the cache when the watch says that it was deleted.",
    "core/node-recreated": "Replace what is known of a node by what the watch delivers; do not merge the two.",
    "core/requeue-*": "Try waiting pods again when nodes or pods change, not only when they are created.",
    "core/conflict-forgiven": (
        "After an error read the pod again: bound means done, otherwise try again with a back-off."
    ),
    "core/no-nodes": "An empty list of nodes is a reason to wait, not an error; look for maxima over nothing.",
    "core/bind-uid": "Send metadata.uid with the Binding: the apiserver then refuses it for a pod of the same name.",
    "core/foreign-conditions": (
        "Patch status.conditions by strategic merge or server-side apply; a JSON merge patch or PUT replaces the list."
    ),
    "*/watch-reconnect": (
        "A watch may end at any time: resume it from the last resourceVersion; on 410, list anew and drop what is gone."
    ),
    "core/watch-expired": (
        "On 410 Gone list anew, and drop what the list lacks; begin a watch anew also where it ends without an error. "
        "In client-go, a DeleteFunc may be given a cache.DeletedFinalStateUnknown instead of the object."
    ),
    "core/watch-versions": (
        "Take events in the order in which they come. If resourceVersions are compared at all, then as numbers, of the "
        "same kind: as texts, 9999 is greater than 10000."
    ),
    "core/watch-burst": (
        "Drop no event where a queue is full, and do not wait for an object to rest: keep the last revision of each "
        "object, and let what waits look at that."
    ),
    "core/token-rotated": (
        "A kubelet replaces /var/run/secrets/kubernetes.io/serviceaccount/token before it expires: read it again each "
        "minute, as client-go does, and let all clients have what was read. A client that is given the token as a text "
        "at its start has it for ever."
    ),
    "core/restart": (
        "Keep no state outside the API: at the start list pods and nodes, then watch. A list that is asked for with a "
        "`limit` goes on where its metadata has `continue`."
    ),
    "core/condition-refused": "Remember what was said of a pod only once the apiserver has taken it.",
    "network/waiting": "Read the traffic, nodes and tolerations at each attempt; keep nothing of them by a pod's uid.",
    "network/bind-refused": (
        "After a refused Binding decide anew: of a try, keep no readings, scores or chosen node by the pod's uid."
    ),
    "network/zero-traffic": "The highest reading can be 0: do not divide by it.",
    "network/large-counters": "Multiply in floating point, or divide first: 100 times a rate can exceed int64.",
    "network/window": "Use rate(...[WINDOW]) with the claimed window; a longer one still sees load that is over.",
    "network/burst": "Use rate(), or an average, over the whole claimed window; irate() sees its last two samples.",
    "network/outlier": (
        "Score by places or ratios: as a share of the range from least to most, a difference shrinks with the most."
    ),
    "network/rate-not-total": "Use rate() over the counter, not its value nor the sum of its samples.",
    "network/near-zero": (
        "Compare rates as they are: whole kilobytes make small ones equal, and 0 is a reading, not a missing one."
    ),
    "network/duplicate-series": (
        "Use max by (node), not sum by (node); in joins aggregate both sides first, or select one replica."
    ),
    "network/counter-reset": "Use rate(), which adjusts for resets; a difference of two samples does not.",
    "network/interface": 'Select the claimed device in the query: {device="..."}.',
    "network/direction": "Ask for receive or transmit, as claimed, and do not add the two.",
    "network/joins": (
        "Match a node's name or address as a whole (a regular expression without an end matches longer ones), and do "
        "not keep which node an address was."
    ),
    "network/node-names": (
        "Escape a node's name in a regular expression, or compare it as it is; keep all of its 253 characters."
    ),
    "network/before-*": (
        "Compare traffic before all else. In a kube-scheduler, one point of its scores must count more than all other "
        "score plugins together (`schedproof check` counts them); else claim network.priority: tie-breaker."
    ),
    "network/many-nodes": "Compare all nodes that fit: take neither the first few of a list, nor a sample.",
    "network/tie": "Draw among the nodes that have the best score, or take them in turn: the first one is no draw.",
    "network/query-cost": (
        "Ask one query for all nodes (sum by (node) ...), or keep the answer for a refresh interval."
    ),
    "network/herd": "Count what was just placed until readings show it, if claims.network.own-placements is counted.",
    "network/feasible-first": "Rank only the nodes that passed the filters.",
    "network/prometheus-*": (
        "Set a time-out on the query that is shorter than the bind deadline, and catch its error."
    ),
    "network/missing-*": "A node without a sample is not one with 0: treat it as claims.network.on-missing says.",
    "network/some-without": "Drop readings that are older than the window: a node without new ones has none.",
    "network/nan": "Check that a reading is finite before it is compared, converted to an integer or divided.",
    "network/stale-series": "Drop readings that are older than the window; where none is left, that is an outage.",
    "network/no-samples": "An empty result is an outage like any other: do what claims.network.on-outage says.",
    "network/*": "Compare readings and scores in the decision's table; a higher score must mean less traffic.",
    "extender/verbs-served": (
        "Serve every verb of spec.extender.config under its path; kube-scheduler ignores a 404 silently."
    ),
    "extender/filter-subset": "Answer filter with a subset of the nodes in the request.",
    "extender/prioritize-range": "Scale scores to 0..10 (MaxExtenderPriority), not to 100.",
    "extender/prioritize-complete": "Return a HostPriority for each node of the request.",
    "extender/prioritize-integers": "Round scores: one float makes kube-scheduler drop the whole answer.",
    "extender/prioritize-no-duplicates": "Return each host once: its scores are added up.",
    "extender/cache-capable": "With nodeCacheCapable read and answer NodeNames, else Nodes.",
    "extender/malformed": (
        "Answer 400, or 200 with Error, to what cannot be parsed, and keep the connection's server alive."
    ),
    "extender/unknown-fields": "Read the fields that you need, and skip all others: no strict decoding.",
    "extender/concurrent": "Keep what belongs to a request in local variables; guard what is shared by a lock.",
    "extender/large": "One query for all nodes, and no loop over all nodes within a loop over all nodes.",
    "extender/managed-resources": "Let pods through that ask for none of the managed resources.",
    "extender/required-down": "Accept connections at any time: kube-scheduler makes new ones after an outage.",
    "extender/ignorable-down": "Set ignorable: true in spec.extender.config; an extender that binds cannot be ignored.",
    "extender/slow": "Set httpTimeout to a few seconds: until then the pod at hand, and all behind it, wait.",
    "extender/idempotent": "Reserve nothing when filter is asked: kube-scheduler asks again after each failure.",
    "extender/failed-reasons": "Give each node that is left out a reason in FailedNodes, for the pod's condition.",
    "extender/bind-binds": "Post the Binding to the node of the request, and answer once the apiserver has.",
    "extender/bind-error": (
        "Put the apiserver's refusal into Error: kube-scheduler then frees the pod's place, and tries the pod again."
    ),
    "extender/bind-again": "A 409 from the apiserver is an error, unless the pod is on the node that was asked for.",
    "extender/answers": "Answer every verb with 200 and its JSON in time; put problems into Error.",
    "*/rbac-sufficient": "Add the refused verb and resource to spec.rbac; the finding names them.",
    "*/rbac-dangerous": (
        "Name verbs and resources instead of *; bind, escalate, impersonate and all secrets are not needed."
    ),
    "*/rbac-minimal": "Remove what was not used from spec.rbac, unless another situation needs it.",
    "plugin/healthz-readyz": (
        "In a main of your own, keep kube-scheduler's handlers and authorizer: the health needs no credentials."
    ),
    "plugin/metrics": (
        "Register your metrics by k8s.io/component-base/metrics/legacyregistry, and keep what is registered there."
    ),
    "extender/healthz": "Serve /healthz, or name another path in spec.extender.ready; what was asked does not matter.",
    "plugin/filter": (
        "Enable it at filter in the pod's profile; EventsToRegister needs every change after which a pod may fit."
    ),
    "plugin/prefilter": (
        "PreFilterResult.NodeNames are the nodes that are left; EventsToRegister needs what may add nodes to them."
    ),
    "plugin/score": "Enable it at score in the pod's profile, with a weight that outweighs the default plugins.",
    "plugin/batching-safe": (
        "SignPod returns a fragment for everything of a pod that PreFilter, Filter, PreScore and Score look at."
    ),
    "plugin/queue-sort": "Enable it at queueSort in each profile, without PrioritySort; Less(a, b): a is first.",
    "plugin/leader-election-off-on": "Leave leaderElection to the configuration: in main, set none of its flags.",
    "plugin/second-scheduler": (
        "It needs a schedulerName of its own, and leaderElect: false or a Lease of its own (resourceName)."
    ),
    "plugin/replaces-default": (
        "A cluster's own scheduler has a profile default-scheduler, and heeds tolerations and matchFields of daemons."
    ),
    "plugin/config-version": "Write apiVersion kubescheduler.config.k8s.io/v1.",
    "plugin/registered-name": "The name in plugins and pluginConfig must be what the plugin's Name() returns.",
    "plugin/duplicate-name-rejected": (
        "Copy a plugin of Kubernetes under a name of your own; disable the original in the profile."
    ),
    "plugin/args-unknown": "Decode args strictly (sigs.k8s.io/json UnmarshalStrict), and return the error from New.",
    "plugin/args-typed": "Decode args into a pointer of your args type, and return the error of that from New.",
    "controller/conflict": "On 409 read the pod again, forget what was assumed for it, and take it from the cache.",
    "controller/binding-subresource": "POST to pods/NAME/binding; never create a pod in the place of another.",
    "controller/no-spec-patch": "spec.nodeName is immutable: POST a Binding to pods/NAME/binding.",
    "plugin/profiles": (
        "All profiles share one queueSort plugin; what is registered per process must not assume one profile."
    ),
    "plugin/profile-args": (
        "Keep args in the plugin that the factory returns: a variable of its package is shared by all profiles."
    ),
    "controller/steady": "Wait for events or back off; do not poll in a loop.",
    "normalize/documented": "Calculate the examples of claims.examples by hand, in integers as the code does.",
    "normalize/surfaces-agree": "Use one function on every surface; look for rounding on one of them.",
    "normalize/*": (
        "The report has the smallest case that fails; repeat it with `schedproof replay ID`. See docs/scoring.md."
    ),
}


def hint_for(clause: str) -> str:
    """Where to look first; the most particular pattern is written before the others."""
    return next(hint for pattern, hint in _HINTS.items() if fnmatch.fnmatchcase(clause, pattern))
