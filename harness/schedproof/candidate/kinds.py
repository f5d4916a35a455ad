"""The four kinds of candidates: what the harness starts, and how it connects a scheduler to that."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from schedproof.documents.durations import format_duration

CandidateKind = Literal["extender", "controller", "plugin", "attached"]
KINDS: tuple[CandidateKind, ...] = ("extender", "controller", "plugin", "attached")


@dataclasses.dataclass(frozen=True)
class ManagedResource:
    """An extended resource that the extender manages."""

    name: str
    ignored_by_scheduler: bool = False


def weighed_beyond_int64(weight: int) -> bool:
    """Whether an extender's highest score (10), times its weight, times 10, overflows int64.

    Source: prioritizeNodes in pkg/scheduler/schedule_one.go, which does not check for overflow.
    """
    return 10 * weight * 10 > 2**63 - 1


@dataclasses.dataclass(frozen=True)
class ExtenderConfig:
    """`Extender` of kubescheduler.config.k8s.io/v1; of its URL only the path, because the harness chooses the rest.

    kube-scheduler does not call an empty verb. `http_timeout` is in seconds; None leaves kube-scheduler's own default.
    """

    filter_verb: str = ""
    prioritize_verb: str = ""
    bind_verb: str = ""
    preempt_verb: str = ""
    weight: int = 1
    node_cache_capable: bool = False
    ignorable: bool = False
    http_timeout: float | None = None
    enable_https: bool = False
    tls_config: Mapping[str, str | bool] | None = None
    managed_resources: tuple[ManagedResource, ...] = ()
    path_prefix: str = ""

    @property
    def overflows(self) -> bool:
        """Whether kube-scheduler's weighted score overflows int64; see `weighed_beyond_int64`."""
        return bool(self.prioritize_verb) and weighed_beyond_int64(self.weight)

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs that kube-scheduler calls, in the order of a scheduling cycle."""
        return tuple(filter(None, (self.filter_verb, self.preempt_verb, self.prioritize_verb, self.bind_verb)))

    def document(self, base_url: str) -> dict[str, Any]:
        """The upstream document, for an extender at `base_url` (scheme, host, port). Placeholders are not replaced."""
        fields: dict[str, Any] = {
            "filterVerb": self.filter_verb,
            "prioritizeVerb": self.prioritize_verb,
            "bindVerb": self.bind_verb,
            "preemptVerb": self.preempt_verb,
            "weight": self.weight if self.prioritize_verb else 0,
            "nodeCacheCapable": self.node_cache_capable,
            "ignorable": self.ignorable,
            "httpTimeout": format_duration(self.http_timeout) if self.http_timeout else "",
            "enableHTTPS": self.enable_https,
            "tlsConfig": dict(self.tls_config or {}),
            "managedResources": [
                {"name": resource.name, "ignoredByScheduler": resource.ignored_by_scheduler}
                for resource in self.managed_resources
            ],
        }
        url = base_url.rstrip("/") + self.path_prefix
        return {"urlPrefix": url} | {name: value for name, value in fields.items() if value}

    def as_dict(self) -> dict[str, Any]:
        document = self.document("")
        del document["urlPrefix"]
        if self.http_timeout:
            document["httpTimeout"] = self.http_timeout
        if "keyData" in document.get("tlsConfig", {}):
            document["tlsConfig"]["keyData"] = "(kept out of records)"
        return document | ({"pathPrefix": self.path_prefix} if self.path_prefix else {})


@dataclasses.dataclass(frozen=True)
class CommandSpec:
    """A process that the harness starts in `workdir`. Placeholders in `command` and `env` are replaced.

    `ready` is the HTTP path of its readiness probe, which succeeds with 2xx. None: an extender is ready when it accepts
    a TCP connection, a controller when it runs. `port` None: the harness chooses a port and passes it as `{port}`.
    """

    command: tuple[str, ...]
    workdir: Path
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ready: str | None = None
    port: int | None = None

    @property
    def listens(self) -> bool:
        """Whether readiness is probed at its port."""
        return self.ready is not None

    @property
    def tls(self) -> bool:
        """Whether its port serves HTTPS."""
        return False

    def as_dict(self) -> dict[str, Any]:
        return {
            "command": list(self.command),
            "workdir": str(self.workdir),
            "env": dict(self.env),
            "ready": self.ready,
            "port": self.port,
        }


@dataclasses.dataclass(frozen=True)
class ExtenderSpec(CommandSpec):
    kind: ClassVar[CandidateKind] = "extender"
    config: ExtenderConfig = dataclasses.field(default_factory=ExtenderConfig)

    @property
    def listens(self) -> bool:
        return True

    @property
    def tls(self) -> bool:
        return self.config.enable_https

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), "config": self.config.as_dict()}


@dataclasses.dataclass(frozen=True)
class ControllerSpec(CommandSpec):
    kind: ClassVar[CandidateKind] = "controller"


@dataclasses.dataclass(frozen=True)
class PluginSpec:
    """A compiled kube-scheduler: exactly one of `package`, `main` and `binary` is set.

    `package` and `main` are an absolute folder or a Go import path with its version; `binary` is an absolute file, or
    the bare name of a binary of the harness's lock. `name` is the name that the plugin is registered under; it may be
    empty only with `main` and `binary`, whose configuration may stay unchanged.
    """

    kind: ClassVar[CandidateKind] = "plugin"
    package: str | None = None
    main: str | None = None
    binary: str | None = None
    constructor: str = "New"
    name: str = ""
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def stock(self) -> bool:
        """Whether `binary` names a pinned binary of the harness."""
        return self.binary is not None and "/" not in self.binary

    @property
    def folder(self) -> Path | None:
        """The folder of the sources; None if they are not local."""
        source = self.package or self.main or ""
        return Path(source) if source.startswith("/") else None

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class AttachedSpec:
    """A scheduler that already runs in an existing cluster."""

    kind: ClassVar[CandidateKind] = "attached"

    def as_dict(self) -> dict[str, Any]:
        return {}


Spec = ExtenderSpec | ControllerSpec | PluginSpec | AttachedSpec


@dataclasses.dataclass(frozen=True)
class PolicyRule:
    """`PolicyRule` of rbac.authorization.k8s.io/v1."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def document(self) -> dict[str, list[str]]:
        """The upstream document."""
        fields = {
            "verbs": self.verbs,
            "apiGroups": self.api_groups,
            "resources": self.resources,
            "resourceNames": self.resource_names,
            "nonResourceURLs": self.non_resource_urls,
        }
        return {name: list(values) for name, values in fields.items() if values}


