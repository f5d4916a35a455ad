"""The report on a terminal: evidence of the decisive verdicts, a matrix of all, and where to find the rest."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.foundation.console import open_console
from schedproof.foundation.errors import CandidateError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.codes import CODES
from schedproof.judge.judge import why_unclaimed
from schedproof.judge.verdict import Verdict
from schedproof.report.run.asking import SearchSpeed, search_speeds
from schedproof.report.run.terminal import print_report
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of


def run(verdicts: dict[str, list[Verdict]], error: CandidateError | None = None) -> RunResult:
    result = RunResult(seed=7, cluster="embedded", folder=Path("results"))
    for name, found in verdicts.items():
        candidate = Candidate(
            name=name, scheduler_name=name, attached=AttachedSpec(), path=Path(name, "candidate.yaml")
        )
        result.candidates[name] = CandidateResult(candidate, (), found, error)
    return result


def printed(result: RunResult, **options: Any) -> str:
    text = io.StringIO()
    print_report(result, Console(file=text, width=140, color_system=None), **options)
    return text.getvalue()


def row(text: str, clause: str) -> list[str]:
    """Return the cells of a clause's row in the matrix."""
    line = next(line for line in text.splitlines() if line.startswith(f"│ {clause} "))
    return [cell.strip() for cell in line.strip("│").split("│")][1:]


PASSED = verdict_of("core/binds", "required", "passed", "7 pods bound")


def test_matrix_has_a_row_for_each_clause_and_a_column_for_each_candidate() -> None:
    failed = verdict_of("core/fit-cpu", "required", "failed", "bound to node-2", code="infeasible-node")
    stale = verdict_of("core/fit-cpu", "required", "passed", "holds", code="outdated-exclusion", stale=True)
    text = printed(run({"one": [PASSED, failed], "two": [stale]}), verbosity=1)
    assert row(text, "core/binds") == ["pass", ""]
    assert row(text, "core/fit-cpu") == ["FAIL", "STALE"]
    assert "network/flip" not in text


@pytest.mark.parametrize(
    ("outcome", "word"),
    [("passed", "pass"), ("excluded", "excluded"), ("skipped", "skip"), ("invalid", "INVALID")],
)
def test_every_outcome_has_a_word(outcome: Any, word: str) -> None:
    result = run({"one": [verdict_of("core/binds", "required", outcome, "", code="not-tried")]})
    assert row(printed(result, verbosity=1), "core/binds") == [word]


def test_passed_of_claimed_clauses_are_counted_for_each_profile() -> None:
    unclaimed = verdict_of("core/gang", "required", "not-claimed", "")
    failed = verdict_of("network/flip", "required", "failed", "", code="call-failed")
    text = printed(run({"one": [PASSED, unclaimed], "two": [PASSED, PASSED, failed]}))
    lines = [line.split() for line in text.splitlines()]
    assert ["core", "1", "of", "1", "2", "of", "2"] in lines
    assert ["network-aware", "-", "0", "of", "1"] in lines
    assert "core/gang" not in text


def test_claimed_clauses_that_were_not_selected_are_counted() -> None:
    candidate = Candidate(name="one", scheduler_name="one", attached=AttachedSpec(), path=Path("one", "candidate.yaml"))
    claimed = tuple(clause for clause in CATALOGUE if not why_unclaimed(CATALOGUE[clause], candidate.claims))
    for selected, count in ((claimed, 0), (claimed[:2], len(claimed) - 2)):
        result = run({})
        result.candidates["one"] = CandidateResult(candidate, selected, [PASSED])
        assert (f"not selected: {count} clauses that one also claims" in printed(result)) == bool(count)


def test_verbose_output_has_the_matrix_then_findings_then_the_summary() -> None:
    failed = verdict_of("core/binds", "required", "failed", "found so", code="not-bound-in-time")
    text = printed(run({"one": [failed]}), verbosity=1)
    assert text.index("│ core/binds") < text.index("finding:   found so") < text.index("1 cause")


def test_quiet_output_is_a_line_for_each_failure() -> None:
    failed = verdict_of("core/fit-cpu", "required", "failed", "bound to node-2")
    assert printed(run({"one": [PASSED, failed]}), verbosity=-1) == "FAIL one core/fit-cpu: bound to node-2\n"
    assert printed(run({"one": [PASSED]}), verbosity=-1) == ""


