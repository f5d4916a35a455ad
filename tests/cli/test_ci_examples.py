"""The CI examples in docs/ are well-formed, and the commands and options that they use exist."""

from __future__ import annotations

import re
import shlex

import pytest
import yaml

from schedproof.cli.main import command_line
from schedproof.foundation.content import content

EXAMPLES = content("suites").parent / "docs" / "ci"


def commands(example: dict) -> dict[str, list[str]]:
    """The schedproof commands of each job, of either CI's format."""
    jobs = example.get("jobs") or {
        name: job for name, job in example.items() if isinstance(job, dict) and "script" in job
    }
    found = {}
    for name, job in jobs.items():
        lines = [step.get("run", "") for step in job.get("steps", ())]
        lines += [*job.get("before_script", ()), *job.get("script", ()), *job.get("after_script", ())]
        found[name] = [match[1] for line in lines if (match := re.match(r"(?:\S*/)?schedproof (.*)", line))]
    return found


@pytest.mark.parametrize("name", ["github-actions.yaml", "gitlab-ci.yaml"])
def test_an_example_runs_a_candidate_on_both_clusters_with_options_that_exist(name):
    found = commands(yaml.safe_load((EXAMPLES / name).read_text()))
    assert set(found) == {"embedded", "kind", "report"}
    assert [line.split()[0] for line in found.pop("report")] == ["merge"]
    for job, lines in found.items():
        filled = [re.sub(r"\$(\{\{.*?\}\}|CI_\w+)", "1", line) for line in lines]
        parsed = [command_line().parse_args(shlex.split(line)) for line in filled]
        [run] = [arguments for arguments, line in zip(parsed, lines, strict=True) if line.startswith("run ")]
        assert run.candidates == ["$CANDIDATE"]
        assert (run.cluster or "embedded") == job
