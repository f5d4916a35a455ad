"""Answers as their bytes pass: what kube-scheduler's client, which is Go's, takes and refuses.

tests/differential/test_extender_answers.py asks that client itself, about more of them.
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
def test_what_go_takes_is_read(headers: tuple[bytes, ...], body: bytes) -> None:
    answer = read(*headers, body=body)
    assert answer.readable
    assert answer.complete
    assert (answer.status, answer.content(), answer.go_refuses) == (200, BODY, "")


def test_a_length_with_a_blank_before_the_colon_is_no_length() -> None:
    assert read(b"Content-Length : 5").content() == BODY


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (read(b"Content-Encoding: gzip"), "gzip"),
        (read(b"Server: \x01"), "Server"),
        (read(length=b"27, 27"), "lengths"),
    ],
)
def test_what_go_refuses_is_told(answer: AnswerReader, told: str) -> None:
    assert answer.readable
    assert told in answer.go_refuses
