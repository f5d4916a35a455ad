"""Replaces the tokens in the credential files of a candidate's processes, and ends the previous tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from schedproof.clusters.api import Manifest
from schedproof.deploy.accounts import Accounts
from schedproof.foundation.deadlines import TOKEN_READ, TOKEN_REFUSED
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.acts import AccountTokens, TokenEvent
from schedproof.history.observations import ApiRequest
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations

_BETWEEN = 5.0
"""Seconds between two turns. Tokens are sent with requests, so there must be some requests."""
_A_MINUTE = 13
"""Turns in a little more than a minute: a client that reads the file again each minute has done so by then."""


class TokenRotation:
    """The tokens of a candidate whose processes run where the harness writes their credential files."""

    def __init__(self, context: Context, expect: Expectations, accounts: Accounts) -> None:
        self._context, self._expect, self._accounts = context, expect, accounts
        self._recorder = context.recorder
        self._secret: Manifest | None = None
        self._before: tuple[Sequence[str], Sequence[str]] = (), ()
        """The tokens that were replaced, and their ids."""

    def are_used(self) -> bool:
        """Whether any request of the candidate has carried a token that is in the files now."""
        self._note("found", self._accounts.credentials)
        return self._used(self._accounts.credentials)

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """A context in which processes that start get tokens that `end` invalidates."""
        api, namespace = self._context.api, self._context.trial.cluster.namespace
        name = f"{self._context.prefix}-{self._context.trial.candidate.name}"
        self._secret = api.create("secrets", {"metadata": {"name": name}}, namespace)
        self._accounts.bound_to = self._secret
        try:
            yield
        finally:
            self._accounts.bound_to = None
            self._delete_secret()

    def replace(self) -> None:
        """Put new tokens into the files. The previous tokens stay valid for now, as when a kubelet replaces them."""
        self._note("found", self._accounts.credentials)
        self._before = self._accounts.tokens, self._accounts.credentials
        self._accounts.replace_tokens()
        self._note("replaced", self._accounts.credentials)

    def turns(self) -> Iterator[bool]:
        """Yield every few seconds, until a request carries a new token or the time to read the file again is over.

        In each turn the caller lets the candidate make a request. The value is True at the end of each minute; the
        caller then ends the candidate's connections, so that watches, too, have to be started with the new token.
        """
        for turn in range(1, int(TOKEN_READ.seconds / _BETWEEN) + 1):
            yield turn % _A_MINUTE == 0
            if self._used(self._accounts.credentials):
                return
            self._context.trial.usable_time.let_pass(_BETWEEN)

    def end(self) -> None:
        """End the previous tokens, and wait until the apiserver refuses them."""
        tokens, credentials = self._before
        self._delete_secret()

        def refused() -> None:
            if any(map(self._context.api.accepts, tokens)):
                raise NotYet("the apiserver still accepts a token that has ended")

        wait_for(refused, TOKEN_REFUSED, what="tokens to be refused", watching=(self._recorder,), poll=0.5)
        self._note("refused", credentials)

    def await_use(self) -> None:
        """Give the candidate time to make a request that carries a new token. Such a request need not be due."""

        def used() -> None:
            if not self._used(self._accounts.credentials):
                raise NotYet("no request carries a new token")

        self._expect.patiently(used, self._context.deadlines.requeue, "a request that carries a new token")

    def _used(self, credentials: Sequence[str]) -> bool:
        self._recorder.catch_up()
        requests = (record for record in self._recorder.records if isinstance(record, ApiRequest))
        return any(request.credential in credentials for request in requests)

    def _note(self, event: TokenEvent, credentials: Sequence[str]) -> None:
        self._recorder.add(AccountTokens(case=self._context.clause, event=event, credentials=list(credentials)))

    def _delete_secret(self) -> None:
        if self._secret is not None:
            metadata = self._secret["metadata"]
            self._context.api.delete_if_there("secrets", metadata["name"], metadata["namespace"])
            self._secret = None
