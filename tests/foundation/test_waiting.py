"""Waits end when ready, at an exit or at a deadline, whichever is first, and report the last observation."""

from __future__ import annotations

import contextlib
import threading
import time
import types
from collections.abc import Callable

import pytest

from schedproof.foundation import deadlines, waiting
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import CandidateError, DeadlineExceededError, SchedproofError
from schedproof.foundation.waiting import NotYet, until, wait_for

NOW = Deadline("now", 0, "the first look decides")
PLENTY = Deadline("plenty", 60, "only bounds how long a failing test takes")
QUICK = 0.001


class Process:
    """A watched process that lives for the given number of looks."""

    def __init__(self, looks: int = 0) -> None:
        self.looks = looks

    def exit_error(self) -> SchedproofError | None:
        self.looks -= 1
        return CandidateError("it ended with exit code 1") if self.looks < 0 else None


def countdown(looks: int, result: str = "ready") -> Callable[[], str]:
    """A probe that is not ready for the given number of looks."""
    left = iter(range(looks, 0, -1))

    def probe() -> str:
        for number in left:
            raise NotYet(f"{number} to go")
        return result

    return probe


def never() -> str:
    raise NotYet("an empty room")


# -- ready


@pytest.mark.parametrize("looks", [0, 1, 5])
def test_the_wait_returns_the_result_of_the_probe(looks: int) -> None:
    assert wait_for(countdown(looks), PLENTY, what="it", poll=QUICK) == "ready"


def test_a_probe_that_is_ready_at_the_first_look_needs_no_time() -> None:
    assert wait_for(countdown(0), NOW, what="it") == "ready"


def test_the_result_of_a_probe_may_be_none_or_false() -> None:
    assert wait_for(lambda: None, NOW, what="it") is None
    assert wait_for(lambda: False, NOW, what="it") is False


def test_a_result_that_is_ready_is_returned_even_if_the_process_has_ended() -> None:
    assert wait_for(countdown(0), PLENTY, what="it", watching=[Process(0)]) == "ready"


# -- the deadline


def test_a_wait_is_extended_by_the_time_that_is_added_at_its_deadline() -> None:
    assert wait_for(countdown(3), NOW, what="it", poll=QUICK, extended=lambda: 60) == "ready"


def test_a_wait_ends_once_no_more_time_is_added() -> None:
    added = iter([QUICK, 2 * QUICK, 2 * QUICK, 2 * QUICK])
    with pytest.raises(DeadlineExceededError):
        wait_for(never, NOW, what="it", poll=QUICK, extended=lambda: next(added))


def test_a_deadline_error_has_the_name_the_length_and_the_last_observation() -> None:
    with pytest.raises(DeadlineExceededError) as caught:
        wait_for(never, NOW, what="the room to fill")
    assert str(caught.value) == "waited 0 s (now) for the room to fill; last seen: an empty room"


def test_a_deadline_error_has_the_last_of_several_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 100.5, 101.0, 102.0])  # the start, and after each look
    monkeypatch.setattr(waiting, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    with pytest.raises(DeadlineExceededError, match=r"waited 2 s \(short\) for it; last seen: 1 to go"):
        wait_for(countdown(3), Deadline("short", 2, "three looks fit in"), what="it", poll=QUICK)


def test_a_deadline_error_without_an_observation_says_nothing_was_seen() -> None:
    def probe() -> None:
        raise NotYet

    with pytest.raises(DeadlineExceededError, match="last seen: nothing"):
        wait_for(probe, NOW, what="it")


# -- the process


def test_an_exit_ends_the_wait_with_the_process_s_own_error() -> None:
    with pytest.raises(CandidateError, match="it ended with exit code 1"):
        wait_for(never, PLENTY, what="it", watching=[Process(3)], poll=QUICK)


def test_an_exit_at_the_deadline_is_reported_as_an_exit() -> None:
    """An early exit must not be reported as a timeout."""
    with pytest.raises(CandidateError):
        wait_for(never, NOW, what="it", watching=[Process(0)])


def test_the_exit_of_any_watched_process_ends_the_wait() -> None:
    with pytest.raises(CandidateError):
        wait_for(never, PLENTY, what="it", watching=[Process(10**6), Process(2)], poll=QUICK)


# -- the probe's own errors


def test_any_other_error_of_the_probe_ends_the_wait() -> None:
    looks: list[int] = []

    def probe() -> None:
        looks.append(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        wait_for(probe, PLENTY, what="it")
    assert len(looks) == 1


# -- being woken


def test_a_notification_wakes_the_wait_however_rarely_it_polls() -> None:
    changed, ready, looked = threading.Condition(), threading.Event(), threading.Event()

    def probe() -> str:
        looked.set()
        if not ready.is_set():
            raise NotYet("nothing happened")
        return "ready"

    def change() -> None:
        looked.wait(60)
        with changed:
            ready.set()
            changed.notify_all()

    thread = threading.Thread(target=change)
    thread.start()
    # It would look again after an hour, and the deadline is beyond that.
    patience = Deadline("a day", 86_400, "beyond the poll")
    assert wait_for(probe, patience, what="it", wake=changed, poll=3_600) == "ready"
    thread.join()


def test_the_probe_holds_the_condition_that_wakes_it() -> None:
    changed = threading.Condition()

    def locked_elsewhere() -> bool:
        taken: list[bool] = []

        def attempt() -> None:
            taken.append(changed.acquire(blocking=False))
            if taken[0]:
                changed.release()

        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
        return not taken[0]

    assert wait_for(locked_elsewhere, NOW, what="it", wake=changed)
    assert not locked_elsewhere()


def test_the_condition_is_released_after_an_error_too() -> None:
    changed = threading.Condition()
    with contextlib.suppress(DeadlineExceededError):
        wait_for(never, NOW, what="it", wake=changed)
    with changed:
        pass


# -- letting time pass


def test_waiting_until_a_past_moment_returns_at_once() -> None:
    until(time.monotonic() - 1, watching=[Process(0)])


def test_waiting_until_a_moment_returns_afterwards() -> None:
    moment = time.monotonic() + 0.01
    until(moment)
    assert time.monotonic() >= moment


def test_an_exit_ends_waiting_until_a_moment() -> None:
    with pytest.raises(CandidateError):
        until(time.monotonic() + 86_400, watching=[Process(0)])


# -- the deadlines themselves


def test_every_deadline_has_a_name_of_its_own_a_length_and_a_reason() -> None:
    known = [value for value in vars(deadlines).values() if isinstance(value, Deadline)]
    assert known
    assert len({deadline.name for deadline in known}) == len(known)
    for deadline in known:
        assert deadline.seconds > 0
        assert deadline.reason
