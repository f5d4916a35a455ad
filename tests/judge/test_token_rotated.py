"""`core/token-rotated`: the token file gets a new token, and the old token expires."""

from __future__ import annotations

from schedproof.history.acts import AccountTokens

from .histories import HistoryBuilder, told

CLAUSE = "core/token-rotated"
OLD, NEW = "JTI=old", "JTI=new"


def found(*, used: bool = True) -> HistoryBuilder:
    """The candidate has started with the old token, and a pod has been bound."""
    h = HistoryBuilder(CLAUSE)
    h.request("list", "pods", "", credential=OLD if used else "JTI=the kubeconfig's")
    h.fence()
    h.add(AccountTokens(case=CLAUSE, event="found", credentials=[OLD]))
    return h


def replaced(*, used: bool = True, read: bool = True) -> HistoryBuilder:
    """The file has a new token; `read`: whether the candidate uses it for the next pod."""
    h = found(used=used)
    h.add(AccountTokens(case=CLAUSE, event="replaced", credentials=[NEW]))
    h.pod("meanwhile-1")
    h.attempt("meanwhile-1", "node-1", **({"credential": NEW} if read else {}))
    h.place("meanwhile-1", "node-1")
    h.expect("meanwhile-1", "bound")
    return h


def refused(*, used: bool = True, read: bool = True) -> HistoryBuilder:
    """The old token is not valid any more, and a pod is created."""
    h = replaced(used=used, read=read)
    h.add(AccountTokens(case=CLAUSE, event="refused", credentials=[OLD]))
    h.pod("new-1")
    return h


def unauthorized(h: HistoryBuilder) -> None:
    h.attempt("new-1", "node-1", by="", code=401)


def test_candidate_that_reads_the_token_file_again_passes() -> None:
    h = refused()
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound")
    assert h.verdict().outcome == "passed"


def test_candidate_that_reads_the_token_file_after_a_401_passes() -> None:
    h = refused(read=False)
    unauthorized(h)
    h.attempt("new-1", "node-1", credential=NEW)
    h.place("new-1", "node-1")
    h.expect("new-1", "bound")
    assert h.verdict().outcome == "passed"


def test_candidate_that_never_reads_the_token_file_again_fails() -> None:
    h = refused(read=False)
    unauthorized(h)
    h.expect("new-1", "bound")
    told(h.verdict(), "failed", "token-not-read-again", 1, 401)


def test_unauthorized_requests_fail_even_if_pods_are_bound() -> None:
    """Such as an extender whose answers kube-scheduler does not need."""
    h = refused(read=False)
    h.request("list", "nodes", "", by="", code=401)
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound")
    told(h.verdict(), "failed", "token-not-read-again", 1, 401)


def test_requests_refused_before_the_token_expired_do_not_count() -> None:
    h = replaced(read=False)
    h.request("list", "nodes", "", by="", code=401)
    h.add(AccountTokens(case=CLAUSE, event="refused", credentials=[OLD]))
    told(h.verdict(), "not-claimed", "not-applicable")


def test_candidate_with_a_new_token_that_binds_no_pod_fails() -> None:
    h = refused()
    h.expect("new-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")


def test_candidate_that_does_not_use_the_token_file_is_not_claimed() -> None:
    told(found(used=False).verdict(), "not-claimed", "not-applicable")


def test_candidate_that_uses_the_token_only_at_its_start_is_not_claimed() -> None:
    h = refused(read=False)
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound")
    told(h.verdict(), "not-claimed", "not-applicable")


def test_history_without_an_expired_token_is_invalid() -> None:
    told(replaced().verdict(), "invalid", "not-tried")


def test_candidate_that_binds_nothing_before_the_rotation_fails() -> None:
    h = HistoryBuilder(CLAUSE)
    h.pod("first-1")
    h.expect("first-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")
