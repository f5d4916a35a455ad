"""The models of what a candidate has around it: permissions, image, files, processes, and what pods and nodes have."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from schedproof.candidate.config_maps import SCHEMA, text_from
from schedproof.candidate.kinds import CommandSpec
from schedproof.candidate.points import PartOfPod, Texts
from schedproof.candidate.reading import Filled, Reading, address_placeholder, port_placeholder
from schedproof.documents.manifests import is_kustomization, read_manifests
from schedproof.documents.model import (
    AnyText,
    Camel,
    ExistingFile,
    ExistingFolder,
    Listed,
    Mapped,
    Such,
    Text,
    Written,
    Wrong,
    checked,
    matching,
    refuse,
    rule,
    shown,
)
from schedproof.documents.problems import DescriptorError


@dataclasses.dataclass(frozen=True)
class PolicyRule(Camel):
    """`PolicyRule` of rbac.authorization.k8s.io/v1."""

    verbs: Annotated[Listed[Text], Such("[get, list, watch]")]
    api_groups: Annotated[Listed[AnyText], Such('[""]')] = ()
    resources: Annotated[Listed[Text], Such("[pods]")] = ()
    resource_names: Annotated[Listed[Text], Such("[my-lease]")] = ()
    non_resource_urls: Annotated[Listed[Text], Such("[/metrics]")] = ()

    @rule
    def _about_one(self, _: Reading) -> Iterator[Wrong]:
        if self.non_resource_urls and (self.api_groups or self.resources or self.resource_names):
            message = "a rule is about resources or about URLs, not both"
            yield Wrong("contradiction", message, "split it into two rules")
        elif not self.non_resource_urls and not (self.api_groups and self.resources):
            fix = 'such as `{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}`'
            yield Wrong("missing-field", "a rule needs apiGroups and resources, or nonResourceURLs", fix)

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
class RoleSpec(Camel):
    """Rules that count in one namespace."""

    namespace: Annotated[Filled, Field(pattern=r"\S"), Such("kube-system")]
    """where they count; `{namespace}` is the candidate's own. It exists, or `install` creates it"""
    rules: Annotated[Listed[PolicyRule], Such("{apiGroups: [coordination.k8s.io], resources: [leases], ...}")]
    """as those of `rbac`, without `nonResourceURLs`"""

    @rule
    def _about_resources(self, _: Reading) -> Iterator[Wrong]:
        for number, one in enumerate(self.rules):
            if one.non_resource_urls:
                message = "URLs are in no namespace"
                yield Wrong("contradiction", message, "move the rule to rbac.rules", ("rules", number))


@dataclasses.dataclass(frozen=True)
class RbacSpec(Camel):
    """The permissions of an identity; none by default."""

    cluster_roles: Annotated[tuple[Text, ...], Such("[system:kube-scheduler]")] = ()
    """ClusterRoles that exist already"""
    rules: Annotated[tuple[PolicyRule, ...], Such("{apiGroups: [...], ...}")] = ()
    """`verbs`, with `apiGroups`, `resources`, `resourceNames`, or with `nonResourceURLs`"""
    roles: Annotated[tuple[RoleSpec, ...], Such("{namespace: kube-system, rules: [...]}")] = ()
    """rules for one namespace each, such as those for the Lease of leader election"""


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))


_File = Annotated[ExistingFile, AfterValidator(_normal)]
_Folder = Annotated[ExistingFolder, AfterValidator(_normal)]


@dataclasses.dataclass(frozen=True)
class ImageSpec(Mapped):
    """The image of a candidate's pods. With all fields empty, the harness builds it."""

    dockerfile: Annotated[_File, Such("Dockerfile")] | None = None
    """is built in `context`, and tagged `ref` if that is given"""
    ref: (
        Annotated[
            Text,
            matching(r"[\w./:@-]+", "expected the name of an image", "such as localhost/least-traffic:dev"),
            Such("localhost/least-traffic:dev"),
            Field(title="name of an image"),
        ]
        | None
    ) = None
    """alone: an image that this machine's Docker has, or that nodes of an existing cluster pull, taken as it is"""
    context: Annotated[_Folder, Such(".")] | None = None
    """what the image is built from; the folder of the Dockerfile if absent, else `workdir`"""
    requirements: Annotated[_File, Such("requirements.txt")] | None = None
    """Python packages, where the harness builds the image: pip installs them (wheels only)"""
    command: Annotated[Listed[Annotated[Filled, Field(pattern=r"\S")]], Such("[/extender, --verbose]")] = ()
    """the program in an image of your own; `command` if absent, of a plugin `[kube-scheduler]`"""

    @property
    def own(self) -> bool:
        """Whether the user provides the image or its Dockerfile."""
        return self.dockerfile is not None or self.ref is not None

    @rule
    def _used(self, context: Reading) -> Iterator[Wrong]:
        if self == ImageSpec():
            fix = "add dockerfile or ref, or remove image: the harness then builds an image"
            yield Wrong("missing-field", "expected dockerfile or ref", fix)
        if self.requirements is not None and self.own:
            message = "not used: requirements are only for an image that the harness builds"
            fix = "install them in your own image, and remove this field"
            yield Wrong("contradiction", message, fix, ("requirements",))
        if self.context is not None and self.ref is not None and self.dockerfile is None:
            message = "not used: with ref, no image is built"
            yield Wrong("contradiction", message, "leave it out, or add dockerfile", ("context",))
        if context.kind == "plugin" and not self.own:
            message = "the image that the harness builds for a plugin contains only its scheduler"
            for name in ("context", "requirements", "command"):
                if getattr(self, name):
                    yield Wrong("contradiction", message, "leave it out", (name,))


