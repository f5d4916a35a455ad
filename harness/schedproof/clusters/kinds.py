"""All kinds of clusters."""

from __future__ import annotations

from types import MappingProxyType

from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.clusters.existing.registration import EXISTING
from schedproof.clusters.kind.registration import KIND

KINDS = MappingProxyType({kind.name: kind for kind in (EMBEDDED, KIND, EXISTING)})
"""By the value of `--cluster`."""
DEFAULT = next(iter(KINDS))
LIGHT = tuple(name for name, kind in KINDS.items() if kind.light)
ON_THIS_MACHINE = tuple(name for name, kind in KINDS.items() if kind.binaries)
"""Those for which `doctor` and `prefetch` prepare this machine."""
MEASURED = tuple(name for name, kind in KINDS.items() if kind.minimal is not None)
"""Those on which benchmarks run."""
