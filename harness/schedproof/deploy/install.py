"""What a cluster has before a candidate starts: `spec.install`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from schedproof.clusters.api import Manifest
from schedproof.clusters.objects import AppliedObjects
from schedproof.documents.manifests import is_kustomization, parse_manifests, read_manifests
from schedproof.foundation.deadlines import DAEMON_READY
from schedproof.foundation.errors import UsageError


def install(objects: AppliedObjects, paths: Iterable[Path], namespace: str) -> None:
    """Apply files and folders of manifests, in their order.

    Args:
        objects: what they are applied by, and removed.
        paths: each a file, a folder, or a kustomization's folder.
        namespace: of objects that name none.

    Raises:
        UsageError: one cannot be built, or the apiserver refuses it.
    """
    for path in paths:
        objects.apply(
            _kustomized(path) if is_kustomization(path) else read_manifests(path), namespace, source=str(path)
        )


def _kustomized(folder: Path) -> list[Manifest]:
    kustomize, kubectl = shutil.which("kustomize"), shutil.which("kubectl")
    if kustomize is None and kubectl is None:
        raise UsageError(
            f"{folder} is a kustomization, and neither kustomize nor kubectl is on PATH",
            remedy=f"install one of them; or render it elsewhere, and name the file: `kubectl kustomize {folder}`",
        )
    command = [kustomize, "build", str(folder)] if kustomize else [str(kubectl), "kustomize", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=DAEMON_READY.seconds, check=False)
    except subprocess.TimeoutExpired:
        raise UsageError(f"`{' '.join(command)}` takes more than {DAEMON_READY.seconds:g} s") from None
    if made.returncode:
        raise UsageError(f"`{' '.join(command)}` fails: {made.stderr.strip()[-2000:]}")
    return parse_manifests(made.stdout, folder)
