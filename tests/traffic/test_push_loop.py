"""Samples are pushed until the loop is closed, or the server is gone."""

from __future__ import annotations

import threading

from schedproof.traffic.push_loop import PushLoop

SECONDS = 30


def test_a_push_loop_pushes_until_it_is_closed() -> None:
    pushed = threading.Semaphore(0)
    loop = PushLoop(pushed.release, 0.001, name="test")
    assert all(pushed.acquire(timeout=SECONDS) for _ in range(3))
    loop.close()
    while pushed.acquire(blocking=False):
        pass
    assert not any(thread.name == "test" for thread in threading.enumerate())
    assert not loop.failure


def test_a_push_loop_ends_once_the_server_is_gone() -> None:
    calls = []

    def push() -> None:
        calls.append(threading.current_thread())
        tried.set()
        raise ConnectionRefusedError

    tried = threading.Event()
    loop = PushLoop(push, 0.001, name="test")
    assert tried.wait(SECONDS)
    calls[0].join(SECONDS)
    assert not calls[0].is_alive()
    loop.close()
    assert len(calls) == 1
    assert "ConnectionRefused" in loop.failure
