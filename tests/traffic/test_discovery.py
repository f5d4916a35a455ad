"""What is discovered about the nodes in an existing Prometheus."""

from __future__ import annotations

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.traffic.discovery import known_of

URL = "http://192.0.2.1:9090"


def series(node: str, device: str, value: float = 1.0, **labels: str) -> tuple[dict[str, str], float]:
    return {"__name__": "node_network_receive_bytes_total", "node": node, "device": device, **labels}, value


def test_eth0_is_chosen_if_all_nodes_have_it_with_the_labels_of_each_node_s_series() -> None:
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


def test_without_eth0_the_busiest_device_that_all_nodes_have_is_chosen() -> None:
    counted = [("a", "ens192", 5.0), ("b", "ens192", 5.0), ("a", "ens224", 1.0), ("b", "ens224", 1.0)]
    counted += [("a", "eth0", 99.0), ("a", "lo", 99.0), ("b", "lo", 99.0)]
    assert known_of([series(*row) for row in counted], ["a", "b"], URL).device == "ens192"


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "no samples of a, b"),
        ([series("a", "eth0")], "no samples of b"),
        ([({"instance": "a:9100", "device": "eth0"}, 1.0)], "no samples of a, b"),
        ([series("a", "eth0"), series("b", "eth1")], "devices eth0, eth1"),
    ],
)
def test_a_prometheus_without_samples_of_the_nodes_is_refused(
    found: list[tuple[dict[str, str], float]], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        known_of(found, ["a", "b"], URL)
    assert URL in refused.value.message
    assert "relabeling" in refused.value.remedy