def test_verbose_output_has_every_decision() -> None:
    decisions = [decision([{}, {}, {}]) | {"pod": f"sp-tested/probe-{n}"} for n in range(3)]
    failed = verdict_of("core/binds", "required", "failed", "", {"decisions": decisions}, code="infeasible-node")
    text = printed(run({"one": [failed]}), verbosity=1)
    assert all(f"sp-tested/probe-{n}" in text for n in range(3))
    assert "more decisions" not in text


def test_verbose_output_to_a_file_is_not_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    reason = "node-1 lacks " + ", ".join(f"example.com/device-{n}" for n in range(20))
    wide = decision([{}, {}, {}])
    wide["nodes"][0] |= {"feasible": False, "reasons": [reason]}
    stream = io.StringIO()
    verdict = verdict_of("core/binds", "required", "failed", "", {"decisions": [wide]}, code="infeasible-node")
    print_report(run({"one": [verdict]}), open_console(stream), verbosity=1)
    assert all(f"example.com/device-{n}" in stream.getvalue() for n in range(20))
    header = next(line for line in stream.getvalue().splitlines() if "traffic B/s" in line)
    assert 120 < len(header) < 200


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [
        (verdict_of("core/binds", "required", "failed", "found so", code="infeasible-node"), True),
        (verdict_of("core/binds", "required", "invalid", "found so", code="not-tried"), True),
        (verdict_of("core/binds", "required", "passed", "found so", code="outdated-exclusion", stale=True), True),
        (verdict_of("core/binds", "required", "passed", "found so"), False),
        (verdict_of("core/binds", "required", "excluded", "found so"), False),
        (verdict_of("core/binds", "recommended", "failed", "found so"), False),
        (verdict_of("core/binds", "recommended", "invalid", "found so"), False),
    ],
)
def test_evidence_of_decisive_verdicts_is_shown_with_the_command_to_repeat_it(verdict: Verdict, shown: bool) -> None:
    for verbosity in (0, 1):
        text = printed(run({"one": [verdict]}), verbosity=verbosity)
        assert ("found so" in text) is shown
        assert ("schedproof run one/candidate.yaml --clause core/binds --seed 7" in text) is shown
    assert "finding:   found so" not in printed(run({"one": [verdict]}), evidence=False, verbosity=1)


def test_candidate_that_could_not_be_brought_up_is_shown_with_the_error() -> None:
    error = CandidateError("it ended with exit code 1 [/]", remedy="read its log")
    for verbosity in (0, 1):
        text = printed(run({"one": []}, error), verbosity=verbosity)
        assert "did not start" in text
        assert "it ended with exit code 1 [/]\n  fix: read its log" in text
    assert "did not start" not in printed(run({"one": [PASSED]}))


def test_report_ends_with_the_seed_times_and_the_folder() -> None:
    result = run({"one": [PASSED]})
    assert "seed 7\n" in printed(result)
    result.timings = {"cluster": 6.25, "one core/binds": 0.5}
    *_, times, folder = printed(result).splitlines()
    assert times == "seed 7; cluster 6.2 s"
    assert folder == "evidence: results"


def decision(scores: list[dict[str, int]]) -> dict[str, Any]:
    return {
        "pod": "sp-tested/probe-1", "requests": [], "expected": "node-1", "chosen": "node-2", "query": "",
        "nodes": [
            {
                "node": f"node-{n}", "feasible": True, "reasons": [], "traffic": None if n == 3 else 1500.0 * n,
                "scores": of_node, "expected": n == 1, "chosen": n == 2,
            }
            for n, of_node in enumerate(scores, 1)
        ],
    }  # fmt: skip


def test_decision_shows_own_score_then_distinguishing_scores_then_the_total() -> None:
    alike = {"TaintToleration": 7, "mine": 5}
    scores = [
        {"total": 30, "ImageLocality": 3, **alike}, {"total": 20, "ImageLocality": 2, **alike}, {"total": 20, **alike}
    ]  # fmt: skip
    failed = verdict_of(
        "core/binds", "required", "failed", "", {"decisions": [decision(scores)]}, code="infeasible-node"
    )
    text = printed(run({"one": [failed]}), verbosity=1)
    header = next(line for line in text.splitlines() if "traffic B/s" in line)
    assert header.replace("┃", " ").split() == [
        "chosen", "node", "feasible", "traffic", "B/s", "score", "mine", "score", "ImageLocality", "score", "total",
        "expected",
    ]  # fmt: skip
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│ node-" in line]
    assert rows == [
        ["", "node-1", "yes", "1,500", "5", "3", "30", "<--"],
        ["-->", "node-2", "yes", "3,000", "5", "2", "20", ""],
        ["", "node-3", "yes", "", "5", "", "20", ""],
    ]


