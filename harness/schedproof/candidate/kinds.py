"""The models of the four kinds of candidates: what the harness starts, and how it connects a scheduler to that."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo, model_validator

from schedproof.candidate.placeholders import placeholders_in
from schedproof.candidate.reading import CandidateKind, Filled, FilledMapping, Reading, port_placeholder
from schedproof.documents.durations import GO_UNITS, format_duration
from schedproof.documents.model import (
    AnyText,
    AsWritten,
    Camel,
    Duration,
    ExistingFolder,
    Flag,
    Listed,
    Mapped,
    Such,
    Text,
    Whole,
    Written,
    Wrong,
    checked,
    existing,
    matching,
    refuse,
    rule,
    shown,
)
from schedproof.documents.reading import dump

STOCK_BINARIES = ("kube-scheduler",)
"""The bare names that `plugin.binary` may have: schedulers in the harness's lock file."""

_INT64 = 2**63 - 1
_COMMAND = '[python3, extender.py, --port, "{port}"]'
HttpPath = Annotated[
    Text,
    matching(r"/\S*", "expected a path that begins with /", "such as /healthz"),
    Field(title="HTTP path"),
]


# -- extenders


def _wrong_resource(name: str) -> Iterator[Wrong]:
    shape = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    if not re.fullmatch(shape, name) or "kubernetes.io/" in name:
        message = f"{shown(name)} is not an extended resource, which kube-scheduler requires"
        yield Wrong("malformed", message, "use a domain other than kubernetes.io, such as example.com/bandwidth")


@dataclasses.dataclass(frozen=True)
class ManagedResource(Camel):
    """An extended resource that the extender manages."""

    name: Annotated[Text, checked(_wrong_resource), Such("example.com/bandwidth"), Field(title="extended resource")]
    ignored_by_scheduler: Flag = False
    """whether kube-scheduler leaves it to the extender"""


def weighed_beyond_int64(weight: int) -> bool:
    """Whether an extender's highest score (10), times its weight, times 10, overflows int64.

    Source: prioritizeNodes in pkg/scheduler/schedule_one.go, which does not check for overflow.
    """
    return 10 * weight * 10 > _INT64


Verb = Annotated[
    AnyText,
    matching(
        r"(?!/)[^\s?#]*",
        "expected a verb, which is appended to the URL",
        "write it without a leading slash, such as filter",
    ),
    Field(title="text without leading slash"),
]


def _wrong_base64(text: str) -> Iterator[Wrong]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        fix = "encode it by `base64 -w0 FILE`, or name the file instead"
        yield Wrong("malformed", "expected PEM text encoded in base64", fix)


_Base64 = Annotated[Text, checked(_wrong_base64), Such("LS0tLS1CRUdJTi..."), Field(title="base64")]
_TlsFile = Annotated[Filled, Field(title="file", pattern=r"\S"), Such('"{here}/ca.pem"')]


@dataclasses.dataclass(frozen=True)
class TlsConfig(Camel):
    """`ExtenderTLSConfig` of kubescheduler.config.k8s.io/v1."""

    insecure: Flag | None = None
    """its certificate is not verified"""
    server_name: Annotated[Filled, Field(title="host name", pattern=r"\S"), Such("extender.example")] | None = None
    """the name in its certificate, if not the host's"""
    cert_file: _TlsFile | None = None
    """the client's certificate"""
    key_file: _TlsFile | None = None
    """the client's key"""
    ca_file: _TlsFile | None = None
    """what its certificate is verified by"""
    cert_data: _Base64 | None = None
    """in place of certFile"""
    key_data: Annotated[_Base64, PlainSerializer(lambda _: "(kept out of records)")] | None = None
    """in place of keyFile"""
    ca_data: _Base64 | None = None
    """in place of caFile"""

    def document(self) -> dict[str, str | bool]:
        """The upstream document, with the private key."""
        private = {"keyData": self.key_data} if self.key_data else {}
        return dump(self, exclude_none=True) | private


def _no_slash_at_the_end(path: str) -> str:
    return path.rstrip("/")


