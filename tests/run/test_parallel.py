"""The pytest plugins for several clusters, without a cluster."""

from __future__ import annotations

import math
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import _pytest.hookspec
import _pytest.runner
import pluggy
import pytest

from schedproof.pytest_plugin.parallel import Controller, Worker
from schedproof.run.dispatch import Task
from schedproof.run.events import Ended, Finished, Judged
from schedproof.run.result import RunResult

from ..judge.verdicts import verdict_of


@pytest.mark.parametrize("failure", [None, RuntimeError("the cluster is broken")])
def test_a_worker_keeps_its_cluster_until_an_interrupted_test_is_torn_down(
    failure: Exception | None, tmp_path: Any
) -> None:
    """pytest tears down a test that was interrupted when its session finishes; the controller is told last."""
    order: list[str] = []

    def teardown_exact(_: None) -> None:
        order.append("torn down")
        if failure is not None:
            raise failure

    class Interactor:
        """As `xdist.remote.WorkerInteractor`, which is registered first."""

        @pytest.hookimpl(hookwrapper=True)
        def pytest_sessionfinish(self, session: Any) -> Generator[None, object, None]:
            yield
            order.append(f"sent {sorted(session.config.workeroutput)}")

    worker = object.__new__(Worker)  # without its signal handlers
    worker._session = SimpleNamespace(  # type: ignore[assignment]
        close=lambda: order.append("closed"), result=RunResult(7, "embedded", tmp_path)
    )
    plugins = pluggy.PluginManager("pytest")
    plugins.add_hookspecs(_pytest.hookspec)
    finish = SimpleNamespace(pytest_sessionfinish=pytest.hookimpl(_pytest.runner.pytest_sessionfinish))
    for plugin in (finish, Interactor(), worker):
        plugins.register(plugin)
    session = SimpleNamespace(
        _setupstate=SimpleNamespace(teardown_exact=teardown_exact), config=SimpleNamespace(workeroutput={})
    )
    try:
        plugins.hook.pytest_sessionfinish(session=session, exitstatus=2)
    except RuntimeError as error:
        assert error is failure  # noqa: PT017
    assert order == ["torn down", "closed", "sent ['schedproof']"]


def test_events_of_a_worker_reach_the_outputs_and_the_dispatcher_of_the_controller(tmp_path: Any) -> None:
    worker, controller = object.__new__(Worker), object.__new__(Controller)
    item: Any = SimpleNamespace(user_properties=[])
    worker.pytest_runtest_setup(item)
    verdict = verdict_of("core/binds", "required", "failed", "it did not", {"measured": {"share": math.inf}})
    judged, ended = Judged(candidate="stock", verdict=verdict, seconds=2.0), Ended(binds_nothing=True, ignored=False)
    for event in (judged, ended, Finished(RunResult(7, "embedded", tmp_path))):
        worker.send(event)
    seen: list[object] = []
    settings = SimpleNamespace(fail_fast=True)
    controller._tests = {"test_it": Task(0, "stock", first=True, last=False, seconds=1.0)}
    controller._engine = SimpleNamespace(settings=settings, emit=seen.append)  # type: ignore[assignment]
    controller._instances = SimpleNamespace(add=lambda _: None)  # type: ignore[assignment]
    controller._dispatcher = SimpleNamespace(  # type: ignore[assignment]
        stop=lambda: seen.append("stop"), ended=lambda _, **shown: seen.append(Ended(**shown))
    )
    for when in ("call", "teardown"):
        report: Any = SimpleNamespace(nodeid="test_it", when=when, user_properties=item.user_properties)
        controller.pytest_runtest_logreport(report)
    assert seen == ["stop", judged, ended]
