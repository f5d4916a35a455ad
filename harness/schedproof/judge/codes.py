"""Codes of findings: stable words, the `code` in report.json and the type of a failure in junit.xml.

A code says what was found; the outcome beside it says what that means for the clause. Codes are as stable as the ids of
clauses: added or split, never renamed. The summary beside them is for people, and its wording may change at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Code(NamedTuple):
    """What was found, and what the candidate's author does about it: a line each."""

    meaning: str
    remedy: str


CODES: Mapping[str, Code] = {
    "against-claimed-order": Code(
        "a pod was bound before the pod that the claims put first (claims.points.queue-sort)",
        "sort the queue as claims.points.queue-sort says, or correct the claim",
    ),
    "against-on-missing": Code(
        "a node without samples was treated differently from the claim (network.on-missing)",
        "treat nodes without samples as network.on-missing says, or claim the actual behavior",
    ),
    "answered-late": Code(
        "the machine was so busy that responses came late: the candidate may have decided without them",
        "try again on a less busy machine",
    ),
    "answers-differ": Code(
        "the extender responded to the same request differently",
        "respond from the request and the readings alone: keep no state between calls",
    ),
    "arg-not-named": Code(
        "a wrong arg fails the start, with an error that does not name it",
        "name the arg, and the expected value, in the error",
    ),
    "args-refused": Code(
        "the plugin does not accept the args of its own configuration",
        "compare pluginConfig with the type that the plugin decodes; `schedproof check` names what differs",
    ),
    "assertion-failed": Code(
        "an assertion of a test of your own failed",
        "see the assertion below the finding",
    ),
    "backs-off-too-long": Code(
        "its configuration lets a pod wait for longer than claimed until the next attempt",
        "lower podMaxBackoffSeconds, or claim a longer timing.requeue",
    ),
    "best-node-unchanged": Code(
        "too few different nodes were the best node: a scheduler with a fixed choice would pass",
        "use a cluster with more similar nodes",
    ),
    "bound-against-claim": Code(
        "a pod was bound although the candidate claims not to schedule such pods",
        "leave such pods pending, or remove the claim",
    ),
    "bound-by-non-leader": Code(
        "an instance that was not the leader posted a Binding",
        "post Bindings only while the Lease is held",
    ),
    "bound-called-unschedulable": Code(
        "a pod was reported as Unschedulable after it was bound",
        "write a condition with the resourceVersion of the pod that was decided on, so that the apiserver refuses it "
        "once the pod has changed; drop reports that wait when their pod is bound",
    ),
    "bound-during-outage": Code(
        "a pod was bound while its readings or its extender were unavailable, although it had to wait",
        "leave pods pending while the readings or the extender are unavailable, or claim `on-outage: schedule`",
    ),
    "bound-without-binding": Code(
        "a pod is bound, but the candidate posted no Binding for it",
        "bind pods by POST to pods/NAME/binding only",
    ),
    "burst-on-one-node": Code(
        "all pods of a burst were bound to one node",
        "count newly placed pods until the readings show their traffic",
    ),
    "call-failed": Code(
        "the extender responded with an error, or with a body that kube-scheduler cannot read",
        "check the call's status and body: a 200 with the JSON of extender/v1, in Go's field names",
    ),
    "call-too-slow": Code(
        "the extender responded after its httpTimeout",
        "respond faster, or raise httpTimeout in spec.extender.config",
    ),
    "call-unanswered": Code(
        "the extender did not respond: the connection ended, or was refused",
        "keep the server alive, and respond to each call",
    ),
    "candidate-not-started": Code(
        "the harness did not start the candidate, and cannot do with it what the clause needs",
        "the summary says what would make it possible; or run the candidate as a plugin, extender or controller",
    ),
    "capability-missing": Code(
        "the cluster lacks a capability that the clause needs",
        "run it on another cluster: --cluster embedded has most capabilities",
    ),
    "claim-contradicts-config": Code(
        "the configuration contradicts a claimed feature",
        "make the configuration and spec.claims agree",
    ),
    "condition-removed": Code(
        "a condition that another controller had written to a pod is gone",
        "patch only the condition of type PodScheduled, and keep the others",
    ),
    "config-version-not-served": Code(
        "the configuration has an API version that this Kubernetes does not serve",
        "`schedproof migrate-config FILE` prints it as kubescheduler.config.k8s.io/v1, with what changed and why",
    ),
    "control-inconclusive": Code(
        "the control did not show that a scheduler which ignores traffic fails",
        "use similar nodes, so that they differ in their traffic only",
    ),
    "crash-without-args": Code(
        "the plugin panics if args are left out",
        "return an error from the plugin's factory if args are missing, or use defaults",
    ),
    "cut-short": Code(
        "the trial, or the run, ended before there was enough to judge",
        "check why the run ended, and run it again",
    ),
    "dangerous-right": Code(
        "a right is declared that no scheduler needs",
        "declare only the resources and verbs that the candidate uses in spec.rbac",
    ),
    "deleted-pod-tried": Code(
        "a Binding was posted for a pod after its deletion had to be known",
        "drop a pod from the queue when its deletionTimestamp is set, or it is deleted",
    ),
    "depends-on-excluded": Code(
        "the clause was not tried, because it needs what the candidate does not support, by its exclusions or claims",
        "support what the excluded clause is about, and remove the exclusion",
    ),
    "depends-on-failed": Code(
        "the clause was not tried, because a clause that it depends on did not pass",
        "fix the clause that it depends on, or use --keep-going",
    ),
    "device-allocated-twice": Code(
        "a device was allocated to two claims at the same time",
        "count the devices of all claims that are allocated or being allocated",
    ),
    "device-not-ready": Code(
        "a pod was bound before the driver of its device had prepared it, or although it could not",
        "wait for bindingConditions in the claim's status.devices before the Binding, and allocate anew if one of "
        "bindingFailureConditions is true",
    ),
    "does-not-start": Code(
        "the candidate does not start",
        "check the last log lines, and try the command of candidate.yaml by hand",
    ),
    "duplicate-node": Code(
        "a response of the extender has a node twice",
        "return each node once",
    ),
    "empty-answers": Code(
        "no response of the extender had a node, or a score, that could be judged",
        "respond to prioritize with a score for each node of the request",
    ),
    "evicted-despite-budget": Code(
        "a pod was evicted that a PodDisruptionBudget protects, although another eviction would have sufficed",
        "first choose victims whose PodDisruptionBudget allows it",
    ),
    "evicted-in-vain": Code(
        "a pod was evicted for a group that does not fit even without all pods of lower priority",
        "evict for a group only if all of its members fit then",
    ),
    "evicted-without-priority": Code(
        "a pod was evicted, but no pod of a higher priority that may preempt was waiting",
        "evict only for a pending pod of higher priority whose preemptionPolicy is not Never",
    ),
    "example-differs": Code(
        "a worked example of the documentation does not have the documented scores",
        "correct the documentation's example, or the formula",
    ),
    "extended-resource-not-mapped": Code(
        "a pod was bound before its status told which devices its containers get for an extended resource",
        "write the ResourceClaim and each container's request to status.extendedResourceClaimStatus before the pod is "
        "bound (plugin DynamicResources)",
    ),
    "failed-device-kept": Code(
        "a pod waits for a device that its driver could not prepare",
        "if one of bindingFailureConditions is true in the claim's status.devices, remove the claim's allocation, its "
        "reservedFor and devices, and schedule the pod again",
    ),
    "false-bind-success": Code(
        "bind responded without an error, but the pod is not on the node of the call",
        "respond to bind without an error only after the apiserver has responded with 201",
    ),
    "forbidden-request": Code(
        "a request that the candidate needs was refused: its declared rights do not suffice",
        "add the verb and the resource that the finding names to spec.rbac",
    ),
    "foreign-pod": Code(
        "a request, other than a read, concerned a pod of another scheduler",
        "compare spec.schedulerName for equality before any action on a pod",
    ),
    "gated-pod-called-unschedulable": Code(
        "a pod's condition said Unschedulable while it had scheduling gates",
        "leave pods with spec.schedulingGates alone until the list is empty",
    ),
    "gated-pod-tried": Code(
        "a Binding was posted for a pod that had scheduling gates",
        "leave pods with spec.schedulingGates alone until the list is empty",
    ),
    "grace-period-shortened": Code(
        "a pod was evicted with a shorter grace period than its own",
        "delete victims without gracePeriodSeconds, so that their terminationGracePeriodSeconds apply",
    ),
    "group-not-bound": Code(
        "a group was not bound as a whole, although it fits without pods of lower priority",
        "place the group without these pods first, then evict those in its way",
    ),
    "groups-block-each-other": Code(
        "groups of pods hold room that the other group lacks, for longer than claimed",
        "release the room of an incomplete group when its time is over",
    ),
    "harness-trouble": Code(
        "the harness, or the cluster, failed during the trial",
        "check the error; the cluster's logs are in the run's folder",
    ),
    "infeasible-node": Code(
        "a pod was bound to a node on which it cannot run",
        "the decision's table says which rule excludes that node: apply it before choosing a node",
    ),
    "infeasible-volume": Code(
        "a node was selected for a claim for which no volume can be provisioned there, or on which its pod cannot run",
        "apply all rules about nodes, and those of the claim's class and driver, before the annotation is written",
    ),
    "insecure-call-answered": Code(
        "the extender responded over plain HTTP, or to a client without a certificate",
        "serve TLS only, and verify the client's certificate if tlsConfig has one",
    ),
    "judge-raised": Code(
        "the judge of the clause raised an exception: a bug of schedproof, to be reported with the record",
        "report it to schedproof, with the folder of the run",
    ),
    "keeps-processor-busy": Code(
        "a process of the candidate computed all the time while pods waited and nothing happened",
        "block until there is something to do: on a queue, a condition, or a timer until the next back-off ends",
    ),
    "lease-not-taken": Code(
        "pods were scheduled with leader election, but its Lease was not acquired",
        "acquire the Lease before the first pod is scheduled, if leaderElect is true",
    ),
    "load-not-distinct": Code(
        "the nodes' traffic did not differ by more than the claimed resolution",
        "repeat the run; on an existing cluster, check for other traffic on the nodes",
    ),
    "load-not-shown": Code(
        "Prometheus did not show the traffic that the trial is about",
        "check the expression that the finding names, and whether Prometheus scrapes the nodes",
    ),
    "lost-violations": Code(
        "preempt changed the numbers of violated PodDisruptionBudgets of the request",
        "return the numPDBViolations of each node of the request",
    ),
    "lower-priority-first": Code(
        "a pod was bound while a pod of higher priority waited for the same room",
        "sort the queue by spec.priority, highest first, then by time",
    ),
    "machine-too-busy": Code(
        "candidate and control plane were kept from running for so long that a wait in vain says nothing",
        "run it again on a less busy machine, or with fewer clusters at once",
    ),
    "malformed-call-accepted": Code(
        "a malformed request got a response as if it were valid",
        "respond to a request that is not an ExtenderArgs with status 400 or an error",
    ),
    "member-ended": Code(
        "the candidate ended a member of a running group when another member was replaced",
        "leave members that run where they are",
    ),
    "metric-not-served": Code(
        "the candidate queries a metric that no Prometheus server of the harness has",
        "correct the metric's name, or declare the recording rule that writes it in claims.network.rules",
    ),
    "metrics-refused": Code(
        "a client that may read the metrics was refused, or got no response",
        "allow clients with the right in RBAC (nonResourceURLs) to read /metrics, and respond with 200",
    ),
    "needless-eviction": Code(
        "a pod was evicted that could have stayed, or whose eviction made no room for any pod that waited",
        "evict only if the pod then fits by all rules; add victims back, from the highest priority down, while it "
        "still does; evict no more while victims terminate",
    ),
    "no-binding-held": Code(
        "no Binding was in flight at the time that the clause is about",
        "run it again; the candidate has to post a Binding for the clause to be tried",
    ),
    "no-binding-refused": Code(
        "no Binding was refused as the clause needs it",
        "run it again; the candidate has to post a Binding for the clause to be tried",
    ),
    "no-choice": Code(
        "pods did not have the choice between nodes, or of priorities, that the clause is about",
        "use more nodes, so that pods have a choice",
    ),
    "no-disruption-target": Code(
        "an evicted pod did not have the condition DisruptionTarget",
        "write the condition DisruptionTarget before a victim is deleted",
    ),
    "no-failed-reason": Code(
        "filter left out a node without a reason",
        "give a reason in failedNodes for each node that filter leaves out",
    ),
    "no-outage": Code(
        "the outage that the clause is about did not happen, or not while pods waited",
        "run it again; the candidate has to send requests while the outage lasts",
    ),
    "no-request": Code(
        "the candidate made no request to the apiserver",
        "nothing to fix if it needs nothing from the apiserver: then declare no rights",
    ),
    "no-samples-seen": Code(
        "the candidate sent no query to Prometheus, or none that returns a value",
        "query Prometheus at {prometheus} for the claimed metric of the nodes of the cluster",
    ),
    "no-scores": Code(
        "no case of a property test got scores",
        "check why no response had scores: the calls are in the evidence",
    ),
    "no-takeover": Code(
        "the second instance was not seen to take over",
        "claim a longer timing.takeover, or take over an expired Lease",
    ),
    "node-left-out": Code(
        "prioritize left out a node whose score is above 0",
        "respond to prioritize with a score for each node of the request",
    ),
    "node-name-written": Code(
        "an update or a patch tried to set a pod's spec.nodeName",
        "bind pods by POST to pods/NAME/binding: spec.nodeName cannot be set by an update",
    ),
    "not-all-nodes-scored": Code(
        "the scheduler is configured to score only some of the nodes",
        "set percentageOfNodesToScore to 100, or claim no preference among all nodes",
    ),
    "not-applicable": Code(
        "nothing that the clause is about exists in this candidate's configuration or behaviour",
        "nothing to fix",
    ),
    "not-bound-during-outage": Code(
        "a pod waited for the end of an outage although pods are claimed to be scheduled during it",
        "schedule without the preference during an outage, or claim `on-outage: wait`",
    ),
    "not-bound-in-time": Code(
        "a pod that fits on a node was not bound within its deadline",
        "check the timeline: whether the pod was tried, and what the candidate waited for",
    ),
    "not-called": Code(
        "kube-scheduler did not call the extender as the clause needs it",
        "compare the verbs in spec.extender.config with the paths that the server serves",
    ),
    "not-claimed": Code(
        "the candidate does not claim the profile, the feature or the value that the clause is about",
        "claim it in candidate.yaml to have it judged",
    ),
    "not-configured": Code(
        "a claimed feature is not configured",
        "configure the feature, or do not claim it",
    ),
    "not-decided-on": Code(
        "it could not be shown that the candidate had decided on a pod",
        "write the condition PodScheduled=False for pods that fit on no node: it shows the decision",
    ),
    "not-healthy": Code(
        "a health path of the candidate did not respond with success",
        "respond with 200 on the path that the finding names when the candidate can work",
    ),
    "not-in-this-kubernetes": Code(
        "the clause is about a feature that the cluster's version of Kubernetes has not, or has off by default",
        "nothing to do: it is judged on later versions (`--kubernetes`)",
    ),
    "not-possible-here": Code(
        "this claim cannot be tried on this cluster",
        "the finding names the claim: try it on another cluster",
    ),
    "not-tried": Code(
        "what the clause is about did not happen in this trial",
        "run it again; the evidence says what did not happen",
    ),
    "nothing-bound": Code(
        "the candidate bound no pod",
        "fix core/binds first",
    ),
    "nothing-evicted": Code(
        "no pod had to be evicted",
        "check why the pod found room: the candidate has to preempt for the clause to be tried",
    ),
    "nothing-expected": Code(
        "the test created pods, or none, and expects nothing of them",
        "call case.expect, or assert something, in the test",
    ),
    "nothing-started": Code(
        "no process of the candidate was started",
        "check the start's error: a process has to run to be judged",
    ),
    "old-readings-used": Code(
        "pods followed readings that were older than the claimed window",
        "query a window as long as claimed, and keep no samples beyond it",
    ),
    "oracle-gap": Code(
        "pods or nodes use something that the oracle does not model",
        "report what the finding names to schedproof: it cannot judge that yet",
    ),
    "outdated-binding": Code(
        "a pod was bound by a Binding that was decided on for an earlier pod of the same name",
        "send metadata.uid with each Binding",
    ),
    "outdated-exclusion": Code(
        "candidate.yaml excludes a clause that holds: remove the exclusion",
        "remove the exclusion from candidate.yaml",
    ),
    "outdated-view": Code(
        "a pod was bound by a view of the nodes that was older than the claimed freshness",
        "follow nodes and pods by watches, and decide by the newest state",
    ),
    "outweighed": Code(
        "kube-scheduler's plugins outweighed the candidate's scores: nodes differ in more than their traffic",
        "give the extender more weight, or use similar nodes",
    ),
    "part-of-group-evicted": Code(
        "some members of a group whose disruptionMode is all were evicted, and others were not",
        "evict all members of such a group, or none",
    ),
    "partial-group-bound": Code(
        "a pod of a group stayed bound although the group was incomplete",
        "bind a group's members only when all fit, and release them at its timeout",
    ),
    "pending-without-event": Code(
        "a pod that fits on no node has no event, but events are claimed",
        "record an Event FailedScheduling, or do not claim events",
    ),
    "pending-without-reason": Code(
        "a pod that is pending lacks the condition PodScheduled=False with its reason",
        "patch the condition PodScheduled=False with reason Unschedulable and a message",
    ),
    "plugin-name-taken": Code(
        "a plugin is registered under a name that is taken",
        "register the plugin under a name of its own",
    ),
    "plugin-not-enabled": Code(
        "pluginConfig names a plugin that no profile enables",
        "enable the plugin in the profile, under the name that pluginConfig has",
    ),
    "plugin-not-registered": Code(
        "the configuration enables a plugin that is not registered",
        "register the plugin under the name that the configuration has",
    ),
    "pod-created-with-node": Code(
        "the candidate created a pod with spec.nodeName set",
        "bind the existing pod, instead of creating another",
    ),
    "pod-removed": Code(
        "the candidate deleted or evicted a pod although no pod of higher priority could need its place",
        "delete only victims of preemption",
    ),
    "pods-not-counted": Code(
        "the metrics do not count the pods that were scheduled",
        "count each scheduled pod in scheduler_schedule_attempts_total",
    ),
    "prebound-pod-touched": Code(
        "a request, other than a read, concerned a pod that was created with spec.nodeName set",
        "skip pods whose spec.nodeName is set",
    ),
    "preemptor-not-bound": Code(
        "a pod was not bound although pods of lower priority could be evicted for it",
        "bind the preemptor to its nominated node when its victims are gone",
    ),
    "preference-ignored": Code(
        "a pod was bound to a node although its preferences are matched better on another",
        "enable the plugin of that preference, or score by it",
    ),
    "probe-not-on-quietest": Code(
        "a pod was not bound to the feasible node with the least traffic",
        "compare the table's traffic with the scores: ignored, inverted, or by totals instead of rates",
    ),
    "process-exited": Code(
        "a process of the candidate ended before the harness ended it",
        "catch errors per pod; the last log lines show the panic or the exit",
    ),
    "process-restarted": Code(
        "a process of the candidate ended, and its own supervisor restarted it",
        "catch errors per pod; the last log lines show the panic or the exit",
    ),
    "queries-grow-with-nodes": Code(
        "the number of queries for a decision grows with the number of nodes",
        "send one query for all nodes",
    ),
    "queue-sorts-differ": Code(
        "the profiles of the configuration do not share one queueSort plugin",
        "enable the same queueSort plugin in each profile",
    ),
    "random-chooser-passes": Code(
        "a scheduler that chooses at random would pass with too high a probability",
        "use more nodes",
    ),
    "record-incomplete": Code(
        "a part of the record that the clause needs is lost",
        "the finding names what is lost; of calls that are too long: try fewer or smaller nodes, or HTTP/1.1",
    ),
    "report-untrue": Code(
        "a pod was reported as Unschedulable although it fitted on a node all the time",
        "write PodScheduled=False with the reason Unschedulable only after all nodes were found infeasible; for other "
        "causes, use another reason",
    ),
    "rights-not-recorded": Code(
        "the record does not have the candidate's declared rights",
        "run the candidate again with this version",
    ),
    "room-given-away": Code(
        "room for which pods were evicted was given to a pod of lower priority than the one that waited for it",
        "count pods with a status.nominatedNodeName on that node for pods of lower or equal priority",
    ),
    "room-held": Code(
        "members of a group that does not fit kept room that other pods need",
        "release what was reserved for members once one of them does not fit",
    ),
    "room-kept": Code(
        "a pod that fits was not bound while another pod waited: the room was kept for that pod",
        "bind pods that fit beside waiting pods, or turn off the reservation of nodes for waiting pods",
    ),
    "score-not-integer": Code(
        "the response to prioritize has a score that is not an integer",
        "round scores to integers",
    ),
    "score-out-of-range": Code(
        "the response to prioritize has a score that is not an integer from 0 to 10",
        "map scores to 0..10",
    ),
    "second-binding": Code(
        "a Binding was posted for a bound pod although the candidate could have seen that",
        "drop a pod when its Binding is posted, and requeue it only if that failed",
    ),
    "surfaces-differ": Code(
        "the same readings have different scores on two surfaces",
        "let all surfaces call the same scoring function",
    ),
    "ties-not-spread": Code(
        "pods were not spread over equally quiet nodes",
        "choose among equal nodes at random or in turn, or do not claim tie-spread",
    ),
    "token-not-read-again": Code(
        "requests had an expired token long after a new token was written to its file",
        "read the file again at least every five minutes, or after a response of 401",
    ),
    "too-few": Code(
        "there were too few pods, nodes or changes to prove anything",
        "use more nodes, or run it again",
    ),
    "too-many-requests": Code(
        "the candidate repeated requests too often while nothing happened",
        "wait for a change, or back off, before a request is repeated",
    ),
    "unallocated-resource-claim": Code(
        "a pod was bound before one of its ResourceClaims was allocated",
        "allocate each ResourceClaim before the pod is bound (plugin DynamicResources)",
    ),
    "unasked-node": Code(
        "a response of the extender has a node that the request does not have",
        "return only nodes of the request",
    ),
    "unbound-volume-claim": Code(
        "a pod was bound before one of its claims had a volume",
        "bind or provision volumes before the pod is bound (plugin VolumeBinding)",
    ),
    "unmanaged-pod-asked": Code(
        "kube-scheduler called the extender for a pod that uses none of its managed resources",
        "list all its resources in managedResources, and no others",
    ),
    "unreserved-resource-claim": Code(
        "a pod was bound before one of its ResourceClaims was reserved for it",
        "add the pod to status.reservedFor before it is bound (plugin DynamicResources)",
    ),
    "unusable-victims": Code(
        "preempt answered with victims that kube-scheduler cannot evict for the pod",
        "respond to preempt with pods of the request's nodes, by uid",
    ),
    "unused-right": Code(
        "a right is declared that was not used in this run",
        "remove the right from spec.rbac",
    ),
    "view-not-shown": Code(
        "it could not be shown that the candidate had seen a change of the cluster",
        "run it again; if it happens again, the candidate does not follow nodes and pods",
    ),
    "worse-victims": Code(
        "other pods were evicted than those that kube-scheduler's order prefers",
        "compare victims as the clause says, or claim `preemption: {choice: any}`",
    ),
    "wrong-allocation": Code(
        "a pod was bound whose ResourceClaim had devices that do not match its request, or are on other nodes",
        "allocate devices of the request's class and selectors, on the pod's node: of the first alternative that is "
        "free there, without taints that the request does not tolerate, and with enough left of counters and capacity",
    ),
    "wrong-arg-accepted": Code(
        "the scheduler starts with an arg that is unknown, or of another type",
        "decode args strictly, and reject unknown args and args of another type",
    ),
    "wrong-cache-mode": Code(
        "the extender responded with names instead of nodes, or the reverse",
        "return nodeNames if nodeCacheCapable is true, and nodes otherwise",
    ),
    "wrong-expectation": Code(
        "the test expects of a pod what is impossible according to the oracle",
        "check the oracle's reason in the table, and correct the test",
    ),
    "wrong-scores": Code(
        "scores break the rule that the clause states",
        "the failing case has the readings and the scores: `schedproof replay ID` asks again",
    ),
}

OF_ANY_CLAUSE = frozenset({
    "candidate-not-started", "capability-missing", "cut-short", "depends-on-excluded", "depends-on-failed",
    "harness-trouble", "judge-raised", "not-claimed", "not-in-this-kubernetes", "not-possible-here",
    "outdated-exclusion", "record-incomplete",
})  # fmt: skip
"""Codes that a finding can have regardless of the clause's judge."""
