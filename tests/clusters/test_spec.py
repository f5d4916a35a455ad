"""Cluster definitions: valid fields, and errors that name the file, the field and the fix."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from schedproof.clusters.spec import ClusterSpec, KindSpec, NodeSpec, load_kind_spec, load_spec, machine_of
from schedproof.daemons.scrape_defaults import Machine
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError
from schedproof.history.world import RESERVED
from schedproof.worlds.world import NODES

KUBELET = {"memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}
HEADER = "apiVersion: schedproof/v1\nkind: Cluster\nmetadata: {name: test}\n"


def load(
    folder: Path, spec: str, *, header: str = HEADER, count: int | None = None, kubernetes: str | None = None
) -> ClusterSpec:
    """Load a definition with this `spec`, a YAML flow mapping."""
    file = folder / "cluster.yaml"
    file.write_text(f"{header}spec: {spec}\n")
    return load_spec(file, count=count, kubernetes=kubernetes)


# -- what it may say


def test_the_shipped_definition_is_read() -> None:
    spec = load_spec(content("clusters", "embedded.yaml"))
    assert (spec.kubernetes, spec.scrape_interval, spec.device) == ("1.36", 0.25, "eth0")
    assert [node.name for node in spec.nodes] == ["node-1", "node-2", "node-3", "node-4"]
    assert spec.template.name == "node-{n}"
    # Nothing but traffic tells them apart.
    assert len({str(dataclasses.replace(node, name="")) for node in spec.nodes}) == 1


def test_every_field_of_a_cluster_has_a_default(tmp_path: Path) -> None:
    spec = load(tmp_path, "{}")
    assert (spec.kubernetes, spec.scrape_interval, spec.device, len(spec.nodes)) == ("1.36", 0.25, "eth0", 4)
    assert spec.nodes[0] == NodeSpec("node-1", {"cpu": "8", **KUBELET})


@pytest.mark.parametrize(("text", "seconds"), [("250ms", 0.25), ("1s", 1.0), ("1500ms", 1.5), ("15s", 15.0)])
def test_the_scrape_interval_is_a_duration(tmp_path: Path, text: str, seconds: float) -> None:
    assert load(tmp_path, f"{{scrapeInterval: {text}}}").scrape_interval == seconds


@pytest.mark.parametrize("count", [1, 2, 16, 17, 5000])
def test_count_creates_that_many_identical_nodes(tmp_path: Path, count: int) -> None:
    spec = load(tmp_path, f"{{count: {count}, node: {{capacity: {{cpu: 2}}}}}}")
    assert len(spec.nodes) == len({node.name for node in spec.nodes}) == count
    assert {node.capacity["cpu"] for node in spec.nodes} == {"2"}


def test_the_number_of_nodes_given_on_the_command_line_wins(tmp_path: Path) -> None:
    listed = "{nodes: [{name: a}, {name: b}], node: {name: 'worker-{n}'}}"
    assert [node.name for node in load(tmp_path, listed).nodes] == ["a", "b"]
    assert [node.name for node in load(tmp_path, listed, count=3).nodes] == ["worker-1", "worker-2", "worker-3"]


def test_the_minor_version_given_on_the_command_line_wins(tmp_path: Path) -> None:
    assert load(tmp_path, "{kubernetes: 1.36}", kubernetes="1.35").kubernetes == "1.35"


def test_a_listed_node_overrides_its_template_field_by_field(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "{device: net0, node: {capacity: {cpu: 4}, labels: {zone: a}},"
        " nodes: [{}, {name: big, capacity: {cpu: 16, example.com/gpu: 1}, labels: {disk: ssd},"
        " taints: [{key: reserved, effect: NoSchedule}], device: eth1}]}",
    )
    assert spec.nodes == (
        NodeSpec("node-1", {"cpu": "4", **KUBELET}, {"zone": "a"}, (), "net0"),
        NodeSpec(
            "big",
            {"cpu": "16", **KUBELET, "example.com/gpu": "1"},
            {"zone": "a", "disk": "ssd"},
            ({"key": "reserved", "effect": "NoSchedule"},),
            "eth1",
        ),
    )
    assert spec.template.name == "node-{n}"


def test_a_listed_node_can_remove_the_taints_of_its_template(tmp_path: Path) -> None:
    tainted = "{key: a, effect: NoExecute}"
    spec = load(tmp_path, f"{{node: {{taints: [{tainted}]}}, nodes: [{{}}, {{taints: []}}]}}")
    assert [len(node.taints) for node in spec.nodes] == [1, 0]


def test_numbers_in_labels_and_capacity_become_text(tmp_path: Path) -> None:
    """Kubernetes has no numbers in labels and quantities."""
    node = load(tmp_path, "{count: 1, node: {labels: {rank: 1}, capacity: {cpu: 2}}}").nodes[0]
    assert (node.labels["rank"], node.capacity["cpu"]) == ("1", "2")


# -- what a node registers as


def test_the_manifest_of_a_node_follows_its_definition() -> None:
    taint = {"key": "reserved", "value": "yes", "effect": "NoSchedule"}
    manifest = NodeSpec("n1", {"cpu": "8", "pods": "110"}, {"zone": "a"}, (taint,)).manifest("198.18.0.2", "v1.36.3")
    assert manifest["metadata"]["name"] == "n1"
    assert manifest["metadata"]["labels"]["zone"] == "a"
    assert manifest["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"
    assert manifest["spec"] == {"taints": [taint]}
    assert manifest["status"]["allocatable"] == {"cpu": "8", "pods": "110"}
    assert manifest["status"]["capacity"] == {"cpu": "16", "pods": "110"}
    assert {"type": "InternalIP", "address": "198.18.0.2"} in manifest["status"]["addresses"]


def test_the_node_info_of_a_node_is_complete_and_has_ids_of_its_own() -> None:
    info, other = (NodeSpec(name, {}).manifest("198.18.0.2", "v1.36.3")["status"]["nodeInfo"] for name in ("a", "b"))
    assert [name for name, value in info.items() if not value] == ["kubeProxyVersion"]
    assert info["kubeletVersion"] == "v1.36.3"
    own = {name for name in info if info[name] != other[name]}
    assert own == {"machineID", "systemUUID", "bootID"}
    assert NodeSpec("a", {}).manifest("198.18.0.2", "v1.36.3")["status"]["nodeInfo"] == info


def test_a_manifest_shares_nothing_with_the_definition() -> None:
    spec = NodeSpec("n1", {"cpu": "8"}, {"zone": "a"}, ({"key": "a", "effect": "NoSchedule"},))
    manifest = spec.manifest("198.18.0.2", "v1.36.3")
    manifest["metadata"]["labels"]["zone"] = "b"
    manifest["spec"]["taints"][0]["effect"] = "NoExecute"
    manifest["status"]["capacity"]["cpu"] = "1"
    assert manifest["status"]["allocatable"]["cpu"] == "8"
    assert spec == NodeSpec("n1", {"cpu": "8"}, {"zone": "a"}, ({"key": "a", "effect": "NoSchedule"},))


# -- what it may not say

WRONG = {
    "[]": ("spec", "wrong-type"),
    "": ("spec", "empty-field"),
    "{nodez: 3}": ("spec.nodez", "unknown-field"),
    "{scrapeInterval: 0s}": ("spec.scrapeInterval", "out-of-range"),
    "{scrapeInterval: 5}": ("spec.scrapeInterval", "not-a-duration"),
    "{scrapeInterval: fast}": ("spec.scrapeInterval", "not-a-duration"),
    "{scrapeInterval: 1m}": ("spec.scrapeInterval", "not-a-duration"),
    "{count: 0}": ("spec.count", "out-of-range"),
    "{count: -1}": ("spec.count", "out-of-range"),
    "{count: 5001}": ("spec.count", "out-of-range"),
    "{count: many}": ("spec.count", "wrong-type"),
    "{count: true}": ("spec.count", "wrong-type"),
    "{count: 2.0}": ("spec.count", "wrong-type"),
    "{nodes: []}": ("spec.nodes", "wrong-type"),
    "{nodes: {}}": ("spec.nodes", "wrong-type"),
    "{nodes: [{name: a}, {name: a}]}": ("spec", "duplicate"),
    "{count: 2, node: {name: same}}": ("spec", "duplicate"),
    "{nodes: [{name: a}, node-2]}": ("spec.nodes[1]", "wrong-type"),
    "{nodes: [{}, {cpu: 8}]}": ("spec.nodes[1].cpu", "unknown-field"),
    "{nodes: [{}, {labels: [a]}]}": ("spec.nodes[1].labels", "wrong-type"),
    "{node: small}": ("spec.node", "wrong-type"),
    "{node: {capacity: 8}}": ("spec.node.capacity", "wrong-type"),
    "{node: {capacity: {cpu: []}}}": ("spec.node.capacity.cpu", "wrong-type"),
    "{node: {labels: a=b}}": ("spec.node.labels", "wrong-type"),
    "{node: {taints: reserved}}": ("spec.node.taints", "wrong-type"),
    "{node: {taints: [reserved]}}": ("spec.node.taints[0]", "wrong-type"),
    "{node: {taints: [{key: a}]}}": ("spec.node.taints[0].effect", "missing-field"),
    "{node: {taints: [{effect: NoSchedule}]}}": ("spec.node.taints[0].key", "missing-field"),
    "{node: {taints: [{key: a, effect: Never}]}}": ("spec.node.taints[0].effect", "unknown-value"),
    "{node: {taints: [{key: a, effect: NoSchedule, operator: Equal}]}}": (
        "spec.node.taints[0].operator",
        "unknown-field",
    ),
}
"""The spec, the field that its only problem names, and the problem's code."""


