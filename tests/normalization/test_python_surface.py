"""A scoring function in its own process: questions, answers, and ways to end."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import CANDIDATE_STOP, Deadline
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.normalization.answer import Answer, Readings
from schedproof.normalization.surfaces.python import PythonSurface, last_words

DESCRIPTOR = """
apiVersion: schedproof/v1
kind: Candidate
metadata: {name: bare}
spec:
  schedulerName: bare
  controller: {command: [sleep]}
  scoring: {python: "SCORING"}
"""
ASKS = """
import pathlib, sys
from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.normalization.surfaces.python import PythonSurface
PythonSurface(load_candidate(pathlib.Path(sys.argv[1]))).ask((("a", 1.0),))
"""
READINGS: Readings = (("b", 2.0), ("a", 1.0))


@pytest.fixture
def surface(tmp_path: Path) -> Iterator[Callable[..., PythonSurface]]:
    """Return a factory of surfaces for a function `score`, given as the source of its module."""
    made: list[PythonSurface] = []

    def make(source: str, entry_point: str = "mine:score", **options: Deadline) -> PythonSurface:
        (tmp_path / "mine.py").write_text(textwrap.dedent(source))
        (tmp_path / "candidate.yaml").write_text(DESCRIPTOR.replace("SCORING", entry_point))
        made.append(PythonSurface(load_candidate(tmp_path), **options))
        return made[-1]

    yield make
    for made_surface in made:
        made_surface.close()


def test_scores_keep_their_order_and_type(surface: Callable[..., PythonSurface]) -> None:
    tested = surface("def score(readings): return {node: 7 if node == 'a' else 1.5 for node in readings}")
    assert tested.ask(READINGS) == Answer(scores=(("b", 1.5), ("a", 7)))
    assert [type(score) for _, score in tested.ask(READINGS).scores] == [float, int]


def test_pairs_may_contain_duplicate_and_unknown_nodes(surface: Callable[..., PythonSurface]) -> None:
    tested = surface("def score(readings): return [('a', 1), ('a', 2), ('stranger', 3)]")
    assert tested.ask(READINGS).scores == (("a", 1), ("a", 2), ("stranger", 3))


def test_readings_without_a_json_representation_are_passed(surface: Callable[..., PythonSurface]) -> None:
    tested = surface(
        """
        import math
        def score(readings):
            assert list(readings) == ["n", "i", "m", "none", "tiny"]
            n, i, m, none, tiny = readings.values()
            return {"ok": math.isnan(n) and i == math.inf and m == -math.inf and none is None and tiny == 5e-324,
                    "nan": math.nan, "inf": -math.inf}
        """
    )
    readings = (("n", math.nan), ("i", math.inf), ("m", -math.inf), ("none", None), ("tiny", 5e-324))
    (_, ok), (_, nan), (_, inf) = tested.ask(readings).scores
    assert (ok, math.isnan(nan), inf) == (1, True, -math.inf)


def test_stdout_and_stdin_of_the_function_do_not_disturb_the_protocol(surface: Callable[..., PythonSurface]) -> None:
    tested = surface(
        """
        import os, sys
        print("hello")
        def score(readings):
            print("{}"); os.write(1, b"[]\\n"); sys.stderr.write("noise\\n")
            return dict.fromkeys(readings, len(sys.stdin.read()))
        """
    )
    assert tested.ask(READINGS).scores == (("b", 0), ("a", 0))


def test_exception_is_a_crash_and_the_process_continues(surface: Callable[..., PythonSurface]) -> None:
    tested = surface(
        """
        import os
        def score(readings):
            return {node: os.getpid() // reading for node, reading in readings.items()}
        """
    )
    before = tested.ask(READINGS)
    assert tested.ask((("a", 0),)) == Answer(crash="ZeroDivisionError: integer division or modulo by zero (mine.py:4)")
    assert tested.ask(READINGS) == before


@pytest.mark.parametrize(
    ("end", "crash"),
    [
        ("print('giving up'); sys.stdout.flush(); os._exit(3)", "the process ended with exit code 3: giving up"),
        ("sys.exit('no such node')", "the process ended with exit code 1: no such node"),
        ("os.kill(os.getpid(), 9)", "the process ended with signal SIGKILL"),
        ("ctypes.string_at(0)", "the process ended with signal SIGSEGV: Segmentation fault (__init__.py:"),
    ],
)
def test_exit_is_a_crash_and_the_next_question_is_answered(
    surface: Callable[..., PythonSurface], end: str, crash: str
) -> None:
    tested = surface(
        f"""
        import ctypes, os, sys
        def score(readings):
            if 0 in readings.values():
                {end}
            return dict.fromkeys(readings, 1)
        """
    )
    assert tested.ask(READINGS).scores
    assert tested.ask((("a", 0.0),)).crash.startswith(crash)
    assert tested.ask(READINGS) == Answer(scores=(("b", 1), ("a", 1)))


def test_hang_is_a_crash_and_the_next_question_is_answered(surface: Callable[..., PythonSurface]) -> None:
    tested = surface(
        """
        def score(readings):
            while 0 in readings.values(): pass
            return dict.fromkeys(readings, 1)
        """,
        deadline=Deadline("a short one", 2, "for this test"),
    )
    assert tested.ask((("a", 0.0),)) == Answer(crash="no answer within 2 s")
    assert tested.ask(READINGS).scores


def test_result_that_is_not_scores_is_reported(surface: Callable[..., PythonSurface]) -> None:
    tested = surface(
        """
        def score(readings):
            return [None, {"a": None}, {"a": 10**400}][int(readings["a"])]
        """
    )
    assert [tested.ask((("a", which),)).crash.split(":")[0] for which in (0.0, 1.0)] == ["TypeError", "TypeError"]
    assert tested.ask((("a", 2.0),)) == Answer(refusal="a score is too large for a float64")


def test_five_thousand_nodes_are_scored(surface: Callable[..., PythonSurface]) -> None:
    tested = surface("def score(readings): return {node: int(reading) for node, reading in readings.items()}")
    readings = tuple((f"node-{number}", float(number)) for number in range(5000))
    assert tested.ask(readings).scores == readings


@pytest.mark.parametrize(
    ("entry_point", "why"),
    [
        ("absent:score", "ModuleNotFoundError: No module named 'absent'"),
        ("mine:absent", "has no attribute 'absent'"),
        ("mine:LIMIT", "mine:LIMIT is 100, which cannot be called"),
        ("broken:score", "NameError: name 'undefined' is not defined (broken.py:1)"),
        ("quits:score", "SystemExit: 2 (quits.py:2)"),
    ],
)
def test_function_that_cannot_be_loaded_is_an_error(
    surface: Callable[..., PythonSurface], tmp_path: Path, entry_point: str, why: str
) -> None:
    (tmp_path / "broken.py").write_text("undefined")
    (tmp_path / "quits.py").write_text("import sys\nsys.exit(2)")
    with pytest.raises(CandidateError) as raised:
        surface("LIMIT = 100", entry_point)
    assert why in raised.value.message
    assert str(tmp_path) in raised.value.remedy


def test_candidate_modules_hide_no_standard_modules_and_leave_no_cache(
    surface: Callable[..., PythonSurface], tmp_path: Path
) -> None:
    (tmp_path / "json.py").write_text("raise ImportError('not this one')")
    (tmp_path / "neighbour.py").write_text("BEST = 100")
    tested = surface("import neighbour\ndef score(readings): return dict.fromkeys(readings, neighbour.BEST)")
    assert tested.ask(READINGS).scores == (("b", 100), ("a", 100))
    assert not (tmp_path / "__pycache__").exists()


def test_process_ends_with_the_harness_even_during_a_question(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os, pathlib\n"
        "def score(readings):\n"
        "    pathlib.Path('pid').write_text(str(os.getpid()))\n"
        "    while True: pass\n"
    )
    (tmp_path / "candidate.yaml").write_text(DESCRIPTOR.replace("SCORING", "mine:score"))
    harness = subprocess.Popen((sys.executable, "-c", ASKS, str(tmp_path)))

    def started() -> int:
        text = (tmp_path / "pid").read_text() if (tmp_path / "pid").exists() else ""
        if not text:
            raise NotYet("no pid")
        return int(text)

    try:
        pid = wait_for(started, Deadline("asked", 60, "an interpreter starts"), what="the question")
    finally:
        harness.kill()
        harness.wait()

    def gone() -> None:
        if Path(f"/proc/{pid}").exists() and "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
            raise NotYet("it runs")

    wait_for(gone, CANDIDATE_STOP, what="the worker to end")


def test_last_words_are_the_last_line_or_the_fatal_error() -> None:
    assert last_words("") == ""
    assert last_words("one\ntwo\n\n") == "two"
    assert last_words('Fatal Python error: Aborted\n\n  File "/a/b.py", line 3 in f\n') == "Aborted (b.py:3)"


def test_reference_extender_scores_like_its_prioritize_verb() -> None:
    reference = PythonSurface(load_candidate(content("fixtures", "candidates", "least-traffic-extender")))
    try:
        readings = (("loud", 5000.0), ("a", 100.0), ("unknown", None), ("b", 108.0), ("nan", math.nan), ("c", 111.0))
        scores = dict(reference.ask(readings).scores)
    finally:
        reference.close()
    # The median of the four known readings is 109.5, which is within 10 % of the quietest.
    assert scores == {"loud": 8, "a": 10, "unknown": 10, "b": 10, "nan": 10, "c": 9}
