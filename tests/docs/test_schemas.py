"""The JSON Schemas of files: what they accept and refuse, and that they match what readers and writers do."""

from __future__ import annotations

import copy
import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedproof.benchmark.workloads.reader import load_workload
from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.cli import main as cli
from schedproof.cli.schemas import SCHEMAS
from schedproof.clusters.spec import load_kind_spec, load_spec
from schedproof.foundation.errors import HostError, SchedproofError, UsageError
from schedproof.history.record import KINDS
from schedproof.history.saved import DamagedRecordError, read_record
from schedproof.judge.claimable import CLAIMABLE
from schedproof.judge.verdict import Outcome
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of

ROOT = Path(__file__).parents[2]
VALIDATORS = {name: jsonschema.Draft202012Validator(schema()) for name, schema in SCHEMAS.items()}
SHIPPED = {
    "candidate": [
        *ROOT.glob("fixtures/candidates/**/candidate.yaml"),
        *ROOT.glob("fixtures/templates/*/candidate.yaml"),
    ],
    "cluster": [ROOT / "clusters" / "embedded.yaml", ROOT / "clusters" / "kind.yaml"],
    "workload": [*ROOT.glob("fixtures/workloads/*.yaml")],
}
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("candidate", "workloads")}


def examples(page: str) -> list[Any]:
    """The complete files that a page shows."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGES[page], re.MULTILINE | re.DOTALL)
    return [yaml.safe_load(text) for text in blocks if text.startswith("apiVersion")]


# -- what is taken, and what is refused


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_file_is_valid(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name]())
    assert SHIPPED[name]
    for file in SHIPPED[name]:
        VALIDATORS[name].validate(yaml.safe_load(file.read_text()))


def spec(kind: str, text: str) -> Any:
    return yaml.safe_load(f"apiVersion: schedproof/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec: {text}")


@pytest.mark.parametrize(
    "text",
    [
        "{schedulerName: a}",
        "{schedulerName: a, attached: {}, plugin: {binary: kube-scheduler}}",
        "{attached: {}}",
        "{schedulerName: a, attached: {}, calims: {}}",
        "{schedulerName: a, extender: {command: [a]}}",
        "{schedulerName: a, extender: {command: a, config: {filterVerb: f}}}",
        "{schedulerName: a, extender: {command: [a], port: 70000, config: {filterVerb: f}}}",
        "{schedulerName: a, controller: {command: [a], config: {filterVerb: f}}}",
        "{schedulerName: a, attached: {}, claims: {profiles: [cor]}}",
        "{schedulerName: a, attached: {}, claims: {features: [fast]}}",
        "{schedulerName: a, attached: {}, claims: {network: {metric: m, direction: receive, resolution: 10%}}}",
        "{schedulerName: a, attached: {}, claims: {timing: {bind: 30}}}",
        "{schedulerName: a, attached: {}, exclusions: [{clause: core/bind, reason: r}]}",
    ],
)
def test_a_wrong_candidate_is_refused(text: str) -> None:
    assert not VALIDATORS["candidate"].is_valid(spec("Candidate", text))


def test_a_candidate_that_extends_another_may_contain_only_differences() -> None:
    differing = {"extends": "../other", "spec": {"claims": {"network": {"window": "1m"}}, "rbac": None}}
    assert VALIDATORS["candidate"].is_valid(differing)
    assert not VALIDATORS["candidate"].is_valid({**differing, "spec": {"claims": {"network": {"windw": "1m"}}}})


@pytest.mark.parametrize(
    "text",
    [
        "{count: 0}",
        "{count: 5001}",
        "{nods: []}",
        "{nodes: []}",
        "{nodes: [{cpu: 3}]}",
        "{node: {taints: [{key: a, effect: No}]}}",
        "{node: {taints: {key: a}}}",
    ],
)
def test_a_wrong_cluster_is_refused(text: str) -> None:
    assert not VALIDATORS["cluster"].is_valid(spec("Cluster", text))


@pytest.mark.parametrize(
    "operations",
    [
        "[]",
        "[{createPod: {}}]",
        "[{barrier: {}, readings: {all: 0}}]",
        "[{createPods: {template: {apiVersion: v1, kind: Pod}}}]",
        "[{createPods: {count: some, template: {apiVersion: v1, kind: Pod}}}]",
        "[{createNodes: {count: 1, template: {apiVersion: v1, kind: Pod}}}]",
        "[{churn: {mode: sometimes, template: {apiVersion: v1, kind: Pod}}}]",
    ],
)
def test_a_wrong_workload_is_refused(operations: str) -> None:
    document = spec("Workload", f"{{description: d, operations: {operations}}}")
    assert not VALIDATORS["workload"].is_valid(document)


# -- what runs leave


def paths(value: object, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [prefix, *(path for key, item in inner for path in paths(item, (*prefix, key)))]


def right(schema: dict[str, Any]) -> Any:
    """A valid value for a schema of a record's field; of an object, only its required fields."""
    schema = RECORDS["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    for form in schema.get("anyOf", ()):
        return right(form)
    for value in schema.get("enum", ()):
        return value
    fields = {name: right(schema["properties"][name]) for name in schema.get("required", ())}
    return {"string": "a", "integer": 1, "number": 0.5, "boolean": True, "array": [], "object": fields}.get(
        schema.get("type", ""), fields
    )


RECORDS = SCHEMAS["history"]()
FIELDS = [
    (kind, *path)
    for kind, model in KINDS.items()
    for path in paths(right({"$ref": model.__name__}) | dict.fromkeys(RECORDS["$defs"][model.__name__]["properties"]))
    if path
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(FIELDS), st.data())
def test_the_schema_refuses_a_record_exactly_where_its_reader_does(field: tuple[str, ...], data: st.DataObject) -> None:
    kind, *outer, name = field
    record = {"kind": kind, "at": 0.5, **right({"$ref": KINDS[kind].__name__})}
    assert read_record(record).as_dict() == record
    VALIDATORS["history"].validate(record)
    inside = record
    for step in outer:
        inside = inside[step]
    inside[name] = data.draw(st.sampled_from([None, True, 1, 0.5, "a", [], {}]))
    try:
        read_record(record)
    except DamagedRecordError:
        assert not VALIDATORS["history"].is_valid(record)
    else:
        VALIDATORS["history"].validate(record)


def closed(schema: Any) -> Any:
    """The same schema, without permission to add fields."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema else {}
    return {**{key: closed(value) for key, value in schema.items()}, **more}


@pytest.mark.parametrize("error", [None, HostError("no room", remedy="make some")])
def test_a_report_has_only_fields_of_its_schema(error: SchedproofError | None) -> None:
    candidate = Candidate(name="tested", scheduler_name="tested", attached=AttachedSpec(), path=Path("candidate.yaml"))
    levels: tuple[Any, ...] = ("required", "recommended")
    verdicts = [
        verdict_of(
            "core/binds", level, outcome, "so", {"logs": {}}, code, stale=stale, instance=number, depends_on=other
        )
        for level in levels
        for outcome in get_args(Outcome)
        for code, stale, number, other in (("", False, 0, ""), ("not-tried", True, 2, "core/alive"))
    ]
    result = RunResult(seed=7, cluster="embedded", folder=Path("results"), error=error, seconds=1.5)
    result.started = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    result.timings = {"tested core/binds": 0.5}
    result.versions = {"schedproof": "1"}
    result.candidates["tested"] = CandidateResult(candidate, (), verdicts, error)
    jsonschema.Draft202012Validator(closed(SCHEMAS["report"]())).validate(
        json.loads(json.dumps(result.document().as_dict()))
    )
    assert not VALIDATORS["report"].is_valid({**result.document().as_dict(), "schema": "schedproof.report/v0"})


# -- that they say what the readers do


def test_the_schema_command_prints_every_schema(capsys: pytest.CaptureFixture[str]) -> None:
    for name, schema in SCHEMAS.items():
        assert cli.main(["schema", name]) == 0
        assert json.loads(capsys.readouterr().out) == schema()


GOOD = {
    "candidate": examples("candidate"),
    "workload": [*examples("workloads"), *(yaml.safe_load(file.read_text()) for file in SHIPPED["workload"])],
    "cluster": [
        *(yaml.safe_load(file.read_text()) for file in SHIPPED["cluster"]),
        spec(
            "Cluster", "{nodes: [{name: a, capacity: {cpu: 2}, labels: {a: b}, taints: [{key: a, effect: NoExecute}]}]}"
        ),
    ],
}
SPOTS = [
    (name, number, path)
    for name, documents in GOOD.items()
    for number, one in enumerate(documents)
    for path in paths(one)
]
VALUES = st.sampled_from(
    [None, True, False, 0, 1, -1, 0.5, 70_000, "", " ", "a", "a/b", "core", "10%", "1s", "1m30s", "0", "30", "{nodes}",
     "{x}", "/a", "./a", [], [""], ["a"], [1], {}, {"a": 1}, {"a": "b"}, {"name": "a"}]
)  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SPOTS), VALUES)
def test_the_schemas_refuse_nothing_that_a_reader_accepts(
    tmp_path_factory: pytest.TempPathFactory, spot: tuple[str, int, tuple[Any, ...]], value: object
) -> None:
    name, number, path = spot
    document = copy.deepcopy(GOOD[name][number])
    if not path:
        return
    target = document
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    file = tmp_path_factory.getbasetemp() / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document))
    if taken(name, file):
        VALIDATORS[name].validate(document)


def taken(name: str, file: Path) -> bool:
    """Whether the reader of such a file accepts it."""
    readers: dict[str, tuple[Callable[[Path], object], ...]] = {
        "candidate": (lambda path: load_candidate(path, known=CLAIMABLE),),
        "workload": (load_workload,),
        "cluster": (load_spec, load_kind_spec),
    }
    for read in readers[name]:
        try:
            read(file)
        except UsageError:
            continue
        return True
    return False
