"""A candidate as pods of the cluster: Deployments, with all objects that an operator would create for them."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import CommandSpec, ExtenderSpec, PluginSpec
from schedproof.candidate.placeholders import fill
from schedproof.candidate.reading import port_placeholder
from schedproof.candidate.surroundings import ProcessSpec
from schedproof.clusters.api import Manifest, NotFound
from schedproof.clusters.cluster import Hosting, Identity, Site
from schedproof.deploy.component import Client, probe
from schedproof.deploy.deployer import DeployMode, Served
from schedproof.deploy.image import check_paths, command_image, own_image, require_images, scheduler_image
from schedproof.deploy.manifests import (
    COMPONENT_LABEL,
    CONFIGURATION,
    FILES,
    KUBECONFIG,
    PodPlan,
    command_probe,
    objects,
    scheduler_arguments,
    scheduler_probes,
)
from schedproof.deploy.pod_component import PodComponent, wait_gone

_ANYWHERE = "0.0.0.0"  # noqa: S104 - a pod's addresses are its own
_PORT = 8888
"""A container's ports are its own, so any port works."""


def _more_ports(spec: CommandSpec) -> dict[str, str]:
    """The values of placeholders for further ports, none of which is the first one."""
    free = (port for port in itertools.count(_PORT + 1) if port != spec.port)
    return {port_placeholder(name): str(port) for name, port in zip(spec.ports, free, strict=False)}