@dataclasses.dataclass(frozen=True)
class ExtenderConfig(Camel):
    """`Extender` of kubescheduler.config.k8s.io/v1; of its URL only the path, because the harness chooses the rest.

    kube-scheduler does not call an empty verb. `http_timeout` is in seconds; None leaves kube-scheduler's own default.
    """

    filter_verb: Annotated[Verb, Such("filter")] = ""
    """the verb to filter nodes; not called if absent"""
    prioritize_verb: Annotated[Verb, Such("prioritize")] = ""
    """the verb to score nodes; not called if absent"""
    bind_verb: Annotated[Verb, Such("bind")] = ""
    """the verb to bind a pod; not called if absent"""
    preempt_verb: Annotated[Verb, Such("preempt")] = ""
    """the verb to choose victims; not called if absent"""
    weight: Annotated[Whole, Field(ge=1, le=_INT64), Such("1")] = 1
    """multiplier of its scores, where `prioritizeVerb` is given"""
    node_cache_capable: Flag = False
    """kube-scheduler sends node names, not Node objects"""
    ignorable: Flag = False
    """kube-scheduler continues if the extender fails"""
    http_timeout: Annotated[float, Duration("5s", minimum=0.001, units=GO_UNITS)] | None = None
    """a Go duration; upstream's default is 5s"""
    enable_https: Flag = False
    """it serves HTTPS"""
    tls_config: TlsConfig | None = None
    """keyData is kept out of records. The line goes through a tap as others do: kube-scheduler is given an authority of
    the tap's, and the tap speaks to the extender by what is written here
    """
    managed_resources: Annotated[tuple[ManagedResource, ...], Such("{name: example.com/bandwidth}")] = ()
    """extended resources that it manages: the suites' pods ask for one of each, and the nodes offer them; without any,
    all pods are sent
    """
    path_prefix: Annotated[HttpPath, AfterValidator(_no_slash_at_the_end), Such("/scheduler")] = ""
    """the path that upstream's `urlPrefix` would have, such as `/scheduler`"""

    @model_validator(mode="before")
    @classmethod
    def _no_url(cls, data: Any, info: ValidationInfo) -> Any:
        if info.context is not None and isinstance(data, dict) and "urlPrefix" in data:
            refuse([_wrong_url_prefix(data["urlPrefix"])])
        return data

    @rule
    def _called(self, _: Reading) -> Iterator[Wrong]:
        if not self.verbs:
            message = "no verb is configured, so kube-scheduler would never call the extender"
            fix = "add one of filterVerb, prioritizeVerb, bindVerb, preemptVerb, such as `filterVerb: filter`"
            yield Wrong("missing-field", message, fix)
        names = [resource.name for resource in self.managed_resources]
        for number, name in enumerate(names):
            if name in names[:number]:
                message = f"{name} is listed twice, which kube-scheduler refuses"
                yield Wrong("duplicate", message, "keep one of the two", ("managedResources", number, "name"))

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
        document = self.recorded()
        prefix = document.pop("pathPrefix", "")
        if self.http_timeout:
            document["httpTimeout"] = format_duration(self.http_timeout)
        if self.tls_config:
            document["tlsConfig"] = self.tls_config.document()
        return {"urlPrefix": base_url.rstrip("/") + prefix} | document

    def recorded(self) -> dict[str, Any]:
        """The upstream document without the URL, as records have it: the timeout in seconds, and no private key."""
        document = dump(self, exclude_defaults=True)
        return document | ({"weight": self.weight} if self.prioritize_verb else {})


def _wrong_url_prefix(written: object) -> Wrong:
    try:
        path = urlsplit(written).path.rstrip("/") if isinstance(written, str) else ""
    except ValueError:
        path = ""
    fix = f"write `pathPrefix: {path}` instead" if path.startswith("/") else "leave it out"
    message = "the harness fills in the URL: it chooses the address, and records the calls through a proxy"
    return Wrong("contradiction", message, f"{fix}; pathPrefix is the part of the URL after the port", ("urlPrefix",))


# -- programs


_PORT_NAME = matching(
    r"[a-z]([-a-z0-9]*[a-z0-9])?", "expected lower-case letters, digits and dashes", "such as metrics"
)


def _wrong_names(env: Mapping[str, str]) -> Iterator[Wrong]:
    for name in env:
        if not name or "=" in name or "\0" in name:
            message, fix = "not a valid name of an environment variable", "use letters, digits and _"
            yield Wrong("malformed", message, fix, (name,))


