"""Exchanges of the taps, as records of the history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

from schedproof.proxies.exchange import Exchange
from schedproof.proxies.exchanges import describe_extender_call, describe_query

QUERY = 'sum by (node) (rate(x{device="eth0"}[2s]))'
POD = {"metadata": {"namespace": "sp-tested", "name": "probe-1"}}
LISTED = {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}


CONFIG = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt", "bindVerb": "bind"}
BY_NAME = {**CONFIG, "nodeCacheCapable": True}


def called(
    request: Any, answer: Any, *, path: str = "/filter", config: Mapping[str, Any] = BY_NAME, **more: Any
) -> dict[str, Any]:
    """The record of a call; bytes are sent as they are, everything else as JSON."""
    body, answered = (value if isinstance(value, bytes) else json.dumps(value).encode() for value in (request, answer))
    fields: dict[str, Any] = {"status": 200, "seconds": 0.0123456789, **more}
    return describe_extender_call(Exchange("POST", path, body, answer=answered, **fields), config)


# -- Prometheus


@pytest.mark.parametrize(
    "exchange",
    [
        Exchange("GET", "/api/v1/query?" + urlencode({"query": QUERY, "time": 1}), b"", 200, b"{}", 0.25),
        Exchange("POST", "/api/v1/query", urlencode({"query": QUERY}).encode(), 200, b"{}", 0.25),
        Exchange("POST", "/api/v1/query?timeout=1s", urlencode({"query": QUERY}).encode(), 200, b"{}", 0.25),
    ],
    ids=["GET", "POST", "both"],
)
def test_a_query_is_recorded_by_its_expression_for_every_method_and_encoding(exchange: Exchange) -> None:
    assert describe_query(exchange) == {
        "request": QUERY, "path": "/api/v1/query", "status": 200, "answer": "{}", "seconds": 0.25,
        "bytes": len(exchange.path) + len(exchange.body) + 2,
    }  # fmt: skip


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("POST", b"\xff\x00{"), ("POST", b'{"query": "up"}')])
def test_a_request_that_is_not_a_query_is_recorded_by_its_path(method: str, body: bytes) -> None:
    record = describe_query(Exchange(method, "/-/ready?x=1", body, 503, b"", 0.0))
    assert (record["request"], record["path"], record["status"]) == ("/-/ready", "/-/ready", 503)


def test_a_long_answer_is_truncated_and_an_injected_fault_is_recorded() -> None:
    exchange = Exchange("GET", "/x", b"", 200, b"\xff" + b"n" * 5000, 1 / 3, fault="malformed")
    record = describe_query(exchange)
    assert record["answer"] == "\N{REPLACEMENT CHARACTER}" + "n" * 3999
    assert record["seconds"] == 0.333333
    assert record["fault"] == "malformed"
    assert "fault" not in describe_query(Exchange("GET", "/x", b"", 200, b"", 0.0))


# -- the extender


def test_a_filter_call_with_node_names_is_recorded() -> None:
    record = called(
        {"Pod": POD, "Nodes": None, "NodeNames": ["a", "b"]},
        {"NodeNames": ["b"], "FailedNodes": {"a": "loud"}, "Error": ""},
        path="/v1/filter",
    )
    answer = record.pop("answer")
    assert json.loads(answer)["NodeNames"] == ["b"]
    assert record.pop("bytes") > len("/v1/filter") + len(answer)
    assert record == {
        "request": "v1/filter", "by": "scheduler", "pod": "sp-tested/probe-1", "asked": ["a", "b"], "answered": ["b"],
        "mode": "names", "answered_mode": "names", "failed": {"a": "loud"}, "scores": None, "error": "",
        "json": True, "unreadable": "", "status": 200, "seconds": 0.012346,
    }  # fmt: skip


@pytest.mark.parametrize("fields", [("Pod", "Nodes", "Items"), ("pod", "nodes", "items"), ("POD", "nODES", "ITEMS")])
def test_a_filter_call_with_nodes_is_recorded_in_any_case_of_the_fields(fields: tuple[str, str, str]) -> None:
    """Go's decoder ignores the case of field names."""
    pod, nodes, items = fields
    whole = {nodes: {items: LISTED["items"]}}
    record = called({pod: POD, **whole}, {nodes: {items: LISTED["items"][1:]}})
    assert (record["pod"], record["mode"], record["answered_mode"]) == ("sp-tested/probe-1", "nodes", "nodes")
    assert (record["asked"], record["answered"]) == (["a", "b"], ["b"])