def problem_of(caught: pytest.ExceptionInfo[DescriptorError]) -> Problem:
    """Return the only problem, after checking that it has a place and a fix."""
    (problem,) = caught.value.problems
    assert problem.place.line
    assert problem.fix
    return problem


@pytest.mark.parametrize(("spec", "expected"), WRONG.items(), ids=WRONG)
def test_an_error_names_the_line_and_the_field(tmp_path: Path, spec: str, expected: tuple[str, str]) -> None:
    with pytest.raises(DescriptorError) as caught:
        load(tmp_path, spec)
    problem = problem_of(caught)
    assert (problem.path, problem.code) == expected


def test_all_problems_of_a_cluster_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(DescriptorError) as caught:
        load(tmp_path, "{count: 0, device: [], node: {cpu: 8}}")
    assert {problem.path for problem in caught.value.problems} == {"spec.count", "spec.device", "spec.node.cpu"}


def test_null_counts_as_absent(tmp_path: Path) -> None:
    assert load(tmp_path, "{count: null, node: null, nodes: null}") == load(tmp_path, "{}")


@pytest.mark.parametrize(
    ("header", "field"),
    [
        (f"{HEADER}status: {{}}\n", "status"),
        (HEADER.replace("Cluster", "Candidate"), "kind"),
        (HEADER.replace("v1", "v2"), "apiVersion"),
    ],
)
def test_an_unknown_or_wrong_field_outside_of_spec_is_an_error(tmp_path: Path, header: str, field: str) -> None:
    with pytest.raises(DescriptorError) as caught:
        load(tmp_path, "{}", header=header)
    assert problem_of(caught).path == field


