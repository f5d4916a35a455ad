"""Answers as bytes: what kube-scheduler's client, which is Go's, accepts and refuses.

tests/differential/test_extender_answers.py compares more answers with that client itself.
"""

from __future__ import annotations

import gzip

import pytest

from schedproof.proxies.messages import AnswerReader, RequestReader

BODY = b'[{"Host": "a", "Score": 1}]'


def read(*headers: bytes, body: bytes = BODY, length: bytes | None = None) -> AnswerReader:
    request = RequestReader()
    request.feed(b"GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
    answer = AnswerReader(request)
    size = b"%d" % len(body) if length is None else length
    for line in (b"HTTP/1.1 200 OK", *headers, b"Content-Length: " + size, b""):
        answer.feed(line + b"\r\n")
    answer.feed(body)
    answer.feed(b"")
    return answer


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ((), BODY),
        ((b"Content-Encoding: gzip",), gzip.compress(BODY, mtime=0)),
        ((b"Content-Encoding: br",), BODY),
        ((b"Server : x",), BODY),
        ((b"Content-Type :application/json", b"X-A\t: b"), BODY),
    ],
)
def test_an_answer_that_go_accepts_is_read(headers: tuple[bytes, ...], body: bytes) -> None:
    answer = read(*headers, body=body)
    assert answer.readable
    assert answer.complete
    assert (answer.status, answer.content(), answer.go_refuses) == (200, BODY, "")


def test_a_content_length_with_a_space_before_the_colon_is_ignored() -> None:
    assert read(b"Content-Length : 5").content() == BODY


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (read(b"Content-Encoding: gzip"), "gzip"),
        (read(b"Server: \x01"), "Server"),
        (read(length=b"27, 27"), "lengths"),
    ],
)
def test_an_answer_that_go_refuses_has_the_reason(answer: AnswerReader, reason: str) -> None:
    assert answer.readable
    assert reason in answer.go_refuses
