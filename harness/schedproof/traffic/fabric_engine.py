"""The network fabric of an embedded cluster: runs in the sandbox by `python -I -S`, with the standard library only.

It owns one network namespace for the fabric and one for each node, all unnamed and kept alive by its descriptors,
and sends real packets through the veth pairs between them at chosen rates.

Protocol on descriptor 3, one JSON object per packet, each answered by {"ok"} or {"error": text}:
  {"op": "add-node", "index", "device"}: the answer carries the namespace's descriptor
  {"op": "remove-node", "index"}
  {"op": "rates", "direction": "receive" or "transmit", "rates": {index: bytes per second}}
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import subprocess
import time
from typing import Any

CLONE_NEWNET = 0x40000000
PACKET = 1 << 20
# Bytes that the device counts for a datagram besides its payload: Ethernet 14, IPv4 20, UDP 8.
HEADERS = 42
LARGEST_FRAME, SMALLEST_FRAME = 1514, 60
TICK = 0.004
# At most this many seconds of arrears are sent at once; after a longer stall (a suspended laptop) none are.
ARREARS = 0.5
DISCARD = 9  # the port that RFC 863 reserves for data to be discarded

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def new_namespace() -> int:
    """Enter a new network namespace and return a descriptor that keeps it alive."""
    _check(_libc.unshare(CLONE_NEWNET))
    # Before any device exists: IPv6 would send router solicitations, which are not part of the load.
    for scope in ("all", "default"):
        try:
            with open(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6", "w") as file:
                file.write("1")
        except FileNotFoundError:
            pass  # a kernel without IPv6
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def enter(namespace: int) -> None:
    _check(_libc.setns(namespace, CLONE_NEWNET))


def ip(commands: list[str], descriptors: tuple[int, ...] = ()) -> None:
    """Run iproute2 in the current namespace."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    done = subprocess.run(
        ("ip", "-batch", "-"), input="\n".join(commands), capture_output=True, text=True, check=False,
        pass_fds=descriptors, env={"PATH": path},
    )  # fmt: skip
    if done.returncode:
        raise OSError(f"ip: {done.stderr.strip()}")


class Flow:
    """Packets from one end of a veth pair to the other."""

    def __init__(self, sender: socket.socket, address: tuple[str, int]) -> None:
        self.sender, self.address = sender, address
        self.rate, self.frame, self.payload = 0.0, SMALLEST_FRAME, b""
        self.since, self.sent = time.monotonic(), 0

    def set_rate(self, rate: float) -> None:
        self.rate, self.since, self.sent = rate, time.monotonic(), 0
        # Small frames at small rates, so that every scrape interval gets its share.
        self.frame = int(min(LARGEST_FRAME, max(SMALLEST_FRAME, rate / 200)))
        self.payload = bytes(self.frame - HEADERS)

    def catch_up(self, now: float) -> None:
        """Send what is due by `now`; the next call compensates for the rounding of this one."""
        due = self.rate * (now - self.since)
        if due - self.sent > self.rate * ARREARS + LARGEST_FRAME:
            self.since, self.sent, due = now, 0, 0.0
        while self.sent + self.frame <= due:
            try:
                self.sender.sendto(self.payload, self.address)
            except BlockingIOError:
                return
            self.sent += self.frame


def discarding(address: str) -> socket.socket:
    """Return a socket that never reads, in the current namespace: without it the kernel would respond with ICMP."""
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    sink.bind((address, DISCARD))
    return sink


def sending() -> socket.socket:
    """Return a socket that sends from the current namespace."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setblocking(False)
    return sender


class FabricEngine:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.namespace = new_namespace()
        ip(["link set lo up"])
        self.flows: dict[tuple[int, str], Flow] = {}
        self.namespaces: dict[int, int] = {}
        self.sinks: dict[int, tuple[socket.socket, ...]] = {}

    def add_node(self, index: int, device: str) -> int:
        # A /30 of 198.18.0.0/15, which RFC 2544 reserves for benchmarks, for each node.
        offset = (198 << 24) + (18 << 16) + index * 4
        ours, theirs = (socket.inet_ntoa((offset + end).to_bytes(4, "big")) for end in (1, 2))
        our_mac, their_mac = (f"02:00:00:{end:02x}:{index >> 8:02x}:{index & 255:02x}" for end in (1, 2))
        node = new_namespace()
        try:
            enter(self.namespace)
            peer = f"name {device} address {their_mac} netns /proc/self/fd/{node}"
            os.set_inheritable(node, True)
            # Static neighbours, so that no ARP packets are counted.
            ip(
                [
                    f"link add fabric{index} address {our_mac} type veth peer {peer}",
                    f"address add {ours}/30 dev fabric{index}",
                    f"link set fabric{index} up",
                    f"neighbour replace {theirs} lladdr {their_mac} dev fabric{index} nud permanent",
                ],
                (node,),
            )
            os.set_inheritable(node, False)
            our_sink, our_sender = discarding(ours), sending()
            enter(node)
            ip(
                [
                    "link set lo up",
                    f"address add {theirs}/30 dev {device}",
                    f"link set {device} up",
                    f"neighbour replace {ours} lladdr {our_mac} dev {device} nud permanent",
                ]
            )
            their_sink, their_sender = discarding(theirs), sending()
        finally:
            enter(self.namespace)
        self.flows[index, "receive"] = Flow(our_sender, (theirs, DISCARD))
        self.flows[index, "transmit"] = Flow(their_sender, (ours, DISCARD))
        self.sinks[index] = (our_sink, their_sink)
        self.namespaces[index] = node
        return node

    def remove_node(self, index: int) -> None:
        ip([f"link delete fabric{index}"])
        for direction in ("receive", "transmit"):
            self.flows.pop((index, direction)).sender.close()
        for sink in self.sinks.pop(index):
            sink.close()
        os.close(self.namespaces.pop(index))

    def answer(self, request: dict[str, Any]) -> list[int]:
        """Carry out a request. Return the descriptors to send with the answer."""
        if request["op"] == "add-node":
            return [self.add_node(request["index"], request["device"])]
        if request["op"] == "remove-node":
            self.remove_node(request["index"])
        else:
            for index, rate in request["rates"].items():
                self.flows[int(index), request["direction"]].set_rate(rate)
        return []

    def serve(self) -> None:
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        while True:
            busy = any(flow.rate for flow in self.flows.values())
            if poller.poll(TICK * 1000 if busy else None):
                packet = self.control.recv(PACKET)
                if not packet:
                    return
                reply: dict[str, Any] = {"ok": True}
                descriptors: list[int] = []
                try:
                    descriptors = self.answer(json.loads(packet))
                except OSError as error:
                    reply = {"error": str(error)}
                socket.send_fds(self.control, [json.dumps(reply).encode()], descriptors)
            now = time.monotonic()
            for flow in self.flows.values():
                if flow.rate:
                    flow.catch_up(now)


if __name__ == "__main__":
    FabricEngine(socket.socket(fileno=3)).serve()
