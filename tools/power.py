"""The judge's power: which small changes of kube-scheduler's own code does a run find? `make power`.

A random sample of changes (tools/go_mutants: a branch or a statement without effect, an operand left out, an operator
turned into its opposite) is drawn from the packages of `AREAS`, as many from each. One at a time is built into a
kube-scheduler, and tried as a user tries the stock scheduler: all that it claims, up to the first clause that fails;
in some areas also with the reference extender (`_MORE`).

Each result is added as a line to fixtures/power.jsonl, so that the next run continues there. A change that no clause
finds is read by a person: fixtures/power.yaml says of each whether it changes nothing that can be seen (`equivalent`),
or what would find it (`gap`). The reports of those that are found stay in build/power/reports. The score is the part
found of all that are not equivalent; `--write` puts it into docs/trust.md. The unchanged scheduler comes first: were it
blamed, each change would seem to be found. `--tree` tries the same sample with another checkout, which shows what a
change of the suites is worth. Needs a Go toolchain; the first build takes minutes, a changed one seconds.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from pages import write_table

from schedproof.foundation.processes.sandbox_init import end_with_parent

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "power"
RESULTS, READ = Path("fixtures") / "power.jsonl", ROOT / "fixtures" / "power.yaml"
PAGE = ROOT / "docs" / "trust.md"
MODULE = ROOT / "clusters" / "modules" / "kubernetes-1.36"
KUBERNETES = "k8s.io/kubernetes"
_SCHEDULER = f"{KUBERNETES}/pkg/scheduler"
_PLUGINS = f"{_SCHEDULER}/framework/plugins"
_MORE = {"cycle and events": ["least-traffic-extender"]}
"""Candidates that a change of an area is tried with beside the stock scheduler, which has no extender."""
_FOR_TESTS = ("test_utils.go",)
"""Files of the plugins' packages that their tests alone use."""
AREAS = {
    "resources": [f"{_PLUGINS}/noderesources"],
    "affinity": [f"{_PLUGINS}/nodeaffinity", f"{_PLUGINS}/interpodaffinity"],
    "taints": [f"{_PLUGINS}/tainttoleration", f"{_PLUGINS}/nodeunschedulable"],
    "ports": [f"{_PLUGINS}/nodeports"],
    "spread": [f"{_PLUGINS}/podtopologyspread"],
    "volumes": [
        f"{_PLUGINS}/volumebinding", f"{_PLUGINS}/volumezone", f"{_PLUGINS}/volumerestrictions",
        f"{_PLUGINS}/nodevolumelimits",
    ],
    "devices": [f"{_PLUGINS}/dynamicresources"],
    "preemption": [f"{_PLUGINS}/defaultpreemption", f"{_SCHEDULER}/framework/preemption"],
    "queue": [f"{_SCHEDULER}/backend/queue"],
    "cycle and events": [_SCHEDULER],
    "cache": [f"{_SCHEDULER}/backend/cache", f"{_SCHEDULER}/framework"],
}  # fmt: skip
"""The packages of each area."""
_DRAWN = 40
"""Changes drawn from each area, of which as many are tried as time permits."""
_UNCHANGED = "unchanged"
"""The result of the scheduler as it is published."""
_SAID_ONLY = re.compile(r"\b(logger|klog|metrics?|utilruntime|trace|span)\b|\bfmt\.(Errorf|Sprintf)|Recorder\(|\.V\(\d")
"""A line whose removal changes only what is logged or counted."""


def run_quietly(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: end_with_parent(signal.SIGTERM), **options,
    )  # fmt: skip


