"""Finds the binaries of a cluster, and downloads or builds those that are nowhere.

Looked for in this order: what the caller or `SCHEDPROOF_BINARY_<NAME>` names explicitly; the folder
`KUBEBUILDER_ASSETS`, then PATH, where the version is exactly the locked one; our cache; the project's release, where
its server can be reached; a Go build. `SCHEDPROOF_DOWNLOAD` leaves out one of the last two, or tries a package of the
machine's Debian between them, for what the caller says that one will do for.
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
"""It may be a build of the user's, which need not tell a version."""
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
    """A binary that can be started. `version` is what it reports: "" if an explicit one reports none."""

    name: str
    path: Path
    version: str
    origin: Origin


def resolve(
    names: Sequence[str],
    *,
    kubernetes: str = DEFAULT_KUBERNETES,
    explicit: Mapping[str, Path] | None = None,
    packages: bool = False,
    progress: Progress,
) -> dict[str, Resolved]:
    """Every one of `names`, downloaded or built where it has to be; instant where nothing has to be.

    Args:
        names: of binaries.
        kubernetes: the minor version of the cluster that they are for.
        explicit: the paths that the user names.
        packages: whether those of the machine's Debian will do, where the policy allows them. They are of other
            versions, and run on this machine alone: they need its C library.
        progress: hears of what takes time, and of what is not of the locked version.

    Raises:
        UsageError: an unknown name or minor version, an explicit path that cannot be executed, or an unknown policy.
        HostError: a build failed, there is no Go and no way to get one, or a release that is to be used cannot be.
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
    for there in found.values():
        if there is not None:
            _say_other_version(there, builds[there.name], progress)

    if chosen is not Policy.NEVER:
        for name, path in _download(_missing(found), builds, chosen, progress).items():
            found[name] = Resolved(name, path, builds[name].version, Origin.RELEASE)
    for name in in_packages:
        if found[name] is None and packaged.fetch(name, builds[name], progress):
            found[name] = there = _packaged(name, builds[name])
            _say_other_version(there, builds[name], progress)
    for name, path in built(_missing(found), kubernetes=kubernetes, progress=progress).items():
        found[name] = Resolved(name, path, builds[name].version, Origin.BUILT)
    return {name: there for name, there in found.items() if there is not None}


def _missing(found: Mapping[str, Resolved | None]) -> list[str]:
    return [name for name, there in found.items() if there is None]


def _packaged(name: str, group: Build) -> Resolved:
    path = package_path(name, group)
    return Resolved(name, path, version_of(path, group.question(name)) or "", Origin.PACKAGE)


def _say_other_version(there: Resolved, group: Build, progress: Progress) -> None:
    if there.version != group.version:
        progress.note(
            f"using {there.path} as {there.name}: it reports {there.version or 'no version'}, "
            f"and {group.version} is what schedproof is tested with"
        )


def _download(names: Sequence[str], builds: Mapping[str, Build], chosen: Policy, progress: Progress) -> dict[str, Path]:
    """Those of `names` whose release can be had; the others are to be built.

    Raises:
        HostError: one cannot be had, and is not to be built.
    """
    assets = {name: asset for name in names if (asset := builds[name].asset(name)) is not None}
    paths: dict[str, Path] = {}
    failures: dict[str, str] = {}
    if chosen is not Policy.ONLY:
        # All servers at once: where none can be reached, a build soon starts.
        away = unreachable(asset.origin for asset in assets.values())
        failures = {name: away[asset.origin] for name, asset in assets.items() if asset.origin in away}
        assets = {name: asset for name, asset in assets.items() if name not in failures}
    for group in _groups(builds[name] for name in assets):
        of_group = {name: asset for name, asset in assets.items() if builds[name] is group}
        had, why_not = released.fetch(group, of_group, progress)
        paths |= had
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
    """The paths of `names` as we build them ourselves, whatever else this machine has: static, and of pinned sources.

    Raises:
        UsageError: an unknown minor version.
        HostError: a build failed, or there is no Go and no way to get one.
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
    """The same without building anything: None for what is nowhere.

    Raises:
        UsageError: an unknown name or minor version, or an explicit path that cannot be executed.
    """
    lock = locked.load()
    lock.check_names(names, said_by="the caller")
    builds = lock.builds(kubernetes)
    chosen = _explicit(lock, explicit or {})
    return {name: _locate(name, builds[name], chosen.get(name)) for name in names}


