"""One HTTP request and its answer."""

from __future__ import annotations

import http.client
import http.server
import threading
from collections.abc import Iterator

import pytest

from schedproof.foundation.http import connect, exchange, redirected


@pytest.fixture
def server() -> Iterator[str]:
    """Answers a POST with a header, its body and a byte that is not UTF-8, and a GET with half of an answer."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(418)
            self.end_headers()
            self.wfile.write(self.headers["X-Said"].encode() + body + b"\xff")

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"half")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()


def test_the_request_is_sent_and_status_and_text_are_returned(server: str) -> None:
    answer = exchange(connect(server, 5), "POST", "/", b" body ", {"X-Said": "this"})
    assert answer == (418, "this body \N{REPLACEMENT CHARACTER}")


def test_a_truncated_answer_has_status_0_and_the_error(server: str) -> None:
    status, text = exchange(connect(server, 5), "GET", "/")
    assert status == 0
    assert text.startswith("IncompleteRead: ")


def test_a_refused_connection_has_status_0_and_the_error() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as closed:
        port = closed.server_port
    assert exchange(connect(f"http://127.0.0.1:{port}", 5), "GET", "/") == (
        0,
        "ConnectionRefusedError: [Errno 111] Connection refused",
    )


def test_the_scheme_of_the_url_decides_on_tls() -> None:
    assert isinstance(connect("https://127.0.0.1:1", 5), http.client.HTTPSConnection)
    assert not isinstance(connect("http://127.0.0.1:1", 5), http.client.HTTPSConnection)


@pytest.mark.parametrize(
    ("status", "location", "onward"),
    [
        (307, "/filter/", "/filter/"),
        (308, "https://server:80/v2/filter?a=b", "/v2/filter?a=b"),
        (307, "other", "/v1/other"),
        (307, "https://server", "/"),
        (302, "/filter/", ""),
        (307, None, ""),
        (200, "/filter/", ""),
    ],
)
def test_only_redirects_that_keep_the_method_are_followed(status: int, location: str | None, onward: str) -> None:
    assert redirected("/v1/filter", status, location) == onward
