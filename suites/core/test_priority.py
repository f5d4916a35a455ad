"""core: pods of different priorities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.judge.clauses.core.priority import REPEATED
from schedproof.stimulus.case import Case
from schedproof.stimulus.exclusive import one_for_each_node
from schedproof.stimulus.pods import Pod

PRIORITIES = (-1_000_000, -1000, -10, -1, 0, 2, 9, 10, 1000, 1_000_000_000)
"""Compared as numbers, not as text nor without their sign. 0 is the priority of a pod without a PriorityClass."""
FAR_APART = (-(2**31), 2) * 12
"""Their difference overflows an int32. A queue that compares by it has no consistent order, and pods that wait without
a PriorityClass come between: with one pod of -2^31 it was right by chance in a sixth of all tries, with twelve in
none of 3,000."""
ROUNDS = (
    (PRIORITIES, 3, 1 / 30),
    (PRIORITIES, 6, 1 / 52),
    (PRIORITIES[::-1], 4, 1 / 36),
    (FAR_APART, 12, 1 / 100),
)
"""Each round: its priorities in the order of creation, how many pods have room, and each pod's share of the node."""


@pytest.mark.clause("core/priority-order")
def test_priority_order(case: Case) -> None:
    """More pods than there is room for are pending when the scheduler starts: it knows all of them before it decides.

    In most rounds the pods of the highest priorities are the youngest, in the third round the oldest. In the second
    round there is room for all pods whose priority is not negative. A round in which others are bound is tried once
    more, with pods that have waited for the claimed freshness, and for their back-off: some schedulers make a group of
    each pod first, and decide before all groups are there.
    """
    node, *_ = case.nodes.names
    priorities = sorted({priority for order, *_ in ROUNDS for priority in order if priority})
    classes = {priority: case.objects.priority_class(priority) for priority in priorities}
    free = case.nodes.share("cpu", 1 / 8)

    def contenders(phase: int, role: str) -> list[Pod]:
        """Create the pods of a round, and return them in the order of creation."""
        order, _, size = ROUNDS[phase]
        return [
            case.pod(
                "contender", role=role, phase=phase, cpu=case.nodes.share("cpu", size),
                nodeSelector={"kubernetes.io/hostname": node},
                **({"priorityClassName": classes[priority]} if priority else {}),
            )
            for priority in order
        ]  # fmt: skip

    def others_are_bound(phase: int, pods: list[Pod]) -> bool:
        order, room, _ = ROUNDS[phase]
        by_priority = sorted(zip(order, pods, strict=True), key=lambda one: -one[0])
        return not all(case.pods.was_bound(pod) for _, pod in by_priority[:room])

    case.pods.fill(node, cpu=free)
    repeat = []
    for phase, (_, room, _) in enumerate(ROUNDS):
        with case.candidate.down():
            pods = contenders(phase, "contender")
        case.expect_so_many_bound(pods, room)
        repeat += [phase] if others_are_bound(phase, pods) else []
        case.delete(pods)
    for phase in repeat:
        blocker = case.pods.fill(node, cpu="0")
        case.settle()
        pods = contenders(phase, REPEATED)
        case.expect_pending(pods, nodeSelector={"kubernetes.io/hostname": case.nodes.names[-1]})
        case.view.await_back_off()
        case.delete([blocker])
        case.expect_so_many_bound(pods, ROUNDS[phase][1])
        if others_are_bound(phase, pods):
            return
        case.delete(pods)


SLOT = "schedproof.dev/slot"
OPEN = "schedproof.dev/open"
"""A label of the nodes that a preemptor may use."""
PORT = {"ports": [{"containerPort": 9494, "hostPort": 9494}]}
GRACE = 30
"""Seconds, as a pod has by default. A kubelet ends the containers of these pods at once."""


