"""The table of subjects: which pods a candidate gets that does not support something."""

from __future__ import annotations

import pytest

from schedproof.candidate.claims import Claims, Exclusion
from schedproof.candidate.subjects import CLAUSES, Subject, left_out, subjects_of
from schedproof.judge.catalogue import CATALOGUE

ALL = Claims(features=("pod-affinity", "topology-spread", "pod-level-resources", "in-place-resize"))
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NEEDS = {
    Subject.EPHEMERAL_STORAGE: {"containers": [{"resources": {"requests": {"ephemeral-storage": "1"}}}]},
    Subject.EXTENDED_RESOURCES: {"containers": [{"resources": {"limits": {"example.com/gpu": "1"}}}]},
    Subject.HUGE_PAGES: {"containers": [{"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}]},
    Subject.INIT_CONTAINERS: {"initContainers": [{}]},
    Subject.SIDECARS: {"initContainers": [{"restartPolicy": "Always"}]},
    Subject.OVERHEAD: {"runtimeClassName": "boxed"},
    Subject.POD_LEVEL_RESOURCES: {"resources": {"requests": {"cpu": "1"}}},
    Subject.NODE_AFFINITY: {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}]}}}},
    Subject.HOST_PORTS: {"containers": [{"ports": [{"hostPort": 80}]}]},
    Subject.POD_AFFINITY: {"affinity": {"podAntiAffinity": {REQUIRED: [{}]}}},
    Subject.TOPOLOGY_SPREAD: {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
    Subject.GATES: {"schedulingGates": [{"name": "later"}]},
}


def test_every_subject_has_clauses_and_every_clause_is_there() -> None:
    assert CLAUSES.keys() == {*Subject}
    assert {clause for clauses in CLAUSES.values() for clause in clauses} <= CATALOGUE.keys()


@pytest.mark.parametrize("subject", Subject)
def test_who_excludes_a_clause_gets_its_subject_in_that_clause_only(subject: Subject) -> None:
    for clause in CLAUSES[subject]:
        excluded = [Exclusion(clause, "not supported")]
        assert left_out(ALL, excluded)[subject] == clause
        assert left_out(ALL, excluded, "core/random-worlds")[subject] == clause
        assert subject not in left_out(ALL, excluded, clause)
    assert not left_out(ALL, ())


def test_what_is_not_claimed_is_left_out() -> None:
    unclaimed = {
        Subject.POD_AFFINITY, Subject.TOPOLOGY_SPREAD, Subject.POD_LEVEL_RESOURCES, Subject.IN_PLACE_RESIZE,
    }  # fmt: skip
    assert left_out(Claims(), ()).keys() == unclaimed


@pytest.mark.parametrize("subject", NEEDS)
def test_what_a_pod_needs(subject: Subject) -> None:
    assert subjects_of(NEEDS[subject]) == {subject}


def test_a_plain_pod_needs_nothing() -> None:
    asked = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    anyway = {"whenUnsatisfiable": "ScheduleAnyway"}
    spec = {
        "containers": [{"resources": asked, "ports": [{"containerPort": 80}]}], "topologySpreadConstraints": [anyway],
        "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}},
    }  # fmt: skip
    assert not subjects_of(spec)
    assert subjects_of({**spec, "hostNetwork": True}) == {Subject.HOST_PORTS}
