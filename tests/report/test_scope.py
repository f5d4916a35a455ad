"""The text that a run on an existing cluster prints before it starts, with a simulated API of the cluster."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.claims import Claims
from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.clusters.existing.registration import EXISTING
from schedproof.clusters.registration import ClusterOptions, Surveyed
from schedproof.foundation.errors import UsageError
from schedproof.report.scope import tell
from schedproof.run.launch import Settings
from schedproof.run.request import RunRequest


class PlayedApi:
    """An apiserver with a scheduler of two replicas, of which the second leads."""

    def list(self, resource: str, _namespace: str, **_query: str) -> dict[str, Any]:
        if resource == "leases":
            return {"items": [{"metadata": {"name": "mine"}, "spec": {"holderIdentity": "b_1"}}]}
        return {"items": [self._pod("a"), self._pod("b")]}

    def _pod(self, name: str) -> dict[str, Any]:
        return {
            "metadata": {
                "name": name, "namespace": "here", "uid": name, "ownerReferences": [{"controller": True}],
            },
            "spec": {"serviceAccountName": "own", "containers": [{"name": "c", "image": "an-image"}]},
            "status": {"containerStatuses": [{"name": "c", "restartCount": 1, "imageID": "sha256:abc"}]},
        }  # fmt: skip


@pytest.fixture
def capabilities(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Those of the cluster, which a test may change."""
    found = {"real-pods", "several-nodes", "foreign-objects"}

    @contextlib.contextmanager
    def survey(_: ClusterOptions) -> Iterator[Surveyed]:
        api: Any = PlayedApi()
        added = {"audit": "--audit-log FILE"}
        yield Surveyed("the cluster C", api, "1.36", ["n1", "n2"], frozenset(found), ["it changes no node"], added)

    played = dataclasses.replace(EXISTING, survey=survey, check=lambda _: None)
    monkeypatch.setattr(Settings, "kind", played)
    return found


def request(**attached: Any) -> RunRequest:
    spec = AttachedSpec(**{"namespace": "here", "selector": {"app": "mine"}, **attached})
    claims = Claims(features=("priority",))
    mine = Candidate(name="mine", scheduler_name="mine", path=Path("c.yaml"), attached=spec, claims=claims)
    settings = Settings(report=Path("report"), cluster="existing", kubeconfig=Path("k"))
    return RunRequest([mine], settings, ["core/binds", "core/priority-order"])


def test_it_is_told_what_is_touched_and_what_is_not_judged(capabilities: set[str]) -> None:
    assert capabilities
    text = "\n".join(tell(request(), dry_run=False))
    assert "on the cluster C, this run may do no more than this:\n  it changes no node" in text
    assert "mine is 2 pods in here: a, b (leads); image sha256:abc" in text
    assert "user system:serviceaccount:here:own; restarted 2 times so far" in text
    assert "it reads the state and the logs of these pods; it does not change them" in text
    assert "not judged of mine: 4 of 6 clauses" in text
    assert "audit (--audit-log FILE): 3 clauses" in text
    assert "stop-candidate (the harness does not start this scheduler" in text


def test_that_pods_may_be_deleted_is_told(capabilities: set[str]) -> None:
    capabilities.add("restart-attached")
    assert "it deletes these pods" in "\n".join(tell(request(), dry_run=True))


def test_a_scheduler_that_is_not_seen_is_told(capabilities: set[str]) -> None:
    assert capabilities
    assert "mine runs where the harness does not see it" in "\n".join(tell(request(selector={}), dry_run=True))


def test_a_run_with_a_cluster_of_its_own_has_nothing_to_tell() -> None:
    embedded = dataclasses.replace(request(), settings=Settings(report=Path("report")))
    assert tell(embedded, dry_run=False) == []
    with pytest.raises(UsageError, match="--dry-run: with --cluster embedded"):
        tell(embedded, dry_run=True)


def test_what_runs_as_pods_is_told_with_its_image_and_rights(capabilities: set[str], tmp_path: Path) -> None:
    assert capabilities
    spec = "extender: {command: [/a], port: 8888, config: {filterVerb: filter}}, image: {ref: r.example.com/mine}"
    head = "apiVersion: schedproof/v1\nkind: Candidate\nmetadata: {name: mine}\nspec: "
    path = tmp_path / "candidate.yaml"
    path.write_text(f"{head}{{schedulerName: mine, {spec}}}\n")
    asked = request()
    there = dataclasses.replace(asked.settings, deploy="pod")
    told = "\n".join(tell(RunRequest([load_candidate(path)], there, ["core/binds"]), dry_run=True))
    assert "2 Deployments (candidate-mine, scheduler-mine) of r.example.com/mine and the cluster's own" in told
    assert "it is granted the ClusterRole system:kube-scheduler, the ClusterRole system:volume-scheduler" in told
    assert "tap-candidate" not in told, "core/binds needs none"
    path.write_text(
        f"{head}{{schedulerName: mine, extender: {{command: [/a], port: 8888, config: {{filterVerb: filter}}}}}}\n"
    )
    with pytest.raises(UsageError, match="nodes can only pull images"):
        tell(RunRequest([load_candidate(path)], there, ["core/binds"]), dry_run=True)
