"""The part of the live tests that the gate runs: some of each, on every kind of cluster; tests marked `slow` run the
rest.

Each command has one cluster, so that a worker of pytest needs no more of the machine than the slot that it holds.
"""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from schedproof.foundation.deadlines import Deadline

from .test_lifetime import Blow
from .test_wrong_input import expect_refused
from .verdicts import others

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
KIND_ENDS = Deadline("three clauses on kind end", 900, "a minute and a half on an idle machine")

CORE = ("core/binds", "core/taint-noschedule", "core/no-head-of-line", "core/watch-versions")
NETWORK = ("network/least-traffic", "network/zero-traffic")
TRIED = {
    "stock": (
        *CORE, "core/prefer-node-affinity", "core/preemption-lower", "core/priority-order", "core/dra",
        "core/volume-node-affinity",
    ),
    "least-traffic-extender": (
        *NETWORK, "network/tie", "normalize/single", "extender/filter-subset", "extender/prioritize-range",
        "extender/required-down",
    ),
    "least-traffic-controller": (
        *CORE, *NETWORK, "core/freshness", "controller/no-spec-patch", "controller/rbac-sufficient",
    ),
    "least-traffic-plugin": (
        *NETWORK, "network/missing-node", "normalize/single", "plugin/args-typed", "plugin/metrics",
        "plugin/second-scheduler",
    ),
}  # fmt: skip
"""By candidate, a quick clause of each family of judges that it claims; what holds in every run comes with it."""

PLANTED = {
    "core": (
        "defects/dies-at-every-request", "described/d6-random-controller/no-uid", "defects/binds-prebound",
        "described/d6-random-controller/ignores-taints", "described/d6-random-controller/panics-without-nodes",
        "defects/takes-suffix", "defects/no-taint-scores", "defects/evicts-equals", "defects/first-claim",
    ),
    "scores": (
        "defects/compares-texts", "defects/asks-per-node", "defects/avoids-not-neutral", "defects/counts-nothing",
        "defects/first-of-equals", "defects/takes-mean-for-missing", "described/d1-network-traffic/divides-by-zero",
    ),
    "kinds": (
        "described/d7-index-extender/wrong-path", "defects/scores-nothing", "defects/float-scores",
        "defects/binds-where-it-likes", "defects/ignorable-and-gone", "defects/answers-plain-http",
        "described/d3-hello-world/accepts-types", "defects/hides-metrics", "defects/never-elects",
        "defects/keeps-wishes", "defects/wide-rbac", "defects/patches-node-name",
    ),
}  # fmt: skip
"""A planted defect of each family of judges, where one is caught within seconds. Of all families fast tests judge
recorded histories (tests/judge/test_recorded.py)."""


@pytest.mark.parametrize("candidate", TRIED)
def test_a_correct_candidate_passes_a_clause_of_each_family(shell: Shell, candidate: str) -> None:
    clauses = (f"--clause={clause}" for clause in TRIED[candidate])
    ended = shell.schedproof("run", candidate, *clauses, "--jobs=1", "--report=report")
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    outcomes = {clause["id"]: clause["outcome"] for clause in judged["clauses"]}
    assert outcomes.items() >= dict.fromkeys((*TRIED[candidate], "core/alive"), "passed").items(), ended.printed


def test_a_run_that_is_killed_leaves_nothing_but_evidence(shell: Shell) -> None:
    blow = Blow.drawn(secrets.randbelow(1_000_000), signal.SIGKILL)
    assert blow.strike(shell).code == -signal.SIGKILL


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("run no-such-candidate", "candidate 'no-such-candidate' not found"),
        ("run stock --clause core/bind", "did you mean core/binds, "),
        ("judge .", "no history in ."),
    ],
)
def test_wrong_input_is_refused(shell: Shell, typed: str, message: str) -> None:
    expect_refused(shell.schedproof(*typed.split()), message)
    assert not list(shell.work.iterdir())


def test_a_new_extender_passes_without_changes(shell: Shell) -> None:
    assert shell.schedproof("init", "extender", "mine").code == 0
    clauses = ("core/binds", "network/flip", "extender/healthz", "normalize/range")
    ended = shell.schedproof("run", "mine", *(f"--clause={clause}" for clause in clauses), "--jobs=1")
    assert ended.code == 0, ended.printed


def test_a_benchmark_measures_rounds_whose_pods_are_all_bound(shell: Shell) -> None:
    """A busy machine may leave the comparison unproved."""
    options = ("--workload=network-aware", "--nodes=5", "--pods=30", "--rounds=5", "--mode=drain", "--report=report")
    ended = shell.schedproof("bench", "least-traffic-extender", *options)
    assert ended.code in (0, 3), ended.printed
    document = json.loads((shell.work / "report" / "bench.json").read_text())
    assert {entry["candidate"] for entry in document["measurements"]} == {"stock", "least-traffic-extender"}
    for measurement in document["measurements"]:
        assert all(round_["bound"] == round_["pods"] == 30 for round_ in measurement["rounds"]), ended.printed


@pytest.mark.parametrize("candidate", ["least-traffic-extender", "least-traffic-plugin"])
def test_scores_are_queried_on_every_surface(shell: Shell, candidate: str) -> None:
    options = ("--clause=normalize/order", "--cases=10", "--report=report")
    ended = shell.schedproof("normalize", candidate, *options)
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    (order,) = [clause for clause in judged["clauses"] if clause["id"] == "normalize/order"]
    surfaces = {scoring["surface"] for scoring in order["evidence"]["scorings"] if scoring["cases"]}
    expected = {"python", "extender"} if candidate.endswith("extender") else {"plugin"}
    assert surfaces == {*expected, "scheduler"}


def test_an_existing_cluster_is_judged_and_left_as_it_was(shell: Shell) -> None:
    up = shell.start("schedproof", "cluster", "up", "--nodes=3")
    up.says("try: ")
    (line,) = [line for line in up.so_far.out.splitlines() if line.strip().startswith("try: ")]
    _, _, *options = line.partition("try: ")[2].split()
    ended = shell.schedproof("run", *options, "--clause=core/binds", "--clause=network/flip", "--report=report")
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    assert not others([clause for clause in judged["clauses"] if clause["id"] == "network/flip"], "passed"), (
        ended.printed
    )
    up.interrupt()
    assert up.ends().code == 130


@pytest.mark.planted
@pytest.mark.parametrize("about", PLANTED)
def test_planted_defects_are_caught(shell: Shell, about: str) -> None:
    tool = [sys.executable, str(ROOT / "tools" / "judge_defects.py"), "--jobs=1"]
    done = subprocess.run([*tool, *PLANTED[about]], env=shell.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.kind
@pytest.mark.usefixtures("docker_left_as_found")
def test_an_extender_is_judged_on_kind(shell: Shell) -> None:
    clauses = ("--clause=core/binds", "--clause=core/fit-cpu", "--clause=network/flip")
    options = ("--cluster=kind", "--report=report", *clauses)
    ended = shell.schedproof("run", "least-traffic-extender", *options, deadline=KIND_ENDS)
    assert ended.code == 0, ended.printed
