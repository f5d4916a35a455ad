"""The extender surface: calls over HTTP like kube-scheduler's, and answers taken unchanged."""

from __future__ import annotations

import dataclasses
import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from schedproof.candidate.kinds import ExtenderConfig
from schedproof.normalization.answer import Answer, Readings
from schedproof.normalization.surfaces.extender import ExtenderSurface

POD = {"metadata": {"name": "asked", "namespace": "mine"}, "spec": {"schedulerName": "quiet"}}
NODES = {name: {"metadata": {"name": name, "labels": {"of": name}}} for name in ("a", "b", "c")}
READINGS: Readings = (("b", 2.0), ("a", 1.0))
SCORED = [{"Host": "b", "Score": 9}, {"Host": "a", "Score": 10}]


class Extender(ThreadingHTTPServer):
    """An extender that answers each verb with (status, body) of `answers`; None: closes the connection without a
    response.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, tuple[int, bytes] | None] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.ports: list[int] = []
        """Client port of each request, which identifies its connection."""
        self.keeps = False
        """Whether the server keeps connections open."""
        self.over = threading.Event()

    def will_answer(self, verb: str, answer: object, status: int = 200) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.answers[f"/{verb}"] = (status, body)


class _Handler(BaseHTTPRequestHandler):
    server: Extender

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, json.loads(body)))
        self.server.ports.append(self.client_address[1])
        answer = self.server.answers.get(self.path, (404, b"404 page not found"))
        if answer is None:
            self.close_connection = True
            return
        if answer[0] == 0:
            self.server.over.wait()
            return
        if self.server.keeps:
            self.protocol_version = "HTTP/1.1"
            self.close_connection = False
        self.send_response_only(answer[0])
        if self.server.keeps:
            self.send_header("Content-Length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    def log_message(self, *_: Any) -> None:
        pass


@dataclasses.dataclass
class FakeLife:
    """A candidate that lives unless `end` is set; then `watch_end` returns it."""

    end: str = ""
    revived: int = 0

    def revive(self) -> None:
        self.revived += 1

    def last_words(self) -> str:
        return ""

    def watch_end(self) -> str:
        return self.end


@pytest.fixture
def extender() -> Iterator[Extender]:
    server = Extender()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


class SurfaceUnderTest:
    """A surface for the extender, and the objects that it was made of."""

    def __init__(self, extender: Extender, **config: Any) -> None:
        self.life = FakeLife()
        self.scripted: list[Readings] = []
        settings = {"prioritize_verb": "prioritize", "node_cache_capable": True, **config}
        self.surface = ExtenderSurface(
            lambda seconds: http.client.HTTPConnection("127.0.0.1", extender.server_address[1], timeout=seconds),
            ExtenderConfig(**settings), nodes=NODES, pod=POD, script=self.scripted.append, life=self.life,
        )  # fmt: skip

    def ask(self) -> Answer:
        return self.surface.ask(READINGS)


def test_scores_are_those_of_the_answer(extender: Extender) -> None:
    tested = SurfaceUnderTest(extender)
    extender.will_answer("prioritize", SCORED)
    assert tested.ask() == Answer(scores=(("b", 9), ("a", 10)))
    assert tested.scripted == [READINGS]
    assert (tested.surface.name, tested.surface.fewest, tested.surface.most) == ("extender", 1, 3)
    assert tested.surface.nodes == ("a", "b", "c")


def test_all_calls_use_one_connection_until_the_surface_is_closed(extender: Extender) -> None:
    extender.keeps = True
    tested = SurfaceUnderTest(extender, filter_verb="filter")
    extender.will_answer("filter", {"NodeNames": ["b", "a"]})
    extender.will_answer("prioritize", SCORED)
    for _ in range(3):
        assert tested.ask().scores
    assert len(set(extender.ports)) == 1
    tested.surface.close()
    assert tested.ask().scores
    assert len(set(extender.ports)) == 2
    assert tested.surface.waited > 0
    tested.surface.close()


def test_extender_that_exits_on_a_kept_connection_has_crashed(extender: Extender) -> None:
    extender.keeps = True
    tested = SurfaceUnderTest(extender)
    extender.will_answer("prioritize", SCORED)
    assert tested.ask().scores
    extender.answers["/prioritize"] = None
    tested.life.end = "ZeroDivisionError: division by zero"
    assert tested.ask() == Answer(crash="ZeroDivisionError: division by zero")
    tested.surface.close()


def test_names_are_sent_to_an_extender_with_a_node_cache(extender: Extender) -> None:
    tested = SurfaceUnderTest(extender, path_prefix="/v1")
    extender.will_answer("v1/prioritize", SCORED)
    tested.ask()
    path, body = extender.asked[0]
    assert path == "/v1/prioritize"
    assert body["NodeNames"] == ["b", "a"]
    assert body["Nodes"] is None
    assert body["Pod"]["spec"] == POD["spec"]


def test_whole_nodes_are_sent_to_an_extender_without_a_node_cache(extender: Extender) -> None:
    tested = SurfaceUnderTest(extender, node_cache_capable=False)
    extender.will_answer("prioritize", SCORED)
    tested.ask()
    _, body = extender.asked[0]
    assert body["NodeNames"] is None
    assert body["Nodes"]["items"] == [NODES["b"], NODES["a"]]


def test_each_question_has_its_own_pod(extender: Extender) -> None:
    tested = SurfaceUnderTest(extender, filter_verb="filter")
    extender.will_answer("filter", {"NodeNames": ["b", "a"]})
    extender.will_answer("prioritize", SCORED)
    tested.ask()
    tested.ask()
    uids = [body["Pod"]["metadata"]["uid"] for _, body in extender.asked]
    names = {body["Pod"]["metadata"]["name"] for _, body in extender.asked}
    assert uids[0] == uids[1] != uids[2] == uids[3]
    assert len(names) == 2
    assert "uid" not in POD["metadata"]


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        ([{"host": "b", "score": 0}, {"HOST": "a", "SCORE": 3}], (("b", 0), ("a", 3))),
        ([{"Host": "b", "Score": 9.5}, {"Host": "a", "Score": 10.0}], (("b", 9.5), ("a", 10.0))),
        # kube-scheduler scores a node that is left out as 0.
        ([{"Host": "b", "Score": 1}, {"Host": "b", "Score": 2}], (("b", 1), ("b", 2), ("a", 0))),
        ([{"Host": "stranger", "Score": -(2**70)}], (("stranger", -(2**70)), ("b", 0), ("a", 0))),
        ([], (("b", 0), ("a", 0))),
        (None, (("b", 0), ("a", 0))),  # Go's empty list
    ],
)
def test_unusual_scores_are_kept_unchanged(
    extender: Extender, answer: object, scores: tuple[tuple[str, float], ...]
) -> None:
    extender.will_answer("prioritize", answer)
    found = SurfaceUnderTest(extender).ask()
    assert found == Answer(scores=scores)
    assert [type(score) for _, score in found.scores] == [type(score) for _, score in scores]


def test_score_that_is_not_valid_json_is_refused(extender: Extender) -> None:
    """Python writes NaN, which Go's decoder does not parse."""
    extender.will_answer("prioritize", b'[{"Host": "a", "Score": NaN}]')
    answer = SurfaceUnderTest(extender).ask()
    assert not answer.scores
    assert "NaN" in answer.refusal


