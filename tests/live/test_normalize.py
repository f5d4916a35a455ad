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


def test_the_references_keep_what_they_promise_on_every_surface(shell: Shell) -> None:
    ended = shell.schedproof("normalize", *REFERENCES, "--report=report")
    assert ended.code == 0, ended.said
    extender, plugin = shell.report()["candidates"]
    for candidate, surfaces in ((extender, ("python", "extender", "scheduler")), (plugin, ("plugin", "scheduler"))):
        assert set(outcomes(candidate).values()) <= {"passed", "not-claimed"}
        (order,) = [clause for clause in candidate["clauses"] if clause["id"] == "normalize/order"]
        asked = {one["surface"]: one["cases"] for one in order["evidence"]["scorings"]}
        assert tuple(asked) == surfaces
        assert all(asked[surface] > 100 for surface in surfaces if surface != "scheduler")
        assert asked["scheduler"] > 0
    (equal,) = [clause for clause in plugin["clauses"] if clause["id"] == "normalize/equal"]
    assert [one["surface"] for one in equal["evidence"]["scorings"]] == ["plugin", "normalize-score", "scheduler"]


def test_a_failing_case_is_explained_and_replayed(shell: Shell) -> None:
    """On both surfaces the division by zero ends the process, and is told of the case that did it."""
    ended = shell.schedproof("normalize", DEFECTIVE, "--clause=normalize/zero", "--cases=20", "--report=report")
    assert ended.code == 1, ended.said
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
    assert found is not None, ended.said
    again = shell.schedproof("replay", found[1])
    assert again.code == 1, again.said
    assert "one of 1 cases" in again.out
    assert "integer divide by zero" in again.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("normalize", REFERENCES[0], "--surface=http"), "--surface http"),
        (("normalize", REFERENCES[0], "--cases=many"), "--cases many"),
        (("replay", "no-such-case"), "no-such-case"),
    ],
)
def test_what_cannot_be_meant_is_refused(shell: Shell, arguments: tuple[str, ...], said: str) -> None:
    ended = shell.schedproof(*arguments)
    assert (ended.code, said in ended.err) == (2, True), ended.said