# -- files, manifests and processes


def _content(value: Any, info: ValidationInfo) -> Any:
    """The text of a file that is given as `{from: FILE}`, or in a ConfigMap of that file."""
    if not isinstance(value, dict):
        return value
    text = text_from(value)
    if info.context is not None:
        refuse(wrong._replace(at=("from",)) for wrong in info.context.wrong_placeholders(text))
    return text


def _wrong_file_names(files: Mapping[str, str]) -> Iterator[Wrong]:
    for name in files:
        path = Path(name)
        if path.is_absolute() or not path.parts or ".." in path.parts or not re.fullmatch(r"[-\w./]+", name):
            message = f"{shown(name)} is not a valid file name: the harness writes the file below the folder {{files}}"
            fix = "write its name in that folder, such as config.yaml, and pass {files}/config.yaml to the program"
            yield Wrong("malformed", message, fix, (name,))


_Content = Annotated[
    Filled,
    BeforeValidator(_content),
    Such('"text, or {from: FILE}"'),
    WithJsonSchema({"anyOf": [{"type": "string"}, SCHEMA]}),
]
Files = Annotated[Mapping[str, _Content], checked(_wrong_file_names), Such('{config.yaml: "address: {prometheus}"}')]
"""The files that a program gets: name to text, in which placeholders are not yet replaced."""


def manifest_path(text: Any) -> Any:
    """The absolute path of a file or folder of manifests."""
    if not isinstance(text, Written) or not text.strip():
        return text
    path = text.folder / text
    if not path.exists():
        fix = "name a file or folder, relative to the folder of candidate.yaml"
        refuse([Wrong("no-such-file", f"there is no {shown(text)}", fix)])
    if not is_kustomization(path):
        try:
            read_manifests(path)
        except DescriptorError as error:
            refuse(error.problems)
    return path


ManifestPath = Annotated[
    Path,
    BeforeValidator(manifest_path),
    WithJsonSchema({"title": "file, or folder", "type": "string", "pattern": r"\S"}),
]
Manifests = Annotated[Listed[ManifestPath], Such("[crds/, queue.yaml]")]

_PROCESS_NAME = matching(
    r"[a-z]([-a-z0-9]*[a-z0-9])?", "expected lower-case letters, digits and dashes", "such as quota-controller"
)