class Kubernetes:
    """A copy of Kubernetes' sources, in which one file at a time is changed, and the module that builds it."""

    def __init__(self) -> None:
        self.copy, self.module = WORK / "kubernetes", WORK / "module"
        self.go = functools.partial(run_quietly, cwd=self.module, env={**os.environ, "GOFLAGS": "-mod=mod"})
        if not (self.module / "go.mod").exists():
            self._prepare()
        self.version = _pinned("{{.Version}}")

    def _prepare(self) -> None:
        shutil.copytree(_pinned("{{.Dir}}"), self.copy, dirs_exist_ok=True)
        for path in self.copy.rglob("*"):
            path.chmod(path.stat().st_mode | 0o200)
        self.module.mkdir(parents=True)
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(MODULE / name, self.module / name)
        with (self.module / "go.mod").open("a") as file:
            file.write(f"\nreplace {KUBERNETES} => {self.copy}\n")

    def drawn(self, area: str, seed: int) -> list[dict[str, Any]]:
        """Return the drawn changes of an area; those of log lines and the like are left out."""
        folder = WORK / "drawn" / f"{area.replace(' ', '-')}-{seed}"
        listed = folder / "list.jsonl"
        if not listed.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            program = WORK / "go_mutants"
            run_quietly(["go", "build", "-o", str(program), "."], cwd=ROOT / "tools" / "go_mutants")
            arguments = ["-sample", str(_DRAWN), "-seed", str(seed), "-out", str(folder), *AREAS[area]]
            ended = self.go([str(program), *arguments])
            if ended.returncode:
                sys.exit(f"the changes of {area} cannot be drawn: {ended.stderr[-2000:]}")
            listed.write_text(ended.stdout)
        changes = [json.loads(line) for line in listed.read_text().splitlines()]
        for change in changes:
            texts = (Path(change[key]).read_text().splitlines() for key in ("before", "after"))
            change["diff"] = list(difflib.unified_diff(*texts, n=0, lineterm=""))[2:]
            file = Path(change["file"]).relative_to(self.copy)
            change |= {"area": area, "id": f"{file}:{change['mutator']}:{change['number']}"}
        return [
            change
            for change in changes
            if Path(change["file"]).name not in _FOR_TESTS
            and not all(_SAID_ONLY.search(line) for line in _removed(change))
        ]

    def built(self, change: dict[str, Any]) -> Path | None:
        """Return a kube-scheduler with this change; None if it does not compile."""
        if change["id"] == _UNCHANGED:
            return self._built()
        file = Path(change["file"])
        unchanged = file.read_text()
        try:
            shutil.copyfile(change["after"], file)
            return self._built()
        finally:
            file.write_text(unchanged)

    def _built(self) -> Path | None:
        binary = WORK / "kube-scheduler"
        flags = f"-X k8s.io/component-base/version.gitVersion={self.version}"
        ended = self.go(["go", "build", "-ldflags", flags, "-o", str(binary), f"{KUBERNETES}/cmd/kube-scheduler"])
        return None if ended.returncode else binary


def _pinned(form: str) -> str:
    """Return what `go list` says of the Kubernetes that the harness builds, in this form."""
    return run_quietly(["go", "list", "-m", "-f", form, KUBERNETES], cwd=MODULE).stdout.strip()


def _removed(change: dict[str, Any]) -> list[str]:
    return [line[1:] for line in change["diff"] if line.startswith("-") and line[1:].strip()]


def tried(change: dict[str, Any], kubernetes: Kubernetes, tree: Path, jobs: int) -> dict[str, Any]:
    """Try a change as a user of this checkout tries the stock scheduler, and return its line of the results."""
    result = {key: change[key] for key in ("id", "area", "diff")}
    begin = time.monotonic()
    binary = kubernetes.built(change)
    if binary is None:
        return {**result, "outcome": "not built"}
    for candidate in ("stock", *_MORE.get(change["area"], ())):
        report = WORK / "reports" / re.sub(r"\W+", "-", f"{change['id']}-{candidate}")
        ended, failed, unproved, said = _run(candidate, binary, tree, jobs, report)
        outcome = "found" if failed else "survived" if ended == 0 else "unproved"
        if outcome == "found":
            break
        shutil.rmtree(report, ignore_errors=True)
    return {
        **result, "outcome": outcome, "by": failed or unproved, "exit": ended,
        "seconds": round(time.monotonic() - begin), "said": said[-1000:],
    }  # fmt: skip


def _run(
    candidate: str, binary: Path, tree: Path, jobs: int, report: Path
) -> tuple[int, dict[str, str], dict[str, str], str]:
    """Return the exit code, the codes of the clauses that failed and of those not proved, and what was said first."""
    shutil.rmtree(report, ignore_errors=True)
    ended = run_quietly(
        [str(tree / ".venv" / "bin" / "schedproof"), "run", candidate, "--fail-fast", "--quiet", "--seed=1",
         f"--jobs={jobs}", f"--report={report}"],
        cwd=tree, env={**os.environ, "SCHEDPROOF_BINARY_KUBE_SCHEDULER": str(binary)},
    )  # fmt: skip
    clauses = {}
    if (report / "report.json").exists():
        (judged,) = json.loads((report / "report.json").read_text())["candidates"]
        clauses = {clause["id"]: clause for clause in judged["clauses"]}
    failed = {name: clause["code"] for name, clause in clauses.items() if clause["outcome"] == "failed"}
    unproved = {name: clause["code"] for name, clause in clauses.items() if clause["outcome"] == "invalid"}
    said = next((clauses[name]["summary"] for name in failed), "") if clauses else ended.stderr
    for folder, name in ((tree, "."), (Path.home(), "~")):
        said = said.replace(str(folder), name)  # the line is committed
    return ended.returncode, failed, unproved, said


