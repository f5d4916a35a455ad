"""docs/varied.md has values for each field of pods and nodes that the oracle reads."""

from __future__ import annotations

import re

from ..differential.fields import PAGE, WORLDS, read_by_the_oracle

NOT_VARIED = {"Pod.status.allocatedResources.*", "Pod.status.resources.requests.*"}
"""docs/varied.md says why."""
FEWEST = 40
"""Fields: an oracle that is not called reads none."""


def test_every_field_that_the_oracle_reads_has_values() -> None:
    values = {
        field: int(count) for field, count in re.findall(r"^\| `(\S+)` \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    }
    read = read_by_the_oracle(WORLDS)
    assert len(read) > FEWEST
    assert {field for field in read if not values.get(field)} == NOT_VARIED, "run `make varied`"
