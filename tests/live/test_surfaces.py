"""The same readings on every surface where a running candidate can be queried: real Prometheus, real scheduler."""

from __future__ import annotations

import contextlib
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.clusters.cluster import Cluster
from schedproof.foundation.content import content
from schedproof.foundation.progress import SilentProgress
from schedproof.normalization.answer import Answer, Surface
from schedproof.run.launch import Settings
from schedproof.run.session import Session
from schedproof.stimulus.case import Case
from schedproof.stimulus.trial import Trial

Opened = Callable[..., dict[str, Surface]]

pytestmark = [pytest.mark.live, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    session = Session(Settings(report=tmp_path_factory.mktemp("surfaces")), SilentProgress())
    with contextlib.closing(session):
        yield session.cluster


@pytest.fixture
def opened(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Attach a candidate (by its path, or by its name if it is shipped); return its surfaces by name."""
    with contextlib.ExitStack() as closing:

        def attach(name: str | Path) -> dict[str, Surface]:
            candidate = load_candidate(content("fixtures", "candidates") / name)
            trial = closing.enter_context(
                contextlib.closing(Trial(cluster, candidate, tmp_path_factory.mktemp("trial"), seed=1))
            )
            case = closing.enter_context(contextlib.closing(Case(trial, "normalize/order")))
            return {surface.name: surface for surface in case.scores.live.surfaces}

        yield attach


def ask(surface: Surface, *values: float | None) -> Answer:
    """Give the nodes these readings, in order, and return the answer, which has its scores in that order."""
    answer = surface.ask(tuple(zip(surface.nodes, values, strict=False)))
    scores = sorted(answer.scores, key=lambda score: surface.nodes.index(score[0]))
    return type(answer)(tuple(scores), answer.crash, answer.refusal, answer.filtered)


def scores(surface: Surface, *values: float | None) -> list[float]:
    answer = ask(surface, *values)
    assert [node for node, _ in answer.scores] == list(surface.nodes[: len(values)]), answer
    return [score for _, score in answer.scores]


def test_the_reference_extender_gives_the_same_scores_directly_and_in_the_scheduler(opened: Opened) -> None:
    surfaces = opened("least-traffic-extender")
    assert list(surfaces) == ["extender", "scheduler"]
    for surface in surfaces.values():
        assert scores(surface, 1e6, 1.2e6, 1.4e6) == [10, 9, 8]
        assert scores(surface, 0.0, 0.0, 0.0, 0.0) == [10, 10, 10, 10]
        assert scores(surface, 1e300, 1e-6, 0.0) == [8, 9, 10]
        # What has no reading competes as the median of what is known.
        assert scores(surface, 1e6, None, 4e6, 2e6) == [10, 9, 8, 9]
        assert scores(surface, 1e6, math.nan, 4e6) == [10, 9, 8]
        assert scores(surface, 1e6, math.inf, 4e6) == [10, 9, 8]
        assert scores(surface, None, None) == [0, 0]
    assert scores(surfaces["extender"], 5.0) == [10]


def test_the_reference_plugin_gives_the_documented_scores_in_the_scheduler(opened: Opened) -> None:
    surfaces = opened("least-traffic-plugin")
    assert list(surfaces) == ["scheduler"]
    surface = surfaces["scheduler"]
    assert scores(surface, 1e6, 1.2e6, 1.4e6) == [100, 50, 0]
    assert scores(surface, 1e6, None, 4e6, 2e6) == [100, 50, 0, 50]
    assert scores(surface, 1e6, math.nan, 4e6) == [100, 50, 0]
    # Without any reading its PreScore says Skip: it has no preference.
    assert scores(surface, None, None) == [100, 100]


def test_scores_beyond_the_range_are_reported_unchanged(opened: Opened) -> None:
    for surface in opened("defects/scores-beyond-ten").values():
        assert scores(surface, 1e6, 1.2e6, 1.4e6) == [100, 95, 90]


def test_a_query_that_ends_the_scheduler_is_reported_and_the_next_is_answered(opened: Opened) -> None:
    surface = opened("described/d1-network-traffic/divides-by-zero")["scheduler"]
    assert scores(surface, 1e6, 1.2e6, 1.4e6) == [29, 15, 0]
    ended = ask(surface, 0.0, 0.0)
    assert ended.crash.endswith("panic: runtime error: integer divide by zero")
    assert not ended.scores
    assert scores(surface, 1e6, 1.2e6, 1.4e6) == [29, 15, 0]


def test_a_score_that_the_framework_refuses_is_quoted(opened: Opened) -> None:
    """Multiplied by 100 these exceed int64 and become negative."""
    surface = opened("described/d1-network-traffic/overflows")["scheduler"]
    answer = ask(surface, 1e17, 2e17, 3e17)
    assert "returns an invalid score" in answer.refusal
    assert not answer.scores


@pytest.mark.parametrize(
    ("name", "argument", "rejecting", "best", "next_best"),
    [
        ("least-traffic-extender", "--on-missing=neutral", "--on-missing=reject", 10, 9),
        ("least-traffic-plugin", "onMissing: neutral", "onMissing: reject", 100, 0),
    ],
)
def test_nodes_that_a_candidate_filters_are_named(
    opened: Opened, tmp_path: Path, name: str, argument: str, rejecting: str, best: int, next_best: int
) -> None:
    """If a single node is left, kube-scheduler scores none, and that node counts as the best."""
    shutil.copytree(content("fixtures", "candidates", name), tmp_path / "mine")
    file = tmp_path / "mine" / "candidate.yaml"
    text = file.read_text().replace(argument, rejecting).replace("on-missing: neutral", "on-missing: reject")
    file.write_text(
        text.replace(f"name: {name}}}", f"name: {name}-rejecting}}")
    )  # candidates of the same name share a namespace
    for surface in opened(tmp_path / "mine").values():
        first, second, third, *_ = surface.nodes
        answer = ask(surface, 1e6, None, 2e6)
        assert (answer.scores, answer.filtered) == (((first, best), (third, next_best)), (second,)), answer
        answer = ask(surface, 1e6, None)
        assert (answer.scores, answer.filtered) == (((first, best),), (second,)), answer
        answer = ask(surface, None, None, 1e6, 1e6)
        assert (answer.scores, set(answer.filtered)) == (((third, best), (surface.nodes[3], best)), {first, second})
