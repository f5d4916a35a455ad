"""The objects of a submission: its rights are those that are shipped, and all of it goes with its namespace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.documents.manifests import read_manifests
from schedproof.foundation.content import content
from schedproof.submission.files import CandidateFiles
from schedproof.submission.manifests import job, namespace, owned, rights

FILES = CandidateFiles({}, [{"key": "file-0", "path": "candidate.yaml", "mode": 0o444}])


def described(folder: Path, **spec: Any) -> Candidate:
    document = {
        "apiVersion": "schedproof/v1", "kind": "Candidate", "metadata": {"name": "one"},
        "spec": {"schedulerName": "one", **spec},
    }  # fmt: skip
    (folder / "candidate.yaml").write_text(yaml.safe_dump(document))
    return load_candidate(folder / "candidate.yaml")


@pytest.fixture
def attached(tmp_path: Path) -> Candidate:
    return described(tmp_path, attached={"selector": {"app": "one"}})


@pytest.fixture
def deployed(tmp_path: Path) -> Candidate:
    rule = {"apiGroups": ["example.org"], "resources": ["queues"], "verbs": ["list"]}
    return described(
        tmp_path, controller={"command": ["/one"]}, image={"ref": "one:1"},
        rbac={"rules": [rule], "clusterRoles": ["view"]},
    )  # fmt: skip


def rules(manifests: list[dict[str, Any]]) -> list[Any]:
    return [rule for manifest in manifests for rule in manifest.get("rules", [])]


def shipped(*names: str) -> list[Any]:
    return [rule for name in names for rule in rules(read_manifests(content("clusters", f"{name}-rbac.yaml")))]


def test_a_scheduler_that_runs_already_needs_no_more_than_is_shipped_for_it(attached: Candidate) -> None:
    assert rules([*rights("n", attached, callbacks=False)]) == shipped("attached")
    assert rules([*rights("n", attached, callbacks=True)]) == shipped("attached", "submitted")


def test_who_deploys_a_candidate_has_what_it_grants(deployed: Candidate) -> None:
    found = rules([*rights("n", deployed, callbacks=False)])
    assert found[:-2] == shipped("attached", "deployed")
    assert found[-2:] == [
        {"apiGroups": ["example.org"], "resources": ["queues"], "verbs": ["list"]},
        {
            "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["bind"],
            "resourceNames": ["view"],
        },
    ]  # fmt: skip


def test_all_names_are_the_submissions(deployed: Candidate) -> None:
    found = [*rights("n", deployed, callbacks=True)]
    names = {(m["kind"], m["metadata"].get("namespace"), m["metadata"]["name"]) for m in found}
    assert len(names) == len(found)
    assert ("ServiceAccount", "submitted-n", "schedproof") in names
    assert ("Role", "kube-system", "schedproof-user-n") in names
    assert not {"Namespace"} & {m["kind"] for m in found}
    roles = {m["metadata"]["name"] for m in found if m["kind"].endswith("Role")}
    bindings = [m for m in found if m["kind"].endswith("Binding")]
    assert {m["roleRef"]["name"] for m in bindings} == roles
    assert {s["namespace"] for m in bindings for s in m["subjects"]} == {"submitted-n"}


def test_everything_belongs_to_the_namespace_and_has_its_label(attached: Candidate) -> None:
    home = namespace("n")
    home["metadata"]["uid"] = "u"
    made = owned(job("image", attached, FILES, (), seconds=60), home, "n")
    assert made["metadata"]["labels"] == {"schedproof.dev/submission": "n"}
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "submitted-n", "uid": "u"}
    assert made["metadata"]["ownerReferences"] == [owner]


def test_the_job_runs_as_asked_and_is_restricted(attached: Candidate, deployed: Candidate) -> None:
    spec = job("harness:1", attached, FILES, ("--clause=core/binds",), seconds=60)["spec"]
    assert spec["activeDeadlineSeconds"] == 60
    pod = spec["template"]["spec"]
    run, report = pod["containers"]
    assert run["args"] == [
        "run", "/candidate/candidate.yaml", "--cluster=existing", "--clause=core/binds", "--report=/report/report",
    ]  # fmt: skip
    assert run["image"] == report["image"] == "harness:1"
    assert pod["volumes"][0]["configMap"] == {"name": "candidate", "items": FILES.items}
    # What the restricted profile of Pod Security Standards asks for.
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (run, report):
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    (with_pods, _) = job("harness:1", deployed, FILES, (), seconds=60)["spec"]["template"]["spec"]["containers"]
    assert "--deploy=pod" in with_pods["args"]
