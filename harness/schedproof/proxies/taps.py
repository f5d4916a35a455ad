"""Taps: recording, fault-injecting HTTP proxies between candidate and Prometheus, and scheduler and extender."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import functools
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from schedproof.foundation.http import connect_by_name, redirected
from schedproof.history.faults import Fault
from schedproof.history.observations import CLIENT_LEFT
from schedproof.proxies.connections import Client
from schedproof.proxies.exchange import Exchange
from schedproof.proxies.relay import Relay

_BACKLOG = 128
_T = TypeVar("_T")


class Tap:
    """An HTTP proxy in front of one server, which may be exchanged at any moment.

    Traffic passes unchanged: encodings, framing, headers except Host, and when connections end. If the server's
    address refuses connections, the response is 502, as from other proxies. It runs in its own thread; use all
    methods and attributes from other threads.

    Args:
        upstream: base URL of the server, such as `http://127.0.0.1:9090`; its credentials are added to requests that
            have none.
        record: called with each exchange before the end of the response is forwarded, so that the exchange is recorded
            before its effect is visible. Called in the tap's own thread, so it must not break or heal the tap.
        port: the port to listen on, at `address` of this machine. The tap keeps it while `Fault.DOWN` is in effect.
        serving: the TLS context as a server, with its certificate; None: plain HTTP.
        trust: the TLS context that verifies an `https` server, with the tap's client certificate; None: the CAs that
            this machine trusts, and no client certificate.
        keeps_clients: whether a client keeps its connection when the server ends an idle one. Otherwise a request that
            crosses the end may be lost without a record, as on a direct connection; that matters where the client is
            under test.
        server_name: the name that the server's certificate must have, if it differs from `upstream`'s.
        permits: whether to forward a request with this method and target; otherwise it is answered with 403, and one
            that is not readable as HTTP/1 ends the connection. None: forward all.
        elsewhere: called with `upstream` and a request's method and target. Returns a function that returns the base
            URL of the server for this request, or None for `upstream`. That function runs in a thread, as it may take a
            while or raise OSError. None: `upstream` for all.
    """

    slow_seconds = 8.0
    """Longer than kube-scheduler's default timeout for an extender (5 s), shorter than a bind deadline."""

    def __init__(
        self,
        upstream: str,
        record: Callable[[Exchange], None],
        port: int,
        *,
        address: str = "127.0.0.1",
        serving: ssl.SSLContext | None = None,
        trust: ssl.SSLContext | None = None,
        server_name: str | None = None,
        keeps_clients: bool = False,
        permits: Callable[[str, str], bool] | None = None,
        elsewhere: Callable[[str, str, str], Callable[[], str] | None] | None = None,
    ) -> None:
        self.upstream = upstream
        self.fault: Fault | None = None
        self.server_name = server_name
        self.keeps_clients = keeps_clients
        self.permits = permits
        self.elsewhere = elsewhere
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        host = f"[{address}]" if ":" in address else address
        self.url = f"{'http' if serving is None else 'https'}://{host}:{port}"
        self._record = record
        self._recorded = asyncio.Event()
        """Set when an exchange is recorded; used in the tap's own thread."""
        self._serving = serving
        self._trust = trust
        self._redirected: dict[str, str] = {}
        self._relays: set[Relay] = set()
        self._welcoming: set[asyncio.Task[None]] = set()
        self._era = 0
        self._closed = False
        self._socket = socket.socket(family)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((address, port))
            self._socket.setblocking(False)
        except OSError:
            self._socket.close()
            raise
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tap", daemon=True)
        self._thread.start()
        self._do(self._listen)

    def inject(self, fault: Fault) -> None:
        """Inject a fault of a tap from now on, also into open connections; those that hang already keep hanging."""
        self._do(functools.partial(self._break, fault))

    def heal(self) -> None:
        """Forward everything again, except on connections that hang.

        These stay half-open, as if the other end had vanished: without FIN and RST, only the client's own timeout ends
        them.
        """
        self._do(self._mend)

    def release(self) -> None:
        """Close the connections that hang."""
        self._do(self._drop_hanging)

    def await_answers(self, seconds: float) -> None:
        """Wait until each response that a client waits for now is recorded, for at most `seconds`."""
        if not self._closed:
            self._do(functools.partial(self._await_answers, seconds))

    def record_left(self) -> None:
        """Record now the requests whose clients have left without a response, which may still come."""
        if not self._closed:
            self._do(self._give_up_left)

    def close(self) -> None:
        """Close all connections and free the port."""
        if self._closed:
            return
        self._closed = True
        self._do(self._end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._socket.close()

    def set_trust(self, trust: ssl.SSLContext, server_name: str) -> None:
        """Use this TLS context from the next connection on; see `__init__`."""
        self._trust, self.server_name = trust, server_name

    def connect(self, seconds: float) -> http.client.HTTPConnection:
        """Return a connection to the server that bypasses the tap; each of its steps may take `seconds`.

        Raises:
            OSError: the server cannot be reached, or is not trusted.
        """
        target = urlsplit(self.upstream)
        host = target.hostname or ""
        if target.scheme == "https":
            return connect_by_name(host, target.port, seconds, self.trust, self.server_name or host)
        return http.client.HTTPConnection(host, target.port, timeout=seconds)

    # -- for its relays

    @property
    def trust(self) -> ssl.SSLContext:
        if self._trust is None:
            self._trust = ssl.create_default_context()
        return self._trust

    def record(self, exchange: Exchange) -> None:
        """Record an exchange; one that follows a redirect with the path of the redirected request."""
        path = self._redirected.get(exchange.path, exchange.path)
        if onward := redirected(exchange.path, exchange.status, exchange.location):
            self._redirected[onward] = path
        self._record(exchange if path == exchange.path else dataclasses.replace(exchange, path=path))
        self._recorded.set()

    # -- in the tap's own thread

    def _do(self, work: Callable[[], Coroutine[None, None, _T]]) -> _T:
        """Run a coroutine in the tap's thread; created there, so an interrupt of the caller leaves none unawaited."""
        done: concurrent.futures.Future[_T] = concurrent.futures.Future()

        async def run() -> None:
            try:
                done.set_result(await work())
            except Exception as error:
                done.set_exception(error)

        def begin() -> None:
            self._running = self._loop.create_task(run())

        self._loop.call_soon_threadsafe(begin)
        return done.result()

    async def _listen(self) -> None:
        self._socket.listen(_BACKLOG)
        self._loop.add_reader(self._socket, self._accept)

    def _stop_listening(self) -> None:
        self._loop.remove_reader(self._socket)
        # On Linux this ends the listening, and keeps the port.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    async def _break(self, fault: Fault) -> None:
        await self._mend()
        self.fault = fault
        if fault is Fault.DOWN:
            self._stop_listening()
        await self._drop_connections(fault)

    async def _mend(self) -> None:
        fault, self.fault = self.fault, None
        if fault is Fault.DOWN:
            await self._listen()
        for relay in list(self._relays):
            relay.go_on()

    async def _drop_connections(self, fault: Fault | None) -> None:
        """Close open connections: clients reuse idle ones, and would reach a server that is meant to be down."""
        self._era += 1  # refuses clients that are in the middle of their TLS handshake
        await self._drop([relay for relay in self._relays if not relay.hangs], fault)

    async def _drop_hanging(self) -> None:
        await self._drop([relay for relay in self._relays if relay.hangs], None)

    async def _await_answers(self, seconds: float) -> None:
        under_way = [relay for relay in self._relays if relay.awaits_answer]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(relay.awaits_answer for relay in under_way):
                    self._recorded.clear()
                    await self._recorded.wait()

    async def _give_up_left(self) -> None:
        for relay in [relay for relay in self._relays if relay.is_left]:
            relay.give_up(CLIENT_LEFT)

    async def _drop(self, relays: Sequence[Relay], fault: Fault | None) -> None:
        for relay in relays:
            relay.give_up("the tap closed the connection", fault)
        await asyncio.gather(*(relay.gone for relay in relays))

    async def _end(self) -> None:
        self._stop_listening()
        await self._drop_connections(None)
        await self._drop_hanging()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_default_executor()  # it resolves names, and `elsewhere`

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:  # the client has closed the connection
            return
        connection.setblocking(False)
        era = self._era
        task = self._loop.create_task(self._welcome(connection, era))
        self._welcoming.add(task)
        task.add_done_callback(self._welcoming.discard)

    async def _welcome(self, connection: socket.socket, era: int) -> None:
        with contextlib.suppress(OSError):  # ssl.SSLError too: the client does not trust the tap, or speaks plain HTTP
            await self._loop.connect_accepted_socket(
                lambda: Client(lambda: self._new_relay(era)), connection, ssl=self._serving
            )

    def _new_relay(self, era: int) -> Relay | None:
        if era != self._era:
            return None
        relay = Relay(self, self._loop)
        self._relays.add(relay)
        relay.gone.add_done_callback(lambda _: self._relays.discard(relay))
        return relay
