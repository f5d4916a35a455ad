"""core: generated nodes and pods, drawn by the seed of the run."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case


@pytest.mark.clause("core/random-worlds")
def test_random_worlds(case: Case) -> None:
    """Pods that are selective among four nodes; pods that fill up a node; then small worlds that hypothesis generates.

    Pods are created one after the other or together, with or without a scheduling gate, deleted, resized, or bound
    from the start, and nodes change, go and return in between; the candidate may be stopped, or cut off from the
    apiserver. A pod that fits somewhere must be bound; the others must wait until they fit. Hostnames differ from node
    names, quantities have every notation, and allocatable is less than capacity. A failing world is made smaller on the
    cluster; the smallest is saved, and tried first the next time. `--worlds N` tries more.
    """
    case.worlds.search()
