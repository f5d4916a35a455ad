"""Reads the fields of each kind: `spec.extender`, `spec.controller`, `spec.plugin`, `spec.attached`."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from schedproof.candidate.kinds import (
    AttachedSpec,
    CandidateKind,
    CommandSpec,
    ControllerSpec,
    ExtenderConfig,
    ExtenderSpec,
    ManagedResource,
    PluginSpec,
    Spec,
)
from schedproof.candidate.placeholders import placeholders_in
from schedproof.documents.durations import GO_UNITS
from schedproof.documents.fields import Check, Field, Section, matching, shown

STOCK_BINARIES = ("kube-scheduler",)
"""The bare names that `plugin.binary` may have: schedulers in the harness's lock file."""

_COMMAND = '[python3, extender.py, --port, "{port}"]'
_HTTP_PATH = matching(r"/\S*", "expected a path that begins with /", "such as /healthz")
_VERB = matching(
    r"(?!/)[^\s?#]*",
    "expected a verb, which is appended to the URL",
    "write it without a leading slash, such as filter",
)
_INT64 = 2**63 - 1


def read_kind(kind: CandidateKind, field: Field, check: Check, files: Mapping[str, str]) -> Spec:
    """Read `field`, which is named after the kind.

    `check` finds invalid placeholders. `files` are the files of the program, which may contain `{port}`.
    """
    match kind:
        case "extender":
            return _extender(field, check, files)
        case "controller":
            return _controller(field, check, files)
        case "plugin":
            return _plugin(field, check)
        case "attached":
            if field.given and field.value.data != {}:
                field.complain("wrong-type", "it has no fields", "attached: {}")
            return AttachedSpec()


def existing(field: Field, text: str, *, folder: bool) -> Path:
    """The absolute path of an existing file or folder, which is relative to the file that names it."""
    path = folder_of(field) / text
    try:
        found = path.is_dir() if folder else path.is_file()
    except (OSError, ValueError):  # too long a name, no permission
        found = False
    if text and not found:
        what = "folder" if folder else "file"
        field.complain(
            "no-such-file",
            f"there is no {what} {shown(text)}",
            f"name an existing {what}, relative to the folder of candidate.yaml",
        )
    return path


def folder_of(field: Field) -> Path:
    return Path(field.value.place.file).absolute().parent


def read_command(
    section: Section, check: Check, *, ready: str | None, needs_port: bool, files: Mapping[str, str]
) -> dict[str, Any]:
    """The fields of a `CommandSpec`. `ready` is the default."""
    command = section["command"].texts(_COMMAND, check, blank=True)
    if command and not command[0].strip() and section.sound:
        section["command"].complain(
            "empty-field", "the first item, the program, is empty", f"such as `command: {_COMMAND}`"
        )
    env = {}
    for name, value in section["env"].entries("{LOG_LEVEL: debug}").items() if "env" in section else ():
        if not name or "=" in name or "\0" in name:
            value.complain("malformed", "not a valid name of an environment variable", "use letters, digits and _")
        env[name] = value.text('"some text"', check, empty=True)
    spec = CommandSpec(
        command=command,
        workdir=existing(section["workdir"], section["workdir"].text("."), folder=True)
        if "workdir" in section
        else folder_of(section["command"]),
        env=env,
        ready=section["ready"].text("/healthz", _HTTP_PATH) if "ready" in section else ready,
        port=section["port"].integer(1, 65_535, "8888") if "port" in section else None,
    )
    passes_port = "port" in placeholders_in([*command, *env.values(), *files.values()])
    if section.sound and spec.port is None and not passes_port and (needs_port or spec.ready):
        section["command"].complain(
            "missing-placeholder",
            "the harness chooses the port to listen on, but no argument, env or file contains {port}",
            'pass "{port}" in an argument, env or files, or set the port that it always uses, such as `port: 8888`',
        )
    return {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}


