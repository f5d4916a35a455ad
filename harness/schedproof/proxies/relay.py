"""Relays one client connection through a tap to its own upstream connection.

Each client connection has its own upstream connection, as without a tap: server and client decide how long
connections are kept, and what ends them. The bytes of responses are forwarded unchanged; heads of requests are
rewritten.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

from schedproof.history.faults import Fault
from schedproof.history.observations import CLIENT_LEFT, IDLE_CLOSED
from schedproof.proxies.connections import Upstream, has_news, hold_up, reset
from schedproof.proxies.exchange import NOT_PERMITTED, Exchange
from schedproof.proxies.messages import AnswerReader, RequestReader, led_back

_AHEAD = 1 << 20
"""Bytes of requests that are buffered while they cannot be forwarded; beyond that the sender has to wait."""
_LEFT_SECONDS = 10.0
"""Time to wait for a response after the client's end of sending: it may still read, or be gone. A late response is
better evidence than none, for a server that does not notice.
"""
_LEAST_IDLE = 1.0
"""Seconds: no usual server closes idle connections sooner. Then a request may cross the end of its connection, which
no HTTP/1.1 client can avoid."""
_UNREADABLE = "not readable as HTTP/1"
_HELD = 64 << 10
_HELD_SECONDS = 0.02
"""The last piece of a response is held until the next piece or the end of the response arrives, but no longer than
this: a client that has read a complete JSON value acts before the end, and the exchange should be recorded by then. The
limit keeps streams going.
"""


class Line(Protocol):
    """The interface of a tap for its relays."""

    url: str
    upstream: str
    fault: Fault | None
    slow_seconds: float
    keeps_clients: bool

    @property
    def trust(self) -> ssl.SSLContext | None:
        """The TLS context that verifies the server; None: the default."""

    @property
    def server_name(self) -> str | None:
        """The name that the server's certificate must have, if it differs from its address."""

    permits: Callable[[str, str], bool] | None
    elsewhere: Callable[[str, str, str], Callable[[], str] | None] | None

    def record(self, exchange: Exchange) -> None: ...


