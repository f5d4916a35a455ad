"""A history changed after its run is refused with its line, its field and exit code 2."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedproof.cli import main as cli
from schedproof.foundation.errors import UsageError
from schedproof.history.saved import FILE, DamagedRecordError, load_records, read_record

from .test_saved_history import eventful

Records = list[dict[str, Any]]


def number_of(records: Records, kind: str) -> int:
    return next(number for number, record in enumerate(records) if record["kind"] == kind)


def write(folder: Path, records: Records) -> None:
    (folder / FILE).write_text("".join(json.dumps(record) + "\n" for record in records))


def remove(kind: str, field: str) -> Callable[[Records], tuple[int, str]]:
    def change(records: Records) -> tuple[int, str]:
        number = number_of(records, kind)
        del records[number][field]
        return number + 1, field

    return change


def set_to(value: Any, kind: str, *path: str) -> Callable[[Records], tuple[int, str]]:
    def change(records: Records) -> tuple[int, str]:
        number = number_of(records, kind)
        part = records[number]
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = value
        return number + 1, ".".join(path)

    return change


@pytest.mark.parametrize(
    "change",
    [
        remove("object", "rv"), remove("pod", "uid"), remove("expect", "outcome"), remove("run", "users"),
        set_to("1.5 s", "case", "at"), set_to("7", "object", "rv"), set_to(True, "object", "rv"),
        set_to(None, "object", "object"), set_to([], "object", "object", "metadata"),
        set_to(3, "run", "candidate", "name"), set_to("core/binds", "selected", "clauses"),
    ],
)  # fmt: skip
def test_error_names_the_line_and_the_field(
    change: Callable[[Records], tuple[int, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = json.loads(json.dumps(eventful().records))
    line, field = change(records)
    write(tmp_path, records)
    assert cli.main(["judge", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / FILE}:{line}: " in error
    assert field in error
    assert "Traceback" not in error


def test_error_names_an_unknown_clause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = json.loads(json.dumps(eventful().records))
    records[number_of(records, "selected")]["clauses"].append("core/of-tomorrow")
    write(tmp_path, records)
    assert cli.main(["judge", str(tmp_path)]) == 2
    assert "core/of-tomorrow" in capsys.readouterr().err


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, item in inner for place in _places(item, (*path, name)))]


def _one_of_each(records: Records) -> list[tuple[Any, ...]]:
    """Locations of every field of every kind of record; of repeated fields, the first."""
    places = {}
    for place in _places(records):
        if len(place) > 1:
            field = ("*" if isinstance(part, int) else part for part in place[1:])
            places.setdefault((records[place[0]]["kind"], *field), place)
    return list(places.values())


@pytest.mark.parametrize("wrong", [None, "text", -1, [], {}], ids=repr)
def test_damaged_field_never_causes_an_internal_error(
    wrong: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some damage cannot be distinguished from a record of a run; then it is judged."""
    original = json.dumps(eventful().records)
    for place in _one_of_each(json.loads(original)):
        records = json.loads(original)
        part = records
        for name in place[:-1]:
            part = part[name]
        part[place[-1]] = wrong
        write(tmp_path, records)
        assert cli.main(["judge", str(tmp_path)]) in (1, 2, 3), place
        assert "internal error" not in capsys.readouterr().err, place


def test_undamaged_records_are_read(tmp_path: Path) -> None:
    history = eventful()
    history.request("patch", "pods/status", "a", body=[{"op": "add", "path": "/status/phase", "value": "Pending"}])
    write(tmp_path, history.records)
    assert load_records(tmp_path)


def test_report_is_written_again_from_a_truncated_history(tmp_path: Path) -> None:
    home = tmp_path / "killed" / "candidates" / "it"
    home.mkdir(parents=True)
    write(home, eventful().records)
    with (home / FILE).open("a") as file:
        file.write('{"kind":"obj')  # as a kill leaves it
    assert cli.main(["judge", str(tmp_path / "killed"), "--report", str(tmp_path / "again")]) == 1
    assert {path.name for path in (tmp_path / "again").iterdir()} == {"report.json", "report.html", "junit.xml"}
    assert "core/fit-cpu" in (tmp_path / "again" / "junit.xml").read_text()


def test_deeply_nested_record_is_refused(tmp_path: Path) -> None:
    write(tmp_path, eventful().records)
    with (tmp_path / FILE).open("a") as file:
        file.write("[" * 100_000 + "\n")
    with pytest.raises(UsageError, match="not a record"):
        load_records(tmp_path)


@pytest.mark.parametrize(
    ("nodes", "wrong"), [({}, ""), ({"nodes": None}, ""), ({"nodes": 3}, ""), ({"nodes": "3"}, "nodes is '3'")]
)
def test_optional_field_may_be_null_but_must_have_its_type(nodes: dict[str, Any], wrong: str) -> None:
    line = {"kind": "seen", "at": 1.0, "rv": 2, "shown_at_rv": 2, "pod": "a", **nodes}
    with pytest.raises(DamagedRecordError, match=wrong) if wrong else contextlib.nullcontext():
        read_record(line)


def test_optional_nested_field_may_be_null() -> None:
    run = eventful().records[0]
    assert read_record({**run, "users": {**run["users"], "control": None}})


def test_record_of_an_unknown_kind_is_read() -> None:
    assert read_record({"kind": "of-tomorrow", "at": 1.5, "more": 1}).at == 1.5
