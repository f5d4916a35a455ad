"""Finds the binaries of a cluster, and downloads or builds missing ones.

The order: an explicit path of the caller or `SCHEDPROOF_BINARY_<NAME>`; the folder `KUBEBUILDER_ASSETS`, then PATH,
if the version is exactly the locked version; the cache; the project's release, if its server is reachable; a Go
build. `SCHEDPROOF_DOWNLOAD` excludes one of the last two, or adds a package of the machine's Debian between them,
for binaries for which the caller accepts packages.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from schedproof.binaries import lock as locked
from schedproof.binaries import packaged, released, toolchain
from schedproof.binaries.build import build
from schedproof.binaries.cache import binary_path, package_path, release_path
from schedproof.binaries.download import unreachable
from schedproof.binaries.lock import DEFAULT_KUBERNETES, Build
from schedproof.binaries.release import MIRROR, POLICY, Policy, policy
from schedproof.binaries.versions import version_of
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.progress import Progress

_USERS_OWN = "kube-scheduler"
"""May be a user's own build, which need not report a version."""
_SETTING = "SCHEDPROOF_BINARY_"


class Origin(enum.StrEnum):
    """Where a binary was found."""

    EXPLICIT = "explicit setting"
    ASSETS = "KUBEBUILDER_ASSETS"
    PATH = "PATH"
    CACHE = "cache"
    RELEASE = "release"
    PACKAGE = "package"
    BUILT = "built"


@dataclasses.dataclass(frozen=True)
class Resolved:
    """An executable binary. `version` is the version that it reports: "" if an explicit binary reports none."""

    name: str
    path: Path
    version: str
    origin: Origin


def paths(
    names: Sequence[str],
    kubernetes: str,
    explicit: Mapping[str, Path],
    progress: Progress,
    *,
    packages: bool = False,
) -> dict[str, Path]:
    """Name to path of all `names`; see `resolve`."""
    found = resolve(names, kubernetes=kubernetes, explicit=explicit, packages=packages, progress=progress)
    return {name: binary.path for name, binary in found.items()}


def resolve(
    names: Sequence[str],
    *,
    kubernetes: str = DEFAULT_KUBERNETES,
    explicit: Mapping[str, Path] | None = None,
    packages: bool = False,
    progress: Progress,
) -> dict[str, Resolved]:
    """Return all `names`, downloading or building those that are missing; returns at once if none is.

    Args:
        names: of binaries.
        kubernetes: the minor version of the cluster.
        explicit: the user's paths.
        packages: whether Debian packages are accepted, if the policy allows them. Their versions differ, and
            they only run on this machine, whose C library they need.
        progress: shows downloads and builds, and notes binaries of other versions.

    Raises:
        UsageError: an unknown name, minor version or policy, or an explicit path that is not executable.
        HostError: a build failed, or Go or a required release is unavailable.
    """
    chosen = policy()
    builds = locked.load().builds(kubernetes)
    found = locate(names, kubernetes=kubernetes, explicit=explicit)
    in_packages = [
        name for name in names if packages and chosen is Policy.PACKAGES and builds[name].package is not None
    ]
    for name in in_packages:
        if found[name] is None and package_path(name, builds[name]).is_file():
            found[name] = _packaged(name, builds[name])
    for binary in found.values():
        if binary is not None:
            _note_other_version(binary, builds[binary.name], progress)

    if chosen is not Policy.NEVER:
        for name, path in _download(_missing(found), builds, chosen, progress).items():
            found[name] = Resolved(name, path, builds[name].version, Origin.RELEASE)
    for name in in_packages:
        if found[name] is None and packaged.fetch(name, builds[name], progress):
            found[name] = binary = _packaged(name, builds[name])
            _note_other_version(binary, builds[name], progress)
    for name, path in built(_missing(found), kubernetes=kubernetes, progress=progress).items():
        found[name] = Resolved(name, path, builds[name].version, Origin.BUILT)
    return {name: binary for name, binary in found.items() if binary is not None}


def _missing(found: Mapping[str, Resolved | None]) -> list[str]:
    return [name for name, binary in found.items() if binary is None]


def _packaged(name: str, group: Build) -> Resolved:
    path = package_path(name, group)
    return Resolved(name, path, version_of(path, group.question(name)) or "", Origin.PACKAGE)


def _note_other_version(binary: Resolved, group: Build, progress: Progress) -> None:
    if binary.version != group.version:
        progress.note(
            f"using {binary.path} as {binary.name}: it reports {binary.version or 'no version'}, but schedproof "
            f"is tested with {group.version}"
        )


def _download(names: Sequence[str], builds: Mapping[str, Build], chosen: Policy, progress: Progress) -> dict[str, Path]:
    """Download the releases of `names`; those without a release, or whose download fails, are left to be built.

    Raises:
        HostError: a release is unavailable, and the policy forbids building it.
    """
    assets = {name: asset for name in names if (asset := builds[name].asset(name)) is not None}
    paths: dict[str, Path] = {}
    failures: dict[str, str] = {}
    if chosen is not Policy.ONLY:
        # All servers in parallel, so that a build starts soon if none is reachable.
        down = unreachable(asset.origin for asset in assets.values())
        failures = {name: down[asset.origin] for name, asset in assets.items() if asset.origin in down}
        assets = {name: asset for name, asset in assets.items() if name not in failures}
    for group in _groups(builds[name] for name in assets):
        of_group = {name: asset for name, asset in assets.items() if builds[name] is group}
        fetched, why_not = released.fetch(group, of_group, progress)
        paths |= fetched
        failures |= why_not
    if failures and chosen is Policy.ONLY:
        raise HostError(
            f"{POLICY} is {chosen.value}, and these releases cannot be downloaded:\n"
            + "\n".join(f"    {name} {builds[name].version}: {why}" for name, why in failures.items()),
            remedy=f"check the network and its proxy, set {MIRROR} to a mirror, or unset {POLICY} to build them",
        )
    instead = "taking a package or building" if chosen is Policy.PACKAGES else "building"
    for why in dict.fromkeys(failures.values()):
        concerned = ", ".join(f"{name} {builds[name].version}" for name in failures if failures[name] == why)
        progress.note(f"no release of {concerned}: {why}; {instead} instead")
    return paths


