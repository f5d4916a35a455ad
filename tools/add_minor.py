"""Pin the modules of a minor version of Kubernetes: `python tools/add_minor.py v1.37.2`.

Writes `clusters/modules/kubernetes-MINOR`: go.mod, with what the version's own go.mod replaces by folders of its
repository, go.sum, and the sources for plugins of the default minor version. docs/versions.md says what
else a minor version needs.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from schedproof.binaries.lock import DEFAULT_KUBERNETES, load

MODULES = Path(__file__).resolve().parent.parent / "clusters" / "modules"
KUBERNETES = "k8s.io/kubernetes"


def pin(version: str) -> Path:
    """Write the folder of a version, such as `v1.37.2`, and return it.

    Raises:
        subprocess.CalledProcessError: the module proxy does not serve the version, or one of its modules.
    """
    default = load().kubernetes[DEFAULT_KUBERNETES]
    folder = MODULES / f"kubernetes-{version.removeprefix('v').rpartition('.')[0]}"
    if folder != default.folder:
        shutil.copytree(default.folder, folder, ignore=shutil.ignore_patterns("go.*"), dirs_exist_ok=True)
    own = _go(folder, "mod", "edit", "-json", str(_downloaded(folder, version)))
    lines = [f"module schedproof.dev/binaries/{folder.name}", f"go {own['Go']}"]
    lines += ["tool (", *default.packages.values(), ")", "replace ("]
    staging = [replaced["Old"]["Path"] for replaced in own["Replace"] if replaced["New"]["Path"].startswith("./")]
    lines += [f"{path} => {path} {version.replace('v1.', 'v0.', 1)}" for path in staging]
    lines += [")", f"require {KUBERNETES} {version}"]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    (folder / "go.sum").unlink(missing_ok=True)
    subprocess.run(["go", "mod", "tidy"], cwd=folder, check=True)
    return folder


def _downloaded(folder: Path, version: str) -> Path:
    """The version's own go.mod."""
    (folder / "go.mod").write_text(f"module schedproof.dev/binaries/{folder.name}\n")
    return Path(_go(folder, "mod", "download", "-json", f"{KUBERNETES}@{version}")["GoMod"])


def _go(folder: Path, *arguments: str) -> dict[str, Any]:
    output = subprocess.run(["go", *arguments], cwd=folder, check=True, stdout=subprocess.PIPE).stdout
    read: dict[str, Any] = json.loads(output)
    return read


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", help="with the patch version, such as v1.37.2")
    given = parser.parse_args().version
    if not re.fullmatch(r"v1\.\d+\.\d+", given):
        sys.exit(f"{given}: not a version; write one such as v1.37.2")
    print(pin(given))  # noqa: T201
