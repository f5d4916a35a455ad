"""Reads an operation of a workload, such as `- createPods: {count: "{pods}", measured: true, template: {...}}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from schedproof.benchmark.workloads.manifests import ManifestError, node_template, other_object, pod_template
from schedproof.benchmark.workloads.operations import (
    CHURN_MODES,
    Barrier,
    Churn,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Manifest,
    Operation,
    ReadingsPattern,
)
from schedproof.documents.fields import Field, Section, matching, shown
from schedproof.documents.suggestions import did_you_mean

_MOST = 1_000_000
_NAMESPACE = matching(
    r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "expected lower-case letters, digits and dashes", "such as initial"
)


def read_operation(field: Field, parameters: Mapping[str, int]) -> Operation | None:
    """Read an operation, with its counts filled in; None if it is invalid, after adding the problem."""
    readers: dict[str, Callable[[Field, Mapping[str, int]], Operation]] = {
        "createNodes": _nodes,
        "createNamespaces": _namespaces,
        "createPods": _pods,
        "createObjects": _objects,
        "churn": _churn,
        "barrier": _barrier,
        "deletePods": _delete,
        "readings": _readings,
    }
    section = field.section(*readers)
    known = [name for name in readers if section.named(name)]
    if not section.sound:
        return None
    if len(known) != 1:
        field.complain(
            "wrong-number",
            f"expected one operation in an item, found {len(known) or 'none'}",
            "write each operation as its own item, with its own dash",
        )
        return None
    return readers[known[0]](section[known[0]], parameters)


def _nodes(field: Field, parameters: Mapping[str, int]) -> Operation:
    section = field.section("count", "template", "labels")
    labels = section["labels"].entries("{topology.kubernetes.io/zone: [a, b]}") if "labels" in section else {}
    return CreateNodes(
        count=_count(section["count"], parameters),
        template=_manifest(section["template"], node_template),
        labels={key: values.texts("[a, b]") for key, values in labels.items()},
    )


def _namespaces(field: Field, parameters: Mapping[str, int]) -> Operation:
    section = field.section("prefix", "count", "labels")
    labels = section["labels"].entries("{team: a}") if "labels" in section else {}
    return CreateNamespaces(
        prefix=section["prefix"].text("team", _NAMESPACE),
        count=_count(section["count"], parameters),
        labels={key: value.text("a", empty=True) for key, value in labels.items()},
    )


def _pods(field: Field, parameters: Mapping[str, int]) -> Operation:
    section = field.section("count", "template", "templates", "namespace", "measured", "wait", "burst")
    measured = "measured" in section and section["measured"].flag()
    if measured and "wait" in section:
        section["wait"].complain(
            "contradiction", "not allowed with measured: measured pods are always waited for", "leave it out"
        )
    if "burst" in section and not measured:
        section["burst"].complain("contradiction", "only allowed with measured: true", "leave it out")
    return CreatePods(
        count=_count(section["count"], parameters),
        templates=_templates(section, pod_template),
        namespace=_namespace(section, "measured" if measured else "initial"),
        measured=measured,
        wait=section["wait"].flag() if "wait" in section else True,
        burst=_count(section["burst"], parameters, least=1) if "burst" in section else 1,
    )


def _objects(field: Field, _: Mapping[str, int]) -> Operation:
    items = field.section("manifests")["manifests"].items("{apiVersion: ..., kind: ..., metadata: {name: ...}}")
    return CreateObjects(tuple(_manifest(item, other_object) for item in items))


def _churn(field: Field, parameters: Mapping[str, int]) -> Operation:
    section = field.section("mode", "template", "templates", "namespace", "number", "interval")
    mode = section["mode"].choice(CHURN_MODES)
    number = _count(section["number"], parameters) if "number" in section else 0
    if mode == "recreate" and section.sound and number == 0:
        section["number"].complain(
            "missing-field", "missing: mode recreate needs the largest number of objects", "number: 1"
        )
    return Churn(
        mode=mode,
        templates=_templates(section, _churned),
        namespace=_namespace(section, "churn"),
        number=number,
        interval=section["interval"].duration("200ms", minimum=0.001) if "interval" in section else Churn.interval,
    )


def _barrier(field: Field, _: Mapping[str, int]) -> Operation:
    if field.value.data not in ({}, None):
        field.complain("wrong-type", "expected no fields", "write `- barrier: {}`")
    return Barrier()


def _delete(field: Field, _: Mapping[str, int]) -> Operation:
    return DeletePods(field.section("namespace")["namespace"].text("initial", _NAMESPACE))


def _readings(field: Field, _: Mapping[str, int]) -> Operation:
    section = field.section("all", "distinct")
    if section.sound and ("all" in section) == ("distinct" in section):
        field.complain("wrong-number", "expected one of all and distinct", "such as `distinct: 1000000`")
    if "distinct" in section:
        rate = section["distinct"].number("1000000")
        if section.sound and rate <= 0:
            section["distinct"].complain(
                "contradiction",
                "expected a number above 0: otherwise all readings are equal",
                "such as 1000000 bytes per second",
            )
        return ReadingsPattern("distinct", rate)
    return ReadingsPattern("all", section["all"].number("0"))


def _count(field: Field, parameters: Mapping[str, int], *, least: int = 0) -> int:
    """Read a number, or the value of the parameter that is named in braces."""
    data = field.value.data
    if isinstance(data, str) and (braced := re.fullmatch(r"\{(.*)\}", data)):
        name = braced[1]
        if name not in parameters:
            field.complain(
                "unknown-parameter", f"unknown parameter {shown(name)}", did_you_mean(name, list(parameters))
            )
            return least
        if parameters[name] < least:
            field.complain(
                "out-of-range", f"{name} is {parameters[name]}, expected at least {least}", f"such as {name}={least}"
            )
        return parameters[name]
    if isinstance(data, dict) and len(data) == 1:
        field.complain("wrong-type", "YAML reads bare braces as a mapping", f'quote it: "{{{next(iter(data))}}}"')
        return least
    return field.integer(least, _MOST, "500")


def _namespace(section: Section, default: str) -> str:
    return section["namespace"].text(default, _NAMESPACE) if "namespace" in section else default


def _templates(section: Section, check: Callable[[Any], Manifest]) -> tuple[Manifest, ...]:
    if "template" in section and "templates" in section:
        section["templates"].complain("contradiction", "not allowed together with template", "keep one of the two")
    if "templates" in section:
        return tuple(_manifest(item, check) for item in section["templates"].items("{apiVersion: v1, kind: Pod, ...}"))
    return (_manifest(section["template"], check),)


def _manifest(field: Field, check: Callable[[Any], Manifest]) -> Manifest:
    plain = field.plain_mapping("{apiVersion: v1, ...}")
    if not isinstance(field.value.data, dict):
        return plain  # plain_mapping has added the problem
    try:
        return check(plain)
    except ManifestError as error:
        field.complain("invalid-manifest", str(error), error.fix)
        return plain


def _churned(manifest: Any) -> Manifest:
    match manifest.get("kind"):
        case "Pod":
            return pod_template(manifest)
        case "Node":
            return node_template(manifest)
    return other_object(manifest, named=False)
