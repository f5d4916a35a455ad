"""When a candidate decides by new readings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.claims import NetworkClaims
from schedproof.history.observations import PrometheusQuery
from schedproof.stimulus.traffic.news import await_news, takes_samples

RATE = "rate(m[2s])"
QUERY = "/api/v1/query"


def query(text: str, path: str = QUERY) -> PrometheusQuery:
    return PrometheusQuery(at=1.0, seconds=0.0, request=text, path=path, status=200, answer="")


def waited(*records: PrometheusQuery, **claimed: Any) -> list[float]:
    """For how many seconds a candidate is waited for that has asked this, and claims `claimed`."""
    claims = NetworkClaims("m", "receive", window=2, resolution=0.1, **claimed)
    passed: list[float] = []
    trial: Any = SimpleNamespace(
        candidate=SimpleNamespace(claims=SimpleNamespace(network=claims)),
        recorder=SimpleNamespace(records=records),
        usable_time=SimpleNamespace(let_pass=passed.append),
    )
    await_news(trial)
    return passed


def test_what_asks_for_each_decision_is_not_waited_for() -> None:
    assert waited(query(RATE)) == []


@pytest.mark.parametrize("asked", [(), (query(RATE),)])
def test_what_claims_a_time_has_it_whether_it_was_seen_to_ask_or_not(asked: tuple[PrometheusQuery, ...]) -> None:
    """Another process, or the same one a moment later, may be what decides."""
    (seconds,) = waited(*asked, refresh=3.0)
    assert seconds >= 3.0


def test_recording_rules_have_their_interval() -> None:
    (with_rules,) = waited(refresh=3.0, rules=({"record": "a", "expr": "b"},))
    (without,) = waited(refresh=3.0)
    assert with_rules > without


@pytest.mark.parametrize(
    ("text", "path", "samples"),
    [
        ("/federate", "/federate", True),
        ("sum by (node) (m)", QUERY, True),
        ("m", "/api/v1/query_range", False),
        ("m - m offset 2s", QUERY, False),
        (RATE, QUERY, False),
    ],
)
def test_what_asks_for_no_past_has_news_once_it_has_seen_a_window(text: str, path: str, *, samples: bool) -> None:
    assert takes_samples([query("up") if samples else query(RATE), query(text, path)]) is samples
    (plain,) = waited(refresh=3.0)
    (seconds,) = waited(query(text, path), refresh=3.0)
    assert seconds == plain + (2 if samples else 0)


def test_what_was_never_seen_to_ask_takes_no_samples() -> None:
    assert not takes_samples([])
