"""`schedproof soak`: planted leaks are found, a reference has none, and Ctrl-C leaves a report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

MINUTES = "6"
"""The shortest soak after which a leak is said."""


def soaked(shell: Shell) -> dict[str, Any]:
    (candidate,) = shell.report()["candidates"]
    found: dict[str, Any] = candidate["soak"]
    return found


@pytest.mark.parametrize(
    ("candidate", "leaks"),
    [
        ("leaks/connections", {"connections", "descriptors"}),
        ("leaks/memory", {"memory"}),
        ("least-traffic-controller", set()),
    ],
)
def test_a_leak_is_found_where_one_is_planted(candidate: str, leaks: set[str], shell: Shell) -> None:
    ended = shell.schedproof("soak", candidate, "--minutes", MINUTES, "--report=report")
    found = soaked(shell)
    assert not found.get("undecided"), ended.printed
    measures = {growth["measure"] for growth in found["growths"] if growth["leaks"]}
    # What is open takes some memory as well.
    assert leaks <= measures <= leaks | {"memory"}, ended.printed
    assert ended.code == (1 if leaks else 0), ended.printed
    assert ("LEAK" in ended.out) == bool(leaks), ended.printed
    samples = json.loads((shell.work / "report" / "soak.json").read_text())["samples"]
    assert {sample["process"] for sample in samples} == {growth["process"] for growth in found["growths"]}


def test_ctrl_c_ends_a_soak_with_the_report_so_far(shell: Shell) -> None:
    command = shell.start("schedproof", "soak", "least-traffic-controller", "--minutes=60", "--report=report")
    command.says("1 of 60 min: ")
    command.interrupt()
    ended = command.ends()
    assert ended.code == 130, ended.printed
    assert "no statement about leaks can be made: too short" in ended.out, ended.printed
    assert "INTERRUPTED" in ended.out, ended.printed
    assert soaked(shell)["worlds"] > 0
    assert (shell.work / "report" / "report.html").exists()


def test_a_failing_world_ends_a_soak_and_is_saved(shell: Shell) -> None:
    ended = shell.schedproof("soak", "defects/first-container", "--minutes=30", "--seed=1", "--report=report")
    assert ended.code == 1, ended.printed
    (candidate,) = shell.report()["candidates"]
    failed = next(clause for clause in candidate["clauses"] if clause["id"] == "core/random-worlds")
    assert failed["code"] == "infeasible-node"
    assert f"schedproof replay {failed['evidence']['world']['id']}" in ended.out
