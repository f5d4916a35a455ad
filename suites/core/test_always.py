"""core: invariants of every run, whichever clauses are tested. Judged last, over the whole record."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case


@pytest.mark.clause("core/alive")
def test_alive(case: Case) -> None:
    """No stimulus of its own: the whole run is judged."""


@pytest.mark.clause("core/own-pods-only")
def test_own_pods_only(case: Case) -> None:
    """Pods of other schedulers, some with names similar to the candidate's, are pending for the whole run."""


@pytest.mark.clause("core/all-accounted")
def test_all_accounted(case: Case) -> None:
    """Pods that fit nowhere are pending since the candidate's start; by now, their conditions must give the reason."""


@pytest.mark.clause("core/feasible")
def test_feasible(case: Case) -> None:
    """Pods that fit nowhere are pending since the candidate's start, and stay pending for a while longer."""
    case.keep_calm()
    case.fence(cpu="100m")
