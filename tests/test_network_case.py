"""What scripted loads look like to a candidate that reads them wrongly."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.stimulus.network import NetworkCase


@pytest.mark.parametrize("count", [2, 3, 4, 16])
@pytest.mark.parametrize("seed", range(20))
def test_who_ranks_by_totals_is_never_right_by_chance(count: int, seed: int) -> None:
    load = {f"node-{number}": 1000.0 * (number + 1) for number in range(count)}
    case: Any = SimpleNamespace(random=random.Random(seed))
    totals = NetworkCase._totals(case, load)
    assert totals.keys() == load.keys()
    assert min(totals, key=lambda node: totals[node]) != "node-0"
    if count > 2:
        assert max(totals, key=lambda node: totals[node]) != "node-0"


@pytest.mark.parametrize("choices", [[4] * 4, [4, 4], [4, 3, 2], [2], [16] * 8])
def test_so_many_probes_that_chance_passes_less_than_once_in_a_million(choices: list[int]) -> None:
    case: Any = SimpleNamespace()
    probes = NetworkCase.probes_among(case, choices)
    chance, once_less = 1.0, 1.0
    for nodes in choices:
        chance /= nodes**probes
        once_less /= nodes ** (probes - 1)
    assert chance < 1e-6 <= once_less
