"""Reads `spec.claims.points`: worked examples of a plugin's decisions."""

from __future__ import annotations

from typing import Any

from schedproof.candidate.descriptor.setup_reader import read_texts
from schedproof.candidate.points import FilterExample, OrderExample, PointClaims, ScoreExample
from schedproof.documents.fields import Field

POINTS = ("filter", "prefilter", "score", "queue-sort")


def read_points(field: Field) -> PointClaims:
    section = field.section(*POINTS)
    filters, prefilters = (
        tuple(_filter(item) for item in section[name].items("{node-labels: {zone: closed}, fits: false}"))
        if name in section
        else ()
        for name in POINTS[:2]
    )
    scores: tuple[ScoreExample, ...] = ()
    if "score" in section:
        scores = tuple(_score(item) for item in section["score"].items("{pod: {...}, better: {...}, worse: {...}}"))
    orders: tuple[OrderExample, ...] = ()
    if "queue-sort" in section:
        orders = tuple(_order(item) for item in section["queue-sort"].items("{first: {...}, then: {...}}"))
    return PointClaims(filters, prefilters, scores, orders)


def _filter(field: Field) -> FilterExample:
    section = field.section("pod", "node-labels", "fits")
    return FilterExample(
        fits=section["fits"].flag(),
        pod=_pod(section["pod"]) if "pod" in section else {},
        node_labels=read_texts(section["node-labels"]) if "node-labels" in section else {},
    )


def _score(field: Field) -> ScoreExample:
    section = field.section("pod", "better", "worse")
    example = ScoreExample(
        _pod(section["pod"]) if "pod" in section else {}, read_texts(section["better"]), read_texts(section["worse"])
    )
    if section.sound and example.better == example.worse:
        section.complain(
            "contradiction", "better and worse have the same labels", "write the labels in which the nodes differ"
        )
    return example


def _order(field: Field) -> OrderExample:
    section = field.section("first", "then")
    order = OrderExample(_pod(section["first"]), _pod(section["then"]))
    if section.sound and order.first == order.then:
        section.complain(
            "contradiction", "both pods are the same", "write the field that puts the first pod before the second"
        )
    return order


def _pod(field: Field) -> dict[str, Any]:
    """Read the fields of `metadata` and `spec` in an example."""
    section = field.section("metadata", "spec")
    pod: dict[str, Any] = {}
    if "metadata" in section:
        metadata = section["metadata"].section("labels", "annotations")
        pod["metadata"] = {name: read_texts(metadata[name]) for name in ("labels", "annotations") if name in metadata}
    if "spec" in section:
        pod["spec"] = section["spec"].plain_mapping("{priorityClassName: system-node-critical}")
    return pod