@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        ({"a": 10}, 200, 'no list of hosts with scores: {"a": 10}'),
        (["a"], 200, "no list of hosts with scores"),
        ([{"Host": "a", "Score": "10"}], 200, "no host with a score: 'a', '10'"),
        ([{"Host": "a", "Score": True}], 200, "no host with a score: 'a', True"),
        ([{"Host": "a"}], 200, "no host with a score: 'a', None"),
        ([{"Score": 1}], 200, "no host with a score: None, 1"),
        (b"[{", 200, "this is not valid JSON: [{"),
        (b"division by zero\n", 500, "status 500: division by zero"),
        (SCORED, 404, "status 404"),
    ],
)
def test_unusable_answer_is_a_refusal(extender: Extender, answer: object, status: int, expected: str) -> None:
    extender.will_answer("prioritize", answer, status)
    found = SurfaceUnderTest(extender).ask()
    assert found == Answer(refusal=found.refusal)
    assert found.refusal.startswith("prioritize: ")
    assert expected in found.refusal


def test_nodes_rejected_by_the_filter_are_not_scored(extender: Extender) -> None:
    tested = SurfaceUnderTest(extender, filter_verb="filter")
    extender.will_answer("filter", {"NodeNames": ["b"], "FailedNodes": {"a": "no sample"}})
    extender.will_answer("prioritize", SCORED[:1])
    assert tested.ask() == Answer(scores=(("b", 9),), filtered=("a",))
    assert [body["NodeNames"] for _, body in extender.asked] == [["b", "a"], ["b"]]


def test_filter_answer_with_whole_nodes_is_read(extender: Extender) -> None:
    tested = SurfaceUnderTest(extender, filter_verb="filter", node_cache_capable=False)
    extender.will_answer("filter", {"nodes": {"items": [NODES["a"]]}})
    extender.will_answer("prioritize", SCORED[1:])
    assert tested.ask() == Answer(scores=(("a", 10),), filtered=("b",))


@pytest.mark.parametrize("answer", [{"NodeNames": []}, {"NodeNames": None, "FailedNodes": {"a": "", "b": ""}}])
def test_prioritize_is_not_called_if_no_node_is_left(extender: Extender, answer: object) -> None:
    tested = SurfaceUnderTest(extender, filter_verb="filter")
    extender.will_answer("filter", answer)
    assert tested.ask() == Answer(filtered=("b", "a"))
    assert len(extender.asked) == 1


@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        ({"Error": "Prometheus is gone"}, 200, "filter: Prometheus is gone"),
        ({"NodeNames": ["a", "d"]}, 200, "filter: it lets d pass, which was not in the request"),
        (b"", 503, "filter: status 503"),
    ],
)
def test_failing_filter_is_a_refusal(extender: Extender, answer: object, status: int, expected: str) -> None:
    tested = SurfaceUnderTest(extender, filter_verb="filter")
    extender.will_answer("filter", answer, status)
    found = tested.ask()
    assert found.refusal.startswith(expected)
    assert not found.scores
    assert len(extender.asked) == 1


def test_closed_connection_of_a_living_extender_is_a_refusal(extender: Extender) -> None:
    extender.answers["/prioritize"] = None
    assert SurfaceUnderTest(extender).ask().refusal.startswith("prioritize: RemoteDisconnected")


def test_timeout_is_a_refusal(extender: Extender) -> None:
    extender.answers["/prioritize"] = (0, b"")
    assert SurfaceUnderTest(extender, http_timeout=0.05).ask() == Answer(refusal="prioritize: TimeoutError: timed out")


def test_extender_that_exits_has_crashed_and_is_restarted_for_the_next_question(extender: Extender) -> None:
    tested = SurfaceUnderTest(extender)
    extender.answers["/prioritize"] = None
    tested.life.end = "ZeroDivisionError: division by zero"
    assert tested.ask() == Answer(crash="ZeroDivisionError: division by zero")
    extender.will_answer("prioritize", SCORED)
    assert tested.ask().scores
    assert tested.life.revived == 2
