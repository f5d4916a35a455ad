"""core: a pod is bound only to nodes with the devices that it claims, or requests as an extended resource."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.stimulus.case import Case
from schedproof.stimulus.changes.devices import MEMORY
from schedproof.stimulus.pods import Pod

FAST, SLOW = "fast", "slow"
WHOLE, HALF = "whole", "half"
FAST_RESOURCE, SLOW_RESOURCE = "schedproof.dev/fast", "schedproof.dev/slow"
OFFERS = "offers-the-resource"
BROKEN = "schedproof.dev/broken"
PREPARED, FAILED = "schedproof.dev/prepared", "schedproof.dev/failed"


@pytest.mark.clause("core/dra")
def test_dra(case: Case) -> None:
    """Each node has two fast devices of a model of its own, and two slow devices of its neighbour's model.

    Pods claim one device of each model, by a claim for one pod, by a claim that several pods share, and by a
    template; one pod has two claims. Other pods claim devices that are allocated by then, or more devices than there
    are, until devices are released, and others are published.
    """
    nodes = case.nodes.names
    models = [f"model-{number}" for number, _ in enumerate(nodes)]
    for model, neighbour, node in zip(models, (*models[1:], models[0]), nodes, strict=True):
        case.dra.publish(node, (FAST, model), (FAST, model), (SLOW, neighbour), (SLOW, neighbour))
    fast, slow = case.dra.device_class(FAST), case.dra.device_class(SLOW)
    case.view.await_freshness()
    claimed = [[case.dra.claim(fast, model)] for model in models]
    claimed.append([case.dra.claim(slow, models[0]) for _ in range(2)])
    for claims in claimed:
        case.expect_bound([case.pod(resourceClaims=claims)])
    shared = case.dra.claim(fast, models[0])
    for _ in range(2):
        case.expect_bound([case.pod(resourceClaims=[shared])])
    elsewhere = case.pod("elsewhere", resourceClaims=[shared], nodeSelector={"kubernetes.io/hostname": nodes[1]})
    own = case.pod(resourceClaims=[case.dra.template(fast, models[1])])
    case.expect_bound([own])
    late = [case.pod("late", resourceClaims=[case.dra.claim(fast, model)]) for model in models[:2]]
    large = case.pod("large", resourceClaims=[case.dra.claim(fast, models[-1], count=3)])
    case.expect_pending([elsewhere, *late, large])
    case.delete([own])
    case.dra.await_released([own])
    case.expect_bound([late[1]], case.deadlines.requeue)
    case.dra.publish(nodes[-1], (FAST, models[0]))
    case.expect_bound([late[0]], case.deadlines.requeue)


@pytest.mark.clause("core/dra-alternatives")
def test_dra_alternatives(case: Case) -> None:
    """One node has a fast device and three slow ones, another a slow one. Pods claim a fast device or two slow ones.

    The first pod gets the fast device, the second two slow ones, and the third waits until the first is deleted. A pod
    whose first alternative is a model that no node has gets its second.
    """
    here, there, *_ = case.nodes.names
    case.dra.publish(here, (FAST, "a"), *[(SLOW, "a")] * 3)
    case.dra.publish(there, (SLOW, "a"))
    fast, slow = case.dra.device_class(FAST), case.dra.device_class(SLOW)
    case.view.await_freshness()
    either = [(fast, "a", 1), (slow, "a", 2)]
    first = case.pod(resourceClaims=[case.dra.claim_first(*either)])
    case.expect_bound([first])
    case.expect_bound([case.pod(resourceClaims=[case.dra.claim_first(*either)])])
    waits = case.pod("waits", resourceClaims=[case.dra.claim_first(*either)])
    case.expect_pending([waits])
    second_best = case.dra.claim_first((fast, "none", 1), (slow, "a", 1))
    case.expect_bound([case.pod(resourceClaims=[second_best], **on(there))])
    case.delete([first])
    case.dra.await_released([first])
    case.expect_bound([waits], case.deadlines.requeue)


@pytest.mark.clause("core/dra-taints")
def test_dra_taints(case: Case) -> None:
    """One node has a device with a taint NoSchedule, another has one with a taint NoExecute.

    Pods claim them with tolerations that match a key, or everything, and with tolerations of another effect or value,
    or none at all. These wait: one until the taint of a device is removed.
    """
    here, there, *_ = case.nodes.names
    published = case.dra.publish(here, (FAST, "a"), taints=[{"key": BROKEN, "value": "yes", "effect": "NoSchedule"}])
    case.dra.publish(there, (SLOW, "a"), taints=[{"key": BROKEN, "value": "yes", "effect": "NoExecute"}])
    fast, slow = case.dra.device_class(FAST), case.dra.device_class(SLOW)
    case.view.await_freshness()
    mismatches: list[list[dict[str, str]]] = [
        [],
        [{"key": BROKEN, "operator": "Exists", "effect": "NoExecute"}],
        [{"key": BROKEN, "operator": "Equal", "value": "no"}],
    ]
    exceeds = [
        case.pod("exceeds", resourceClaims=[case.dra.claim(fast, "a", tolerations=tolerations)])
        for tolerations in mismatches
    ]
    case.expect_pending(exceeds)
    matching = [{"key": BROKEN, "operator": "Equal", "value": "yes", "effect": "NoSchedule"}]
    tolerates = case.pod(resourceClaims=[case.dra.claim(fast, "a", tolerations=matching)])
    case.expect_bound([tolerates])
    case.expect_bound([case.pod(resourceClaims=[case.dra.claim(slow, "a", tolerations=[{"operator": "Exists"}])])])
    case.delete([tolerates, *exceeds[1:]])
    case.dra.await_released([tolerates])
    case.dra.untaint(published)
    case.expect_bound(exceeds[:1], case.deadlines.requeue)


@pytest.mark.clause("core/dra-taint-rules")
def test_dra_taint_rules(case: Case) -> None:
    """Two nodes have two devices each. A DeviceTaintRule taints all devices of one node, another rule one of the other.

    Pods claim a device, or two, and some tolerate the taint. Those that wait fit once the rules are gone.
    """
    here, there, *_ = case.nodes.names
    published = case.dra.publish(here, *[(FAST, "a")] * 2)
    other = case.dra.publish(there, *[(SLOW, "a")] * 2)
    fast, slow = case.dra.device_class(FAST), case.dra.device_class(SLOW)
    taint = {"key": BROKEN, "value": "yes", "effect": "NoSchedule"}
    rules = [case.dra.taint_by_rule(published, taint), case.dra.taint_by_rule(other, taint, device="device-1")]
    case.view.await_freshness()
    waits = [case.pod("exceeds", resourceClaims=[case.dra.claim(fast, "a")])]
    waits.append(case.pod("exceeds", resourceClaims=[case.dra.claim(slow, "a", count=2)]))
    case.expect_pending(waits)
    matching = [{"key": BROKEN, "operator": "Equal", "value": "yes", "effect": "NoSchedule"}]
    tolerates = case.pod(resourceClaims=[case.dra.claim(fast, "a", tolerations=matching)])
    case.expect_bound([tolerates])
    untainted = case.pod(resourceClaims=[case.dra.claim(slow, "a")])
    case.expect_bound([untainted])
    case.delete([untainted])
    case.dra.await_released([untainted])
    for rule, pod in zip(rules, waits, strict=True):
        case.dra.withdraw(rule)
        case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/dra-partitions")
def test_dra_partitions(case: Case) -> None:
    """One node has two devices that can be had whole or in halves, another has one that is smaller than its half.

    What is claimed of one of them leaves the rest of it, and all of the other. Pods wait for what is claimed until it
    is released, and for what there never is.
    """
    here, there, *_ = case.nodes.names
    parts = [part for model in "ab" for part in ((WHOLE, model, 4), (HALF, model, 2), (HALF, model, 2))]
    case.dra.partition(here, {"a": 4, "b": 4}, *parts)
    case.dra.partition(there, {"c": 1}, (HALF, "c", 2))
    whole, half = case.dra.device_class(WHOLE), case.dra.device_class(HALF)
    case.view.await_freshness()
    first = case.pod(resourceClaims=[case.dra.claim(half, "a")])
    case.expect_bound([first])
    all_of_it = case.pod("all", resourceClaims=[case.dra.claim(whole, "a")])
    too_small = case.pod("too-small", resourceClaims=[case.dra.claim(half, "c")])
    case.expect_pending([all_of_it, too_small])
    other = case.pod(resourceClaims=[case.dra.claim(whole, "b")])
    case.expect_bound([other])
    second, waits = (case.pod(resourceClaims=[case.dra.claim(half, model)]) for model in "ab")
    case.expect_bound([second])
    case.expect_pending([waits])
    case.delete([other])
    case.dra.await_released([other])
    case.expect_bound([waits], case.deadlines.requeue)
    case.delete([first, second])
    case.dra.await_released([first, second])
    case.expect_bound([all_of_it], case.deadlines.requeue)


@pytest.mark.clause("core/dra-capacity")
def test_dra_capacity(case: Case) -> None:
    """One node has a device that claims share by its memory of 4, another has one of 2 that they do not share.

    Pods claim memory: an amount that is rounded up (3 to 4), no amount (for which 1 counts), and others. They wait for
    what is claimed until it is released.
    """
    here, there, *_ = case.nodes.names
    amounts = {"default": "1", "validValues": ["1", "2", "4"]}
    shared = {MEMORY: {"value": "4", "requestPolicy": amounts}}
    case.dra.publish(here, (FAST, "a"), allowMultipleAllocations=True, capacity=shared)
    case.dra.publish(there, (SLOW, "a"), capacity={MEMORY: {"value": "2"}})
    fast, slow = case.dra.device_class(FAST), case.dra.device_class(SLOW)
    case.view.await_freshness()

    def pod(device_class: str, amount: str = "") -> Pod:
        asked: dict[str, Any] = {"capacity": {"requests": {MEMORY: amount}}} if amount else {}
        return case.pod(resourceClaims=[case.dra.claim(device_class, "a", **asked)])

    rounded_up, waits = pod(fast, "3"), pod(fast)
    case.expect_bound([rounded_up])
    case.expect_pending([waits, pod(slow, "3")])
    case.delete([rounded_up])
    case.dra.await_released([rounded_up])
    case.expect_bound([waits], case.deadlines.requeue)
    two = pod(fast, "2")
    case.expect_bound([two])
    waits = pod(fast, "2")
    case.expect_pending([waits])
    case.expect_bound([pod(fast, "1"), pod(slow, "1")])
    exceeds = [pod(fast), pod(slow, "1")]
    case.expect_pending(exceeds)
    case.delete([two, *exceeds])
    case.dra.await_released([two])
    case.expect_bound([waits], case.deadlines.requeue)


@pytest.mark.clause("core/dra-conditions")
def test_dra_conditions(case: Case) -> None:
    """Two nodes have a device that its driver prepares once it is allocated, and before the pod is bound.

    For the first pod it does so; for the second it reports a failure first, after which devices are allocated anew.
    Both are under way at a time: kube-scheduler, for example, looks at the conditions every 5 s.
    """
    for node in case.nodes.names[:2]:
        case.dra.publish(node, (FAST, "a"), bindingConditions=[PREPARED], bindingFailureConditions=[FAILED])
    fast = case.dra.device_class(FAST)
    case.view.await_freshness()
    claims = [case.dra.claim(fast, "a") for _ in range(2)]
    pods = [case.pod(resourceClaims=[claim]) for claim in claims]
    for claim, condition in ((claims[0], PREPARED), (claims[1], FAILED), (claims[1], PREPARED)):
        if case.dra.await_allocated(claim, case.deadlines.requeue):
            case.fence()
            case.dra.report(claim, condition)
    case.expect_bound(pods, case.deadlines.requeue)


@pytest.mark.clause("core/dra-extended")
def test_dra_extended(case: Case) -> None:
    """One node has four devices of a class, one offers two of the class's extended resource, and others have neither.

    Pods request it by the name that the class gives, and by the class's own name; of pods with several containers the
    most that they need at a time counts. Others ask for more than there is, until a pod is deleted. A pod requests
    a resource that no class stands for, until a class does.
    """
    here, there, *_ = case.nodes.names
    case.nodes.add(OFFERS, **{FAST_RESOURCE: "2"})
    case.dra.publish(here, *[(FAST, "")] * 4)
    case.dra.publish(there, (SLOW, ""))
    by_class = f"deviceclass.resource.kubernetes.io/{case.dra.device_class(FAST, extended=FAST_RESOURCE)}"
    case.settle()
    one, two = ({FAST_RESOURCE: amount} for amount in "12")
    first = case.pod(extended=one, **on(here))
    case.expect_bound([first])
    case.expect_bound([case.pod(extended=one, init=[{"extended": two}], **on(here))])
    # One device is left there.
    exceeds = [case.pod("exceeds", extended=one, more=[{"extended": one}], **on(here))]
    exceeds += [case.pod("exceeds", extended=two, **on(here)), case.pod("exceeds", extended=one, **on(there))]
    exceeds += [case.pod("exceeds", extended={FAST_RESOURCE: "3"}, **on(OFFERS))]
    waits = case.pod("waits", extended={SLOW_RESOURCE: "1"})
    case.expect_pending([*exceeds, waits])
    case.expect_bound([case.pod(extended={by_class: "1"})])
    case.expect_bound([case.pod(extended=one) for _ in range(2)])
    late = case.pod("late", extended=one)
    case.expect_pending([late])
    case.delete([first])
    case.dra.await_released([first])
    case.expect_bound([late], case.deadlines.requeue)
    case.dra.device_class(SLOW, extended=SLOW_RESOURCE)
    case.expect_bound([waits], case.deadlines.requeue)


def on(node: str) -> dict[str, Any]:
    """Return the spec fields by which a pod selects a node."""
    return {"nodeSelector": {"kubernetes.io/hostname": node}}
