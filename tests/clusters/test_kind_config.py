"""The configuration that kind is given: the mark of ownership on each node, and an audit log on this machine."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest

from schedproof.clusters.kind.config import definition_digest, kind_config, node_names
from schedproof.clusters.kind.ownership import MARK
from schedproof.clusters.spec import KindSpec

SPEC = KindSpec("1.36", 0.5, 3, {"zone": "a"})


def config(spec: KindSpec = SPEC, *, cgroup_version: int = 2) -> dict[str, Any]:
    return kind_config(
        spec, logs=Path("/evidence"), lock=Path("/cache/x.lock"), port=20_001, cgroup_version=cgroup_version
    )


def patches(document: dict[str, Any]) -> dict[str, Any]:
    return {patch["kind"]: patch for patch in map(json.loads, document["kubeadmConfigPatches"])}


def test_every_node_mounts_the_lock_of_its_cluster() -> None:
    nodes = config()["nodes"]
    assert [node["role"] for node in nodes] == ["control-plane", "worker", "worker", "worker"]
    mark = {"hostPath": "/cache/x.lock", "containerPath": MARK, "readOnly": True}
    assert all(mark in node["extraMounts"] for node in nodes)


def test_workers_are_identical_and_have_the_labels_of_the_definition() -> None:
    workers = config()["nodes"][1:]
    assert all(worker == workers[0] for worker in workers)
    assert workers[0]["labels"] == {"zone": "a"}


def test_the_audit_log_is_blocking_and_mounted_on_the_host() -> None:
    document = config()
    server = patches(document)["ClusterConfiguration"]["apiServer"]
    arguments = server["extraArgs"]
    assert arguments["audit-log-mode"] == "blocking"
    mounts = {mount["containerPath"]: mount["hostPath"] for mount in document["nodes"][0]["extraMounts"]}
    # From this machine into the node, and from the node into the apiserver's own container.
    volumes = {volume["mountPath"]: volume["hostPath"] for volume in server["extraVolumes"]}
    log = Path(arguments["audit-log-path"])
    assert mounts[volumes[str(log.parent)]] == "/evidence"
    policy = Path(mounts[volumes[arguments["audit-policy-file"]]])
    assert (policy.name, policy.is_file()) == ("audit-policy.yaml", True)
    # kind translates arguments for the version of kubeadm's configuration only where the patch names none.
    assert "apiVersion" not in patches(document)["ClusterConfiguration"]


def test_the_apiserver_listens_on_loopback_only() -> None:
    assert config()["networking"]["apiServerAddress"] == "127.0.0.1"
    assert config()["networking"]["apiServerPort"] == 20_001


def test_kubelets_accept_cgroup_v1_only_where_the_host_has_no_cgroup_v2() -> None:
    assert patches(config(cgroup_version=1))["KubeletConfiguration"]["failCgroupV1"] is False
    assert "KubeletConfiguration" not in patches(config(cgroup_version=2))


def test_a_cluster_without_workers_has_room_for_5000_node_objects() -> None:
    document = config(dataclasses.replace(SPEC, count=0))
    arguments = patches(document)["ClusterConfiguration"]["controllerManager"]["extraArgs"]
    subnet = ipaddress.ip_network(document["networking"]["podSubnet"])
    assert 2 ** (int(arguments["node-cidr-mask-size"]) - subnet.prefixlen) > 5_000
    assert arguments["node-monitor-grace-period"] == "24h"
    assert "controllerManager" not in patches(config())["ClusterConfiguration"]


def test_a_benchmark_cluster_has_no_audit_log() -> None:
    assert "apiServer" not in patches(config(dataclasses.replace(SPEC, audited=False)))["ClusterConfiguration"]


def test_node_names_are_those_that_kind_gives() -> None:
    assert node_names("x", 3) == ("x-control-plane", ["x-worker", "x-worker2", "x-worker3"])


@pytest.mark.parametrize(
    "change",
    [{"kubernetes": "1.35"}, {"scrape_interval": 1.0}, {"count": 2}, {"labels": {}}],
    ids=lambda change: next(iter(change)),
)
def test_the_digest_of_a_definition_changes_with_every_field_and_the_image(change: dict[str, Any]) -> None:
    assert definition_digest(SPEC, "image") == definition_digest(dataclasses.replace(SPEC), "image")
    assert definition_digest(dataclasses.replace(SPEC, **change), "image") != definition_digest(SPEC, "image")
    assert definition_digest(SPEC, "another") != definition_digest(SPEC, "image")
