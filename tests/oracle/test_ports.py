"""Host ports."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedproof.oracle.ports import HostPort, host_ports, port_conflicts


def port(number: int, protocol: str = "", address: str = "", *, inside: int = 80) -> dict[str, Any]:
    fields = {"hostPort": number, "protocol": protocol, "hostIP": address}
    return {"containerPort": inside, **{name: value for name, value in fields.items() if value}}


def pod(*ports: dict[str, Any], name: str = "p", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "ports": list(ports)}]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    ("wanted", "taken", "conflict"),
    [
        (port(8080), port(8080), True),
        (port(8080), port(8081), False),
        (port(8080, "TCP"), port(8080), True),
        (port(8080, "UDP"), port(8080), False),
        (port(8080, "UDP"), port(8080, "UDP"), True),
        (port(8080, "SCTP"), port(8080, "UDP"), False),
        (port(8080, address="10.0.0.1"), port(8080, address="10.0.0.1"), True),
        (port(8080, address="10.0.0.1"), port(8080, address="10.0.0.2"), False),
        (port(8080, address="10.0.0.1"), port(8080), True),
        (port(8080), port(8080, address="10.0.0.1"), True),
        (port(8080, address="0.0.0.0"), port(8080, address="10.0.0.1"), True),
        (port(8080, address="0.0.0.0"), port(8080), True),
        (port(8080, "UDP", "0.0.0.0"), port(8080, "TCP", "10.0.0.1"), False),
        (port(8080, address="::"), port(8080, address="10.0.0.1"), False),
        (port(8080, address="::"), port(8080, address="fd00::1"), False),
        (port(8080, address="::"), port(8080), True),
        (port(0), port(8080, inside=8080), False),
        (port(0, inside=8080), port(8080), False),
    ],
)
def test_conflicts_of_port_protocol_and_address(wanted: dict[str, Any], taken: dict[str, Any], conflict: bool) -> None:
    """Port, protocol and address must all match; the default address 0.0.0.0 matches all, `::` only itself."""
    assert (port_conflicts(pod(wanted), [pod(taken)]) != ()) is conflict


def test_reason_names_the_holder_of_the_port() -> None:
    """It also names the holder's address if that differs."""
    holders = [pod(port(9090), name="web"), pod(port(8080), name="proxy")]
    assert port_conflicts(pod(port(9090), port(8080, address="10.0.0.1"), port(7070)), holders) == (
        "host port 9090/TCP on 0.0.0.0 is used by default/web",
        "host port 8080/TCP on 10.0.0.1 is used by default/proxy as 8080/TCP on 0.0.0.0",
    )


def test_sidecars_hold_ports_and_ordinary_init_containers_do_not() -> None:
    """Ordinary init containers end before the pod runs."""
    init = [
        {"name": "i", "ports": [port(1)]},
        {"name": "s", "ports": [port(2)], "restartPolicy": "Always"},
    ]
    assert list(host_ports(pod(port(3), initContainers=init))) == [HostPort(2), HostPort(3)]


def test_with_host_network_every_container_port_is_a_host_port() -> None:
    """The API server writes it into hostPort; an unsubmitted manifest means the same."""
    assert list(host_ports(pod(port(0, inside=8080), hostNetwork=True))) == [HostPort(8080)]
    assert list(host_ports(pod(port(8080, inside=8080), hostNetwork=True))) == [HostPort(8080)]
    assert list(host_ports(pod(port(0, inside=8080)))) == []


def test_pod_without_ports_has_no_conflicts() -> None:
    """Missing and null ports are both none."""
    nothing = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "main", "ports": None}], "initContainers": None},
    }
    assert port_conflicts(nothing, [pod(port(8080))]) == ()
    assert port_conflicts(pod(port(8080)), [nothing]) == ()


PORTS = st.builds(
    HostPort, st.integers(1, 2), st.sampled_from(["TCP", "UDP"]), st.sampled_from(["0.0.0.0", "10.0.0.1", "10.0.0.2"])
)


@given(PORTS, PORTS)
def test_conflicts_are_mutual(first: HostPort, second: HostPort) -> None:
    """Law: the order of the ports does not matter."""
    assert first.conflicts_with(second) is second.conflicts_with(first)
    assert first.conflicts_with(first)
