"""The selection and order of the tests of a session."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.profiles import OWN
from schedproof.judge.catalogue import BASICS, BINDS, CATALOGUE
from schedproof.judge.own import is_own, own_clause

if TYPE_CHECKING:  # as in state
    from schedproof.run.request import RunRequest


def clause_of(item: Any) -> str:
    """Return the id of the clause that a test tries; "" for other tests."""
    marker = item.get_closest_marker("clause")
    return str(marker.args[0]) if marker is not None else ""


def candidate_of(item: Any) -> Candidate:
    """Return the candidate that a clause's test tries."""
    candidate: Candidate = item.callspec.params["sched_candidate"]
    return candidate


def clauses_of(items: Iterable[Any], candidate: Candidate) -> tuple[str, ...]:
    """Return the ids of the clauses that tests try on a candidate."""
    return tuple(clause_of(item) for item in items if candidate_of(item) is candidate)


def name_own(item: pytest.Item) -> None:
    """Give a user's own test, which takes `case` and has no clause, a clause named by the test and its parameters."""
    if clause_of(item) or "case" not in getattr(item, "fixturenames", ()):
        return
    params = getattr(getattr(item, "callspec", None), "params", {})
    if "sched_candidate" not in params or not isinstance(item, pytest.Function):
        return  # another fixture of that name
    name = item.originalname.removeprefix("test_").replace("_", "-")
    values = [str(value) for param, value in params.items() if param != "sched_candidate"]
    clause = f"{OWN}/{name}" + (f"[{'-'.join(values)}]" if values else "")
    item.add_marker(pytest.mark.clause(clause))
    guarantee = (inspect.getdoc(item.function) or "").partition("\n\n")[0].replace("\n", " ")
    CATALOGUE[clause] = own_clause(clause, guarantee)


def in_order(items: Sequence[pytest.Item], request: RunRequest) -> list[pytest.Item]:
    """Return the selected tests, by candidate; last those that judge the whole run.

    Args:
        items: tests that try clauses.
        request: selects clauses.

    Raises:
        pytest.UsageError: a clause is unknown, a requested own clause has no test, or two own tests have one id.
    """
    for item in items:
        if clause_of(item) not in CATALOGUE:
            raise pytest.UsageError(
                f"{item.nodeid}: unknown clause {clause_of(item)!r}; `schedproof clauses` lists all clauses"
            )
    _require_own(request.clauses, items)
    kept = [item for item in items if request.selects(clause_of(item))]
    _refuse_twins(kept)
    order = {clause: number for number, clause in enumerate(CATALOGUE)}

    def place(item: pytest.Item) -> tuple[object, ...]:
        clause = CATALOGUE[clause_of(item)]
        # Clauses that are `fresh` come early, before much has happened on the cluster.
        early = clause.id == BINDS or clause.fresh
        turn = request.candidates.index(candidate_of(item))
        is_basic = clause.id in BASICS
        return turn, clause.last, not early, not is_basic, is_basic and bool(clause.stands_on), order[clause.id]

    return sorted(kept, key=place)


def _require_own(clauses: Sequence[str], items: Sequence[pytest.Item]) -> None:
    """Refuse clauses of the user's own that have no test: only the collection shows which tests there are."""
    collected = {clause_of(item) for item in items}
    for clause in filter(is_own, clauses):
        if clause not in collected:
            raise pytest.UsageError(
                f"no test of your own has the id {clause}\n  fix: `pytest --collect-only` lists the tests"
            )


def _refuse_twins(items: Sequence[pytest.Item]) -> None:
    """Refuse tests of the user's own with the same clause id, which identifies them in the record."""
    node_ids: dict[tuple[str, str], str] = {}
    for item in items:
        clause = clause_of(item)
        twin = node_ids.setdefault((clause, candidate_of(item).name), item.nodeid)
        if is_own(clause) and twin != item.nodeid:
            raise pytest.UsageError(
                f"{twin} and {item.nodeid} have the same name, and so the same clause id: rename one"
            )
