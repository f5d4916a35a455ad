"""Users of a cluster that others run."""

from __future__ import annotations

import json
from pathlib import Path

from schedproof.clusters.api import Api


def restricted(api: Api, admin: Path, folder: Path) -> Path:
    """Write the kubeconfig of the ServiceAccount that clusters/attached-rbac.yaml makes, and return its path.

    `admin`: the kubeconfig of another user of the same cluster.
    """
    kubeconfig = json.loads(admin.read_text())
    kubeconfig["users"][0]["user"]["token"] = api.token("schedproof-user", "schedproof")
    path = folder / "restricted.kubeconfig"
    path.write_text(json.dumps(kubeconfig))
    return path
