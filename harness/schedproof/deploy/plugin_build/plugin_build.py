"""Builds the kube-scheduler of a plugin candidate: the cluster's own version, with the plugin compiled in.

There is no fork of Kubernetes and no registry to be edited: a generated main registers the plugin, in a module whose
every dependency is pinned as that of the cluster's own binaries is (`clusters/modules`).

The probe is the same program in which one package of Kubernetes is exchanged, the one that makes the scheduler's
command: it answers questions about scores instead of scheduling.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from pathlib import Path

from schedproof import __version__
from schedproof.binaries import command, toolchain
from schedproof.binaries import lock as locked
from schedproof.binaries.build import BINARY_BUILT, go_environment
from schedproof.binaries.cache import cache_dir, making, probe_path, scheduler_path
from schedproof.binaries.lock import Build
from schedproof.binaries.machine import machine
from schedproof.binaries.toolchain import Go
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.spec import minor_version
from schedproof.deploy.plugin_build.compiler_errors import explain
from schedproof.deploy.plugin_build.own_pins import as_requirement, minor_of, own_kubernetes, remote_module
from schedproof.deploy.plugin_build.plugin_module import (
    GENERATED,
    MODULE,
    PROBE,
    GoMod,
    importing_probe,
    merge_go_mod,
    merge_go_sum,
    scheduler_main,
)
from schedproof.deploy.plugin_build.plugin_sources import Sources
from schedproof.foundation.content import content
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.progress import Progress

_LOCK = "candidate-scheduler"
"""One build at a time: two at once are no faster, and each uses the whole machine."""

_KEPT = 12
"""The largest number of compiled schedulers in the cache, of some 70 MB each, and of probes: those of the last edits,
of several candidates.
"""

_TEMPLATE = "scheduler.go.tmpl"
_PROBE_SOURCES = "probe"
"""A file in the folder of each minor version, with its specifics."""
_SHARED_PROBE_SOURCES = ("clusters", "modules", "scheduler-probe")
_STAND_IN_HAS = (
    "; to be asked in process, it can take no more of k8s.io/kubernetes/cmd/kube-scheduler/app than Option, "
    "WithPlugin, NewSchedulerCommand, Setup and Run"
)

_built: dict[tuple[object, ...], str] = {}


def scheduler_binary(spec: PluginSpec, *, name: str, kubernetes: str, progress: Progress) -> str:
    """The program to start: an absolute path, or the bare name of the stock scheduler.

    It is built at the first call if needed. A process judges one binary: sources that are edited while it runs are for
    the next run, even if the candidate is restarted.

    Args:
        spec: of the candidate.
        name: the candidate's, for people.
        kubernetes: the minor version of the cluster.
        progress: shows a build.

    Raises:
        CandidateError: the sources do not compile; quotes the compiler, and says what to do.
        HostError: this machine cannot build it.
    """
    if spec.binary is not None:
        if not spec.stock and not os.access(spec.binary, os.X_OK):
            raise CandidateError(
                f"candidate {name}: {spec.binary} cannot be executed",
                remedy="spec.plugin.binary must name a program; `chmod +x` makes a file one",
            )
        return spec.binary
    key = (spec.package, spec.main, *_registered(spec), spec.pins, kubernetes)
    if key not in _built:
        _built[key] = str(build_scheduler(spec, name=name, kubernetes=kubernetes, progress=progress))
    return _built[key]


def _registered(spec: PluginSpec) -> tuple[str, ...]:
    """Return the descriptor's values in the generated main. A user's own main has none: one build serves all
    candidates.
    """
    return (spec.constructor_name, spec.name) if spec.package else ()


def build_scheduler(spec: PluginSpec, *, name: str, kubernetes: str, progress: Progress) -> Path:
    """The compiled scheduler in the cache; immediate if nothing that it depends on has changed.

    Several processes may call this at once: one builds, the others wait for the result.

    Raises:
        CandidateError: the sources do not compile; quotes the compiler, and says what to do.
        HostError: this machine cannot build it.
    """
    return _obtain(_Recipe(spec, name, _pins(spec, name, kubernetes, progress)), progress)


def _pins(spec: PluginSpec, name: str, kubernetes: str, progress: Progress) -> Build:
    """The build of Kubernetes with whose pins a plugin is compiled. What is not likely to compile is said before."""
    if spec.pins == "own":
        kubernetes = minor_of(spec, name=name, progress=progress)
    return locked.load().builds(kubernetes)["kube-scheduler"]


def has_probe(spec: PluginSpec) -> bool:
    """Whether there are sources on this disk, or a package to download: a finished program cannot be rebuilt as a
    probe.
    """
    return spec.package is not None or (spec.main is not None and spec.folder is not None)


def build_probe(spec: PluginSpec, *, name: str, kubernetes: str, progress: Progress) -> Path:
    """The compiled program that asks the candidate's plugins for scores. Which plugin is asked is not compiled in.

    Raises:
        CandidateError: the sources do not compile, or there are none.
        HostError: this machine cannot build it.
    """
    if not has_probe(spec):
        raise CandidateError(
            f"candidate {name}: {spec.binary or spec.main} cannot be queried in process, which needs its sources",
            remedy="describe it as `plugin: {package: FOLDER}`, or `{main: FOLDER}`",
        )
    return _obtain(_Recipe(spec, name, _pins(spec, name, kubernetes, progress), probe=True), progress)


def _obtain(recipe: _Recipe, progress: Progress) -> Path:
    group, digest = recipe.group, recipe.digest()
    path = recipe.path(digest)
    if _in_cache(path):
        return path
    with making(_LOCK, progress) as work:
        if _in_cache(path):
            return path
        go = toolchain.obtain(group.minimum_go, locked.load().go, progress)
        if other := recipe.other_minor(progress):
            progress.note(f"{recipe.name}: {other}")
        with progress.step(
            f"build the {recipe.what} of {recipe.name} with Kubernetes {group.version} and Go {go.version}",
            why=f"its sources are new here; seconds where Go has compiled Kubernetes before, else {group.minutes} min",
        ):
            made = recipe.build(go, work, progress)
        if recipe.digest() != digest:
            raise CandidateError(
                f"candidate {recipe.name}: its sources in {recipe.spec.source} were changed while they were built",
                remedy="run it again",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        made.replace(path)
        _forget_old(path.parent.parent)
    return path


def _in_cache(path: Path) -> bool:
    if not path.is_file():
        return False
    os.utime(path)  # it was used now
    return True


def _forget_old(folder: Path) -> None:
    made = [(file.stat().st_mtime, file) for file in folder.glob("*/*")]
    for _, file in sorted(made)[:-_KEPT]:
        shutil.rmtree(file.parent, ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class _Recipe:
    spec: PluginSpec
    name: str
    group: Build
    probe: bool = False

    @property
    def what(self) -> str:
        return "probe" if self.probe else "scheduler"

    def path(self, digest: str) -> Path:
        return probe_path(digest) if self.probe else scheduler_path(digest)

    @property
    def stand_in(self) -> tuple[Path, ...]:
        """What replaces a package of Kubernetes in the probe; a minor version's own files replace shared ones."""
        if not self.probe:
            return ()
        folders = (content(*_SHARED_PROBE_SOURCES), self.group.folder / _PROBE_SOURCES)
        return tuple({file.name: file for folder in folders for file in sorted(folder.glob("*.go"))}.values())

    def other_minor(self, progress: Progress) -> str:
        """That its own go.mod names another minor version than it is compiled with, and what to do; "" if not so."""
        try:
            named = own_kubernetes(self.spec, name=self.name, progress=progress)
        except CandidateError:  # the build says what is wrong
            return ""
        if named is None or (minor := minor_version(named)) == minor_version(self.group.version):
            return ""
        return (
            f"its go.mod names Kubernetes {named}, and it is compiled with {self.group.version}, where names may have "
            f"moved; `plugin: {{pins: own}}` or `--kubernetes {minor}` compiles it with {minor}"
        )

    @property
    def _flags(self) -> tuple[str, ...]:
        # -mod: the user's module may need sums that the pinned go.sum lacks. -buildvcs: the user's repository is
        # unrelated to Kubernetes' version, and git may refuse to read it.
        flags = ("-mod=mod" if flag.startswith("-mod=") else flag for flag in self.group.flags)
        return (*flags, "-buildvcs=false")

    def digest(self) -> str:
        """A hash of everything that decides what is built, except for the version of Go."""
        folder = self.spec.folder
        sources = Sources.of(folder) if folder is not None else None
        parts = (
            __version__, machine(), self.group.digest, *self._flags, (self.group.folder / _TEMPLATE).read_text(),
            "main" if self.spec.main else "package", self.spec.pins, *_registered(self.spec),
            *((sources.package, sources.digest()) if sources else (self.spec.source,)),
            *(file.read_text() for file in self.stand_in),
        )  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]

    def build(self, go: Go, work: Path, progress: Progress) -> Path:
        for folder in ("tmp", "module", "empty"):
            (work / folder).mkdir()
        local = self.spec.folder
        sources = Sources.of(local) if local is not None else Sources(work / "empty", ".", has_go_mod=False)
        run = _Go(go, self, sources, work)
        own = run.go_mod(sources.root / "go.mod") if sources.has_go_mod else None
        module = own["Module"]["Path"] if own else MODULE
        if local is None and self.spec.pins == "own":
            remote = remote_module(self.spec.source, name=self.name, progress=progress)
            run.write_module(as_requirement(remote, run.go_mod(remote.go_mod)), remote.folder / "go.sum")
        else:
            run.write_module(own, sources.root / "go.sum")

        package = f"{module}/{sources.package.removeprefix('./')}".removesuffix("/.")
        if local is None:
            package = self.spec.source.partition("@")[0]
            if self.spec.pins != "own":
                run.go("get", *run.in_module, self.spec.source, wrong=f"{self.spec.source} could not be downloaded")
        target = package if local is None else sources.package
        if self.spec.package:
            target = f"{sources.package}/{GENERATED}"
            run.write_main(package, module)
        if self.probe:
            run.write_stand_in(module)
        made = work / "made"
        try:
            run.go("build", *self._flags, *run.in_module, "-o", str(made), target, wrong="its sources do not compile")
        except CandidateError as error:
            hints = [_STAND_IN_HAS] if self.probe else []
            hints += [f"; {other}"] if (other := self.other_minor(progress)) else []
            raise CandidateError(error.message, remedy=f"{error.remedy}{''.join(hints)}") from None
        if not os.access(made, os.X_OK):  # of a package that is no program, Go writes an archive
            raise CandidateError(
                f"candidate {self.name}: {self.spec.source} has no func main",
                remedy="spec.plugin.main is for whole schedulers; for the plugin alone there is spec.plugin.package",
            )
        return made


