"""The Go module in which a plugin is built: the cluster's own Kubernetes, with the user's module as it is.

The user's folder is the main module of the build, so that Go finds its internal packages and names its files in errors
as the user does. Nothing is written there: go.mod and go.sum are replaced (`-modfile`), and the generated main package
is only overlaid (`-overlay`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

from schedproof.binaries.goversion import GoVersion

GoMod = dict[str, Any]
"""The output of `go mod edit -json`."""

MODULE = "schedproof.dev/candidate"
"""The module path for a folder that has no go.mod."""

GENERATED = "schedproof-generated-main"
"""Folder and file of the generated main package, below the plugin's own, so that it may import internal packages."""

PROBE = "schedproof-generated-probe"
"""Folder of the package that replaces kube-scheduler's `app`, at the root of the module."""

_APP = re.compile(r"""(["`])k8s\.io/kubernetes/cmd/kube-scheduler/app\1""")

# Versions of Kubernetes' own modules come with Kubernetes: a scheduler of the cluster's version has no others.
_KUBERNETES_OWN = ("k8s.io/", "sigs.k8s.io/")


def merge_go_mod(kubernetes: GoMod, own: GoMod | None) -> str:
    """The go.mod of the build.

    Args:
        kubernetes: the pinned module of the cluster's version.
        own: the user's; None where the folder has none.

    Modules of Kubernetes are pinned, whatever the user's go.mod says: each one that `kubernetes` requires or replaces
    is replaced by that very version. Of all others Go takes the highest version that any module requires, as always;
    but what the user's go.mod only repeats for others (`// indirect`) does not raise what Kubernetes uses.
    """
    own = own or {"Module": {"Path": MODULE}}
    pinned = dict(_pins(kubernetes))
    required = {each["Path"] for each in kubernetes["Require"]}
    requirements = [f"{each['Path']} {each['Version']}" for each in kubernetes["Require"]]
    requirements += [
        f"{each['Path']} {each['Version']}"
        for each in own.get("Require") or ()
        if each["Path"] not in pinned and not (each.get("Indirect") and each["Path"] in required)
    ]
    replacements = {path: f"{path} => {version}" for path, version in pinned.items()}
    for each in own.get("Replace") or ():
        if each["Old"]["Path"] not in pinned:
            old, new = _version(each["Old"]), _version(each["New"])
            replacements[old] = f"{old} => {new}"
    excluded = [_version(each) for each in own.get("Exclude") or () if each["Path"] not in pinned]
    go = max(kubernetes["Go"], own.get("Go") or "1.0", key=GoVersion.parse)
    return "\n".join(
        [
            f"module {_quoted(own['Module']['Path'])}",
            f"go {go}",
            *(f"require {each}" for each in requirements),
            *(f"replace {each}" for each in replacements.values()),
            *(f"exclude {each}" for each in excluded),
            "",
        ]
    )


def _pins(kubernetes: GoMod) -> Iterator[tuple[str, str]]:
    for each in kubernetes["Require"]:
        if each["Path"].startswith(_KUBERNETES_OWN):
            yield each["Path"], _version(each)
    for each in kubernetes["Replace"]:  # the staging modules, which k8s.io/kubernetes requires as v0.0.0
        yield each["Old"]["Path"], _version(each["New"])


def _version(module: Mapping[str, str]) -> str:
    return _quoted(module["Path"]) + (f" {module['Version']}" if module.get("Version") else "")


def _quoted(path: str) -> str:
    return path if re.fullmatch(r"[\w./~+@-]+", path) else json.dumps(path, ensure_ascii=False)


def merge_go_sum(*sums: str) -> str:
    """All lines of several go.sum files. Go itself refuses a module that two of them disagree on."""
    return "".join(sorted({f"{line}\n" for text in sums for line in text.splitlines() if line.strip()}))


def scheduler_main(template: Path, *, package: str, constructor: str, name: str) -> str:
    """The main package that registers one plugin."""

    # JSON's strings are Go's, but for surrogate pairs, which are left unescaped.
    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False)

    return Template(template.read_text()).substitute(
        package=quoted(package), name=quoted(name), constructor=constructor
    )


def importing_probe(source: str, module: str) -> str | None:
    """A Go file that imports the replacement of `k8s.io/kubernetes/cmd/kube-scheduler/app`.

    The package keeps its name, and every line its number. None if the file has no such import.
    """
    replaced, imports = _APP.subn(rf"\g<1>{module}/{PROBE}\g<1>", source)
    return replaced if imports else None
