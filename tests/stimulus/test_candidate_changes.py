"""What a case does to the candidate itself: what becomes of its processes, what is on record, and how each ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.scheduler_config import NO_LEADER_ELECTION
from schedproof.candidate.timing import Timing
from schedproof.foundation.errors import CandidateError
from schedproof.history.acts import Election, Halted, LineFault, Resumed, Unseen
from schedproof.history.observations import ApiRequest, LeaseHolder
from schedproof.stimulus.changes.candidate import LEASE, CandidateChanges
from schedproof.stimulus.context import CaseOver

from .world import CLAUSE, NAMESPACE, World


class Line:
    """The candidate's line to the apiserver, as `ApiLine`; `acts` is what was done to it, in order."""

    def __init__(self) -> None:
        self.acts: list[Any] = []

    def cut(self) -> int:
        self.acts.append("cut")
        return 3

    def mend(self) -> None:
        self.acts.append("mend")

    def lead_to(self, upstream: tuple[str, int]) -> tuple[str, int]:
        self.acts.append(upstream)
        return "127.0.0.1", 1


def of(world: World) -> CandidateChanges:
    return CandidateChanges(world.context, world.expect)


@pytest.fixture
def candidate(world: World) -> CandidateChanges:
    return of(world)


@pytest.fixture
def line(world: World) -> Line:
    world.attachment.apiserver = Line()
    found: Line = world.attachment.apiserver
    return found


class BodyError(Exception):
    """What the body of a context raises."""


def break_in(context: AbstractContextManager[Any]) -> None:
    with pytest.raises(BodyError), context:
        raise BodyError


def test_while_it_is_down_nothing_of_it_runs(world: World, candidate: CandidateChanges) -> None:
    with candidate.down():
        assert world.attachment.acts == ["halt"]
        assert [record.case for record in world.of(Halted)] == [CLAUSE]
        assert world.of(Resumed) == []
    assert world.attachment.acts == ["halt", "resume"]
    assert [record.case for record in world.of(Resumed)] == [CLAUSE]


def test_it_runs_again_when_what_is_done_meanwhile_fails(world: World, candidate: CandidateChanges) -> None:
    break_in(candidate.down())
    assert world.attachment.acts == ["halt", "resume"]
    assert [record.case for record in world.of(Resumed)] == [CLAUSE]


