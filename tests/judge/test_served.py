"""Queries of metrics that no Prometheus server of the harness has: what follows from them proves nothing."""

from __future__ import annotations

import pytest

from schedproof.history.observations import MetricsServed, QueryReads

from .histories import HistoryBuilder, told
from .probing import LEAST, tried

RECEIVED = "node_network_receive_bytes_total"
MISSPELT = "node_network_recieve_bytes_total"


def asking(metric: str, *, served: tuple[str, ...] = (RECEIVED, "up"), case: str = LEAST) -> HistoryBuilder:
    """A candidate that reads this metric, beside servers that have these."""
    h = HistoryBuilder(case)
    h.query(f"rate({metric}[2s])", answer='{"data":{"result":[]}}')
    h.add(QueryReads(request=f"rate({metric}[2s])", metrics=[metric], look_back=2.0))
    if served:
        h.add(MetricsServed(names=list(served)))
    return h


def test_a_missed_preference_proves_nothing_if_a_metric_is_not_served() -> None:
    verdict = tried(choose=lambda _: "node-2", world=asking(MISSPELT)).verdict()
    told(verdict, "invalid", "metric-not-served", MISSPELT, f"did you mean {RECEIVED}?")
    # The finding names the cause by itself.
    assert "query-without-result" not in {symptom.kind for symptom in verdict.evidence.symptoms}


def test_a_metric_like_no_other_has_no_suggestion() -> None:
    verdict = tried(choose=lambda _: "node-2", world=asking("instance:cpu:ratio")).verdict()
    told(verdict, "invalid", "metric-not-served", "instance:cpu:ratio")
    assert "did you mean" not in verdict.summary


@pytest.mark.parametrize(
    "world",
    [
        asking(RECEIVED),
        asking("of_a_rule", served=(RECEIVED, "of_a_rule")),
        asking(MISSPELT, served=()),  # as in older histories: nothing is known of the servers
    ],
    ids=["served", "of-a-rule", "unknown"],
)
def test_a_missed_preference_is_a_failure_if_no_metric_is_known_to_be_missing(world: HistoryBuilder) -> None:
    told(tried(choose=lambda _: "node-2", world=world).verdict(), "failed", "probe-not-on-quietest")


def test_names_that_are_served_later_in_the_run_count() -> None:
    h = asking("of_a_rule")
    h.add(MetricsServed(names=["of_a_rule"]))
    told(tried(choose=lambda _: "node-2", world=h).verdict(), "failed", "probe-not-on-quietest")


def test_what_passes_without_a_metric_passes() -> None:
    assert tried(world=asking(MISSPELT)).verdict().outcome == "passed"


def test_a_broken_rule_stays_a_failure() -> None:
    h = asking(MISSPELT, case="network/missing-node")
    h.load(0, {"node-1": 1.0, "node-2": 2.0})
    h.node("node-3", unschedulable=True)
    h.seen()
    h.pod("probe-1", phase=0)
    h.bind("probe-1", "node-3")
    assert h.verdict().code == "infeasible-node"
