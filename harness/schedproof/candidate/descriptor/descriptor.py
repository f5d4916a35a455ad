"""The model of candidate.yaml, and its reader. The reference page is docs/candidate.md."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from schedproof.candidate.claims import Claims, Exclusion
from schedproof.candidate.config_maps import text_from
from schedproof.candidate.descriptor.features import wrong_features
from schedproof.candidate.descriptor.inheritance import read_inherited
from schedproof.candidate.installed import Install
from schedproof.candidate.kinds import (
    AttachedSpec,
    ControllerSpec,
    ExtenderSpec,
    PluginSpec,
    Spec,
)
from schedproof.candidate.placeholders import CERTIFICATES, placeholders_in
from schedproof.candidate.profiles import Claimable
from schedproof.candidate.reading import KINDS, CandidateKind, Reading
from schedproof.candidate.surroundings import Files, ImageSpec, ProcessSpec, RbacSpec, Scoring, WorldSpec
from schedproof.documents.durations import format_duration
from schedproof.documents.model import (
    Anything,
    Camel,
    File,
    Listed,
    Mapped,
    OrFile,
    Such,
    Text,
    Written,
    Wrong,
    checked,
    existing,
    matching,
    plain,
    refuse,
    rule,
    shown,
)
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.reading import dump, located, raw, read
from schedproof.documents.suggestions import did_you_mean
from schedproof.documents.yaml_source import Mark, read_document
from schedproof.foundation.errors import UsageError
from schedproof.foundation.redaction import SECRETS

_LONGEST_NAME = 52
"""Characters of the names of a candidate and its process together: with a prefix, they fit in a label value (63)."""

_KIND = "KubeSchedulerConfiguration"
_MOVING = frozenset({"latest", "main", "master", "head", "dev", "nightly", "edge", "stable"})
"""Names that stand for another version from time to time."""


def _scheduler_config(value: Any, info: ValidationInfo) -> Any:
    """A KubeSchedulerConfiguration, which may be in a file of its own."""
    if info.context is not None and isinstance(value, dict) and "from" in value:
        return _config_from(value, info.context)
    if info.context is not None and isinstance(value, dict):
        refuse(_wrong_config(value, info.context))
    if info.context is None or not isinstance(value, Written) or not value.strip():
        return value
    problems: list[Problem] = []
    try:
        document = read_document(existing(value, folder=False), problems)
    except DescriptorError as error:
        refuse(error.problems)
        raise
    data = raw(document)
    wrong = _wrong_config(data, info.context) if isinstance(data, dict) else ()
    refuse([*problems, *(located(document, one) for one in wrong)])
    return plain(data)


def _config_from(value: dict[str, Any], context: Reading) -> Any:
    """A KubeSchedulerConfiguration that is in a ConfigMap, or in a file."""
    at = ("from",)
    try:
        config = yaml.safe_load(text_from(value))
    except yaml.YAMLError as error:
        refuse([Wrong("not-yaml", f"its text is not valid YAML: {error}", "name a configuration in YAML", at)])
        raise
    if not isinstance(config, dict):
        refuse([Wrong("wrong-type", "its text is no mapping", f"name a text with a {_KIND}", at)])
    refuse(wrong._replace(at=at) for wrong in _wrong_config(config, context))
    return config


def _wrong_config(config: dict[str, Any], context: Reading) -> Iterator[Wrong]:
    yield from context.wrong_placeholders(config)
    kind = config.get("kind")
    if kind != _KIND:  # a clause judges the apiVersion, which Kubernetes may have removed
        found = f"kind {shown(str(kind))}" if kind else "none"
        message = f"expected a {_KIND}, found {found}"
        fix = f"kind: {_KIND}"
        if kind == "ConfigMap":
            fix = "name what it has: `schedulerConfig: {from: FILE, configMap: NAME, key: KEY}`"
        yield Wrong("invalid-manifest", message, fix, ("kind",) if "kind" in config else ())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(Camel):
    """The `spec` of a candidate.yaml."""

    scheduler_name: Annotated[
        Text,
        matching(
            r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?",
            "expected a schedulerName, as in the spec of pods",
            "use letters, digits, dashes and dots, such as least-traffic",
        ),
        Such("least-traffic"),
    ]
    """the `schedulerName` of the pods that it is to schedule"""
    extender: ExtenderSpec | None = None
    """an HTTP extender; the harness runs a kube-scheduler and wires it"""
    controller: ControllerSpec | None = None
    """a program that watches and binds by itself"""
    plugin: PluginSpec | None = None
    """a compiled kube-scheduler"""
    attached: AttachedSpec | None = None
    """it runs already, in an existing cluster"""
    scheduler_config: (
        Annotated[
            Anything,
            BeforeValidator(_scheduler_config),
            Such("{kind: KubeSchedulerConfiguration, ...}, or the name of a file"),
            OrFile(),
        ]
        | None
    ) = None
    """for extender and plugin: a KubeSchedulerConfiguration, taken as it is, of any apiVersion; one of its profiles
    must serve `schedulerName`. `{from: FILE, configMap: NAME, key: KEY}` takes it from a ConfigMap. The harness writes
    one if it is absent
    """
    files: Files = dataclasses.field(default_factory=dict)
    """files that its program is given, below the folder `{files}`: name to text, or to `{from: FILE}`, also with
    `configMap` and `key`; placeholders in it are filled in
    """
    processes: Annotated[Listed[ProcessSpec], Such("{name: quota-controller, command: [...]}")] = ()
    """what it needs beside its scheduler, such as a controller: started before it, in this order"""
    install: Install = ()
    """manifests that the cluster has before it starts (definitions, namespaces, queues), in this order. A folder is
    taken file by file, or built by kustomize. `{from: release.yaml, kinds: [...]}` applies the named kinds only
    """
    world: WorldSpec = dataclasses.field(default_factory=WorldSpec)
    """what pods, nodes and namespaces must have so that the candidate takes effect"""
    rbac: RbacSpec = dataclasses.field(default_factory=RbacSpec)
    """what the candidate's identity may do, and no more; nothing if it is absent"""
    image: ImageSpec = dataclasses.field(default_factory=ImageSpec)
    """what its pods run; the harness builds an image if it is absent"""
    scoring: Scoring | None = None
    """a bare function, to be property-tested"""
    claims: Claims = dataclasses.field(default_factory=Claims)
    """what it is judged by"""
    exclusions: Annotated[tuple[Exclusion, ...], Such("{clause: network/counter-reset, reason: why}")] = ()
    """known failures"""

    @model_validator(mode="before")
    @classmethod
    def _kind_without_fields(cls, data: Any, info: ValidationInfo) -> Any:
        """A kind of candidate may be given without any field; that is wrong where it has required ones."""
        if info.context is None or not isinstance(data, dict):
            return data
        empty: dict[str, Any] = {kind: Mark.ABSENT for kind in KINDS if kind in data and data[kind] is None}
        return {**data, **empty, **({"attached": {}} if "attached" in empty else {})}

    @property
    def spec(self) -> Spec:
        """The settings of its kind."""
        return self.extender or self.controller or self.plugin or self.attached or AttachedSpec()

    @rule
    def _one_kind(self, _: Reading) -> Iterator[Wrong]:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not given:
            fix = (
                f"add one of {', '.join(KINDS)}, such as `extender: {{command: [...], config: {{filterVerb: filter}}}}`"
            )
            yield Wrong("missing-field", "missing: expected a kind of candidate", fix)
        for kind in given[1:]:
            yield Wrong("contradiction", f"given beside {given[0]}", f"keep exactly one of {', '.join(KINDS)}", (kind,))

    @rule
    def _told_its_port(self, context: Reading) -> Iterator[Wrong]:
        if isinstance(self.spec, (ExtenderSpec, ControllerSpec)) and context.kind is not None:
            for wrong in self.spec.wrong_port(self.files):
                yield wrong._replace(at=(context.kind, *wrong.at))

    @rule
    def _told_its_files(self, context: Reading) -> Iterator[Wrong]:
        if context.kind in (None, "attached") or not self.files:
            return
        if "files" not in placeholders_in([dump(self.spec), self.scheduler_config]):
            message = "not used: no command, argument or configuration contains {files}"
            fix = f"pass {{files}}/{next(iter(self.files))} in its command, env, args or schedulerConfig"
            yield Wrong("missing-placeholder", message, fix, ("files",))

    @rule
    def _configured(self, context: Reading) -> Iterator[Wrong]:
        at = ("schedulerConfig",)
        if self.scheduler_config is None:
            return
        if context.kind in ("controller", "attached"):
            message = f"the harness starts no kube-scheduler for {context.kind}"
            yield Wrong("contradiction", message, "leave it out; it is for extender and plugin", at)
            return
        profiles = self.scheduler_config.get("profiles")
        if isinstance(profiles, list) and profiles and all(isinstance(profile, dict) for profile in profiles):
            served = [str(profile.get("schedulerName") or "default-scheduler") for profile in profiles]
            if self.scheduler_name not in served:
                message = (
                    f"no profile of schedulerConfig serves {self.scheduler_name}, so its pods would never be scheduled"
                )
                yield Wrong("contradiction", message, did_you_mean(self.scheduler_name, served), ("schedulerName",))
        if self.plugin is not None and self.plugin.args:
            message = "it is used unchanged, so the plugin would not get spec.plugin.args"
            fix = "move the args to its profiles[].pluginConfig, or leave schedulerConfig to the harness"
            yield Wrong("contradiction", message, fix, at)

    @rule
    def _starts_nothing_for_attached(self, context: Reading) -> Iterator[Wrong]:
        for name in ("files", "processes", "image") if context.kind == "attached" else ():
            if getattr(self, name) not in ({}, (), ImageSpec()):
                message = "the harness starts nothing of a candidate that is attached"
                yield Wrong("contradiction", message, "leave it out", (name,))

    @rule
    def _each_by_its_name(self, context: Reading) -> Iterator[Wrong]:
        names = [process.name for process in self.processes]
        for number, name in enumerate(names):
            at = ("processes", number, "name")
            if name in names[:number]:
                yield Wrong("duplicate", f"two processes have the name {name}", "give each a different name", at)
            if len(name) + len(context.name) > _LONGEST_NAME:
                fix = f"shorten it: its name and metadata.name may have at most {_LONGEST_NAME} characters together"
                yield Wrong("malformed", "too long: it is part of the names of objects", fix, at)
        clauses = [exclusion.clause for exclusion in self.exclusions]
        for number, clause in enumerate(clauses):
            if clause in clauses[:number]:
                at = ("exclusions", number, "clause")
                message = f"{clause} is excluded twice, first by exclusions[{clauses.index(clause)}]"
                yield Wrong("duplicate", message, "keep one of the two", at)

    @rule
    def _has_its_features(self, context: Reading) -> Iterator[Wrong]:
        for wrong in wrong_features(self.spec, self.files, self.claims, context):
            yield wrong._replace(at=("claims", "features", *wrong.at))