@dataclasses.dataclass(frozen=True)
class CommandSpec(Mapped):
    """A process that the harness starts in `workdir`. Placeholders in `command` and `env` are replaced.

    `ready` is the HTTP path of its readiness probe, which succeeds with 2xx. None: an extender is ready when it accepts
    a TCP connection, a controller when it runs. `port` None: the harness chooses a port and passes it as `{port}`.
    """

    command: Annotated[Listed[Filled], Such(_COMMAND)]
    """program and arguments; no shell"""
    workdir: Annotated[ExistingFolder, Such(".")] = Path()
    """where it is started; that of candidate.yaml if absent"""
    env: Annotated[
        Mapping[str, Annotated[Filled, Such('"some text"')]], checked(_wrong_names), Such("{LOG_LEVEL: debug}")
    ] = dataclasses.field(default_factory=dict)
    """added to your own environment, less what would redirect it (proxies, CA bundles, `PYTHON*`); `KUBECONFIG` is set
    to its identity, and `TZ`, where neither has it, to a zone that is not UTC
    """
    ready: HttpPath | None = None
    """answers 2xx once it is ready. null: it is enough that it runs"""
    port: Annotated[Whole, Field(ge=1, le=65_535), Such("8888")] | None = None
    """the port that it always takes. Else the harness chooses one, and the command or env must have `{port}`"""
    ports: Annotated[tuple[Annotated[Text, _PORT_NAME], ...], Such("[metrics, webhook]")] = ()
    """names of further ports that the harness chooses: `{metrics_port}` is that of `metrics`"""

    @model_validator(mode="before")
    @classmethod
    def _in_its_folder(cls, data: Any, info: ValidationInfo) -> Any:
        """The folder of the file that has the command is the default for `workdir`."""
        if info.context is None or not isinstance(data, dict) or data.get("workdir") is not None:
            return data
        command = data.get("command")
        items = command if isinstance(command, list) else []
        folders = [item.folder for item in items if isinstance(item, Written)]
        return {**data, "workdir": Written(".", folders[0] if folders else Path())}

    @property
    def listens(self) -> bool:
        """Whether readiness is probed at its port."""
        return self.ready is not None

    @property
    def tls(self) -> bool:
        """Whether its port serves HTTPS."""
        return False

    @rule
    def _names_a_program(self, _: Reading) -> Iterator[Wrong]:
        if not self.command[0].strip():
            message = "the first item, the program, is empty"
            yield Wrong("empty-field", message, f"such as `command: {_COMMAND}`", ("command",))

    def wrong_port(self, files: Mapping[str, str]) -> Iterator[Wrong]:
        """Yield what is wrong if the program must listen, and is not told where; `files` are those that it gets."""
        passed = placeholders_in([*self.command, *self.env.values(), *files.values()])
        for number, name in enumerate(self.ports):
            if port_placeholder(name) not in passed:
                message = f"no argument, env or file contains {{{port_placeholder(name)}}}"
                yield Wrong("missing-placeholder", message, "pass it there, or leave the port out", ("ports", number))
        passes_port = "port" in passed
        if self.port is None and self.listens and not passes_port:
            message = "the harness chooses the port to listen on, but no argument, env or file contains {port}"
            fix = (
                'pass "{port}" in an argument, env or files, or set the port that it always uses, such as `port: 8888`'
            )
            yield Wrong("missing-placeholder", message, fix, ("command",))


@dataclasses.dataclass(frozen=True)
class ExtenderSpec(CommandSpec):
    kind: ClassVar[CandidateKind] = "extender"
    ready: HttpPath | None = "/healthz"
    """answers 2xx once it is ready. null: a TCP connection is enough"""
    config: Annotated[ExtenderConfig, Such("{filterVerb: ...}")] = dataclasses.field(kw_only=True)
    """the fields of the upstream v1 `Extender` but for `urlPrefix`, which the harness fills in; at least one verb is
    needed
    """

    @property
    def listens(self) -> bool:
        return True

    @property
    def tls(self) -> bool:
        return self.config.enable_https


@dataclasses.dataclass(frozen=True)
class ControllerSpec(CommandSpec):
    kind: ClassVar[CandidateKind] = "controller"


# -- plugins