def _extender(field: Field, check: Check, files: Mapping[str, str]) -> ExtenderSpec:
    section = field.section("command", "ready", "port", "env", "workdir", "config")
    ready = None if section.named("ready") else "/healthz"  # an explicit null: a TCP connection is enough
    command = read_command(section, check, ready=ready, needs_port=True, files=files)
    return ExtenderSpec(**command, config=_extender_config(section["config"], check))


def _controller(field: Field, check: Check, files: Mapping[str, str]) -> ControllerSpec:
    section = field.section("command", "ready", "port", "env", "workdir")
    return ControllerSpec(**read_command(section, check, ready=None, needs_port=False, files=files))


def _extender_config(field: Field, check: Check) -> ExtenderConfig:
    section = field.section(
        "filterVerb", "prioritizeVerb", "bindVerb", "preemptVerb", "weight", "nodeCacheCapable", "ignorable",
        "httpTimeout", "enableHTTPS", "tlsConfig", "managedResources", "pathPrefix", "urlPrefix",
    )  # fmt: skip
    if section.named("urlPrefix"):
        _url_prefix(section["urlPrefix"])
    verbs = {
        name: section[name].text(name.removesuffix("Verb"), _VERB, empty=True) if name in section else ""
        for name in ("filterVerb", "prioritizeVerb", "bindVerb", "preemptVerb")
    }
    if section.sound and not any(verbs.values()):
        section.complain(
            "missing-field",
            "no verb is configured, so kube-scheduler would never call the extender",
            "add one of filterVerb, prioritizeVerb, bindVerb, preemptVerb, such as `filterVerb: filter`",
        )
    return ExtenderConfig(
        filter_verb=verbs["filterVerb"],
        prioritize_verb=verbs["prioritizeVerb"],
        bind_verb=verbs["bindVerb"],
        preempt_verb=verbs["preemptVerb"],
        weight=section["weight"].integer(1, _INT64, "1") if "weight" in section else ExtenderConfig.weight,
        node_cache_capable="nodeCacheCapable" in section and section["nodeCacheCapable"].flag(),
        ignorable="ignorable" in section and section["ignorable"].flag(),
        http_timeout=section["httpTimeout"].duration("5s", minimum=0.001, units=GO_UNITS)
        if "httpTimeout" in section
        else None,
        enable_https="enableHTTPS" in section and section["enableHTTPS"].flag(),
        tls_config=_tls(section["tlsConfig"], check) if "tlsConfig" in section else None,
        managed_resources=_managed(section["managedResources"]) if "managedResources" in section else (),
        path_prefix=section["pathPrefix"].text("/scheduler", _HTTP_PATH).rstrip("/") if "pathPrefix" in section else "",
    )


def _url_prefix(field: Field) -> None:
    data = field.value.data
    try:
        path = urlsplit(data).path.rstrip("/") if isinstance(data, str) else ""
    except ValueError:
        path = ""
    fix = f"write `pathPrefix: {path}` instead" if path.startswith("/") else "leave it out"
    field.complain(
        "contradiction",
        "the harness fills in the URL: it chooses the address, and records the calls through a proxy",
        f"{fix}; pathPrefix is the part of the URL after the port",
    )


def _tls(field: Field, check: Check) -> dict[str, str | bool]:
    files, data = ("certFile", "keyFile", "caFile"), ("certData", "keyData", "caData")
    section = field.section("insecure", "serverName", *files, *data)
    tls: dict[str, str | bool] = {}
    if "insecure" in section:
        tls["insecure"] = section["insecure"].flag()
    for name in ("serverName", *files):
        if name in section:
            tls[name] = section[name].text('"{here}/ca.pem"' if name in files else "extender.example", check)
    for name in data:
        if name in section:
            tls[name] = section[name].text("LS0tLS1CRUdJTi...", _base64)
    return tls


def _base64(text: str) -> Iterator[tuple[str, str]]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        yield (
            "expected PEM text encoded in base64",
            "encode it by `base64 -w0 FILE`, or name the file instead",
        )