@pytest.mark.parametrize(
    ("answer", "answered", "mode"),
    [
        ({"NodeNames": []}, [], "names"),
        ({"NodeNames": None, "Nodes": LISTED}, ["a", "b"], "nodes"),
        ({"Nodes": {"items": []}}, [], "nodes"),
        ({"Nodes": {"items": None}}, [], "nodes"),
        ({"Nodes": LISTED, "NodeNames": ["b"]}, ["b"], "names"),
        ({"NodeNames": None, "Nodes": None}, None, ""),
        ({"FailedNodes": {"a": "loud"}}, None, ""),
        ({}, None, ""),
        ([], None, ""),
        (None, None, ""),
        (b"", None, ""),
    ],
)
def test_an_answer_without_a_node_list_differs_from_an_empty_list(answer: Any, answered: Any, mode: str) -> None:
    record = called({"Pod": POD, "NodeNames": ["a", "b"]}, answer)
    assert (record["answered"], record["answered_mode"]) == (answered, mode)


@pytest.mark.parametrize(
    ("answer", "answered", "mode"),
    [
        ({"Nodes": LISTED, "NodeNames": ["b"]}, ["a", "b"], "nodes"),
        ({"Nodes": None, "NodeNames": ["b"]}, None, ""),
    ],
)
def test_node_names_are_read_only_if_node_cache_capable_is_set(answer: Any, answered: Any, mode: str) -> None:
    record = called({"Pod": POD, "Nodes": LISTED}, answer, config=CONFIG)
    assert (record["answered"], record["answered_mode"]) == (answered, mode)


@pytest.mark.parametrize("path", ["/filter", "/bind"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [({"Error": "no"}, "no"), ({"Error": None}, ""), (b'{"Error": "no", "error": null}', "no"), (b"null", "")],
)
def test_the_error_of_an_answer_is_recorded(path: str, answer: Any, error: str) -> None:
    record = called({}, answer, path=path)
    assert (record["error"], record["unreadable"]) == (error, "")


def test_an_error_in_place_of_scores_is_recorded_as_unreadable() -> None:
    record = called({}, {"Error": "no"}, path="/prioritize")
    assert (record["error"], record["scores"]) == ("no", None)
    assert record["unreadable"]


READABLE = {
    "filter": [
        b'{"NodeNames": ["a"]}\n',
        b'{"NodeNames": ["a"]}{"NodeNames": 5} and more',
        b'{"NODENAMES": ["a"], "own": {"field": 1.5}}',
        b'{"NodeNames": ["b"], "nodenames": ["a"]}',
        b'  {"NodeNames": ["a"], "FailedNodes": {"b": "loud"}, "FailedAndUnresolvableNodes": null}',
        b'{"NodeNames": ["a"], "Nodes": {"metadata": {}, "items": [{"metadata": {"name": "a"}}]}}',
    ],
    "prioritize": [b"[]", b"null", b'[{"host": "a", "score": 3}, null]', b'[{"Host": "a", "Score": -0}]', b"[]]"],
    "preempt": [b"{}", b"null", b'{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 0}}}'],
    "bind": [b"{}", b"null", b'{"Error": ""}'],
}
UNREADABLE = {
    "filter": [
        b"", b"  ", b"<html>", b"\xef\xbb\xbf{}", b"[]", b"5", b'"a"', b'{"NodeNames": ["a"]', b'{"NodeNames": "a"}',
        b'{"NodeNames": [5]}', b'{"Nodes": []}', b'{"Nodes": {"items": {}}}', b'{"Nodes": {"items": ["a"]}}',
        b'{"Nodes": {"items": [{"metadata": {"name": 5}}]}}', b'{"Error": 5}', b'{"FailedNodes": ["a"]}',
        b'{"FailedNodes": {"a": 5}}', b'{"x": NaN}', '{"NodeNames": []}'.encode("utf-16"),
    ],
    "prioritize": [
        b"", b"{}", b'[{"Host": "a", "Score": NaN}]', b'[{"Host": "a", "Score": 5.0}]',
        b'[{"Host": "a", "Score": 1e1}]',
        b'[{"Host": "a", "Score": "5"}]', b'[{"Host": "a", "Score": true}]', b'[{"Host": 5, "Score": 5}]',
        b'[{"Host": "a", "Score": 9223372036854775808}]', b'["a"]', b"[" + b"1" * 5_000 + b"]",
    ],
    "preempt": [b"", b"[]", b'{"NodeNameToMetaVictims": []}', b'{"NodeNameToMetaVictims": {"a": {"Pods": ["u"]}}}',
        b'{"NodeNameToMetaVictims": {"a": {"NumPDBViolations": "1"}}}',
    ],
    "bind": [b"", b"[]", b"true", b"404 page not found", b'{"Error": false}'],
}  # fmt: skip


@pytest.mark.parametrize(
    "offered",
    [
        {
            "NodeNameToVictims": {
                "a": {"Pods": [{"metadata": {"name": "p", "uid": "u"}}], "NumPDBViolations": 2},
                "b": {"Pods": None, "NumPDBViolations": 0},
            }
        },
        {
            "NodeNameToVictims": None,
            "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 2}, "b": {}},
        },
    ],
    ids=["whole pods", "uids"],
)
def test_victims_are_recorded_by_their_uids(offered: dict[str, Any]) -> None:
    answer = {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "v"}, {}], "numPDBViolations": 1}, "b": {}}}
    record = called({"Pod": POD, **offered}, answer, path="/preempt")
    assert (record["victims_asked"], record["victims_answered"]) == ({"a": ["u"], "b": []}, {"a": ["v", ""], "b": []})
    assert (record["violations_asked"], record["violations_answered"]) == ({"a": 2}, {"a": 1})


