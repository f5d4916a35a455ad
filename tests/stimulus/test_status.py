"""What the candidate says of pods is waited for; that it did not say it is on record."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schedproof.history.acts import Missed
from schedproof.stimulus.pods import Pod

from .world import NAMESPACE, TOO_LATE, World


@pytest.fixture
def late(make_world: Callable[..., World]) -> World:
    """Whose candidate has missed what has not come about at once."""
    return make_world(timing=TOO_LATE)


def missed(world: World) -> list[str]:
    return [record.what for record in world.of(Missed)]


def told(world: World, pod: Pod, **more: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", **more}
    world.server.patch("pods", pod.name, {"status": {"conditions": [condition]}}, NAMESPACE)
    world.await_shown(lambda: dict(world.status.unwillingness(pod)) == condition, "the condition")


def test_a_condition_of_all_pods_and_for_its_reason(late: World) -> None:
    due = late.context.deadlines.reaction
    one, two = late.pods.create(), late.pods.create()
    told(late, one, reason="Unschedulable")
    late.status.await_condition([one], "PodScheduled", due)
    late.status.await_condition([one], "PodScheduled", due, reason="Unschedulable")
    assert missed(late) == []
    late.status.await_condition([one, two], "PodScheduled", due)
    late.status.await_condition([one], "PodScheduled", due, reason="SchedulingGated")
    late.status.await_condition([one], "Ready", due)
    gated = "the condition PodScheduled with reason SchedulingGated"
    assert missed(late) == ["the condition PodScheduled", gated, "the condition Ready"]


def test_a_decision_is_a_binding_or_a_reason(late: World) -> None:
    due = late.context.deadlines.reaction
    bound, refused, waiting = late.pods.create(), late.pods.create(), late.pods.create()
    late.server.bind(NAMESPACE, bound.name, "node-1")
    late.await_shown(lambda: late.pods.node_of(bound), "the Binding")
    told(late, refused)
    for pod in (bound, refused):
        late.status.await_decision(pod, due)
    assert missed(late) == []
    late.status.await_decision(waiting, due)
    assert missed(late) == ["a decision"]


def test_an_eviction_is_a_pod_that_is_to_end(late: World) -> None:
    due = late.context.deadlines.reaction
    stays, ends = late.pods.create(), late.pods.lingering("ends")
    late.status.await_eviction([stays, ends], due)
    assert missed(late) == ["an eviction"]
    late.pods.terminate(ends)
    late.status.await_eviction([stays, ends], due)
    assert missed(late) == ["an eviction"]


def test_an_event_tells_of_the_pod_itself(late: World) -> None:
    due = late.context.deadlines.reaction
    pod = late.pods.create()

    def tell(event: str, uid: str, message: str = "fits nowhere") -> None:
        about = {"kind": "Pod", "namespace": NAMESPACE, "name": pod.name, "uid": uid}
        manifest = {"metadata": {"name": event}, "involvedObject": about, "message": message}
        made = late.server.store("events", manifest, NAMESPACE)
        late.await_shown(lambda: made["metadata"]["uid"] in late.recorder.versions, event)

    tell("other", "of another one")
    late.status.await_event([pod], due)
    assert missed(late) == ["an event"]
    tell("silent", pod.uid, message="")
    late.status.await_event([pod], due)
    assert missed(late) == ["an event", "an event"]
    tell("own", pod.uid)
    late.status.await_event([pod], due)
    assert missed(late) == ["an event", "an event"]


def test_a_refusal_that_does_not_come_is_not_on_record(world: World) -> None:
    world.refuse()
    world.status.await_refusal(world.pods.create())
    world.attachment.ended = True  # so that it is not waited for
    world.server.controllers.clear()
    world.status.await_refusal(world.pods.create())
    assert (missed(world), world.said) == ([], [])
