"""The names of a candidate's components in a benchmark; nothing is started."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.benchmark.contestant import Contestant
from schedproof.candidate.shipped import find_candidate
from schedproof.deploy.component import component_name


def _contestant(name: str, *components: tuple[str, int | None]) -> Contestant:
    contestant: Any = object.__new__(Contestant)
    contestant.candidate = find_candidate(name)
    contestant.attachment = SimpleNamespace(
        components=[SimpleNamespace(name=name, scheduler_port=port) for name, port in components],
    )
    return contestant


def test_each_process_of_a_candidate_counts() -> None:
    candidate = find_candidate("benchmark/annotated")
    processes = [(component_name(candidate, name), None) for name in ("annotator", "etcd")]
    contestant = _contestant("benchmark/annotated", *processes, ("scheduler-annotated", 10259))
    assert list(contestant.components) == ["process annotator", "process etcd", "kube-scheduler"]


@pytest.mark.parametrize("kind", ["extender", "controller"])
def test_own_programs_have_the_same_name_for_every_candidate_of_a_kind(kind: str) -> None:
    candidate = find_candidate(f"least-traffic-{kind}")
    assert list(_contestant(candidate.name, (component_name(candidate), None)).components) == [kind]
