"""Builds all images of a kind cluster from Debian packages and Go modules, as one archive.

Needs no registry, Docker or root: packages are unpacked in memory, and image archives are written directly. Binaries
and packages stay in the cache, so that an interrupted build continues.
"""

from __future__ import annotations

import dataclasses
import posixpath
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.binaries import command, toolchain
from schedproof.binaries import lock as locked
from schedproof.binaries.build import BINARY_BUILT, go_environment, host_remedy
from schedproof.binaries.cache import log_path, making
from schedproof.binaries.resolve import built
from schedproof.binaries.versions import CLEAN_ENVIRONMENT
from schedproof.clusters.node_image.addon_layers import binary_layer, python_layer, workload_layer
from schedproof.clusters.node_image.archive import Image, docker_archive
from schedproof.clusters.node_image.debian import Packages
from schedproof.clusters.node_image.images import IMAGE_BINARIES, archive_path, our_images
from schedproof.clusters.node_image.layers import Layer, LayerFile
from schedproof.clusters.node_image.node_layers import network_layer, node_layer
from schedproof.clusters.node_image.node_store import store_layer
from schedproof.foundation.errors import HostError
from schedproof.foundation.progress import Progress

_SERVERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")


def make_archive(kubernetes: str, progress: Progress) -> Path:
    """Return the archive of `our_images` for `docker load`; returns at once if the cache has it.

    If several processes call this, one builds the archive, and the others wait for it.

    Raises:
        HostError: this machine cannot build it; says what is missing.
    """
    path = archive_path(kubernetes)
    if path.is_file():
        return path
    binaries = built(IMAGE_BINARIES, kubernetes=kubernetes, progress=progress)
    with making("kind-images", progress) as work:
        if path.is_file():
            return path
        with progress.step("fetch Debian packages", why="from this machine's apt mirrors; once"):
            recipe = _Recipe(kubernetes, binaries, work, _kind_module(work, progress))
        with progress.step("write the images of a kind cluster", why=f"not cached yet; once, into {path.parent}"):
            docker_archive(recipe.images(), work / "archive")
            path.parent.mkdir(parents=True, exist_ok=True)
            (work / "archive").replace(path)
    return path


class _Recipe:
    """Fetches the parts of all images, and then assembles them."""

    def __init__(self, kubernetes: str, binaries: Mapping[str, Path], work: Path, kind: Path) -> None:
        self._names = our_images(kubernetes)
        self._version = locked.load().kubernetes[kubernetes].version
        self._binaries = binaries
        self._work = work
        # By kubeadm's names: kube-apiserver, etcd, coredns, pause, ...
        self._upstream = {ref.rpartition(":")[0].rpartition("/")[2]: ref for ref in self._kubeadm_images()}
        packages = Packages()
        self._layers = {
            "node": node_layer(
                packages, kind, binaries, version=self._version, pause=self._upstream["pause"],
                cni_image=self._names.workload,
            ),
            "network": network_layer(packages),
            "python": python_layer(packages),
            "workload": workload_layer(packages, work),
        }  # fmt: skip

    def images(self) -> list[Image]:
        """Return the images of `our_images`."""
        names = self._names
        workload = self._write("workload", self._layers["workload"])
        network = self._write("network", self._layers["network"])
        run = {"Cmd": ["/pause"]}
        exporter = self._binary("node_exporter", "bin", names.node_exporter)
        in_node = [
            *(self._binary(name, "usr/local/bin", self._upstream[name]) for name in _SERVERS),
            self._binary("coredns", "", self._upstream["coredns"]),
            self._binary("kube-proxy", "usr/local/bin", self._upstream["kube-proxy"], below=[network]),
            Image(self._upstream["pause"], [workload], {"Entrypoint": ["/pause"]}),
            dataclasses.replace(exporter, reference=f"docker.io/{names.node_exporter}"),
            Image(f"docker.io/{names.workload}", [workload], run),
        ]
        store = self._write("store", store_layer(in_node, self._binaries, self._work))
        node = {
            "Env": ["container=docker"],  # systemd looks for it
            "StopSignal": "SIGRTMIN+3",  # at SIGTERM systemd would re-execute itself
            "Entrypoint": ["/usr/local/bin/entrypoint", "/sbin/init"],
        }
        return [
            Image(names.node, [self._write("node", self._layers["node"]), store], node),
            exporter,
            self._binary("prometheus", "bin", names.prometheus),
            Image(names.python, [self._write("python", self._layers["python"])], {"Cmd": ["python3"]}),
            Image(names.workload, [workload], run),
        ]

    def _binary(self, name: str, folder: str, reference: str, below: Sequence[LayerFile] = ()) -> Image:
        layer = self._write(name, binary_layer(self._binaries[name], folder))
        return Image(reference, [*below, layer], {"Entrypoint": [posixpath.join("/", folder, name)]})

    def _write(self, name: str, layer: Layer) -> LayerFile:
        return layer.write(self._work / f"{name}.tar")

    def _kubeadm_images(self) -> list[str]:
        argv = (str(self._binaries["kubeadm"]), "config", "images", "list", "--kubernetes-version", self._version)
        done = subprocess.run(argv, capture_output=True, text=True, check=True, env=CLEAN_ENVIRONMENT, cwd="/")
        return done.stdout.split()


def _kind_module(work: Path, progress: Progress) -> Path:
    """Return the folder of kind's Go module, of the version of the kind binary; node files come from it."""
    build = locked.load().tools["kind"]
    go = toolchain.obtain(build.minimum_go, locked.load().go, progress)
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(build.folder / name, work / name)
    log = log_path("kind-module")
    argv = (str(go.path), "mod", "download", "-json", build.module)
    env = go_environment(go, cwd=work, temporary=work)
    status = command.run(argv, cwd=work, env=env, log=log, deadline=BINARY_BUILT)
    found = re.search(r'"Dir": "(.+)"', log.read_text())
    if status != 0 or found is None:
        output = log.read_text(errors="replace")
        raise HostError(
            f"Go cannot download the module {build.module}; its output is in {log}, and ends with:\n"
            f"{command.tail(log)}",
            remedy=host_remedy(output) or "read the log",
        )
    return Path(found[1])