@dataclasses.dataclass(frozen=True)
class RbacSpec:
    """The permissions of the candidate's identity; none by default."""

    cluster_roles: tuple[str, ...] = ()
    rules: tuple[PolicyRule, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"clusterRoles": list(self.cluster_roles), "rules": [rule.document() for rule in self.rules]}


@dataclasses.dataclass(frozen=True)
class ProcessSpec(CommandSpec):
    """A program of a candidate that runs beside its scheduler.

    `rbac` None: it uses the candidate's identity, else a ServiceAccount of its own. `files` maps the name of each file
    that it gets to the text, in which placeholders are not yet replaced.
    """

    name: str = ""
    rbac: RbacSpec | None = None
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def address_placeholder(self) -> str:
        """The placeholder for its address, for programs that start after it."""
        return f"{self.name.replace('-', '_')}_address"

    def as_dict(self) -> dict[str, Any]:
        rbac = None if self.rbac is None else self.rbac.as_dict()
        return {"name": self.name, **super().as_dict(), "rbac": rbac, "files": dict(self.files)}


@dataclasses.dataclass(frozen=True)
class WorldSpec:
    """Fields added to the pods, nodes and namespaces of the suites, which the candidate needs to take effect.

    `node_labels`, `node_annotations` and `node_resources` (resource name to quantity) are on every node; `pod` is
    merged into every pod that the candidate is to schedule; `namespace_labels` and `namespace_annotations` are on every
    namespace of such pods, and `objects` (files of manifests) are created in it.
    """

    node_labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    node_annotations: Mapping[str, str] = dataclasses.field(default_factory=dict)
    node_resources: Mapping[str, str] = dataclasses.field(default_factory=dict)
    pod: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    namespace_labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    namespace_annotations: Mapping[str, str] = dataclasses.field(default_factory=dict)
    objects: tuple[Path, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "objects": [str(path) for path in self.objects]}


@dataclasses.dataclass(frozen=True)
class ImageSpec:
    """The image of a candidate's pods. With all fields empty, the harness builds it.

    `dockerfile` is built in `context` (None: its folder), and tagged `ref` if that is set; `ref` alone names an
    existing image. If the harness builds the image, `context` is the folder whose files the command needs (None: its
    workdir), and `requirements` names the Python packages to install. `command` is the program in the image, if it
    differs from the command of the kind.
    """

    dockerfile: Path | None = None
    context: Path | None = None
    ref: str | None = None
    command: tuple[str, ...] = ()
    requirements: Path | None = None

    @property
    def own(self) -> bool:
        """Whether the user provides the image or its Dockerfile."""
        return self.dockerfile is not None or self.ref is not None

    def as_dict(self) -> dict[str, Any]:
        return {
            "dockerfile": str(self.dockerfile) if self.dockerfile else None,
            "context": str(self.context) if self.context else None,
            "ref": self.ref,
            "command": list(self.command),
            "requirements": str(self.requirements) if self.requirements else None,
        }


@dataclasses.dataclass(frozen=True)
class Scoring:
    """A bare Python function from readings to scores."""

    module: str
    function: str
    folder: Path
    """The folder to import the module from: that of the file that names it."""

    def as_dict(self) -> dict[str, Any]:
        return {"python": f"{self.module}:{self.function}"}
