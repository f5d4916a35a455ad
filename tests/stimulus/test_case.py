"""How a case is made of parts: which of them a candidate has, and in what order they take back what they did."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.history.acts import Asserted, CasePhase, Trouble
from schedproof.history.observations import LogTail
from schedproof.judge.shown import Shown
from schedproof.stimulus.case import Case
from schedproof.stimulus.kinds.extender import ExtenderStimulus
from schedproof.stimulus.reserved import GENERATION

from .world import TOO_LATE, World

PARTS = ("pods", "objects", "volumes", "dra", "nodes", "groups", "candidate", "scores", "preference", "extender")


def bare(**claims: Any) -> Case:
    """A case of a candidate that is neither an extender nor a plugin, and claims what is given."""
    case: Any = object.__new__(Case)
    found = SimpleNamespace(gang=None, network=None, **claims)
    case.trial, case._context = SimpleNamespace(candidate=SimpleNamespace(name="plain", claims=found, spec=None)), None
    made: Case = case
    return made


@pytest.mark.parametrize(
    ("part", "lacking"),
    [
        ("load", "claims no `network`"), ("preference", "claims no `network`"), ("groups", "claims no `gang`"),
        ("extender", "is not an extender"), ("plugin", "is not a compiled scheduler"),
    ],
)  # fmt: skip
def test_a_part_that_the_candidate_does_not_have_says_so(part: str, lacking: str) -> None:
    with pytest.raises(UsageError) as found:
        getattr(bare(), part)
    assert str(found.value).startswith(f"plain {lacking}")


def test_nodes_are_even_for_a_candidate_that_reads_nothing() -> None:
    bare().even_out()


class Undone:
    """A part that notes when it takes back what it did."""

    def __init__(self, name: str, order: list[str], *, changed: bool = False) -> None:
        self._name, self._order, self._changed = name, order, changed

    def undo(self) -> bool:
        self._order.append(self._name)
        return self._changed

    def heal(self) -> None:
        self._order.append(f"{self._name} healed")


def with_parts(*changed: str) -> tuple[Any, list[str]]:
    case: Any = bare()
    order: list[str] = []
    vars(case).update({name: Undone(name, order, changed=name in changed) for name in PARTS})
    case._load = Undone("load", order)
    case._expect = SimpleNamespace(over=False)
    case.trial.attachment, case.trial.shown = SimpleNamespace(ended=False), Shown()
    case.view = SimpleNamespace(settle=lambda: order.append("settled"))
    return case, order


@pytest.mark.parametrize("changed", ["pods", "volumes", "dra", "nodes"])
def test_users_go_before_what_they_use_and_readings_stay_until_all_is_settled(changed: str) -> None:
    case, order = with_parts(changed)
    case.close()
    world = ["pods", "objects", "volumes", "dra", "nodes", "groups"]
    assert order == ["scores", "load healed", *world, "settled", "candidate", "preference", "load", "extender"]


@pytest.mark.parametrize("changed", ["objects", "groups"])
def test_what_is_on_no_node_and_no_pod_need_not_be_seen_to_go(changed: str) -> None:
    case, order = with_parts(changed)
    case.restore()
    assert order == ["pods", "objects", "volumes", "dra", "nodes", "groups"]


def test_a_candidate_that_has_missed_a_deadline_or_shows_nothing_is_not_waited_for_again() -> None:
    for over, ignores, settled in ((False, False, True), (True, False, False), (False, True, False)):
        case, order = with_parts("pods")
        case._expect.over = over
        case.trial.shown = Shown(habits=frozenset({"ignores-selectors"} if ignores else ()))
        case.restore()
        assert ("settled" in order) is settled


def test_parts_that_were_not_used_are_not_made_at_the_end() -> None:
    case, order = with_parts()
    for name in ("groups", "scores", "preference", "extender", "_load"):
        del vars(case)[name]
    case.close()
    assert order == ["pods", "objects", "volumes", "dra", "nodes", "candidate"]


def test_an_extender_on_the_clusters_own_prometheus_is_left_there() -> None:
    context: Any = SimpleNamespace(trial=None, recorder=None)
    spec: Any = SimpleNamespace(config=None, ready="")
    other: Any = None
    ExtenderStimulus(context, spec, other, other).undo()


def test_what_a_case_changed_by_all_its_parts_is_changed_back_also_if_it_breaks(world: World) -> None:
    world.schedule()
    before = world.server.snapshot()
    with contextlib.suppress(ZeroDivisionError), contextlib.closing(Case(world.trial, "core/binds")) as case:
        bound = case.pod(cpu="100m", plain=True)
        case.nodes.add("more")
        case.nodes.change("node-1", labels={"disk": "ssd"}, unschedulable=True)
        case.objects.runtime_class({"cpu": "1"})
        case.volumes.storage_class(waits=True)
        case.dra.device_class("gpu")
        case.expect_bound([bound])
        assert case.node_of(bound) == "node-1"
        raise ZeroDivisionError
    after = world.server.snapshot()
    generation = after["nodes", "", "node-1"]["metadata"]["labels"].pop(GENERATION)
    assert generation == "generation-1", "by which it is shown that the candidate has seen it"
    assert after == before


def test_its_begin_and_its_end_are_on_record_with_what_the_logs_say(world: World) -> None:
    case = Case(world.trial, "core/binds")
    case.trouble("a cable")
    case.asserted("not so")
    case.end()
    assert [(phase.case, phase.phase, phase.early) for phase in world.of(CasePhase)] == [
        ("core/binds", "begin", False), ("core/binds", "end", False),
    ]  # fmt: skip
    assert [(tail.name, tail.lines) for tail in world.of(LogTail)] == [("tested", ["its last line"])]
    assert [record.text for kind in (Trouble, Asserted) for record in world.of(kind)] == ["a cable", "not so"]


def test_scripted_samples_that_are_missing_are_the_harnesss_trouble(world: World) -> None:
    for failure in ("", "refused: 400"):
        case = Case(world.trial, "network/tie")
        vars(case)["_load"] = SimpleNamespace(note_queries=lambda: None, failure=failure)
        case.end()
    (trouble,) = world.of(Trouble)
    assert "refused: 400" in trouble.text


def test_a_probe_that_no_candidate_has_bound_is_not_left_to_the_next(make_world: Callable[..., World]) -> None:
    world = make_world(timing=TOO_LATE)
    before = world.server.snapshot()
    case = Case(world.trial, "core/binds")
    case.pod()
    case.close()
    assert case.is_over
    assert not world.server.names("pods")
    assert [key for key in world.server.snapshot() if key not in before] == []
