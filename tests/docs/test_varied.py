"""docs/varied.md has a clause, or a reason, for each value of pods and nodes that a run must have."""

from __future__ import annotations

import re

from ..differential.fields import PAGE, WORLDS, read_by_the_oracle, rows
from ..differential.values import FIELDS, REASONS

FEWEST = 40
"""Fields: an oracle that is not called reads none."""


def test_every_value_occurs_in_a_run_or_has_a_reason() -> None:
    found = rows(PAGE.read_text())
    assert found.keys() == {(field, value) for field, values in FIELDS.items() for value in values}, "run `make varied`"
    assert not [occurrence for occurrence, where in found.items() if not where], "no run has them"
    assert {occurrence: found[occurrence] for occurrence in REASONS} == REASONS, "they occur, or the reason is another"


def test_every_field_that_the_oracle_reads_has_values() -> None:
    read = read_by_the_oracle(WORLDS)
    assert len(read) > FEWEST
    assert set(read) <= {re.sub(r"\[[^]]+]", "[]", field) for field in FIELDS}
