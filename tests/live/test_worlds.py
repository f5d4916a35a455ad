"""A search of `core/random-worlds`, as a user sees it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.documents.manifests import parse_manifests
from schedproof.foundation.content import content

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

CLAUSE = "core/random-worlds"
DEFECTIVE = """
apiVersion: schedproof/v1
kind: Candidate
extends: {defects}/controller.yaml
metadata: {{name: mine}}
spec:
  schedulerName: mine
  controller: {{env: {{DEFECT: first-container}}}}
"""
MENDED = """
apiVersion: schedproof/v1
kind: Candidate
extends: {reference}
metadata: {{name: mine}}
spec:
  schedulerName: mine
"""


def verdict(shell: Shell, report: str) -> dict[str, Any]:
    (candidate,) = shell.report(report)["candidates"]
    found: dict[str, Any] = next(clause for clause in candidate["clauses"] if clause["id"] == CLAUSE)
    return found


def test_a_failing_world_is_found_minimized_replayed_and_forgotten(shell: Shell) -> None:
    candidates, descriptor = content("fixtures", "candidates"), shell.work / "candidate.yaml"
    descriptor.write_text(DEFECTIVE.format(defects=candidates / "defects"))
    arguments = (f"--clause={CLAUSE}", "--seed=1", "--worlds=20")
    ended = shell.schedproof("run", "candidate.yaml", *arguments, "--report=found")
    assert ended.code == 1, ended.printed
    failed = verdict(shell, "found")
    assert (failed["outcome"], failed["code"]) == ("failed", "infeasible-node")
    world = failed["evidence"]["world"]
    assert re.match(r"1 node, [123] pods?: node-world-0 with \{allocatable: \{(cpu|memory): ", world["words"]), world
    assert f"schedproof replay {world['id']}" in ended.out
    (file,) = (shell.work / "found" / "candidates" / "mine").glob(world["file"])
    kinds = [entry["kind"] for entry in parse_manifests(file.read_text(), file)]
    assert (kinds[0], set(kinds[1:])) == ("Node", {"Pod"})

    again = shell.schedproof("replay", world["id"])
    assert again.code == 1, again.printed
    assert world["words"] in again.out

    descriptor.write_text(MENDED.format(reference=candidates / "least-traffic-controller"))
    mended = shell.schedproof("replay", world["id"])
    assert mended.code == 0, mended.printed
    ended = shell.schedproof("run", "candidate.yaml", *arguments, "--report=mended")
    assert ended.code == 0, ended.printed
    # That one, the two large ones, and those that are generated.
    assert verdict(shell, "mended")["summary"].startswith("23 worlds: ")
    gone = shell.schedproof("replay", world["id"])
    assert (gone.code, "no saved case has this id" in gone.err) == (2, True), gone.printed
