"""The client of the driver: its commands, the answers, and failures of the driver.

The program here is a stand-in that follows a script; tests/live/test_driver.py has the real driver.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.benchmark.driver import Bound, Churned, ChurnLoad, Created, Driver, Pods, PodTimes, Timed
from schedproof.foundation.errors import CandidateError, HostError

TEMPLATE = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}
PODS = Pods("measured", "bench", "pod-", 2, [TEMPLATE])
SENT = {"group": "measured", "namespace": "bench", "prefix": "pod-", "count": 2, "templates": [TEMPLATE]}
CREATED = {"started": 5.0, "seconds": 1.0, "capped": 0}

STAND_IN = """\
#!{python}
import json, pathlib, socket, sys
here = pathlib.Path(__file__).parent
answers = json.loads((here / "answers.json").read_text())
connection = socket.socket(fileno=0)
for line in connection.makefile("rb"):
    command = json.loads(line)
    with (here / "commands.jsonl").open("ab") as commands:
        commands.write(line)
    if command["op"] == "cancel":
        connection.sendall(json.dumps({{"id": command["id"], "error": "cancelled"}}).encode() + b"\\n")
    elif not answers:
        print("panic: no more answers", flush=True)
        sys.exit(2)
    elif (answer := answers.pop(0)) is not None:
        connection.sendall(json.dumps({{"id": command["id"], **answer}}).encode() + b"\\n")
"""


class Dead:
    """A watched process that has ended."""

    def exit_error(self) -> CandidateError:
        return CandidateError("the scheduler has ended")


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Callable[..., Driver]]:
    """Return a factory of drivers that give these answers; None: no answer."""
    program = tmp_path / "stand-in"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    started: list[Driver] = []

    def start(*answers: dict[str, Any] | None) -> Driver:
        (tmp_path / "answers.json").write_text(json.dumps(answers))
        started.append(Driver(program, tmp_path / "logs"))
        return started[-1]

    yield start
    for driver in started:
        driver.close()


def commands(tmp_path: Path) -> list[dict[str, Any]]:
    """Commands that the stand-in received, without their ids."""
    lines = map(json.loads, (tmp_path / "commands.jsonl").read_text().splitlines())
    return [{key: value for key, value in line.items() if key != "id"} for line in lines]


ASKED: dict[str, tuple[Callable[[Driver], Any], dict[str, Any], dict[str, Any], Any]] = {
    "nodes take labels in turn": (
        lambda driver: driver.create_nodes({"kind": "Node"}, ["a", "b"], {"zone": ("1", "2")}),
        {"op": "nodes", "template": {"kind": "Node"}, "names": ["a", "b"], "labels": {"zone": ["1", "2"]}},
        {}, None,
    ),
    "namespaces": (
        lambda driver: driver.create_namespaces(("bench",)), {"op": "namespaces", "names": ["bench"]}, {}, None,
    ),
    "as fast as it can": (
        lambda driver: driver.create(PODS), {"op": "create", **SENT}, CREATED, Created(5.0, 1.0, 0),
    ),
    "by the clock": (
        lambda driver: driver.arrive(PODS, (0.5, 1.5)),
        {"op": "create", **SENT, "arrivals": [0.5, 1.5]}, {**CREATED, "capped": 1}, Created(5.0, 1.0, 1),
    ),
    "one at a time": (
        lambda driver: driver.one_at_a_time(PODS, 3.0, pauses=[0.5, 0.25]),
        {"op": "one", **SENT, "seconds": 3.0, "pauses": [0.5, 0.25]}, {"bound": 1, "pods": 2}, Bound(1, 2),
    ),
    "waiting": (
        lambda driver: driver.wait("measured", 0.5),
        {"op": "wait", "group": "measured", "seconds": 0.5}, {"bound": 1, "pods": 2}, Bound(1, 2),
    ),
    "binding": (
        lambda driver: driver.bind("measured", ("a",)),
        {"op": "bind", "group": "measured", "nodes": ["a"]}, {"pods": 2, "seconds": 0.1}, Timed(2, 0.1),
    ),
    "a group is deleted": (
        lambda driver: driver.delete("measured"),
        {"op": "delete", "group": "measured"}, {"pods": 2, "seconds": 0.1}, Timed(2, 0.1),
    ),
    "a namespace is emptied": (
        lambda driver: driver.delete_all("bench"),
        {"op": "delete", "namespace": "bench"}, {"pods": 2, "seconds": 0.1}, Timed(2, 0.1),
    ),
    "churn begins": (
        lambda driver: driver.start_churn("one", ChurnLoad("recreate", 1, [TEMPLATE], 0.5, "bench")),
        {
            "op": "churn", "churn": "one", "mode": "recreate", "number": 1, "templates": [TEMPLATE], "interval": 0.5,
            "namespace": "bench",
        },
        {}, None,
    ),
    "churn ends": (
        lambda driver: driver.stop_churn("one"), {"op": "churn-stop", "churn": "one"},
        {"created": 3, "deleted": 2, "failed": 1, "failure": "no"}, Churned(3, 2, 1, "no"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("command_name", ASKED)
def test_each_command_is_sent_and_its_answer_is_read(
    command_name: str, answering: Callable[..., Driver], tmp_path: Path
) -> None:
    ask, command, answer, expected = ASKED[command_name]
    assert ask(answering(answer)) == expected
    assert commands(tmp_path) == [command]


def test_missing_times_of_rows_are_read_as_none(answering: Callable[..., Driver], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "pod,uid,intended,sent,answered,shown,seen,node\n"
        "pod-0,u0,10.000000,10.000100,10.002000,10.001500,10.500001,node-3\n"
        "pod-1,,10.100000,10.100000,,,,\n"
    )
    assert answering({}).rows("measured", path) == (
        PodTimes("pod-0", "u0", 10.0, 10.0001, 10.002, 10.500001, "node-3", 10.0015),
        PodTimes("pod-1", "", 10.1, 10.1, None, None, ""),
    )
    assert commands(tmp_path) == [{"op": "rows", "group": "measured", "path": str(path)}]


def test_error_has_the_message_of_the_driver(answering: Callable[..., Driver]) -> None:
    driver = answering({"error": 'create: namespaces "bench" not found'}, CREATED)
    with pytest.raises(HostError, match='namespaces "bench" not found'):
        driver.create(PODS)
    assert driver.create(PODS) == Created(5.0, 1.0, 0)


def test_error_has_the_last_words_of_a_driver_that_ended(answering: Callable[..., Driver]) -> None:
    with pytest.raises(HostError, match="panic: no more answers"):
        answering().create(PODS)


def test_end_of_a_watched_process_cancels_the_command(answering: Callable[..., Driver], tmp_path: Path) -> None:
    """The command is cancelled, and its late answer is not used for the next command."""
    driver = answering(None, {"bound": 0, "pods": 0})
    with pytest.raises(CandidateError, match="the scheduler has ended"):
        driver.arrive(PODS, (0.0, 3600.0), watching=(Dead(),))
    assert driver.wait("measured", 0.1) == Bound(0, 0)
    assert [command["op"] for command in commands(tmp_path)] == ["create", "cancel", "wait"]
