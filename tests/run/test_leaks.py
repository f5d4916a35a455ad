"""What the samples of a soak show: a leak, none, or nothing."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.normalization.effort import Effort
from schedproof.recording.soak import Soak, SoakSample
from schedproof.report.run.conclusion import conclude
from schedproof.report.run.github import _lines
from schedproof.report.run.junit import junit
from schedproof.report.run.outputs import write_files
from schedproof.run.leaks import SoakReport, SoakSamples, soak_report
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of

MIB = 1 << 20
LEVEL = 60 * MIB

Series = Callable[[float, int], float]
"""A measure by seconds and pods."""


def soak(
    minutes: float = 8,
    *,
    memory: Series = lambda _, __: LEVEL,
    connections: Series | None = lambda _, __: 9,
    pods_per_second: float = 10,
    every: float = 2,
) -> Soak:
    found = Soak(minutes * 60)
    for number in range(int(minutes * 60 / every) + 1):
        seconds = number * every
        pods = int(seconds * pods_per_second)
        open_ = None if connections is None else int(connections(seconds, pods))
        found.samples.append(
            SoakSample(
                seconds=seconds, worlds=number, pods=pods, process="controller", memory=int(memory(seconds, pods)),
                descriptors=None if open_ is None else open_ + 12, threads=11, connections=open_,
            )
        )  # fmt: skip
        found.worlds, found.pods = number, pods
    return found


def leaking(report: SoakReport) -> list[str]:
    assert not report.undecided
    return [growth.measure for growth in report.leaks]


def test_what_stays_as_it_is_does_not_leak() -> None:
    report = soak_report(soak())
    assert (leaking(report), report.unproved, len(report.growths)) == ([], "", 4)
    assert {growth.per_hour.median for growth in report.growths} == {0}


def test_a_connection_of_each_pod_is_a_leak_of_connections_and_descriptors() -> None:
    report = soak_report(soak(connections=lambda _, pods: 9 + pods))
    assert leaking(report) == ["descriptors", "connections"]
    growth = report.growths[-1]
    assert (growth.measure, growth.per_1000_pods.median) == ("connections", 1000)
    assert growth.per_hour.median == pytest.approx(36000)


def test_some_kilobytes_of_each_pod_are_a_leak_below_the_wobble_of_a_collector() -> None:
    source = random.Random(1)
    assert leaking(soak_report(soak(memory=lambda _, pods: LEVEL + 16000 * pods + source.random() * 12 * MIB))) == [
        "memory"
    ]


@pytest.mark.parametrize(
    "memory",
    [
        lambda seconds, _: LEVEL + 20 * MIB * (seconds % 30) / 30,
        lambda seconds, _: LEVEL + 30 * MIB * (1 - math.exp(-seconds / 40)),
        lambda seconds, _: LEVEL + (20 * MIB if seconds > 250 else 0),
        lambda _, pods: LEVEL + 6200 * pods,
        lambda _, pods: LEVEL - 6000 * pods,
    ],
    ids=["sawtooth", "cache-that-fills", "one-step", "events-of-kube-scheduler", "shrinks"],
)
def test_what_wobbles_fills_up_or_hardly_grows_is_no_leak(memory: Series) -> None:
    assert leaking(soak_report(soak(memory=memory))) == []


def test_a_longer_soak_finds_smaller_leaks_and_large_ones_as_well() -> None:
    def report(minutes: float, kept: int) -> SoakReport:
        return soak_report(soak(minutes, memory=lambda _, pods: LEVEL + kept * pods, every=20))

    assert leaking(report(30, 3000)) == []
    assert leaking(report(36, 3000)) == ["memory"]
    assert leaking(report(36, 1000)) == []
    assert leaking(report(600, 3000)) == ["memory"]


def test_a_few_connections_more_are_no_leak() -> None:
    assert leaking(soak_report(soak(connections=lambda seconds, _: 9 + seconds // 60))) == []


@pytest.mark.parametrize("minutes", [0.5, 2, 5])
def test_a_short_soak_allows_no_statement(minutes: float) -> None:
    report = soak_report(soak(minutes, connections=lambda _, pods: 9 + pods))
    assert report.undecided.startswith("too short: 210 s after the warm-up are needed, ")
    assert (report.growths, report.leaks) == ([], [])


def test_the_shortest_soak_that_is_promised_allows_one() -> None:
    assert leaking(soak_report(soak(6, connections=lambda _, pods: 9 + pods))) == ["descriptors", "connections"]


def test_few_pods_few_samples_or_invisible_processes_allow_none() -> None:
    assert (
        soak_report(soak(pods_per_second=1)).undecided
        == "too few pods: 500 after the warm-up are needed, 320 were created"
    )
    assert soak_report(soak(every=60)).undecided.startswith("samples of fewer than 12 of 16 periods")
    hidden = Soak(600)
    assert soak_report(hidden).undecided == "nothing was sampled"
    hidden.worlds = 70
    assert soak_report(hidden).undecided == "the candidate's processes are not visible on this machine"


def test_what_may_not_be_listed_is_left_out() -> None:
    report = soak_report(soak(connections=None))
    assert [growth.measure for growth in report.growths] == ["memory", "threads"]


# -- what it means for a run


def run(found: Soak, outcome: str = "passed", folder: Path = Path("results")) -> RunResult:
    candidate = Candidate(name="tested", scheduler_name="tested", attached=AttachedSpec(), path=Path("candidate.yaml"))
    result = RunResult(seed=7, cluster="embedded", folder=folder, effort=Effort(soak=found.seconds))
    verdict = verdict_of("core/random-worlds", "required", outcome, f"it {outcome}")  # type: ignore[arg-type]
    result.candidates["tested"] = CandidateResult(candidate, ("core/random-worlds",), [verdict], soak=found)
    return result


LEAKING = soak(connections=lambda _, pods: 9 + pods)


def test_a_leak_fails_a_run_and_no_statement_leaves_it_unproved() -> None:
    assert run(soak()).exit_code == 0
    assert run(LEAKING).exit_code == 1
    assert run(soak(1)).exit_code == 3
    assert dataclasses.replace(run(soak(1)), allow_skipped=True).exit_code == 0
    assert dataclasses.replace(run(LEAKING), allow_skipped=True).exit_code == 1
    assert run(soak(1), "failed").exit_code == 1
    ended = soak()
    ended.cut_short = "the machine is small"
    assert run(ended).exit_code == 3


def test_the_conclusion_says_it() -> None:
    assert "no leak in 8.0 min" in str(conclude(run(soak())))
    assert "too short" in str(conclude(run(soak(1))))
    text = str(conclude(run(LEAKING)))
    assert text.startswith("FAILED")
    assert "first: controller leaks descriptors: +1,000 (+1,000 to +1,000) for each 1000 pods" in text
    assert "2 leaks in 8.0 min" in next(iter(_lines(run(LEAKING))))


def test_the_files_have_the_samples_the_slopes_and_the_command(tmp_path: Path) -> None:
    result = run(LEAKING, folder=tmp_path)
    write_files(result)
    samples = SoakSamples.model_validate(json.loads((tmp_path / "soak.json").read_text()))
    assert (samples.candidate, samples.samples) == ("tested", LEAKING.samples)
    (candidate,) = json.loads((tmp_path / "report.json").read_text())["candidates"]
    assert [growth["measure"] for growth in candidate["soak"]["growths"] if growth["leaks"]] == [
        "descriptors", "connections",
    ]  # fmt: skip
    page = (tmp_path / "report.html").read_text()
    assert "schedproof soak candidate.yaml --minutes 8 --seed 7" in page
    assert page.count("LEAK</td>") == 2
    case = junit(result).find(".//testcase[@name='leaks']/failure")
    assert isinstance(case, ET.Element)
    assert case.text == "schedproof soak candidate.yaml --minutes 8 --seed 7"


def test_what_is_judged_over_a_soak_is_repeated_by_a_soak_and_a_world_by_itself() -> None:
    result = run(soak())
    candidate = result.candidates["tested"].candidate
    assert result.reproduce(candidate, "core/alive") == "schedproof soak candidate.yaml --minutes 8 --seed 7"
    alone = "schedproof run candidate.yaml --clause core/random-worlds --seed 7"
    assert result.reproduce(candidate, "core/random-worlds") == alone


def test_an_interrupted_soak_is_reported_although_nothing_was_judged(tmp_path: Path) -> None:
    result = run(soak(1), folder=tmp_path)
    result.candidates["tested"].verdicts.clear()
    assert not result.is_empty
    write_files(result)
    assert "too short" in (tmp_path / "report.html").read_text()
    assert str(conclude(result, interrupted=True)).startswith("INTERRUPTED: ")
