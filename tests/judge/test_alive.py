"""core/alive where a process of the candidate restarts the child processes that it has forked."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.history.observations import ProcessEvent

from .histories import HistoryBuilder, told

ALIVE = "core/alive"
ARGV = ["python3", "ext.py"]
NAME = "candidate tested > python3 ext.py"
PANIC = ["panic: division by zero", "goroutine 1 [running]:"]


def descendant(h: HistoryBuilder, event: str, **fields: Any) -> None:
    h.add(ProcessEvent(name=NAME, event=event, descendant=True, **{"argv": ARGV, "log": [], **fields}))


def ends(h: HistoryBuilder, pid: int = 11, *, followed: bool = True, **fields: Any) -> HistoryBuilder:
    """Record that a descendant exits and, if `followed`, that another process replaces it."""
    descendant(h, "exited", **{"pid": pid, "code": 1, "lived": 5.0, "forked": False, **fields})
    if followed:
        descendant(h, "replaced", pid=pid, by=pid + 100)
    return h


@pytest.mark.parametrize(
    ("fields", "how"),
    [
        ({"code": 1}, "exit code 1"),
        ({"code": -11}, "signal 11"),
        ({"code": -7}, "signal 7"),
        ({"code": None, "log": PANIC}, "an unknown code"),
        ({"forked": True, "log": ["Traceback (most recent call last):"]}, "exit code 1"),
        ({"forked": True, "code": -6}, "signal 6"),
    ],
)
def test_crash_that_a_supervisor_hides_fails(fields: dict[str, Any], how: str) -> None:
    verdict = ends(HistoryBuilder(), **fields).verdict(ALIVE)
    told(verdict, "failed", "process-restarted", NAME, how)


def test_crash_loop_is_counted() -> None:
    h = ends(ends(HistoryBuilder(), 11), 12)
    told(h.verdict(ALIVE), "failed", "process-restarted", "1")


@pytest.mark.parametrize(
    "fields",
    [
        {"followed": False},  # a helper that was needed once
        {"code": 0},  # the worker of a server that renews its workers
        {"lived": 0.4},  # a step of a loop, whose exit code is an answer
        {"code": -15},  # was asked to end
        {"code": -9},
        {"code": 143},
        {"code": 130},
        {"code": None},  # nothing says that it crashed
        {"forked": True},  # the end of a pipeline
    ],
)
def test_descendant_that_ends_as_expected_passes(fields: dict[str, Any]) -> None:
    verdict = ends(HistoryBuilder(), **fields).verdict(ALIVE)
    told(verdict, "passed", "", "1")


def test_command_that_also_ends_with_0_is_a_step_of_a_loop_and_passes() -> None:
    h = HistoryBuilder()
    ends(h, 11, code=0, lived=0.3, followed=False)
    ends(h, 12, code=1, lived=5.0)
    assert h.verdict(ALIVE).outcome == "passed"


def test_summary_states_that_descendants_were_not_watched() -> None:
    h = HistoryBuilder()
    h.add(ProcessEvent(name="candidate tested", event="unwatched"))
    told(h.verdict(ALIVE), "passed", "", "were not watched")


def test_crash_is_on_the_timeline() -> None:
    timeline = ends(HistoryBuilder()).verdict(ALIVE).evidence.timeline
    assert any(f"process {NAME} exited, code 1" in line for line in timeline)
    assert any(f"process {NAME} replaced by pid 111" in line for line in timeline)