class Contest:
    """A node that joins with this many slots, and a CPU for each: pods contend for nothing else.

    If the candidate excludes extended resources, pods contend for the CPUs.
    """

    def __init__(self, case: Case, slots: int, name: str = "") -> None:
        self.node = f"node-{case.clause.rpartition('/')[2]}{name}"
        self._by_cpu = case.leaves_out(Subject.EXTENDED_RESOURCES)
        case.nodes.add(self.node, cpu=str(slots), **({} if self._by_cpu else {SLOT: str(slots)}))
        case.settle()
        self._case, self.here = case, {"kubernetes.io/hostname": self.node}

    def pod(
        self, role: str, priority: int, slots: int = 1, *, preempts: bool = False, lingers: bool = False, **spec: Any
    ) -> Pod:
        """Create a pod with this priority that requests slots. `lingers`: once evicted, until it is let go."""
        create = self._case.pods.lingering if lingers else self._case.pod
        return create(
            role, role=role, cpu=str(slots), extended={} if self._by_cpu else {SLOT: str(slots)},
            priorityClassName=self._case.objects.priority_class(priority, preempts=preempts),
            **{"nodeSelector": self.here, **spec},
        )  # fmt: skip

    def holders(self, *held: tuple[int, int], **spec: Any) -> list[Pod]:
        """Create pods, each with a priority and a number of slots, and expect them to be bound."""
        pods = [self.pod("holder", priority, slots, **spec) for priority, slots in held]
        self._case.expect_bound(pods)
        return pods


@pytest.mark.clause("core/preemption-lands")
def test_preemption_lands(case: Case) -> None:
    """All slots of a node are held by pods of lower priority. Then other rules keep a preemptor off beside a holder.

    Last, a preemptor is deleted while its victim terminates: a pod of lower priority takes the room that was free, but
    kept for the preemptor.
    """
    contest = Contest(case, 2)
    holders = contest.holders((10, 1), (10, 1))
    preemptor = contest.pod("preemptor", 1000, preempts=True)
    case.expect_bound([preemptor], case.deadlines.requeue)
    for spec in one_for_each_node(case):
        case.delete([preemptor, *holders])
        holders = contest.holders((10, 1), **spec)
        preemptor = contest.pod("preemptor", 1000, preempts=True, **spec)
        case.expect_bound([preemptor], case.deadlines.requeue)
    case.delete([preemptor, *holders])
    port: dict[str, Any] = {} if case.leaves_out(Subject.HOST_PORTS) else PORT
    holders = contest.holders((10, 1), lingers=True, terminationGracePeriodSeconds=GRACE)
    preemptor = contest.pod("preemptor", 1000, 2, preempts=True, **port)
    case.status.await_eviction(holders, case.deadlines.requeue, 1)
    latecomer = contest.pod("latecomer", 10, **port)
    case.fence()
    case.delete([preemptor])
    case.expect_bound([latecomer], case.deadlines.requeue)
    case.pods.remove_finalizers(holders)


@pytest.mark.clause("core/preemption-lower")
def test_preemption_lower(case: Case) -> None:
    """One slot is held by a pod of lower priority, one by a pod of higher.

    A preemptor that requests both slots has to wait. The next one requests one slot; then a third is created.
    """
    contest = Contest(case, 2)
    contest.holders((10, 1), (1000, 1))
    too_large = contest.pod("preemptor", 500, 2, preempts=True)
    case.expect_pending([too_large])
    case.delete([too_large])
    case.expect_bound([contest.pod("preemptor", 500, preempts=True)], case.deadlines.requeue)
    case.expect_pending([contest.pod("preemptor", 500, preempts=True)])


