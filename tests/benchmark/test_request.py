from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from schedproof.benchmark.bench import contestants
from schedproof.benchmark.request import Request, prepare
from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.progress import SilentProgress


@pytest.fixture(autouse=True)
def _no_builds(monkeypatch) -> None:
    monkeypatch.setattr("schedproof.benchmark.request.paths", lambda *_, **__: {})


def _prepare(tmp_path: Path, **fields):
    request = Request(candidates=["stock"], folder=tmp_path / "report", seed=1, rounds=10)
    return prepare(dataclasses.replace(request, **fields), {}, SilentProgress())


def test_default_is_the_basic_workload_in_all_modes_against_stock(tmp_path) -> None:
    plan = _prepare(tmp_path, candidates=["least-traffic-extender"])
    assert plan.baseline == "stock"
    assert list(plan.contestants) == ["stock", "least-traffic-extender"]
    assert [workload.name for workload in plan.workloads] == ["basic"]
    assert list(plan.modes) == ["drain", "open-loop", "one-at-a-time"]


def test_baseline_as_candidate_is_compared_with_itself() -> None:
    stock = find_candidate("stock")
    assert list(contestants(stock, [stock])) == ["stock", "stock-again"]


def test_the_same_candidate_twice_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="two candidates have the name"):
        _prepare(tmp_path, candidates=["stock", "stock"])


@pytest.mark.parametrize("chosen", [False, True])
def test_candidates_with_a_configuration_of_their_own_score_all_nodes_by_choice(tmp_path, chosen: bool) -> None:
    plan = _prepare(tmp_path, candidates=["benchmark/adaptive"], score_all_nodes=chosen)
    assert plan.contestants["stock"].scheduler_config is None
    assert plan.contestants["adaptive"].scheduler_config.get("percentageOfNodesToScore") == (100 if chosen else None)


def test_several_node_counts_are_workloads_of_one_family(tmp_path) -> None:
    plan = _prepare(tmp_path, nodes=[20, 100], pods=20)
    assert [(workload.name, workload.nodes, workload.pods) for workload in plan.workloads] == [
        ("basic-20", 20, 20),
        ("basic-100", 100, 20),
    ]
    assert plan.families == {"basic-20": "basic", "basic-100": "basic"}


def test_single_node_count_keeps_the_name_of_the_workload(tmp_path) -> None:
    (workload,) = _prepare(tmp_path, nodes=[70]).workloads
    assert (workload.name, workload.nodes) == ("basic", 70)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"modes": ["drian"]}, "--mode drian: unknown mode"),
        ({"rounds": 4}, "--rounds 4: expected 5 to"),
        ({"cluster": "existing"}, "--cluster existing is not supported in benchmarks"),
        ({"node_image": "x"}, "--node-image is not supported with --cluster embedded"),
        ({"nodes": [5]}, "basic: 5 nodes have too little cpu"),
        ({"workloads": ["bsaic"]}, "bsaic"),
        ({"candidates": ["no-such"]}, "no-such"),
        ({"scheduler_perf": Path("x.yaml"), "nodes": [5]}, "--nodes and --pods are not supported with"),
    ],
)
def test_invalid_request_is_refused_and_nothing_is_written(tmp_path, fields, message) -> None:
    with pytest.raises(UsageError, match=message):
        _prepare(tmp_path, **fields)
    assert not list(tmp_path.iterdir())


def test_results_are_never_overwritten(tmp_path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "bench.json").write_text("{}")
    with pytest.raises(UsageError, match="results of an earlier benchmark"):
        _prepare(tmp_path)


def test_folder_that_cannot_be_created_is_an_error(tmp_path) -> None:
    (tmp_path / "report").write_text("a file")
    with pytest.raises(HostError, match="cannot write results"):
        _prepare(tmp_path)


def test_candidate_that_needs_its_own_world_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"spec\.world"):
        _prepare(tmp_path, candidates=["unusual/opens-queues"])