def _sources(text: Any) -> Any:
    """A folder as an absolute path, or a Go import path with its version."""
    if not isinstance(text, Written) or not text.strip():
        return text
    if text.startswith((".", "/")):
        return _absolute(text, folder=True)
    # Go fetches a module only from a host name, which has a dot.
    if "." not in text.partition("/")[0] or re.search(r"\s", text):
        message = f"expected a folder or a Go import path, found {shown(text)}"
        refuse([Wrong("malformed", message, f"for a folder write ./{text[:80]}")])
    if not re.search(r"@v\d", text):
        message = "the version is missing: without it, the code could change between runs"
        fix = f"write it as for `go get`, such as {text.partition('@')[0][:80]}@v1.2.3"
        refuse([Wrong("missing-version", message, fix)])
    return text


def _binary(text: Any) -> Any:
    """A file as an absolute path, or the bare name of a binary of the harness's lock."""
    if not isinstance(text, Written) or not text.strip():
        return text
    if "/" in text:
        return _absolute(text, folder=False)
    if text not in STOCK_BINARIES:
        message = f"the harness does not provide a binary {shown(text)}"
        fix = f"write a file with a slash, ./{text[:80]}, or {' or '.join(STOCK_BINARIES)} for the stock scheduler"
        refuse([Wrong("unknown-value", message, fix)])
    return text


def _absolute(text: Written, *, folder: bool) -> str:
    return str(existing(text, folder=folder).absolute())


_Sources = Annotated[
    Text,
    BeforeValidator(_sources),
    Such("./networktraffic"),
    Field(title="folder (`./x`), or Go import path with its version (`example.com/x@v1.2.3`)"),
]


_SET_FLAGS = frozenset(
    {
        "authentication-kubeconfig", "authorization-kubeconfig", "bind-address", "cert-dir", "config", "kubeconfig",
        "leader-elect", "master", "secure-port", "v", "vmodule",
    }
)  # fmt: skip
"""Flags of kube-scheduler that the harness sets, or whose settings it reads in the configuration."""


@dataclasses.dataclass(frozen=True)
class PluginSpec(Mapped):
    """A compiled kube-scheduler: exactly one of `package`, `main` and `binary` is set.

    `package` and `main` are an absolute folder or a Go import path with its version; `binary` is an absolute file, or
    the bare name of a binary of the harness's lock. `name` is the name that the plugin is registered under; it may be
    empty only with `main` and `binary`, whose configuration may stay unchanged.
    """

    kind: ClassVar[CandidateKind] = "plugin"
    package: _Sources | None = None
    """exactly one of package, main and binary. The plugin's sources: the harness generates main, pins the cluster's
    k8s.io modules and builds
    """
    main: _Sources | None = None
    """the sources of a whole scheduler, built with the same pins"""
    pins: Annotated[Literal["cluster", "own"], Such("own")] = "cluster"
    """with `package` or `main`: the minor version of Kubernetes that it is compiled with, the cluster's, or that of its
    own go.mod (in the patch version that the harness pins), which is then the cluster's as well unless the run says
    otherwise
    """
    binary: (
        Annotated[
            Text,
            BeforeValidator(_binary),
            Such("./kube-scheduler-with-plugin"),
            Field(title="file with a slash, or `kube-scheduler`"),
        ]
        | None
    ) = None
    """built already; the bare name is the stock scheduler of the cluster's version"""
    constructor: (
        Annotated[
            Text,
            matching(r"[A-Z]\w*", "expected the name of an exported Go function", "such as New"),
            Such("New"),
            Field(title="exported Go function"),
        ]
        | None
    ) = None
    """with `package` only; `New` if absent"""
    name: Annotated[
        AnyText,
        matching(
            r"[^\s{}]+",
            "expected a plugin's name",
            "write the name that it is registered under, such as NetworkTraffic",
        ),
        Such("NetworkTraffic"),
    ] = ""
    """required with `package`: what the plugin is registered as"""
    args: Annotated[FilledMapping, Such("{device: eth0}")] = dataclasses.field(default_factory=dict)
    """its typed arguments, for pluginConfig; needs `name`, and no `schedulerConfig`"""
    flags: Annotated[Mapping[str, Annotated[Text, Such("text")]], AsWritten(), Such('{feature-gates: "A=true"}')] = (
        dataclasses.field(default_factory=dict)
    )
    """more of its command line, beside the flags that the harness sets: `feature-gates`, or flags of its own"""

    @property
    def constructor_name(self) -> str:
        """The exported Go function that makes the plugin."""
        return self.constructor or "New"

    @property
    def stock(self) -> bool:
        """Whether `binary` names a pinned binary of the harness."""
        return self.binary is not None and "/" not in self.binary

    @property
    def source(self) -> str:
        """Where its sources are: an absolute folder, or PATH@VERSION; "" if there are none."""
        return self.package or self.main or ""

    @property
    def folder(self) -> Path | None:
        """The folder of the sources; None if they are not local."""
        return Path(self.source) if self.source.startswith("/") else None

    @rule
    def _one_way(self, _: Reading) -> Iterator[Wrong]:
        ways = [way for way in ("package", "main", "binary") if getattr(self, way) is not None]
        if not ways:
            fix = (
                "add one of `package: ./folder` (Go sources of the plugin), `main: ./cmd/scheduler` (of a whole "
                "scheduler), `binary: ./file`, `binary: kube-scheduler` (the stock scheduler)"
            )
            yield Wrong("missing-field", "missing: expected package, main or binary", fix)
        for way in ways[1:]:
            yield Wrong("contradiction", f"given beside {ways[0]}", "keep one of package, main and binary", (way,))
        if self.pins == "own" and ways and not self.source:
            yield Wrong("contradiction", "a program that is built already has its pins", "leave it out", ("pins",))
        if self.constructor is not None and "package" not in ways:
            message = "a constructor is only used with package"
            yield Wrong("contradiction", message, "leave it out", ("constructor",))
        if "package" in ways and not self.name:
            message, fix = "missing: expected a non-empty string", "add it, such as `name: NetworkTraffic`"
            yield Wrong("missing-field", message, fix, ("name",))
        elif ways and self.args and not self.name:
            yield Wrong("missing-field", "args need the name of their plugin", "add the plugin's `name:`", ("args",))

    @rule
    def _has_flags_of_its_own(self, _: Reading) -> Iterator[Wrong]:
        for name in self.flags:
            if not re.fullmatch(r"[A-Za-z0-9][-.\w]*", name):
                yield Wrong("malformed", "expected a flag's name", "write it without leading dashes", ("flags", name))
        for name in sorted(self.flags.keys() & _SET_FLAGS):
            yield Wrong("contradiction", "set by the harness", "leave it out", ("flags", name))


