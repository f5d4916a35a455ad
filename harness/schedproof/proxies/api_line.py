"""A TCP proxy between a candidate and the apiserver. TLS stays end to end; the connections can be cut."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import TypeVar

_LOOPBACK = "127.0.0.1"
_CHUNK = 65_536
_T = TypeVar("_T")


class ApiLine:
    """A TCP proxy on loopback in front of one server.

    It runs in its own thread; call the methods from other threads.

    Args:
        upstream: host and port of the server.
        port: the port to listen on.
    """

    def __init__(self, upstream: tuple[str, int], port: int) -> None:
        self.port = port
        self._upstream = upstream
        self._is_cut = False
        self._open: set[asyncio.StreamWriter] = set()
        self._carried = 0
        self._passing: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="apiserver line", daemon=True)
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._welcome, _LOOPBACK, port))

    def cut(self) -> int:
        """Close all connections, and each new one at once, until `mend`. Return the number of connections so far."""
        return self._do(self._cut())

    def mend(self) -> None:
        """Forward new connections again."""
        self._is_cut = False

    def lead_to(self, upstream: tuple[str, int]) -> tuple[str, int]:
        """Forward new connections to another server (host and port). Return the previous server.

        Open connections stay where they are.
        """
        before, self._upstream = self._upstream, upstream
        return before

    def close(self) -> None:
        """Close all connections and free the port."""
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # -- in the proxy's own thread

    def _do(self, work: Coroutine[None, None, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _cut(self) -> int:
        self._is_cut = True
        for writer in self._open:
            writer.close()
        return self._carried

    async def _end(self) -> None:
        self._server.close()
        await self._cut()
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        task = self._loop.create_task(self._pass(reader, writer))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with self._until_cut(writer):
            try:
                answers, requests = await asyncio.open_connection(*self._upstream)
            except OSError:  # the client's connection is closed, as behind any proxy
                return
            with self._until_cut(requests):
                self._carried += 1
                ways = [self._loop.create_task(_copy(*way)) for way in ((reader, requests), (answers, writer))]
                # If one side is done, so is the other: neither client nor server half-closes an HTTP connection.
                _, left = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for way in left:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)

    @contextlib.contextmanager
    def _until_cut(self, writer: asyncio.StreamWriter) -> Iterator[None]:
        """Close this connection at a cut, or at the end of the context."""
        self._open.add(writer)
        try:
            yield
        finally:
            self._open.discard(writer)
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
