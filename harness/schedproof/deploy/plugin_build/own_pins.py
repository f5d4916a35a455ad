"""The version of Kubernetes that a plugin's own go.mod names, and the go.mod of a module that is not on this disk."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from schedproof.binaries import lock as locked
from schedproof.binaries import toolchain
from schedproof.binaries.build import go_environment
from schedproof.binaries.goversion import GoVersion
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.spec import minor_version
from schedproof.deploy.plugin_build.plugin_module import MODULE, GoMod
from schedproof.deploy.plugin_build.plugin_sources import Sources
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.progress import Progress

_KUBERNETES = (r"k8s\.io/kubernetes", r"k8s\.io/kube-scheduler", r"k8s\.io/client-go", r"k8s\.io/api")
"""The modules whose versions are Kubernetes' own, the most telling first; those after the first have v0 for v1."""
_NUMBERS = r"\d+\.\d+\.\d+"
_OLDEST_GO = GoVersion.parse("1.21")
_DOWNLOADED = 600.0
"""Seconds after which the download of a module is given up."""

_downloaded: dict[str, RemoteModule] = {}


@dataclasses.dataclass(frozen=True)
class RemoteModule:
    """A module of a proxy.

    Attributes:
        path: of the module, which a package's path begins with.
        version: such as `v0.34.7`.
        folder: its files, in Go's module cache.
        go_mod: its own go.mod.
    """

    path: str
    version: str
    folder: Path
    go_mod: Path


def own_kubernetes(spec: PluginSpec, *, name: str, progress: Progress) -> str | None:
    """The version of Kubernetes that the sources' own go.mod names, such as `v1.34.7`; None if it names none.

    Args:
        spec: with `package` or `main`.
        name: of the candidate, for people.
        progress: shows a download.

    Raises:
        CandidateError: the sources cannot be read or downloaded.
    """
    if spec.folder is None:
        return _named_in(remote_module(spec.source, name=name, progress=progress).go_mod.read_text())
    sources = Sources.of(spec.folder)
    return _named_in((sources.root / "go.mod").read_text(errors="replace")) if sources.has_go_mod else None


def minor_of(spec: PluginSpec, *, name: str, progress: Progress) -> str:
    """The pinned minor version that a plugin with `pins: own` is compiled with, such as `1.34`.

    Raises:
        CandidateError: its go.mod names no version of Kubernetes, or one of a minor that is not pinned.
    """
    version = own_kubernetes(spec, name=name, progress=progress)
    if version is None:
        raise CandidateError(
            f"candidate {name}: its go.mod names no version of Kubernetes, which `pins: own` takes from there",
            remedy="require k8s.io/kubernetes there, or leave out `pins: own`",
        )
    minor = minor_version(version)
    if minor not in (known := locked.load().kubernetes):
        raise CandidateError(
            f"candidate {name}: its go.mod names Kubernetes {version}, and no modules of {minor} are pinned",
            remedy=f"pinned: {', '.join(known)}: leave out `pins: own`, or build it, and name the file: plugin.binary",
        )
    return minor


def _named_in(go_mod: str) -> str | None:
    for place, module in enumerate(_KUBERNETES):
        for pattern in (rf"{module}(?: v\S+)? => {module} v({_NUMBERS})", rf"^\s*(?:require )?{module} v({_NUMBERS})"):
            if (found := re.search(pattern, go_mod, re.MULTILINE)) and found[1] != "0.0.0":
                return f"v{found[1]}" if place == 0 else f"v1.{found[1].partition('.')[2]}"
    return None


def remote_module(source: str, *, name: str, progress: Progress) -> RemoteModule:
    """Download the module of a package, given as PATH@VERSION; once in a process.

    Raises:
        CandidateError: no module of that path has the version.
    """
    if source not in _downloaded:
        with progress.step(f"download {source}"), tempfile.TemporaryDirectory() as scratch:
            _downloaded[source] = _download(source, Path(scratch), name, progress)
    return _downloaded[source]


def _download(source: str, scratch: Path, name: str, progress: Progress) -> RemoteModule:
    package, _, version = source.partition("@")
    go = toolchain.obtain(_OLDEST_GO, locked.load().go, progress)
    (scratch / "go.mod").write_text(f"module {MODULE}\n")
    env, said = go_environment(go, cwd=scratch, temporary=scratch), ""
    for path in _prefixes(package):
        argv = [str(go.path), "mod", "download", "-json", f"{path}@{version}"]
        try:
            done = subprocess.run(
                argv, cwd=scratch, env=env, timeout=_DOWNLOADED, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            said = f"{path}@{version}: not within {_DOWNLOADED:g} s"
            break
        if done.returncode == 0:
            found = json.loads(done.stdout)
            return RemoteModule(path, found["Version"], Path(found["Dir"]), Path(found["GoMod"]))
        said = said or (json.loads(done.stdout)["Error"] if done.stdout.strip() else done.stderr)
    raise CandidateError(
        f"candidate {name}: {source} could not be downloaded:\n    {said.strip()}",
        remedy="name a module and a version that exist (PATH@v1.2.3) and that GOPROXY serves; private ones need "
        "GOPRIVATE",
    )


def _prefixes(package: str) -> Iterator[str]:
    """The paths that a package's module may have, the longest first."""
    while "/" in package:
        yield package
        package = package.rpartition("/")[0]


def as_requirement(module: RemoteModule, own: GoMod) -> GoMod:
    """The go.mod of a program that is built from a remote module: what its own go.mod requires and replaces.

    A module that it replaces by a folder of its repository is not in its archive: the published module of its own
    version stands for it, where the requirement names none.
    """
    replaced = {each["Old"]["Path"] for each in own.get("Replace") or () if each["New"]["Path"].startswith(".")}
    requires = [
        {**each, "Version": module.version} if each["Path"] in replaced and _is_placeholder(each["Version"]) else each
        for each in own.get("Require") or ()
    ]
    return {
        **own,
        "Module": {"Path": MODULE},
        "Require": [{"Path": module.path, "Version": module.version}, *requires],
        "Replace": [each for each in own.get("Replace") or () if each["Old"]["Path"] not in replaced],
    }


def _is_placeholder(version: str) -> bool:
    return version.startswith("v0.0.0")
