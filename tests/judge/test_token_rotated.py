"""`core/token-rotated`: a token is replaced in its file, and the one before ends."""

from __future__ import annotations

from schedproof.history.acts import AccountTokens

from .histories import HistoryBuilder, told

CLAUSE = "core/token-rotated"
OLD, NEW = "JTI=old", "JTI=new"


def found(*, used: bool = True) -> HistoryBuilder:
    """The candidate has started, and has bound a pod since."""
    h = HistoryBuilder(CLAUSE)
    h.request("list", "pods", "", credential=OLD if used else "JTI=the kubeconfig's")
    h.fence()
    h.add(AccountTokens(case=CLAUSE, event="found", credentials=[OLD]))
    return h


def replaced(*, used: bool = True, read: bool = True) -> HistoryBuilder:
    """A new token is in the file; the candidate may have used that by now."""
    h = found(used=used)
    h.add(AccountTokens(case=CLAUSE, event="replaced", credentials=[NEW]))
    h.pod("meanwhile-1")
    h.attempt("meanwhile-1", "node-1", **({"credential": NEW} if read else {}))
    h.place("meanwhile-1", "node-1")
    h.expect("meanwhile-1", "bound")
    return h


def refused(*, used: bool = True, read: bool = True) -> HistoryBuilder:
    """The old token is not valid any more, and a pod comes."""
    h = replaced(used=used, read=read)
    h.add(AccountTokens(case=CLAUSE, event="refused", credentials=[OLD]))
    h.pod("new-1")
    return h


def unauthorized(h: HistoryBuilder) -> None:
    h.attempt("new-1", "node-1", by="", code=401)


def test_a_candidate_that_reads_the_file_again_passes() -> None:
    h = refused()
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound")
    assert h.verdict().outcome == "passed"


def test_one_that_reads_it_once_a_request_is_refused_passes() -> None:
    h = refused(read=False)
    unauthorized(h)
    h.attempt("new-1", "node-1", credential=NEW)
    h.place("new-1", "node-1")
    h.expect("new-1", "bound")
    assert h.verdict().outcome == "passed"


def test_one_that_never_reads_it_again_fails() -> None:
    h = refused(read=False)
    unauthorized(h)
    h.expect("new-1", "bound")
    told(h.verdict(), "failed", "token-not-read-again", 1, 401)


def test_one_whose_scheduler_binds_all_the_same_fails_for_its_own_requests() -> None:
    """An extender's, of which kube-scheduler needs no answer."""
    h = refused(read=False)
    h.request("list", "nodes", "", by="", code=401)
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound")
    told(h.verdict(), "failed", "token-not-read-again", 1, 401)


def test_what_was_refused_before_does_not_count() -> None:
    h = replaced(read=False)
    h.request("list", "nodes", "", by="", code=401)
    h.add(AccountTokens(case=CLAUSE, event="refused", credentials=[OLD]))
    told(h.verdict(), "not-claimed", "not-applicable")


def test_one_that_reads_it_again_and_binds_nothing_more_fails() -> None:
    h = refused()
    h.expect("new-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")


def test_one_that_does_not_use_the_file_is_not_tried() -> None:
    told(found(used=False).verdict(), "not-claimed", "not-applicable")


def test_one_that_uses_it_at_its_start_alone_is_not_tried() -> None:
    h = refused(read=False)
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound")
    told(h.verdict(), "not-claimed", "not-applicable")


def test_before_a_token_ends_nothing_is_shown() -> None:
    told(replaced().verdict(), "invalid", "not-tried")


def test_one_that_binds_nothing_before_a_token_ends_fails_by_that() -> None:
    h = HistoryBuilder(CLAUSE)
    h.pod("first-1")
    h.expect("first-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")
