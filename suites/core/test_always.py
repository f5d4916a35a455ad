"""core: what holds in every run, whatever is tested. Judged last, over all that happened."""

import pytest


@pytest.mark.clause("core/alive")
def test_alive(case):
    """All that was done to the candidate is the stimulus."""


@pytest.mark.clause("core/own-pods-only")
def test_own_pods_only(case):
    """A pod of nobody has been pending all the time, and the control's pods were there to be touched."""


@pytest.mark.clause("core/all-accounted")
def test_all_accounted(case):
    """One pod that fits nowhere has been pending since the candidate's start; why, must be known by now."""
