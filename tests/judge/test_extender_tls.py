"""extender/tls: calls over HTTPS, over plain HTTP, and without a client certificate."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.history.acts import TransportTried
from schedproof.judge.clauses.extender.tls import AS_CONFIGURED, PLAIN, WITHOUT_CERTIFICATE

from .histories import CLAIMS, EXTENDER, HistoryBuilder, told


def asked(
    configured: int = 200, plain: int = 0, without: int = 200, *, mutual: bool = False, https: bool = True
) -> HistoryBuilder:
    """Calls answered with these statuses; 0: not answered."""
    claims = dataclasses.replace(CLAIMS, features=("tls", "mutual-tls") if mutual else ("tls",))
    h = HistoryBuilder("extender/tls", claims=claims, extender={**EXTENDER, "enableHTTPS": https})
    h.pod("p")
    h.bind("p", "node-1")
    h.expect("p", "bound")
    for how, status in ((AS_CONFIGURED, configured), (PLAIN, plain), (WITHOUT_CERTIFICATE, without)):
        h.add(TransportTried(case=h.case, how=how, status=status, error="" if status else "reset"))
    return h


@pytest.mark.parametrize("refusal", [0, 400], ids=["dropped", "refused"])
def test_https_alone_passes(refusal: int) -> None:
    told(asked(plain=refusal).verdict(), "passed")
    told(asked(plain=refusal, without=refusal, mutual=True).verdict(), "passed")


def test_an_answer_over_plain_http_fails() -> None:
    told(asked(plain=200).verdict(), "failed", "insecure-call-answered")


def test_answer_without_a_client_certificate_fails_if_mutual_tls_is_claimed() -> None:
    told(asked(without=200, mutual=True).verdict(), "failed", "insecure-call-answered")
    told(asked(without=200).verdict(), "passed")


def test_no_answer_over_https_fails() -> None:
    told(asked(configured=0).verdict(), "failed", "call-unanswered")


def test_https_that_is_claimed_and_not_configured_fails() -> None:
    told(asked(https=False).verdict(), "failed", "not-configured")


def test_history_without_calls_is_invalid() -> None:
    claims = dataclasses.replace(CLAIMS, features=("tls",))
    h = HistoryBuilder("extender/tls", claims=claims, extender={**EXTENDER, "enableHTTPS": True})
    told(h.verdict(), "invalid", "not-tried")
