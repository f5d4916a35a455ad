"""Pods between two cases: whether plain pods are bound, and which kinds of variation are not."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedproof.stimulus.outside import binds_pods, unbound
from schedproof.stimulus.trial import Trial

from .trials import Trials
from .world import CLAUSE, IN_TIME, NODES, TOO_LATE, World


def test_a_candidate_binds_pods_if_it_binds_two(trials: Trials, trial: Trial) -> None:
    before = trials.world.server.names("pods")
    trials.world.schedule()
    assert binds_pods(trial, CLAUSE)
    assert (trials.world.server.names("pods"), trial.shown.binds_nothing) == (before, False)
    assert "restart if ended" in dict(trials.attachment.acts)


def test_no_pod_is_tried_if_the_record_shows_that_none_will_be_bound(
    trials: Trials, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials.world.schedule()
    monkeypatch.setattr(trial, "look_into_record", lambda *, late: late)
    before = trials.world.recorder.rv
    assert not binds_pods(trial, CLAUSE)
    assert trials.world.recorder.rv == before


def test_a_candidate_that_ends_after_a_binding_does_not_bind_pods(trials: Trials, trial: Trial) -> None:
    before = trials.world.server.names("pods")

    def node_of(pod: dict[str, Any]) -> str:
        trials.attachment.ended = pod["metadata"]["name"] != "plain-1"
        return "" if trials.attachment.ended else NODES[0]

    trials.world.schedule(node_of)
    assert not binds_pods(trial, CLAUSE)
    assert (trials.world.server.names("pods"), trial.shown.binds_nothing) == (before, None)


def test_a_candidate_that_does_not_bind_in_time_does_not_bind_pods(trials: Trials) -> None:
    assert trials.candidate.claims.timing == IN_TIME
    claims = dataclasses.replace(trials.candidate.claims, timing=TOO_LATE)
    trials.candidate = dataclasses.replace(trials.candidate, claims=claims)
    with contextlib.closing(trials.make()) as trial:
        before = trials.world.server.names("pods")
        assert not binds_pods(trial, CLAUSE)
        assert trials.world.server.names("pods") == before


def test_the_kinds_of_variation_that_the_candidate_does_not_bind_are_found(trials: Trials, trial: Trial) -> None:
    before = trials.world.server.names("pods")
    seen: list[dict[str, Any]] = []

    def node_of(pod: dict[str, Any]) -> str:
        seen.append(pod)
        trials.attachment.ended = "nodeSelector" in pod["spec"]
        return "" if trials.attachment.ended else NODES[0]

    trials.world.schedule(node_of)
    assert unbound(trial, ["a node selector", "several containers", "tolerations"]) == ["a node selector"]
    assert len(seen) > 3
    assert all(
        ("nodeSelector" in pod["spec"]) + (len(pod["spec"]["containers"]) > 1) + ("tolerations" in pod["spec"]) == 1
        for pod in seen
    ), "each kind by itself"
    assert trials.world.server.names("pods") == before


def test_a_kind_of_which_the_cluster_can_have_no_pod_is_not_unbound(
    make_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = Trials(make_world(capabilities=()), tmp_path, monkeypatch)
    with contextlib.closing(trials.make()) as trial:
        assert not trial.surroundings.changes_nodes
        assert unbound(trial, ["a node selector", "ephemeral storage"]) == []
