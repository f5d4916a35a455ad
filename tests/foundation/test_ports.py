"""Ports are reserved across all harnesses of a machine, and released however a harness ends."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from schedproof.foundation.errors import HostError
from schedproof.foundation.processes import ports as module
from schedproof.foundation.processes.ports import Ports, listening_socket


@pytest.fixture
def ports() -> Iterator[Ports]:
    reserved = Ports()
    yield reserved
    reserved.close()


@pytest.fixture
def other_ports() -> Iterator[Ports]:
    """The ports of another harness on this machine."""
    reserved = Ports()
    yield reserved
    reserved.close()


def only(monkeypatch: pytest.MonkeyPatch, *, first: int, last: int) -> None:
    """Leave no other ports on this machine than from `first` up to, but not including, `last`."""
    monkeypatch.setattr(module, "_FIRST", first)
    monkeypatch.setattr(module, "_LAST", last)


def test_no_port_is_reserved_twice(ports: Ports, other_ports: Ports) -> None:
    given = [harness.reserve() for _ in range(20) for harness in (ports, other_ports)]
    assert len(set(given)) == len(given)


def test_ports_are_below_the_ephemeral_range_of_the_kernel(ports: Ports) -> None:
    assert all(20_000 <= ports.reserve() < 32_000 for _ in range(20))


def test_a_reserved_port_can_be_listened_on_at_once(ports: Ports) -> None:
    with socket.create_server(("127.0.0.1", ports.reserve())):
        pass


def test_a_port_in_use_is_not_reserved(ports: Ports, monkeypatch: pytest.MonkeyPatch) -> None:
    port = ports.reserve()
    ports.close()
    only(monkeypatch, first=port, last=port + 1)
    with socket.create_server(("127.0.0.1", port)), pytest.raises(HostError, match="no free port between"):
        ports.reserve()


def test_a_port_is_checked_at_the_requested_address(ports: Ports, monkeypatch: pytest.MonkeyPatch) -> None:
    port = ports.reserve()
    ports.close()
    only(monkeypatch, first=port, last=port + 1)
    with socket.create_server(("127.0.0.2", port)):
        with pytest.raises(HostError):
            ports.reserve("127.0.0.2")
        assert ports.reserve("127.0.0.3") == port


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_a_port_that_listens_on_any_or_loopback_address_is_refused(ports: Ports, address: str) -> None:
    port = ports.reserve()
    ports.close()
    with socket.create_server((address, port)), pytest.raises(HostError):
        ports.reserve_exactly(port, wanted_by="candidate.yaml")


def test_if_all_ports_are_reserved_the_error_names_the_range(
    ports: Ports, other_ports: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = other_ports.reserve()
    only(monkeypatch, first=port, last=port + 1)
    with pytest.raises(HostError, match=f"no free port between {port} and {port + 1}"):
        ports.reserve()


def test_an_exact_port_is_reserved(ports: Ports, other_ports: Ports) -> None:
    port = other_ports.reserve()
    other_ports.close()
    assert ports.reserve_exactly(port, wanted_by="candidate.yaml") == port
    with pytest.raises(HostError):
        other_ports.reserve_exactly(port, wanted_by="candidate.yaml")


def test_an_exact_port_in_use_is_refused_and_the_error_names_the_setting(ports: Ports) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(HostError) as caught:
            ports.reserve_exactly(port, wanted_by="candidate.yaml: spec.extender.port")
    assert caught.value.message == f"candidate.yaml: spec.extender.port wants port {port} on 127.0.0.1, which is in use"
    assert f"sport = :{port}" in caught.value.remedy
    assert "{port}" in caught.value.remedy


def test_a_refused_port_is_not_reserved(ports: Ports, other_ports: Ports) -> None:
    """A refusal must not keep the port from the next request once it is free."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(HostError):
            ports.reserve_exactly(port, wanted_by="a")
    assert other_ports.reserve_exactly(port, wanted_by="b") == port


def test_closing_releases_all_ports_and_may_be_repeated(ports: Ports, other_ports: Ports) -> None:
    given = [ports.reserve() for _ in range(3)]
    ports.close()
    ports.close()
    assert [other_ports.reserve_exactly(port, wanted_by="b") for port in given] == given


RESERVE = """
import sys
from schedproof.foundation.processes.ports import Ports
ports = Ports()
print(ports.reserve(), flush=True)
sys.stdin.read()
"""


def test_a_port_of_another_process_is_reserved_until_that_process_is_killed(ports: Ports) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RESERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        port = int(other.stdout.readline())
        with pytest.raises(HostError):
            ports.reserve_exactly(port, wanted_by="b")
        other.kill()
    assert ports.reserve_exactly(port, wanted_by="b") == port


@pytest.mark.parametrize("given", [(), ("127.0.0.2",)])
def test_a_listening_socket_is_on_loopback_unless_an_address_is_given(given: tuple[str, ...]) -> None:
    with listening_socket(*given) as listener:
        assert listener.getblocking()
        address, port = listener.getsockname()
        assert (address,) == (given or ("127.0.0.1",))
        with socket.create_connection((address, port)):
            pass
