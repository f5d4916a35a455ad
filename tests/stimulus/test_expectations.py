"""What is expected of pods: what is on record of it, and when a case is over."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from schedproof.clusters.api import Manifest
from schedproof.foundation.deadlines import OBJECT_GONE, Deadline
from schedproof.foundation.errors import HostError
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.acts import Expect, Fence, MadeWay, Missed, PodCreated, Unseen
from schedproof.stimulus import expectations
from schedproof.stimulus.context import CaseOver
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.usable_time import Interval

from ..fake_apiserver.scripted import CUT
from .world import CLAUSE, NAMESPACE, TOO_LATE, World

SOON = Deadline("soon", 0.0, "of a test")


@pytest.fixture
def late(make_world: Callable[..., World]) -> World:
    """Whose candidate has missed what has not come about at once."""
    return make_world(timing=TOO_LATE)


def expected(world: World) -> list[tuple[str, str]]:
    """The outcomes on record but those of sentinels, and the pods' names."""
    sentinels = {record.uid for record in world.of(PodCreated) if record.role == "sentinel"}
    return [(record.outcome, record.pod) for record in world.of(Expect) if record.uid not in sentinels]


def outcomes(outcome: str, *pods: Pod) -> list[tuple[str, str]]:
    return [(outcome, pod.full_name) for pod in pods]


def small(pod: Manifest) -> str:
    """Binds what is not too large."""
    return "" if pod["metadata"]["labels"].get("size") == "large" else "node-1"


LARGE = {"labels": {"size": "large"}, "cpu": "9", "plain": True}


def test_pods_that_are_bound_in_time(world: World) -> None:
    world.schedule()
    pods = [world.pods.create(), world.pods.create()]
    world.expect.bound(pods)
    assert expected(world) == outcomes("bound", *pods)
    record = world.of(Expect)[0]
    due = world.context.deadlines.bind
    assert (record.case, record.within, record.deadline) == (CLAUSE, due.seconds, due.name)
    assert record.rv <= world.recorder.newest
    assert (world.expect.over, world.trial.waits) == (False, [False])


@pytest.mark.parametrize("woken", [False, True])
def test_a_preemptor_that_is_not_bound_in_half_of_the_time_is_woken(world: World, late: World, woken: bool) -> None:
    tried = late if woken else world
    if not woken:
        world.schedule()
    preemptor, wakes = tried.pods.create(), list[Pod]()

    def seen() -> None:
        if not tried.pods.was_bound(preemptor):
            raise NotYet("it is not bound")

    def wake() -> None:
        wakes.append(preemptor)
        tried.server.bind(NAMESPACE, preemptor.name, "node-1")
        wait_for(seen, OBJECT_GONE, what="the Binding", wake=tried.recorder.changed)

    tried.expect.bound_after_evictions(preemptor, wake)
    assert wakes == [preemptor] * woken
    assert expected(tried) == outcomes("bound", preemptor)


def test_one_that_is_not_ends_the_case_and_all_are_on_record(late: World) -> None:
    pods = [late.pods.create(), late.pods.create()]
    late.server.bind(NAMESPACE, pods[0].name, "node-1")
    late.await_shown(lambda: late.pods.was_bound(pods[0]), "the Binding")
    with pytest.raises(CaseOver):
        late.expect.bound(pods, SOON)
    assert expected(late) == outcomes("bound", *pods)
    assert [record.deadline for record in late.of(Expect)] == ["soon", "soon"]
    assert late.expect.over
    assert late.trial.waits == [False, False], "and once more, for those that are late"


def test_a_case_that_goes_on_all_the_same(late: World) -> None:
    pods = [late.pods.create()]
    assert not late.expect.bound_in_time(pods)
    assert (expected(late), late.expect.over, late.trial.waits) == (outcomes("bound", *pods), False, [True, True])


def test_what_was_due_is_not_waited_for(late: World) -> None:
    pods = [late.pods.create()]
    with pytest.raises(CaseOver):
        late.expect.were_due(pods, SOON)
    assert expected(late) == outcomes("bound", *pods)