@pytest.mark.parametrize(("verb", "answer"), [(verb, text) for verb, texts in READABLE.items() for text in texts])
def test_an_answer_that_go_decodes_is_readable(verb: str, answer: bytes) -> None:
    record = called({"Pod": POD, "NodeNames": ["a", "b"]}, answer, path=f"/{verb}")
    assert (record["unreadable"], record["json"]) == ("", True)
    if verb == "filter":
        assert record["answered"] == ["a"]


@pytest.mark.parametrize(("verb", "answer"), [(verb, text) for verb, texts in UNREADABLE.items() for text in texts])
def test_an_answer_that_go_refuses_is_unreadable(verb: str, answer: bytes) -> None:
    assert called({"Pod": POD, "NodeNames": ["a", "b"]}, answer, path=f"/{verb}")["unreadable"]


def test_scores_are_recorded_unchanged_and_in_order() -> None:
    answer = [{"Host": "b", "Score": 10}, {"host": "a", "score": 2.5}, {"Host": "b", "Score": "10"}, {"Host": "c"}, {}]
    record = called({"Pod": POD, "NodeNames": ["a", "b"]}, answer, path="/prioritize")
    assert record["scores"] == [["b", 10], ["a", 2.5], ["b", "10"], ["c", None], [None, None]]
    assert [type(score) for _, score in record["scores"][:2]] == [int, float]


@pytest.mark.parametrize(("answer", "scores"), [([], []), ({}, None), ([1], None), (b"null", []), (b"[", None)])
def test_an_answer_that_is_not_a_list_has_no_scores(answer: Any, scores: Any) -> None:
    assert called({}, answer, path="/prioritize")["scores"] == scores


@pytest.mark.parametrize(
    ("answer", "is_json"),
    [({}, True), ([], True), (0, True), (b"", False), (b"<html>", False), (b"[" * 100_000, False)],
)
def test_an_answer_is_recorded_as_json_or_not(answer: Any, is_json: bool) -> None:
    assert called({}, answer)["json"] is is_json


def test_the_pod_of_a_bind_call_is_read_from_the_fields_of_a_binding() -> None:
    request = {"PodName": "probe-1", "PodNamespace": "sp-tested", "PodUID": "u", "Node": "a"}
    record = called(request, {"Error": ""}, path="/bind")
    assert (record["pod"], record["asked"], record["mode"]) == ("sp-tested/probe-1", None, "")
    assert (record["uid"], record["node"]) == ("u", "a")


@pytest.mark.parametrize(
    "sent", [b"not json", b"", [], 5, {"Pod": 5, "Nodes": 7, "NodeNames": {}}, {"Nodes": {"items": [1, {}]}}]
)
def test_malformed_requests_of_the_harness_are_recorded(sent: Any) -> None:
    record = called(sent, {"Error": "what?"}, by="extender/malformed filter a number for a pod")
    assert (record["by"], record["case"], record["verb"]) == ("harness", "extender/malformed", "filter")
    assert record["what"] == "a number for a pod"
    assert (record["pod"], record["error"]) == ("", "what?")


def test_an_unanswered_call_has_status_0_and_its_fault() -> None:
    record = called({"Pod": POD}, b"", status=0, fault="hang")
    assert (record["status"], record["answer"], record["json"], record["fault"]) == (0, "", False, "hang")
