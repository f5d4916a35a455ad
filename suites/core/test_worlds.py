"""core: generated nodes and pods, drawn by the seed of the run."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case


@pytest.mark.clause("core/random-worlds")
def test_random_worlds(case: Case) -> None:
    """Pods that are particular about four nodes; pods that fill up a node; then small worlds that hypothesis draws.

    Pods come, go, or are there already, and nodes change between. Pods come one after the other: one that fits
    somewhere is to be bound, and all others are to wait. Hostnames differ from names, quantities come in every
    notation, and what a node offers is less than its capacity. Where something goes wrong, the world is made smaller
    on the cluster; the smallest is kept, and tried first the next time. `--worlds N` tries more.
    """
    case.worlds.search()
