"""Resumable downloads over HTTP, and checks whether a server is reachable."""

from __future__ import annotations

import contextlib
import http
import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from schedproof.foundation.deadlines import Deadline

SERVER_REACHED = Deadline("release server reached", 2, "a TLS handshake takes tenths of a second; a build waits for it")
SERVER_STALLED = Deadline("release server stalled", 20, "after so long without data, no more is expected")

_ATTEMPTS = 5  # each resumes where the previous attempt stopped
_CHUNK = 1 << 16
_LARGEST_TEXT = 1 << 20
_GATEWAY_ERRORS = frozenset({407, 502, 503, 504})  # responses of a proxy that cannot reach the server


class DownloadError(Exception):
    """A download failed, or its content is wrong.

    Attributes:
        unreachable: whether the server, or the server of a redirect, did not respond or stopped responding.
    """

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, except from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise DownloadError(f"{req.full_url} redirects to {newurl}, which is not encrypted")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


# -- whether servers can be reached

_state: dict[str, str] = {}
"""Servers that this process has tried, and why they are unreachable; "" for reachable servers."""


def unreachable(origins: Iterable[str]) -> Mapping[str, str]:
    """Return which servers do not respond at once, and why. All are tried in parallel, each once per process.

    Unresolvable names and dropped packets take at most `SERVER_REACHED`, too.
    """
    origins = set(origins)
    untried = sorted(origins - set(_state))
    answers: dict[str, str] = {}
    # Daemon threads: a name look-up cannot be interrupted, and must not delay the exit.
    threads = [threading.Thread(target=_try, args=(origin, answers), daemon=True) for origin in untried]
    end = time.monotonic() + SERVER_REACHED.seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    for origin in untried:
        why = answers.get(origin, f"no answer within {SERVER_REACHED.seconds:g} s")
        _state[origin] = f"{origin} cannot be reached: {why}" if why else ""
    return {origin: _state[origin] for origin in origins if _state[origin]}


def known_unreachable(origin: str) -> str:
    """Return why a server is unreachable, as far as this process knows; "" if it may be reachable."""
    return _state.get(origin, "")


def mark_unreachable(origin: str, why: str) -> None:
    """Remember in this process that a server, or the server of a redirect, is unreachable."""
    _state[origin] = why


def _try(origin: str, answers: dict[str, str]) -> None:
    opener = urllib.request.build_opener(_NoRedirects)
    request = urllib.request.Request(f"{origin}/", method="HEAD")  # noqa: S310 - http or https, as the lock has it
    try:
        opener.open(request, timeout=SERVER_REACHED.seconds).close()
        answers[origin] = ""
    except urllib.error.HTTPError as error:
        answers[origin] = f"{error.code} {error.reason}" if error.code in _GATEWAY_ERRORS else ""
    except (OSError, ValueError, http.client.HTTPException) as error:
        answers[origin] = _reason(error)


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    text = reason.strerror if isinstance(reason, OSError) else ""
    return text or str(reason) or type(reason).__name__


# -- downloads


def fetch_text(url: str) -> str:
    """Return a small text, such as a file of checksums.

    Raises:
        DownloadError: it is unavailable, or too large.
    """
    with _opened(url) as response:
        text = b"".join(_chunks(url, response, limit=_LARGEST_TEXT))
        if (length := _length(response)) is not None and len(text) < length:
            raise DownloadError(f"{url} ends after {len(text)} of {length} bytes")
    return text.decode(errors="replace")


def fetch_file(url: str, part: Path, advance: Callable[[int, int], None]) -> None:
    """Complete the file `part`, which may have content of an interrupted call.

    A broken connection is resumed where it broke. `part` is kept in any case.

    Args:
        url: of the file.
        part: the path to write to.
        advance: called with the bytes so far, and the total bytes (0: unknown).

    Raises:
        DownloadError: the file is unavailable.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        before = _size(part)
        try:
            _continue(url, part, advance)
        except DownloadError:
            # Give up if the last attempt got no more data.
            if attempt == _ATTEMPTS or _size(part) <= before:
                raise
        else:
            return


def _continue(url: str, part: Path, advance: Callable[[int, int], None]) -> None:
    have = _size(part)
    with _opened(url, have) as response:
        if have and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            have = 0  # the server sends the whole file
        length = _length(response)
        total = have + length if length is not None else 0
        with part.open("ab" if have else "wb") as file:
            advance(have, total)
            for chunk in _chunks(url, response):
                file.write(chunk)
                have += len(chunk)
                advance(have, total)
    if have < total:
        raise DownloadError(f"{url} ends after {have} of {total} bytes")


@contextlib.contextmanager
def _opened(url: str, begin: int = 0) -> Iterator[http.client.HTTPResponse]:
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={begin}-"} if begin else {})}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http or https, as the lock has it
    try:
        response = urllib.request.build_opener(_Redirects).open(request, timeout=SERVER_STALLED.seconds)
    except urllib.error.HTTPError as error:
        error.close()
        if begin and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            # `part` is larger than the file: start again.
            with _opened(url) as response:
                yield response
            return
        raise DownloadError(f"{url}: the server responds {error.code} {error.reason}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DownloadError(f"{url} cannot be reached: {_reason(error)}", unreachable=True) from error
    with response:
        yield response


def _chunks(url: str, response: http.client.HTTPResponse, limit: float = float("inf")) -> Iterator[bytes]:
    """Yield the response in chunks; only errors of reading are raised as DownloadError, not those of the caller."""
    arrived = 0
    while True:
        try:
            chunk = response.read1(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise DownloadError(
                f"{url} stopped after {arrived} bytes: {_reason(error)}", unreachable=isinstance(error, TimeoutError)
            ) from error
        if not chunk:
            return
        arrived += len(chunk)
        if arrived > limit:
            raise DownloadError(f"{url} is larger than {limit:g} bytes")
        yield chunk


def _length(response: http.client.HTTPResponse) -> int | None:
    text = response.headers.get("Content-Length", "")
    return int(text) if text.isdecimal() else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
