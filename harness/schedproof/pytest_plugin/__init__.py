"""The pytest plugin: `pytest suites/ --sched-candidate FILE`. Options, and the fixtures of a run without a candidate.

A suite's test has `@pytest.mark.clause("profile/name")` and takes the fixture `case`. It drives the stimulus and
asserts nothing: when it returns, the record is judged, and the verdict is the test's outcome. With a candidate,
`starting` reads options and registers the plugins of the run: `trying` tries clauses with `schedproof.run.engine`,
which has the way of a run, and `ending` reports the result.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from schedproof.pytest_plugin.bench import add_bench_options, is_unnamed_benchmark
from schedproof.pytest_plugin.state import tries_scheduler
from schedproof.run.options import CANDIDATE_HELP, add_options

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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if is_unnamed_benchmark(collection_path, config) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sched_candidate" in metafunc.fixturenames and not tries_scheduler(metafunc.config):
        metafunc.parametrize("sched_candidate", ())


@pytest.fixture
def case(sched_candidate: object) -> NoReturn:  # noqa: ARG001 - without any, pytest skips the test
    """The stimulus of the test's clause for the candidate; `Trying` replaces it."""
    pytest.skip("requires --sched-candidate FILE")


@pytest.fixture
def replay() -> NoReturn:
    """The fixture without a candidate; `BenchPlugin` replaces it."""
    pytest.skip("requires --sched-candidate FILE")
