"""TLS of an extender's tap: it trusts what kube-scheduler trusts, and presents the configured client certificate."""

from __future__ import annotations

import base64
import contextlib
import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedproof.daemons.certificates import Authority, KeyPair
from schedproof.deploy.component import probe
from schedproof.foundation.waiting import NotYet
from schedproof.proxies.tap_tls import own_certificate, trust_of, unverified

STUCK = 20.0


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


def server_context(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


@contextlib.contextmanager
def greeting(server: ssl.SSLContext) -> Iterator[socket.socket]:
    """A client's socket, whose other end is about to send a greeting."""
    near, far = socket.socketpair()

    def greet() -> None:
        with contextlib.suppress(OSError), server.wrap_socket(far, server_side=True) as secure:
            secure.settimeout(STUCK)
            secure.sendall(repr(secure.getpeercert()).encode())

    thread = threading.Thread(target=greet)
    thread.start()
    near.settimeout(STUCK)
    with near:
        yield near
    thread.join()
    far.close()


def greets(trust: ssl.SSLContext, server: ssl.SSLContext, name: str = "127.0.0.1") -> bytes:
    """The server's greeting, which names the client; b"" if either side does not trust the other."""
    with greeting(server) as near:
        try:
            with trust.wrap_socket(near, server_hostname=name) as secure:
                return secure.recv(1 << 16)
        except ssl.SSLError:
            return b""


def data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def test_without_an_authority_nothing_is_verified(authority: Authority) -> None:
    server = server_context(authority.server("x"))
    assert greets(trust_of({}), server)
    assert greets(trust_of({"insecure": True}), server, "elsewhere")


def test_insecure_with_an_authority_is_refused_as_by_kube_scheduler(authority: Authority) -> None:
    with pytest.raises(ValueError, match="insecure"):
        trust_of({"insecure": True, "caFile": str(authority.certificate)})


def test_only_the_configured_authority_is_trusted_by_file_and_by_data(authority: Authority, tmp_path: Path) -> None:
    server, stranger = server_context(authority.server("x")), Authority(tmp_path / "theirs").certificate
    for config in ({"caFile": str(authority.certificate)}, {"caData": data(authority.certificate)}):
        assert greets(trust_of(config), server)
        assert not greets(trust_of(config), server, "elsewhere")
    assert not greets(trust_of({"caFile": str(stranger)}), server)


def test_a_common_name_is_not_a_subject_alternative_name(authority: Authority) -> None:
    """As in Go: the Common Name is never used."""
    ca = {"caFile": str(authority.certificate)}
    assert greets(trust_of(ca), server_context(authority.server("extender.example.com")), "localhost")
    assert not greets(trust_of(ca), server_context(authority.client("localhost")), "localhost")
    assert not greets(trust_of(ca), server_context(authority.server("extender.example.com")), "extender.example.com")


def test_a_server_without_the_ciphers_of_go_s_client_is_refused(authority: Authority) -> None:
    server = server_context(authority.server("x"))
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    assert greets(trust_of({}), server)
    server.set_ciphers("ECDHE+AESCCM")
    assert not greets(trust_of({}), server)


def test_the_servers_own_certificate_is_trusted_like_an_authority(authority: Authority) -> None:
    pair = authority.server("x")
    assert greets(trust_of({"caFile": str(pair.certificate)}), server_context(pair))


def test_a_server_that_requests_a_client_certificate_receives_the_configured_certificate(authority: Authority) -> None:
    server, client = server_context(authority.server("x")), authority.client("scheduler")
    server.load_verify_locations(authority.certificate)
    server.verify_mode = ssl.CERT_REQUIRED
    ca = {"caFile": str(authority.certificate)}
    given = [
        {"certFile": str(client.certificate), "keyFile": str(client.key)},
        {"certData": data(client.certificate), "keyData": data(client.key)},
    ]
    assert [b"scheduler" in greets(trust_of({**ca, **pair}), server) for pair in given] == [True, True]
    assert greets(trust_of(ca), server) == b""


class Health(http.server.BaseHTTPRequestHandler):
    """Serves its health, and nothing else."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def healthy(tls: ssl.SSLContext) -> Iterator[int]:
    """The port of a server that serves its health behind TLS."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    # Each greets its client in its own thread, when that reads: a refused client ends nothing.
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_readiness_probe_presents_the_client_certificate_and_does_not_verify_the_server(
    authority: Authority, tmp_path: Path
) -> None:
    server = server_context(Authority(tmp_path / "theirs").server("x"))
    server.load_verify_locations(authority.certificate)
    server.verify_mode = ssl.CERT_REQUIRED
    client = authority.client("scheduler")
    config = {"certFile": str(client.certificate), "keyFile": str(client.key), "caFile": str(authority.certificate)}
    names: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: names.append(name)
    with healthy(server) as port:
        for name in ("", "extender.example.com"):
            probe("127.0.0.1", port, "/healthz", lambda name=name: (unverified(trust_of(config)), name))
        with pytest.raises(NotYet, match="404"):
            probe("127.0.0.1", port, "/other", lambda: (unverified(trust_of(config)), ""))
        with pytest.raises(NotYet):
            probe("127.0.0.1", port, "/healthz", lambda: (unverified(trust_of({})), ""))
        with pytest.raises(NotYet):
            probe("127.0.0.1", port, "/healthz", None)
    assert names[:2] == [None, "extender.example.com"]


def test_a_file_that_is_not_a_certificate_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nonsense")
    for config in ({"caFile": str(tmp_path / "ca.pem")}, {"caFile": str(tmp_path / "missing")}):
        with pytest.raises(OSError, match=r"certificate|No such file|PEM"):
            trust_of(config)


def test_a_generated_certificate_is_trusted_by_its_own_authority_only() -> None:
    server, ca = own_certificate("127.0.0.1")
    assert greets(trust_of({"caData": ca}), server)
    assert not greets(trust_of({"caData": own_certificate("127.0.0.1")[1]}), server)
