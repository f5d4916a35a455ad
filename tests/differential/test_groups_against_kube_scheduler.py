"""The oracle sees groups of pods as kube-scheduler's own pod group cycle treats them."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.foundation.progress import ConsoleProgress

from .group_comparison import KUBERNETES, compare
from .programs import built

pytestmark = [pytest.mark.live, pytest.mark.slow]

WORLDS = 2_000
DECIDED_BY = (
    "tried",
    "held back: too few members", "held back: no PodGroup", "held back: a member of its group has scheduling gates",
    "placed, of a group", "fits nowhere, of a group", "so many of a group", "not placed: waits", "not placed: either",
    "not placed: inconsistent", "order by priority", "evicts nothing: waits", "evicts nothing: may not",
    "evicts whole groups, of lower priority", "evicts enough",
)  # fmt: skip


def test_the_oracle_sees_groups_as_kube_scheduler_does(tmp_path: Path) -> None:
    comparison = compare(built("groups", tmp_path, KUBERNETES, ConsoleProgress()), WORLDS, seed=1)
    assert not comparison.different, "\n".join(comparison.lines())
    # A comparison that tries nothing would agree as well.
    assert all(comparison.alike[kind] >= 10 for kind in DECIDED_BY), "\n".join(comparison.lines())
