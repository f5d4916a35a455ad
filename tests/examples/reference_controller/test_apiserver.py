"""The reference controller and the apiserver: its watches, its writes, and the complete program."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes import client

from schedproof.foundation.deadlines import CANDIDATE_READY, CANDIDATE_STOP
from schedproof.foundation.errors import SchedproofError
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.waiting import NotYet, Watched, wait_for

from ...fake_apiserver.scripted import CUT, GONE, Apiserver
from .worlds import FOLDER, Manifest, modules, namespace, node, pod

Outcome = modules.binding.Outcome
Pod = modules.pods.Pod


@pytest.fixture
def apiserver() -> Iterator[Apiserver]:
    with contextlib.closing(Apiserver()) as server:
        yield server


@pytest.fixture
def api(apiserver: Apiserver) -> client.CoreV1Api:
    configuration = client.Configuration(host=apiserver.url)
    configuration.retries = False
    configuration.proxy = None
    return client.CoreV1Api(client.ApiClient(configuration))


class Over(BaseException):
    """Ends a watcher, which would otherwise run until the process ends."""


def eventually(condition: Callable[[], Any], what: str, *watching: Watched) -> None:
    def probe() -> None:
        if not condition():
            raise NotYet("it does not hold")

    wait_for(probe, CANDIDATE_READY, what=what, watching=watching)


class TestWatching:
    @pytest.fixture
    def inbox(self, apiserver: Apiserver, api: client.CoreV1Api) -> Iterator[queue.SimpleQueue[Any]]:
        """The updates of a watcher of pods, after its first list."""

        def function(**more: Any) -> Any:
            if apiserver.over:
                raise Over
            return api.list_pod_for_all_namespaces(**more)

        apiserver.objects["pods"] = [pod(uid="listed")]
        inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def watch() -> None:
            with contextlib.suppress(Over):
                modules.watching.Watcher("pods", function, inbox).run()

        watcher = threading.Thread(target=watch)
        watcher.start()
        listing = inbox.get(timeout=30)
        assert [manifest["metadata"]["uid"] for manifest in listing.manifests] == ["listed"]
        eventually(lambda: apiserver.watches("pods") == 1, "a watch")
        yield inbox
        apiserver.over = True
        apiserver.end()
        watcher.join()

    def versions(self, apiserver: Apiserver) -> list[str]:
        """The resourceVersion at which each watch began."""
        return [path.partition("resourceVersion=")[2].partition("&")[0] for path, _ in apiserver.seen("GET", "watch=")]

    def test_a_watcher_lists_and_then_watches(self, apiserver: Apiserver, inbox: queue.SimpleQueue[Any]) -> None:
        for what in ("ADDED", "MODIFIED", "DELETED"):
            apiserver.send("pods", what, pod(uid=what))
            update = inbox.get(timeout=30)
            assert (update.kind, update.manifest["metadata"]["uid"], update.gone) == ("pods", what, what == "DELETED")
        assert self.versions(apiserver) == ["100"]

    @pytest.mark.parametrize("kind", ["ADDED", "BOOKMARK"])
    @pytest.mark.usefixtures("inbox")
    def test_a_broken_watch_is_resumed_at_its_last_resource_version(self, apiserver: Apiserver, kind: str) -> None:
        apiserver.send("pods", kind, pod())
        apiserver.end(CUT)
        eventually(lambda: self.versions(apiserver) == ["100", "101"], "the watch to be resumed")
        assert len(apiserver.seen("GET", "/api/v1/pods")) == 3, "one list, two watches"

    def test_a_watch_whose_resource_version_is_gone_lists_again(
        self, apiserver: Apiserver, inbox: queue.SimpleQueue[Any]
    ) -> None:
        apiserver.objects["pods"] = [pod(uid="new")]
        apiserver.end(GONE)
        assert [manifest["metadata"]["uid"] for manifest in inbox.get(timeout=30).manifests] == ["new"]

    def test_a_watch_request_that_is_refused_with_410_lists_again(
        self, apiserver: Apiserver, inbox: queue.SimpleQueue[Any]
    ) -> None:
        apiserver.objects["pods"] = [pod(uid="new")]
        apiserver.reads = [410]
        apiserver.end(CUT)
        assert [manifest["metadata"]["uid"] for manifest in inbox.get(timeout=30).manifests] == ["new"]

    def test_a_watcher_continues_after_errors_and_closed_connections(
        self, apiserver: Apiserver, inbox: queue.SimpleQueue[Any]
    ) -> None:
        apiserver.reads = [500, 0, 429]
        apiserver.end(CUT)
        eventually(lambda: not apiserver.reads and apiserver.watches("pods") == 1, "a watch after three failures")
        apiserver.send("pods", "ADDED", pod(uid="later"))
        assert inbox.get(timeout=30).manifest["metadata"]["uid"] == "later"

    @pytest.mark.usefixtures("inbox")
    def test_pauses_of_a_failing_watcher_grow(self, apiserver: Apiserver, monkeypatch: pytest.MonkeyPatch) -> None:
        pauses: list[float] = []
        monkeypatch.setattr(modules.watching, "time", SimpleNamespace(sleep=pauses.append, monotonic=time.monotonic))
        monkeypatch.setattr(modules.watching, "random", SimpleNamespace(uniform=lambda _low, high: high))
        apiserver.reads = [503] * 9
        apiserver.end(CUT)
        eventually(lambda: not apiserver.reads and apiserver.watches("pods") == 1, "a watch after nine failures")
        # The watch that was cut had lived for a moment, or for long enough to be resumed at once.
        grown = [pause for pause in pauses if pause]
        assert len(grown) >= 9
        assert grown == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0][: len(grown)]
        apiserver.close()  # while it does not really sleep


class TestWriting:
    CANDIDATE = pod("web", uid="uid-1")

    def test_a_binding_has_the_pod_its_uid_and_the_node(self, apiserver: Apiserver, api: client.CoreV1Api) -> None:
        assert modules.binding.Binder(api).bind(Pod(self.CANDIDATE), "node-1") == (Outcome.BOUND, "")
        ((path, body),) = apiserver.seen("POST")
        assert path == "/api/v1/namespaces/default/pods/web/binding"
        assert body["metadata"] == {"name": "web", "namespace": "default", "uid": "uid-1"}
        assert body["target"] == {"apiVersion": "v1", "kind": "Node", "name": "node-1"}

    @pytest.mark.parametrize(
        ("status", "outcome"),
        [
            (400, Outcome.REFUSED), (403, Outcome.REFUSED), (404, Outcome.REFUSED), (409, Outcome.REFUSED),
            (429, Outcome.REFUSED), (408, Outcome.UNKNOWN), (500, Outcome.UNKNOWN), (504, Outcome.UNKNOWN),
            (0, Outcome.UNKNOWN),
        ],
    )  # fmt: skip
    def test_a_binding_is_sent_once_whatever_its_response(
        self, apiserver: Apiserver, api: client.CoreV1Api, status: int, outcome: Any
    ) -> None:
        apiserver.writes = [status]
        ended, error = modules.binding.Binder(api).bind(Pod(self.CANDIDATE), "node-1")
        assert (ended, bool(error), len(apiserver.seen("POST"))) == (outcome, True, 1)
        if status:
            assert error == f"{status} as ordered"

    def test_reading_a_pod_returns_it_unless_it_was_deleted_or_recreated(
        self, apiserver: Apiserver, api: client.CoreV1Api
    ) -> None:
        binder = modules.binding.Binder(api)
        assert binder.look(Pod(self.CANDIDATE)) is None
        apiserver.objects["pods"] = [self.CANDIDATE]
        assert binder.look(Pod(self.CANDIDATE)) == self.CANDIDATE
        apiserver.objects["pods"] = [pod("web", uid="uid-2")]
        assert binder.look(Pod(self.CANDIDATE)) is None
        apiserver.reads = [500]
        with pytest.raises(modules.watching.ERRORS):
            binder.look(Pod(self.CANDIDATE))

    def test_the_condition_is_patched_with_the_uid_and_resource_version_of_the_pod(
        self, apiserver: Apiserver, api: client.CoreV1Api
    ) -> None:
        assert modules.binding.Binder(api).explain(Pod(self.CANDIDATE), "Unschedulable", "why") is True
        ((path, body),) = apiserver.seen("PATCH")
        assert path == "/api/v1/namespaces/default/pods/web/status"
        assert body["type"] == "application/strategic-merge-patch+json"
        version = self.CANDIDATE["metadata"]["resourceVersion"]
        assert body["metadata"] == {"uid": "uid-1", "resourceVersion": version}
        (condition,) = body["status"]["conditions"]
        assert condition.pop("lastTransitionTime").endswith("Z")
        assert condition == {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "why"}
        apiserver.writes = [409]
        assert modules.binding.Binder(api).explain(Pod(self.CANDIDATE), "Unschedulable", "why") is False

    def test_an_event_refers_to_the_pod(self, apiserver: Apiserver, api: client.CoreV1Api) -> None:
        events = modules.events.Events(api, "own")
        events.tell(Pod(self.CANDIDATE), "Warning", "FailedScheduling", "why")
        events.start()
        eventually(lambda: apiserver.seen("POST", "/events"), "the event")
        ((path, body),) = apiserver.seen("POST")
        assert path == "/api/v1/namespaces/default/events"
        assert body["involvedObject"]["uid"] == "uid-1"
        assert (body["type"], body["reason"], body["message"]) == ("Warning", "FailedScheduling", "why")


class Program:
    """controller.py, started with the command of candidate.yaml."""

    def __init__(self, apiserver: Apiserver, folder: Path) -> None:
        # A port of the kernel's choice could be given to another test before the program listens on it.
        self._ports = Ports()
        self.port = self._ports.reserve()
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1", "kind": "Config", "current-context": "c",
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                    "clusters": [{"name": "c", "cluster": {"server": apiserver.url}}],
                    "users": [{"name": "u", "user": {"token": "secret"}}],
                }
            )
        )  # fmt: skip
        self._log = folder / "log"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable, str(FOLDER / "controller.py"), "--scheduler-name=own", f"--kubeconfig={kubeconfig}",
                    f"--listen=127.0.0.1:{self.port}", "--prometheus=http://127.0.0.1:1", "--device=eth0",
                ],
                stderr=log,
                # A request for loopback that is sent to a proxy gets no response.
                env={"http_proxy": "http://127.0.0.1:2", "HTTPS_PROXY": "http://127.0.0.1:2"},
            )  # fmt: skip

    def health(self) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/healthz")
                return connection.getresponse().status
            except OSError:
                return 0

    def exit_error(self) -> SchedproofError | None:
        """None while it runs, for `wait_for`."""
        if self.process.poll() is None:
            return None
        return SchedproofError(f"the program ended with {self.process.returncode}:\n{self._log.read_text()}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._ports.close()


class TestProgram:
    def test_the_program_becomes_healthy_binds_and_ends_with_0_on_sigterm(
        self, apiserver: Apiserver, tmp_path: Path
    ) -> None:
        """It is unhealthy until all is listed; it binds without Prometheus and the proxy; SIGTERM ends it with 0."""
        waiting = pod("web", uid="uid-1")
        apiserver.objects = {"pods": [waiting], "nodes": [node("a"), node("b")], "namespaces": [namespace("default")]}
        apiserver.reads = [500] * 3
        with contextlib.closing(Program(apiserver, tmp_path)) as program:
            eventually(lambda: program.health() == 503 or not apiserver.reads, "it to serve", program)
            eventually(lambda: program.health() == 200, "it to be healthy", program)
            eventually(lambda: apiserver.seen("POST", "/binding"), "a binding", program)
            eventually(lambda: apiserver.seen("POST", "/events"), "an event", program)
            program.process.send_signal(signal.SIGTERM)
            assert program.process.wait(CANDIDATE_STOP.seconds) == 0
        assert len(apiserver.seen("POST", "/binding")) == 1

    def test_the_program_writes_nothing_more_for_a_pod_that_stays_unschedulable(
        self, apiserver: Apiserver, tmp_path: Path
    ) -> None:
        """One condition and one event; then a sentinel is bound, and nothing else was written."""
        large: Manifest = pod("large", uid="uid-1", requests={"cpu": "100"})
        apiserver.objects = {"pods": [large], "nodes": [node("a")], "namespaces": []}
        with contextlib.closing(Program(apiserver, tmp_path)) as program:
            eventually(lambda: apiserver.seen("PATCH"), "a condition", program)
            assert program.process.poll() is None
            for number in range(5):
                apiserver.send("pods", "ADDED", pod(f"sentinel-{number}"))
            eventually(lambda: len(apiserver.seen("POST", "/binding")) == 5, "the sentinels", program)
        assert len(apiserver.seen("PATCH")) == 1

    @pytest.mark.parametrize(
        ("argument", "message"),
        [
            ("--window=30", "expected a duration such as 30s"),
            ("--window=0s", "expected a duration such as 30s"),
            ("--resolution=10", "expected a percentage"),
            ("--prometheus=prometheus:9090", "expected http://"),
            ("--device=", "expected the name of a device"),
            ("--listen=127.0.0.1", "expected HOST:PORT"),
            ("--on-missing=ignore", "invalid choice"),
            ("--kubeconfig=/nowhere", "no access to a cluster"),
        ],
    )
    def test_wrong_arguments_exit_with_2_and_a_reason(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argument: str, message: str
    ) -> None:
        monkeypatch.setattr(modules.controller.signal, "signal", lambda *_: None)
        monkeypatch.setattr(modules.controller.threading, "excepthook", modules.controller.threading.excepthook)
        right = ["--scheduler-name=own", "--prometheus=http://p:9090", "--device=eth0"]
        with pytest.raises(SystemExit) as ended:
            modules.controller.main([*right, argument])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err

    @pytest.mark.parametrize("text", ["2s", "30s", "1m30s", "250ms", "1h"])
    def test_windows_are_durations_of_prometheus(self, text: str) -> None:
        assert modules.controller._duration(text) == text
