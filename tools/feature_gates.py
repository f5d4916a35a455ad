"""Write what each feature gate of kube-scheduler is in each minor version: `make gates`.

Reads the sources of the versions in `clusters/binaries.lock.yaml`: the gates that `pkg/scheduler` asks for, and their
stages in `pkg/features`. In `clusters/feature-gates.yaml`, only the stages are written; clauses and reasons stay. The
table in docs/versions.md follows.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml
from pages import write_table

from schedproof.binaries.lock import Build, load
from schedproof.judge.feature_gates import load_gates, minors

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "clusters" / "feature-gates.yaml"
PAGE = ROOT / "docs" / "versions.md"
COMMAND = "make gates"
_PROGRAM = Path(__file__).with_suffix(".go")
_GATE = re.compile(r"\bfeatures\.([A-Z]\w+)")


def write() -> None:
    """Write the file anew."""
    text = FILE.read_text(encoding="utf-8")
    known = yaml.safe_load(text)
    builds = load().kubernetes
    by_minor = {minor: stages(minor, build) for minor, build in builds.items()}
    parts = [text.partition("\n\n")[0]]
    for gate in sorted(set().union(*map(gates_of, builds.values()))):
        if found := {minor: gates[gate] for minor, gates in by_minor.items() if gate in gates}:
            entry = known.get(gate, {"why": ""})
            lines = [f"{gate}:", f"  stages: {json.dumps(found)}"]
            if "clauses" in entry:
                lines.append(f"  clauses: [{', '.join(entry['clauses'])}]")
            if "why" in entry:
                lines.append(f"  {yaml.safe_dump({'why': entry['why']}, width=math.inf).rstrip()}")
            parts.append("\n".join(lines))
    FILE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def stages(minor: str, build: Build) -> dict[str, str]:
    """The stage of each gate, such as `beta, on`."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("go.mod", "go.sum"):
            shutil.copy(build.folder / name, scratch)
        shutil.copy(_PROGRAM, Path(scratch) / "main.go")
        output = subprocess.run(
            ["go", "run", "-mod=readonly", ".", minor], cwd=scratch, check=True, stdout=subprocess.PIPE
        ).stdout
    return {
        name: f"{gate['stage'] if gate['stage'] == 'GA' else gate['stage'].lower()}, "
        f"{'on' if gate['default'] else 'off'}{' (locked)' if gate['locked'] else ''}"
        for name, gate in json.loads(output).items()
    }


def gates_of(build: Build) -> set[str]:
    """The gates that a version's scheduler asks for."""
    output = subprocess.run(
        ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", build.module], cwd=build.folder, check=True,
        stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    files = Path(output.strip(), "pkg", "scheduler").rglob("*.go")
    texts = (file.read_text(encoding="utf-8") for file in files if not file.name.endswith("_test.go"))
    return {gate for text in texts for gate in _GATE.findall(text)}


def table() -> str:
    """The gates by version, in Markdown."""
    rows = [["feature gate", *minors(), "judged by", ""], ["---"] * (len(minors()) + 3)]
    for gate in load_gates().values():
        judged = ", ".join(f"`{clause}`" for clause in gate.clauses)
        rows.append([gate.name, *(gate.stages.get(minor, "") for minor in minors()), judged, gate.why])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    write()
    write_table(PAGE, COMMAND, table())