# -- schedulers that run already


@dataclasses.dataclass(frozen=True)
class Workload(Mapped):
    """The object whose pods are the scheduler."""

    kind: Literal["Deployment", "StatefulSet", "DaemonSet"]
    """what makes its pods"""
    name: Annotated[Text, Such("least-traffic")]
    """its name in `namespace`"""


@dataclasses.dataclass(frozen=True)
class AttachedSpec(Mapped):
    """A scheduler that already runs in an existing cluster. With neither `workload` nor `selector`, it runs where the
    harness does not see it.
    """

    kind: ClassVar[CandidateKind] = "attached"
    namespace: Annotated[Text, Such("kube-system")] = "kube-system"
    """where its pods are"""
    workload: Annotated[Workload, Such("{kind: Deployment, name: least-traffic}")] | None = None
    """what makes its pods"""
    selector: Annotated[Mapping[str, Annotated[Text, Such("text")]], AsWritten(), Such("{app: least-traffic}")] = (
        dataclasses.field(default_factory=dict)
    )
    """instead of `workload`: labels of its pods, such as `component: kube-scheduler` for the static pods of kubeadm"""
    container: Annotated[Text, Such("scheduler")] | None = None
    """its container, where its pods have several"""
    user: Annotated[Text, Such("system:kube-scheduler")] | None = None
    """its user in the audit log, where it does not act as the ServiceAccount of its pods"""

    @property
    def is_visible(self) -> bool:
        """Whether its pods are known."""
        return self.workload is not None or bool(self.selector)

    @rule
    def _found_in_one_way(self, _: Reading) -> Iterator[Wrong]:
        if self.workload is not None and self.selector:
            yield Wrong("contradiction", "given beside workload", "keep one of workload and selector", ("selector",))
        if self.container is not None and not self.is_visible:
            message = "it is not known which pods have this container"
            yield Wrong("missing-field", message, "add workload or selector", ("container",))


Spec = ExtenderSpec | ControllerSpec | PluginSpec | AttachedSpec
