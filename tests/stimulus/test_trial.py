"""The run of one candidate: what it creates around the candidate, what it records, and what is left at its end."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.claims import NetworkClaims
from schedproof.candidate.recording_rules import RecordingRule
from schedproof.candidate.surroundings import PolicyRule, RbacSpec, RoleSpec
from schedproof.candidate.timing import Timing
from schedproof.clusters.api import NotFound
from schedproof.foundation.deadlines import TAKEOVER
from schedproof.foundation.errors import CandidateError
from schedproof.history.acts import LeftOut, PodCreated, Run, RunEnd, ShownSeen
from schedproof.history.observations import NodeScore
from schedproof.history.world import RESERVED
from schedproof.stimulus import trial as module
from schedproof.stimulus.trial import CONTROL, Trial

from .played_traffic import CLAIMS
from .trials import ROLES, Trials, rule
from .world import CLAUSE, NAMESPACE, NODES, SCHEDULER, World


def of(trial: Trial, kind: type[Any]) -> list[Any]:
    with trial.recorder.changed:
        return [record for record in trial.recorder.records if isinstance(record, kind)]


# -- its beginning and its end


@pytest.mark.parametrize("capabilities", [("change-nodes", "idle-nodes"), ()])
def test_all_that_stands_around_a_candidate_is_removed_after_it_has_stopped(
    make_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capabilities: tuple[str, ...]
) -> None:
    world = make_world(capabilities=capabilities)
    trials = Trials(world, tmp_path, monkeypatch)
    world.server.store("serviceaccounts", {"metadata": {"name": "default"}}, NAMESPACE)
    before = world.server.snapshot()
    trial = trials.make()
    there = world.server.names("pods")
    assert any(name.startswith("bystander") for name in there)
    assert (RESERVED in world.server.names("nodes")) is bool(capabilities)
    trial.close()
    trial.close()
    assert world.server.snapshot() == before
    stops = [pods for act, pods in trials.attachment.acts if act == "stop"]
    assert stops[0] == len(there), "its last actions are recorded"


def test_a_candidate_starts_when_the_bystanders_are_there_and_waiters_come_afterwards(
    trials: Trials, trial: Trial
) -> None:
    ((act, pods),) = trials.attachment.acts
    assert (act, pods > 1) == ("start", True)
    roles = [record.role for record in of(trial, PodCreated)]
    assert roles == ["waiter"] * len(trial.waiters) + ["patient"]
    assert len(trial.waiters) > 4
    assert pods + len(roles) == len(trials.world.server.names("pods"))
    assert {trials.world.pod(pod)["spec"]["schedulerName"] for pod in trial.waiters.values()} == {SCHEDULER}
    (seen,) = of(trial, ShownSeen)
    assert seen.rv > 0


def test_a_candidate_that_does_not_start_leaves_nothing_behind(trials: Trials) -> None:
    trials.world.server.store("serviceaccounts", {"metadata": {"name": "default"}}, NAMESPACE)
    before = trials.world.server.snapshot()
    trials.attachment.error = CandidateError("it ended", remedy="see its log")
    with pytest.raises(CandidateError):
        trials.make()
    assert trials.world.server.snapshot() == before
    assert "stop" in dict(trials.attachment.acts)


def test_the_header_names_the_users_and_their_rights(trials: Trials) -> None:
    trials.candidate = dataclasses.replace(
        trials.candidate,
        rbac=RbacSpec(
            ("system:discovery",),
            (PolicyRule(("get",), ("",), ("pods",)),),
            (RoleSpec("{namespace}", (PolicyRule(("get",), ("",), ("pods",)),)),),
        ),
    )
    with contextlib.closing(trials.make()) as trial:
        (run,) = of(trial, Run)
    assert (run.users.candidate, run.users.control) == (
        [SCHEDULER, "helper"],
        [f"system:serviceaccount:schedproof-system:{CONTROL}"],
    )
    assert run.rbac.declared == [
        rule("system:discovery"),
        rule("pods"),
        {**rule("pods"), "namespace": trials.world.cluster.namespace},
    ]
    assert run.rbac.schedulers == [rule(role) for role in ROLES]
    assert run.rbac.processes == {"helper": [rule("secrets")]}
    assert (run.namespace, run.seed, run.versions["kubernetes"]) == (NAMESPACE, 7, "v1.36.0")
    assert run.cluster.nodes == list(NODES)


def test_a_role_that_the_cluster_does_not_have_is_an_error_that_leaves_nothing_behind(trials: Trials) -> None:
    trials.world.server.store("serviceaccounts", {"metadata": {"name": "default"}}, NAMESPACE)
    before = trials.world.server.snapshot()
    trials.candidate = dataclasses.replace(trials.candidate, rbac=RbacSpec(("no-such-role",)))
    with pytest.raises(NotFound):
        trials.make()
    assert trials.world.server.snapshot() == before


@pytest.mark.parametrize(
    ("name", "namespace"), [("a.b", "sp-a-b"), ("a" * 70, "sp-" + "a" * 60), ("a" * 59 + ".b", "sp-" + "a" * 59)]
)
def test_the_name_of_its_namespace_is_one_label_of_dns(trials: Trials, name: str, namespace: str) -> None:
    trials.candidate = dataclasses.replace(trials.candidate, name=name)
    with contextlib.closing(trials.make()) as trial:
        assert trial.namespace == namespace
        assert namespace in trials.world.server.names("namespaces")


@pytest.mark.parametrize(("own", "apart"), [("counted", True), (None, False), ("ignored", False)])
def test_probes_are_apart_from_the_start_if_placements_are_claimed_to_count(
    trials: Trials, own: Any, apart: bool
) -> None:
    recording = (RecordingRule("traffic", 'rate(x{device="{device}"}[1m])'),)
    network: NetworkClaims = dataclasses.replace(CLAIMS, own_placements=own, rules=recording)
    claims = dataclasses.replace(trials.candidate.claims, network=network)
    trials.candidate = dataclasses.replace(trials.candidate, claims=claims)
    with contextlib.closing(trials.make()) as trial:
        assert trial.probes_apart is apart
        assert (
            trials.rules
            == trial.scorers.rules
            == [{"record": "traffic", "expr": 'rate(x{device="eth0"}[1m])', "labels": {}}]
        )


def test_its_end_is_recorded_once(trial: Trial) -> None:
    trial.over()
    trial.over()
    assert (trial.is_over, len(of(trial, RunEnd))) == (True, 1)
    assert [what for what, _ in trial.attachment.acts if what == "record left"] == ["record left"]  # type: ignore[attr-defined]


# -- what is noted of the candidate


@pytest.mark.parametrize("keep_going", [False, True])
def test_what_it_has_never_done_in_time_is_known_unless_all_is_waited_out(trials: Trials, keep_going: bool) -> None:
    with contextlib.closing(trials.make(keep_going=keep_going)) as trial:
        found = []
        for in_time in (False, True, False):
            found.append(trial.never_did("an event"))
            trial.did("an event", in_time=in_time)
        found.append(trial.never_did("an event"))
    assert found == [False, not keep_going, False, False]


def test_a_candidate_binds_nothing_until_it_has_bound_a_pod(trial: Trial) -> None:
    found = [trial.shown.binds_nothing]
    for for_nothing in (True, False, True):
        trial.note(CLAUSE, "binds-nothing" if for_nothing else "binds")
        found.append(trial.shown.binds_nothing)
    assert found == [None, True, False, False]


@pytest.mark.parametrize("takeover", [TAKEOVER.seconds, 90.0])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("fact", ["sent_nothing", "all_refused", "verb_unusable", ""])
def test_what_the_record_shows_ends_a_wait_for_bindings(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, fact: str, late: bool, takeover: float
) -> None:
    for name in ("sent_nothing", "all_refused", "verb_unusable"):
        monkeypatch.setattr(module, name, lambda _, name=name: name == fact)
    claims = dataclasses.replace(trials.candidate.claims, timing=Timing(takeover=takeover))
    trials.candidate = dataclasses.replace(trials.candidate, claims=claims)
    may_start_late = takeover != TAKEOVER.seconds
    shows = fact in ("all_refused", "verb_unusable") or (fact == "sent_nothing" and late and not may_start_late)
    with contextlib.closing(trials.make()) as trial:
        assert (trial.in_vain, trial.look_into_record(late=late), trial.in_vain) == (False, shows, shows)


@pytest.mark.parametrize("keep_going", [False, True])
def test_the_record_of_what_has_bound_pods_or_keeps_going_ends_no_wait(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, keep_going: bool
) -> None:
    monkeypatch.setattr(module, "all_refused", lambda _: True)
    with contextlib.closing(trials.make(keep_going=keep_going)) as trial:
        trial.note(CLAUSE, "binds-nothing" if keep_going else "binds")
        assert not trial.look_into_record(late=True)


def test_it_takes_over_after_each_start_until_it_schedules(trials: Trials, trial: Trial) -> None:
    assert trial.taking_over
    trial.schedules()
    assert not trial.taking_over
    trials.attachment.starts += 1
    assert trial.taking_over


def test_no_two_generations_are_alike(trials: Trials, trial: Trial) -> None:
    assert len({trial.next_generation() for _ in range(3)}) == 3
    assert trials.world.server.names("nodes").count(RESERVED) == 1
    assert trial.reserved_nodes == (RESERVED,)


def test_patients_come_a_while_apart_and_only_a_few(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.create_long_waiting()
    assert len(trial.long_waiting) == 1, "it is not time for another"
    monkeypatch.setattr(module, "_BETWEEN_LONG_WAITING", 0.0)
    trial._next_long_waiting = 0.0
    since = trial.newest_waits_since
    for _ in range(9):
        trial.create_long_waiting()
    assert len({pod.name for pod in trial.long_waiting}) == len(trial.long_waiting) == module._LONG_WAITING
    assert trial.newest_waits_since > since


# -- what is looked into


def test_a_kind_of_variation_is_looked_into_twice_unless_it_is_left_out(trial: Trial) -> None:
    trial.recorder.add(LeftOut(case=CLAUSE, kinds={"limits": "core/fit-cpu"}))
    asked = [trial.to_look_into(["node affinity", "limits"]) for _ in range(3)]
    assert asked == [["node affinity"], ["node affinity"], []]
    assert trial.to_look_into(["tolerations", "node affinity"]) == ["tolerations"]


# -- what runs beside it


def test_the_control_is_started_once_and_its_scores_are_recorded(trials: Trials) -> None:
    with contextlib.closing(trials.make()) as trial:
        assert trials.control.acts == []
        for _ in range(2):
            trial.start_control()
        assert trials.control.acts == ["start", "ready"]
        line = '"Plugin scored node for pod" pod="a/b" plugin="Quiet" node="node-1" score='
        for number, log in enumerate((trials.log, trials.control_log), 1):
            log.write_text(f"{line}{number}\n")
        trial.history()
        assert {act for act, _ in trials.attachment.acts} >= {"report exits", "catch up"}
        assert [record.score for record in of(trial, NodeScore)] == [1, 2]
    assert trials.control.acts == ["start", "ready", "stop"]


def test_there_is_one_reader_for_each_prometheus(trial: Trial) -> None:
    readers = [trial.readers.at(f"http://127.0.0.1:{port}") for port in (1, 2, 1)]
    assert readers[0] is readers[2] is not readers[1]
