"""Sends real packets at chosen rates: run in a container, as `python3 -m schedproof.clusters.kind.traffic_engine`.

It sends from the network that it runs in, and swallows what others send to it. It ends with its standard input.

Protocol, one JSON object per line: it says {"address"} once; each {"rates": {address: bytes per second}} is
answered by {"ok"}.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time

from schedproof.traffic.fabric_engine import DISCARD, PACKET, TICK, Flow, discarding, sending


def say(message: dict[str, object]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def serve() -> None:
    sink = discarding("")
    flows: dict[str, Flow] = {}
    say({"address": socket.gethostbyname(socket.gethostname())})
    poller = select.poll()
    poller.register(0, select.POLLIN)
    pending = b""
    while True:
        busy = any(flow.rate for flow in flows.values())
        if poller.poll(TICK * 1000 if busy else None):
            received = os.read(0, PACKET)
            if not received:
                sink.close()
                return
            *lines, pending = (pending + received).split(b"\n")
            for line in lines:
                for address, rate in json.loads(line)["rates"].items():
                    flow = flows.setdefault(address, Flow(sending(), (address, DISCARD)))
                    flow.set_rate(rate)
                say({"ok": True})
        now = time.monotonic()
        for flow in flows.values():
            if flow.rate:
                flow.catch_up(now)


if __name__ == "__main__":
    serve()
