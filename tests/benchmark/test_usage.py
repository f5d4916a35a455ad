"""CPU and memory of real processes that are controlled by pipes; nothing is timed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from schedproof.benchmark.measure.usage import Load, MachineSample, Meter, Usage, noise
from schedproof.foundation.processes.process_table import family
from schedproof.foundation.processes.sandbox import Command, Sandbox

from ..foundation.running import AWAIT, SAY, running

MEGABYTE = 1 << 20

BURN = "import time\nwhile time.process_time() < {seconds}: pass\n"
"""Use at least this many CPU seconds, including the start of the process."""


def continue_worker(process: subprocess.Popen[str]) -> None:
    """Let the process continue, and wait for its next line."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("on\n")
    process.stdin.flush()
    process.stdout.readline()


GOES_ON = "import sys; sys.stdin.readline()\n"


def test_cpu_time_is_counted_from_the_start_of_the_meter():
    code = BURN.format(seconds=0.3) + SAY + GOES_ON + BURN.format(seconds=0.5) + SAY + AWAIT
    with running(code) as process:
        meter = Meter({"it": process.pid})
        continue_worker(process)
        # CPU time before the meter is not counted; a tick may be lost at either end.
        assert 0.17 <= meter.read()["it"].cpu <= 0.35


def test_start_up_counts_alike_whether_or_not_it_was_waited_for():
    """Half of the start-up comes before the first meter, and nothing of it before the second."""
    start_up = BURN.format(seconds=0.2) + SAY + GOES_ON
    with running(start_up + BURN.format(seconds=0.4) + SAY + AWAIT) as ready:
        meters = {started: Meter({"it": ready.pid}, since_start=started) for started in (False, True)}
        continue_worker(ready)
        used = {started: meter.read()["it"].cpu for started, meter in meters.items()}
    assert used[True] >= 0.37
    assert used[True] - used[False] >= 0.17


def test_cpu_time_of_a_child_counts_while_it_runs_and_after_it_ended():
    child = BURN.format(seconds=0.2) + SAY + AWAIT
    code = f"""
import subprocess, sys
print("ready", flush=True)
sys.stdin.readline()
child = subprocess.Popen([sys.executable, "-S", "-c", {child!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print("it burned", flush=True)
sys.stdin.readline()
child.communicate()
print("it ended", flush=True)
sys.stdin.read()
"""
    with running(code) as process:
        meter = Meter({"it": process.pid})
        continue_worker(process)
        assert len(family(process.pid)) == 2
        alive = meter.read()["it"]
        assert alive.cpu >= 0.17
        continue_worker(process)
        assert len(family(process.pid)) == 1
        ended = meter.read()["it"]
        assert ended.cpu >= alive.cpu - 0.02
        assert ended.peak < alive.peak


def test_peak_is_the_largest_resident_size_since_the_meter_started():
    grow = f"print('filled', bytearray(b'x') * {64 * MEGABYTE} == b'', flush=True)\n"
    with running(SAY + GOES_ON + grow + GOES_ON + SAY + AWAIT) as process:
        meter = Meter({"it": process.pid})
        continue_worker(process)
        assert meter.read()["it"].peak > 64 * MEGABYTE
        # Freed: a later meter starts from the current resident size.
        assert Meter({"it": process.pid}).read()["it"].peak < 64 * MEGABYTE


def test_ended_process_is_left_out():
    with running(SAY + AWAIT) as process:
        meter = Meter({"it": process.pid, "we": os.getpid()})
    assert family(process.pid) == set()
    assert set(meter.read()) == {"we"}
    assert Meter({"it": process.pid}).read() == {}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with contextlib.closing(Sandbox()) as opened:
        yield opened


def test_cpu_time_of_an_ended_sandbox_process_counts_as_own_load(sandbox: Sandbox, tmp_path):
    before = MachineSample.take()
    burn = Command("burn", (sys.executable, "-S", "-c", BURN.format(seconds=0.3)), tmp_path / "log", tmp_path)
    assert sandbox.spawn(burn).wait(60)
    load = before.until(MachineSample.take())
    assert load.ours >= 0.27
    assert load.busy >= 0.25
    assert load.stolen >= 0
    assert (load.seconds > 0, load.cores) == (True, os.cpu_count())


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (Load(10, 2, busy=15, stolen=0.5, ours=14), ""),
        (Load(10, 2, busy=15, stolen=1, ours=13), ""),
        (
            Load(10, 2, busy=15, stolen=1.4, ours=15),
            "the hypervisor took 7% of the machine's CPU time; 5% are allowed",
        ),
        (
            Load(10, 2, busy=18, stolen=0, ours=13),
            "other processes used 25% of the machine's CPU time; 10% are allowed",
        ),
        (Load(0, 2, busy=0, stolen=0, ours=0), "no time passed between the samples of the machine's load"),
    ],
)
def test_noise_names_the_cause_of_lost_cpu_time(load, reason):
    assert noise(load) == reason


def test_usage_has_cpu_and_peak():
    assert Usage(1.5, MEGABYTE) == Usage(cpu=1.5, peak=MEGABYTE)
