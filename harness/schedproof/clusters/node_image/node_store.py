"""containerd's store in a node image, filled by containerd itself, so that nodes need not load single images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.binaries.versions import CLEAN_ENVIRONMENT
from schedproof.clusters.node_image.archive import Image, oci_archive
from schedproof.clusters.node_image.layers import Layer
from schedproof.foundation.deadlines import DAEMON_READY, STORE_FILLED
from schedproof.foundation.errors import HostError
from schedproof.foundation.processes.sandbox import Command, Process, Sandbox
from schedproof.foundation.waiting import NotYet, wait_for


def store_layer(images: Sequence[Image], binaries: Mapping[str, Path], work: Path) -> Layer:
    """Return a layer with `/var/lib/containerd` and these images, packed; nodes unpack them on first use.

    Raises:
        HostError: containerd cannot run on this machine, or rejects the images.
    """
    archive, root = work / "images.tar", work / "store"
    oci_archive(images, archive)
    sandbox = Sandbox()
    try:
        _fill(sandbox, archive, root, binaries, work / "containerd.log")
    finally:
        sandbox.close()
    archive.unlink()
    layer = Layer()
    for kept in ("content", "metadata"):
        (folder,) = root.glob(f"io.containerd.{kept}.*")
        layer.tree(folder, f"var/lib/containerd/{folder.name}")
    return layer


def _fill(sandbox: Sandbox, archive: Path, root: Path, binaries: Mapping[str, Path], log: Path) -> None:
    # A socket's path may have at most 107 bytes, and the cache's path may be longer.
    state = sandbox.scratch / "containerd"
    address = str(state / "socket")
    config = sandbox.scratch / "containerd.toml"
    config.write_text(
        'version = 3\ndisabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"]\n'
    )

    def start(name: str, *argv: str) -> Process:
        command = (str(binaries[name]), "--address", address, *argv)
        return sandbox.spawn(Command(name, command, log, cwd=sandbox.scratch, env=CLEAN_ENVIRONMENT))

    def ended(process: Process) -> None:
        if process.exit_code is None:
            raise NotYet(f"{process.command.name} still runs")

    def ready() -> None:
        query = start("ctr", "version")
        wait_for(lambda: ended(query), DAEMON_READY, what="ctr to answer", wake=sandbox.changed)
        if query.exit_code != 0:
            raise NotYet(query.log_tail(3))

    daemon = start("containerd", "--config", str(config), "--root", str(root), "--state", str(state))
    wait_for(ready, DAEMON_READY, what="containerd", watching=[daemon], poll=0.2)
    loading = start(
        "ctr", "--namespace=k8s.io", "images", "import", "--label=io.cri-containerd.pinned=pinned", "--all-platforms",
        "--no-unpack", "--digests", str(archive),
    )  # fmt: skip
    wait_for(lambda: ended(loading), STORE_FILLED, what="the images", watching=[daemon], wake=sandbox.changed)
    if loading.exit_code != 0:
        raise HostError(f"containerd did not import the images:\n{loading.log_tail()}", remedy=f"read {log}")
    daemon.stop(STORE_FILLED.seconds)
