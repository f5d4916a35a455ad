"""extender: the HTTP contract on which kube-scheduler relies, also where it does not notice a violation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schedproof.history.faults import Fault
from schedproof.judge.clauses.extender.answers import ROLES, UNITS
from schedproof.stimulus.case import Case

HOST = "kubernetes.io/hostname"
NO_SUCH_NODE = {"schedproof.dev/no-such": "node"}

GARBAGE = {
    "no JSON": b"not json",
    "nothing": b"",
    "cut off": b'{"Pod": {"metadata": {"name": "half',
    "a list": b"[]",
    "a number for a pod": b'{"Pod": 5, "Nodes": 7, "NodeNames": 7}',
}


INCOMPLETE = {
    "no list of names": b'{"Pod": {"metadata": {"name": "lonely"}}, "Nodes": null, "NodeNames": {}}',
    "no nodes": b'{"Pod": {"metadata": {"name": "lonely", "namespace": "default", "uid": "0"}}}',
    "nodes that are null": b'{"Pod": {"metadata": {"name": "lonely"}}, "Nodes": null, "NodeNames": null}',
    "a list that is null": b'{"Pod": {"metadata": {"name": "lonely"}}, "Nodes": {"items": null}, "NodeNames": []}',
    "no pod": b'{"Pod": null, "NodeNames": ["nowhere"], "Nodes": {"items": [{"metadata": {"name": "nowhere"}}]}}',
    "no fields": b"{}",
}


@pytest.mark.clause("extender/verbs-served")
def test_verbs_served(case: Case) -> None:
    """Pods with several feasible nodes, so that kube-scheduler calls every verb of a scheduling cycle.

    The harness calls preempt, as kube-scheduler would if pods were in the way.
    """
    pods = [case.pod(cpu="100m") for _ in range(3)]
    case.expect_bound(pods)
    case.extender.call_preempt(victim=pods[0])


@pytest.mark.clause("extender/healthz")
def test_healthz(case: Case) -> None:
    """Requests the extender's health before and after a pod is scheduled."""
    case.extender.ask_health()
    case.expect_bound([case.pod(cpu="100m")])
    case.extender.ask_health()


@pytest.mark.clause("extender/cache-capable")
def test_cache_capable(case: Case) -> None:
    """kube-scheduler calls the extender in the mode that the configuration claims."""
    case.expect_bound([case.pod(cpu="100m") for _ in range(3)])


@pytest.mark.clause("extender/filter-subset")
def test_filter_subset(case: Case) -> None:
    """kube-scheduler filters out some nodes of each pod before it calls the extender."""
    nodes = case.nodes.names
    for node in nodes[1:]:
        case.nodes.change(node, labels={"schedproof.dev/asked": "yes"})
    case.settle()
    asked = {"nodeSelector": {"schedproof.dev/asked": "yes"}}
    one = {"nodeSelector": {"kubernetes.io/hostname": nodes[0]}}
    specs: list[dict[str, Any]] = [asked, one, {}]
    case.expect_bound([case.pod(**spec) for spec in specs * 2])


@pytest.mark.clause("extender/prioritize-range")
def test_prioritize_range(case: Case) -> None:
    """There are more nodes than distinct scores."""
    case.extender.add_idle_nodes(14 - len(case.nodes.names))
    case.settle()
    case.expect_bound([case.pod(cpu="100m") for _ in range(3)])


@pytest.mark.clause("extender/prioritize-complete")
def test_prioritize_complete(case: Case) -> None:
    """Many nodes, no two with the same traffic. Then the order of their traffic is reversed."""
    case.extender.add_idle_nodes(14 - len(case.nodes.names), alike=False)
    case.settle()
    case.expect_bound([case.pod(cpu="100m") for _ in range(2)])
    case.extender.reverse_load()
    case.expect_bound([case.pod(cpu="100m") for _ in range(2)])


@pytest.mark.clause("extender/prioritize-integers")
def test_prioritize_integers(case: Case) -> None:
    """No stimulus of its own: all calls of the run are judged."""


@pytest.mark.clause("extender/prioritize-no-duplicates")
def test_prioritize_no_duplicates(case: Case) -> None:
    """No stimulus of its own: all calls of the run are judged."""