@pytest.mark.parametrize("count", [0, -1, 5001])
def test_the_number_of_nodes_on_the_command_line_is_checked(tmp_path: Path, count: int) -> None:
    with pytest.raises(UsageError, match=f"--nodes {count}: expected 1 to 5000") as caught:
        load(tmp_path, "{}", count=count)
    assert "--nodes" in caught.value.remedy


@pytest.mark.parametrize("text", [b"- a\n- list\n", b"\xff\xfe\x00", b"a: b: c", b"", b"\tspec: {}\n"])
def test_a_file_that_is_not_a_cluster_definition_is_named(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_bytes(text)
    with pytest.raises(DescriptorError, match=r"cluster\.yaml"):
        load_spec(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml") as caught:
        load_spec(tmp_path / "none.yaml")
    assert "clusters/embedded.yaml" in caught.value.remedy


# -- kind clusters


def load_kind(folder: Path, spec: str, *, count: int | None = None) -> KindSpec:
    file = folder / "kind.yaml"
    file.write_text(f"{HEADER}spec: {spec}\n")
    return load_kind_spec(file, count=count)


def test_the_shipped_kind_cluster_has_three_workers_with_the_labels_of_the_embedded_cluster() -> None:
    spec = load_kind_spec(content("clusters", "kind.yaml"))
    assert (spec.kubernetes, spec.scrape_interval, spec.count) == ("1.36", 0.5, 3)
    assert spec.labels == load_spec(content("clusters", "embedded.yaml")).template.labels


def test_every_field_of_a_kind_cluster_has_a_default(tmp_path: Path) -> None:
    assert load_kind(tmp_path, "{}") == KindSpec("1.36", 0.5, 3, {})
    assert load_kind(tmp_path, "{count: 2, node: {labels: {disk: 1}}}", count=5) == KindSpec(
        "1.36", 0.5, 5, {"disk": "1"}
    )


@pytest.mark.parametrize(
    ("spec", "field"),
    {
        # What a kubelet decides, no definition can.
        "{node: {capacity: {cpu: 8}}}": "spec.node.capacity",
        "{nodes: [{}]}": "spec.nodes",
        "{device: eth1}": "spec.device",
        "{count: 0}": "spec.count",
        "{count: 17}": "spec.count",
    }.items(),
)
def test_an_error_in_a_kind_cluster_names_the_line_and_the_field(tmp_path: Path, spec: str, field: str) -> None:
    with pytest.raises(DescriptorError) as caught:
        load_kind(tmp_path, spec)
    assert problem_of(caught).path == field


def test_more_than_16_workers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--nodes 17: expected 1 to 16"):
        load_kind(tmp_path, "{}", count=17)


def test_the_machine_of_a_node_has_what_the_node_object_says() -> None:
    spec = NodeSpec("n", {"cpu": "1500m", "memory": "2Gi", "pods": "5"})
    capacity = spec.manifest("198.51.100.1", "v1.36.3")["status"]["capacity"]
    assert spec.machine == machine_of(capacity)
    assert spec.machine.memory == 4 * 2.0**30
    assert spec.machine.cpus == 3
    assert spec.machine.storage == Machine().storage


def test_some_nodes_report_images_but_not_those_that_change_most_often() -> None:
    def reported(name: str) -> int:
        return len(NodeSpec(name, {}).manifest("198.18.0.2", "v1.36.3")["status"]["images"])

    counts = {name: reported(name) for name in ("node-1", "node-2", "node-3", "node-4", RESERVED, *NODES)}
    assert {name for name, count in counts.items() if count} == {"node-2"}
