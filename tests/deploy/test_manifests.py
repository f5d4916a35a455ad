"""The objects that deploy a candidate."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from schedproof.candidate.kinds import ControllerSpec, ExtenderConfig, ExtenderSpec
from schedproof.deploy.manifests import (
    COMPONENT_LABEL,
    CONFIGURATION,
    KUBECONFIG,
    NODE_FILE,
    SCHEDULER_PORT,
    PodPlan,
    command_probe,
    objects,
    scheduler_arguments,
    scheduler_probes,
    static_pod,
)

LABELS = {"schedproof.dev/owned": "true"}
COMMAND = {"command": ("python3",), "workdir": Path("/w")}
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def made(**fields: Any) -> dict[str, dict[str, Any]]:
    defaults: dict[str, Any] = {
        "name": "part", "account": "sa", "image": "i:1", "kubeconfig": "K", "on_control_plane": True,
    }  # fmt: skip
    return dict(objects(PodPlan(**{**defaults, **fields}), LABELS))


def container(deployment: dict[str, Any]) -> dict[str, Any]:
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def test_a_scheduler_is_a_deployment_with_configuration_kubeconfig_and_probes() -> None:
    arguments = scheduler_arguments(CONFIGURATION, KUBECONFIG, "0.0.0.0", {"feature-gates": "A=true"})
    found = made(
        command=("kube-scheduler",), arguments=arguments, probes=scheduler_probes(), configuration={"kind": "X"}
    )
    assert list(found) == ["secrets", "configmaps", "deployments"], "each exists before it is referred to"
    assert found["secrets"]["stringData"] == {"kubeconfig": "K"}
    assert json.loads(found["configmaps"]["data"]["scheduler.json"]) == {"kind": "X"}
    deployment = found["deployments"]
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    pod = deployment["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "sa"
    assert {"kube-scheduler", *arguments} == {*container(deployment)["command"], *container(deployment)["args"]}
    for probe in ("readinessProbe", "livenessProbe"):
        assert container(deployment)[probe]["httpGet"]["port"] == SCHEDULER_PORT
        assert container(deployment)[probe]["httpGet"]["scheme"] == "HTTPS"
    mounted = {mount["name"]: mount["mountPath"] for mount in container(deployment)["volumeMounts"]}
    sources = {volume["name"]: next(iter(volume.keys() - {"name"})) for volume in pod["volumes"]}
    assert {mounted[name]: sources[name] for name in mounted} == {
        str(Path(KUBECONFIG).parent): "secret",
        str(Path(CONFIGURATION).parent): "configMap",
    }


def test_every_object_has_the_labels_that_select_it() -> None:
    found = made(port=8888, configuration={})
    for manifest in found.values():
        assert manifest["metadata"]["labels"] == {**LABELS, COMPONENT_LABEL: "part"}
    template = found["deployments"]["spec"]["template"]["metadata"]["labels"]
    assert template.items() >= found["deployments"]["spec"]["selector"]["matchLabels"].items()
    assert template.items() >= found["services"]["spec"]["selector"].items()
    assert found["services"]["spec"]["type"] == "NodePort"


def test_pods_run_on_the_control_plane_if_the_cluster_has_one() -> None:
    pod = made()["deployments"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {CONTROL_PLANE: ""}
    assert [toleration["key"] for toleration in pod["tolerations"]] == [CONTROL_PLANE]
    elsewhere = made(on_control_plane=False)["deployments"]["spec"]["template"]["spec"]
    assert "nodeSelector" not in elsewhere
    assert pod["tolerations"] == elsewhere["tolerations"], "it may run there"
    (preferred,) = elsewhere["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred["preference"]["matchExpressions"] == [{"key": CONTROL_PLANE, "operator": "Exists"}]
    assert "resources" not in elsewhere["containers"][0], "it takes nothing that its pods could be short of"


def test_where_nodes_pull_images_and_this_machine_is_far_away_the_service_is_inside_the_cluster() -> None:
    here, there = made(port=80), made(port=80, outside=False, pulled=True)
    assert [found["services"]["spec"]["type"] for found in (here, there)] == ["NodePort", "ClusterIP"]
    assert [container(found["deployments"])["imagePullPolicy"] for found in (here, there)] == ["Never", "IfNotPresent"]


def test_a_container_has_the_environment_and_without_a_command_the_image_s_entrypoint() -> None:
    deployment = made(env={"DEFECT": "x"})["deployments"]
    assert container(deployment)["env"] == [
        {"name": "KUBECONFIG", "value": KUBECONFIG},
        {"name": "DEFECT", "value": "x"},
    ]
    assert not container(deployment).keys() & {"command", "args", "workingDir"}


def test_the_readiness_probe_follows_the_descriptor() -> None:
    https = ExtenderConfig(filter_verb="f", enable_https=True)
    probes = [
        command_probe(spec, 80).get("readinessProbe", {})
        for spec in (
            ExtenderSpec(**COMMAND, ready="/healthz", config=ExtenderConfig(filter_verb="f")),
            ExtenderSpec(**COMMAND, ready="/healthz", config=https),
            ExtenderSpec(**COMMAND, ready=None, config=ExtenderConfig(filter_verb="f")),
            ControllerSpec(**COMMAND, ready="/readyz"),
            ControllerSpec(**COMMAND, ready=None),
        )
    ]
    assert [{**probe.get("httpGet", {}), **probe.get("tcpSocket", {})} for probe in probes] == [
        {"path": "/healthz", "port": 80, "scheme": "HTTP"},
        {"path": "/healthz", "port": 80, "scheme": "HTTPS"},
        {"port": 80},
        {"path": "/readyz", "port": 80, "scheme": "HTTP"},
        {},
    ]
    secure = ExtenderSpec(**COMMAND, ready="/healthz", config=https)
    asked_without = command_probe(secure, 80, shows_certificate=True)["readinessProbe"]
    assert "httpGet" not in asked_without, "a kubelet has no certificate to show"
    assert asked_without["tcpSocket"] == {"port": 80}


ORIGINAL: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "kube-scheduler", "labels": {"component": "kube-scheduler"}},
    "spec": {
        "containers": [
            {
                "name": "kube-scheduler", "image": "stock", "command": ["kube-scheduler", "--leader-elect=true"],
                "livenessProbe": {"x": 1}, "startupProbe": {"x": 1, "periodSeconds": 10},
                "volumeMounts": [{"name": "kubeconfig", "mountPath": "/k"}],
            }
        ],
        "hostNetwork": True,
        "volumes": [{"name": "kubeconfig", "hostPath": {"path": "/k"}}],
    },
}  # fmt: skip


def test_the_control_plane_s_pod_keeps_all_but_its_image_command_and_configuration() -> None:
    before = copy.deepcopy(ORIGINAL)
    pod = static_pod(ORIGINAL, component="p", start=1, image="i:1", command=("mine",), kubeconfig="/k", flags={})
    assert before == ORIGINAL
    (found,) = pod["spec"]["containers"]
    assert found["image"] == "i:1"
    assert found["command"][0] == "mine"
    assert f"--config={NODE_FILE}" in found["command"]
    assert "--leader-elect=true" not in found["command"]
    assert {mount["mountPath"] for mount in found["volumeMounts"]} == {"/k", NODE_FILE}
    assert found["livenessProbe"] == {"x": 1}
    assert found["startupProbe"].items() >= {"x": 1, "periodSeconds": 1}.items()
    assert pod["spec"]["hostNetwork"]
    assert pod["metadata"]["labels"] == {"component": "kube-scheduler", COMPONENT_LABEL: "p"}
    again = static_pod(ORIGINAL, component="p", start=2, image="i:1", command=("mine",), kubeconfig="/k", flags={})
    assert again["metadata"] != pod["metadata"], "a kubelet takes the same manifest for the same pod, which has ended"
