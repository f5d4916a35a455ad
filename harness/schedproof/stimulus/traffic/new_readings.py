"""Waits until a candidate decides by new readings: for as long after they can be read as it claims (`refresh`).

Readings reach a scheduler in many ways: an annotator writes them to nodes, a sidecar to a file, a thread to a cache.
A query to Prometheus does not yet show a decision based on its result, so the whole claimed time is waited for.

Where one server of readings takes the place of another, the past changes as well. Queries see the new past at once, as
far as they look back. What the candidate keeps by itself, such as its own samples of counters, or an average of its
polls, is of the other server, until it is older than the claimed window.
"""

from __future__ import annotations

from schedproof.stimulus.trial import Trial


def await_new_readings(trial: Trial) -> None:
    """Wait until the candidate must decide by the readings of now.

    Not at all if it claims to query for each decision, and its queries look back as far as it claims to.
    """
    network = trial.candidate.claims.network
    assert network is not None
    if seconds := network.staleness + remembered(trial):
        trial.usable_time.let_pass(seconds)


def remembered(trial: Trial) -> float:
    """Return for how many seconds the candidate may use what it has read before: the window, less its queries' part."""
    network = trial.candidate.claims.network
    assert network is not None
    look_back = trial.queries.look_back(network)
    return network.window - look_back if look_back is not None else 0.0


def takes_samples(trial: Trial) -> bool:
    """Whether a candidate reads the current values of counters, and computes rates from its own samples."""
    network = trial.candidate.claims.network
    return network is not None and trial.queries.look_back(network) == 0
