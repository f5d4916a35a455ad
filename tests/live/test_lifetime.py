"""However a run ends, only its evidence is left."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import random
import secrets
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.waiting import NotYet, until, wait_for

if TYPE_CHECKING:
    from conftest import Ended, Running, Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

CASE_BEGINS = Deadline("case begins", 900, "a cluster starts in 4 s on an idle machine")
PROCESSES = Deadline("processes", 60, "the sandbox is the first thing that a run starts, and ends with its process 1")

STARTING, ATTACHING, ATTACHED = "starting an embedded", "attaching", "attaching least-traffic-extender: done"
# Lasts 8 s from ATTACHED on, with a second Prometheus, and with packets on their way.
LONG_RUN = (
    "schedproof", "run", "least-traffic-extender", "--report", "report",
    "--clause", "core/binds", "--clause", "network/least-traffic", "--clause", "network/real-traffic",
)  # fmt: skip
HISTORY = Path("report", "candidates", "least-traffic-extender", "history.jsonl")
SUITE_THAT_CRASHES = """
import os, pytest

@pytest.mark.clause("core/binds")
def test_crash(case):
    case.pod(cpu="100m")
    {crash}
"""


def test_a_run_leaves_only_its_evidence(shell: Shell) -> None:
    command = shell.start("schedproof", "run", "stock", "--clause", "core/binds")
    command.says("attaching stock: done")
    shell.watch()
    ended = command.ends()
    assert ended.code == 0, ended.printed
    shell.expect_nothing_left()
    # Without --report: below the folder that it was started in, and the output names it.
    (report,) = (shell.work / "schedproof-results").iterdir()
    assert f"evidence: {report}" in ended.out
    assert {"report.json", "junit.xml", "cluster", "candidates"} <= {path.name for path in report.iterdir()}


@dataclasses.dataclass(frozen=True)
class Blow:
    """A signal to the harness, some seconds after it has printed a text."""

    seed: int
    number: signal.Signals
    after: str
    seconds: float
    jobs: int

    @classmethod
    def drawn(cls, seed: int, number: signal.Signals) -> Blow:
        """Drawn over the durations on an idle machine: 4 s of cluster, 0.5 s of attaching and 8 s of clauses."""
        after, longest = ((STARTING, 1.0), (STARTING, 4.0), (ATTACHING, 0.6), (ATTACHED, 5.0))[seed % 4]
        return cls(seed, number, after, random.Random(seed).uniform(0, longest), jobs=1 + seed // 4 % 2)

    def strike(self, shell: Shell) -> Ended:
        command = shell.start(*LONG_RUN, "--jobs", str(self.jobs))
        try:
            command.says(self.after)
            until(time.monotonic() + self.seconds)
            shell.watch()
            command.process.send_signal(self.number)
            ended = command.ends()
            shell.expect_nothing_left()
        except Exception as error:
            error.add_note(f"the harness was given {self}")
            raise
        return ended


@pytest.fixture(scope="module")
def struck(shells: Any) -> list[tuple[Blow, Ended, Shell]]:
    """Runs that were ended by signals at random moments, each checked for what it left."""
    first = secrets.randbelow(1_000_000)
    numbers = [signal.SIGKILL] * 20 + [signal.SIGINT] * 3 + [signal.SIGTERM] * 3 + [signal.SIGHUP] * 3
    blows = [Blow.drawn(first + number, signal) for number, signal in enumerate(numbers)]
    homes = [shells() for _ in blows]
    # Several at a time: a busy machine is where the order of things changes.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        ended = list(pool.map(Blow.strike, blows, homes))
    for blow, end in zip(blows, ended, strict=True):
        print(f"{blow}: exit code {end.code}")  # noqa: T201 - pytest shows it where a test fails
    return list(zip(blows, ended, homes, strict=True))


def test_sigkill_at_any_moment_leaves_only_evidence(struck: list[tuple[Blow, Ended, Shell]]) -> None:
    histories = 0
    for blow, ended, shell in struck:
        if blow.number != signal.SIGKILL:
            continue
        assert ended.code == -signal.SIGKILL, f"{blow}\n{ended.printed}"
        recorded = list((shell.work / "report").glob("candidates/**/history.jsonl"))
        assert recorded or blow.after != ATTACHED, blow
        if not recorded:
            continue
        # What was tried holds, and the rest is unproved: a candidate has not failed because we were killed.
        verdicts = shell.schedproof("judge", "report")
        assert verdicts.code in (0, 2, 3), f"{blow}\n{verdicts.printed}"
        assert verdicts.code != 2 or "\n  fix: " in verdicts.printed, f"{blow}\n{verdicts.printed}"
        assert "Traceback" not in verdicts.err, f"{blow}\n{verdicts.printed}"
        histories += 1
    assert histories


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_closes_in_order_with_exit_code_130(
    struck: list[tuple[Blow, Ended, Shell]], number: signal.Signals
) -> None:
    for blow, ended, _ in struck:
        if blow.number == number:
            assert ended.code == 130, f"{blow}\n{ended.printed}"
            assert "schedproof: interrupted" in ended.err, f"{blow}\n{ended.printed}"
            assert blow.after == STARTING or "\nINTERRUPTED: " in ended.out, f"{blow}\n{ended.printed}"
            assert "Traceback" not in ended.printed, f"{blow}\n{ended.printed}"
            assert "no answer from the apiserver" not in ended.printed, f"{blow}\n{ended.printed}"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_closed_pipe_does_not_keep_a_run_from_its_end(shell: Shell, jobs: int) -> None:
    run = f"{shell.python} -m schedproof run stock --clause core/binds --jobs {jobs} --report report"
    piped = ["bash", "-c", f"{run} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(piped, cwd=shell.work, env=shell.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert {path.name for path in (shell.work / "report").iterdir()} >= {"report.json", "report.html", "junit.xml"}
    assert list(shell.work.iterdir()) == [shell.work / "report"]


def test_a_second_interrupt_leaves_nothing_either(shell: Shell) -> None:
    command = shell.start(*LONG_RUN)
    command.says(ATTACHED)
    shell.watch()
    command.interrupt()
    command.interrupt()
    assert command.ends().code != 0
    shell.expect_nothing_left()
    assert (shell.work / HISTORY).exists()


def test_interrupted_pytest_leaves_nothing(shells: Any) -> None:
    """Under pytest SIGTERM keeps its default action: it kills with no output."""
    suites = Path(__file__).parents[2] / "suites"
    codes = {signal.SIGINT: pytest.ExitCode.INTERRUPTED, signal.SIGTERM: -signal.SIGTERM}
    started = []
    for number in codes:
        shell = shells()
        options = ("--sched-candidate=least-traffic-extender", "--sched-report=report")
        started.append((number, shell, shell.start("pytest", str(suites), *options)))
    for number, shell, command in started:
        wait_for(_case_begun(shell, command), CASE_BEGINS, what="the first case to begin", watching=(command,))
        shell.watch()
        command.process.send_signal(number)
    for number, shell, command in started:
        ended = command.ends()
        assert ended.code == codes[number], ended.printed
        shell.expect_nothing_left()
        assert (shell.work / HISTORY).exists()


def _case_begun(shell: Shell, command: Running) -> Any:
    def probe() -> None:
        history = shell.work / HISTORY
        if not history.exists() or '"kind":"case"' not in history.read_text():
            raise NotYet(command.so_far.printed)

    return probe


def test_a_suite_that_crashes_leaves_nothing(shells: Any) -> None:
    codes = {"raise RuntimeError('planted')": pytest.ExitCode.TESTS_FAILED, "os.abort()": -signal.SIGABRT}
    started = []
    for crash in codes:
        shell = shells()
        (shell.work / "test_crash.py").write_text(SUITE_THAT_CRASHES.format(crash=crash))
        options = ("--sched-candidate=least-traffic-extender", "--sched-report=report")
        started.append((crash, shell, shell.start("pytest", "test_crash.py", *options)))
    for crash, shell, command in started:
        ended = command.ends()
        assert ended.code == codes[crash], ended.printed
        shell.expect_nothing_left()
        assert (shell.work / HISTORY).exists()


def test_clean_removes_leftovers_of_a_power_cut_and_nothing_in_use(shell: Shell) -> None:
    # One cluster each: a second one of theirs would come in between.
    cut = shell.start(*LONG_RUN, "--jobs", "1")
    cut.says(ATTACHING)
    shell.watch()
    _power_cut(shell, cut)
    (leftover,) = shell.scratch.iterdir()
    few = ("--clause", "core/binds", "--clause", "core/restart")
    in_use = shell.start("schedproof", "run", "stock", *few, "--report", "second", "--jobs", "1")
    in_use.says("attaching stock")
    (living,) = set(shell.scratch.iterdir()) - {leftover}
    foreign, target = shell.scratch / "schedproof-foreign", shell.scratch / "target"
    for folder in (foreign, target):
        folder.mkdir()
    (target / ".owner").touch()
    link = shell.scratch / "schedproof-link"
    link.symlink_to(target)

    cleaned = shell.schedproof("clean")
    assert cleaned.code == 0, cleaned.printed
    assert cleaned.out.splitlines()[0] == f"removed {leftover}", cleaned.printed
    assert set(shell.scratch.iterdir()) == {living, foreign, target, link}
    ended = in_use.ends()
    assert ended.code == 0, ended.printed

    for path in (link, target / ".owner"):
        path.unlink()
    for folder in (foreign, target):
        folder.rmdir()
    shell.expect_nothing_left()
    assert shell.schedproof("clean").out == "nothing to remove\n"


def _power_cut(shell: Shell, command: Running) -> None:
    """Kill the harness and PID 1 of its sandbox together, so that neither can clean up."""

    def sandbox() -> list[int]:
        found = [int(e.name) for e in shell.processes() if b"sandbox_init.py" in (e / "cmdline").read_bytes()]
        if len(found) < 2:
            raise NotYet(f"processes {found}")
        return found

    found = wait_for(sandbox, PROCESSES, what="both halves of the sandbox", watching=(command,))
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (*found, command.process.pid):
            os.kill(pid, number)
    command.ends()

    def gone() -> None:
        if left := [line for line in shell.left() if not line.startswith("file ")]:
            raise NotYet("\n".join(left))

    wait_for(gone, PROCESSES, what="the processes to end")
