"""Runs on several minor versions: one page, what differs comes first, the worst exit code counts."""

from __future__ import annotations

import io
from pathlib import Path

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.foundation.console import open_console
from schedproof.judge.verdict import Outcome, Verdict
from schedproof.report.minors.across import Across
from schedproof.report.minors.differences import differences
from schedproof.run.result import CandidateResult, RunResult

from ...judge.verdicts import verdict_of

BINDS, NEW = "core/binds", "core/dra-extended"


def run(folder: Path, **outcomes: Outcome) -> RunResult:
    """A run in which core/binds passed; `outcomes`: `new` is that of a clause about a feature of 1.36."""
    verdicts = [verdict_of(BINDS, "required", outcomes.get("binds", "passed"), "found")]
    if new := outcomes.get("new"):
        code = "not-in-this-kubernetes" if new == "not-claimed" else ""
        verdicts.append(verdict_of(NEW, "required", new, "found", code=code))
    result = RunResult(1, "embedded", folder)
    candidate = Candidate(name="mine", scheduler_name="mine", attached=AttachedSpec(), path=Path("candidate.yaml"))
    result.candidates["mine"] = CandidateResult(candidate, tuple(verdict.clause for verdict in verdicts), verdicts)
    return result


def finished(folder: Path, **runs: RunResult) -> tuple[int, str, str]:
    """Exit code, printed lines, and the page; runs by version, such as v1_36."""
    across = Across(folder)
    for name, result in runs.items():
        across.add(name.removeprefix("v").replace("_", "."), result.exit_code, result)
    stream = io.StringIO()
    code = across.finish(open_console(stream))
    return code, stream.getvalue(), (folder / "report.html").read_text()


def test_the_worst_exit_code_counts_and_the_page_names_each_version(tmp_path: Path) -> None:
    code, printed, page = finished(tmp_path, v1_36=run(tmp_path), v1_37=run(tmp_path, binds="failed"))
    assert code == 1
    assert "1.36 passed, 1.37 failed" in printed
    assert 'href="1.37/report.html#mine-core-binds"' in page
    assert 'href="1.36/report.html#/core/binds"' in page


def test_nothing_differs_where_all_outcomes_are_alike(tmp_path: Path) -> None:
    code, printed, page = finished(tmp_path, v1_36=run(tmp_path), v1_37=run(tmp_path))
    assert code == 0
    assert "nothing" in printed
    assert "No clause" in page


def test_a_feature_that_is_new_and_unheeded_is_called_so(tmp_path: Path) -> None:
    older, newer = run(tmp_path, new="not-claimed"), run(tmp_path, new="failed")
    (difference,) = differences({"1.35": older, "1.36": newer})
    assert difference.words == {"1.35": "not there yet", "1.36": "failed"}
    assert "1.36" in difference.said
    assert difference.said.endswith("unheeded")
    (heeded,) = differences({"1.35": older, "1.36": run(tmp_path, new="passed")})
    assert "unheeded" not in heeded.said
    assert not heeded.did_not_pass


def test_what_failed_comes_before_what_is_only_new(tmp_path: Path) -> None:
    found = differences({
        "1.35": run(tmp_path, new="not-claimed"), "1.36": run(tmp_path, new="passed", binds="failed"),
    })  # fmt: skip
    assert [difference.clause for difference in found] == [BINDS, NEW]


def test_a_clause_that_one_run_did_not_try_differs(tmp_path: Path) -> None:
    (difference,) = differences({"1.36": run(tmp_path), "1.37": run(tmp_path, new="passed")})
    assert difference.words["1.36"] == "not tried"
    assert difference.link("1.36") == f"/{NEW}"
    assert isinstance(difference.verdicts["1.37"], Verdict)
