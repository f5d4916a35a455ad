"""A candidate's components: what is recorded of them, and in which order they are stopped."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from schedproof.deploy.running import RunningComponents


class PlayedComponent:
    """A component without a process; `acts` lists the calls of all components, in order."""

    def __init__(self, name: str, acts: list[str]) -> None:
        self.name, self._acts = name, acts
        self.exit_code: int | None = None

    def watch(self, _record: Any) -> None:
        self._acts.append(f"watch {self.name}")

    def freeze(self) -> None:
        self._acts.append(f"freeze {self.name}")

    def thaw(self) -> None:
        self._acts.append(f"thaw {self.name}")

    def stop(self, _grace: float) -> None:
        self._acts.append(f"stop {self.name}")

    def cause(self) -> str:
        return "its end"

    def log_tail(self, _lines: int) -> str:
        return "I plugin score=5\nready\nmissing content for CA bundle\ndone"


class Started:
    def __init__(self, *names: str, watched: bool = False) -> None:
        self.acts: list[str] = []
        self.records: list[tuple[Any, ...]] = []
        self.running = RunningComponents(watched=watched)
        self.running.record = self._record
        self.components: list[Any] = [PlayedComponent(name, self.acts) for name in names]
        for component in self.components:
            self.running.started(component)

    def _record(self, kind: str, **fields: Any) -> None:
        self.records.append((kind, fields["name"], fields["event"]))


@pytest.mark.parametrize(("watched", "acts"), [(True, ["watch extender"]), (False, [])])
def test_a_start_is_recorded_and_watched_if_requested(watched: bool, acts: list[str]) -> None:
    started = Started("extender", watched=watched)
    assert (started.records, started.acts) == ([("process", "extender", "started")], acts)
    assert [component.name for component in started.running.all] == ["extender"]


def test_components_are_stopped_in_reverse_order_and_those_that_had_exited_are_not_recorded_as_stopped() -> None:
    started = Started("extender", "scheduler")
    started.components[0].exit_code = 3
    del started.records[:]
    started.running.halt()
    assert started.acts == ["stop scheduler", "stop extender"]
    assert started.records == [("process", "extender", "exited"), ("process", "scheduler", "stopped")]
    assert (started.running.all, started.running.ended) == ((), True)


def test_an_exit_is_recorded_once() -> None:
    started = Started("controller")
    started.components[0].exit_code = 1
    del started.records[:]
    for _ in range(2):
        started.running.report_exits()
    assert started.records == [("process", "controller", "exited")]
    assert started.running.ended


def test_all_replicas_but_the_last_are_frozen_and_may_exit_after_losing_the_lease() -> None:
    started = Started("first", "second")
    with contextlib.suppress(KeyError), started.running.first_frozen():
        assert started.acts == ["freeze first"]
        raise KeyError
    assert started.acts == ["freeze first", "thaw first"]
    started.components[0].exit_code = 0
    del started.records[:]
    started.running.report_exits()
    assert started.records == [("process", "first", "stood-down")]
    assert not started.running.ended
    started.components[1].exit_code = 0
    assert started.running.ended


def test_the_last_log_lines_omit_scores_and_known_warnings_of_kube_scheduler() -> None:
    assert Started("scheduler").running.log_tails() == {"scheduler": ["ready", "done"]}
