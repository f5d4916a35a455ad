"""HTTP/2 over TLS for clients that speak HTTP/1.1: one translation for the taps, and for requests of the harness.

Go's clients, such as kube-scheduler's for extenders and a kubelet's for probes, offer HTTP/2 to every server behind
TLS, and some servers speak nothing else. The framing is h2's; what Go's client accepts differs from it in places, which
are named below (golang.org/x/net/http2: transport.go).
"""

from __future__ import annotations

import re
import ssl
import struct
from collections.abc import Iterable
from http.client import responses
from typing import Any

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import h11
import hpack

ALPN = ("h2", "http/1.1")
"""What Go's client offers, in this order; the server chooses."""
_FRAME_HEAD = 9
LONGEST_FRAME = 16_384
"""Bytes: the default of SETTINGS_MAX_FRAME_SIZE, which Go's client keeps."""
_GOAWAY = 7
"""The type of the frame (RFC 9113, 6.8)."""
_WINDOW = 4 << 20
"""Bytes of a response that the server may send ahead, as Go's client allows (transportDefaultStreamFlow)."""
_LONGEST_HEAD = 10 << 20
"""Bytes: the limit of Go's client (maxHeaderListSize)."""
_LONGEST_REQUEST_HEAD = 1 << 20
_HOP_BY_HOP = (b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+\Z")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_STATUS = re.compile(rb"[1-9][0-9]{2}\Z")
_BODILESS = (204, 304)
_LENGTH = b"content-length"
_GIVEN_LENGTH = b"x-given-length"
_PROCESSED_NOTHING = (h2.errors.ErrorCodes.REFUSED_STREAM, h2.errors.ErrorCodes.PROTOCOL_ERROR)
"""Go's client repeats a request that its server reset with these (canRetryError)."""


def speaks_http2(tls: ssl.SSLObject | ssl.SSLSocket | None) -> bool:
    """Whether the server has chosen HTTP/2."""
    return tls is not None and tls.selected_alpn_protocol() == "h2"


class _Decoder(hpack.Decoder):
    """Keeps the Content-Length from h2, which ends the connection over a wrong one.

    Go's client ignores what is no number, and reads what comes of a body of another length.
    """

    def decode(self, data: bytes, raw: bool = False) -> list[Any]:
        fields = super().decode(data, raw)
        return [(_GIVEN_LENGTH, field[1]) if field[0] == _LENGTH else field for field in fields]


class Http2Client:
    """The client's side of one HTTP/2 connection, for requests and responses in HTTP/1.1, one at a time. No I/O.

    Requests get no priority and no padding; pushed responses are refused; trailers and interim responses are kept.
    """

    def __init__(self) -> None:
        config = h2.config.H2Configuration(
            client_side=True, header_encoding=None, validate_inbound_headers=False, normalize_outbound_headers=False
        )
        self._connection = h2.connection.H2Connection(config)
        self._connection.local_settings = h2.settings.Settings(
            client=True,
            initial_values={
                h2.settings.SettingCodes.ENABLE_PUSH: 0,
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW,
                h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: _LONGEST_HEAD,
            },
        )
        self._connection.decoder = _Decoder()
        self._connection.decoder.max_header_list_size = _LONGEST_HEAD
        self._connection.initiate_connection()
        self._connection.increment_flow_control_window(_WINDOW)
        self._received = bytearray()
        self.sent = bytearray()
        """The current request as given to `send`, until its response begins."""
        self.refused = False
        """Whether the server has not processed the current request, which may be sent on another connection."""
        self.closing = False
        """Whether the server accepts no further request on this connection."""
        self.error = ""
        """Why the connection, or its request, cannot go on; "" if it can."""
        self.refused_here = False
        """Whether it is h2 that cannot go on: its rules are not all those of Go's client."""
        self.farewell = ""
        """The GOAWAY with which the server announces the end of the connection, if there was one."""
        self._begin_next()

    def _begin_next(self) -> None:
        self._request = h11.Connection(h11.SERVER, max_incomplete_event_size=_LONGEST_REQUEST_HEAD)
        self._stream = 0
        self._method = b""
        self._body = bytearray()
        self._request_complete = self._request_sent = False
        self._responding = False
        self._chunked = False
        self._left: int | None = None
        self._responded = False
        self._repeated = False

    def send(self, data: bytes) -> None:
        """Take bytes of an HTTP/1.1 request. It begins a new request if the previous one has ended both ways."""
        if self._responded and self._request_complete:
            self._begin_next()
        if not self._responding:
            self.sent += data
        self._request.receive_data(data)
        try:
            while not self._request_complete and self._take(self._request.next_event()):
                pass
        except h11.RemoteProtocolError as error:
            self._fail(f"a request that HTTP/2 cannot carry: {error}")
        self._send_body()

    def _take(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> bool:
        """Handle a part of the request. Return whether there may be more without more bytes."""
        if isinstance(event, h11.Request):
            self._open(event)
        elif isinstance(event, h11.Data):
            self._body += event.data
        elif isinstance(event, h11.EndOfMessage):
            self._request_complete = True
        else:
            return False
        return True

    def _open(self, request: h11.Request) -> None:
        self._method = request.method
        fields = list(request.headers)
        authority = next((value for name, value in fields if name == b"host"), b"")
        try:
            self._stream = self._connection.get_next_available_stream_id()
            self._connection.send_headers(
                self._stream,
                [
                    (b":method", request.method), (b":scheme", b"https"), (b":authority", authority),
                    (b":path", request.target), *((name, value) for name, value in fields if _is_end_to_end(name)),
                ],
            )  # fmt: skip
        except h2.exceptions.ProtocolError as error:
            self.refused = True  # for instance, the server admits no stream now
            self._fail(str(error))

    def _send_body(self) -> None:
        """Send as much of the body as the server admits, and then the end of the request."""
        if not self._stream or self.error or self._responded:
            return
        room = min(self._connection.local_flow_control_window(self._stream), len(self._body))
        most = self._connection.max_outbound_frame_size
        while room > 0:
            piece = bytes(self._body[: min(room, most)])
            del self._body[: len(piece)]
            room -= len(piece)
            self._connection.send_data(self._stream, piece)
        if self._request_complete and not self._body and not self._request_sent:
            self._connection.end_stream(self._stream)
            self._request_sent = True

    def data_to_send(self) -> bytes:
        """Return the frames to be written to the server."""
        return bytes(self._connection.data_to_send())

    def receive(self, data: bytes) -> bytes:
        """Take bytes of the server. Return the part of the HTTP/1.1 response that they hold."""
        self._received += data
        response = bytearray()
        while len(self._received) >= _FRAME_HEAD and not self.error:
            if self._received.startswith(b"HTTP/"):
                self._fail("the server has chosen it, and responds in HTTP/1")
                break
            length = int.from_bytes(self._received[:3], "big")
            if length > LONGEST_FRAME:
                self._fail("a frame that is longer than the client allows")
                break
            frame = bytes(self._received[: _FRAME_HEAD + length])
            if len(frame) < _FRAME_HEAD + length:
                break
            del self._received[: len(frame)]
            response += self._take_frame(frame)
        return bytes(response)

    def _take_frame(self, frame: bytes) -> bytes:
        if frame[3] == _GOAWAY:
            # For h2 the connection ends here; but responses to the streams before it still arrive.
            last, code = struct.unpack_from(">II", frame.ljust(_FRAME_HEAD + 8, b"\0"), _FRAME_HEAD)
            self._be_told_to_go(last & 0x7FFFFFFF, code)
            return b""
        try:
            events = self._connection.receive_data(frame)
        except h2.exceptions.ProtocolError as error:
            self.refused_here = True
            self._fail(str(error))
            return b""
        response = b"".join(self._translate(event) for event in events)
        if not self.error:
            self._send_body()
        return response

    def _be_told_to_go(self, last: int, code: int) -> None:
        self.closing = True
        self.farewell = f"HTTP/2: GOAWAY with error code {code}"
        if self._stream and not self._responded and self._stream > last:
            self.refused = not self._responding
            self._fail(f"GOAWAY with error code {code}")

    def _translate(self, event: h2.events.Event) -> bytes:
        if isinstance(event, h2.events.StreamReset) and not self._responded:
            self._take_reset(int(event.error_code or 0))
        elif isinstance(event, h2.events.InformationalResponseReceived):
            return self._head(event.headers or (), interim=True)
        elif isinstance(event, h2.events.ResponseReceived):
            self._responding = True
            self.sent.clear()
            return self._head(event.headers or ())
        elif isinstance(event, h2.events.DataReceived):
            self._connection.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
            return self._content(event.data or b"")
        elif isinstance(event, h2.events.TrailersReceived):
            return self._end(_lines(event.headers or ()))
        elif isinstance(event, h2.events.StreamEnded) and not self._responded:
            return self._end()
        return b""

    def _take_reset(self, code: int) -> None:
        self.refused = code in _PROCESSED_NOTHING and not self._responding
        here = code == h2.errors.ErrorCodes.REFUSED_STREAM and not self.closing
        if self.refused and here and self._request_complete and not self._repeated:
            sent = bytes(self.sent)
            self.sent.clear()
            self._begin_next()
            self._repeated = True
            self.refused = False
            self.send(sent)
        else:
            self._fail(f"RST_STREAM with error code {code}")

    def _head(self, headers: Iterable[tuple[bytes, bytes]], *, interim: bool = False) -> bytes:
        fields = list(headers)
        wrong = next((name for name, value in fields if not _is_valid(name, value)), None)
        status = next((value for name, value in fields if name == b":status"), b"")
        if wrong is not None or not _STATUS.match(status):  # Go's client refuses it as well
            self._fail("no valid status" if wrong is None else f"an invalid header {wrong.decode('latin-1')!r}")
            return b""
        rest = _lines(fields)
        if not interim and self._method != b"HEAD" and int(status) not in _BODILESS:
            lengths = [value for name, value in fields if name == _GIVEN_LENGTH]
            self._left = int(lengths[0]) if len(lengths) == 1 and lengths[0].isdigit() else None
            self._chunked = self._left is None
            rest += b"Transfer-Encoding: chunked\r\n" if self._left is None else b"Content-Length: %d\r\n" % self._left
        return b"HTTP/1.1 %b %b\r\n%b\r\n" % (status, responses.get(int(status), "-").encode(), rest)

    def _content(self, data: bytes) -> bytes:
        if self._left is None:
            return b"%x\r\n%b\r\n" % (len(data), data) if self._chunked and data else b""
        if len(data) > self._left:
            self._fail("more content than its Content-Length")
        data = data[: self._left]
        self._left -= len(data)
        return data

    def _end(self, trailers: bytes = b"") -> bytes:
        self._responded = True
        if not self._request_sent:
            self._connection.reset_stream(self._stream, h2.errors.ErrorCodes.CANCEL)
        if self._left:
            self._fail("less content than its Content-Length")
        return b"0\r\n%b\r\n" % trailers if self._chunked else b""

    def _fail(self, error: str) -> None:
        self.error = self.error or f"HTTP/2: {error}"
        self.closing = True


def _is_end_to_end(name: bytes) -> bool:
    return name != b"host" and name not in _HOP_BY_HOP


def _is_valid(name: bytes, value: bytes) -> bool:
    return _NAME.match(name.removeprefix(b":")) is not None and _CONTROL.search(value) is None


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the fields of a head or of trailers, without those that HTTP/2 does not have, as HTTP/1.1."""
    return b"".join(
        b"%b: %b\r\n" % (name, value)
        for name, value in headers
        if not name.startswith(b":") and name not in (*_HOP_BY_HOP, _GIVEN_LENGTH)
    )
