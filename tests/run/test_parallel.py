"""The pytest plugins for several clusters, without a cluster."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import _pytest.hookspec
import _pytest.runner
import pluggy
import pytest

from schedproof.pytest_plugin.parallel import Worker
from schedproof.run.result import RunResult


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