def earlier(log: Path) -> list[dict[str, Any]]:
    """Return the recorded results."""
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]


def _next(kubernetes: Kubernetes, results: list[dict[str, Any]], areas: list[str], seed: int) -> dict[str, Any] | None:
    """Return the first change that was not tried, of the area in which the fewest were."""
    known = {result["id"] for result in results}
    if _UNCHANGED not in known:
        return {"id": _UNCHANGED, "area": "", "diff": []}
    count = collections.Counter(result["area"] for result in results if result["outcome"] != "not built")
    for area in sorted(areas, key=lambda area: count[area]):
        for change in kubernetes.drawn(area, seed):
            if change["id"] not in known:
                return change
    return None


def table(results: list[dict[str, Any]], read: dict[str, dict[str, str]]) -> str:
    """Return a Markdown table of the score of each area, and a list of those that survived."""
    lines = ["| area | tried | equivalent | found | of all that are not equivalent |", "|---|---|---|---|---|"]
    results = [result for result in results if result["outcome"] != "not built" and result["id"] != _UNCHANGED]
    by_area = {area: [result for result in results if result["area"] == area] for area in AREAS} | {"all": results}
    for area, some in by_area.items():
        equivalent = sum("equivalent" in read.get(result["id"], {}) for result in some)
        found = sum(result["outcome"] == "found" for result in some)
        score = f"{found / (len(some) - equivalent):.0%}" if len(some) > equivalent else ""
        lines.append(f"| {area} | {len(some)} | {equivalent} | {found} | {score} |")
    lines += ["", "| not found | what it changes | what would find it |", "|---|---|---|"]
    for result in results:
        note = read.get(result["id"], {})
        if result["outcome"] != "found" and "equivalent" not in note:
            changed = "<br>".join(f"`{line.replace('|', chr(92) + '|')}`" for line in result["diff"][1:])
            lines.append(f"| {result['id']} | {changed} | {note.get('gap', 'not read yet')} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, metavar="N", help="begin none after this (default: 60)")
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="changes in all (default: 200)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the sample (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="clusters at the same time (default: 2)")
    parser.add_argument("--area", action="append", choices=AREAS, help="only this area; may be repeated")
    parser.add_argument("--again", action="store_true", help="try those again that were not found, but for equivalents")
    parser.add_argument(
        "--tree", type=Path, default=ROOT, metavar="DIR", help="a checkout that is set up (default: this)"
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/trust.md")
    arguments = parser.parse_args()
    end_with_parent(signal.SIGTERM)
    WORK.mkdir(parents=True, exist_ok=True)
    log, end = arguments.tree / RESULTS, time.monotonic() + 60 * arguments.minutes
    results, read = earlier(log), yaml.safe_load(READ.read_text()) or {} if READ.exists() else {}
    if arguments.again:
        settled = {change for change, note in read.items() if "equivalent" in note}
        results = [one for one in results if one["outcome"] in ("found", "not built") or one["id"] in settled]
    kubernetes = Kubernetes()
    while time.monotonic() < end and len(results) <= arguments.sample:
        change = _next(kubernetes, results, arguments.area or list(AREAS), arguments.seed)
        if change is None:
            break
        results.append(tried(change, kubernetes, arguments.tree, arguments.jobs))
        if change["id"] == _UNCHANGED and results[-1]["outcome"] != "survived":
            sys.exit(f"the scheduler as it is published is blamed, so no result would mean anything: {results[-1]}")
        with log.open("a") as file:
            file.write(json.dumps(results[-1]) + "\n")
        sys.stdout.write(f"{json.dumps(results[-1])}\n")
        sys.stdout.flush()
    latest = {result["id"]: result for result in earlier(log)}
    shown = table(list(latest.values()), read)
    sys.stdout.write(shown)
    if arguments.write:
        write_table(PAGE, "make power", shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
