"""The benchmarks of the pytest plugin: `pytest suites/benchmark --sched-candidate FILE`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.benchmark.replay import Replay
from schedproof.benchmark.results import BenchDocument
from schedproof.foundation.console import open_console
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.foundation.progress import ConsoleProgress
from schedproof.run.options import BENCH_OPTIONS, OPTIONS, add_options

if TYPE_CHECKING:  # as in state
    from schedproof.benchmark.bench import Bench

_SUITE = "test_speed.py"


def add_bench_options(group: pytest.OptionGroup) -> None:
    """Add the options that only benchmarks have."""
    known = {option.name for option in OPTIONS}
    only = [option.name for option in BENCH_OPTIONS if option.name not in known]
    add_options(group.addoption, prefix="sched-", only=only, options=BENCH_OPTIONS)


def is_unnamed_benchmark(folder: Path, config: pytest.Config) -> bool:
    """Whether a folder has the benchmarks and is not named: they take minutes, so other suites run without them."""
    if folder.name != "benchmark" or not (folder / _SUITE).is_file():
        return False
    here = config.invocation_params.dir
    named = ((here / argument.partition("::")[0]).resolve() for argument in config.args)
    return not config.getoption("benchmark_only", default=False) and not any(
        path == folder.resolve() or folder.resolve() in path.parents for path in named
    )


class BenchPlugin:
    """Runs the benchmark once, on first use, in the modes of all selected tests."""

    def __init__(self, config: pytest.Config, candidates: list[str], folder: Path, seed: int) -> None:
        self._config = config
        self._candidates = candidates
        self._folder = folder
        self._seed = seed
        self._modes: list[str] = []
        self._bench: Bench | None = None
        self._document: BenchDocument | None = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "replay" in metafunc.fixturenames:
            from schedproof.benchmark.bench import contestants
            from schedproof.run.candidates import find_candidates

            try:
                baseline, *others = find_candidates([self._option("baseline"), *self._candidates])
                names = list(contestants(baseline, others))
            except SchedproofError as error:
                raise pytest.UsageError(str(error)) from error
            workloads = self._option("workload") or ["basic"]
            pairs = [(workload, name) for workload in workloads for name in names]
            ids = [f"{Path(workload).stem}-{name}" for workload, name in pairs]
            metafunc.parametrize("replay", pairs, indirect=True, ids=ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        markers = (item.get_closest_marker("bench") for item in session.items)
        self._modes = list(dict.fromkeys(str(marker.args[0]) for marker in markers if marker is not None))

    @pytest.fixture
    def replay(self, request: pytest.FixtureRequest) -> Replay:
        """The rounds of the test's mode, workload and candidate."""
        workload, candidate = request.param
        mode = request.node.get_closest_marker("bench").args[0]
        try:
            bench = self._measured()
        except SchedproofError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
        names = {name for name, family in bench.plan.families.items() if family == workload}
        rounds = (round_ for round_ in bench.rounds if round_.mode == mode and round_.candidate == candidate)
        found = Replay([round_ for round_ in rounds if round_.workload in names])
        if not found.rounds:
            errors = (
                broken.said for broken in bench.broken if broken.candidate == candidate and broken.workload in names
            )
            pytest.fail(next(errors, f"{candidate} bound no pod in an earlier round"), pytrace=False)
        return found

    def _measured(self) -> Bench:
        if self._bench is None:
            from schedproof.benchmark.running import run_bench
            from schedproof.report.bench.files import write_outputs

            options = {option.name.replace("-", "_"): self._option(option.name) for option in BENCH_OPTIONS}
            nodes = self._option("nodes")
            options |= {
                "candidates": self._candidates, "mode": self._modes, "nodes": [] if nodes is None else [nodes],
                "seed": self._seed,
            }  # fmt: skip
            command = shlex.join(["pytest", *self._config.invocation_params.args, f"--sched-seed={self._seed}"])
            self._bench, self._document = run_bench(options, self._folder, command, ConsoleProgress(), write_outputs)
        assert self._document is not None
        if self._document.run.error:
            raise UsageError(self._document.run.error)
        return self._bench

    def _option(self, name: str) -> Any:
        return self._config.getoption(f"--sched-{name}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run if the benchmark did not pass."""
        if session.exitstatus == pytest.ExitCode.OK and self._document is not None and self._document.run.exit_code:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._document is not None:
            from schedproof.report.bench.terminal import print_bench

            terminalreporter.section("schedproof")
            print_bench(self._document, open_console(), self._folder)
