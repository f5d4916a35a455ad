"""The objects that a component of a candidate is made of, where it runs as a pod: pure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from schedproof.candidate.kinds import CommandSpec
from schedproof.clusters.api import Manifest
from schedproof.foundation.deadlines import CANDIDATE_STOP

COMPONENT_LABEL = "schedproof.dev/part"
"""Names the component that a pod is of."""

KUBECONFIG = "/etc/schedproof/access/kubeconfig"
CONFIGURATION = "/etc/schedproof/config/scheduler.json"
FILES = "/etc/schedproof/files"
SCHEDULER_PORT = 10_259
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
NODE_FILE = "/etc/kubernetes/schedproof-scheduler.json"


@dataclasses.dataclass(frozen=True)
class PodPlan:
    """A component as a Deployment of one pod.

    `pulled`: whether nodes pull its image if they do not have it. `command` takes the place of the image's entrypoint,
    and `arguments` that of its arguments, where there are any. `probes` are fields of the container. With `port` there
    is a Service in front of it. `configuration` is a KubeSchedulerConfiguration. `files` are below `FILES`: name to
    text.
    """

    name: str
    account: str
    image: str
    kubeconfig: str
    on_control_plane: bool
    """Whether it must run there; otherwise it does where it may."""
    command: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    workdir: str = ""
    probes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    port: int | None = None
    outside: bool = True
    """Whether its Service can be reached from outside the cluster."""
    pulled: bool = False
    configuration: Mapping[str, Any] | None = None
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def file_keys(self) -> dict[str, str]:
        """A Secret's keys have no slash: each file's name by that under which its text is stored."""
        return {f"file-{number}": name for number, name in enumerate(self.files)}


def objects(plan: PodPlan, labels: Mapping[str, str]) -> list[tuple[str, Manifest]]:
    """What is created, in this order: resource and manifest. `labels` are on each, and on the pod."""
    labels = {**labels, COMPONENT_LABEL: plan.name}

    def named(**fields: Any) -> Manifest:
        return {"metadata": {"name": plan.name, "labels": labels}, **fields}

    files = {key: plan.files[name] for key, name in plan.file_keys.items()}
    found = [("secrets", named(stringData={"kubeconfig": plan.kubeconfig, **files}))]
    if plan.configuration is not None:
        text = json.dumps(plan.configuration, indent=1)
        found.append(("configmaps", named(data={"scheduler.json": text})))
    if plan.port is not None:
        service = {
            "type": "NodePort" if plan.outside else "ClusterIP",
            "selector": {COMPONENT_LABEL: plan.name}, "ports": [{"port": plan.port}],
            # Requests reach the candidate even if it is not ready, as with a process.
            "publishNotReadyAddresses": True,
        }  # fmt: skip
        found.append(("services", named(spec=service)))
    deployment = {
        "replicas": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {COMPONENT_LABEL: plan.name}},
        "template": {"metadata": {"labels": labels}, "spec": _pod(plan)},
    }
    found.append(("deployments", named(spec=deployment)))
    return found


def _pod(plan: PodPlan) -> Manifest:
    access = [{"key": "kubeconfig", "path": "kubeconfig"}]
    volumes: Manifest = {"access": {"secret": {"secretName": plan.name, "items": access}}}
    if plan.files:
        items = [{"key": key, "path": name} for key, name in plan.file_keys.items()]
        volumes["files"] = {"secret": {"secretName": plan.name, "items": items}}
    if plan.configuration is not None:
        volumes["config"] = {"configMap": {"name": plan.name}}
    container: Manifest = {
        "name": "candidate",
        "image": plan.image,
        # Without a registry, it has been loaded into every node.
        "imagePullPolicy": "IfNotPresent" if plan.pulled else "Never",
        "env": [{"name": name, "value": value} for name, value in {"KUBECONFIG": KUBECONFIG, **plan.env}.items()],
        "volumeMounts": [
            {"name": name, "mountPath": f"/etc/schedproof/{name}", "readOnly": True} for name in volumes
        ],
        **plan.probes,
    }  # fmt: skip
    for field, value in (
        ("command", list(plan.command)), ("args", list(plan.arguments)), ("workingDir", plan.workdir),
    ):  # fmt: skip
        if value:
            container[field] = value
    spec: Manifest = {
        "serviceAccountName": plan.account,
        "terminationGracePeriodSeconds": int(CANDIDATE_STOP.seconds),
        # Process 1 of a container ignores SIGTERM unless it handles it. Here it is process 1 nowhere.
        "shareProcessNamespace": True,
        "containers": [container],
        "volumes": [{"name": name, **source} for name, source in volumes.items()],
    }
    # The workers stay identical except for their traffic.
    spec["tolerations"] = [{"key": _CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}]
    if plan.on_control_plane:
        spec["nodeSelector"] = {_CONTROL_PLANE: ""}
        # A share of a busy machine; without a request, it would get the idle time only.
        container["resources"] = {"requests": {"cpu": "200m"}}
    else:
        terms = {"matchExpressions": [{"key": _CONTROL_PLANE, "operator": "Exists"}]}
        preferred = [{"weight": 100, "preference": terms}]
        spec["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return spec


def command_probe(spec: CommandSpec, port: int, *, shows_certificate: bool = False) -> Manifest:
    """How a kubelet tells whether a candidate's own program is ready; empty where it is once it runs.

    `shows_certificate`: whether the program may ask its clients for a certificate. A kubelet has none to show.
    """
    if not spec.listens:
        return {}
    if spec.ready is None or (spec.tls and shows_certificate):
        asked: Manifest = {"tcpSocket": {"port": port}}
    else:
        asked = {"httpGet": {"path": spec.ready, "port": port, "scheme": "HTTPS" if spec.tls else "HTTP"}}
    return {"readinessProbe": {**asked, "periodSeconds": 1, "timeoutSeconds": 5}}


def scheduler_probes() -> Manifest:
    """As those of the control plane's own scheduler."""

    def asked(path: str) -> Manifest:
        return {"httpGet": {"path": path, "port": SCHEDULER_PORT, "scheme": "HTTPS"}}

    return {
        "readinessProbe": {**asked("/readyz"), "periodSeconds": 1, "timeoutSeconds": 5},
        "livenessProbe": {**asked("/livez"), "periodSeconds": 10, "timeoutSeconds": 15, "failureThreshold": 8},
    }


