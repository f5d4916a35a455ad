"""When a candidate is known to have new readings."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.candidates.claims import NetworkClaims
from schedproof.history.observations import PrometheusQuery
from schedproof.stimulus.news import News

if TYPE_CHECKING:
    from collections.abc import Callable

REFRESH = 1.0
RATE = "rate(m[2s])"
CLAIMS = NetworkClaims("m", "receive", window=2, resolution=0.1, refresh=REFRESH)
STALENESS = CLAIMS.staleness


class PlayedRecorder:
    """Keeps what a candidate is played to ask."""

    def __init__(self) -> None:
        self.records: list[PrometheusQuery] = []
        self.changed = threading.Condition()

    def now(self) -> float:
        return time.monotonic()

    def query(self, text: str, seconds: float = 0.0, path: str = "/api/v1/query") -> None:
        with self.changed:
            self.records.append(
                PrometheusQuery(at=self.now(), seconds=seconds, request=text, path=path, status=200, answer="")
            )
            self.changed.notify_all()


@pytest.fixture
def recorder() -> PlayedRecorder:
    return PlayedRecorder()


def took(act: Callable[[], object]) -> float:
    begin = time.monotonic()
    act()
    return time.monotonic() - begin


def test_who_asks_when_he_is_asked_has_news_at_once(recorder: Any) -> None:
    News(recorder, CLAIMS, lambda: recorder.query(RATE), shows=True).wait()
    assert len(recorder.records) == 2  # what he usually asks, and that again


def test_who_never_asks_is_given_his_time(recorder: Any) -> None:
    assert took(News(recorder, CLAIMS, lambda: None, shows=True).wait) >= STALENESS
    assert took(News(recorder, CLAIMS, None, shows=True).wait) >= STALENESS


def test_who_asks_for_several_things_has_news_once_all_are_answered(recorder: Any) -> None:
    recorder.query(RATE)
    recorder.query("up")
    asked = iter([RATE, RATE, RATE, "up"])
    News(recorder, CLAIMS, lambda: recorder.query(next(asked)), shows=True).wait()
    assert next(asked, None) is None
    assert len(recorder.records) == 6


def test_an_answer_to_what_was_asked_before_is_no_news(recorder: Any) -> None:
    recorder.query(RATE)
    # Each was asked before the wait began.
    news = News(recorder, CLAIMS, lambda: recorder.query(RATE, seconds=10.0), shows=True)
    assert took(news.wait) >= STALENESS


def test_who_caches_has_no_news_at_once(recorder: Any) -> None:
    last = 0.0

    def nudge() -> None:
        nonlocal last
        if time.monotonic() - last >= REFRESH:
            last = time.monotonic()
            recorder.query(RATE)

    assert not News(recorder, CLAIMS, nudge, shows=True).come_at_once()


def test_of_recording_rules_nobody_has_news_at_once(recorder: Any) -> None:
    claims = NetworkClaims(
        "m", "receive", window=2, resolution=0.1, refresh=REFRESH, rules=({"record": "a", "expr": "b"},)
    )
    assert took(News(recorder, claims, lambda: recorder.query(RATE), shows=True).wait) >= claims.staleness


def test_without_a_claimed_refresh_nothing_is_waited_for(recorder: Any) -> None:
    claims = NetworkClaims("m", "receive", window=2, resolution=0.1)
    asked: list[None] = []
    News(recorder, claims, lambda: asked.append(None), shows=True).wait()
    assert not asked


@pytest.mark.parametrize(
    ("text", "path", "sees_a_window"),
    [
        ("/federate", "/federate", True),
        ("sum by (node) (m)", "/api/v1/query", True),
        ("m", "/api/v1/query_range", False),
        ("m - m offset 2s", "/api/v1/query", False),
        (RATE, "/api/v1/query", False),
    ],
)
def test_who_asks_for_no_past_has_news_once_he_has_seen_a_window(
    recorder: Any, text: str, path: str, *, sees_a_window: bool
) -> None:
    claims = NetworkClaims("m", "receive", window=0.5, resolution=0.1, refresh=0.1)
    waited = took(News(recorder, claims, lambda: recorder.query(text, path=path), shows=True).wait)
    assert (waited >= claims.look_back) is sees_a_window
