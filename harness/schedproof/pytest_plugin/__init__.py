"""The pytest plugin: `pytest suites/ --sched-candidate FILE`. Hooks and fixtures only.

A test of a suite bears `@pytest.mark.clause("profile/name")` and takes the fixture `case`. It drives the stimulus
and asserts nothing: when it returns, the record is judged, and the verdict is the test's outcome. What is tried is in
`selection`, how it is tried in `trying`, and what runs in `schedproof.run`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from schedproof.foundation.errors import SchedproofError
from schedproof.foundation.streams import steady_streams
from schedproof.pytest_plugin.selection import candidate_of, clause_of, in_order, name_own
from schedproof.run.handed import WORKER_INPUT, Handed
from schedproof.run.options import CANDIDATE_HELP, add_options

if TYPE_CHECKING:  # every run of pytest loads this module, also where no scheduler is tried
    from schedproof.candidate.descriptor.descriptor import Candidate
    from schedproof.run.launch import KeptCluster
    from schedproof.run.request import RunRequest
    from schedproof.run.result import RunResult
    from schedproof.run.session import Session
    from schedproof.stimulus.case import Case

__all__ = ["case", "replay"]

_session_key = pytest.StashKey["Session"]()
_request_key = pytest.StashKey["RunRequest"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("schedproof", "conformance of Kubernetes schedulers")
    text = f"{CANDIDATE_HELP}; may be repeated"
    group.addoption("--sched-candidate", action="append", default=[], metavar="FILE", help=text)
    add_options(group.addoption, prefix="sched-")
    text = "-1 (quiet), 0 or 1 (verbose); default: as -q and -v say"
    group.addoption("--sched-verbosity", type=int, metavar="N", help=text)
    from schedproof.pytest_plugin.bench import add_bench_options

    add_bench_options(group)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(id): the guarantee that this test tries; see `schedproof clauses`")
    config.addinivalue_line("markers", "bench(mode): a benchmark, and how pods are sent in it")
    asked = [_from_ini(config, text) for text in config.getoption("--sched-candidate")]
    handed, sent = _handed(config), getattr(config, "workerinput", {}).get(WORKER_INPUT)
    if not (asked or handed or sent):
        return
    from schedproof.pytest_plugin.parallel import sent_request
    from schedproof.run.request import RunRequest

    def value_of(name: str) -> Any:
        return config.getoption(f"--sched-{name}")

    try:
        if sent is not None:
            request = sent_request(sent)
        elif handed is not None:
            request = handed.request
        else:
            request = RunRequest.from_options(value_of, asked, config.invocation_params.dir)
        _start(config, request, handed.kept if handed is not None else None)
    except SchedproofError as error:
        raise pytest.UsageError(str(error)) from error
    if asked:
        from schedproof.pytest_plugin.bench import BenchPlugin

        plugin = BenchPlugin(config, asked, request.settings.report, request.settings.seed)
        config.pluginmanager.register(plugin, "schedproof.bench")


def _start(config: pytest.Config, request: RunRequest, kept: KeptCluster | None) -> None:
    from schedproof.foundation.progress import ConsoleProgress, SilentProgress
    from schedproof.pytest_plugin.parallel import Controller, Worker, is_controller
    from schedproof.run.session import Session, require_space

    settings, plugins = request.settings, config.pluginmanager
    if is_controller(config) and not config.option.collectonly:
        request.check_several_clusters()
        require_space(settings.report)
    progress = SilentProgress() if _verbosity(config) < 0 else ConsoleProgress(number=settings.cluster_number)
    session = Session(settings, progress, kept)
    config.stash[_session_key], config.stash[_request_key] = session, request
    if is_controller(config):
        plugins.register(Controller(session, request, config.getoption("numprocesses")), "schedproof.controller")
    elif settings.cluster_number:
        steady_streams()
        plugins.register(Worker(session), "schedproof.worker")


def _from_ini(config: pytest.Config, text: str) -> str:
    """A path that is meant from pytest's ini file, where it is written, and not from wherever pytest was called."""
    if config.inipath is not None and not Path(text).exists():
        beside = config.inipath.parent / text
        return str(beside) if beside.exists() else text
    return text


