"""Reads and validates `candidate.yaml`. The reference page is docs/candidate.md."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.candidate.claims import Claimable, Claims, Exclusion
from schedproof.candidate.descriptor.claims_reader import check_features, read_claims, read_exclusions
from schedproof.candidate.descriptor.image_reader import read_image
from schedproof.candidate.descriptor.inheritance import read_inherited
from schedproof.candidate.descriptor.kinds_reader import existing, folder_of, read_kind
from schedproof.candidate.descriptor.rbac_reader import read_rbac
from schedproof.candidate.descriptor.setup_reader import read_files, read_install, read_processes, read_world
from schedproof.candidate.kinds import (
    KINDS,
    AttachedSpec,
    CandidateKind,
    ExtenderSpec,
    ImageSpec,
    PluginSpec,
    ProcessSpec,
    RbacSpec,
    Scoring,
    Spec,
    WorldSpec,
)
from schedproof.candidate.placeholders import CERTIFICATES, PLACEHOLDERS, complaints, placeholders_in
from schedproof.documents.durations import format_duration
from schedproof.documents.fields import Check, Field, Section, matching, shown
from schedproof.documents.json_schema import API_VERSION
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.suggestions import did_you_mean
from schedproof.documents.yaml_source import read_document
from schedproof.foundation.errors import UsageError
from schedproof.foundation.redaction import SECRETS

_NAME = matching(
    r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?",
    "expected lower-case letters, digits and dashes, at most 53",  # objects are named after it, with a suffix
    "such as least-traffic-extender",
)
_SCHEDULER_NAME = matching(
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?",
    "expected a schedulerName, as in the spec of pods",
    "use letters, digits, dashes and dots, such as least-traffic",
)
_FUNCTION = matching(
    r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", "expected module:function", 'such as "least_traffic.scoring:scores"'
)
_UNAVAILABLE = {
    "port": "only an extender and a controller get a port to listen on",
    "address": "only an extender and a controller get an address to listen on",
    "window": "claim a window in spec.claims.network, or write the value itself",
    "files": "list the files and their contents in spec.files",
    **dict.fromkeys(CERTIFICATES, "the harness makes certificates for an extender with `config: {enableHTTPS: true}`"),
}


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A scheduler under test. `spec` has the fields of its kind."""

    name: str
    scheduler_name: str
    spec: Spec
    path: Path
    """Its candidate.yaml, absolute."""
    scheduler_config: Mapping[str, Any] | None = None
    """Its own KubeSchedulerConfiguration, unchanged; placeholders are not yet replaced."""
    rbac: RbacSpec = dataclasses.field(default_factory=RbacSpec)
    image: ImageSpec = dataclasses.field(default_factory=ImageSpec)
    scoring: Scoring | None = None
    files: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The files that its program gets: name to text, in which placeholders are not yet replaced."""
    install: tuple[Path, ...] = ()
    """Files and folders of manifests to apply before the candidate starts."""
    processes: tuple[ProcessSpec, ...] = ()
    """Programs to start before its scheduler, in this order."""
    world: WorldSpec = dataclasses.field(default_factory=WorldSpec)
    claims: Claims = dataclasses.field(default_factory=Claims)
    exclusions: tuple[Exclusion, ...] = ()
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
    def shows_certificate(self) -> bool:
        """Whether kube-scheduler presents a client certificate to the extender: of `tlsConfig`, or of the harness."""
        config = self.spec.config.tls_config if isinstance(self.spec, ExtenderSpec) else None
        return self.wants_certificates or not {"certFile", "certData"}.isdisjoint(config or {})

    @property
    def wants_certificates(self) -> bool:
        """Whether the harness issues the certificates by which scheduler and extender authenticate each other."""
        spec = self.spec
        return isinstance(spec, ExtenderSpec) and not placeholders_in(
            [*spec.command, *spec.env.values(), *self.files.values(), *dict(spec.config.tls_config or {}).values()]
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
        processes = [process.as_dict() for process in self.processes]
        filled = [self.spec.as_dict(), self.scheduler_config, dict(self.files), processes]
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
        return {
            "name": self.name,
            "kind": self.kind,
            "schedulerName": self.scheduler_name,
            "path": str(self.path),
            self.kind: self.spec.as_dict(),
            "schedulerConfig": dict(self.scheduler_config) if self.scheduler_config is not None else None,
            "rbac": self.rbac.as_dict(),
            "image": self.image.as_dict(),
            "scoring": self.scoring.as_dict() if self.scoring else None,
            "files": dict(self.files),
            "install": [str(path) for path in self.install],
            "processes": [process.as_dict() for process in self.processes],
            "world": self.world.as_dict(),
            "claims": self.claims.as_dict(),
            **({"claimedWindow": self.claimed_window} if self.claimed_window is not None else {}),
            "exclusions": [exclusion.as_dict() for exclusion in self.exclusions],
        }


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
    candidate = _candidate(Field(problems, "", document.place, document), file, problems, known)
    if problems:
        raise DescriptorError(problems)
    learn_secrets(candidate)
    return candidate


def learn_secrets(candidate: Candidate) -> None:
    """Redact the candidate's secrets in the output of this process. Call it in each process that runs the candidate."""
    SECRETS.learn(os.environ)
    SECRETS.learn_all([candidate.spec.as_dict(), candidate.scheduler_config])


