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

# Patterns in the log, and their remedies; the first match counts.
_REMEDIES = (
    (
        r"no space left on device",
        "free disk space: a cold build of all binaries adds about 8 GB to Go's own caches",
    ),
    (r"signal: killed|cannot allocate memory", "free memory: linking Kubernetes needs about 2 GB"),
    (
        r"requires go >= |toolchain not available",
        "Go is too old: install a newer version on PATH",
    ),
    (
        r"SECURITY ERROR|checksum mismatch",
        "a downloaded module differs from go.sum: check GOPROXY",
    ),
    (
        r"dial tcp|i/o timeout|connection refused|no such host|x509:|TLS handshake|proxyconnect|GOPROXY=off",
        "the Go module proxy cannot be reached: check the network, GOPROXY and the proxy settings",
    ),
)
_ANY_REMEDY = "read the log; often the disk is full, the module proxy is unreachable, or Go is too old"


def build(group: Build, names: Sequence[str], go: Callable[[], Go], progress: Progress) -> dict[str, Path]:
    """Build the group's binaries that the cache lacks, in one `go build`, and return the paths of all.

    Several processes may call this at once: one builds, the others wait and use the result. `go` is only called if
    there is something to build.

    Raises:
        HostError: the build failed; quotes the end of its log, and has a remedy.
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
    # A copy, because the installed folder may be read-only, and Go locks go.mod.
    module = work / "module"
    module.mkdir()
    for source in group.sources:
        shutil.copyfile(source, module / source.name)
    temporary = work / "tmp"
    temporary.mkdir()
    (work / "out").mkdir()
    # With a folder as output, Go names each binary by its package's last element, which for etcd is "v3".
    output = work / "out" / names[0] if len(names) == 1 else f"{work / 'out'}{os.sep}"
    argv = (str(go.path), "build", *group.flags, "-o", str(output), *(group.packages[name] for name in names))
    log = log_path(group.key)
    env = go_environment(go, cwd=module, temporary=temporary)
    status = command.run(argv, cwd=module, env=env, log=log, deadline=BINARY_BUILT)
    if status != 0:
        output = log.read_text(errors="replace")
        raise HostError(
            f"go build of {', '.join(names)} {group.version} failed with exit status {status}; "
            f"its output is in {log}, and ends with:\n{command.tail(log)}",
            remedy=host_remedy(output) or _ANY_REMEDY,
        )


def host_remedy(output: str) -> str:
    """Return a remedy if the output of Go shows that this machine is the cause; otherwise ""."""
    return next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, output)), "")


def go_environment(go: Go, *, cwd: Path, temporary: Path) -> dict[str, str]:
    """Return the caller's environment, for its proxies, certificates and Go caches, without what would change the
    result.
    """
    goos, goarch = machine().split("-")
    env = {
        **os.environ,
        "CGO_ENABLED": "0",  # static, so that it runs in any image and namespace
        "GOARCH": goarch,
        "GOFLAGS": "-modcacherw",  # a module cache that rm can remove; and none of the user's -mod or -tags
        "GOOS": goos,
        "GOTMPDIR": str(temporary),  # so that an interrupted build leaves nothing in /tmp
        "GOTOOLCHAIN": "local",  # it is new enough, so Go need not fetch another
        "GOWORK": "off",
        "PWD": str(cwd),
    }
    if go.origin != "PATH":
        env.pop("GOROOT", None)  # it would name another Go's library
    return env