def built(names: Sequence[str], *, kubernetes: str = DEFAULT_KUBERNETES, progress: Progress) -> dict[str, Path]:
    """Return the paths of `names` as built here, regardless of other binaries: static, and from pinned sources.

    Raises:
        UsageError: an unknown minor version.
        HostError: a build failed, or Go is unavailable.
    """
    lock = locked.load()
    builds = lock.builds(kubernetes)
    paths: dict[str, Path] = {}
    for group in _groups(builds[name] for name in names):
        go = functools.partial(toolchain.obtain, group.minimum_go, lock.go, progress)
        paths |= build(group, [name for name in names if builds[name] is group], go, progress)
    return paths


def locate(
    names: Sequence[str],
    *,
    kubernetes: str = DEFAULT_KUBERNETES,
    explicit: Mapping[str, Path] | None = None,
) -> dict[str, Resolved | None]:
    """Find binaries as `resolve` does, without downloading or building; None for those that are missing.

    Raises:
        UsageError: an unknown name or minor version, or an explicit path that is not executable.
    """
    lock = locked.load()
    lock.check_names(names, source="the caller")
    builds = lock.builds(kubernetes)
    chosen = _explicit(lock, explicit or {})
    return {name: _locate(name, builds[name], chosen.get(name)) for name in names}


def setting(name: str) -> str:
    """Return the environment variable that sets a binary's path."""
    return _SETTING + name.upper().replace("-", "_")


def _explicit(lock: locked.Lock, given: Mapping[str, Path]) -> dict[str, Path]:
    """Return the explicit paths, all of them checked, even if not requested; the caller's take precedence."""
    lock.check_names(tuple(given), source="--binary")
    by_setting = {setting(name): name for name in lock.names}
    chosen = {}
    for variable, value in os.environ.items():
        if variable.startswith(_SETTING) and value:
            if variable not in by_setting:
                raise UsageError(
                    f"{variable} names no binary that schedproof uses", remedy=f"use one of: {', '.join(by_setting)}"
                )
            chosen[by_setting[variable]] = (variable, Path(value))
    chosen |= {name: (f"--binary {name}", path) for name, path in given.items()}
    for name, (source, path) in chosen.items():
        if not _executable(path.expanduser()):
            exists = os.access(path.expanduser(), os.F_OK)
            seen = "exists, but is not an executable file" if exists else "does not exist"
            raise UsageError(
                f"{source} is {path}, which {seen}",
                remedy=f"give the path of a {name} binary, or omit it: schedproof then finds or builds one",
            )
    return {name: path.expanduser().absolute() for name, (_, path) in chosen.items()}


def _locate(name: str, group: Build, explicit: Path | None) -> Resolved | None:
    if explicit is not None:
        version = version_of(explicit, group.question(name))
        if version is None and name != _USERS_OWN:
            command = " ".join((str(explicit), *group.question(name).args))
            raise UsageError(
                f"{explicit} does not report a version as {name} does ({command})",
                remedy=f"give the path of a real {name}, or omit it: schedproof then finds or builds one",
            )
        return Resolved(name, explicit, version or "", Origin.EXPLICIT)
    for folder, origin in _folders():
        path = folder / name
        if _executable(path) and version_of(path, group.question(name)) == group.version:
            return Resolved(name, path, group.version, origin)
    # Cached binaries were checked when they were cached, and their paths have a digest of their inputs.
    cached = [binary_path(name, group), *([release_path(name, group)] if group.release is not None else [])]
    found = next((path for path in cached if _executable(path)), None)
    return Resolved(name, found, group.version, Origin.CACHE) if found is not None else None


def _folders() -> Iterator[tuple[Path, Origin]]:
    """Yield the folders where others install binaries. Relative folders are skipped: their meaning changes."""
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    entries = [(assets, Origin.ASSETS)] if assets else []
    entries += [(entry, Origin.PATH) for entry in os.environ.get("PATH", "").split(os.pathsep)]
    for entry, origin in entries:
        if (folder := Path(entry)).is_absolute():
            yield folder, origin


def _executable(path: Path) -> bool:
    # In this order: for a folder without access permission, access() returns False, but is_file() raises.
    return os.access(path, os.X_OK) and path.is_file()


def _groups(builds: Iterator[Build]) -> list[Build]:
    """Return each build once, quick builds first, so that network problems show early."""
    return sorted({build.key: build for build in builds}.values(), key=lambda build: build.minutes)


def explicit_binaries(settings: Sequence[str]) -> dict[str, Path]:
    """Parse `NAME=PATH` texts of `--binary`.

    Raises:
        UsageError: a text has another form.
    """
    result = {}
    for text in settings:
        name, _, path = text.partition("=")
        if not name or not path:
            raise UsageError(
                f"--binary {text}: expected NAME=PATH", remedy="for example kube-scheduler=./kube-scheduler"
            )
        result[name] = Path(path).absolute()
    return result
