"""core: what holds in every run, whatever is tested. Judged last, over all that happened."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case


@pytest.mark.clause("core/alive")
def test_alive(case: Case) -> None:
    """All that was done to the candidate is the stimulus."""


@pytest.mark.clause("core/own-pods-only")
def test_own_pods_only(case: Case) -> None:
    """Pods of other schedulers, some with names that are near the candidate's, have been pending all the time."""


@pytest.mark.clause("core/all-accounted")
def test_all_accounted(case: Case) -> None:
    """Pods that fit nowhere have been pending since the candidate's start; why, must be known by now."""


@pytest.mark.clause("core/feasible")
def test_feasible(case: Case) -> None:
    """Pods that must wait have done so since the candidate's start. They do for a while longer."""
    case.keep_calm()
    case.fence(cpu="100m")