def _candidate(document: Field, file: Path, problems: list[Problem], known: Claimable | None) -> Candidate:
    top = document.section("apiVersion", "kind", "metadata", "spec")
    top["apiVersion"].choice((API_VERSION,))
    top["kind"].choice(("Candidate",))
    name = top["metadata"].section("name")["name"].text("least-traffic-extender", _NAME)
    section = top["spec"].section(
        "schedulerName", *KINDS, "schedulerConfig", "files", "processes", "install", "world", "rbac", "image",
        "scoring", "claims", "exclusions",
    )  # fmt: skip
    kind = _kind(section)
    claims = read_claims(section["claims"], kind, known) if "claims" in section else Claims()
    processes = (
        read_processes(section["processes"], name, functools.partial(_placeholder_check, section, kind, own=True))
        if "processes" in section
        else ()
    )
    check = _placeholder_check(section, kind, [process.address_placeholder for process in processes])
    files = read_files(section["files"], check) if "files" in section else {}
    spec: Spec = read_kind(kind, section[kind], check, files) if kind else AttachedSpec()
    scheduler_name = section["schedulerName"].text("least-traffic", _SCHEDULER_NAME)
    config = None
    if files and section.sound and "files" not in placeholders_in([spec.as_dict(), section["schedulerConfig"].plain()]):
        section["files"].complain(
            "missing-placeholder",
            "not used: no command, argument or configuration contains {files}",
            f"pass {{files}}/{next(iter(files))} in its command, env, args or schedulerConfig",
        )
    if "schedulerConfig" in section:
        config = _scheduler_config(section["schedulerConfig"], problems, check)
        if kind in ("controller", "attached"):
            section["schedulerConfig"].complain(
                "contradiction",
                f"the harness starts no kube-scheduler for {kind}",
                "leave it out; it is for extender and plugin",
            )
        elif config and scheduler_name:
            _serves(config, section["schedulerName"], scheduler_name)
        if isinstance(spec, PluginSpec) and spec.args:
            section["schedulerConfig"].complain(
                "contradiction",
                "it is used unchanged, so the plugin would not get spec.plugin.args",
                "move the args to its profiles[].pluginConfig, or leave schedulerConfig to the harness",
            )
    if section.sound and claims.features:
        check_features(section["claims"].entries("")["features"], spec, files, claims)
    return Candidate(
        name=name,
        scheduler_name=scheduler_name,
        spec=spec,
        path=file.absolute(),
        scheduler_config=config,
        rbac=read_rbac(section["rbac"]) if "rbac" in section else RbacSpec(),
        image=read_image(section["image"], kind, check) if "image" in section else ImageSpec(),
        scoring=_scoring(section["scoring"]) if "scoring" in section else None,
        files=files,
        install=read_install(section["install"], problems) if "install" in section else (),
        processes=processes,
        world=read_world(section["world"], problems) if "world" in section else WorldSpec(),
        claims=claims,
        exclusions=read_exclusions(section["exclusions"], known) if "exclusions" in section else (),
    )


