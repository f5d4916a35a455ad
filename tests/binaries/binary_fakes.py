"""A machine without binaries, a fake Go, and the scripts that it builds."""

from __future__ import annotations

import dataclasses
import fcntl
import io
import json
import os
import sys
from pathlib import Path

import pytest

from schedproof.binaries import lock
from schedproof.foundation.progress import SilentProgress

KUBE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
CNI = ("host-local", "loopback", "portmap", "ptp")
BANNERS = {
    "etcd": "etcd Version: {}\nGit SHA: none\nGo Version: go1.26.8",
    "kwok": "kwok version {} go1.26.8 (linux/amd64)",
    "prometheus": "prometheus, version {} (branch: , revision: unknown)",
    "readings-server": "readings-server, version {}",
    "driver": "driver, version {}",
    "node_exporter": "node_exporter, version {} (branch: , revision: unknown)",
    "kubeadm": "{}",
    "kubectl": "Client Version: {}\nKustomize Version: v5.8.1",
    "kind": "kind {} go1.26.8 linux/amd64",
    "containerd": "containerd github.com/containerd/containerd/v2 {} ",
    "ctr": "ctr github.com/containerd/containerd/v2 {}",
    "containerd-shim-runc-v2": "containerd-shim-runc-v2:\n  Version:  {}\n  Revision: \n  Go version: go1.26.8",
    "crictl": "crictl version {}",
    "coredns": "CoreDNS-{}\nlinux/amd64, go1.26.8, ",
    **dict.fromkeys((*KUBE, "kubelet", "kube-proxy"), "Kubernetes {}"),
    **{name: f"CNI {name} plugin {{}}\nCNI protocol versions supported: 0.1.0" for name in CNI},
}

GO = """\
import fcntl, json, os, pathlib, sys
here = pathlib.Path(__file__).parent
settings = json.loads((here / "go.json").read_text())
if sys.argv[1:] == ["env", "GOVERSION"]:
    print(settings["version"])
    sys.exit()
with (here / "builds.jsonl").open("a") as builds:
    call = {"argv": sys.argv[1:], "env": dict(os.environ), "pid": os.getpid(), "files": sorted(os.listdir())}
    builds.write(json.dumps(call) + "\\n")
with (here / "gate").open("w") as gate:
    fcntl.flock(gate, fcntl.LOCK_EX)  # a test may hold it
if settings["failure"]:
    sys.exit(settings["failure"])
output = sys.argv.index("-o") + 1
for package in sys.argv[output + 1 :]:
    target = sys.argv[output]
    path = pathlib.Path(target, package.rsplit("/", 1)[-1]) if target.endswith("/") else pathlib.Path(target)
    path.write_text(f"#!/bin/sh\\necho '{settings['banners'][package]}'\\n")
    path.chmod(0o755)
"""


def script(prints: str) -> str:
    """The text of a program that prints the given text."""
    return f"#!/bin/sh\n/bin/cat <<'END'\n{prints}\nEND\n"


def program(path: Path, prints: str) -> Path:
    """Write an executable that prints the given text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script(prints))
    path.chmod(0o755)
    return path


def banner(name: str, version: str | None = None) -> str:
    return BANNERS[name].format(version or lock.load().builds()[name].version)


@dataclasses.dataclass
class FakeGo:
    """A `go` on PATH that records its calls, and builds shell scripts."""

    folder: Path

    def says(self, *, version: str = "go1.26.9", failure: str = "", **banners: str) -> None:
        packages = {package: name for each in builds() for name, package in each.packages.items()}
        made = {package: banners.get(name, banner(name)) for package, name in packages.items()}
        settings = {"version": version, "failure": failure, "banners": made}
        (self.folder / "go.json").write_text(json.dumps(settings))

    @property
    def builds(self) -> list[dict]:
        record = self.folder / "builds.jsonl"
        lines = record.read_text().splitlines(keepends=True) if record.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]  # the last may be half written

    def held(self) -> io.TextIOWrapper:
        """While this is open, builds begin but do not end."""
        gate = (self.folder / "gate").open("w")
        fcntl.flock(gate, fcntl.LOCK_EX)
        return gate


def builds() -> list[lock.Build]:
    return [*lock.load().tools.values(), *lock.load().kubernetes.values()]


class RecordedProgress(SilentProgress):
    """Records the texts of steps, transfers and notes."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def step(self, text, *, why=""):
        self.lines.append(f"{text}: {why}")
        return super().step(text, why=why)

    def transfer(self, text, *, why=""):
        self.lines.append(f"{text}: {why}")
        return super().transfer(text, why=why)

    def note(self, text):
        self.lines.append(text)


@pytest.fixture(autouse=True)
def machine_without_binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [
        *filter(lambda v: v.startswith("SCHEDPROOF_"), os.environ),
        *filter(lambda v: v.lower().endswith("_proxy"), os.environ),
        "KUBEBUILDER_ASSETS",
        "GOOS",
    ]:
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def go(tmp_path: Path) -> FakeGo:
    fake = FakeGo(tmp_path / "go")
    fake.folder.mkdir()
    (fake.folder / "go.py").write_text(GO)
    path = tmp_path / "bin" / "go"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{fake.folder / "go.py"}" "$@"\n')
    path.chmod(0o755)
    fake.says()
    return fake
