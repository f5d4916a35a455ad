"""A compiled scheduler among other schedulers: its own replicas, the cluster's scheduler, or as its replacement."""

from __future__ import annotations

from http import HTTPStatus

from schedproof.candidate.scheduler_config import DEFAULT_SCHEDULER, SHARED_LEASE, elects_by_shared_lease
from schedproof.history.acts import Halted
from schedproof.history.history import History
from schedproof.history.observations import LeaseHolder
from schedproof.judge.clause import AUDIT, CONFIGURE, Clause
from schedproof.judge.clauses.core.conditions import judge_binds
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed


@gives("lease-not-taken", "not-tried", also=[judge_placement])
def judge_leader_election(history: History, case: str) -> Finding:
    """With leader election it acquired its lease before it scheduled, and without it schedules as well."""
    leases = list(history.of(LeaseHolder, case))
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not leases:
        return invalid("not-tried", "it was not started with leader election", finding.evidence)
    if not leases[-1].holder and not _wrote_lease(history, case):
        return failed(
            "lease-not-taken",
            f"with leaderElect: true it schedules without acquiring its lease {leases[-1].name}: each of two replicas "
            "would schedule; fix: leave leader election to its configuration",
        )
    return passed("it schedules without leader election, and with it after it acquires its lease")


def _wrote_lease(history: History, case: str) -> bool:
    """Whether it wrote a Lease of another name since its last start: then it elects its leader by that Lease."""
    since = min((record.at for record in history.of(Halted, case)), default=0.0)
    return any(
        request.resource == "leases" and request.verb in _WRITING and request.user in history.candidate_users
        for request in history.requests()
        if request.code < HTTPStatus.BAD_REQUEST and history.order.times(request)[1] >= since
    )


_WRITING = frozenset({"create", "update", "patch"})


@gives("foreign-pod", "not-applicable", also=[judge_binds])
def judge_second_scheduler(history: History, case: str) -> Finding:
    """Beside the stock scheduler, each scheduled its own pods, and tried to schedule no other pods.

    The lease of a cluster's own scheduler is held meanwhile, as in every cluster. A candidate whose configuration
    elects a leader uses its configured lease.
    """
    if DEFAULT_SCHEDULER in history.scheduler_names:
        return not_claimed(
            "it serves default-scheduler: it replaces a cluster's own scheduler, and is not a second one"
        )
    others = {pod.name: pod for pod in history.test_pods(case, "other")}
    for attempt in history.attempts:
        if attempt.pod in others and attempt.user in history.candidate_users:
            return failed("foreign-pod", f"it tried to bind {attempt.pod}, a pod of the stock scheduler")
    finding = judge_binds(history, case)
    written = history.run.candidate.scheduler_config or {}
    # Without any leaderElection it is tried as with `--leader-elect=false`, which overrides what is written.
    if finding.outcome == "failed" and written.get("leaderElection") and elects_by_shared_lease(written):
        return failed(
            finding.code,
            f"{finding.summary}; it elects its leader by {SHARED_LEASE}, which the cluster's own scheduler holds, and "
            "waits for that; fix: leaderElect: false, or a resourceName of its own, with the rights on that Lease",
            finding.evidence,
        )
    if finding.outcome != "passed":
        return finding
    if not others or any(pod.uid not in history.bindings for pod in others.values()):
        return invalid("harness-trouble", "the stock scheduler did not schedule its own pods")
    return passed(f"each scheduled its own pods: it {finding.summary.split(' ')[0]}, the stock scheduler {len(others)}")


@gives("not-applicable", "nothing-started", also=[judge_binds])
def judge_replaces_default(history: History, case: str) -> Finding:
    """Pods that name no scheduler were bound by it, including a pod of a DaemonSet on a cordoned node.

    A cluster relies on that: the pods of its control plane and of its DaemonSets name no scheduler.
    """
    if not history.configuration:
        return invalid("nothing-started", "no scheduler was started")
    if DEFAULT_SCHEDULER not in history.scheduler_names:
        return not_claimed("its configuration has no profile for default-scheduler")
    return judge_binds(history, case)


CLAUSES = (
    Clause(
        "plugin/leader-election-off-on",
        "The scheduler works without leader election, and with it, when it holds its lease.",
        "KubeSchedulerConfiguration.leaderElection; client-go: leaderelection", judge_leader_election,
        needs=CONFIGURE,
        hint="Leave leaderElection to the configuration: set none of its flags in main.",
    ),
    Clause(
        "plugin/second-scheduler",
        "Beside the cluster's own scheduler, each of the two schedules its own pods only.",
        "Kubernetes: configure multiple schedulers; PodSpec.schedulerName", judge_second_scheduler, needs=AUDIT,
        hint="It needs a schedulerName of its own, and leaderElect: false or a Lease of its own (resourceName).",
    ),
    Clause(
        "plugin/replaces-default",
        "As default-scheduler, the candidate schedules pods that name no scheduler, pods of DaemonSets included.",
        "Kubernetes: PodSpec.schedulerName, whose default is default-scheduler", judge_replaces_default, needs=AUDIT,
        hint=(
            "A cluster's own scheduler has a profile default-scheduler, and respects tolerations and matchFields of "
            "DaemonSet pods."
        ),
    ),
)  # fmt: skip
