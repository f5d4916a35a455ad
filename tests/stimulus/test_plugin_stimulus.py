"""Tests of what is done to a compiled scheduler, on a fake apiserver."""

from __future__ import annotations

import contextlib

import pytest

from schedproof.stimulus.changes.candidate import LEASE, CandidateChanges
from schedproof.stimulus.kinds.plugin import PluginStimulus

from .world import World


class BodyError(Exception):
    """Raised by the body of a context."""


@pytest.fixture
def plugin(world: World) -> PluginStimulus:
    world.trial.start_control = lambda: None
    candidate = CandidateChanges(world.context, world.expect)
    return PluginStimulus(world.context, world.pods, world.expect, candidate)


@pytest.mark.parametrize("broken", [False, True])
def test_beside_the_stock_scheduler_the_lease_of_the_clusters_own_scheduler_is_held(
    world: World, plugin: PluginStimulus, broken: bool
) -> None:
    world.add_namespace("kube-system")
    before = world.server.snapshot()
    with contextlib.suppress(BodyError), plugin.beside_the_stock_scheduler():
        assert world.server.read("leases", LEASE, "kube-system")["spec"]["holderIdentity"]
        if broken:
            raise BodyError
    assert world.server.snapshot() == before