@pytest.mark.clause("core/preemption-spares")
def test_preemption_spares(case: Case) -> None:
    """A pod requests three of four slots: the pod of the lowest priority holds the fourth, and need not be evicted.

    Then one slot is held by a pod of higher priority, because of which, or of the node's labels, preemptors do not fit
    although pods of lower priority hold the slots.

    Then victims take long to terminate. Meanwhile a second node comes into question, whose pod has the lowest priority,
    other pods are deleted, so that the preemptor is tried again, and one of two victims ends: a new pod of lower
    priority requests its slot.
    """
    contest = Contest(case, 4)
    spared = contest.holders((10, 1), (20, 3))
    preemptor = contest.pod("preemptor", 1000, 3, preempts=True)
    case.expect_bound([preemptor], case.deadlines.requeue)
    case.delete([preemptor, *spared])
    contest.holders((2000, 1), labels={"app": "guard"}, **({} if case.leaves_out(Subject.HOST_PORTS) else PORT))
    holders = contest.holders(*[(10, 1)] * 3, lingers=True, terminationGracePeriodSeconds=GRACE)
    case.settle()
    blocked = [contest.pod("preemptor", 1000, preempts=True, **spec) for spec in _in_the_way(case, contest)]
    case.expect_pending(blocked)
    case.delete(blocked)
    elsewhere = Contest(case, 2, "-elsewhere")
    elsewhere.holders((5, 2))
    case.nodes.change(contest.node, labels={OPEN: "yes"})
    case.settle()
    preemptor = contest.pod("preemptor", 1000, 2, preempts=True, nodeSelector={OPEN: "yes"})
    evicted = case.status.await_eviction(holders, case.deadlines.requeue, 2)
    case.view.await_freshness()
    case.nodes.change(elsewhere.node, labels={OPEN: "yes"})
    case.settle()
    for _ in range(2):
        bystander = case.pod("bystander", cpu="50m")
        case.expect_bound([bystander])
        case.delete([bystander])
    case.keep_calm()
    case.pods.remove_finalizers(evicted[:1])
    case.settle()
    latecomer = contest.pod("latecomer", 10)
    case.fence()
    case.pods.remove_finalizers(holders)
    case.expect_bound([preemptor], case.deadlines.requeue)
    case.expect_pending([latecomer])


def _in_the_way(case: Case, contest: Contest) -> Iterator[dict[str, Any]]:
    """Yield what keeps a pod from a node whatever pods of lower priority are evicted, as fields of its spec."""
    yield {"nodeSelector": {**contest.here, OPEN: "never"}}
    if not case.leaves_out(Subject.HOST_PORTS):
        yield PORT
    if not case.leaves_out(Subject.POD_AFFINITY):
        term = {"labelSelector": {"matchLabels": {"app": "guard"}}, "topologyKey": "kubernetes.io/hostname"}
        yield {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@pytest.mark.clause("core/preemption-never")
def test_preemption_never(case: Case) -> None:
    """A pod of high priority that must not preempt waits for a slot that a pod of lower priority holds."""
    contest = Contest(case, 1)
    contest.holders((10, 1))
    case.expect_pending([contest.pod("preemptor", 1000)])


@pytest.mark.clause("core/preemption-budget")
def test_preemption_budget(case: Case) -> None:
    """Three slots are held by pods of lower priority. PodDisruptionBudgets protect the two of the lowest.

    Each of these is selected by two budgets, of which only one forbids its disruption. A scheduler lists them in any
    order: in each, some pod would lose its protection if only the first budget counted, of all or of those of a pod.
    A budget of another namespace selects the third pod: it protects pods of its own namespace only.
    """
    contest = Contest(case, 3)
    case.expect_bound([contest.pod("holder", 20, labels={"app": "elsewhere"})])
    (elsewhere,) = case.objects.namespaces(budgets={})
    case.objects.disruption_budget("elsewhere", pods=0, namespace=elsewhere)
    apps = ("one", "two")
    case.expect_bound([contest.pod("protected", 10, labels={"app": app, "tier": app}) for app in apps])
    for app in apps:
        case.objects.disruption_budget(app, label="tier", allows=1)
        case.objects.disruption_budget(app)
    case.view.await_freshness()
    case.expect_bound([contest.pod("preemptor", 1000, preempts=True)], case.deadlines.requeue)


@pytest.mark.clause("core/preemption-condition")
def test_preemption_condition(case: Case) -> None:
    """All slots of a node are held by pods of lower priority."""
    contest = Contest(case, 1)
    contest.holders((10, 1))
    case.expect_bound([contest.pod("preemptor", 1000, preempts=True)], case.deadlines.requeue)
