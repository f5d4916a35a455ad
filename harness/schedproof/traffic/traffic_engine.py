"""Sends real packets at chosen rates; run in a container as `python3 -m schedproof.traffic.traffic_engine [SECONDS]`.

It sends from its container's network, and discards packets that it receives. It ends when its standard input closes, or
if nothing has come from there in the first SECONDS.

Protocol, one JSON object per line: it writes {"address"} once; it answers each {"rates": {address: bytes per
second}} with {"ok"}.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time

from schedproof.traffic.fabric_engine import DISCARD, PACKET, TICK, Flow, discarding, sending


def write_line(message: dict[str, object]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def serve(seconds: float | None) -> None:
    sink = discarding("")
    flows: dict[str, Flow] = {}
    write_line({"address": socket.gethostbyname(socket.gethostname())})
    poller = select.poll()
    poller.register(0, select.POLLIN)
    pending = b""
    first = None if seconds is None else seconds * 1000
    while True:
        busy = any(flow.rate for flow in flows.values())
        if poller.poll(TICK * 1000 if busy else first):
            first = None
            received = os.read(0, PACKET)
            if not received:
                sink.close()
                return
            *lines, pending = (pending + received).split(b"\n")
            for line in lines:
                for address, rate in json.loads(line)["rates"].items():
                    flow = flows.setdefault(address, Flow(sending(), (address, DISCARD)))
                    flow.set_rate(rate)
                write_line({"ok": True})
        elif first is not None:
            return
        now = time.monotonic()
        for flow in flows.values():
            if flow.rate:
                flow.catch_up(now)


if __name__ == "__main__":
    serve(float(sys.argv[1]) if sys.argv[1:] else None)
