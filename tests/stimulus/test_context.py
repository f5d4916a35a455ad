"""What a candidate does not support ends a case that needs it, and is on record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from schedproof.candidate.claims import Exclusion
from schedproof.history.acts import Unsupported
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import CaseOver, Context

from .world import World

PORT = [{"containerPort": 80, "hostPort": 80}]


def excluding(world: World, *clauses: str, about: str) -> Context:
    exclusions = tuple(Exclusion(clause, "not supported") for clause in clauses)
    world.trial.candidate = dataclasses.replace(world.trial.candidate, exclusions=exclusions)
    return Context.of(world.trial, about)


def test_a_pod_that_needs_it_is_not_created(world: World) -> None:
    pods = PodChanges(excluding(world, "core/host-port", about="core/binds"))
    with pytest.raises(CaseOver):
        pods.create(ports=PORT)
    assert pods.create().uid
    assert pods.create(ports=PORT, claimed=True).uid
    (record,) = world.of(Unsupported)
    assert (record.case, record.subject, record.clause) == ("core/binds", "host ports", "core/host-port")


@pytest.mark.parametrize("about", ["core/host-port", "own/ports"])
def test_the_clause_about_it_and_a_users_own_test_create_it(world: World, about: str) -> None:
    assert PodChanges(excluding(world, "core/host-port", about=about)).create(ports=PORT).uid
    assert world.of(Unsupported) == []


@pytest.mark.parametrize(
    ("clause", "change", "harmless"),
    [
        ("core/toleration", {"taints": [{"key": "a", "effect": "NoSchedule"}]}, {"taints": []}),
        ("core/cordon", {"unschedulable": True}, {"unschedulable": False}),
    ],
)
def test_a_node_is_not_changed_so(world: World, clause: str, change: dict[str, Any], harmless: dict[str, Any]) -> None:
    nodes = NodeChanges(excluding(world, clause, about="core/restart"), world.view)
    with pytest.raises(CaseOver):
        nodes.change("node-1", **change)
    nodes.change("node-1", labels={"a": "b"}, **harmless)
    assert [record.clause for record in world.of(Unsupported)] == [clause]


def test_what_is_not_claimed_is_not_needed_either(make_world: Callable[..., World]) -> None:
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
    for features in ((), ("pod-affinity",)):
        tried = make_world(features=features)
        if features:
            assert tried.pods.create(affinity=apart).uid
            continue
        with pytest.raises(CaseOver):
            tried.pods.create(affinity=apart)