def test_pods_that_are_to_wait_are_fenced(world: World) -> None:
    world.schedule(small)
    pods = [world.pods.create(**LARGE)]
    world.server.patch(
        "pods", pods[0].name, {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}, NAMESPACE
    )
    world.await_shown(lambda: world.pods.is_reported(pods[0]), "the condition")
    world.expect.pending(pods, cpu="50m")
    assert expected(world) == outcomes("pending", *pods)
    ((guard, rv),) = [(record.pod, record.rv) for record in world.of(Fence)]
    assert (guard in {f"{NAMESPACE}/{name}" for name in world.server.names("pods")}, rv) == (True, world.recorder.rv)


@pytest.mark.parametrize("outcome", ["pending", "unwilling"])
def test_where_nothing_is_said_of_them_they_are_fenced_once_more(world: World, outcome: str) -> None:
    world.schedule(small)
    pods = [world.pods.create(**LARGE)]
    getattr(world.expect, outcome)(pods)
    assert (expected(world), len(world.of(Fence))) == (outcomes(outcome, *pods), 2)


def test_a_fence_that_is_not_bound_ends_the_case(late: World) -> None:
    pods = [late.pods.create(**LARGE)]
    with pytest.raises(CaseOver):
        late.expect.pending(pods)
    assert (expected(late), late.of(Fence)) == ([], [])


def test_what_fits_is_to_be_bound_and_what_does_not_to_stay(world: World) -> None:
    world.schedule(small)
    fits, large = world.pods.create(cpu="1"), world.pods.create(**LARGE)
    world.expect.decided([large, fits])
    assert expected(world) == [*outcomes("bound", fits), *outcomes("pending", large)]


def test_so_many_are_bound_whichever_they_are(world: World) -> None:
    world.schedule(small)
    first, second, third = world.pods.create(**LARGE), world.pods.create(), world.pods.create()
    world.expect.so_many_bound([first, second, third], 2)
    assert expected(world) == [*outcomes("bound", second, third), *outcomes("pending", first)]
    assert len(world.of(Fence)) == 1


def test_too_few_end_the_case(late: World) -> None:
    pods = [late.pods.create(), late.pods.create()]
    late.server.bind(NAMESPACE, pods[1].name, "node-1")
    late.await_shown(lambda: late.pods.was_bound(pods[1]), "the Binding")
    with pytest.raises(CaseOver):
        late.expect.so_many_bound(pods, 2)
    assert expected(late) == outcomes("bound", pods[1], pods[0])


def test_after_its_start_it_has_the_time_of_a_takeover(world: World) -> None:
    deadlines = world.context.deadlines
    assert world.expect.due(deadlines.bind) == deadlines.bind
    world.trial.taking_over = True
    assert world.expect.due(deadlines.bind) == deadlines.takeover
    longer = Deadline("longer", deadlines.takeover.seconds + 1, "of a test")
    assert world.expect.due(longer) == longer


def test_one_that_has_ended_is_not_waited_for(world: World) -> None:
    def never() -> None:
        raise NotYet("it never comes about")

    world.attachment.ended = True
    assert not world.expect.patiently(never, world.context.deadlines.takeover, "anything")


def test_a_wait_ends_with_the_recording(world: World) -> None:
    pod = world.pods.create()
    world.server.end(CUT)
    with pytest.raises(HostError, match="recording stopped"):
        world.expect.bound([pod])


@pytest.mark.slow
@pytest.mark.parametrize("woken_by", ["waits", "filler"])
def test_a_pod_for_which_room_is_kept_makes_way_for_one_that_fits(late: World, woken_by: str) -> None:
    """The other is bound once that pod is deleted, or already once any pod is: then nothing was kept for it."""
    waits, fits = late.pods.create("waits", **LARGE), late.pods.create("fits")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    late.server.patch("pods", waits.name, {"status": {"conditions": [condition]}}, NAMESPACE)
    late.await_shown(lambda: late.pods.waiting_before(fits) == [waits], "the condition")

    def bind(what: str, pod: Manifest) -> None:
        if what == "DELETED" and woken_by in pod["metadata"]["name"] and not late.pods.was_bound(fits):
            late.server.bind(NAMESPACE, fits.name, "node-1")

    late.server.controllers["pods"] = [*late.server.controllers.get("pods", ()), bind]
    with pytest.raises(CaseOver):
        late.expect.bound([fits])
    made = [(record.waiting, record.unbound) for record in late.of(MadeWay)]
    assert made == ([([waits.uid], [fits.uid])] if woken_by == "waits" else [])
    assert late.pods.was_bound(fits)