def test_that_it_does_not_start_again_is_an_error_unless_it_was_only_tried(
    world: World, candidate: CandidateChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resume() -> None:
        raise CandidateError("it ends", remedy="see its log")

    monkeypatch.setattr(world.attachment, "resume", resume)
    with pytest.raises(CandidateError):
        candidate.restart()
    candidate.try_to_restart()
    assert world.attachment.acts == ["halt", "halt", "report exits"]


def heard_of(world: World, user: str) -> None:
    world.recorder.add(ApiRequest(
        line=1, received=0.0, completed=0.0, user=user, verb="get", resource="leases", namespace="", name="", code=200,
    ))  # fmt: skip


def test_a_second_instance_is_heard_and_both_are_ended(world: World, candidate: CandidateChanges) -> None:
    heard_of(world, world.attachment.second_user)
    with candidate.second_instance():
        assert world.attachment.acts == ["start second"]
    assert world.attachment.acts == ["start second", "halt", "resume"]
    assert [(record.event, record.user) for record in world.of(Election)] == [
        ("second-started", "second"), ("second-ends", "second"),
    ]  # fmt: skip
    break_in(candidate.second_instance())
    assert world.attachment.acts[3:] == ["start second", "halt", "resume"]


def test_a_second_instance_that_asks_nothing_ends_the_case(
    world: World, candidate: CandidateChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.attachment.ended = True  # so that it is not waited for
    heard_of(world, "another one")
    with pytest.raises(CaseOver), candidate.second_instance():
        pytest.fail("it was not heard")
    assert [record.reason for record in world.of(Unseen)] == ["its second instance made no request to the apiserver"]
    assert world.attachment.acts == ["start second", "halt", "resume"]


@pytest.mark.parametrize(
    ("timing", "given"),
    [(Timing(freshness=1.0), 13.0), (Timing(freshness=20.0), 20.0), (Timing(takeover=30.0), 30.0)],
)
def test_a_first_instance_that_wakes_has_the_time_to_find_out(
    make_world: Callable[..., World], timing: Timing, given: float
) -> None:
    world = make_world(timing=timing)
    passed: list[float] = []
    world.trial.usable_time = SimpleNamespace(let_pass=passed.append)
    with of(world).first_frozen():
        assert world.attachment.acts == ["freeze"]
    assert (world.attachment.acts, passed) == (["freeze", "thaw"], [given])
    assert [record.event for record in world.of(Election)] == ["first-frozen", "first-thawed", "first-awake"]
    break_in(of(world).first_frozen())
    assert world.attachment.acts[-1] == "thaw"


@pytest.mark.parametrize("broken", [False, True])
def test_it_elects_a_leader_by_a_lease_that_is_gone_at_the_end(
    world: World, candidate: CandidateChanges, broken: bool
) -> None:
    before = world.server.snapshot()
    with contextlib.suppress(BodyError), candidate.electing():
        assert world.attachment.leader_election == {
            "leaderElect": True, "resourceName": LEASE, "resourceNamespace": NAMESPACE,
        }  # fmt: skip
        world.server.store("leases", {"metadata": {"name": LEASE}, "spec": {"holderIdentity": "me"}}, NAMESPACE)
        if broken:
            raise BodyError
    assert [(record.name, record.holder) for record in world.of(LeaseHolder)] == [(f"{NAMESPACE}/{LEASE}", "me")]
    assert world.attachment.leader_election == NO_LEADER_ELECTION
    assert world.attachment.acts == ["halt", "resume"] * 2
    assert world.server.snapshot() == before


def test_where_no_lease_is_taken_nothing_holds_it(world: World, candidate: CandidateChanges) -> None:
    with candidate.electing():
        pass
    assert [record.holder for record in world.of(LeaseHolder)] == [""]
    with candidate.electing(leaderElect=True, resourceName="other"):
        assert world.attachment.leader_election == {"leaderElect": True, "resourceName": "other"}
    assert len(world.of(LeaseHolder)) == 1, "of a lease of the test's own nothing is said"


def test_its_profiles_are_turned_and_turned_back(world: World, candidate: CandidateChanges) -> None:
    with candidate.profiles_reversed():
        assert (world.attachment.profiles_reversed, world.attachment.acts) == (True, ["halt", "resume"])
    assert (world.attachment.profiles_reversed, world.attachment.acts) == (False, ["halt", "resume"] * 2)
    break_in(candidate.profiles_reversed())
    assert not world.attachment.profiles_reversed


def test_its_line_is_cut_and_mended(world: World, candidate: CandidateChanges, line: Line) -> None:
    with candidate.apiserver_unreachable():
        assert line.acts == ["cut"]
    assert line.acts == ["cut", "mend"]
    break_in(candidate.apiserver_unreachable())
    assert line.acts == ["cut", "mend"] * 2
    faults = [(record.case, record.fault, record.on) for record in world.of(LineFault)]
    assert faults == [(CLAUSE, "cut", True), (CLAUSE, "", False)] * 2


class Second:
    """A second apiserver; `acts` is what was done to it, in order."""

    port = 2

    def __init__(self) -> None:
        self.acts: list[Any] = []

    def wait_ready(self) -> None:
        self.acts.append("ready")

    def forget_before(self, revision: int) -> None:
        self.acts.append(revision)

    def end(self) -> None:
        self.acts.append("end")


def test_a_second_apiserver_takes_over_and_ends(world: World, candidate: CandidateChanges, line: Line) -> None:
    server = Second()
    world.cluster.second_apiserver = lambda: server
    with candidate.second_apiserver() as second, second.taking_over():
        assert (server.acts, line.acts) == (["ready"], ["cut"])
    assert server.acts == ["ready", world.recorder.rv, "end"]
    assert line.acts == ["cut", ("127.0.0.1", 2), "mend", ("127.0.0.1", 1), "mend"]
    assert [record.fault for record in world.of(LineFault)] == ["cut", "", "ended", ""]


def test_a_second_apiserver_that_never_took_over_ends_all_the_same(
    world: World, candidate: CandidateChanges, line: Line
) -> None:
    server = Second()
    world.cluster.second_apiserver = lambda: server
    break_in(candidate.second_apiserver())
    with pytest.raises(BodyError), candidate.second_apiserver() as second, second.taking_over():
        raise BodyError
    assert server.acts == ["end", "ready", "end"]
    assert line.acts == ["cut", "mend"], "the line leads to the first one, and it is whole"


@pytest.mark.parametrize(("now", "asked"), [(9_000, [0, 9_700, 10_000]), (50_000, [0])])
def test_versions_grow_where_few_are_missing(
    world: World, candidate: CandidateChanges, now: int, asked: list[int]
) -> None:
    versions: list[int] = []

    def advance(version: int) -> int:
        versions.append(version)
        return now

    world.cluster.advance_versions = advance
    with candidate.versions_grow():
        assert versions == asked[:2]
    assert versions == asked


@pytest.mark.parametrize(
    ("trouble", "over", "restarted"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_it_has_new_watches_after_trouble_that_it_did_not_survive(
    world: World, candidate: CandidateChanges, line: Line, trouble: bool, over: bool, restarted: bool
) -> None:
    if trouble:
        with candidate.apiserver_unreachable():
            pass
    world.expect.over = over
    candidate.undo()
    assert world.attachment.acts == ["halt", "resume"] * restarted
