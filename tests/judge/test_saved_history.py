"""The same records give the same verdicts, repeatedly and when read from disk; damaged histories are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.history.history import History
from schedproof.history.saved import FILE, load_records
from schedproof.judge.judge import judge, judge_all
from schedproof.run.rejudge import rejudge

from .histories import HistoryBuilder, as_read


def eventful() -> HistoryBuilder:
    """Three cases (inconclusive, failed, and failed with an exclusion), and clauses over the whole run."""
    h = HistoryBuilder("core/binds", exclusions=[{"clause": "core/requeue-node-added", "reason": "known"}])
    h.pod("too-large", cpu="1000")
    h.expect("too-large", "bound")
    h.end()
    for case in ("core/fit-cpu", "core/requeue-node-added"):
        h.begin(case)
        h.pod("probe-1", cpu="1")
        h.bind("probe-1", "ghost")
        h.expect("probe-1", "bound")
        h.delete("probe-1")
        h.end()
    selected = next(record for record in h.records if record["kind"] == "selected")
    selected["clauses"] = ["core/fit-cpu", "core/binds", "core/requeue-node-added", "network/flip", "core/alive"]
    h.over()
    return h


def test_selected_clauses_are_judged_in_order() -> None:
    assert [(v.clause, v.outcome) for v in judge_all({0: eventful().history()})] == [
        ("core/fit-cpu", "failed"),
        ("core/binds", "invalid"),
        ("core/requeue-node-added", "excluded"),
        ("network/flip", "invalid"),
        ("core/alive", "passed"),
    ]


def test_judging_is_repeatable_and_does_not_change_the_history() -> None:
    h = eventful()
    history = h.history()
    before = [record.as_dict() for record in history.records]
    first = judge_all({0: history})
    assert judge_all({0: history}) == first
    assert [record.as_dict() for record in history.records] == before


def test_case_is_judged_as_of_its_end() -> None:
    """A run in progress, a run cut off later and a saved run all have the same verdict of the case."""
    records = eventful().records
    for number, record in enumerate(records):
        if (record["kind"], record.get("phase")) == ("case", "end"):
            then, later = (judge(History(as_read(part)), record["case"]) for part in (records[: number + 1], records))
            assert then == later


def test_records_after_the_end_of_a_case_do_not_change_its_verdict() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    h.pod("refused", cpu="1000")
    h.fence()
    h.expect("refused", "pending")
    h.end()
    before = h.verdict()
    h.bind("refused", "node-1")
    h.remove_node("node-1")
    h.unseen("the harness is cleaning up")
    assert (before.outcome, h.verdict()) == ("passed", before)


def test_a_saved_history_gives_the_same_verdicts(tmp_path: Path) -> None:
    h = eventful()
    h.save(tmp_path)
    assert judge_all({0: History(load_records(tmp_path))}) == judge_all({0: History(as_read(h.records))})


@pytest.mark.parametrize("kept", [1, 20, -2], ids=["a brace", "some", "all but its end"])
def test_truncated_last_line_is_dropped(tmp_path: Path, kept: int) -> None:
    h = eventful()
    file = h.save(tmp_path)
    *lines, last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines) + last[:kept])
    assert load_records(tmp_path) == as_read(h.records[:-1])


def test_last_line_without_a_newline_is_kept(tmp_path: Path) -> None:
    h = eventful()
    file = h.save(tmp_path)
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    assert load_records(tmp_path) == as_read(h.records)


CORRUPT = {
    "not JSON": b"{'kind': 'seen'}",
    "empty": b"",
    "cut off": b'{"kind":"seen","at":1.0,',
    "two records": b'{"kind":"seen","at":1.0}{"kind":"seen","at":1.0}',
    "no object": b"17",
    "null": b"null",
    "a list": b"[]",
    "no kind": b'{"at":1.0}',
    "no time": b'{"kind":"seen"}',
    "no text": b'{"kind":"seen","at":1.0,"pod":"\xff\xfe"}',
}


@pytest.mark.parametrize("line", CORRUPT.values(), ids=CORRUPT)
@pytest.mark.parametrize("where", [1, 5, -1], ids=["second", "middle", "last"])
def test_other_corruption_is_an_error_that_names_the_line(tmp_path: Path, line: bytes, where: int) -> None:
    file = eventful().save(tmp_path)
    lines = file.read_bytes().splitlines()
    lines[where] = line
    file.write_bytes(b"\n".join(lines) + b"\n")
    number = where + 1 if where >= 0 else len(lines)
    with pytest.raises(UsageError, match=f"{FILE}:{number}: "):
        load_records(tmp_path)


def test_damage_in_the_middle_is_not_treated_as_truncation(tmp_path: Path) -> None:
    file = eventful().save(tmp_path)
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([*lines[:5], b"{", *lines[5:], b'{"kind":']))
    with pytest.raises(UsageError, match=f"{FILE}:6: "):
        load_records(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"kind":"ru',
        b'{"kind":"case","at":0,"schema":"schedproof.history/v1"}\n',
        b'{"kind":"run","at":0,"schema":"schedproof.history/v2"}\n',
    ],
    ids=["nothing", "cut off", "no header", "another schema"],
)
def test_file_that_is_not_a_history_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(UsageError, match=r"not a history of schema schedproof\.history/v1"):
        load_records(tmp_path)


def test_a_folder_without_a_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no history in"):
        load_records(tmp_path)


# -- judged again


def saved(folder: Path, name: str, *, wrong: bool = False) -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.records[0]["candidate"]["name"] = name
    h.pod("probe-1")
    h.bind("probe-1", "ghost" if wrong else "node-1")
    h.expect("probe-1", "bound")
    h.end()
    h.over()
    h.save(folder)


def test_whole_run_is_judged_again_for_each_candidate(tmp_path: Path) -> None:
    saved(tmp_path / "candidates" / "good", "good")
    saved(tmp_path / "candidates" / "bad", "bad", wrong=True)
    result = rejudge(tmp_path)
    outcomes = {name: [v.outcome for v in judged.verdicts] for name, judged in result.candidates.items()}
    assert outcomes == {"bad": ["failed"], "good": ["passed"]}
    assert (result.exit_code, result.seed, result.cluster) == (1, 7, "embedded")


def test_a_single_candidate_is_judged_again(tmp_path: Path) -> None:
    saved(tmp_path / "candidates" / "good", "good")
    saved(tmp_path / "candidates" / "bad", "bad", wrong=True)
    assert rejudge(tmp_path / "candidates" / "good").exit_code == 0


def test_run_that_ended_before_any_case_has_not_passed(tmp_path: Path) -> None:
    h = HistoryBuilder()
    h.records = [record for record in h.records if record["kind"] not in ("selected", "case")]
    h.save(tmp_path)
    result = rejudge(tmp_path)
    assert result.exit_code == 2
    assert "ended before anything was tried" in str(result.candidates["tested"].error)


def test_judging_a_folder_without_a_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no history in"):
        rejudge(tmp_path)
