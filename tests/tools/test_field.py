"""The schedulers of fixtures/field: what describes them, and the page that is written of them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.judge.claimable import CLAIMABLE

ROOT = Path(__file__).parents[2]
FIELD = ROOT / "fixtures" / "field"
NAMES = sorted(path.parent.name for path in FIELD.glob("*/candidate.yaml"))
DEFINITIONS = """\
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Namespace, metadata: {name: a}}
  - {apiVersion: v1, kind: CustomResourceDefinition, metadata: {name: a}}
  - {apiVersion: v1, kind: ClusterRole, metadata: {name: a}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: volcano-scheduler-configmap}, data: {conf: text}}
"""
CONFIGURATION = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  koord-scheduler-config: |
    {kind: KubeSchedulerConfiguration, profiles: [{schedulerName: koord-scheduler}]}
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("field")


def furnished(folder: Path, name: str) -> Path:
    """The folder of a candidate, with stand-ins for the manifests of its sources."""
    for file in (FIELD / name).iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    text = (folder / "candidate.yaml").read_text()
    for path in re.findall(r"sources/[-\w/.]+", text):
        file = folder / path
        file = file if file.suffix else file / "definitions.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CONFIGURATION if file.stem == "scheduler-config" else DEFINITIONS)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_candidate_of_the_field_has_fewer_than_forty_lines_and_can_be_read(tmp_path: Path, name: str) -> None:
    assert len((FIELD / name / "candidate.yaml").read_text().splitlines()) <= 40
    assert load_candidate(furnished(tmp_path, name), known=CLAIMABLE).claims.profiles[0] == "core"


def test_each_candidate_is_a_configuration_of_a_code_base_that_has_what_it_names(tool: Any) -> None:
    field = tool.read_field()
    assert sorted(one.name for one in field.configurations) == NAMES
    for one in field.configurations:
        base, text = field.of(one), (FIELD / one.name / "candidate.yaml").read_text()
        assert set(re.findall(r"bin/([-\w]+)", text)) <= set(base.builds), one.name
        assert set(re.findall(r"sources/([-\w]+)", text)) <= set(base.modules), one.name
        assert {program.module for program in base.builds.values()} <= set(base.modules)
        assert one.promises
        spec = yaml.safe_load(text)["spec"]
        if main := spec.get("plugin", {}).get("main"):
            version = base.pinned.partition("@")[2]
            assert main.endswith(f"@{version}"), one.name


def test_the_page_is_up_to_date(tool: Any) -> None:
    """If this fails, run `make field ARGS=--table`."""
    text = tool.PAGE.read_text()
    found = re.search(r"<!-- begin: make field -->\n(.*)<!-- end: make field -->", text, re.DOTALL)
    assert found
    assert found[1] == tool.table(tool.read_field(), tool.read_results())


def test_a_failure_is_a_lead_until_field_yaml_explains_it(tool: Any) -> None:
    field = tool.read_field()
    one = next(each for each in field.configurations if not each.findings)
    runs = [
        tool.Result(configuration=one.name, module=field.of(one).pinned, seed=seed, outcomes={"core/binds": outcome})
        for seed, outcome in ((1, "passed"), (2, "failed"))
    ]
    told = tool.table(field, runs)
    assert f"| `{one.name}` | `core/binds` | passed, then failed |  | not yet understood |" in told
    finding = {
        "clause": "core/binds", "says": "pods wait", "cause": "https://example.com/a", "steps": "apply a pod",
        "right": "clause",
    }  # fmt: skip
    explained = one.model_copy(update={"findings": (tool.Finding.model_validate(finding),)})
    others = [each for each in field.configurations if each is not one]
    told = tool.table(field.model_copy(update={"configurations": (explained, *others)}), runs)
    assert "pods wait ([cause](https://example.com/a)). Steps: apply a pod. Right: the clause" in told


def test_runs_of_another_version_are_not_counted(tool: Any) -> None:
    field = tool.read_field()
    one = field.configurations[0]
    old = tool.Result(configuration=one.name, module="example.com/a@v0.1.0", outcomes={"core/binds": "failed"})
    assert tool.table(field, [old]) == tool.table(field, [])


def test_what_a_proxy_refuses_is_not_built(tool: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tool, "WORK", tmp_path)
    base = tool.CodeBase.model_validate(
        {
            "name": "a", "title": "A", "minor": "1.35", "modules": {"a": "example.com/a@v1.0.0"},
            "builds": {"a": {"module": "a", "package": "."}}, "refused": ["example.com/b@v1.0.0"],
        }
    )  # fmt: skip
    with pytest.raises(tool.RefusedError, match=re.escape("example.com/b@v1.0.0")):
        tool.build(base, None, ["a"])


class PlayedGo:
    """Makes what Go would make, and counts."""

    def __init__(self, source: Path) -> None:
        self.source, self.calls = source, [""][:0]

    def run(self, *arguments: str, cwd: Path) -> str:
        self.calls.append(arguments[0])
        if arguments[0] == "build":
            Path(arguments[arguments.index("-o") + 1]).touch()
        assert cwd.is_dir()
        return f'{{"Dir": "{self.source}"}}'


def test_what_is_fetched_and_built_is_not_made_again(
    tool: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tool, "WORK", tmp_path / "work")
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "go.mod").touch()
    (tmp_path / "work" / "a" / "bin").mkdir(parents=True)
    description = {
        "name": "a", "title": "A", "minor": "1.35", "modules": {"a": "example.com/a@v1.0.0"},
        "builds": {"a": {"module": "a", "package": "."}},
    }  # fmt: skip
    base, go = tool.CodeBase.model_validate(description), PlayedGo(tmp_path / "module")
    for _ in range(2):
        tool.fetch(base, go)
        tool.build(base, go, ["a"])
    assert go.calls == ["mod", "build"]
    assert tool.build(base, go, []) == 0, "what a candidate does not name is built"
    newer = tool.CodeBase.model_validate({**description, "modules": {"a": "example.com/a@v1.0.1"}})
    tool.fetch(newer, go)
    tool.build(newer, go, ["a"])
    assert go.calls == ["mod", "build"] * 2


def test_a_run_adds_a_line_that_a_further_call_replaces(
    tool: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tool, "RESULTS", tmp_path / "results.jsonl")
    head = tool.Result(configuration="a", module="example.com/a@v1.0.0", seed=3, build_seconds=2.0)
    clauses = [
        {"id": name, "level": level, "outcome": outcome, "summary": "", "evidence": {}, "code": code}
        for name, level, outcome, code in (
            ("core/binds", "required", "passed", ""),
            ("extender/healthz", "recommended", "failed", "no-endpoint"),
            ("core/dra", "required", "not-claimed", ""),
        )
    ]
    run = {
        "seed": 3, "cluster": "embedded", "jobs": 1, "versions": {"kubernetes": "v1.36.3", "etcd": "3"},
        "timings": {"build a": 60.0}, "exit_code": 0, "seconds": 90.0,
    }  # fmt: skip
    candidate = {"name": "a", "kind": "extender", "profiles": {}, "causes": [], "clauses": clauses}
    report = tool.Report.model_validate(
        {"schema": "schedproof.report/v1", "run": run, "candidates": [candidate]}
    )  # fmt: skip
    for _ in range(2):
        tool.keep(tool.result_of(head, report))
    (kept,) = tool.read_results()
    assert kept.outcomes == {"core/binds": "passed", "extender/healthz": "failed"}
    assert (kept.codes, kept.recommended) == ({"extender/healthz": "no-endpoint"}, ("extender/healthz",))
    assert (kept.build_seconds, kept.judge_seconds, kept.versions) == (62.0, 90.0, {"kubernetes": "v1.36.3"})


@pytest.mark.parametrize(
    ("before", "codes", "calls"),
    [
        ([1], [], []),
        ([130, 0], [130, 0], ["--seed=1", "--resume"]),
        ([130, 3], [130, 2, 3], ["--seed=1", "--resume", "--seed=1"]),
        ([2], [2], ["--seed=1"]),
    ],
)
def test_a_run_goes_on_where_it_was_and_is_not_repeated(
    tool: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, before: list[int], codes: list[int], calls: list[str]
) -> None:
    report, asked, left = tmp_path / "report", [""][:0], list(codes)
    if not codes:
        (tmp_path / "report.ended").write_text("1")

    def played(*arguments: str) -> int:
        assert arguments[:2] == ("run", "candidate")
        asked.append(arguments[2].partition("=")[0] if "resume" in arguments[2] else arguments[2])
        report.mkdir(exist_ok=True)
        return left.pop(0)

    monkeypatch.setattr(tool, "_schedproof", played)
    assert [tool._run(report, ["candidate"], ["--seed=1"]) for _ in before] == before
    assert asked == calls