def test_after_a_change_nothing_makes_way(late: World) -> None:
    late.pods.create("waits", **LARGE)
    with pytest.raises(CaseOver):
        late.expect.bound([late.pods.create("fits")], late.context.deadlines.requeue)
    assert late.of(MadeWay) == []


def test_what_was_never_said_is_waited_for_less_the_second_time(late: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(deadline: Deadline, *, is_said: bool = False) -> None:
        def probe() -> None:
            if not is_said:
                raise NotYet("it is not said")

        late.expect.reported(probe, deadline, "the condition")

    again = Deadline("again", -1.0, "of a test")
    monkeypatch.setattr(expectations, "AGAIN", again)
    for is_said in (False, False, True, False):
        said(SOON, is_said=is_said)
    assert late.said == [("the condition", False), ("the condition", False), ("the condition", True),
                         ("the condition", False)]  # fmt: skip
    assert [(record.case, record.what, record.deadline) for record in late.of(Missed)] == [
        (CLAUSE, "the condition", "soon"), (CLAUSE, "the condition", "again"), (CLAUSE, "the condition", "soon"),
    ]  # fmt: skip


def test_a_report_that_the_machine_kept_it_from_making_is_waited_for_in_full_again(
    late: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> None:
        raise NotYet("it is not said")

    def kept(_: object) -> dict[str, float]:
        return {"candidate": 1.0}

    monkeypatch.setattr(Interval, "kept", kept)
    late.expect.reported(never, SOON, "the condition")
    assert (late.said, [record.kept for record in late.of(Missed)]) == ([], [{"candidate": 1.0}])


def test_what_was_not_seen_is_on_record_as_of_now_or_then(world: World) -> None:
    world.expect.unseen("first")
    world.expect.unseen("second", rv=3)
    assert [(record.case, record.reason, record.rv) for record in world.of(Unseen)] == [
        (CLAUSE, "first", world.recorder.rv), (CLAUSE, "second", 3),
    ]  # fmt: skip


def waits(world: World, *, found_when: Callable[[bool], bool]) -> tuple[list[bool], list[str]]:
    """Which looks into the record came late, and the deadlines on record, of a pod that is not bound."""
    looks: list[bool] = []

    def look_into_record(*, late: bool) -> bool:
        looks.append(late)
        world.trial.in_vain = found_when(late)
        return bool(world.trial.in_vain)

    world.trial.taking_over, world.trial.look_into_record = True, look_into_record
    with pytest.raises(CaseOver):
        world.expect.bound([world.pods.create()])
    return looks, [record.deadline for record in world.of(Expect)]


@pytest.mark.parametrize("late", [False, True])
def test_a_wait_for_a_takeover_ends_once_the_record_shows_that_it_is_in_vain(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    monkeypatch.setattr(expectations, "LATE", dataclasses.replace(SOON, seconds=0.2))
    never_over = make_world(timing=dataclasses.replace(TOO_LATE, takeover=3600.0))
    looks, deadlines = waits(never_over, found_when=lambda is_late: is_late or not late)
    assert looks == [False, True][: 1 + late]
    assert deadlines == ["bind"], "no takeover is what it waited for"


def test_without_such_a_record_the_claimed_takeover_is_waited_for(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expectations, "LATE", dataclasses.replace(SOON, seconds=0.1))
    late = make_world(timing=dataclasses.replace(TOO_LATE, takeover=0.5))
    looks, deadlines = waits(late, found_when=lambda _: False)
    assert looks[:2] == [False, True]
    assert deadlines == ["takeover"]
