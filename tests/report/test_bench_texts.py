"""The example document as Markdown, benchstat text, CSV, JSON, and on a terminal."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from schedproof.foundation.errors import HostError
from schedproof.report.bench import files
from schedproof.report.bench.benchstat import benchstat
from schedproof.report.bench.files import POD_COLUMNS, write_bench, write_pods
from schedproof.report.bench.markdown import summary
from schedproof.report.bench.terminal import print_bench

from .example import CONTROLLER, EXTENDER, INVALID, KINDS, PLUGIN, TOO_FEW, WRONG, document, read

EMPTY: dict[str, Any] = {"schema": "schedproof.bench/v1", "run": {}}
LINE = re.compile(r"Benchmark[A-Z]\S* 1( [0-9.e+-]+ [^\s0-9]\S*)+")
"""Name, iterations, pairs of value and unit."""


def at_terminal(bench: dict[str, Any], width: int = 120) -> str:
    text = io.StringIO()
    print_bench(read(bench), Console(file=text, width=width, color_system=None), Path("results"))
    return text.getvalue()


def with_many_of_everything() -> dict[str, Any]:
    bench = document()
    for part in ("measurements", "comparisons"):
        bench[part] = [{**item, "workload": f"{item['workload']}-{n}"} for n in range(12) for item in bench[part]]
    for measured in bench["measurements"]:
        for round_ in measured["rounds"]:
            round_["wrong"] = [f"{WRONG} ({n})" for n in range(20)]
    bench["gates"] *= 20
    bench["conformance"][0]["clauses"] *= 30
    return bench


def test_summary_shows_comparisons_and_problems() -> None:
    text = summary(read())
    for words in (
        "slower",
        "0.31",
        "WRONG: 3 violations in 2 rounds",
        WRONG,
        INVALID,
        TOO_FEW,
        "UNPROVED",
    ):
        assert words in text, words


@pytest.mark.parametrize("bench", [document(), with_many_of_everything(), EMPTY])
def test_summary_is_short(bench: dict[str, Any]) -> None:
    assert 0 < len(summary(read(bench)).splitlines()) <= 60


def test_summary_counts_what_it_leaves_out() -> None:
    text = summary(read(with_many_of_everything()))
    assert "... and 40 more in bench.html" in text
    assert re.search(r"- \.\.\. and \d+ more", text)


def test_text_of_a_candidate_is_escaped_in_markdown() -> None:
    bench = document()
    for measured in bench["measurements"]:
        for round_ in measured["rounds"]:
            round_["invalid"] = ["a | b\n# <script>alert(1)</script> [x](http://example.com) `code` *bold*"]
    text = summary(read(bench))
    assert "<script>" not in text
    assert "[x](" not in text
    line = next(line for line in text.splitlines() if "alert" in line)
    assert line.startswith("- ")
    assert r"a \| b \#" in line


def test_benchstat_has_a_line_for_each_valid_round() -> None:
    lines = benchstat(read()).splitlines()
    benchmarks = [line for line in lines if line.startswith("Benchmark")]
    rounds = [round_ for measured in document()["measurements"] for round_ in measured["rounds"]]
    assert len(benchmarks) == sum(not round_["invalid"] for round_ in rounds) == len(rounds) - 1
    assert all(LINE.fullmatch(line) for line in benchmarks)
    assert "goos: linux" in lines
    assert any(line.startswith(f"BenchmarkOpenLoop/workload=basic/rate=80/candidate={PLUGIN} 1 ") for line in lines)


def test_names_are_escaped_for_benchstat() -> None:
    bench = document()
    for measured in bench["measurements"]:
        measured["candidate"], measured["workload"] = "mine-2", "two words/and a slash"
    names = {line.split()[0] for line in benchstat(read(bench)).splitlines() if line.startswith("BenchmarkDrain")}
    assert names == {"BenchmarkDrain/workload=two_words_and_a_slash/candidate=mine_2"}


def test_round_without_latency_has_no_latency_in_benchstat() -> None:
    bench = document()
    for measured in bench["measurements"]:
        for round_ in measured["rounds"]:
            round_ |= {"latency": {}, "usage": {}}
    lines = [line for line in benchstat(read(bench)).splitlines() if line.startswith("Benchmark")]
    assert all(line.split()[3::2] == ["ns/op", "pods/s"] for line in lines)


def test_terminal_shows_comparisons_and_problems() -> None:
    text = at_terminal(document())
    for words in ("faster WRONG", "slower 1 of 8 invalid", WRONG, INVALID, "gate failed", "results/bench.html", "19 %"):
        assert words in text, words
    assert all(name in text for name in KINDS)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_names_are_not_truncated_on_a_terminal(width: int) -> None:
    assert "\N{HORIZONTAL ELLIPSIS}" not in at_terminal(document(), width)


def test_text_of_a_candidate_is_not_markup_on_a_terminal() -> None:
    bench = document()
    bench["measurements"][0]["rounds"][0]["wrong"] = ["zone In [bold], :smile: [/]"]
    assert "zone In [bold], :smile: [/]" in at_terminal(bench)


def test_an_empty_document_can_be_printed() -> None:
    assert at_terminal(EMPTY) == "report: results/bench.html\n"


def test_all_files_are_written(tmp_path: Path) -> None:
    write_bench(read(), tmp_path / "new")
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"bench.json", "bench.html", "summary.md", "benchstat.txt"}
    assert json.loads((tmp_path / "new" / "bench.json").read_text()) == document()


def test_numbers_that_are_not_finite_are_null(tmp_path: Path) -> None:
    bench = document()
    bench["measurements"][0]["rounds"][0]["throughput"] = float("nan")
    bench["measurements"][0]["rounds"][0]["latency"]["p99"] = float("inf")
    write_bench(read(bench), tmp_path)
    first = json.loads((tmp_path / "bench.json").read_text())["measurements"][0]["rounds"][0]
    assert (first["throughput"], first["latency"]["p99"]) == (None, None)


def test_json_is_written_even_if_the_page_cannot_be_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_document: object) -> str:
        raise KeyError

    monkeypatch.setattr(files, "render_bench", fails)
    with pytest.raises(KeyError):
        write_bench(read(), tmp_path)
    assert (tmp_path / "bench.json").exists()


def test_pods_are_written_as_rows(tmp_path: Path) -> None:
    rows = ((EXTENDER, "basic", "drain", None, 0, f"p,{n}", 0.0, 0.001, None, 0.002, 1e-7, "node-1") for n in range(3))
    assert write_pods(rows, tmp_path) == 3
    with (tmp_path / "pods.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert tuple(read[0]) == POD_COLUMNS
    assert [row["pod"] for row in read] == ["p,0", "p,1", "p,2"]
    assert (read[0]["rate"], read[0]["sent"], read[0]["answered"], read[0]["seen"]) == ("", "0.001000", "", "0.000000")


def test_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match="cannot write the report"):
        write_bench(read(), tmp_path / "file")
    with pytest.raises(HostError, match="cannot write the report"):
        write_pods([], tmp_path / "file")


def test_file_without_pods_has_only_the_header(tmp_path: Path) -> None:
    assert write_pods([], tmp_path) == 0
    assert (tmp_path / "pods.csv").read_text() == ",".join(POD_COLUMNS) + "\n"


def test_controller_is_in_every_text() -> None:
    assert all(CONTROLLER in text for text in (summary(read()), benchstat(read()), at_terminal(document())))


def test_terminal_says_why_more_throughput_is_not_faster() -> None:
    bench = document()
    compared = next(each for each in bench["comparisons"] if each["mode"] == "drain" and each["candidate"] == PLUGIN)
    compared |= {"verdict": "no difference shown", "ratio": 1.33, "reason": "more pods per second once it bound"}
    bench["comparisons"].append({**compared, "metric": "time to drain", "verdict": "slower", "ratio": 9.5})
    text = " ".join(at_terminal(bench, width=200).split())
    assert "throughput no difference shown (more pods per second once it bound) 1.33" in text
    assert "time to drain slower 9.50" in text
    assert "time to drain" not in at_terminal(document())
