"""Builds the JSON Schema of workloads: fixtures/workloads/*.yaml, or the user's."""

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
    """Return the JSON Schema, with all operations."""
    spec = mapping(
        {
            "description": text("what the workload tests, in a sentence"),
            "parameters": named(integer(0, _MOST), "numbers that the command line can override", default={}),
            "operations": listed(
                _operation(), "operations, executed in this order; the last operation creates the measured pods"
            ),
        },
        required=("description", "operations"),
    )
    return document(
        "Workload", spec, description="What is scheduled in a benchmark.",
        name=text("the name in reports", title="lower-case letters, digits, dashes; at most 53"),
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
        "barrier": anything("waits until all pods created so far are bound", maxProperties=0),
        "deletePods": mapping(
            {"namespace": _namespace("the namespace")}, "deletes all pods of a namespace", required=("namespace",)
        ),
        "readings": mapping(
            {
                "all": number("bytes per second of every node"),
                "distinct": number("bytes per second of the quietest node; the next node has twice as many, and so on"),
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
            "labels": named(listed(text()), "by key: the values that the nodes take in turn", default={}),
        },
        "nodes `node-1` and so on",
        required=("count", "template"),
    )


def _create_namespaces() -> Schema:
    return mapping(
        {
            "prefix": _namespace("the prefix of their names"),
            "count": _count("how many"),
            "labels": named(text(empty=True), "labels of each namespace", default={}),
        },
        "namespaces `prefix-0` and so on; namespaces of other operations are created without this",
        required=("prefix", "count"),
    )


def _create_pods() -> Schema:
    return mapping(
        {
            "count": _count("how many"),
            "template": _manifest("Pod"),
            "templates": listed(_manifest("Pod"), "instead of `template`: several templates, used in turn"),
            "namespace": _namespace("the namespace; by default `measured` for measured pods, else `initial`"),
            "measured": flag("whether the candidate schedules these pods, and is measured"),
            "wait": flag("whether to wait until the pods are bound; false leaves that to a `barrier`", default=True),
            "burst": _count("how many pods arrive at once, in open-loop mode", least=1),
        },
        "pods without a schedulerName, which the harness sets",
        required=("count",),
    )


def _churn() -> Schema:
    return mapping(
        {
            "mode": choice(CHURN_MODES, "create objects, or create and delete them"),
            "number": _count("in mode recreate: the largest number of objects of each template"),
            "interval": duration("the time between two changes"),
            "template": _manifest(),
            "templates": listed(_manifest(), "instead of `template`: several templates, used in turn"),
            "namespace": _namespace("the namespace; `churn` by default"),
        },
        "objects created and deleted while pods are measured; the candidate schedules pods among them",
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
    description = f"a {kind} without a name" if kind else "a complete object, as for `kubectl apply`"
    return anything(description, properties=fields, required=["apiVersion", "kind"])
