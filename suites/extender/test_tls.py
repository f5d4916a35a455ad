"""extender: which clients it answers, where it is configured with HTTPS."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case


@pytest.mark.clause("extender/tls")
def test_tls(case: Case) -> None:
    """A pod; and the same question as kube-scheduler asks it, over plain HTTP, and without a client's certificate."""
    pod = case.pod(cpu="100m")
    case.expect_bound([pod])
    case.extender.ask_by_other_transports(pod)