class _Go:
    """Runs Go in the user's module, for one build in `work`."""

    def __init__(self, go: Go, recipe: _Recipe, sources: Sources, work: Path) -> None:
        self._path = go.path
        self._recipe = recipe
        self._sources = sources
        self._module = work / "module"
        self._env = go_environment(go, cwd=sources.root, temporary=work / "tmp")
        self._overlay: dict[str, str] = {}
        self.in_module = (f"-modfile={self._module / 'go.mod'}", f"-overlay={self._module / 'overlay.json'}")

    def write_module(self, own: GoMod | None, own_sums: Path) -> None:
        pinned = self._recipe.group.folder
        (self._module / "go.mod").write_text(merge_go_mod(self.go_mod(pinned / "go.mod"), own))
        sums = [file.read_text() for file in (pinned / "go.sum", own_sums) if file.is_file()]
        (self._module / "go.sum").write_text(merge_go_sum(*sums))
        if not self._sources.has_go_mod:
            self._overlay[str(self._sources.root / "go.mod")] = str(self._module / "go.mod")
        self._write_overlay()

    def write_main(self, package: str, module: str) -> None:
        spec, file = self._recipe.spec, f"{GENERATED}.go"
        template = self._recipe.group.folder / _TEMPLATE
        text = scheduler_main(template, package=package, constructor=spec.constructor_name, name=spec.name)
        if self._recipe.probe:
            text = importing_probe(text, module) or text
        self._lay_over(self._sources.folder / GENERATED / file, text)
        self._write_overlay()

    def write_stand_in(self, module: str) -> None:
        """Add the package to the module, and have all of the module's files import it."""
        for file in self._recipe.stand_in:
            self._overlay[str(self._sources.root / PROBE / file.name)] = str(file)
        for file in self._sources.go_files():
            text = importing_probe(file.read_text(errors="surrogateescape"), module)
            if text is not None:
                self._lay_over(file, text)
        self._write_overlay()

    def _lay_over(self, file: Path, text: str) -> None:
        # By the name that the user knows: the compiler prints it.
        real = self._module / file.relative_to(self._sources.root)
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_text(text, errors="surrogateescape")
        self._overlay[str(file)] = str(real)

    def _write_overlay(self) -> None:
        (self._module / "overlay.json").write_text(json.dumps({"Replace": self._overlay}))

    def go_mod(self, file: Path) -> GoMod:
        printed = self.go("mod", "edit", "-json", str(file), wrong="its go.mod cannot be read")
        document: GoMod = json.loads(printed)
        return document

    def go(self, *arguments: str, wrong: str) -> str:
        """Run it to its end, and return its output; if it fails, `wrong` says what that means for the candidate."""
        name = self._recipe.name
        log = cache_dir() / "logs" / f"{self._recipe.what}-of-{name}.log"
        argv = (str(self._path), *arguments)
        status = command.run(argv, cwd=self._sources.root, env=self._env, log=log, deadline=BINARY_BUILT)
        output = log.read_text(errors="replace").partition("\n")[2]  # the first line is the command
        if status != 0:
            raise explain(
                output.replace(f"{self._module}{os.sep}", ""), title=f"candidate {name}: {wrong}",
                spec=self._recipe.spec, sources=self._sources if self._recipe.spec.folder else None,
                kubernetes=self._recipe.group.version,
            )  # fmt: skip
        return output
