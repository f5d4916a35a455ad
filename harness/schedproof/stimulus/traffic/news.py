"""When a candidate decides by new readings: as long after they are there to read as it claims (`refresh`).

Readings reach a scheduler in many ways: an annotator writes them to nodes, a sidecar to a file, a thread to a cache.
That Prometheus was asked is not yet a decision that knows the answer: the whole of the claimed time is waited for.
"""

from __future__ import annotations

from collections.abc import Iterable

from schedproof.history.observations import PrometheusQuery
from schedproof.history.record import Record
from schedproof.stimulus.trial import Trial


def await_news(trial: Trial) -> None:
    """Until the candidate must decide by what there is to read now. At once, where it claims to ask for each decision.

    One that takes samples has news once those cover a whole window.
    """
    network = trial.candidate.claims.network
    assert network is not None
    if network.staleness:
        sampled = network.window if takes_samples(trial.recorder.records) else 0.0
        trial.usable_time.let_pass(network.staleness + sampled)


def takes_samples(records: Iterable[Record]) -> bool:
    """Whether a candidate asks for counters as they are now, and works out rates from what it has seen itself."""
    queries = [record for record in records if isinstance(record, PrometheusQuery)]
    return bool(queries) and not any(map(_looks_back, queries))


def _looks_back(query: PrometheusQuery) -> bool:
    """Whether it asks for more than the newest samples: by a range, an offset, or for a time between two moments."""
    return query.path.endswith("/query_range") or any(sign in query.request for sign in ("[", " offset ", "@"))
