"""A new candidate of `schedproof init` keeps what it claims."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from schedproof.cli.init import KINDS

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]


ROOT = Path(__file__).parents[2]
SCORING = ("--clause=core/binds", "--profile=network-aware", "--profile=normalization")
TRIED = {"extender": (*SCORING, "--profile=extender"), "controller": (), "plugin": (*SCORING, "--profile=plugin")}
"""Kinds of candidates, and what is tried of them. Two of them only score: the rest of core is kube-scheduler's own."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_candidate_keeps_what_it_claims(shell: Shell, kind: str) -> None:
    assert shell.schedproof("init", kind, "mine").code == 0
    ended = shell.schedproof("run", "mine", *TRIED[kind], "--report", "report")
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    # Not claimed are the clauses of the other kinds; and none that is merely recommended has failed.
    assert {clause["outcome"] for clause in judged["clauses"]} <= {"passed", "not-claimed"}, ended.printed


def test_plain_pytest_runs_the_suites_on_a_new_candidate(shell: Shell) -> None:
    assert shell.schedproof("init", "extender", ".").code == 0
    ended = shell.start("pytest", "--sched-clause", "core/binds", "--sched-report", "report").ends()
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    outcomes = {clause["id"]: clause["outcome"] for clause in judged["clauses"]}
    assert outcomes["core/binds"] == "passed"
    assert "failed" not in outcomes.values()


def test_a_release_is_judged_and_published_by_the_action(shell: Shell) -> None:
    """What the step of action.yml does for a new scheduler, beside the service's own actions.

    A busy machine may leave a clause unproved.
    """
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "judge"]
    assert shell.schedproof("init", "extender", "mine").code == 0
    file = shell.work / "mine" / "candidate.yaml"
    document = yaml.safe_load(file.read_text())
    document["metadata"]["implementation"] = {
        "organization": "example", "project": "quiet", "url": "https://example.com/quiet",
    }  # fmt: skip
    file.write_text(yaml.safe_dump(document))
    given = {"candidate": "mine", "profiles": "extender", "kubernetes": "", "release": "v1.0.0", "folder": "out"}
    outputs, summary = shell.work / "outputs", shell.work / "summary.md"
    inputs = {name: given[of.split(".")[1].split()[0]] for name, of in step["env"].items()}
    service = {
        "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary),
    }  # fmt: skip
    path = {"PATH": f"{Path(sys.executable).parent}:{shell.env['PATH']}"}
    env = {**shell.env, **path, **service, **inputs}
    done = subprocess.run(
        ["bash", "-c", step["run"]], env=env, cwd=shell.work, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 3), done.stdout + done.stderr
    assert "VERIFIED" in done.stdout
    said = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    assert set(said) == set(action["outputs"])
    report = yaml.safe_load((shell.work / said["conformance"]).read_text())
    assert report["implementation"]["version"] == "v1.0.0"
    assert (shell.work / said["badge"]).read_text().startswith("<svg")
    assert "schedproof" in summary.read_text()