def session_of(config: pytest.Config) -> Session | None:
    """The session of this pytest run; None where no candidate was given."""
    return config.stash.get(_session_key, None)


def result_of(config: pytest.Config) -> RunResult | None:
    """What this pytest run has found so far; None where no candidate was given."""
    session = session_of(config)
    return session.result if session is not None else None


def _request_of(config: pytest.Config) -> RunRequest | None:
    return config.stash.get(_request_key, None)


def pytest_report_header(config: pytest.Config) -> list[str]:
    if (session := session_of(config)) is None:
        return []
    settings = session.settings
    return [f"schedproof: cluster {settings.cluster}, seed {settings.seed}, evidence in {settings.report}"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    from schedproof.pytest_plugin.bench import is_unasked

    return True if is_unasked(collection_path, config) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sched_candidate" in metafunc.fixturenames:
        request = _request_of(metafunc.config)
        candidates = request.candidates if request is not None else ()
        metafunc.parametrize("sched_candidate", candidates, ids=[candidate.name for candidate in candidates])


def pytest_itemcollected(item: pytest.Item) -> None:
    if session_of(item.config) is not None:
        name_own(item)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    session, request, ours = session_of(config), _request_of(config), [item for item in items if clause_of(item)]
    if session is None or request is None or not ours:
        return
    handed = _handed(config)
    only = handed.kept.only if handed is not None and handed.kept is not None else frozenset()
    kept = in_order(ours, request, only)
    for candidate in request.candidates:
        session.select(candidate, [clause_of(item) for item in kept if candidate_of(item) is candidate])
    config.hook.pytest_deselected(items=[item for item in ours if item not in kept])
    items[:] = [item for item in items if not clause_of(item)] + kept


@pytest.fixture
def case(request: pytest.FixtureRequest, sched_candidate: Candidate) -> Iterator[Case]:
    """The stimulus of the test's clause against the candidate."""
    session = session_of(request.config)
    if session is None:
        pytest.skip("no --sched-candidate was given")
    from schedproof.pytest_plugin.trying import cases

    yield from cases(session, request.node, sched_candidate)


@pytest.fixture
def replay() -> NoReturn:
    """Of a benchmark; `BenchPlugin` has the real one."""
    pytest.skip("no --sched-candidate was given")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    session = session_of(pyfuncitem.config)
    if session is None or not clause_of(pyfuncitem):
        return (yield)
    from schedproof.pytest_plugin.trying import tried

    return (yield from tried(session, pyfuncitem))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Set the exit code: 0 means that all claimed clauses were tried and passed, not only that no test failed."""
    result = result_of(session.config)
    if session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return
    if result is not None and result.candidates and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = result.exit_code


def pytest_unconfigure(config: pytest.Config) -> None:
    """Also after Ctrl-C and internal errors: everything ends, and what was judged is written down."""
    if (session := session_of(config)) is not None:
        from schedproof.pytest_plugin.ending import end

        end(session, getattr(config, "_benchmarksession", None))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    session = session_of(config)
    if session is not None and session.result.candidates and not config.option.collectonly:
        from schedproof.pytest_plugin.ending import summarize

        terminalreporter.section("schedproof")
        summarize(session.result, verbosity=_verbosity(config))


def _verbosity(config: pytest.Config) -> int:
    given = config.getoption("--sched-verbosity")
    return int(given if given is not None else config.getoption("verbose", default=0))


def _handed(config: pytest.Config) -> Handed | None:
    """What `schedproof run` has read; None where pytest was started by the user, or by xdist."""
    return next((plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, Handed)), None)
