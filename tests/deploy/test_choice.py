"""Which way a candidate runs, and what is refused with a remedy."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.candidate.scheduler_config import scheduler_configuration, serving_all
from schedproof.clusters.cluster import Identity
from schedproof.deploy import control_plane
from schedproof.deploy.choice import choose_deployer
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError

IDENTITY = Identity("me", Path("/nowhere"))
MEANS: dict[str, Any] = {"builds": True, "service_address": "192.0.2.1", "prometheus_url": ""}
PODS = types.SimpleNamespace(static_pods=None, **MEANS)
KIND = types.SimpleNamespace(static_pods=types.SimpleNamespace(read=lambda _name: ""), **MEANS)


def cluster(hosting: object, capabilities: frozenset[str] = frozenset({"real-pods"})) -> Any:
    return types.SimpleNamespace(name="played", hosting=hosting, capabilities=capabilities, host=None, api=None)


def candidate(tmp_path: Path, spec: str, name: str = "mine") -> Candidate:
    head = f"apiVersion: schedproof/v1\nkind: Candidate\nmetadata: {{name: mine}}\nspec: {{schedulerName: {name}, "
    (tmp_path / "candidate.yaml").write_text(f"{head}{spec}}}\n")
    return load_candidate(tmp_path)


def shipped(name: str) -> Candidate:
    return load_candidate(content("fixtures", "candidates", name))


@pytest.mark.parametrize(
    ("hosting", "deploy", "way"),
    [
        (None, None, "process"),
        (PODS, None, "pod"),
        (KIND, None, "pod"),
        (KIND, "process", "process"),
        (KIND, "control-plane", "control-plane"),
    ],
)
def test_a_candidate_runs_as_a_pod_if_the_cluster_runs_pods_unless_deploy_is_given(
    hosting: object, deploy: str | None, way: str
) -> None:
    assert choose_deployer(cluster(hosting), shipped("stock"), IDENTITY, Path(), deploy).name == way


@pytest.mark.parametrize(
    ("hosting", "deploy", "spec", "message", "fix"),
    [
        (None, "pod", "controller: {command: [a]}", "candidates cannot run as pods", "--deploy process"),
        (PODS, "control-plane", "plugin: {binary: kube-scheduler}", "cannot be changed", "--deploy pod"),
        (KIND, "control-plane", "controller: {command: [a]}", "not a compiled scheduler", "--deploy pod"),
        (
            KIND, "control-plane",
            "plugin: {binary: kube-scheduler}, rbac: {clusterRoles: [cluster-admin]}", "spec.rbac", "--deploy pod",
        ),
        (
            KIND, "pod",
            'extender: {command: ["{port}"], config: {filterVerb: f, tlsConfig: {caFile: /ca}}}', "caFile", "caData",
        ),
    ],
)  # fmt: skip
def test_a_deployment_that_the_cluster_or_candidate_cannot_have_is_refused_with_a_fix(
    tmp_path: Path, hosting: object, deploy: str, spec: str, message: str, fix: str
) -> None:
    with pytest.raises(UsageError) as caught:
        choose_deployer(cluster(hosting), candidate(tmp_path, spec), IDENTITY, Path(), deploy)
    assert message in caught.value.message
    assert fix in caught.value.remedy


@pytest.mark.parametrize("deploy", ["process", "pod"])
def test_the_name_of_the_cluster_s_own_scheduler_needs_deploy_control_plane(tmp_path: Path, deploy: str) -> None:
    default = candidate(tmp_path, "plugin: {binary: kube-scheduler}", "default-scheduler")
    with pytest.raises(UsageError, match="default-scheduler") as caught:
        choose_deployer(cluster(KIND), default, IDENTITY, Path(), deploy)
    assert "--deploy control-plane" in caught.value.remedy
    assert choose_deployer(cluster(KIND), default, IDENTITY, Path(), "control-plane").name == "control-plane"
    # An embedded cluster has no scheduler of its own.
    assert choose_deployer(cluster(None, frozenset()), default, IDENTITY, Path(), None).name == "process"


def test_in_place_of_the_default_scheduler_its_profile_also_serves_pods_that_name_no_scheduler() -> None:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Mine"}]}}}
    own = scheduler_configuration(["other", "mine"], Path("/k"), profile=profile)
    served = {entry.pop("schedulerName"): entry for entry in serving_all(own, "mine")["profiles"]}
    assert set(served) == {"other", "mine", "default-scheduler"}
    assert served["default-scheduler"] == served["mine"] == profile
    default = scheduler_configuration(["default-scheduler"], Path("/k"))
    assert serving_all(default, "default-scheduler") == default


@pytest.mark.parametrize("deploy", ["process", "pod", "control-plane"])
def test_a_scheduler_that_a_killed_run_replaced_is_restored_first(monkeypatch: pytest.MonkeyPatch, deploy: str) -> None:
    restored: list[object] = []
    monkeypatch.setattr(control_plane, "restore_scheduler", lambda _api, static_pods: restored.append(static_pods))
    choose_deployer(cluster(KIND), shipped("stock"), IDENTITY, Path(), deploy)
    assert restored == [KIND.static_pods]