@pytest.mark.clause("extender/malformed")
def test_malformed(case: Case) -> None:
    """Sends malformed requests, and requests that lack a field, to every verb. Then pods are created."""
    for verb in case.extender.verbs:
        for name, body in GARBAGE.items():
            case.extender.call(verb, body, what=name)
        for name, body in INCOMPLETE.items():
            case.extender.call(verb, body, what=f"incomplete arguments ({name})")
    case.expect_bound([case.pod(cpu="100m")])


@pytest.mark.clause("extender/unknown-fields")
def test_unknown_fields(case: Case) -> None:
    """Requests with an unknown field, as a newer Kubernetes may send them: in the arguments, and in the pod."""
    pod = case.pod("waits", nodeSelector=NO_SUCH_NODE)
    case.fence()
    for verb in case.extender.asking_verbs:
        case.extender.call(
            verb, case.extender.question(pod, case.nodes.names, Extra={"a": [1]}), what="an unknown field"
        )
        strange = json.loads(case.extender.question(pod, case.nodes.names))
        strange["Pod"]["spec"]["extra"] = {"b": None}
        case.extender.call(verb, json.dumps(strange).encode(), what="an unknown field")


@pytest.mark.clause("extender/empty-nodes")
def test_empty_nodes(case: Case) -> None:
    """Requests with a pod and no node, by names and by whole nodes. Then pods are created."""
    pod = case.pod("waits", nodeSelector=NO_SUCH_NODE)
    case.fence()
    for verb in case.extender.asking_verbs:
        for by_names in (True, False):
            case.extender.call(verb, case.extender.question(pod, [], by_names=by_names), what="no node")
    case.expect_bound([case.pod(cpu="100m")])


@pytest.mark.clause("extender/both-cache-modes")
def test_both_cache_modes(case: Case) -> None:
    """The same request with names of nodes, and with whole nodes."""
    pod = case.pod("waits", nodeSelector=NO_SUCH_NODE)
    case.fence()
    for verb in case.extender.asking_verbs:
        for by_names in (True, False):
            case.extender.call(
                verb, case.extender.question(pod, case.nodes.names, by_names=by_names), what="either mode"
            )


@pytest.mark.clause("extender/idempotent")
def test_idempotent(case: Case) -> None:
    """The same request about a pod, three times, as after two failures."""
    pod = case.pod("waits", nodeSelector=NO_SUCH_NODE)
    case.fence()
    question = case.extender.question(pod, case.nodes.names)
    for verb in case.extender.asking_verbs[:1]:
        for _ in range(3):
            case.extender.call(verb, question, what="the same question")


@pytest.mark.clause("extender/failed-reasons")
def test_failed_reasons(case: Case) -> None:
    """No stimulus of its own: all calls of the run are judged."""


@pytest.mark.clause("extender/bind-binds")
def test_bind_binds(case: Case) -> None:
    """No stimulus of its own: all calls of the run are judged."""


@pytest.mark.clause("extender/bind-error")
def test_bind_error(case: Case) -> None:
    """The apiserver refuses all Bindings of a pod, with a conflict or another error. Then it accepts them."""
    if not case.extender.binds:
        return
    with case.candidate.hold_bindings() as gate:
        pods = []
        for name, code in (("conflict", 409), ("internal-error", 500)):
            gate.refuse(case.pods.next_name(name), code)
            pods.append(case.pod(name, role="erring", cpu="100m"))
            gate.await_call(pods[-1].name)
        gate.accept()
        case.expect_bound(pods, case.deadlines.requeue)


@pytest.mark.clause("extender/bind-again")
def test_bind_again(case: Case) -> None:
    """The extender is asked to bind a bound pod again: to its node, then to another node."""
    if not case.extender.binds:
        return
    pod = case.pod(cpu="100m")
    case.expect_bound([pod])
    node = case.node_of(pod)
    for again in (node, next(other for other in case.nodes.names if other != node)):
        case.extender.call_bind(pod, again)