def is_fixed(version: str) -> bool:
    """Whether a version stands for the same program tomorrow."""
    return version.lower() not in _MOVING


def _named_version(text: str) -> Iterator[Wrong]:
    if not is_fixed(text):
        yield Wrong("malformed", f"{shown(text)} is another version tomorrow", "name a tag, a commit, or a digest")


@dataclasses.dataclass(frozen=True)
class Implementation(Mapped):
    """The scheduler, as a published report names it (`--conformance`)."""

    organization: Annotated[Text, Such("example")]
    """who publishes it"""
    project: Annotated[Text, Such("quiet-scheduler")]
    """its name"""
    url: Annotated[
        Text,
        matching(r"https?://\S+", "expected a URL", "such as https://example.com/quiet-scheduler"),
        Such("https://example.com/quiet-scheduler"),
    ]
    """where it is found"""
    version: Annotated[Text, checked(_named_version), Such("v1.2.0")] | None = None
    """a tag, a commit, or a digest; `--release` of a run replaces it"""


@dataclasses.dataclass(frozen=True)
class Metadata(Mapped):
    name: Annotated[
        Text,
        matching(
            r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?",
            "expected lower-case letters, digits and dashes, at most 53",  # objects are named after it, with a suffix
            "such as least-traffic-extender",
        ),
        Such("least-traffic-extender"),
        Field(title="lower-case letters, digits, dashes; at most 53"),
    ]
    """its name in reports; objects are named after it"""
    implementation: Annotated[Implementation, Such("{organization: example, project: ..., url: ...}")] | None = None
    """what a published report says it is"""


