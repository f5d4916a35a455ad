"""The binaries that an embedded cluster requires."""

from __future__ import annotations

import pytest

from schedproof.clusters.embedded.cluster import required_binaries
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.clusters.spec import REAL_EXPORTERS, load_spec
from schedproof.foundation.content import content


@pytest.mark.parametrize(
    ("nodes", "readings", "unneeded"),
    [
        (REAL_EXPORTERS, True, set()),
        (REAL_EXPORTERS + 1, True, {"node_exporter"}),
        (1, False, {"prometheus", "node_exporter"}),
    ],
)
def test_only_binaries_that_the_cluster_starts_are_required(nodes: int, readings: bool, unneeded: set[str]) -> None:
    spec = load_spec(content("clusters", "embedded.yaml"), count=nodes)
    assert set(EMBEDDED.binaries) - set(required_binaries(spec, readings=readings)) == unneeded
