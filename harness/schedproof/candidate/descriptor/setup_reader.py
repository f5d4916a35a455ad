"""Reads what a candidate needs around it: `spec.files`, `spec.install`, `spec.processes`, `spec.world`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from schedproof.candidate.descriptor.kinds_reader import existing, folder_of, read_command
from schedproof.candidate.descriptor.rbac_reader import read_rbac
from schedproof.candidate.kinds import ProcessSpec, WorldSpec
from schedproof.documents.fields import Check, Field, matching, shown
from schedproof.documents.manifests import is_kustomization, read_manifests
from schedproof.documents.problems import DescriptorError, Problem

_LONGEST_NAME = 52
"""Characters of the names of a candidate and its process together: with a prefix, they fit in a label value (63)."""

_PROCESS_NAME = matching(
    r"[a-z]([-a-z0-9]*[a-z0-9])?", "expected lower-case letters, digits and dashes", "such as quota-controller"
)
_QUANTITY = matching(r"[0-9]+(\.[0-9]+)?[A-Za-z]{0,2}", "expected a quantity", 'such as "8" or 4Gi')


def read_files(field: Field, check: Check) -> dict[str, str]:
    """Read the files: name to text, in which placeholders are not yet replaced."""
    files = {}
    for name, value in field.entries('{config.yaml: "address: {prometheus}"}').items():
        path = Path(name)
        if path.is_absolute() or not path.parts or ".." in path.parts or not re.fullmatch(r"[-\w./]+", name):
            value.complain(
                "malformed",
                f"{shown(name)} is not a valid file name: the harness writes the file below the folder {{files}}",
                "write its name in that folder, such as config.yaml, and pass {files}/config.yaml to the program",
            )
        if isinstance(value.value.data, dict):
            source = value.section("from")["from"]
            file = existing(source, source.text("conf/config.yaml"), folder=False)
            try:
                text = file.read_text(encoding="utf-8") if file.is_file() else ""
            except (OSError, ValueError):
                source.complain("unreadable-file", "cannot be read as UTF-8 text", "name a text file")
                text = ""
            for message, fix in check(text):
                source.complain("malformed", message, fix)
            files[name] = text
        else:
            files[name] = value.text('"text, or {from: FILE}"', check, empty=True)
    return files


def read_install(field: Field, problems: list[Problem]) -> tuple[Path, ...]:
    """Read the absolute paths of files and folders of manifests."""
    return tuple(path for item in field.items("[crds/, queue.yaml]") if (path := _manifests(item, problems)))


def _manifests(field: Field, problems: list[Problem]) -> Path | None:
    text = field.text("crds/")
    path = folder_of(field) / text
    if not text:
        return None
    if not path.exists():
        field.complain(
            "no-such-file",
            f"there is no {shown(text)}",
            "name a file or folder, relative to the folder of candidate.yaml",
        )
        return None
    if not is_kustomization(path):
        try:
            read_manifests(path)
        except DescriptorError as error:
            problems += error.problems
    return path


def read_processes(field: Field, candidate: str, check_of: Callable[[Sequence[str]], Check]) -> tuple[ProcessSpec, ...]:
    """Read the processes, in the order in which they are started.

    `check_of` returns the check for placeholders that also allows those in its argument.
    """
    processes: list[ProcessSpec] = []
    for item in field.items("{name: quota-controller, command: [...]}"):
        section = item.section("name", "command", "ready", "port", "env", "workdir", "rbac", "files")
        name = section["name"].text("quota-controller", _PROCESS_NAME)
        check = check_of([earlier.address_placeholder for earlier in processes])
        files = read_files(section["files"], check) if "files" in section else {}
        command = read_command(section, check, ready=None, needs_port=False, files=files)
        if section.sound and name in {earlier.name for earlier in processes}:
            section["name"].complain("duplicate", f"two processes have the name {name}", "give each a different name")
        if section.sound and len(name) + len(candidate) > _LONGEST_NAME:
            fix = f"shorten it: its name and metadata.name may have at most {_LONGEST_NAME} characters together"
            section["name"].complain("malformed", "too long: it is part of the names of objects", fix)
        rbac = read_rbac(section["rbac"]) if "rbac" in section else None
        processes.append(ProcessSpec(**command, name=name, rbac=rbac, files=files))
    return tuple(processes)


def read_world(field: Field, problems: list[Problem]) -> WorldSpec:
    section = field.section("nodes", "pods", "namespace")
    nodes = section["nodes"].section("labels", "annotations", "resources") if "nodes" in section else None
    place = section["namespace"].section("labels", "annotations", "objects") if "namespace" in section else None
    pod: dict[str, Any] = {}
    if "pods" in section:
        parts = section["pods"].section("metadata", "spec")
        if "metadata" in parts:
            metadata = parts["metadata"].section("labels", "annotations")
            pod["metadata"] = {
                name: read_texts(metadata[name]) for name in ("labels", "annotations") if name in metadata
            }
        if "spec" in parts:
            pod["spec"] = parts["spec"].plain_mapping("{tolerations: [...]}")
            for name in ("nodeName", "schedulerName", "nodeSelector", "affinity"):
                if name in pod["spec"]:
                    parts["spec"].complain(
                        "not-supported",
                        f"{name} restricts where pods may go, which the clauses vary themselves",
                        f"remove {name}; this field is for labels, resources, tolerations and similar fields",
                    )
    resources = {}
    if nodes is not None and "resources" in nodes:
        for name, amount in nodes["resources"].entries('{example.com/gpu: "8"}').items():
            data = amount.value.data
            whole = isinstance(data, int) and not isinstance(data, bool)
            resources[name] = str(data) if whole else amount.text('"8"', _QUANTITY)
    return WorldSpec(
        node_labels=read_texts(nodes["labels"]) if nodes is not None and "labels" in nodes else {},
        node_annotations=read_texts(nodes["annotations"]) if nodes is not None and "annotations" in nodes else {},
        node_resources=resources,
        pod=pod,
        namespace_labels=read_texts(place["labels"]) if place is not None and "labels" in place else {},
        namespace_annotations=read_texts(place["annotations"]) if place is not None and "annotations" in place else {},
        objects=read_install(place["objects"], problems) if place is not None and "objects" in place else (),
    )


def read_texts(field: Field) -> dict[str, str]:
    """Read labels or annotations."""
    return {
        name: value.text('"text"', empty=True) for name, value in field.entries("{example.com/kind: batch}").items()
    }