@dataclasses.dataclass(frozen=True)
class CandidateFile(File):
    """What is tested, how it is started, and what it promises. Paths start from the file's folder."""

    kind: Literal["Candidate"]
    """what the file describes"""
    metadata: Metadata
    spec: Annotated[Settings, Such("{schedulerName: ...}")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Candidate(Settings):
    """A scheduler under test."""

    name: str
    path: Path
    """Its candidate.yaml, absolute."""
    implementation: Implementation | None = None
    """What a published report says it is."""
    claimed_window: float | None = None
    """The window (seconds) in candidate.yaml, if the candidate is tested with another; see `with_window`."""

    @property
    def kind(self) -> CandidateKind:
        return self.spec.kind

    @property
    def here(self) -> Path:
        """The folder that relative paths start from."""
        return self.path.parent

    @property
    def needs_readings(self) -> bool:
        """Whether it queries Prometheus or has claims about traffic. If not, its cluster may lack Prometheus."""
        return self.claims.network is not None or "prometheus" in placeholders_in(self.as_dict())

    @property
    def flags(self) -> Mapping[str, str]:
        """More flags of its kube-scheduler, if it is one."""
        return self.plugin.flags if self.plugin else {}

    @property
    def shows_certificate(self) -> bool:
        """Whether kube-scheduler presents a client certificate to the extender: of `tlsConfig`, or of the harness."""
        tls = self.extender.config.tls_config if self.extender else None
        return self.wants_certificates or bool(tls and (tls.cert_file or tls.cert_data))

    @property
    def wants_certificates(self) -> bool:
        """Whether the harness issues the certificates by which scheduler and extender authenticate each other."""
        spec = self.spec
        return isinstance(spec, ExtenderSpec) and not placeholders_in(
            [*spec.command, *spec.env.values(), *self.files.values(), dump(spec.config)]
        ).isdisjoint(CERTIFICATES)

    def own_values(self) -> dict[str, str]:
        """The values of the placeholders that do not depend on the cluster."""
        values = {"here": str(self.here), "python": sys.executable, "schedulerName": self.scheduler_name}
        if self.claims.network is not None:
            values["window"] = format_duration(round(self.claims.network.window, 3))
        return values

    def with_window(self, window: float) -> Candidate:
        """The candidate with another window (seconds), which replaces the claimed window and `{window}`.

        Raises:
            UsageError: the candidate claims no window, or does not use `{window}`.
        """
        network = self.claims.network
        filled = [dump(self.spec), self.scheduler_config, dict(self.files), *map(dump, self.processes)]
        if network is None or "window" not in placeholders_in(filled):
            raise UsageError(
                f"{self.name} does not use the placeholder {{window}}, so it cannot be tested with another window",
                remedy=f"write {{window}} in {self.path} instead of the window in its command, env, files or "
                "configuration",
            )
        claims = dataclasses.replace(self.claims, network=dataclasses.replace(network, window=window))
        return dataclasses.replace(self, claims=claims, claimed_window=network.window)

    def as_dict(self) -> dict[str, Any]:
        """JSON-able, with durations in seconds, for the header of a history."""
        saved = {**dump(self), "kind": self.kind}
        if self.extender is not None:
            saved["extender"]["config"] = self.extender.config.recorded()
        return {name: value for name, value in saved.items() if name != "claimedWindow" or value is not None}


def load_candidate(path: Path, *, known: Claimable | None = None) -> Candidate:
    """Read and validate a candidate.yaml, or the candidate.yaml in a folder.

    Claims and exclusions must be in `known`, unless that is None.

    Raises:
        DescriptorError: with all problems of the file.
    """
    try:
        file = path / "candidate.yaml" if path.is_dir() else path
    except OSError:
        file = path  # reading it reports the cause
    problems: list[Problem] = []
    document = read_inherited(file, problems)
    context = Reading.of(document, known)
    found = read(CandidateFile, document, problems, context=context)
    settings = {field.name: getattr(found.spec, field.name) for field in dataclasses.fields(Settings)}
    about = found.metadata
    candidate = Candidate(name=about.name, implementation=about.implementation, path=file.absolute(), **settings)
    learn_secrets(candidate)
    return candidate


def learn_secrets(candidate: Candidate) -> None:
    """Redact the candidate's secrets in the output of this process. Call it in each process that runs the candidate."""
    SECRETS.learn(os.environ)
    SECRETS.learn_all([dump(candidate.spec), candidate.scheduler_config])
