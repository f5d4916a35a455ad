"""Changes between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.cli.main import main
from schedproof.foundation.errors import UsageError
from schedproof.report.run.changes import changes, describe_changes, load_report
from schedproof.report.run.outputs import write_files
from schedproof.run.document import Report
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of

CODES = {"failed": "infeasible-node", "invalid": "not-tried", "passed": ""}


def result(outcomes: dict[str, Any], name: str = "mine", folder: Path = Path("results")) -> RunResult:
    run = RunResult(seed=7, cluster="embedded", folder=folder)
    candidate = Candidate(name=name, scheduler_name=name, attached=AttachedSpec(), path=Path(name, "candidate.yaml"))
    verdicts = [
        verdict_of(c, "required", outcome, "so", code=CODES.get(outcome, "")) for c, outcome in outcomes.items()
    ]
    run.candidates[name] = CandidateResult(candidate, tuple(outcomes), verdicts)
    return run


def report(outcomes: dict[str, Any], name: str = "mine") -> Report:
    return result(outcomes, name).document()


BEFORE = report({"core/binds": "passed", "core/cordon": "failed", "core/fit-cpu": "failed", "core/restart": "invalid"})


def test_fixed_new_and_remaining_failures_are_listed() -> None:
    after = report(
        {"core/binds": "failed", "core/cordon": "passed", "core/fit-cpu": "failed", "core/restart": "passed"}
    )
    (change,) = changes(BEFORE, after)
    assert (change.mended, change.new, change.still) == (
        ("core/cordon", "core/restart"),
        ("core/binds",),
        ("core/fit-cpu",),
    )
    assert any("core/cordon, core/restart" in line for line in describe_changes(change))


def test_clause_not_tried_in_the_later_run_is_no_change() -> None:
    (change,) = changes(BEFORE, report({"core/fit-cpu": "passed", "core/cordon": "skipped"}))
    assert (change.mended, change.new, change.still, change.gone) == (("core/fit-cpu",), (), (), ())


def test_fixed_and_new_causes_are_listed() -> None:
    (change,) = changes(BEFORE, report({"core/binds": "invalid", "core/cordon": "passed", "core/fit-cpu": "passed",
                                     "core/restart": "passed"}))  # fmt: skip
    assert len(change.gone) == 1
    assert change.causes == ()
    (back,) = changes(report({"core/binds": "passed"}), report({"core/binds": "failed"}))
    assert len(back.causes) == 1


def test_single_candidates_are_compared_regardless_of_their_names() -> None:
    (change,) = changes(BEFORE, report({"core/cordon": "passed"}, name="other"))
    assert (change.name, change.mended) == ("other", ("core/cordon",))
    both = BEFORE.model_copy(update={"candidates": [*BEFORE.candidates, *report({}, "two").candidates]})
    assert changes(both, report({"core/cordon": "passed"}, name="other")) == []


def test_compare_command_exits_with_1_on_a_new_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, outcome in enumerate(("passed", "failed")):
        write_files(result({"core/cordon": outcome}, folder=tmp_path / str(number)))
    first, second = str(tmp_path / "0"), str(tmp_path / "1" / "report.json")
    assert main(["compare", first, second]) == 1
    assert "core/cordon" in capsys.readouterr().out
    assert main(["compare", second, first]) == 0
    assert main(["compare", first, first]) == 0


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"schema": "schedproof.bench/v1"}'])
def test_file_that_is_not_a_report_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_report(tmp_path)
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(UsageError) as error:
        load_report(tmp_path)
    assert "report.json" in error.value.message
    assert error.value.remedy
