"""Waits until a candidate decides by new readings: for as long after they can be read as it claims (`refresh`).

Readings reach a scheduler in many ways: an annotator writes them to nodes, a sidecar to a file, a thread to a cache.
A query to Prometheus does not yet show a decision based on its result, so the whole claimed time is waited for.
"""

from __future__ import annotations

from collections.abc import Iterable

from schedproof.history.observations import PrometheusQuery
from schedproof.history.record import Record
from schedproof.stimulus.trial import Trial


def await_news(trial: Trial) -> None:
    """Wait until the candidate must decide by the readings of now; not at all if it claims to query for each decision.

    A candidate that takes samples itself needs a whole window of them.
    """
    network = trial.candidate.claims.network
    assert network is not None
    if network.staleness:
        sampled = network.window if takes_samples(trial.recorder.records) else 0.0
        trial.usable_time.let_pass(network.staleness + sampled)


def takes_samples(records: Iterable[Record]) -> bool:
    """Whether a candidate reads the current values of counters, and computes rates from its own samples."""
    queries = [record for record in records if isinstance(record, PrometheusQuery)]
    return bool(queries) and not any(map(_looks_back, queries))


def _looks_back(query: PrometheusQuery) -> bool:
    """Whether a query returns more than the newest samples: by a range, an offset, or for a moment or range of time."""
    return query.path.endswith("/query_range") or any(sign in query.request for sign in ("[", " offset ", "@"))
