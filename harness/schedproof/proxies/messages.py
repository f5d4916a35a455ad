"""Reads HTTP/1 messages while their bytes pass: where they end, and what the record needs of them. No I/O.

The parser is h11. The tap forwards bytes that h11 cannot parse: the candidate and its server decide about them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import h11

from schedproof.daemons.password import USER, authorization
from schedproof.proxies.codings import decoded, is_encoded, offered
from schedproof.proxies.exchange import HARNESS, KEPT

_LONGEST_REQUEST_HEAD = 1 << 20
"""Bytes: the limit of Go's servers (DefaultMaxHeaderBytes). Beyond that the server decides."""
_LONGEST_HEAD = 10 << 20
"""Bytes: the limit of Go's client for the head of a response (Transport.MaxResponseHeaderBytes)."""
_BLANK_LINE = re.compile(rb"\n\r?\n")
_HEADER = re.compile(rb"^([^:\r\n]+):([^\r\n]*)", re.MULTILINE)
_LOOSE_LINE = re.compile(rb"^(HTTP/1\.[01] ) +")
_LOOSE_HEADER = re.compile(rb"^[!-9;-~]+[ \t]+:[^\n]*\n", re.MULTILINE)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


class Kept:
    """The first bytes of a body, and the size of the whole body."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if len(self.data) < KEPT:
            self.data += piece[: KEPT - len(self.data)]

    @property
    def cut(self) -> bool:
        return self.size > len(self.data)

    def size_beside(self, content: bytes) -> int | None:
        """Return the size of the body, or None if it equals that of the decoded `content`."""
        return None if self.size == len(content) else self.size


class _MessageReader:
    """Parses one request or response with h11, until it is `complete` or no longer `readable`."""

    def __init__(self, parser: h11.Connection) -> None:
        self._parser = parser
        self.body = Kept()
        self.complete = False
        self.readable = True

    def _parse(self, data: bytes) -> bool:
        """Parse more bytes. Return whether the message is still readable."""
        self._parser.receive_data(data)
        try:
            while not self.complete and self._take(self._parser.next_event()):
                pass
        except h11.RemoteProtocolError:
            self.readable = False
        return self.readable

    def _take(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> bool:
        """Handle an event. Return whether the parser may have more events without more bytes."""
        if isinstance(event, h11.Data):
            self.body.add(event.data)
        elif isinstance(event, h11.EndOfMessage):
            self.complete = True
        elif isinstance(event, h11.Request | h11.Response | h11.InformationalResponse):
            self._take_head(event)
        else:
            return False
        return True

    def _take_head(self, head: h11.Request | h11.Response | h11.InformationalResponse) -> None:
        raise NotImplementedError


class RequestReader(_MessageReader):
    """Parses one request. `head` is None until it has arrived, and stays None if it is not `readable` as HTTP/1."""

    def __init__(self) -> None:
        super().__init__(h11.Connection(h11.SERVER, max_incomplete_event_size=_LONGEST_REQUEST_HEAD))
        self._start = bytearray()
        self._raw_head = b""
        self.head: h11.Request | None = None
        self._fields: Mapping[bytes, str] = {}

    @property
    def begun(self) -> bool:
        """Whether the head has arrived, or is known not to be readable."""
        return self.head is not None or not self.readable

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """Read bytes. Return those of the body, as on the wire, and those after the end of the request.

        If the request is not readable, return all bytes, including those of the head.
        """
        begun = self.begun
        parsed = data
        if not begun:
            if b"\n" not in self._start:
                parsed = _with_ascii_line(data)
            self._start += data
        if self.readable:
            self._parse(parsed)
        if not begun:
            if not self.begun:
                return b"", b""
            blank = _BLANK_LINE.search(self._start) if self.head is not None else None
            end = blank.end() if blank is not None else 0
            self._raw_head, data = bytes(self._start[:end]), bytes(self._start[end:])
        left = self._parser.trailing_data[0] if self.complete else b""
        return data[: len(data) - len(left)], left

    def _take_head(self, head: h11.Request | h11.Response | h11.InformationalResponse) -> None:
        assert isinstance(head, h11.Request)
        self.head = head
        self._fields = _fields(head)

    def content(self) -> bytes:
        """Return the kept content, decoded."""
        encoding = self.header(b"content-encoding")
        return decoded(bytes(self.body.data), encoding, KEPT) if encoding else bytes(self.body.data)

    # -- the head

    def header(self, name: bytes) -> str:
        """Return the values of a header, joined by commas; "" if it is absent."""
        return self._fields.get(name, "")

    @property
    def method(self) -> str:
        return self._line()[0]

    @property
    def target(self) -> str:
        return self._line()[1]

    def _line(self) -> tuple[str, str]:
        if self.head is not None:
            return self.head.method.decode(), self.head.target.decode()
        words = bytes(self._start[:_QUOTED]).decode("latin-1").split("\r\n", 1)[0].split(" ")
        return words[0], words[1] if len(words) > 1 else ""

    @property
    def by(self) -> str:
        """The marker of a request of the harness itself, otherwise ""."""
        return self.header(_HARNESS_HEADER)

    @property
    def expects(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends the body."""
        return self.header(b"expect").lower() == "100-continue"

    @property
    def closes(self) -> bool:
        """Whether the client accepts no further response on this connection."""
        connection = self.header(b"connection").lower()
        old = self.head is not None and self.head.http_version < b"1.1"
        return "close" in connection or (old and "keep-alive" not in connection)

    def head_for(self, upstream: str) -> bytes:
        """Return the head for the server: with its own Host, and with the credentials of its URL.

        If the URL has a path, the request's target is put below it.
        """
        assert self.head is not None
        base = urlsplit(upstream)
        line, rest = self._raw_head.split(b"\n", 1)
        if self.head.target.startswith(b"/") and (path := base.path.rstrip("/").encode()):
            line = line.replace(b"/", path + b"/", 1)
        rest = _HOST.sub(lambda found: found[1] + base.netloc.rpartition("@")[2].encode(), rest)
        rest = _MARK.sub(b"", rest)
        if base.username == USER:
            rest = _AUTHORIZATION.sub(b"", rest)  # a server of the harness accepts only the harness's credentials
        if base.username == USER or not self.header(b"authorization"):
            ours = (f"{name}: {value}\r\n".encode() for name, value in authorization(upstream).items())
            rest = b"".join(ours) + rest
        return line + b"\n" + rest