class PodDeployer:
    """See `schedproof.deploy.deployer.Deployer`.

    Args:
        logs: the folder for its logs.
    """

    name: Final[DeployMode] = "pod"
    acts_as = ""
    accounts = None

    def __init__(self, cluster: Site, hosting: Hosting, candidate: Candidate, logs: Path) -> None:
        self._cluster = cluster
        self._hosting = hosting
        self._candidate = candidate
        self._logs = logs
        self._port = (candidate.spec.port if isinstance(candidate.spec, CommandSpec) else None) or _PORT
        self.values = {
            "address": _ANYWHERE, "python": "python3", "kubeconfig": KUBECONFIG, "port": str(self._port),
            "files": FILES, **(_more_ports(candidate.spec) if isinstance(candidate.spec, CommandSpec) else {}),
        }  # fmt: skip
        self._images: dict[str, str] = {}
        require_images(candidate, builds=hosting.builds)
        self.reaches_harness = bool(hosting.service_address)
        self.prometheus_url = hosting.prometheus_url

    def kubeconfig(self, identity: Identity) -> Path:  # noqa: ARG002 - each pod has its own in the same place
        return Path(KUBECONFIG)

    def own_values(self, process: ProcessSpec, identity: Identity) -> Mapping[str, str]:  # noqa: ARG002 - see `kubeconfig`
        return {"port": str(process.port or _PORT), **_more_ports(process)}

    def start_command(
        self,
        spec: CommandSpec,
        identity: Identity,
        values: Mapping[str, str],
        files: Mapping[str, str],
        client: Client | None = None,
    ) -> Served:
        candidate = self._candidate
        base = self._hosting.python_image
        process = spec.name if isinstance(spec, ProcessSpec) else ""
        image = (
            self._own_image()
            if candidate.image.own
            else self._loaded(
                f"candidate {spec.workdir}",
                lambda: command_image(candidate, spec, base),
            )
        )
        command = fill(spec.command if process else candidate.image.command or spec.command, values)
        env = fill(dict(spec.env), values)
        if not candidate.image.own:
            check_paths(candidate, spec, (*command, *env.values()))
        port = int(values["port"])
        extender, serves = isinstance(spec, ExtenderSpec), isinstance(spec, (ExtenderSpec, ProcessSpec))
        plan = self._plan(
            f"candidate-{candidate.name}{f'-{process}' if process else ''}", identity, image=image, command=command,
            env=env, files=files,
            # In an image of the user's own, only its WORKDIR is known to exist.
            workdir="" if candidate.image.own else str(spec.workdir),
            probes=command_probe(spec, port, shows_certificate=candidate.shows_certificate),
            port=port if serves else None,
        )  # fmt: skip
        name = f"candidate {candidate.name}{f' {process}' if process else ''}"
        outside = self._hosting.service_address
        service: Manifest = {}

        def answers() -> None:
            if extender and outside:
                probe(outside, service["ports"][0]["nodePort"], spec.ready, client)

        component = self._deploy(plan, name, f"{process or 'candidate'}.log", answers, service)
        if not serves:
            return Served(component, "", "")
        reached = f"{outside}:{service['ports'][0]['nodePort']}" if outside else ""
        return Served(component, reached, f"{service['clusterIP']}:{port}")

    def start_scheduler(
        self, configuration: Mapping[str, Any], identity: Identity, binary: str, files: Mapping[str, str]
    ) -> PodComponent:
        candidate = self._candidate
        command: tuple[str, ...] = ("kube-scheduler",)
        path, base = Path(self._cluster.host.binaries.get(binary, binary)), self._hosting.python_image
        if isinstance(candidate.spec, PluginSpec) and candidate.image.own:
            image = self._own_image()
            command = candidate.image.command or command
        elif self._hosting.scheduler_image and "/" not in binary:
            image = self._hosting.scheduler_image
        else:
            image = self._loaded("scheduler", lambda: scheduler_image(path, base))
        plan = self._plan(
            f"scheduler-{candidate.name}", identity, image=image, command=command,
            arguments=scheduler_arguments(CONFIGURATION, KUBECONFIG, _ANYWHERE, candidate.flags),
            probes=scheduler_probes(), configuration=configuration, files=files,
        )  # fmt: skip
        return self._deploy(plan, plan.name, "scheduler.log")

    def _own_image(self) -> str:
        """The user's image, as nodes have it or pull it."""
        image = self._candidate.image
        if image.ref is not None and self._hosting.pulls and (image.dockerfile is None or not self._hosting.builds):
            return image.ref
        return self._loaded("candidate", lambda: own_image(self._candidate))

    def _loaded(self, component: str, make: Callable[[], str]) -> str:
        """An image that every node has or pulls: made at the first start, and used again at later starts."""
        if component not in self._images:
            self._images[component] = self._hosting.load_image(make())
        return self._images[component]

    def _plan(self, name: str, identity: Identity, **more: Any) -> PodPlan:
        kubeconfig = json.loads(identity.kubeconfig.read_text())
        kubeconfig["clusters"][0]["cluster"] = dict(self._hosting.apiserver)
        return PodPlan(
            name=name, account=identity.name, kubeconfig=json.dumps(kubeconfig),
            on_control_plane=self._hosting.static_pods is not None, outside=self.reaches_harness,
            pulled=self._hosting.pulls, **more,
        )  # fmt: skip

    def _deploy(
        self,
        plan: PodPlan,
        name: str,
        log: str,
        answers: Callable[[], None] = lambda: None,
        service: Manifest | None = None,
    ) -> PodComponent:
        """Create its objects. `service` has the fields of its Service."""
        api, namespace = self._cluster.api, self._hosting.namespace
        made = objects(plan, self._hosting.labels)
        selector = f"{COMPONENT_LABEL}={plan.name}"

        def remove() -> None:
            for resource, manifest in reversed(made):
                with contextlib.suppress(NotFound):
                    api.delete(resource, manifest["metadata"]["name"], namespace)

            wait_gone(api, namespace, selector)

        # A run that was killed may have left one of the same name.
        remove()
        try:
            for resource, manifest in made:
                created = api.create(resource, manifest, namespace)
                if resource == "services" and service is not None:
                    service.update(created["spec"])
            return PodComponent(
                api, namespace, {"labelSelector": selector}, name=name, log=self._logs / log, remove=remove,
                answers=answers, pids_of=self._hosting.pids_of,
            )  # fmt: skip
        except BaseException:
            remove()
            raise

    def close(self) -> None:
        """Nothing is left after its components have been stopped."""