@dataclasses.dataclass(frozen=True)
class ProcessSpec(CommandSpec):
    """A program of a candidate that runs beside its scheduler."""

    name: Annotated[
        Text, _PROCESS_NAME, Such("quota-controller"), Field(title="lower-case letters, digits, dashes")
    ] = dataclasses.field(kw_only=True)
    """its name in reports and logs"""
    rbac: RbacSpec | None = None
    """what its own identity may do; it acts as the candidate does if absent"""
    files: Files = dataclasses.field(default_factory=dict)
    """files that it is given, below the folder `{files}`, as those of the candidate's own program"""
    serves: Annotated[Mapping[str, Annotated[Text, Such("webhook")]], Such("{my-system/admission: webhook}")] = (
        dataclasses.field(default_factory=dict)
    )
    """Services that it is behind, by NAMESPACE/NAME, each with a name of `ports`, or `port`: webhooks and APIServices
    of `install` lead there. It serves HTTPS with `{certFile}` and `{keyFile}`
    """

    @model_validator(mode="wrap")
    @classmethod
    def _in_order(cls, data: Any, read: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if info.context is None:
            return read(data)
        with info.context.of_process():
            return read(data)

    @rule
    def _has_a_port(self, _: Reading) -> Iterator[Wrong]:
        yield from self.wrong_port(self.files)

    @rule
    def _serves_at_its_ports(self, _: Reading) -> Iterator[Wrong]:
        for name, port in self.serves.items():
            at = ("serves", name)
            if not re.fullmatch(r"[-a-z0-9]+/[-a-z0-9.]+", name):
                fix = "write NAMESPACE/NAME, such as my-system/admission"
                yield Wrong("malformed", f"{shown(name)} is not a Service with its namespace", fix, at)
            if port != "port" and port not in self.ports:
                fix = f"list it: `ports: [{port}]`, or write port for {{port}}"
                yield Wrong("unknown-value", f"the process has no port {shown(port)}", fix, at)

    @property
    def services(self) -> Mapping[tuple[str, str], str]:
        """The placeholder of the port at which it serves what a Service, by namespace and name, is for."""
        return {
            (namespace, service): "port" if port == "port" else port_placeholder(port)
            for name, port in self.serves.items()
            for namespace, _, service in [name.partition("/")]
        }

    @property
    def address_placeholder(self) -> str:
        """The placeholder for its address, for programs that start after it."""
        return address_placeholder(self.name)


# -- what pods, nodes and namespaces have


def _as_text(amount: Any) -> Any:
    return str(amount) if isinstance(amount, int) and not isinstance(amount, bool) else amount


_Quantity = Annotated[
    Text,
    matching(r"[0-9]+(\.[0-9]+)?[A-Za-z]{0,2}", "expected a quantity", 'such as "8" or 4Gi'),
    BeforeValidator(_as_text),
    Such('"8"'),
    WithJsonSchema(
        {
            "anyOf": [
                {"title": "quantity", "type": "string", "pattern": r"\S"},
                {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
            ]
        }
    ),
]


@dataclasses.dataclass(frozen=True)
class NodeSurroundings(Mapped):
    """What every node has."""

    labels: Texts = dataclasses.field(default_factory=dict)
    annotations: Texts = dataclasses.field(default_factory=dict)
    resources: Annotated[Mapping[str, _Quantity], Such('{example.com/gpu: "8"}')] = dataclasses.field(
        default_factory=dict
    )
    """extended resources: how much each node offers"""


@dataclasses.dataclass(frozen=True)
class PodSurroundings(PartOfPod):
    """What every pod has that the candidate is to schedule."""

    @rule
    def _leaves_the_place_open(self, _: Reading) -> Iterator[Wrong]:
        for name in ("nodeName", "schedulerName", "nodeSelector", "affinity"):
            if name in self.spec:
                message = f"{name} restricts where pods may go, which the clauses vary themselves"
                fix = f"remove {name}; this field is for labels, resources, tolerations and similar fields"
                yield Wrong("not-supported", message, fix, ("spec",))


@dataclasses.dataclass(frozen=True)
class NamespaceSurroundings(Mapped):
    """What every namespace has that holds the candidate's pods."""

    labels: Texts = dataclasses.field(default_factory=dict)
    annotations: Texts = dataclasses.field(default_factory=dict)
    objects: Manifests = ()
    """manifests that are in each such namespace, such as its queue"""


@dataclasses.dataclass(frozen=True)
class WorldSpec(Mapped):
    """Fields added to the pods, nodes and namespaces of the suites, which the candidate needs to take effect."""

    nodes: NodeSurroundings = dataclasses.field(default_factory=NodeSurroundings)
    """what every node has besides its own"""
    pods: PodSurroundings = dataclasses.field(default_factory=PodSurroundings)
    """what every pod has that it is to schedule; a pod's own fields come first. Of `spec.containers`, the first is
    merged into every container
    """
    namespace: NamespaceSurroundings = dataclasses.field(default_factory=NamespaceSurroundings)
    """what every namespace has that holds its pods"""


# -- a bare function


@dataclasses.dataclass(frozen=True)
class EntryPoint:
    """A Python function. `folder`: to import the module from: that of the file that names it."""

    module: str
    function: str
    folder: Path


def _entry_point(text: Any) -> Any:
    if isinstance(text, Mapping):  # pydantic would read it as the dataclass
        refuse([Wrong("wrong-type", "expected module:function, found a mapping", "write it as one text")])
    if not isinstance(text, Written):
        return text
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", text):
        message = f"expected module:function, found {shown(text)}"
        refuse([Wrong("malformed", message, 'such as "least_traffic.scoring:scores"')])
    module, _, function = text.partition(":")
    return EntryPoint(str(module), str(function), text.folder)


@dataclasses.dataclass(frozen=True)
class Scoring(Mapped):
    """A bare Python function from readings to scores."""

    python: Annotated[
        EntryPoint,
        BeforeValidator(_entry_point),
        PlainSerializer(lambda entry: f"{entry.module}:{entry.function}"),
        WithJsonSchema({"title": "module:function", "type": "string", "pattern": r"\S"}),
        Such('"module:function"', "a non-empty string"),
    ]
    """called with node to bytes per second (None: no sample), returns node to score; in the folder of the file that
    names it
    """
