"""The objects of a submission. All but its namespace are owned by that: the cluster removes them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.clusters.api import Manifest
from schedproof.clusters.existing.sweep import SUBMISSION
from schedproof.documents.manifests import read_manifests
from schedproof.foundation.content import content
from schedproof.submission.files import CandidateFiles
from schedproof.submission.pod import FOLDER

MOUNTED = "/candidate"
"""Where the candidate's files are in the pod."""
JOB, RUN, REPORT = "run", "run", "report"
"""The Job, and the containers of its pod."""
_SHIPPED = "schedproof-user"
"""The namespace of the shipped manifests of rights, and the beginning of names in them."""


def namespace_of(name: str) -> str:
    """Return the namespace of a submission."""
    return f"submitted-{name}"


def namespace(name: str) -> Manifest:
    """Return the manifest of that namespace. Its pods have to be restricted ones, which the harness's own is."""
    labels = {SUBMISSION: name, "pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace_of(name), "labels": labels}}


def rights(name: str, candidate: Candidate, *, callbacks: bool) -> Iterator[Manifest]:
    """Return the objects that give the submission's ServiceAccount its rights: those of the shipped manifests, and for
    a candidate that is deployed what its `spec.rbac` asks for, which the run grants it.
    """
    deploys = not isinstance(candidate.spec, AttachedSpec)
    files = ("attached", *(("deployed",) if deploys else ()), *(("submitted",) if callbacks else ()))
    for file in files:
        for manifest in read_manifests(content("clusters", f"{file}-rbac.yaml")):
            if manifest["kind"] != "Namespace":
                yield _renamed(manifest, name)
    if deploys and (rules := _rules(candidate)):
        metadata = {"name": f"schedproof-candidate-{name}"}
        group = "rbac.authorization.k8s.io"
        yield {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
        yield {
            "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": "schedproof", "namespace": namespace_of(name)}],
        }  # fmt: skip


def _rules(candidate: Candidate) -> list[Manifest]:
    """What a user must have, or may bind, who grants a candidate its rights."""
    rules: list[Manifest] = [dict(rule.document()) for rule in candidate.rbac.rules]
    if candidate.rbac.cluster_roles:
        rules.append(
            {
                "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["bind"],
                "resourceNames": list(candidate.rbac.cluster_roles),
            }
        )  # fmt: skip
    return rules


def _renamed(manifest: Manifest, name: str) -> Manifest:
    """Return an object of the shipped manifests with the submission's names."""
    place = namespace_of(name)
    metadata = dict(manifest["metadata"])
    if metadata.get("namespace") == _SHIPPED:
        metadata["namespace"] = place
    if manifest["kind"] == "ServiceAccount":
        return {**manifest, "metadata": metadata}
    metadata["name"] = f"{metadata['name']}-{name}"
    renamed = {**manifest, "metadata": metadata}
    if "roleRef" in manifest:
        renamed["roleRef"] = {**manifest["roleRef"], "name": f"{manifest['roleRef']['name']}-{name}"}
        renamed["subjects"] = [{**subject, "namespace": place} for subject in manifest["subjects"]]
    return renamed


def config_map(files: CandidateFiles) -> Manifest:
    """Return the ConfigMap of the candidate's files."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "candidate"}, **files.content}


def job(image: str, candidate: Candidate, files: CandidateFiles, options: Sequence[str], *, seconds: int) -> Manifest:
    """Return the Job.

    Args:
        image: that of the harness.
        candidate: what is judged.
        files: its files.
        options: those of `schedproof run` that the user gives.
        seconds: how long it lasts at most, with the time in which the report can be fetched.
    """
    manifest: Manifest = yaml.safe_load(content("clusters", "addons", "submission.yaml").read_text())
    manifest["spec"]["activeDeadlineSeconds"] = seconds
    spec = manifest["spec"]["template"]["spec"]
    run, report = spec["containers"]
    run["image"] = report["image"] = image
    deployed = () if isinstance(candidate.spec, AttachedSpec) else ("--deploy=pod",)
    run["args"] = [
        "run", f"{MOUNTED}/{candidate.path.name}", "--cluster=existing", *deployed, *options, f"--report={FOLDER}",
    ]  # fmt: skip
    (volume,) = (volume for volume in spec["volumes"] if volume["name"] == "candidate")
    volume["configMap"]["items"] = list(files.items)
    return manifest


def owned(manifest: Manifest, owner: Manifest, name: str) -> Manifest:
    """Return an object with the submission's label, and its namespace as the owner."""
    metadata = manifest["metadata"]
    reference = {"apiVersion": "v1", "kind": "Namespace", **{key: owner["metadata"][key] for key in ("name", "uid")}}
    labels = {**(metadata.get("labels") or {}), SUBMISSION: name}
    return {**manifest, "metadata": {**metadata, "labels": labels, "ownerReferences": [reference]}}