class AnswerReader(_MessageReader):
    """Parses the response to one request, including interim responses. `head` is that of the final response."""

    def __init__(self, request: RequestReader) -> None:
        super().__init__(_expecting(request))
        self._request = request
        self.head: h11.Response | h11.InformationalResponse | None = None
        self.switched = False
        self.interim = False
        """Whether a response with a status below 200 has arrived."""
        self.flaw = ""
        """What has arrived instead of a response."""
        self._raw = bytearray()
        """All bytes up to and including the final head."""

    def feed(self, data: bytes) -> None:
        """Read bytes; b"" means the end of the connection, which may end the response."""
        if self.complete:
            return
        if self.readable and not isinstance(self.head, h11.Response):
            self._raw += data
        if not self.readable:
            self.body.add(data)
            return
        if not self._parse(data) and not self._parse_loosely():
            self.body.add(data)
            if self._raw and (data or not self._raw.startswith(b"HTTP/")):  # otherwise only its end is missing
                self.flaw = f"the response is not HTTP/1.1{_instead(bytes(self._raw[:_SHOWN]))}"

    def _parse_loosely(self) -> bool:
        """Parse again without blanks where h11 refuses them. Return whether that is readable.

        Go's client skips them before the status, and reads a header with a blank before the colon as one with another
        name.
        """
        blank = _BLANK_LINE.search(self._raw)
        if self.head is not None or blank is None:
            return False
        head = _LOOSE_LINE.sub(rb"\1", self._raw[: blank.end()])
        plain = _LOOSE_HEADER.sub(b"", head) + self._raw[blank.end() :]
        if plain == self._raw:
            return False
        self._parser = _expecting(self._request)
        self.readable = True
        return self._parse(plain)

    def _take_head(self, head: h11.Request | h11.Response | h11.InformationalResponse) -> None:
        assert not isinstance(head, h11.Request)
        if isinstance(head, h11.Response):
            self.head = head
        else:
            self.interim = True
            self.head = head if head.status_code == _SWITCHING else None
        if self._parser.their_state is h11.SWITCHED_PROTOCOL:
            self.complete = self.switched = True

    @property
    def status(self) -> int:
        return self.head.status_code if self.head is not None else 0

    def content(self) -> bytes:
        """Return the kept content, decoded if the request accepts its coding."""
        return decoded(bytes(self.body.data), self._encoding, KEPT, accepted=self._accepted)

    @property
    def _encoding(self) -> str:
        return _fields(self.head).get(b"content-encoding", "") if self.head is not None else ""

    @property
    def _accepted(self) -> frozenset[str]:
        return offered(self._request.header(b"accept-encoding"))

    @property
    def go_refuses(self) -> str:
        """Why a Go client cannot read the content although this class can; "" if it can.

        Sources: net/textproto (validHeaderValueByte), net/http (parseContentLength; gzipReader, for content that the
        client has requested encoded).
        """
        head = _BLANK_LINE.split(bytes(self._raw), maxsplit=1)[0]
        for name, value in _HEADER.findall(head):
            if _CONTROL.search(value):
                return f"a control character in its {name.decode('latin-1')} header"
            if name.lower() == b"content-length" and b"," in value:
                return "a list of lengths in its Content-Length header"
        if "x-gzip" in self._encoding.lower():
            return "its content has the coding x-gzip, which Go's client does not undo"
        if self._encoding and not is_encoded(bytes(self.body.data), self._encoding, accepted=self._accepted):
            return f"its content is not {self._encoding}"
        return ""

    @property
    def location(self) -> str:
        """Where a client sends the same request again; "" if nowhere."""
        return _fields(self.head).get(b"location", "") if self.head is not None and self.status in _REPEATED else ""

    @property
    def redirects(self) -> bool:
        """Whether the final response is a redirect, as far as it has arrived."""
        return self.readable and (300 <= self.status < 400 if self.head is not None else self._raw[9:10] == b"3")

    def half(self) -> tuple[bytes, bytes]:
        """Return the response with half of its content, unencoded, and that half; unchanged if it has no content."""
        assert self.head is not None
        content, headers = b"", self.head.headers.raw_items()
        if self._request.method != "HEAD" and self.head.status_code not in _BODILESS:
            content = self.content()
            content = content[: len(content) // 2]
            headers = [item for item in headers if item[0].lower() not in _FRAMING]
            headers.append((b"Content-Length", b"%d" % len(content)))
        lines = [b"HTTP/%b %d %b" % (self.head.http_version, self.head.status_code, self.head.reason)]
        lines += [b"%b: %b" % item for item in headers]
        return b"\r\n".join(lines) + b"\r\n\r\n" + content, content


_HARNESS_HEADER = HARNESS.lower().encode()
_MARK = re.compile(rb"^%b:[^\n]*\n" % _HARNESS_HEADER, re.MULTILINE | re.IGNORECASE)
_AUTHORIZATION = re.compile(rb"^authorization:[^\n]*\n", re.MULTILINE | re.IGNORECASE)
_HOST = re.compile(rb"^(host:[ \t]*)[^\r\n]*", re.MULTILINE | re.IGNORECASE)
_LOCATION = re.compile(rb"^(location:[ \t]*)([^\r\n]*)", re.MULTILINE | re.IGNORECASE)
_REPEATED = (307, 308)
_QUOTED = 200
_SHOWN = 40
_SETTINGS = b"\4\0\0\0\0\0"
"""Type, flags and stream of the frame with which HTTP/2 begins."""
_TLS = (b"\x15\x03", b"\x16\x03")
"""An alert, and a handshake."""
_SWITCHING = 101
_BODILESS = (_SWITCHING, 204, 304)
_FRAMING = (b"content-length", b"transfer-encoding", b"content-encoding", b"trailer")


def _instead(beginning: bytes) -> str:
    """What a response is that is not HTTP/1.1."""
    if beginning[3:9] == _SETTINGS:
        return ", but HTTP/2, which it did not choose in the TLS handshake (ALPN)"
    if beginning[:2] in _TLS:
        return ", but TLS, which is not configured (enableHTTPS)"
    return f": it begins with {beginning!r}"


def _with_ascii_line(data: bytes) -> bytes:
    """Return the beginning of a request with its first line percent-encoded where it is not ASCII.

    h11 refuses what Go's servers accept there, and what some clients send: a query in UTF-8.
    """
    line, end, rest = data.partition(b"\n")
    return _NOT_ASCII.sub(lambda found: b"%%%02X" % found[0][0], line) + end + rest


def led_back(head: bytes, server: str, tap: str) -> bytes:
    """Return the head of a redirect so that it leads to the tap, if it leads to the server's own URL.

    Otherwise the client would go past the tap, and with TLS refuse a certificate that is not the tap's.
    """
    base = urlsplit(server)
    origin = f"//{base.netloc.rpartition('@')[2]}"
    ours = tap.partition(":")[2]

    def lead(found: re.Match[bytes]) -> bytes:
        location = found[2].decode("latin-1")
        for prefix in (f"{base.scheme}:{origin}", origin):
            if location == prefix or location.startswith((f"{prefix}/", f"{prefix}?")):
                begin = tap if prefix != origin else ours
                return found[1] + (begin + location[len(prefix) :]).encode("latin-1")
        return found[0]

    return _LOCATION.sub(lead, head, count=1)


def _expecting(request: RequestReader) -> h11.Connection:
    """Return a parser for the response to a request."""
    parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)
    parser.send(_asked(request.head.method if request.head is not None else b"GET", request.header(b"upgrade")))
    return parser


@functools.lru_cache(maxsize=64)
def _asked(method: bytes, upgrade: str) -> h11.Request:
    """Return a request with only the parts that determine where its response ends."""
    headers = [("Host", "x"), *((("Upgrade", upgrade), ("Connection", "Upgrade")) if upgrade else ())]
    return h11.Request(method=method, target=b"/", headers=headers)


def _fields(head: h11.Request | h11.Response | h11.InformationalResponse) -> Mapping[bytes, str]:
    """Return the values of each header, joined by commas; names in lower case."""
    fields: dict[bytes, str] = {}
    for name, value in head.headers:
        text = value.decode("latin-1")
        fields[name] = f"{fields[name]}, {text}" if name in fields else text
    return fields
