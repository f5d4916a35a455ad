"""The pytest plugins for pytest-xdist: each worker has its own cluster, the controller writes the report.

Workers try clauses on their own instances of the candidates, and send verdicts. The controller chooses the tests of
each worker (see `run.dispatch`), and merges the results of the instances.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import signal
from collections.abc import Generator, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from schedproof.candidate.descriptor.descriptor import learn_secrets
from schedproof.foundation.deadlines import WORKER_GONE
from schedproof.foundation.errors import HostError
from schedproof.foundation.processes.interrupts import interrupt, interrupt_by, is_importing
from schedproof.foundation.processes.sandbox_init import end_with_parent
from schedproof.judge.catalogue import BINDS, CATALOGUE
from schedproof.pytest_plugin.selection import candidate_of, clause_of
from schedproof.run.dispatch import Dispatcher, Task
from schedproof.run.durations import Durations
from schedproof.run.engine import Engine
from schedproof.run.events import Ended, Event, Judged
from schedproof.run.handed import WORKER_INPUT
from schedproof.run.instances import Instances, dump_result
from schedproof.run.request import RunRequest
from schedproof.run.session import Session

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

_KEY = "schedproof"
"""The key of pytest-xdist's workeroutput under which a worker sends its result."""
_JUDGED, _ENDED = "schedproof-judged", "schedproof-ended"
"""The properties of a test with which a worker sends events."""


def is_controller(config: pytest.Config) -> bool:
    """Whether this process distributes tests to workers."""
    return bool(config.getoption("numprocesses", default=None)) and not hasattr(config, "workerinput")


def sent_request(pickled: bytes) -> RunRequest:
    """Unpickle, in a worker, the controller's request, with a number for this worker's cluster."""
    request: RunRequest = pickle.loads(pickled)  # noqa: S301 - of the controller, which started this process
    for candidate in request.candidates:
        learn_secrets(candidate)
    return request


class Worker:
    """The plugin of a worker process."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._item: pytest.Item | None = None
        # The controller handles Ctrl-C and the end of a terminal, and ends its workers. However it ends, they end too.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        interrupt_by()
        for number in (signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, _interrupt)
        end_with_parent(signal.SIGTERM)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._item = item

    def send(self, event: Event) -> None:
        """Send an event to the controller, with the report of the current test."""
        if isinstance(event, Judged | Ended) and self._item is not None:
            name = _JUDGED if isinstance(event, Judged) else _ENDED
            self._item.user_properties.append((name, event.model_dump_json(by_alias=True, exclude_unset=True)))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Close the session and send its result, before the controller learns that this worker has finished.

        After an interrupt, pytest tears down the interrupted test in this hook, which needs the cluster. The wrapper of
        pytest-xdist, which tells the controller, is around this one.
        """
        try:
            return (yield)
        finally:
            self._session.close()
            session.config.workeroutput[_KEY] = dump_result(self._session.result)  # type: ignore[attr-defined]

    def pytest_unconfigure(self) -> None:
        self._session.close()


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not is_importing(frame):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    interrupt(number, frame)


