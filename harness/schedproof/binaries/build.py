"""Builds binaries from their pinned Go modules into the cache."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from schedproof.binaries import command
from schedproof.binaries.cache import binary_path, cache_dir, log_path, making
from schedproof.binaries.lock import Build
from schedproof.binaries.machine import machine
from schedproof.binaries.publish import publish
from schedproof.binaries.toolchain import Go
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError
from schedproof.foundation.progress import Progress

BINARY_BUILT = Deadline("binary built", 3600, "Kubernetes takes 5 minutes on two cores, with its downloads")

# What the log says, and what to do about it; the first match counts.
_REMEDIES = (
    (
        r"no space left on device",
        "free some space: Go's own caches grow by about 8 GB in a cold build of all",
    ),
    (r"signal: killed|cannot allocate memory", "free some memory: linking Kubernetes needs about 2 GB"),
    (
        r"requires go >= |toolchain not available",
        "the Go that was used is too old: install a newer one on PATH",
    ),
    (
        r"SECURITY ERROR|checksum mismatch",
        "what was downloaded is not what go.sum pins: see what GOPROXY points to",
    ),
    (
        r"dial tcp|i/o timeout|connection refused|no such host|x509:|TLS handshake|proxyconnect|GOPROXY=off",
        "the Go module proxy cannot be reached: check the network, GOPROXY and the proxy settings",
    ),
)
_ANY_REMEDY = "read the log; often the disk is full, the module proxy out of reach, or Go too old"


def build(group: Build, names: Sequence[str], go: Callable[[], Go], progress: Progress) -> dict[str, Path]:
    """Make those binaries of the group that the cache lacks, by one `go build`, and return where all are.

    Several processes may do this at once: one builds, the others wait and take the result. `go` is called
    only when there is something to build.

    Raises:
        HostError: the build failed; quotes the end of its log and says what to do.
    """
    paths = {name: binary_path(name, group) for name in names}
    with making(group.key, progress) as work:
        missing = [name for name, path in paths.items() if not path.is_file()]
        if missing:
            chosen = go()
            with progress.step(
                f"build {', '.join(missing)} {group.version} with Go {chosen.version}",
                why=f"not found here; about {group.minutes} min on two cores, once, into {cache_dir()}",
            ):
                _go_build(group, missing, chosen, work)
                for name in missing:
                    publish(work / "out" / name, paths[name], group, how="built")
    return paths


def _go_build(group: Build, names: Sequence[str], go: Go, work: Path) -> None:
    # A copy, because the folder may be read-only where we are installed, and Go wants to lock go.mod.
    module = work / "module"
    module.mkdir()
    for source in group.sources:
        shutil.copyfile(source, module / source.name)
    temporary = work / "tmp"
    temporary.mkdir()
    (work / "out").mkdir()
    # A folder as output names each binary by its package's last element, which for etcd would be "v3".
    output = work / "out" / names[0] if len(names) == 1 else f"{work / 'out'}{os.sep}"
    argv = (str(go.path), "build", *group.flags, "-o", str(output), *(group.packages[name] for name in names))
    log = log_path(group.key)
    env = go_environment(go, cwd=module, temporary=temporary)
    status = command.run(argv, cwd=module, env=env, log=log, deadline=BINARY_BUILT)
    if status != 0:
        said = log.read_text(errors="replace")
        raise HostError(
            f"go build of {', '.join(names)} {group.version} failed with exit status {status}; "
            f"its output is in {log}, and ends with:\n{command.tail(log)}",
            remedy=host_remedy(said) or _ANY_REMEDY,
        )


def host_remedy(said: str) -> str:
    """What to do about this machine, where the output of Go shows that it is the cause; else empty."""
    return next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, said)), "")


def go_environment(go: Go, *, cwd: Path, temporary: Path) -> dict[str, str]:
    """The caller's, for its proxies, certificates and Go caches, less what would change the result."""
    goos, goarch = machine().split("-")
    env = {
        **os.environ,
        "CGO_ENABLED": "0",  # static, so that it runs in any image and namespace
        "GOARCH": goarch,
        "GOFLAGS": "-modcacherw",  # a module cache that rm can remove; and none of the user's -mod or -tags
        "GOOS": goos,
        "GOTMPDIR": str(temporary),  # so that an interrupted build leaves nothing in /tmp
        "GOTOOLCHAIN": "local",  # it is new enough, so that Go need not fetch another
        "GOWORK": "off",
        "PWD": str(cwd),
    }
    if go.origin != "PATH":
        env.pop("GOROOT", None)  # it would point to another Go's library
    return env