def scheduler_arguments(configuration: str, kubeconfig: str, address: str, flags: Mapping[str, str]) -> tuple[str, ...]:
    """Of a kube-scheduler whose files are there. Its log tells scores, as `daemons.scheduler` has it.

    `flags`: further ones of the candidate's.
    """
    return (
        f"--config={configuration}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={address}",
        f"--secure-port={SCHEDULER_PORT}",
        "--v=2",
        "--vmodule=schedule_one=10,extender=5",
        *(f"--{name}={value}" for name, value in flags.items()),
    )


def static_pod(
    original: Manifest, *, component: str, start: int, image: str, command: tuple[str, ...], kubeconfig: str,
    flags: Mapping[str, str],
) -> Manifest:  # fmt: skip
    """Return the control plane's kube-scheduler with another image and configuration, and no other change.

    `start` counts the starts: a kubelet identifies static pods by their manifests, and each start needs a new pod.
    """
    pod: Manifest = json.loads(json.dumps(original))
    metadata, spec = pod["metadata"], pod["spec"]
    metadata.setdefault("labels", {})[COMPONENT_LABEL] = component
    metadata.setdefault("annotations", {})["schedproof.dev/start"] = str(start)
    container = spec["containers"][0]
    container["image"] = image
    container["imagePullPolicy"] = "Never"
    container["command"] = [*command, *scheduler_arguments(NODE_FILE, kubeconfig, "127.0.0.1", flags)]
    container.pop("args", None)
    if (
        "startupProbe" in container
    ):  # kubeadm's probes every ten seconds only, and the pod is not Ready until it succeeds
        container["startupProbe"] |= {"initialDelaySeconds": 0, "periodSeconds": 1, "failureThreshold": 240}
    container.setdefault("volumeMounts", []).append({"name": "schedproof", "mountPath": NODE_FILE, "readOnly": True})
    spec.setdefault("volumes", []).append({"name": "schedproof", "hostPath": {"path": NODE_FILE, "type": "File"}})
    return pod
