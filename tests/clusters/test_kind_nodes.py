"""Names of kind clusters that are refused before anything is created."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

from schedproof.clusters.kind import nodes as kind_nodes
from schedproof.clusters.kind.config import definition_digest
from schedproof.clusters.kind.nodes import KindNodes
from schedproof.clusters.kind.ownership import Claim, Note
from schedproof.clusters.spec import KindSpec
from schedproof.foundation.errors import UsageError

SPEC = KindSpec("1.36", 0.5, 3, {})


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine whose Docker has nodes of the cluster `taken`, and creates no others."""
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path))
    monkeypatch.setattr(kind_nodes, "docker", lambda *argv: "id\n" if argv[-1].endswith("=taken") else "")
    monkeypatch.delattr(kind_nodes, "note_settings")
    return types.SimpleNamespace(sandbox=types.SimpleNamespace(scratch=tmp_path), logs=tmp_path)


def refusal(host: Any, name: str, image: str = "image") -> UsageError:
    with pytest.raises(UsageError) as caught:
        KindNodes(host, SPEC, name=name, image=image, keep=False)
    # Whoever comes next can have the name.
    Claim(name).release()
    return caught.value


def test_the_name_of_a_foreign_cluster_is_refused(host: Any) -> None:
    error = refusal(host, "taken")
    assert "did not create it" in error.message
    assert "kind delete cluster --name taken" in error.remedy


def test_a_kept_cluster_that_differs_from_the_request_is_refused(host: Any) -> None:
    claim = Claim("taken")
    claim.write(Note([], "image", definition_digest(SPEC, "image"), "", kept=True))
    claim.release()
    error = refusal(host, "taken", image="another")
    assert "differs from the request" in error.message
    assert "schedproof clean --cluster-name taken" in error.remedy


def test_the_name_of_a_cluster_in_use_by_another_run_is_refused(host: Any) -> None:
    claim = Claim("used")
    with pytest.raises(UsageError, match="another run uses the cluster 'used'"):
        KindNodes(host, SPEC, name="used", image="image", keep=False)
    claim.release()


@pytest.mark.parametrize("name", ["", "Upper", "-a", "a-", "a_b", "a" * 41, "a b", "../a"])
def test_an_invalid_cluster_name_is_refused(host: Any, name: str) -> None:
    with pytest.raises(UsageError, match="--cluster-name"):
        KindNodes(host, SPEC, name=name, image="image", keep=False)