def setting(name: str) -> str:
    """The environment variable that names this binary explicitly."""
    return _SETTING + name.upper().replace("-", "_")


def _explicit(lock: locked.Lock, given: Mapping[str, Path]) -> dict[str, Path]:
    """What was named explicitly, all of it checked even if not asked for; the caller's word comes first."""
    lock.check_names(tuple(given), said_by="--binary")
    by_setting = {setting(name): name for name in lock.names}
    chosen = {}
    for variable, value in os.environ.items():
        if variable.startswith(_SETTING) and value:
            if variable not in by_setting:
                raise UsageError(
                    f"{variable} names no binary that this harness uses", remedy=f"use one of: {', '.join(by_setting)}"
                )
            chosen[by_setting[variable]] = (variable, Path(value))
    chosen |= {name: (f"--binary {name}", path) for name, path in given.items()}
    for name, (said_by, path) in chosen.items():
        if not _executable(path.expanduser()):
            exists = os.access(path.expanduser(), os.F_OK)
            seen = "exists, but is not an executable file" if exists else "does not exist"
            raise UsageError(
                f"{said_by} is {path}, which {seen}",
                remedy=f"name the path of a {name} binary, or leave it out: one is then found or built",
            )
    return {name: path.expanduser().absolute() for name, (_, path) in chosen.items()}


def _locate(name: str, group: Build, explicit: Path | None) -> Resolved | None:
    if explicit is not None:
        version = version_of(explicit, group.question(name))
        if version is None and name != _USERS_OWN:
            asked = " ".join((str(explicit), *group.question(name).args))
            raise UsageError(
                f"{explicit} does not answer as {name} does when it is asked for its version ({asked})",
                remedy=f"name the path of a real {name}, or leave it out: one is then found or built",
            )
        return Resolved(name, explicit, version or "", Origin.EXPLICIT)
    for folder, origin in _folders():
        path = folder / name
        if _executable(path) and version_of(path, group.question(name)) == group.version:
            return Resolved(name, path, group.version, origin)
    # What is in the cache was asked when it was put there, and its path is keyed by all that it was made of.
    cached = [binary_path(name, group), *([release_path(name, group)] if group.release is not None else [])]
    found = next((path for path in cached if _executable(path)), None)
    return Resolved(name, found, group.version, Origin.CACHE) if found is not None else None


def _folders() -> Iterator[tuple[Path, Origin]]:
    """Where others install such binaries. Relative entries are skipped: they mean another place tomorrow."""
    assets = os.environ.get("KUBEBUILDER_ASSETS", "")
    entries = [(assets, Origin.ASSETS)] if assets else []
    entries += [(entry, Origin.PATH) for entry in os.environ.get("PATH", "").split(os.pathsep)]
    for entry, origin in entries:
        if (folder := Path(entry)).is_absolute():
            yield folder, origin


def _executable(path: Path) -> bool:
    # In this order: of a folder that we may not enter, access() says no where is_file() raises.
    return os.access(path, os.X_OK) and path.is_file()


def _groups(builds: Iterator[Build]) -> list[Build]:
    """Each once, the quick ones first: whatever is wrong with the network shows early."""
    return sorted({build.key: build for build in builds}.values(), key=lambda build: build.minutes)


def explicit_binaries(settings: Sequence[str]) -> dict[str, Path]:
    """`NAME=PATH` texts, as `--binary` takes them.

    Raises:
        UsageError: one is not of that form.
    """
    result = {}
    for text in settings:
        name, _, path = text.partition("=")
        if not name or not path:
            raise UsageError(f"--binary {text}: expected NAME=PATH", remedy="such as kube-scheduler=./kube-scheduler")
        result[name] = Path(path).absolute()
    return result
