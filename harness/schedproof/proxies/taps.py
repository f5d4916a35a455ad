"""Taps: the lines candidate to Prometheus and scheduler to extender pass through us: recorded, and broken at will."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from schedproof.foundation.http import connect_by_name
from schedproof.proxies.connections import Client
from schedproof.proxies.exchange import Exchange, Fault
from schedproof.proxies.relay import Relay

_BACKLOG = 128
_T = TypeVar("_T")


class Tap:
    """An HTTP proxy in front of one server, which may be exchanged at any moment.

    What passes is left as it is: encodings, framing, headers but for Host, when connections end. Where the server's
    address refuses connections, the answer is 502, as a proxy's would be. The work is done by one thread of its own;
    all methods and attributes are for other threads.

    Args:
        upstream: base URL of the server, such as `http://127.0.0.1:9090`; credentials in it are sent along with
            requests that have none.
        record: called with each exchange before the answer's end is passed on, so that the exchange is recorded before
            its effect is seen. Called in the tap's own thread, so it must not break or heal the tap.
        port: where to listen, at `address` of this machine. It stays ours while the tap plays dead.
        serving: TLS as a server, with its certificate; None: plain HTTP.
        trust: how an `https` server is verified, and what identifies the tap to it; None: against the
            authorities that this machine trusts, and nothing.
        server_name: the name that its certificate has to have, where that is not `upstream`'s.
        permits: whether a request with this method and target is passed on; else it is answered with 403, and one that
            is not readable as HTTP/1 ends the connection. None: all are.
        elsewhere: called with `upstream` and a request's method and target: what gives the base URL of the server that
            answers this request in the place of `upstream`, called in a thread, as it may take a while or raise
            OSError; None: `upstream` answers it. None: it answers all.
    """

    slow_seconds = 8.0
    """Longer than kube-scheduler waits for an extender by default (5 s), shorter than a bind deadline."""

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
        permits: Callable[[str, str], bool] | None = None,
        elsewhere: Callable[[str, str, str], Callable[[], str] | None] | None = None,
    ) -> None:
        self.upstream = upstream
        self.fault: Fault | None = None
        self.server_name = server_name
        self.permits = permits
        self.elsewhere = elsewhere
        self.url = f"{'http' if serving is None else 'https'}://{address}:{port}"
        self._record = record
        self._serving = serving
        self._trust = trust
        self._relays: set[Relay] = set()
        self._welcoming: set[asyncio.Task[None]] = set()
        self._era = 0
        self._closed = False
        self._socket = socket.socket()
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
        """Break the line from now on, open connections included; but those that hang already go on hanging."""
        self._do(functools.partial(self._break, fault))

    def heal(self) -> None:
        """Pass everything on again, but on connections that hang.

        A connection whose other end has vanished stays half-open: no FIN and no RST tells of it, and only a time-out
        of the client's own ends it.
        """
        self._do(self._mend)

    def release(self) -> None:
        """End the connections that hang."""
        self._do(self._drop_hanging)

    def close(self) -> None:
        """End all connections, and free the port."""
        if self._closed:
            return
        self._closed = True
        self._do(self._end)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._socket.close()

    def set_trust(self, trust: ssl.SSLContext, server_name: str) -> None:
        """From the next connection on, verify a server behind TLS so; see `__init__`."""
        self._trust, self.server_name = trust, server_name

    def connect(self, seconds: float) -> http.client.HTTPConnection:
        """A connection past the tap to the server behind it, each of whose steps may take so long.

        Raises:
            OSError: it cannot be reached, or is not to be trusted.
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
        self._record(exchange)

    # -- in the tap's own thread

    def _do(self, work: Callable[[], Coroutine[None, None, _T]]) -> _T:
        """Run it on the loop. Created there, so that an interrupt of the caller leaves none that nothing awaits."""
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
        """End what is open: idle connections are used again, and would reach a server that is meant to be down."""
        self._era += 1  # a client in the middle of its TLS handshake comes too late
        await self._drop([relay for relay in self._relays if not relay.hangs], fault)

    async def _drop_hanging(self) -> None:
        await self._drop([relay for relay in self._relays if relay.hangs], None)

    async def _drop(self, relays: Sequence[Relay], fault: Fault | None) -> None:
        for relay in relays:
            relay.give_up("the tap broke the line", fault)
        await asyncio.gather(*(relay.gone for relay in relays))

    async def _end(self) -> None:
        self._stop_listening()
        await self._drop_connections(None)
        await self._drop_hanging()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_default_executor()  # looks up names, and servers elsewhere

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:  # it went away again
            return
        connection.setblocking(False)
        era = self._era
        task = self._loop.create_task(self._welcome(connection, era))
        self._welcoming.add(task)
        task.add_done_callback(self._welcoming.discard)

    async def _welcome(self, connection: socket.socket, era: int) -> None:
        with contextlib.suppress(OSError):  # ssl.SSLError is one: the client does not trust us, or speaks plain HTTP
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
