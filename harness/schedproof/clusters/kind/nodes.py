"""The nodes of a kind cluster: created for a run and deleted after it, or kept for the next run."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from schedproof.clusters.api import Api
from schedproof.clusters.kind.cli import KindCli, node_addresses
from schedproof.clusters.kind.config import AUDIT_LOG, definition_digest, kind_config, node_names
from schedproof.clusters.kind.docker import docker, require_docker
from schedproof.clusters.kind.host_settings import note_settings, restore_settings
from schedproof.clusters.kind.leftovers import remove_beside, remove_cluster
from schedproof.clusters.kind.node_traffic import container_names
from schedproof.clusters.kind.ownership import CLUSTER_LABEL, Claim, Note
from schedproof.clusters.spec import KindSpec
from schedproof.daemons.daemon import Host
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.foundation.private import make_private

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


class KindNodes:
    """One control plane and the workers; the constructor returns when the control plane responds.

    Args:
        host: where kind runs; its logs keep kind's output, and the audit log.
        spec: the workers.
        name: of the cluster. A cluster kept under this name is used, and stays.
        image: of a node.
        keep: whether the cluster outlives the harness.

    Raises:
        UsageError: the name is invalid or taken, or the kept cluster differs from `spec` or `image`.
        HostError: has kind's last log lines; its logs are in `host.logs / "kind"`, and nothing is left.
    """

    def __init__(self, host: Host, spec: KindSpec, *, name: str, image: str, keep: bool) -> None:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"--cluster-name {name}: not a valid cluster name",
                remedy="use up to 40 lower-case letters, digits and dashes, no dash at the beginning or end",
            )
        self.name = name
        self.kind = KindCli(host, name)
        self.control_plane, self.workers = node_names(name, spec.count)
        self.claim = Claim(name)
        self.keep = keep
        """Whether it outlives the harness; also true of a cluster that was kept before."""
        self._made = False
        self._host, self._spec, self._image = host, spec, image
        self._kubeconfig = host.sandbox.scratch / "kind.kubeconfig"
        with contextlib.ExitStack() as undo:
            undo.callback(self.claim.release)
            note = self.claim.note
            if note is not None and note.kept and self._is_there():
                self._use(note)
            else:
                if note is not None:
                    remove_cluster(name, note)  # left by a killed run
                self._refuse_foreign()
                self._note = self._plan()
                undo.pop_all()
                undo.callback(self.close)
                self._create()
            self.addresses = node_addresses([self.control_plane, *self.workers])
            undo.pop_all()

    @property
    def prometheus(self) -> str:
        """The name of the container that scrapes the nodes."""
        return f"{self.name}-prometheus"

    def _is_there(self) -> bool:
        return bool(docker("ps", "-q", f"--filter=label={CLUSTER_LABEL}={self.name}").strip())

    def _use(self, note: Note) -> None:
        if note.definition != definition_digest(self._spec, self._image):
            raise UsageError(
                f"the kept cluster {self.name!r} differs from the request in its nodes, image or definition",
                remedy=f"choose another --cluster-name, or delete it: schedproof clean --cluster-name {self.name}",
            )
        self.keep = True
        self._note = note
        remove_beside(self.name)  # left by a killed run
        self.kind.kubeconfig(self._kubeconfig)

    def _refuse_foreign(self) -> None:
        if docker("ps", "-aq", f"--filter=label={CLUSTER_LABEL}={self.name}").strip():
            self.claim.forget()
            raise UsageError(
                f"a kind cluster {self.name!r} exists already, and schedproof did not create it",
                remedy=f"choose another --cluster-name, or delete it: kind delete cluster --name {self.name}",
            )

    def _plan(self) -> Note:
        logs = (self.claim.state if self.keep else self._host.logs).resolve()
        containers = [self.control_plane, *self.workers, self.prometheus, *container_names(self.name, self.workers)]
        return Note(containers, self._image, definition_digest(self._spec, self._image), str(logs / AUDIT_LOG))

    def _create(self) -> None:
        make_private(self.audit_log.parent)
        self.audit_log.touch()  # created by this user, so that it can read what the apiserver's user appends
        self.claim.write(self._note)
        note_settings(self._image)
        config = kind_config(
            self._spec, logs=self.audit_log.parent, lock=self.claim.path, port=self._host.ports.reserve(),
            cgroup_version=require_docker().cgroup_version,
        )  # fmt: skip
        try:
            self.kind.create(config, self._image, self._kubeconfig)
        except SchedproofError:
            with contextlib.suppress(SchedproofError):
                self.kind.export_logs(self._host.logs / "kind")
            raise
        self._made = True

    @property
    def audit_log(self) -> Path:
        return Path(self._note.audit_log)

    def admin(self, marks: Mapping[str, str]) -> tuple[Api, Path]:
        """Return the administrator's connection, with `marks` as for `Api`, and the file of the cluster's authority."""
        config = yaml.safe_load(self._kubeconfig.read_text())
        (cluster,), (user,) = config["clusters"], config["users"]
        pki = self._host.sandbox.scratch / "kind-pki"
        pki.mkdir(mode=0o700)
        files = {}
        for name, source, key in (
            ("ca.crt", cluster["cluster"], "certificate-authority-data"),
            ("admin.crt", user["user"], "client-certificate-data"),
            ("admin.key", user["user"], "client-key-data"),
        ):
            files[name] = pki / name
            files[name].write_bytes(base64.b64decode(source[key]))
        api = Api(
            cluster["cluster"]["server"], files["ca.crt"], certificate=files["admin.crt"], key=files["admin.key"],
            marks=marks,
        )  # fmt: skip
        return api, files["ca.crt"]

    def complete(self) -> None:
        """Record that the cluster is kept, if `keep`."""
        if self.keep:
            self._note = dataclasses.replace(self._note, kept=True)
            self.claim.write(self._note)

    def close(self) -> None:
        """Delete the cluster, unless it is kept."""
        try:
            if not self._note.kept:
                remove_cluster(self.name, None if self._made else self._note)
                self.claim.forget()
                restore_settings()
        finally:
            self.claim.release()