def _managed(field: Field) -> tuple[ManagedResource, ...]:
    resources: dict[str, ManagedResource] = {}
    for item in field.items("{name: example.com/bandwidth}", empty=True):
        section = item.section("name", "ignoredByScheduler")
        name = section["name"].text("example.com/bandwidth", _resource)
        if name in resources and section.sound:
            section["name"].complain(
                "duplicate", f"{name} is listed twice, which kube-scheduler refuses", "keep one of the two"
            )
        ignored = "ignoredByScheduler" in section and section["ignoredByScheduler"].flag()
        resources[name] = ManagedResource(name, ignored)
    return tuple(resources.values())


def _resource(name: str) -> Iterator[tuple[str, str]]:
    shape = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    if not re.fullmatch(shape, name) or "kubernetes.io/" in name:
        yield (
            f"{shown(name)} is not an extended resource, which kube-scheduler requires",
            "use a domain other than kubernetes.io, such as example.com/bandwidth",
        )


_NAME = matching(
    r"[^\s{}]+", "expected a plugin's name", "write the name that it is registered under, such as NetworkTraffic"
)
_CONSTRUCTOR = matching(r"[A-Z]\w*", "expected the name of an exported Go function", "such as New")


def _plugin(field: Field, check: Check) -> PluginSpec:
    section = field.section("package", "main", "binary", "constructor", "name", "args")
    ways = [way for way in ("package", "main", "binary") if way in section]
    if section.sound and not ways:
        section.complain(
            "missing-field",
            "missing: expected package, main or binary",
            "add one of `package: ./folder` (Go sources of the plugin), `main: ./cmd/scheduler` (of a whole "
            "scheduler), `binary: ./file`, `binary: kube-scheduler` (the stock scheduler)",
        )
    for way in ways[1:]:
        section[way].complain("contradiction", f"given beside {ways[0]}", "keep one of package, main and binary")
    if "constructor" in section and "package" not in section:
        section["constructor"].complain("contradiction", "a constructor is only used with package", "leave it out")
    if "args" in section and "name" not in section and ways != ["package"]:
        section["args"].complain("missing-field", "args need the name of their plugin", "add the plugin's `name:`")
    named = "name" in section or "package" in section
    return PluginSpec(
        package=_sources(section["package"]) if "package" in section else None,
        main=_sources(section["main"]) if "main" in section else None,
        binary=_binary(section["binary"]) if "binary" in section else None,
        constructor=section["constructor"].text("New", _CONSTRUCTOR) if "constructor" in section else "New",
        name=section["name"].text("NetworkTraffic", _NAME) if named else "",
        args=section["args"].plain_mapping("{device: eth0}", check) if "args" in section else {},
    )


def _sources(field: Field) -> str:
    text = field.text("./networktraffic")
    if text.startswith((".", "/")):
        return str(existing(field, text, folder=True).absolute())
    # Go fetches a module only from a host name, which has a dot.
    if text and ("." not in text.partition("/")[0] or re.search(r"\s", text)):
        field.complain(
            "malformed",
            f"expected a folder or a Go import path, found {shown(text)}",
            f"for a folder write ./{text[:80]}",
        )
    elif text and not re.search(r"@v\d", text):
        field.complain(
            "missing-version",
            "the version is missing: without it, the code could change between runs",
            f"write it as for `go get`, such as {text.partition('@')[0][:80]}@v1.2.3",
        )
    return text


def _binary(field: Field) -> str:
    text = field.text("./kube-scheduler-with-plugin")
    if "/" in text:
        return str(existing(field, text, folder=False).absolute())
    if text and text not in STOCK_BINARIES:
        field.complain(
            "unknown-value",
            f"the harness does not provide a binary {shown(text)}",
            f"write a file with a slash, ./{text[:80]}, or {' or '.join(STOCK_BINARIES)} for the stock scheduler",
        )
    return text
