"""The tokens of a candidate's processes: when they are replaced, which end, and what is recorded of them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from schedproof.clusters.cluster import Identity
from schedproof.daemons.kubeconfig import IN_CLUSTER, write_kubeconfig
from schedproof.deploy.accounts import Accounts
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.history.acts import AccountTokens
from schedproof.history.observations import ApiRequest
from schedproof.stimulus.changes import token_rotation
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.token_rotation import TokenRotation

from .world import CLAUSE, SCHEDULER, TOO_LATE, World


class Process:
    """A process of the candidate, with its credential files."""

    def __init__(self, world: World, folder: Path) -> None:
        folder.mkdir()
        world.add_namespace(world.cluster.namespace)
        authority = folder / "ca.pem"
        authority.write_text("the authority")
        kubeconfig = write_kubeconfig(
            folder / "kubeconfig", server="https://127.0.0.1:6443", ca=authority, user=SCHEDULER, token="its"
        )
        self.accounts = Accounts(world.cluster.api, lambda: folder)
        self._kubeconfig = kubeconfig
        self._world = world
        world.attachment.accounts = self.accounts  # type: ignore[attr-defined]
        world.trial.usable_time = SimpleNamespace(let_pass=self._let_pass, begin=world.trial.usable_time.begin)
        self.passed = 0.0

    def _let_pass(self, seconds: float) -> None:
        self.passed += seconds

    def start(self, identity: str = SCHEDULER) -> None:
        files, _ = self.accounts.lay_out(Identity(identity, self._kubeconfig, self._world.cluster.namespace))
        self.file = files[IN_CLUSTER] / "token"

    @property
    def token(self) -> str:
        return self.file.read_text()

    def ask(self) -> None:
        """Make a request with the token that is in the file now."""
        (credential,) = self.accounts.credentials
        self._world.recorder.add(ApiRequest(
            line=1, received=0.0, completed=0.0, user=SCHEDULER, verb="get", resource="pods", namespace="", name="",
            code=200, credential=credential,
        ))  # fmt: skip


@pytest.fixture
def process(world: World, tmp_path: Path) -> Process:
    return Process(world, tmp_path / "process")


@pytest.fixture
def tokens(world: World, process: Process) -> TokenRotation:  # which it replaces
    return CandidateChanges(world.context, world.expect).tokens()


def noted(world: World) -> list[tuple[str, list[str]]]:
    assert {record.case for record in world.of(AccountTokens)} <= {CLAUSE}
    return [(record.event, record.credentials) for record in world.of(AccountTokens)]


def test_tokens_that_are_replaced_end_by_the_secret_that_they_are_bound_to(
    world: World, process: Process, tokens: TokenRotation
) -> None:
    api, before = world.cluster.api, world.server.snapshot()
    with tokens.bound():
        process.start()
        first = process.token
        tokens.replace()
        assert process.token != first
        assert (api.accepts(first), api.accepts(process.token)) == (True, True)
        tokens.end()
        assert (api.accepts(first), api.accepts(process.token)) == (False, True)
    assert world.server.snapshot() == before
    assert noted(world) == [("found", ["JTI=tested-1"]), ("replaced", ["JTI=tested-2"]), ("refused", ["JTI=tested-1"])]


@pytest.mark.parametrize("broken", [False, True])
def test_processes_that_start_afterwards_have_tokens_that_are_bound_to_nothing(
    world: World, process: Process, tokens: TokenRotation, broken: bool
) -> None:
    before = world.server.snapshot()
    with contextlib.suppress(ZeroDivisionError), tokens.bound():
        process.start()
        first = process.token
        if broken:
            raise ZeroDivisionError
    assert world.server.snapshot() == before
    assert not world.cluster.api.accepts(first)
    process.start()
    assert world.cluster.api.accepts(process.token)


def test_a_token_that_does_not_end_with_the_others_is_an_error(
    world: World, process: Process, tokens: TokenRotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = dataclasses.replace(token_rotation.TOKEN_REFUSED, seconds=0.0)
    monkeypatch.setattr(token_rotation, "TOKEN_REFUSED", never)
    process.start("bound to nothing")
    with tokens.bound():
        process.start()
        tokens.replace()
        with pytest.raises(DeadlineExceededError):
            tokens.end()
    assert [event for event, _ in noted(world)] == ["found", "replaced"]


def test_a_token_is_used_once_a_request_has_carried_it(process: Process, tokens: TokenRotation, world: World) -> None:
    process.start()
    assert not tokens.are_used()
    process.ask()
    assert tokens.are_used()
    tokens.replace()
    assert not tokens.are_used(), "the requests carried the previous token"
    assert [event for event, _ in noted(world)] == ["found", "found", "found", "replaced", "found"]


def test_turns_end_with_the_first_request_that_carries_a_new_token(process: Process, tokens: TokenRotation) -> None:
    process.start()
    process.ask()
    tokens.replace()
    taken = 0
    for _ in tokens.turns():
        taken += 1
        if taken == 3:
            process.ask()
    assert (taken, process.passed) == (3, 10.0)


def test_connections_end_each_minute_until_the_time_to_read_the_file_is_over(
    process: Process, tokens: TokenRotation
) -> None:
    process.start()
    turns = list(tokens.turns())
    assert (len(turns), process.passed) == (60, 300.0)
    assert [number for number, ends in enumerate(turns, 1) if ends] == [13, 26, 39, 52]


def test_a_request_that_need_not_be_due_is_awaited_for_a_while(
    make_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(timing=TOO_LATE)
    process = Process(world, tmp_path / "process")
    tokens = CandidateChanges(world.context, world.expect).tokens()
    in_time: list[bool] = []
    patiently = world.expect.patiently
    monkeypatch.setattr(world.expect, "patiently", lambda *wait: in_time.append(patiently(*wait)))
    process.start()
    tokens.await_use()
    process.ask()
    tokens.await_use()
    assert (in_time, world.expect.over) == ([False, True], False)
