"""Scores are read from the log that a kube-scheduler writes at level 10 (lines of v1.36.3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.history.observations import NodeScore
from schedproof.recording.scores import ScoreTail, parse_score

POD = "sp-least-traffic-extender/core-binds-probe-1"
PLUGIN = (
    'I1120 14:32:17.163129      73 schedule_one.go:982] "Plugin scored node for pod" '
    f'pod="{POD}" plugin="TaintToleration" node="node-2" score=300'
)
EXTENDER = (
    'I1120 14:32:17.185730      73 schedule_one.go:1016] "Extender scored node for pod" '
    f'pod="{POD}" extender="http://127.0.0.1:43849" node="node-2" score=10'
)
TOTAL = (
    'I1120 14:32:17.185865      73 schedule_one.go:1050] "Calculated node\'s final score for pod" '
    f'pod="{POD}" node="node-2" score=20472'
)
BOUND = (
    'I1120 14:32:17.199960      73 schedule_one.go:481] "Successfully bound pod to node" '
    f'pod="{POD}" node="node-3" evaluatedNodes=4 feasibleNodes=4'
)
OTHERS = [
    "",
    'I1120 14:32:16.663103      73 flags.go:64] FLAG: --allow-metric-labels="[]"',
    f'I1120 14:32:17.150997      73 schedule_one.go:123] "Attempting to schedule pod" pod="{POD}"',
    BOUND,
    PLUGIN.partition(" score=")[0],
]


@pytest.mark.parametrize(
    ("line", "scorer", "score"),
    [
        (PLUGIN, "TaintToleration", 300),
        (EXTENDER, "extender", 10),  # whichever port it had
        (TOTAL, "total", 20472),
        (PLUGIN.replace("score=300", "score=0"), "TaintToleration", 0),
        (PLUGIN.replace("score=300", "score=-9223372036854775808"), "TaintToleration", -(2**63)),
        (TOTAL + "\n", "total", 20472),
    ],
)
def test_a_line_with_a_score_is_read(line: str, scorer: str, score: int) -> None:
    assert parse_score(line) == NodeScore(pod=POD, scorer=scorer, node="node-2", score=score)


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_have_no_score(line: str) -> None:
    assert parse_score(line) is None


def test_any_valid_node_name_is_read() -> None:
    name = "ip-10-0-0-1.eu-central-1.compute.internal"
    score = parse_score(PLUGIN.replace("node-2", name))
    assert score is not None
    assert score.node == name


# -- following a log


def write(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "scheduler.log").touch()
    return tmp_path / "scheduler.log"


def read(tail: ScoreTail) -> list[int]:
    return [score.score for score in tail.read()]


def test_each_score_is_read_once(log: Path) -> None:
    tail = ScoreTail(log)
    write(log, f"{OTHERS[1]}\n{PLUGIN}\n{OTHERS[2]}\n")
    assert read(tail) == [300]
    assert read(tail) == []
    write(log, f"{EXTENDER}\n{TOTAL}\n")
    assert read(tail) == [10, 20472]
    tail.close()


def test_scores_that_were_logged_before_are_read(log: Path) -> None:
    """The log belongs to the candidate: it begins with its start."""
    write(log, f"{PLUGIN}\n")
    tail = ScoreTail(log)
    assert read(tail) == [300]
    tail.close()


def test_an_incomplete_line_is_read_once_it_is_complete(log: Path) -> None:
    """The beginning of a line is not read as score=30, though it would be a valid line."""
    tail = ScoreTail(log)
    write(log, PLUGIN[:-1])
    assert read(tail) == []
    write(log, f"{PLUGIN[-1]}\n{TOTAL}")
    assert read(tail) == [300]
    write(log, "\n")
    assert read(tail) == [20472]
    tail.close()


def test_bytes_that_are_not_text_are_skipped(log: Path) -> None:
    tail = ScoreTail(log)
    with log.open("ab") as file:
        file.write(b"\xff\xfe\x00 garbage\n" + PLUGIN.encode() + b"\n")
    assert read(tail) == [300]
    tail.close()
