"""extender: which clients it answers, if it is configured with HTTPS."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case


@pytest.mark.clause("extender/tls")
def test_tls(case: Case) -> None:
    """A pod is bound; its request is repeated over plain HTTP, and over HTTPS without a client certificate."""
    pod = case.pod(cpu="100m")
    case.expect_bound([pod])
    case.extender.ask_by_other_transports(pod)
