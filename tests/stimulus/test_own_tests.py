"""Tests of the user's own: how they become clauses, how these are judged, and the examples in docs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from schedproof.benchmark.workloads.reader import load_workload
from schedproof.clusters.spec import load_spec
from schedproof.foundation.content import content
from schedproof.history.acts import Asserted
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import why_unclaimed

from ..judge.histories import CLAIMS, HistoryBuilder, told

DOCS = content("suites").parent / "docs"
OWN = "own/spread"


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """For the tests that look at the whole catalogue."""
    yield
    CATALOGUE.pop(OWN, None)


def collected(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-c", "/dev/null")
    # hypothesis' plugin imports all of hypothesis to say nothing at the end, half of the time that this takes.
    argv = (*argv, "-p", "no:hypothesispytest", "--sched-candidate=stock", *options, str(folder))
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)


# -- what is a clause


def test_a_clause_of_ones_own_is_one_in_every_process() -> None:
    assert OWN in CATALOGUE
    assert CATALOGUE[OWN].id == OWN
    assert not why_unclaimed(CATALOGUE[OWN], CLAIMS)
    assert "others/spread" not in CATALOGUE
    with pytest.raises(KeyError):
        CATALOGUE["others/spread"]


def test_a_test_without_a_clause_is_selected_by_the_id_that_it_gets(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('size', [1, 2])\n"
        "def test_that_it_spreads(case, size): ...\n"
        "def test_other(case): ...\n"
        "def test_pure(): ...\n"
    )
    all_of_them = collected(tmp_path)
    assert all_of_them.returncode == 0, all_of_them.stdout
    assert "4 tests collected" in all_of_them.stdout
    one = collected(tmp_path, "--sched-clause=own/that-it-spreads[2]")
    assert one.returncode == 0, one.stdout
    assert "test_that_it_spreads[stock-2]" in one.stdout
    assert "2/4 tests collected (2 deselected)" in one.stdout  # and the one that needs no candidate


def test_one_that_is_not_there_is_not_left_out_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("def test_spread(case): ...\n")
    assert collected(tmp_path, "--sched-clause=own/spraed").returncode == pytest.ExitCode.USAGE_ERROR


def test_two_tests_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text("def test_same(case): ...\n")
    twins = collected(tmp_path, "--import-mode=importlib")
    assert twins.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_a.py::test_same[stock]" in twins.stderr


# -- how it is judged


def placed() -> HistoryBuilder:
    h = HistoryBuilder(OWN)
    h.pod("first", cpu="1")
    h.bind("first", "node-1")
    return h


def test_what_is_expected_has_to_come_to_pass() -> None:
    h = placed()
    h.expect("first", "bound")
    assert h.verdict().outcome == "passed"


def test_an_assertion_that_does_not_hold_fails_it() -> None:
    h = placed()
    h.expect("first", "bound")
    h.add(Asserted(case=OWN, text="assert 1 == 3"))
    told(h.verdict(), "failed", "assertion-failed", "assert 1 == 3")


def test_a_pod_where_it_does_not_fit_fails_it_without_an_assertion() -> None:
    h = HistoryBuilder(OWN)
    h.pod("large", cpu="9")
    h.bind("large", "node-1")
    h.expect("large", "bound")
    told(h.verdict(), "failed", "infeasible-node", "large")


def test_pods_of_which_nothing_is_expected_prove_nothing() -> None:
    told(placed().verdict(), "invalid", "nothing-expected", "case.expect_bound")


# -- the examples


@pytest.mark.parametrize("name", ["test_zones.py", "zones.yaml", "rollout.yaml"])
def test_the_page_shows_the_files(name: str) -> None:
    page = (DOCS / "own-tests.md").read_text()
    blocks = re.findall(r"^```\w+\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert (DOCS / "examples" / name).read_text() in blocks


def test_the_world_and_the_workload_can_be_read() -> None:
    spec = load_spec(DOCS / "examples" / "zones.yaml", count=None)
    zones = {node.labels["topology.kubernetes.io/zone"] for node in spec.nodes}
    assert zones == {"local-a", "local-b", "local-c"}
    assert load_workload(DOCS / "examples" / "rollout.yaml").name == "rollout"
    assert yaml.safe_load((DOCS / "examples" / "rollout.yaml").read_text())["kind"] == "Workload"


def test_what_the_page_says_that_case_offers_is_there() -> None:
    from schedproof.stimulus.case import Case
    from schedproof.stimulus.changes.candidate import CandidateChanges
    from schedproof.stimulus.changes.nodes import NodeChanges
    from schedproof.stimulus.changes.pods import PodChanges
    from schedproof.stimulus.traffic.load import LoadChanges

    parts = {"": Case, "pods": PodChanges, "nodes": NodeChanges, "candidate": CandidateChanges, "load": LoadChanges}
    page = (DOCS / "own-tests.md").read_text()
    table = page.partition("### What `case` offers")[2].partition("\n\nAll that")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    names = {name for cell in cells for name in re.findall(r"`(?:(\w+)\.)?(\w+)", cell)}
    assert len(names) > 20
    assert {name for part, name in names if not hasattr(parts[part], name)} <= {"random", "deadlines"}
