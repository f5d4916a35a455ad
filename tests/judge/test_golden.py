"""Judging saved histories of earlier versions gives the recorded outcomes, and damaged ones never a better outcome.

Each folder of `golden` has the history of one run and the outcomes of the version that recorded it. Add a folder
with `tools/keep_golden.py` for a new kind of record or candidate; never record an existing one again.
"""

from __future__ import annotations

import copy
import functools
import json
import lzma
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.history.history import History
from schedproof.history.saved import FILE, load_records
from schedproof.judge.judge import judge_all
from schedproof.judge.verdict import Verdict

GOLDEN = sorted(path for path in (Path(__file__).parent / "golden").iterdir())
SAMPLE = 15
"""Damaged versions of each history that the gate judges; `slow` judges one of each kind of record and field."""

Records = list[dict[str, Any]]


def each(folders: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("golden", folders, ids=[path.name for path in folders])


@functools.cache
def saved(golden: Path) -> bytes:
    return lzma.decompress((golden / f"{FILE}.xz").read_bytes())


def judged(content: bytes, folder: Path) -> dict[str, Verdict]:
    (folder / FILE).write_bytes(content)
    return {verdict.clause: verdict for verdict in judge_all({0: History(load_records(folder))})}


def lines(records: Records) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@each(GOLDEN)
def test_saved_history_has_the_recorded_outcomes(golden: Path, tmp_path: Path) -> None:
    before = json.loads((golden / "outcomes.json").read_text())
    now = {clause: verdict.outcome for clause, verdict in judged(saved(golden), tmp_path).items()}
    assert now == before


def damages(records: Records) -> Iterator[tuple[str, Records]]:
    """Descriptions and records with each record removed, and each field of each kind removed or changed in type."""
    for number, record in enumerate(records[1:], 1):
        yield f"line {number + 1} removed ({record['kind']})", [*records[:number], *records[number + 1 :]]
    seen = set()
    for number, record in enumerate(records):
        for path in _fields(record):
            field = (record["kind"], *(part for part in path if isinstance(part, str)))
            if field in seen or field[1:] == ("kind",):
                continue
            seen.add(field)
            for wrong in (None, "text", [7]):
                yield f"line {number + 1}: {'.'.join(field)} = {wrong}", _changed(records, number, path, wrong)
            yield f"line {number + 1}: no {'.'.join(field)}", _changed(records, number, path)


def _fields(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for name, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, name)
        yield from _fields(part, (*path, name))


def _changed(records: Records, number: int, path: tuple[Any, ...], *wrong: Any) -> Records:
    record = copy.deepcopy(records[number])
    part = record
    for name in path[:-1]:
        part = part[name]
    if wrong:
        part[path[-1]] = wrong[0]
    else:
        del part[path[-1]]
    return [*records[:number], record, *records[number + 1 :]]


def expect_no_better(golden: Path, folder: Path, chosen: list[tuple[str, Records]]) -> None:
    undamaged = judged(saved(golden), folder)
    wrong = []
    for what, records in chosen:
        try:
            found = judged(lines(records), folder)
        except UsageError as error:
            if FILE not in str(error):
                wrong.append(f"{what}: {error}")
            continue
        wrong += [
            f"{what}: {clause} {undamaged[clause].outcome} -> {verdict.outcome}: {verdict.summary}"
            for clause, verdict in found.items()
            # The candidate's claims and configuration decide which rules apply.
            if verdict.outcome == "passed" and undamaged[clause].outcome != "passed" and "run.candidate." not in what
        ]
    assert not wrong, "\n".join(wrong)


@each(GOLDEN)
def test_sampled_damage_never_improves_an_outcome(golden: Path, tmp_path: Path) -> None:
    records = [json.loads(line) for line in saved(golden).splitlines()]
    expect_no_better(golden, tmp_path, random.Random(1).sample(list(damages(records)), SAMPLE))


@pytest.mark.slow
@each(GOLDEN)
def test_any_damage_never_improves_an_outcome(golden: Path, tmp_path: Path) -> None:
    records = [json.loads(line) for line in saved(golden).splitlines()]
    expect_no_better(golden, tmp_path, list(damages(records)))
