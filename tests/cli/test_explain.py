"""`schedproof explain --minor`: what a version of Kubernetes asks of a scheduler."""

from __future__ import annotations

import pytest

from schedproof.cli.explain import explain_minor
from schedproof.judge.feature_gates import load_gates, minors


@pytest.mark.parametrize("minor", minors())
def test_each_version_is_explained_by_its_gates(minor: str) -> None:
    lines = "\n".join(explain_minor(minor))
    for gate in load_gates().values():
        assert (f"{gate.name} (" in lines) == (minor in gate.stages or gate.is_on(minor))
