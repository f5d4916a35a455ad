"""The start of a session: reads the options, and registers the pytest plugins that the run needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.foundation.errors import SchedproofError
from schedproof.foundation.progress import ConsoleProgress, SilentProgress
from schedproof.foundation.streams import steady_streams
from schedproof.pytest_plugin.bench import BenchPlugin
from schedproof.pytest_plugin.parallel import Controller, Worker, is_controller, sent_request
from schedproof.pytest_plugin.state import handed_of, sent_of, verbosity_of
from schedproof.pytest_plugin.trying import Trying
from schedproof.run.engine import Engine
from schedproof.run.folders import require_space
from schedproof.run.handed import Handed
from schedproof.run.request import RunRequest
from schedproof.run.session import Session


def start(config: pytest.Config) -> None:
    """Start the session of a pytest run that tries schedulers.

    Raises:
        pytest.UsageError: a candidate, an option, or their combination is invalid.
    """
    named = [from_ini(config, text) for text in config.getoption("--sched-candidate")]
    handed, sent = handed_of(config), sent_of(config)
    try:
        if handed is not None:
            request = handed.request
        elif sent is not None:
            request = sent_request(sent)
        else:
            request = RunRequest.from_options(
                lambda name: config.getoption(f"--sched-{name}"), named, config.invocation_params.dir
            )
        _start(config, request, handed)
    except SchedproofError as error:
        raise pytest.UsageError(str(error)) from error
    if named:
        plugin = BenchPlugin(config, named, request.settings.report, request.settings.seed)
        config.pluginmanager.register(plugin, "schedproof.bench")


def _start(config: pytest.Config, request: RunRequest, handed: Handed | None) -> None:
    settings, plugins = request.settings, config.pluginmanager
    if is_controller(config) and not config.option.collectonly:
        request.check_several_clusters()
        require_space(settings.report)
    if settings.cluster_number:
        steady_streams()  # first: what reports progress keeps the stream
    progress = SilentProgress() if verbosity_of(config) < 0 else ConsoleProgress(number=settings.cluster_number)
    session = Session(settings, progress, handed.kept if handed is not None else None)
    if settings.cluster_number:
        worker = Worker(session)
        engine = Engine(session, [worker.send])
        plugins.register(worker, "schedproof.worker")
    else:
        from schedproof.pytest_plugin.ending import Ending, UnreportedEnding
        from schedproof.report.run.outputs import outputs

        engine = Engine(session, handed.outputs if handed is not None else outputs())
        plugins.register(Ending(engine) if handed is None else UnreportedEnding(engine), "schedproof.ending")
    if is_controller(config):
        plugins.register(Controller(engine, request, config.getoption("numprocesses")), "schedproof.controller")
    plugins.register(Trying(engine, request), "schedproof.trying")


def from_ini(config: pytest.Config, text: str) -> str:
    """Return a path relative to pytest's ini file, if it exists there and not in the current folder."""
    if config.inipath is not None and not Path(text).exists():
        beside = config.inipath.parent / text
        return str(beside) if beside.exists() else text
    return text