def outage(case: Case, fault: Fault, *, waits: bool) -> None:
    """Create a pod while the extender's connection, used before, is broken; then restore it."""
    case.expect_bound([case.pod(cpu="100m")])
    with case.extender.broken(fault):
        pods = [case.pod("outage", role="outage", cpu="100m")]
        if waits:
            case.extender.await_left_waiting(pods)
        else:
            case.expect_bound(pods, case.extender.beyond_timeout)
    if waits:
        case.expect_bound(pods, case.deadlines.requeue)
    else:
        case.expect_bound([case.pod(cpu="100m")])


@pytest.mark.clause("extender/required-down")
def test_required_down(case: Case) -> None:
    """For a while, connections to the extender are refused."""
    if case.extender.needed:
        outage(case, Fault.DOWN, waits=True)


@pytest.mark.clause("extender/ignorable-down")
def test_ignorable_down(case: Case) -> None:
    """For a while, connections to the extender are refused."""
    if not case.extender.needed:
        outage(case, Fault.DOWN, waits=False)


@pytest.mark.clause("extender/slow")
def test_slow(case: Case) -> None:
    """For a while, requests to the extender get no response."""
    outage(case, Fault.HANG, waits=case.extender.needed)


@pytest.mark.clause("extender/concurrent")
def test_concurrent(case: Case) -> None:
    """Several concurrent requests, each about a different pod and different nodes."""
    pods = [case.pod("waits", nodeSelector=NO_SUCH_NODE) for _ in range(6)]
    case.fence()
    for _ in range(3):
        case.extender.ask_at_once(pods)


@pytest.mark.clause("extender/large")
def test_large(case: Case) -> None:
    """A request with 5,000 nodes, after a request with two for comparison. The extender knows none of these nodes."""
    pod = case.pod("waits", nodeSelector=NO_SUCH_NODE)
    case.fence()
    many = [f"ip-10-0-{number // 250}-{number % 250}.large.compute.internal" for number in range(5_000)]
    for verb in case.extender.asking_verbs:
        case.extender.call(verb, case.extender.question(pod, many[:2]), what="few nodes")
        # Twice: a pause of the machine is not the extender's fault.
        for _ in range(2):
            case.extender.call(verb, case.extender.question(pod, many), what="many nodes")


@pytest.mark.clause("extender/managed-resources")
def test_managed_resources(case: Case) -> None:
    """Pods that request the extender's managed resources, as all others in these suites do, and pods that do not."""
    asking = [case.pod(cpu="100m") for _ in range(3)]
    others = [case.pod(cpu="100m", role="unmanaged", managed=False) for _ in range(2)]
    case.expect_bound([*asking, *others])


@pytest.mark.clause("extender/managed-room")
def test_managed_room(case: Case) -> None:
    """Two nodes offer three of each managed resource. Pods come to one of them one by one, to the other at once.

    The fourth pod of the first node comes once the extender must have seen the third.
    """
    scarce = dict.fromkeys(case.trial.surroundings.managed, str(UNITS))
    apart, at_once = (dict[str, Any](role=role, plain=True, nodeSelector={HOST: f"node-{role}"}) for role in ROLES)
    for role in ROLES:
        case.nodes.add(f"node-{role}")
        case.nodes.resize(f"node-{role}", **scarce)
    case.settle()
    for _ in range(UNITS):
        case.expect_bound([case.pod(**apart)])
    case.view.await_freshness()
    case.status.await_decision(case.pod(**apart), case.deadlines.reaction)
    case.expect_so_many_bound([case.pod(**at_once) for _ in range(2 * UNITS)], UNITS)


@pytest.mark.clause("extender/answers")
def test_answers(case: Case) -> None:
    """No stimulus of its own: all calls of the run are judged."""


@pytest.mark.clause("extender/rbac-sufficient")
def test_rbac_sufficient(case: Case) -> None:
    """No stimulus of its own: the requests of the whole run are judged."""


@pytest.mark.clause("extender/rbac-dangerous")
def test_rbac_dangerous(case: Case) -> None:
    """Reads the declared RBAC rules, whether or not the candidate uses them."""


@pytest.mark.clause("extender/rbac-minimal")
def test_rbac_minimal(case: Case) -> None:
    """No stimulus of its own: the requests of the whole run are judged."""