class Controller:
    """The plugin of the controller process, which reports."""

    def __init__(self, engine: Engine, request: RunRequest, jobs: int) -> None:
        self._request = request
        self._engine = engine
        engine.result.jobs = jobs
        self._durations = Durations(engine.settings.effort)
        self._instances = Instances(engine.result)
        self._tests: dict[str, Task] = {}
        """By node id, in collected order."""
        self._workers: list[WorkerController] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, object, object]:
        """Collect in the controller too: workers only send node ids, without the tests' clauses and candidates."""
        session.perform_collect()
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Refuse benchmarks, before pytest-benchmark sees them: its warning at the end would replace this error."""
        if any(item.get_closest_marker("bench") for item in items):
            raise pytest.UsageError("benchmarks cannot run in parallel under pytest-xdist: remove -n")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        places = {
            (candidate_of(item).name, clause): index
            for index, item in enumerate(session.items)
            if (clause := clause_of(item))
        }
        self._tests = {item.nodeid: self._test(index, item, places) for index, item in enumerate(session.items)}

    def _test(self, index: int, item: pytest.Item, places: Mapping[tuple[str, str], int]) -> Task:
        if not clause_of(item):
            return Task(index, "", first=False, last=False, seconds=0.0)
        clause, candidate = CATALOGUE[clause_of(item)], candidate_of(item)
        return Task(
            index, candidate.name, first=clause.id == BINDS, last=clause.last,
            seconds=self._durations.expected(candidate, clause), fresh=clause.fresh,
            stands_on=frozenset(
                places[candidate.name, basic] for basic in clause.stands_on if (candidate.name, basic) in places
            ),
        )  # fmt: skip

    def pytest_configure_node(self, node: WorkerController) -> None:
        self._workers.append(node)
        settings = dataclasses.replace(self._engine.settings, cluster_number=len(self._workers))
        node.workerinput[WORKER_INPUT] = pickle.dumps(dataclasses.replace(self._request, settings=settings))

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(self) -> _Scheduling | None:
        """Return the scheduling of clauses; without clauses, the user's `--dist` applies."""
        if not any(test.candidate for test in self._tests.values()):
            return None
        self._dispatcher = Dispatcher(self._tests.values())
        return _Scheduling(self._dispatcher, len(self._workers))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self._tests.get(report.nodeid)  # with --dist loadgroup, xdist adds the group to the id
        if test is None:
            return
        sent = dict(report.user_properties)
        if report.when == "teardown":
            text = sent.get(_ENDED)
            ended = Ended.model_validate_json(str(text)) if text else Ended(binds_nothing=not report.passed)
            self._dispatcher.ended(test, binds_nothing=ended.binds_nothing, ignored=ended.ignored)
        elif (text := sent.get(_JUDGED)) is not None:
            judged = Judged.model_validate_json(str(text))
            self._instances.add(judged)
            if self._engine.settings.fail_fast and judged.verdict.did_not_pass:
                self._dispatcher.stop()
            self._engine.emit(judged)

    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        if error is not None:
            self._engine.result.fail(HostError(f"a worker process died: {error}"))
        elif (result := node.workeroutput.get(_KEY)) is not None:
            self._instances.add_result(result)
        if self._engine.result.error is not None:
            # Other workers would continue, but cannot replace the lost results.
            node.config.pluginmanager.getplugin("dsession").shouldstop = str(self._engine.result.error)

    def pytest_keyboard_interrupt(self) -> None:
        # A worker that is still starting has no channel: xdist ends it.
        running = [node for node in self._workers if hasattr(node, "channel") and not node.channel.isclosed()]
        for node in running:
            os.kill(node.gateway._rinfo().pid, signal.SIGTERM)
        for node in running:
            with contextlib.suppress(node.channel.RemoteError, EOFError):  # that it ended is all that matters
                node.channel.waitclose(WORKER_GONE.seconds)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._instances.finish()


class _Scheduling:
    """Assigns tests to workers, as an `xdist.scheduler.Scheduling`.

    A worker holds one test more than it runs: xdist starts a test only when the next test, or the end, is known.
    """

    def __init__(self, dispatcher: Dispatcher, workers: int) -> None:
        self._dispatcher = dispatcher
        self._expected = workers
        self._pending: dict[WorkerController, list[int]] = {}
        self._collected = 0

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        return self._collected >= self._expected

    @property
    def tests_finished(self) -> bool:
        return self.collection_is_completed and all(node.shutting_down for node in self._pending)

    @property
    def has_pending(self) -> bool:
        return any(self._pending.values())

    def add_node(self, node: WorkerController) -> None:
        self._pending[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:  # noqa: ARG002 - xdist's
        self._collected += 1

    def schedule(self) -> None:
        for node in self._pending:
            self._feed(node)

    def _feed(self, node: WorkerController) -> None:
        while len(self._pending[node]) < 2 and not node.shutting_down:
            index = self._dispatcher.next_index(node.gateway.id)
            if index is None and self._dispatcher.may_have_more(node.gateway.id):
                return
            if index is None:
                node.shutdown()
            else:
                self._pending[node].append(index)
                node.send_runtest_some([index])

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:  # noqa: ARG002
        self._pending[node].remove(item_index)
        self.schedule()

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        """Name no test as crashed: the death of a worker ends the run (see `pytest_testnodedown`)."""
        del self._pending[node]
        return None
