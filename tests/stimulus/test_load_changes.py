"""What scripted loads look like to a candidate that reads them wrongly."""

from __future__ import annotations

import dataclasses
import itertools
import random
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.judge.clauses.network.preference import ROTATIONS
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.traffic.chance import Chance
from schedproof.stimulus.traffic.load import UNCLAIMED, LoadChanges
from schedproof.stimulus.traffic.preference import PreferenceProbes


@pytest.mark.parametrize("count", [2, 3, 4, 16])
@pytest.mark.parametrize("seed", range(20))
def test_who_ranks_by_totals_is_never_right_by_chance(count: int, seed: int) -> None:
    load = {f"node-{number}": 1000.0 * (number + 1) for number in range(count)}
    changes: Any = SimpleNamespace(_context=SimpleNamespace(random=random.Random(seed)))
    totals = LoadChanges._totals(changes, load)
    assert totals.keys() == load.keys()
    assert min(totals, key=lambda node: totals[node]) != "node-0"
    if count > 2:
        assert max(totals, key=lambda node: totals[node]) != "node-0"


@pytest.mark.parametrize("choices", [[4] * 4, [4, 4], [4, 3, 2], [2], [16] * 8])
def test_so_many_probes_that_chance_passes_less_than_once_in_a_million(choices: list[int]) -> None:
    probes = Chance(nodes=4).probes_among(choices)
    chance, once_less = 1.0, 1.0
    for nodes in choices:
        chance /= nodes**probes
        once_less /= nodes ** (probes - 1)
    assert chance < 1e-6 <= once_less


def networked(resolution: float, count: int) -> LoadChanges:
    nodes = [f"node-{number}" for number in range(count)]
    cluster = SimpleNamespace(nodes=nodes, capabilities=frozenset(), device="eth0")
    context: Any = SimpleNamespace(trial=SimpleNamespace(cluster=cluster), recorder=None)
    names: Any = SimpleNamespace(names=random.Random(1).sample(nodes, count))
    view: Any = None
    return LoadChanges(context, dataclasses.replace(UNCLAIMED, resolution=resolution), names, view)


@pytest.mark.parametrize("resolution", [0.001, 0.01, 0.1, 0.2, 1.0, 10.0])
@pytest.mark.parametrize("count", [2, 4, 16])
def test_loads_differ_by_hardly_more_than_the_claimed_resolution(resolution: float, count: int) -> None:
    load = networked(resolution, count).traffic("node-0")
    assert min(load, key=load.__getitem__) == "node-0"
    rates = sorted(load.values())[: ROTATIONS + 1]
    for less, more in itertools.pairwise(rates):
        assert resolution < more / less - 1 < 1.11 * resolution


@pytest.mark.parametrize("resolution", [0.001, 0.1, 1.0])
def test_of_undecided_loads_two_are_within_the_claimed_resolution(resolution: float) -> None:
    load = networked(resolution, 5).undecided("node-0", "node-1")
    least, second, *others = sorted(load.values())
    assert load["node-0"] == least < load["node-1"] == second
    assert 0.8 * resolution < second / least - 1 < resolution
    assert all(other / least - 1 > resolution > other / second - 1 for other in others)


def test_all_pods_that_are_asked_about_have_one_owner_which_exists_until_the_end() -> None:
    existing: dict[str, str] = {}
    asked: list[dict[str, Any]] = []

    def create(_resource: str, _body: Any, _namespace: str) -> dict[str, Any]:
        existing["owner-1"] = "uid-1"
        return {"metadata": {"name": "owner-1", "uid": "uid-1"}}

    def delete(_resource: str, name: str, _namespace: str) -> None:
        del existing[name]

    api = SimpleNamespace(create=create, delete_if_there=delete)
    context: Any = SimpleNamespace(api=api, trial=SimpleNamespace(namespace="sp-tested"), recorder=None)
    pods: Any = SimpleNamespace(create=lambda _name, **spec: asked.append(spec))
    expect: Any = SimpleNamespace(bound=lambda _pods: None)
    other: Any = None
    load: Any = SimpleNamespace(await_burst=lambda: None)
    probes = PreferenceProbes(context, load, pods, expect, other, other)
    for _ in range(2):
        probes.ask("probe", 0)
    (one, two) = (spec["owner"] for spec in asked)
    assert one == two
    assert existing == {one["name"]: one["uid"]}
    probes.undo()
    assert not existing


def test_where_nothing_was_asked_there_is_no_owner_to_remove() -> None:
    context: Any = SimpleNamespace(trial=None, recorder=None)
    other: Any = None
    PreferenceProbes(context, other, other, other, other, other).undo()


def test_nodes_that_join_are_in_another_order_by_name_than_by_age() -> None:
    cluster = SimpleNamespace(nodes=["node-1", "node-2"])
    changes: Any = SimpleNamespace(_context=SimpleNamespace(random=random.Random(1)), _cluster=cluster, add_named=list)
    nodes = NodeChanges.up_to(changes, 24)
    assert len({*nodes}) == 24
    assert nodes[:2] == cluster.nodes
    assert nodes[2:] not in (sorted(nodes[2:]), sorted(nodes[2:], reverse=True))
    assert NodeChanges.up_to(changes, 1) == cluster.nodes