def test_on_a_narrow_terminal_only_reasons_are_cut() -> None:
    scores = [{"total": 30, "mine": 5}, {"total": 20, "mine": 5}, {"total": 10, "mine": 4}]
    wide = decision(scores)
    wide["nodes"][2] |= {
        "feasible": False,
        "reasons": ["this node lacks what the pod selects", "and more: " + "x" * 90],
    }
    failed = verdict_of("core/binds", "required", "failed", "", {"decisions": [wide]}, code="infeasible-node")
    lines = printed(run({"one": [failed]})).splitlines()
    at = next(number for number, line in enumerate(lines) if "traffic B/s" in line)
    header, *rows = lines[at : at + 4]
    assert header.split()[0] == "chosen"
    assert header.split()[-1] == "expected"
    assert [line.split()[0] for line in rows] == ["node-1", "-->", "node-3"]
    assert rows[0].endswith("<--")
    assert rows[2].split()[1:5] == ["no:", "this", "node", "lacks"]
    assert rows[2].split()[-2:] == ["4", "10"]
    assert rows[2].count("…") == 1


def test_total_score_is_shown_even_if_equal_for_all_nodes() -> None:
    decisions = [decision([{"total": 5}, {"total": 5}])]
    failed = verdict_of("core/binds", "required", "failed", "", {"decisions": decisions}, code="infeasible-node")
    assert "score total" in printed(run({"one": [failed]}))


def test_summary_shows_one_decision_of_a_cause_and_few_nodes() -> None:
    first, *others = [decision([{}] * 40) | {"pod": f"sp-tested/probe-{n}"} for n in range(3)]
    evidence = {"decisions": [first, *others]}
    text = printed(run({"one": [verdict_of("core/binds", "required", "failed", "", evidence, code="infeasible-node")]}))
    assert "probe-0" in text
    assert "probe-1" not in text
    assert [f"node-{n}" in text for n in (1, 2, 40)] == [True, True, False], "the expected and the chosen one are shown"


@pytest.mark.parametrize("candidates", [1, 3])
def test_summary_has_at_most_a_hundred_lines_and_fits_the_width(candidates: int) -> None:
    text = "a finding of many words " * 30
    verdicts = [
        verdict_of(clause, "required", "failed", text, {"decisions": [decision([{"mine": 1}] * 12)]}, code=code)
        for clause, code in zip(CATALOGUE, itertools.cycle(CODES))
    ]  # fmt: skip
    result = run({f"one-{n}": list(verdicts) for n in range(candidates)})
    stream = io.StringIO()
    print_report(result, Console(file=stream, width=90, color_system=None))
    lines = stream.getvalue().splitlines()
    assert 60 < len(lines) < 100
    assert max(map(len, lines)) <= 90
    assert any(line.startswith("1. ") for line in lines)
    assert any("FAIL" in line for line in lines)


SEARCHED = {"surface": "extender", "cases": 107, "id": "", "questions": []}


def test_speed_of_score_searches_is_shown_with_the_share_of_the_harness() -> None:
    counts = [(100, 2.0, 0.5), (0, 0.0, 0.0), (300, 2.0, 0.5)]
    verdicts = [
        verdict_of(
            "normalize/order", "required", "passed", "holds",
            evidence={"scorings": [{**SEARCHED, "asked": asked, "seconds": seconds, "waited": waited}]},
        )
        for asked, seconds, waited in counts
    ]  # fmt: skip
    assert search_speeds(verdicts) == [SearchSpeed("extender", 400, 4.0, 1.0)]
    text = printed(run({"mine": verdicts}))
    assert "mine on surface extender: 400 questions in 4.0 s (100 per second), 75% of the time in the harness" in text


def test_search_without_questions_has_no_speed() -> None:
    assert (
        search_speeds(
            [PASSED, verdict_of("normalize/order", "required", "passed", "", evidence={"scorings": [SEARCHED]})]
        )
        == []
    )