class Relay:
    """Relays exchanges one after the other. Both connections call it, in the tap's own thread."""

    def __init__(self, line: Line, loop: asyncio.AbstractEventLoop) -> None:
        self._line = line
        self._loop = loop
        self.gone: asyncio.Future[None] = loop.create_future()
        """Done when the client's connection has ended."""
        self._client: asyncio.Transport | None = None
        self._client_ended = False
        self._left_at: float | None = None
        self._ended_by_close = False
        self._upstream: Upstream | None = None
        self._side: Upstream | None = None
        self._url = ""
        self._opening: asyncio.Task[None] | None = None
        self._delayed: asyncio.TimerHandle | None = None
        self._pending = bytearray()
        self._ahead = b""
        self._stalled: set[str] = set()
        self._tunnel = False
        self._mute = False
        self._client_left_timer: asyncio.TimerHandle | None = None
        self._recorded_at = 0.0
        self._begin_next()

    def _begin_next(self) -> None:
        self._request = RequestReader()
        self._answer: AnswerReader | None = None
        self._fault: Fault | None = None
        self._trouble = ""
        self._ended_at: float | None = None
        self._recorded = False
        self._refused = b""
        self._led_back = False
        self._has_come = False
        self._idle_seconds = -1.0  # on a new connection
        self._held: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _busy(self) -> bool:
        """Whether a request has begun and its response has not ended."""
        return self._request.begun and not self._recorded

    @property
    def awaits_answer(self) -> bool:
        """Whether a request has been forwarded, and its response is still to come."""
        return self._busy and self._fault is None and not self._client_ended

    @property
    def is_left(self) -> bool:
        """Whether the client has ended its side, and a response is still awaited."""
        return self._client_ended and self._busy and not self._mute

    @property
    def hangs(self) -> bool:
        """Whether a request has been read that is never answered."""
        return self._mute

    # -- the client's side

    def client_made(self, transport: asyncio.Transport) -> None:
        self._client = transport

    def client_data(self, data: bytes) -> None:
        if self._mute:
            return
        if self._tunnel:
            self._send(data)
        elif self._request.complete or self._ahead:
            self._ahead += data
            self._stall("ahead", len(self._ahead) > _AHEAD)
        else:
            self._take(data)

    def client_ended(self) -> bool:
        """Handle the client's end of sending; it may still read. Return whether its connection stays open."""
        self._client_ended = True
        self._left_at = time.monotonic()
        if not self._mute:
            if not self._tunnel and not self._busy and not self._ahead:
                return False
            self._pass_end_on()
            self._client_left_timer = self._loop.call_later(_LEFT_SECONDS, self.give_up, CLIENT_LEFT)
        return self._client is not None and self._client.can_write_eof()

    def client_lost(self) -> None:
        self._client = None
        self.give_up(CLIENT_LEFT)
        if not self.gone.done():
            self.gone.set_result(None)

    def stall_upstream(self, *, stalled: bool) -> None:
        """Pause reading from the server while the client reads too slowly."""
        if self._upstream is not None:
            hold_up(self._upstream.transport, stalled=stalled)

    def give_up(self, reason: str, fault: Fault | None = None) -> None:
        """Close both connections at once, and record how far the exchange came."""
        self._fault = fault or self._fault
        for handle in (self._opening, self._delayed, self._timer, self._client_left_timer):
            if handle is not None:
                handle.cancel()
        if self._busy:
            self._record_what_came(reason)
        self._drop_upstream()
        if self._client is not None:
            self._client.abort()

    def _take(self, data: bytes) -> None:
        begun = self._request.begun
        body, self._ahead = self._request.feed(data)
        if self._line.permits is not None and not self._request.readable:
            self._refuse_unreadable(begun=begun)
            return
        if self._request.begun and not begun:
            self._pending += body  # with the head, in one segment
            self._begin()
        elif body:
            self._send(body)
        if self._trouble and not self._request.readable:
            self._request.complete = True  # its end is unknown; nothing of it is forwarded
        if self._request.complete:
            self._ended_at = time.monotonic()
            self._answer_locally()
            if self._recorded:
                self._next()

    def _refuse_unreadable(self, *, begun: bool) -> None:
        """Refuse, as Go's servers do, what the server might parse as a request that is not permitted."""
        if begun:
            self.give_up(_UNREADABLE)
        else:
            self._request.complete = True
            self._respond(HTTPStatus.BAD_REQUEST, "400 Bad Request", error=_UNREADABLE)

    def _begin(self) -> None:
        """Decide how to handle a request whose head has arrived."""
        self._answer = AnswerReader(self._request)
        self._fault = None if self._request.by else self._line.fault
        if self._line.permits is not None and not self._line.permits(self._request.method, self._request.target):
            self._trouble = NOT_PERMITTED
            self._pending.clear()
            self._ask_for_body()
        elif self._fault in (Fault.HANG, Fault.RESET, Fault.UNAVAILABLE):
            self._trouble = self._fault.value
            self._pending.clear()
            self._ask_for_body()
        elif self._fault is Fault.SLOW:
            self._delayed = self._loop.call_later(self._line.slow_seconds, self.go_on)
        else:
            self._open()

    def _ask_for_body(self) -> None:
        """Send 100 Continue to a client that waits for it, if the relay itself will respond."""
        if self._request.expects and self._client is not None:
            self._client.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _answer_locally(self) -> None:
        """Respond to a complete request according to the fault, the refusal or the unreachable server."""
        if not self._trouble or self._recorded or self._client is None:
            return
        if self._fault in (Fault.HANG, Fault.RESET):
            self._record(seconds=0.0)
            if self._fault is Fault.RESET:
                reset(self._client)
            else:
                self._mute = True  # later requests are not read either
        elif self._trouble == NOT_PERMITTED:
            self._respond(HTTPStatus.FORBIDDEN, NOT_PERMITTED)
        elif self._fault is Fault.UNAVAILABLE:
            self._respond(HTTPStatus.SERVICE_UNAVAILABLE, "Service Unavailable")
        else:
            text = f"tap: no response from upstream: {self._trouble}"
            self._respond(HTTPStatus.BAD_GATEWAY, text, error=self._trouble)

    def _respond(self, status: HTTPStatus, text: str, *, error: str = "") -> None:
        assert self._client is not None
        closes = self._request.closes or not self._request.readable
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
            f"{'Connection: close' if closes else 'Connection: keep-alive'}\r\n\r\n"
        )
        self._record(status=status.value, answer=text.encode(), error=error)
        self._client.write(head.encode() + (b"" if self._request.method == "HEAD" else text.encode()))
        if closes:
            self._client.close()

    def _next(self) -> None:
        """Begin the next request, part of which may have arrived."""
        if self._mute or not self._request.complete or self._client is None or self._client.is_closing():
            return
        self._begin_next()
        if self._ahead:
            self._loop.call_soon(self._take_ahead)
        elif self._client_ended:
            self._client.close()

    def _take_ahead(self) -> None:
        ahead, self._ahead = self._ahead, b""
        self._stall("ahead", False)
        if self._client is not None and not self._client.is_closing():
            self._take(ahead)
            if self._client_ended and not self._busy and not self._ahead:
                self._client.close()

    def _stall(self, reason: str, stalled: bool) -> None:
        """Pause reading from the client while there is any reason to."""
        if stalled:
            self._stalled.add(reason)
        else:
            self._stalled.discard(reason)
        if self._client is not None:
            hold_up(self._client, stalled=bool(self._stalled))

    # -- towards upstream

    def go_on(self) -> None:
        """End the delay of the request, if there is one."""
        if self._delayed is not None:
            self._delayed.cancel()
            self._delayed = None
            self._open()

    def _open(self) -> None:
        """Connect to the current server behind the tap, then forward the pending bytes."""
        url, find = self._line.upstream, None
        if self._line.elsewhere is not None:
            find = self._line.elsewhere(url, self._request.method, self._request.target)
        if find is None and self._upstream is not None and self._url == url and not self._upstream.has_ended:
            self._idle_seconds = self._loop.time() - self._recorded_at
            self._pass_pending_on()
            return
        self._drop_upstream()
        self._url = url
        self._opening = self._loop.create_task(self._connect(find))

    async def _connect(self, find: Callable[[], str] | None) -> None:
        side = self._side = Upstream(self)
        try:
            if find is not None:
                self._url = await self._loop.run_in_executor(None, find)
            target = urlsplit(self._url)
            secure = target.scheme == "https"
            await self._loop.create_connection(
                lambda: side, target.hostname or "127.0.0.1", target.port or (443 if secure else 80),
                ssl=self._line.trust if secure else None,
                server_hostname=(self._line.server_name or target.hostname) if secure else None,
            )  # fmt: skip
        except OSError as error:
            self._opening = None
            self._trouble = _reason(error)
            self._pending.clear()
            self._stall("upstream", False)
            if not self._request.readable and self._client is not None:
                self._request.complete = True
            if self._request.complete:
                self._answer_locally()
                self._next()
            else:
                self._ask_for_body()

    def upstream_made(self, upstream: Upstream) -> None:
        self._opening = None
        self._upstream = upstream
        self._pass_pending_on()

    def _pass_pending_on(self) -> None:
        assert self._upstream is not None
        begun = self._refused
        if not begun and self._request.head is not None:
            begun = self._request.head_for(self._url)
        pending = begun + bytes(self._pending)
        self._pending.clear()
        self._stall("upstream", False)
        self._upstream.write(pending)
        if self._client_ended:
            self._pass_end_on()

    def _pass_end_on(self) -> None:
        if self._upstream is not None:
            self._upstream.write_eof()

    def upstream_refused(self, begun: bytes, reason: str) -> None:
        """Send a request that the server did not process on a new connection, once.

        As Go's client does with HTTP/2. `begun`: the bytes of it that were sent, `reason`: why they were in vain.
        """
        if self._refused or self._client is None:
            self.upstream_lost(None, reason)
            return
        self._refused = begun
        self._drop_upstream()
        self._open()

    def _send(self, data: bytes) -> None:
        if self._trouble:
            return
        if self._upstream is not None and self._opening is None and self._delayed is None:
            self._upstream.write(data)
        else:
            self._pending += data
            self._stall("upstream", len(self._pending) > _AHEAD)

    def stall_client(self, *, stalled: bool) -> None:
        """Pause reading from the client while the server reads too slowly."""
        self._stall("server", stalled)

    def _drop_upstream(self) -> None:
        if self._side is not None:
            self._side.relay = None
        if self._upstream is not None:
            self._upstream.transport.abort()
        self._upstream = self._side = None

    # -- from upstream

    def upstream_data(self, data: bytes) -> None:
        if self._client is None:
            return
        answer = self._answer
        if self._tunnel or answer is None or self._recorded:
            self._client.write(data)
            return
        self._has_come = True
        answer.feed(data)
        if self._fault is Fault.MALFORMED and answer.readable:
            self._hold_whole(answer, data)
            return
        self._held.append(data)
        if answer.redirects and answer.head is None:
            return  # until its head is known
        self._lead_back(answer)
        if answer.complete:
            self._end_answer(answer)
        elif answer.head is None:  # an interim response, which the client may wait for
            self._flush(0)
        elif sum(map(len, self._held)) > _HELD:
            self._flush(1)
        elif self._timer is None:
            self._timer = self._loop.call_later(_HELD_SECONDS, self._flush, 0)

    def _hold_whole(self, answer: AnswerReader, data: bytes) -> None:
        """Hold the whole response, which is to be spoiled; except interim ones."""
        if answer.complete:
            self._spoil(answer)
        elif answer.head is None and answer.interim and self._client is not None:
            self._client.write(data)

    def _lead_back(self, answer: AnswerReader) -> None:
        """Make a redirect to the server's own URL one to the tap."""
        if answer.redirects and not self._led_back:
            self._held = [led_back(b"".join(self._held), self._url, self._line.url)]
            self._led_back = True

    def _flush(self, hold: int) -> None:
        """Forward the held pieces of the response, except the last `hold` ones."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        passed = self._held[: len(self._held) - hold]
        self._held = self._held[len(passed) :]
        if passed and self._client is not None:
            self._client.write(b"".join(passed))
        if self._held:
            self._timer = self._loop.call_later(_HELD_SECONDS, self._flush, 0)

    def _end_answer(self, answer: AnswerReader) -> None:
        self._record(status=answer.status, answer=answer.content(), answer_size=answer.body.size)
        self._flush(0)
        self._go_past(answer)

    def _spoil(self, answer: AnswerReader) -> None:
        wire, content = answer.half()
        self._record(status=answer.status, answer=content)
        assert self._client is not None
        self._client.write(wire)
        self._go_past(answer)

    def _go_past(self, answer: AnswerReader) -> None:
        """Begin the next request or, after the response 101, forward all that follows, from the bytes ahead on."""
        self._tunnel = answer.switched
        if not self._tunnel:
            translated = self._upstream is not None and self._upstream.keeps_client
            if translated and self._request.closes and self._client is not None:
                self._client.close()  # with HTTP/2 the client's wish does not reach the server
            self._next()
            return
        ahead, self._ahead = self._ahead, b""
        self._stall("ahead", False)
        if ahead:
            self._send(ahead)

    def upstream_ended(self) -> None:
        """Handle the server's end of sending, which ends a response of unknown length."""
        answer = self._answer
        if answer is None or self._recorded or self._tunnel:
            return
        answer.feed(b"")
        if answer.complete and self._fault is Fault.MALFORMED:
            self._spoil(answer)
        elif answer.complete:
            self._ended_by_close = True
            self._end_answer(answer)

    def upstream_lost(self, error: Exception | None, reason: str = "") -> None:
        """Handle the end of the server's connection. `reason`: why, if not this `error` or the server's own end."""
        exchanged = (
            self._url != self._line.upstream
            or (self._line.keeps_clients and not self._ended_by_close)
            or (self._upstream is not None and self._upstream.keeps_client)
        )
        self._upstream = self._side = None
        if self._client is None:
            return
        if not self._busy and not self._tunnel and (exchanged or has_news(self._client)):
            return  # an idle client keeps its connection; what it has just sent goes to a new one
        if self._busy and self._answer is not None:
            self._record_what_came(reason or self._answer.flaw or self._ended(error))
            self._flush(0)
        if isinstance(error, ConnectionResetError):
            reset(self._client)
        else:
            self._client.close()

    def _ended(self, error: Exception | None) -> str:
        """Why a response did not come to its end."""
        if isinstance(error, ConnectionError) and not self._has_come and self._idle_seconds >= _LEAST_IDLE:
            return IDLE_CLOSED
        return "the connection was closed" + (f": {error or type(error).__name__}" if error is not None else "")

    # -- the record

    def _record_what_came(self, error: str) -> None:
        answer = self._answer
        if answer is None:
            self._record(error=error)
        else:
            self._record(status=answer.status, answer=answer.content(), answer_size=answer.body.size, error=error)

    def _record(
        self,
        *,
        status: int = 0,
        answer: bytes = b"",
        answer_size: int | None = None,
        seconds: float | None = None,
        error: str = "",
    ) -> None:
        request = self._request
        self._recorded = True
        self._recorded_at = self._loop.time()
        body = request.content()
        if seconds is None:
            end = self._left_at if error == CLIENT_LEFT and self._left_at is not None else time.monotonic()
            seconds = end - self._ended_at if self._ended_at is not None else 0.0
        self._line.record(
            Exchange(
                request.method, request.target, body, status, answer, seconds,
                by=request.by,
                fault=self._fault.value if self._fault is not None else "",
                error=error,
                body_size=request.body.size_beside(body),
                answer_size=None if answer_size == len(answer) else answer_size,
                cut=request.body.cut or (self._answer is not None and self._answer.body.cut),
                go_refuses=self._answer.go_refuses if self._answer is not None else "",
                location=self._answer.location if self._answer is not None else "",
            )
        )  # fmt: skip


def _ended(error: Exception | None) -> str:
    return (
        "the connection was closed" if error is None else f"the connection was closed: {error or type(error).__name__}"
    )


def _reason(error: OSError) -> str:
    """Why there is no connection to the server."""
    text = str(error) or type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in _OTHER_NAME:
        return f"{text}: Go's client, and so kube-scheduler, looks for the name in the subjectAltNames only"
    return text


_OTHER_NAME = (62, 64)
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH."""
