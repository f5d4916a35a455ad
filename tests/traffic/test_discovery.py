"""What a Prometheus that others run is taken to know of the nodes."""

from __future__ import annotations

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.traffic.discovery import known_of

URL = "http://192.0.2.1:9090"


def series(node: str, device: str, value: float = 1.0, **labels: str) -> tuple[dict[str, str], float]:
    return {"__name__": "node_network_receive_bytes_total", "node": node, "device": device, **labels}, value


def test_eth0_where_all_have_it_with_the_labels_that_each_node_s_series_bear() -> None:
    known = known_of(
        [
            series("a", "eth0", instance="192.0.2.2:9100"),
            series("b", "eth0", instance="192.0.2.3:9100"),
            series("a", "cni0", 1e9),
            series("b", "cni0", 1e9),
            series("elsewhere", "eth0"),
        ],
        ["a", "b"],
        URL,
    )
    assert known.device == "eth0"
    assert known.labels == {
        "a": {"node": "a", "instance": "192.0.2.2:9100"},
        "b": {"node": "b", "instance": "192.0.2.3:9100"},
    }


def test_else_the_busiest_that_all_have() -> None:
    counted = [("a", "ens192", 5.0), ("b", "ens192", 5.0), ("a", "ens224", 1.0), ("b", "ens224", 1.0)]
    counted += [("a", "eth0", 99.0), ("a", "lo", 99.0), ("b", "lo", 99.0)]
    assert known_of([series(*one) for one in counted], ["a", "b"], URL).device == "ens192"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "no samples of a, b"),
        ([series("a", "eth0")], "no samples of b"),
        ([({"instance": "a:9100", "device": "eth0"}, 1.0)], "no samples of a, b"),
        ([series("a", "eth0"), series("b", "eth1")], "devices eth0, eth1"),
    ],
)
def test_who_does_not_know_the_nodes_is_of_no_use(found: list[tuple[dict[str, str], float]], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        known_of(found, ["a", "b"], URL)
    assert URL in refused.value.message
    assert "relabeling" in refused.value.remedy
