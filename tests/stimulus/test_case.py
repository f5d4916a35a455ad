"""How a case is made of parts: which of them a candidate has, and in what order they take back what they did."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.stimulus.case import Case
from schedproof.stimulus.kinds.extender import ExtenderStimulus

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
        ("extender", "is no extender"), ("plugin", "is no compiled scheduler"),
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
    case.trial.attachment, case.trial.ignores_selectors = SimpleNamespace(ended=False), False
    case.sight = SimpleNamespace(settle=lambda: order.append("settled"))
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
        case._expect.over, case.trial.ignores_selectors = over, ignores
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
