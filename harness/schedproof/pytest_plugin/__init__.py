"""The pytest plugin: `pytest suites/ --sched-candidate FILE`. Only hooks and fixtures.

A suite's test has `@pytest.mark.clause("profile/name")` and takes the fixture `case`. It drives the stimulus and
asserts nothing: when it returns, the record is judged, and the verdict is the test's outcome. `starting` reads
options, `selection` chooses the tests, `trying` runs one, and `schedproof.run.engine` has the way of a run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.pytest_plugin.bench import add_bench_options, is_unnamed_benchmark
from schedproof.pytest_plugin.selection import candidate_of, clause_of, in_order, name_own
from schedproof.pytest_plugin.state import engine_of, handed_of, request_of, tries_scheduler, verbosity_of
from schedproof.run.options import CANDIDATE_HELP, add_options

if TYPE_CHECKING:  # every run of pytest loads this module, also where no scheduler is tried
    from schedproof.stimulus.case import Case

__all__ = ["case", "replay"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("schedproof", "conformance of Kubernetes schedulers")
    text = f"{CANDIDATE_HELP}; may be repeated"
    group.addoption("--sched-candidate", action="append", default=[], metavar="FILE", help=text)
    add_options(group.addoption, prefix="sched-")
    text = "-1 (quiet), 0 or 1 (verbose); default: from -q and -v"
    group.addoption("--sched-verbosity", type=int, metavar="N", help=text)
    add_bench_options(group)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(id): the clause that this test tries; see `schedproof clauses`")
    config.addinivalue_line("markers", "bench(mode): a benchmark, and the mode in which it creates pods")
    if tries_scheduler(config):
        from schedproof.pytest_plugin.starting import start

        start(config)


def pytest_report_header(config: pytest.Config) -> list[str]:
    if (engine := engine_of(config)) is None:
        return []
    settings = engine.settings
    return [f"schedproof: cluster {settings.cluster}, seed {settings.seed}, evidence in {settings.report}"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if is_unnamed_benchmark(collection_path, config) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sched_candidate" in metafunc.fixturenames:
        request = request_of(metafunc.config)
        candidates = request.candidates if request is not None else ()
        metafunc.parametrize("sched_candidate", candidates, ids=[candidate.name for candidate in candidates])


def pytest_itemcollected(item: pytest.Item) -> None:
    if engine_of(item.config) is not None:
        name_own(item)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    engine, request, ours = engine_of(config), request_of(config), [item for item in items if clause_of(item)]
    if engine is None or request is None or not ours:
        return
    handed = handed_of(config)
    only = handed.kept.only if handed is not None and handed.kept is not None else frozenset()
    kept = in_order(ours, request, only)
    config.hook.pytest_deselected(items=[item for item in ours if item not in kept])
    items[:] = [item for item in items if not clause_of(item)] + kept
    engine.plan(
        (candidate, [clause_of(item) for item in kept if candidate_of(item) is candidate])
        for candidate in request.candidates
    )


@pytest.fixture
def case(request: pytest.FixtureRequest, sched_candidate: Candidate) -> Iterator[Case]:
    """The stimulus of the test's clause for the candidate."""
    engine = engine_of(request.config)
    if engine is None:
        pytest.skip("requires --sched-candidate FILE")
    from schedproof.pytest_plugin.trying import cases

    yield from cases(engine, request.node, sched_candidate)


@pytest.fixture
def replay() -> NoReturn:
    """The fixture without a candidate; `BenchPlugin` replaces it."""
    pytest.skip("requires --sched-candidate FILE")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    engine = engine_of(pyfuncitem.config)
    if engine is None or not clause_of(pyfuncitem):
        return (yield)
    from schedproof.pytest_plugin.trying import tried

    return (yield from tried(engine, pyfuncitem))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Set the exit code: 0 means that all claimed clauses were tried and passed, not only that no test failed."""
    engine = engine_of(session.config)
    if session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return
    if engine is not None and engine.result.candidates and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = engine.result.exit_code


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    engine = engine_of(config)
    if engine is not None and engine.result.candidates and not config.option.collectonly:
        from schedproof.pytest_plugin.ending import summarize

        terminalreporter.section("schedproof")
        summarize(engine.result, verbosity=verbosity_of(config))
