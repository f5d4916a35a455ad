"""An extender is asked over HTTP as kube-scheduler asks it, and its answers are taken as they are."""

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
    """Answers each verb with what `answers` has for it: (status, body); None hangs up without a word."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, tuple[int, bytes] | None] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.ports: list[int] = []
        """Of the client, by which connections are told apart; one for each question."""
        self.keeps = False
        """Whether it keeps connections."""
        self.over = threading.Event()

    def says(self, verb: str, answer: object, status: int = 200) -> None:
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
    """Lives, unless it is given an `end`: that is known once it is watched for."""

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


class Asked:
    """A surface, and what it was made of."""

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


def test_scores_are_those_that_were_answered(extender: Extender) -> None:
    asked = Asked(extender)
    extender.says("prioritize", SCORED)
    assert asked.ask() == Answer(scores=(("b", 9), ("a", 10)))
    assert asked.scripted == [READINGS]
    assert (asked.surface.name, asked.surface.fewest, asked.surface.most) == ("extender", 1, 3)
    assert asked.surface.nodes == ("a", "b", "c")


def test_all_questions_come_on_one_connection_until_the_surface_is_closed(extender: Extender) -> None:
    extender.keeps = True
    asked = Asked(extender, filter_verb="filter")
    extender.says("filter", {"NodeNames": ["b", "a"]})
    extender.says("prioritize", SCORED)
    for _ in range(3):
        assert asked.ask().scores
    assert len(set(extender.ports)) == 1
    asked.surface.close()
    assert asked.ask().scores
    assert len(set(extender.ports)) == 2
    assert asked.surface.waited > 0
    asked.surface.close()


def test_who_ends_over_a_question_on_a_kept_connection_has_crashed(extender: Extender) -> None:
    extender.keeps = True
    asked = Asked(extender)
    extender.says("prioritize", SCORED)
    assert asked.ask().scores
    extender.answers["/prioritize"] = None
    asked.life.end = "ZeroDivisionError: division by zero"
    assert asked.ask() == Answer(crash="ZeroDivisionError: division by zero")
    asked.surface.close()


def test_names_are_sent_to_whom_claims_to_know_the_nodes(extender: Extender) -> None:
    asked = Asked(extender, path_prefix="/v1")
    extender.says("v1/prioritize", SCORED)
    asked.ask()
    path, body = extender.asked[0]
    assert path == "/v1/prioritize"
    assert body["NodeNames"] == ["b", "a"]
    assert body["Nodes"] is None
    assert body["Pod"]["spec"] == POD["spec"]


def test_whole_nodes_are_sent_to_all_others(extender: Extender) -> None:
    asked = Asked(extender, node_cache_capable=False)
    extender.says("prioritize", SCORED)
    asked.ask()
    _, body = extender.asked[0]
    assert body["NodeNames"] is None
    assert body["Nodes"]["items"] == [NODES["b"], NODES["a"]]


def test_each_question_is_about_another_pod(extender: Extender) -> None:
    asked = Asked(extender, filter_verb="filter")
    extender.says("filter", {"NodeNames": ["b", "a"]})
    extender.says("prioritize", SCORED)
    asked.ask()
    asked.ask()
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
        # kube-scheduler takes a node that is left out for one with 0.
        ([{"Host": "b", "Score": 1}, {"Host": "b", "Score": 2}], (("b", 1), ("b", 2), ("a", 0))),
        ([{"Host": "stranger", "Score": -(2**70)}], (("stranger", -(2**70)), ("b", 0), ("a", 0))),
        ([], (("b", 0), ("a", 0))),
        (None, (("b", 0), ("a", 0))),  # Go's empty list
    ],
)
def test_nothing_is_made_better_than_it_is(
    extender: Extender, answer: object, scores: tuple[tuple[str, float], ...]
) -> None:
    extender.says("prioritize", answer)
    found = Asked(extender).ask()
    assert found == Answer(scores=scores)
    assert [type(score) for _, score in found.scores] == [type(score) for _, score in scores]


def test_a_score_that_json_does_not_have_is_refused(extender: Extender) -> None:
    """Python writes NaN; Go's decoder does not read it."""
    extender.says("prioritize", b'[{"Host": "a", "Score": NaN}]')
    answer = Asked(extender).ask()
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
def test_what_is_no_answer_is_a_refusal(extender: Extender, answer: object, status: int, expected: str) -> None:
    extender.says("prioritize", answer, status)
    found = Asked(extender).ask()
    assert found == Answer(refusal=found.refusal)
    assert found.refusal.startswith("prioritize: ")
    assert expected in found.refusal


def test_what_the_filter_refuses_is_not_scored(extender: Extender) -> None:
    asked = Asked(extender, filter_verb="filter")
    extender.says("filter", {"NodeNames": ["b"], "FailedNodes": {"a": "no sample"}})
    extender.says("prioritize", SCORED[:1])
    assert asked.ask() == Answer(scores=(("b", 9),), filtered=("a",))
    assert [body["NodeNames"] for _, body in extender.asked] == [["b", "a"], ["b"]]


def test_a_filter_of_whole_nodes_is_read_as_well(extender: Extender) -> None:
    asked = Asked(extender, filter_verb="filter", node_cache_capable=False)
    extender.says("filter", {"nodes": {"items": [NODES["a"]]}})
    extender.says("prioritize", SCORED[1:])
    assert asked.ask() == Answer(scores=(("a", 10),), filtered=("b",))


@pytest.mark.parametrize("answer", [{"NodeNames": []}, {"NodeNames": None, "FailedNodes": {"a": "", "b": ""}}])
def test_where_no_node_is_left_nobody_is_asked_for_scores(extender: Extender, answer: object) -> None:
    asked = Asked(extender, filter_verb="filter")
    extender.says("filter", answer)
    assert asked.ask() == Answer(filtered=("b", "a"))
    assert len(extender.asked) == 1


@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        ({"Error": "Prometheus is gone"}, 200, "filter: Prometheus is gone"),
        ({"NodeNames": ["a", "d"]}, 200, "filter: it lets d pass, which was not in the request"),
        (b"", 503, "filter: status 503"),
    ],
)
def test_a_filter_that_fails_is_a_refusal(extender: Extender, answer: object, status: int, expected: str) -> None:
    asked = Asked(extender, filter_verb="filter")
    extender.says("filter", answer, status)
    found = asked.ask()
    assert found.refusal.startswith(expected)
    assert not found.scores
    assert len(extender.asked) == 1


def test_who_hangs_up_and_lives_has_refused(extender: Extender) -> None:
    extender.answers["/prioritize"] = None
    assert Asked(extender).ask().refusal.startswith("prioritize: RemoteDisconnected")


def test_who_does_not_answer_in_time_has_refused(extender: Extender) -> None:
    extender.answers["/prioritize"] = (0, b"")
    assert Asked(extender, http_timeout=0.05).ask() == Answer(refusal="prioritize: TimeoutError: timed out")


def test_who_ends_over_a_question_has_crashed_and_is_started_again_for_the_next(extender: Extender) -> None:
    asked = Asked(extender)
    extender.answers["/prioritize"] = None
    asked.life.end = "ZeroDivisionError: division by zero"
    assert asked.ask() == Answer(crash="ZeroDivisionError: division by zero")
    extender.says("prioritize", SCORED)
    assert asked.ask().scores
    assert asked.life.revived == 2