def _kind(section: Section) -> CandidateKind | None:
    kinds = [kind for kind in KINDS if section.named(kind)]
    if not kinds and section.sound:
        section.complain(
            "missing-field",
            "missing: expected a kind of candidate",
            f"add one of {', '.join(KINDS)}, such as `extender: {{command: [...], config: {{filterVerb: filter}}}}`",
        )
    for kind in kinds[1:]:
        section[kind].complain("contradiction", f"given beside {kinds[0]}", f"keep exactly one of {', '.join(KINDS)}")
    return kinds[0] if len(kinds) == 1 else None


def _placeholder_check(
    section: Section, kind: CandidateKind | None, more: Sequence[str] = (), *, own: bool = False
) -> Check:
    """The check for the candidate's texts, or (`own`) those of its processes; `more` placeholders are allowed too."""
    claims, extender = section["claims"].value.data, section["extender"].value.data
    unavailable = dict(_UNAVAILABLE)
    if own or kind in ("extender", "controller"):
        del unavailable["port"], unavailable["address"]
    if own or "files" in section:
        del unavailable["files"]
    if isinstance(claims, dict) and "network" in claims:
        del unavailable["window"]
    if not own and isinstance(extender, dict) and _serves_tls(section["extender"]):
        for name in CERTIFICATES:
            del unavailable[name]
    known = [*(name for name in PLACEHOLDERS if name not in unavailable), *more]
    return functools.partial(complaints, unavailable=unavailable, known=known)


def _serves_tls(extender: Field) -> bool:
    value = extender.value
    for name in ("config", "enableHTTPS"):
        if not isinstance(value.data, dict) or name not in value.data:
            return False
        value = value.data[name].value
    return value.data is True


def _scheduler_config(field: Field, problems: list[Problem], check: Check) -> dict[str, Any]:
    if isinstance(field.value.data, str):
        count = len(problems)
        file = existing(field, field.text("scheduler-config.yaml"), folder=False)
        if len(problems) > count:
            return {}
        try:
            document = read_document(file, problems)
        except DescriptorError as error:
            problems += error.problems
            return {}
        field = Field(problems, "", document.place, document)
    config = field.plain_mapping("{kind: KubeSchedulerConfiguration, ...}, or the name of a file", check)
    kind = config.get("kind")
    if isinstance(field.value.data, dict) and kind != "KubeSchedulerConfiguration":
        # A clause judges the apiVersion, which Kubernetes may have removed.
        field.entries("").get("kind", field).complain(
            "invalid-manifest",
            f"expected a KubeSchedulerConfiguration, found {f'kind {shown(str(kind))}' if kind else 'none'}",
            "kind: KubeSchedulerConfiguration",
        )
    return config


def _serves(config: Mapping[str, Any], field: Field, scheduler_name: str) -> None:
    profiles = config.get("profiles")
    if isinstance(profiles, list) and profiles and all(isinstance(profile, dict) for profile in profiles):
        served = [str(profile.get("schedulerName") or "default-scheduler") for profile in profiles]
        if scheduler_name not in served:
            field.complain(
                "contradiction",
                f"no profile of schedulerConfig serves {scheduler_name}, so its pods would never be scheduled",
                did_you_mean(scheduler_name, served),
            )


def _scoring(field: Field) -> Scoring:
    python = field.section("python")["python"]
    module, _, function = python.text('"module:function"', _FUNCTION).partition(":")
    return Scoring(module, function, folder_of(python))
