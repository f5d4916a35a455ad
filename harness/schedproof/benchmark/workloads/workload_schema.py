"""The JSON Schema of workloads: fixtures/workloads/*.yaml, or the user's."""

from __future__ import annotations

from schedproof.benchmark.workloads.operations import CHURN_MODES
from schedproof.documents.json_schema import (
    Schema,
    anything,
    choice,
    document,
    duration,
    either,
    flag,
    integer,
    listed,
    mapping,
    named,
    number,
    text,
)

_MOST = 1_000_000


def workload_schema() -> Schema:
    """The schema, with all operations."""
    spec = mapping(
        {
            "description": text("what it stresses, in a sentence"),
            "parameters": named(integer(0, _MOST), "numbers that the command line may change", default={}),
            "operations": listed(_operation(), "what is done, in this order; the last one creates the measured pods"),
        },
        required=("description", "operations"),
    )
    return document(
        "Workload", spec, description="What is scheduled in a benchmark.",
        name=text("its name in reports", title="lower-case letters, digits, dashes; at most 53"),
    )  # fmt: skip


def _operation() -> Schema:
    operations = {
        "createNodes": _create_nodes(),
        "createNamespaces": _create_namespaces(),
        "createPods": _create_pods(),
        "createObjects": mapping(
            {"manifests": listed(_manifest(), "objects, with their names")},
            "other objects, such as a PriorityClass",
            required=("manifests",),
        ),
        "churn": _churn(),
        "barrier": anything("waits until all pods so far are bound", maxProperties=0),
        "deletePods": mapping(
            {"namespace": _namespace("whose pods")}, "deletes all pods of a namespace", required=("namespace",)
        ),
        "readings": mapping(
            {
                "all": number("bytes per second that every node has"),
                "distinct": number("bytes per second of one node; another has twice as many, and so on"),
            },
            "the nodes' readings in Prometheus: one of `all` and `distinct`",
        ),
    }
    return mapping(operations, maxProperties=1, minProperties=1)


def _create_nodes() -> Schema:
    return mapping(
        {
            "count": _count("how many"),
            "template": _manifest("Node"),
            "labels": named(listed(text()), "each node gets the next value", default={}),
        },
        "nodes `node-1` and so on",
        required=("count", "template"),
    )


def _create_namespaces() -> Schema:
    return mapping(
        {
            "prefix": _namespace("how their names begin"),
            "count": _count("how many"),
            "labels": named(text(empty=True), "labels of each", default={}),
        },
        "`prefix-0` and so on; a namespace that is only used needs none of this",
        required=("prefix", "count"),
    )


def _create_pods() -> Schema:
    return mapping(
        {
            "count": _count("how many"),
            "template": _manifest("Pod"),
            "templates": listed(_manifest("Pod"), "in place of `template`: several, in turn"),
            "namespace": _namespace("where; `measured` if absent and they are measured, else `initial`"),
            "measured": flag("whether the candidate schedules them, and is measured"),
            "wait": flag("whether they are waited for; false leaves that to a `barrier`", default=True),
            "burst": _count("how many arrive at once, in open-loop mode", least=1),
        },
        "pods without a schedulerName, which the harness gives",
        required=("count",),
    )


def _churn() -> Schema:
    return mapping(
        {
            "mode": choice(CHURN_MODES, "objects that come, or come and go"),
            "number": _count("recreate: how many there are at most"),
            "interval": duration("from one change to the next"),
            "template": _manifest(),
            "templates": listed(_manifest(), "in place of `template`: several, in turn"),
            "namespace": _namespace("where; `churn` if absent"),
        },
        "objects that come and go while pods are measured; pods among them are the candidate's to place",
        required=("mode",),
    )


def _count(description: str, *, least: int = 0) -> Schema:
    parameter = {"type": "string", "pattern": r"^\{.*\}$"}
    return {
        **either(integer(least, _MOST), parameter, description=description),
        "title": "whole number, or the name of a parameter in braces",
    }


def _namespace(description: str) -> Schema:
    return text(description, title="lower-case letters, digits, dashes")


def _manifest(kind: str = "") -> Schema:
    fields = {"apiVersion": {"const": "v1"}, "kind": {"const": kind}} if kind else {"kind": {"type": "string"}}
    what = f"a {kind} without a name" if kind else "a complete object, as for `kubectl apply`"
    return anything(what, properties=fields, required=["apiVersion", "kind"])
