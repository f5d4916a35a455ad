"""`schedproof normalize` and `schedproof replay`, as a user types them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

REFERENCES = ("least-traffic-extender", "least-traffic-plugin")
DEFECTIVE = "described/d1-network-traffic/divides-by-zero"


def outcomes(candidate: dict[str, Any]) -> dict[str, str]:
    return {clause["id"]: clause["outcome"] for clause in candidate["clauses"]}


def test_the_references_pass_on_every_surface(shell: Shell) -> None:
    ended = shell.schedproof("normalize", *REFERENCES, "--report=report")
    assert ended.code == 0, ended.printed
    extender, plugin = shell.report()["candidates"]
    for candidate, surfaces in ((extender, ("python", "extender", "scheduler")), (plugin, ("plugin", "scheduler"))):
        assert set(outcomes(candidate).values()) <= {"passed", "not-claimed"}
        (order,) = [clause for clause in candidate["clauses"] if clause["id"] == "normalize/order"]
        cases = {scoring["surface"]: scoring["cases"] for scoring in order["evidence"]["scorings"]}
        assert tuple(cases) == surfaces
        assert all(cases[surface] > 100 for surface in surfaces if surface != "scheduler")
        assert cases["scheduler"] > 0
    (equal,) = [clause for clause in plugin["clauses"] if clause["id"] == "normalize/equal"]
    assert [scoring["surface"] for scoring in equal["evidence"]["scorings"]] == [
        "plugin",
        "normalize-score",
        "scheduler",
    ]


def test_a_failing_case_is_explained_and_replayed(shell: Shell) -> None:
    """On both surfaces the division by zero ends the process, and the crash is attributed to its case."""
    ended = shell.schedproof("normalize", DEFECTIVE, "--clause=normalize/zero", "--cases=20", "--report=report")
    assert ended.code == 1, ended.printed
    assert "plugin: the scorer crashed: panic: runtime error: integer divide by zero" in ended.out
    (candidate,) = shell.report()["candidates"]
    (zero,) = [clause for clause in candidate["clauses"] if clause["id"] == "normalize/zero"]
    plugin, alone, scheduler = zero["evidence"]["scorings"]
    for scoring in (plugin, alone, scheduler):
        (question,) = scoring["questions"]
        assert "integer divide by zero" in question["unanswered"]
        assert {node["reading"] for node in question["nodes"]} == {"0"}
    assert len(plugin["questions"][0]["nodes"]) == 2
    found = re.search(r"schedproof replay (\w+)", ended.out)
    assert found is not None, ended.printed
    again = shell.schedproof("replay", found[1])
    assert again.code == 1, again.printed
    assert "one of 1 cases" in again.out
    assert "integer divide by zero" in again.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("normalize", REFERENCES[0], "--surface=http"), "--surface http"),
        (("normalize", REFERENCES[0], "--cases=many"), "--cases many"),
        (("replay", "no-such-case"), "no-such-case"),
    ],
)
def test_invalid_options_of_normalize_and_replay_are_refused(
    shell: Shell, arguments: tuple[str, ...], message: str
) -> None:
    ended = shell.schedproof(*arguments)
    assert (ended.code, message in ended.err) == (2, True), ended.printed
