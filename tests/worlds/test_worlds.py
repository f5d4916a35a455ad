"""Random worlds: generation, search, reduction, storage and description."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Collection, Iterator
from typing import Any

import pytest
import yaml

from schedproof.candidate.subjects import Subject
from schedproof.cli.main import command_line
from schedproof.documents.manifests import parse_manifests
from schedproof.foundation.generating import generate
from schedproof.foundation.saved_cases import SavedCase, SavedCases
from schedproof.oracle.coverage import unmodelled
from schedproof.oracle.feasibility import check
from schedproof.oracle.quantity import parse_quantity
from schedproof.worlds.draws import corners, worlds
from schedproof.worlds.search import Bounds, Search, Wrong
from schedproof.worlds.smaller import pinned, smaller
from schedproof.worlds.subjects import subjects_in
from schedproof.worlds.words import events_in, in_words, manifests, node_manifest, yaml_text
from schedproof.worlds.world import NODES, POOL, REQUIRED, World, acceptable, tidy

BOUNDS = Bounds(worlds=50, seconds=1000, tries=500, smaller_seconds=1000)

SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
TERM = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In"}]}}


def generated(count: int = 200, *, seed: int = 1, left_out: Collection[Subject] = ()):
    found: list[World] = []
    generate(worlds(left_out), found.append, cases=count, seed=seed)
    return found


def specs(world: World) -> list[dict[str, Any]]:
    return [pod.get("spec", {}) for pod in world.pods]


def containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*spec.get("containers", ()), *spec.get("initContainers", ())]


def names(world: World) -> Iterator[str]:
    """Names of pods as in their namespaces."""
    for step in world.steps:
        if pod := step.get("comes") or step.get("there"):
            yield step.get("namesake", pod["name"])


def fits(pod: dict[str, Any], nodes: list[dict[str, Any]]) -> bool:
    return not all(check(pod, nodes, ()).values())


def of_kind(world: World, kind: str) -> list[dict[str, Any]]:
    found = [manifest for manifest in manifests(world, "any") if manifest["kind"] == kind]
    return (
        [{**manifest, "metadata": {"namespace": "ns", **manifest["metadata"]}} for manifest in found]
        if kind == "Pod"
        else found
    )


def test_generated_worlds_are_small_acceptable_and_known_to_the_oracle():
    found = generated()
    assert len(found) == 200
    for world in found:
        assert acceptable(world)
        assert tidy(world) == world
        assert 1 <= len(world.nodes) <= 4
        assert 1 <= len(world.steps) <= 32
        pods, nodes = of_kind(world, "Pod"), of_kind(world, "Node")
        assert not [gap for pod in pods for gap in unmodelled(pod, pods, nodes)]
        assert World.from_json(json.loads(json.dumps(world.as_json()))) == world
    coming = [step["comes"] for world in found for step in world.steps if "comes" in step]
    assert len(coming) > 400
    fields = {field for world in found for step in world.steps for field in step}
    assert fields == {
        "comes", "there", "node", "elsewhere", "namesake", "late", "unstarted", "lingers", "deleted", "ended", "phase",
        "labelled", "labels", "changed", "gone", "back", "stopped", "cut_off", "together", "recreated", "refused",
        "gated", "ungated", "tolerant", "toleration", "resized", "requests",
    }  # fmt: skip


def test_generated_worlds_have_pods_that_fit_and_pods_that_do_not():
    first = [(of_kind(world, "Pod")[0], of_kind(world, "Node")) for world in generated() if "comes" in world.steps[0]]
    fitting = [fits(pod, nodes) for pod, nodes in first]
    assert 0.2 < sum(fitting) / len(fitting) < 0.8


def test_the_same_seed_generates_the_same_worlds():
    assert generated(20, seed=3) == generated(20, seed=3) != generated(20, seed=4)


def test_unclaimed_features_are_not_generated():
    found: list[World] = []
    without = [Subject.HOST_PORTS, Subject.POD_AFFINITY, Subject.TOPOLOGY_SPREAD]
    generate(worlds(without, ends=False), found.append, cases=200, seed=1)
    text = json.dumps([world.as_json() for world in found])
    assert not [word for word in ("ended", "lingers") if word in text]
    assert not [word for word in ("podAffinity", "podAntiAffinity", "topologySpread", "hostPort") if word in text]
    text = json.dumps([world.as_json() for world in generated()])
    assert all(word in text for word in ("podAffinity", "podAntiAffinity", "topologySpread", "hostPort"))


DRAWN = frozenset().union(*map(subjects_in, generated()))
"""The subjects of the worlds of a candidate that supports all."""


def test_worlds_have_every_subject_that_they_are_drawn_for():
    elsewhere = {
        Subject.HUGE_PAGES, Subject.OVERHEAD, Subject.POD_LEVEL_RESOURCES, Subject.LIMITS, Subject.UNITS,
        Subject.LABELS, Subject.ANNOTATIONS, Subject.NODE_SELECTOR,
        Subject.OWNERS, Subject.UNREAD_FIELDS,
    }  # fmt: skip
    assert {*Subject} - elsewhere == DRAWN


@pytest.mark.parametrize("subject", sorted(DRAWN))
def test_a_subject_that_is_left_out_is_in_no_world(subject):
    drawn = [*generated(left_out=[subject]), *corners(random.Random(1), [subject])]
    assert all(map(acceptable, drawn))
    found = frozenset().union(*map(subjects_in, drawn))
    assert subject not in found
    # Worlds without taints have no cordons, and no tolerations that come later.
    assert found >= DRAWN - {subject, Subject.CORDONS, Subject.TOLERATIONS}


def test_worlds_without_any_resource_are_about_labels():
    resources = [
        Subject.CPU, Subject.MEMORY, Subject.EPHEMERAL_STORAGE, Subject.EXTENDED_RESOURCES, Subject.NUMBER_OF_PODS,
    ]  # fmt: skip
    assert not frozenset().union(*map(subjects_in, generated(left_out=resources))) & {*resources}


def test_no_change_of_a_generated_world_adds_a_no_execute_taint():
    for world in generated():
        changed = [step["changed"] for step in world.steps if "changed" in step]
        assert "NoExecute" not in {taint["effect"] for node in changed for taint in node.get("taints", ())}


def test_often_only_a_label_of_a_node_changes():
    alone = 0
    for world in generated():
        nodes = {node["name"]: node for node in world.nodes}
        for step in world.steps:
            if node := step.get("changed"):
                before, nodes[node["name"]] = nodes[node["name"]], node
                labels, were = node.get("labels", {}), before.get("labels", {})
                same = all(node.get(field) == before.get(field) for field in ("taints", "unschedulable", "allocatable"))
                alone += same and sum(labels.get(key) != were.get(key) for key in labels.keys() | were.keys()) == 1
    assert alone > 50


@pytest.mark.parametrize("seed", range(10))
def test_large_worlds_are_acceptable_and_stay_in_the_pool(seed):
    particular, full = corners(random.Random(seed))
    assert corners(random.Random(seed)) == [particular, full]
    assert all(map(acceptable, (particular, full)))
    pods, nodes = of_kind(particular, "Pod"), of_kind(particular, "Node")
    fitting = [pod for pod in pods if fits(pod, nodes)]
    assert 4 <= len(fitting) <= len(pods) - 4
    # Pods stay in the pool, by any kind of node selection.
    outside = {**nodes[0], "metadata": {"name": NODES[0], "labels": {"kubernetes.io/hostname": NODES[0]}}}
    assert not [pod for pod in pods if fits(pod, [outside])]
    assert all(node["metadata"]["labels"].items() >= POOL.items() for node in nodes)
    for spec in specs(full):
        ports = [
            (port["hostPort"], port["protocol"])
            for container in containers(spec)
            for port in container.get("ports", ())
        ]
        assert len(ports) == len(set(ports))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"nodeSelector": POOL, "containers": [{"resources": {"requests": {"schedproof.dev/device": "1"}}}]},
        {"nodeSelector": POOL, "tolerations": [{"operator": "Exists", "value": "yes"}]},
        {"nodeSelector": POOL, "tolerations": [{"value": "yes"}]},
        {"nodeSelector": POOL, "tolerations": [{"key": "a", "tolerationSeconds": 3600}]},
        {"nodeSelector": POOL, "containers": [{"ports": [{"hostPort": 80}]}]},
        {"nodeSelector": POOL, "initContainers": [{"resources": {"requests": {"cpu": "1"}}}]},
        {"nodeSelector": POOL, "topologySpreadConstraints": [{"maxSkew": 1}]},
        {"nodeSelector": POOL, "topologySpreadConstraints": [SPREAD, {**SPREAD, "maxSkew": 2}]},
        {"nodeSelector": POOL, "topologySpreadConstraints": [{**SPREAD, "labelSelector": {}}]},
        {"nodeSelector": POOL, "affinity": {"podAffinity": {REQUIRED: [TERM]}}},
    ],
)
def test_refused_pods_and_pods_outside_the_pool_are_not_acceptable(spec):
    assert not acceptable(World([{"name": NODES[0]}], [{"comes": {"name": "pod-1", "spec": spec}}]))
    right = World([{"name": NODES[0]}], [{"comes": {"name": "pod-1", "spec": {"nodeSelector": POOL}}}])
    assert acceptable(right)
    assert not acceptable(World([], right.steps))


@pytest.mark.parametrize(
    "taints",
    [[{"key": "a"}], [{"effect": "NoSchedule"}], [{"key": "a", "effect": "NoSchedule", "value": v} for v in "xy"]],
)
def test_invalid_or_duplicate_taints_are_not_acceptable(taints):
    steps = [{"comes": {"name": "pod-1", "spec": {"nodeSelector": POOL}}}]
    assert not acceptable(World([{"name": NODES[0], "taints": taints}], steps))
    taints = [{"key": "a", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    assert acceptable(World([{"name": NODES[0], "taints": taints}], steps))


@pytest.mark.parametrize(
    "steps",
    [
        [{"there": {"name": "pod-1"}, "node": NODES[0], "namesake": "pod-0"}],
        [{"there": {"name": name}, "node": NODES[0], "elsewhere": "beside", "namesake": "pod-0"} for name in "ab"],
        [{"there": {"name": "pod-1"}, "node": NODES[0], "elsewhere": "somewhere"}],
    ],
)
def test_pod_name_is_unique_in_its_namespace(steps):
    pod = {"comes": {"name": "pod-0", "spec": {"nodeSelector": POOL}}}
    right = {"there": {"name": "pod-1"}, "node": NODES[0], "elsewhere": "beside", "namesake": "pod-0"}
    assert acceptable(World([{"name": NODES[0]}], [pod, right]))
    assert not acceptable(World([{"name": NODES[0]}], [pod, *steps]))


def test_tidying_removes_empty_fields_and_steps_about_missing_objects():
    here, there = ({"name": name} for name in NODES[:2])
    pod = {"name": "pod-1", "spec": {"containers": [{"resources": {}}], "affinity": {"nodeAffinity": {}}}}
    steps = [
        {"there": {"name": "pod-0"}, "node": there["name"]},
        {"deleted": "pod-0"},
        {"changed": there},
        {"comes": pod},
    ]
    assert tidy(World([here], steps)).steps == [{"comes": {"name": "pod-1", "spec": {"containers": [{}]}}}]


def test_a_pod_without_one_before_it_comes_alone():
    pod = {"comes": {"name": "pod-0"}, "together": True}
    steps = tidy(World([{"name": NODES[0]}], [pod, {**pod, "comes": {"name": "pod-1"}}])).steps
    assert steps == [{"comes": {"name": "pod-0"}}, {"comes": {"name": "pod-1"}, "together": True}]


def test_pods_are_limited_to_the_nodes_that_they_were_on():
    term = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    selective = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term, term]}}}}
    world = World([{"name": NODES[0]}], [{"comes": {"name": "plain"}}, {"comes": {"name": "other", "spec": selective}}])
    assert pinned(world, {}) == world
    plain, other = pinned(world, {"plain": NODES[0], "other": NODES[1]}).pods
    fields = [[{"key": "metadata.name", "operator": "In", "values": [name]}] for name in NODES[:2]]
    terms = [pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] for pod in (plain, other)]
    assert terms == [[{"matchFields": fields[0]}], [{**term, "matchFields": fields[1]}] * 2]


# -- searches, by a candidate that is a function


def only_the_first_container(world: World, _hurried: bool = False) -> Wrong | None:
    """The world's fault for a scheduler that counts only the first container: the first pod that requests too much."""
    offered = {node["name"]: node.get("allocatable", {}).get("cpu", "4") for node in world.nodes}
    for number, step in enumerate(world.steps):
        asked = [
            container.get("resources", {}).get("requests", {})
            for container in containers(step.get("comes", {}).get("spec", {}))
        ]
        amounts = [parse_quantity(requests.get("cpu", "0")) for requests in asked]
        least = min(map(parse_quantity, offered.values()))
        if amounts and amounts[0] <= least < sum(amounts):
            return Wrong("too much", number)
    return None


def test_failing_world_is_reduced_to_one_node_and_one_pod():
    search = Search(only_the_first_container, Bounds(500, 1000, 500, 1000))
    assert search.generated(worlds(), 1)
    search.make_smaller()
    assert search.steady
    assert search.world is not None
    (node,), (step,) = search.world.nodes, search.world.steps
    assert node["allocatable"].keys() == {"cpu"}
    assert step["comes"]["spec"].keys() <= {"nodeSelector", "containers", "initContainers"}
    assert sum(bool(container) for container in containers(step["comes"]["spec"])) <= 2
    assert in_words(search.world).startswith(f"1 node, 1 pod: {node['name']} with {{allocatable: {{cpu: ")


def test_a_failure_that_depends_on_where_a_pod_went_is_reduced_with_that_pod_fixed_there():
    chosen = itertools.cycle(NODES[:2])

    def fails_beside_the_first(world: World, _hurried: bool) -> Wrong | None:
        """Pods go to either node in turn, unless their affinity says where; two on the first node are wrong."""
        at = {}
        for number, step in enumerate(world.steps):
            affinity = step["comes"]["spec"].get("affinity", {}).get("nodeAffinity", {})
            terms = affinity.get(REQUIRED, {}).get("nodeSelectorTerms", [])
            at[step["comes"]["name"]] = terms[0]["matchFields"][0]["values"][0] if terms else next(chosen)
            if list(at.values()).count(NODES[0]) == 2:
                return Wrong("two", number, {name: node for name, node in at.items() if name != step["comes"]["name"]})
        return None

    steps = [{"comes": {"name": f"pod-{n}", "spec": {"nodeSelector": POOL}}} for n in range(9)]
    search = Search(fails_beside_the_first, BOUNDS)
    assert search.first_wrong([World([{"name": name} for name in NODES[:2]], steps)])
    search.make_smaller()
    assert search.world is not None
    assert [pod["name"] for pod in search.world.pods] in (["pod-0", "pod-2"], ["pod-0", "pod-1", "pod-2"])


def test_large_world_is_reduced_in_few_tries():
    large = World([{"name": name} for name in NODES], [{"comes": {"name": f"pod-{n}", "spec": {"nodeSelector": POOL}}}
                  for n in range(30)])  # fmt: skip
    asked: list[World] = []

    def third_last(world: World) -> int | None:
        asked.append(world)
        names = [pod["name"] for pod in world.pods]
        return names.index("pod-27") if "pod-27" in names and "pod-3" in names else None

    smallest = smaller(large, third_last)
    assert [pod["name"] for pod in smallest.pods] == ["pod-3", "pod-27"]
    assert len(smallest.nodes) == 1
    assert len(asked) == len({world.key for world in asked}) < 60


def test_search_respects_its_bounds():
    now = iter(range(1000))
    search = Search(lambda _world, _hurried: None, Bounds(100, 10, 0, 0), clock=lambda: float(next(now)))
    assert not search.generated(worlds(), 1)
    assert search.count == 10
    search = Search(lambda _world, _hurried: None, Bounds(7, 1000, 0, 0))
    assert not search.generated(worlds(), 1)
    assert search.count == 7
    search = Search(only_the_first_container, Bounds(500, 1000, 3, 1000))
    assert search.generated(worlds(), 1)
    search.make_smaller()
    assert search.tries == 3


def test_search_goes_on_with_other_worlds_until_its_time_is_over_a_world_fails_or_it_is_stopped():
    def search(run=lambda _world, _hurried: None, **more: Any) -> tuple[Search, bool]:
        now = iter(range(10_000))
        found = Search(run, Bounds(7, 100, 0, 0), clock=lambda: float(next(now)), **more)
        return found, found.generated_on(worlds(), 1)

    tried: list[str] = []
    found, failed = search(lambda world, _hurried: tried.append(world.key))
    # The clock is read once for each world, and some times for each batch of seven.
    assert (failed, 70 < found.count < 100, len(set(tried)) > 7 * 8) == (False, True, True)
    runs = itertools.count(1)
    found, failed = search(lambda _world, _hurried: Wrong("odd", 0) if next(runs) == 30 else None)
    assert (failed, found.count) == (True, 30)
    found, failed = search(between=lambda count: count < 20)
    assert (failed, found.count) == (False, 20)


def test_world_that_fails_once_is_not_steady_and_not_reduced():
    runs: list[World] = []

    def once(world: World, _hurried: bool) -> Wrong | None:
        runs.append(world)
        return Wrong("odd", 0) if len(runs) == 3 else None

    search = Search(once, BOUNDS)
    assert search.generated(worlds(), 1)
    search.make_smaller()
    assert (search.world, search.steady) == (runs[2], False)


def test_exception_of_a_run_ends_the_search_and_keeps_its_finding():
    class Over(Exception):  # noqa: N818
        pass

    def run(_world: World, hurried: bool) -> Wrong | None:
        if hurried:
            raise Over
        return Wrong("odd", 0)

    search = Search(run, BOUNDS)
    assert search.first_wrong(generated(20)[-1:])
    with pytest.raises(Over):
        search.make_smaller()
    assert search.wrong == Wrong("odd", 0)

    def ended(_world: World, _hurried: bool) -> Wrong | None:
        runs.append(1)
        raise Over

    runs: list[int] = []
    with pytest.raises(Over):
        Search(ended, BOUNDS).generated(worlds(), 1)
    assert len(runs) == 1


# -- storage and descriptions


def test_saved_world_is_loaded_by_its_id(tmp_path):
    saved, world = SavedCases(tmp_path), generated(5)[-1]
    identifier = saved.keep(SavedCase("candidate.yaml", "core/random-worlds", "", world.as_json(), "wrong"))
    (kept,) = saved.of("candidate.yaml", "core/random-worlds", "")
    assert World.from_json(kept.case) == World.from_json(saved.get(identifier).case) == world
    saved.forget(kept)
    assert not list(tmp_path.iterdir())


def test_yaml_of_a_world_is_valid_for_kubectl(tmp_path):
    for world in generated(50):
        text = yaml_text(world, "pod-1 was not bound", "my-scheduler")
        documents = parse_manifests(text, tmp_path)
        assert documents == manifests(world, "my-scheduler")
        assert [document for document in documents if document["kind"] == "Node"][: len(world.nodes)] == [
            node_manifest(node) for node in world.nodes
        ]
        pods = [document for document in documents if document["kind"] == "Pod"]
        assert [pod["metadata"]["name"] for pod in pods] == list(names(world))
        for pod in pods:
            assert all({"name", "image"} <= container.keys() for container in containers(pod["spec"]))
            assert (pod["spec"]["schedulerName"] == "my-scheduler") != ("nodeName" in pod["spec"])
        assert "&id" not in text  # kubectl takes anchors; people do not
    assert yaml.safe_load("a: 1")


def test_hostnames_are_names_others_shared_or_absent():
    key = "kubernetes.io/hostname"
    found = [node for world in generated() for node in of_kind(world, "Node")]
    named = {node["metadata"]["labels"].get(key) == node["metadata"]["name"] for node in found}
    assert named == {True, False}
    assert any(key not in node["metadata"]["labels"] for node in found)
    hostnames = [[node["metadata"]["labels"].get(key) for node in map(node_manifest, w.nodes)] for w in generated()]
    assert any(len(set(names) - {None}) < len([name for name in names if name]) for names in hostnames)
    without = {"name": "node-world-0", "labels": {key: None}}
    assert "kubernetes.io/hostname: absent" in in_words(World([without], []))


def test_world_is_described_in_words():
    world = World(
        [{"name": NODES[0], "taints": [{"key": "schedproof.dev/reserved", "effect": "NoSchedule"}]}],
        [
            {
                "there": {"name": "pod-1", "labels": {"app": "web"}},
                "node": NODES[0],
                "elsewhere": "beside",
                "late": True,
            },
            {"ended": "pod-1", "phase": "Failed"},
            {"labelled": "pod-1", "labels": {"app": "db"}},
            {"deleted": "pod-1"},
            {"changed": {"name": NODES[0], "unschedulable": True}},
            {"comes": {"name": "pod-2", "spec": {"nodeSelector": {**POOL, "schedproof.dev/tier": ""}}}},
            {"comes": {"name": "pod-3"}, "together": True},
            {"recreated": "pod-2"},
            {"gone": NODES[0]},
            {"back": NODES[0]},
            {"stopped": True},
        ],
    )
    assert in_words(world) == (
        "1 node, 3 pods: node-world-0 with {taints: [{key: reserved, effect: NoSchedule}]}; pod-1 is on node-world-0, "
        "in namespace beside, bound after it was created with {labels: {app: web}}; pod-1 ends as Failed; pod-1 now "
        "has labels {app: db}; pod-1 is deleted; node-world-0 is now {unschedulable: true}; "
        'pod-2 comes with {nodeSelector: {tier: ""}}; pod-3 comes, at the same time; pod-2 is deleted, and '
        "created again under its name; node-world-0 is deleted, without its pods; node-world-0 registers again; the "
        "scheduler is stopped until the next pod comes"
    )
    assert events_in(world) == [
        "pods came at the same time", "a pod was created again", "a node was deleted", "a node registered again",
        "a restart",
    ]  # fmt: skip
    assert events_in(World(world.nodes, world.steps[:6])) == []


def test_worlds_option_is_a_number():
    parse = command_line().parse_args
    assert parse(["run", "stock"]).worlds is None
    assert parse(["run", "stock", "--worlds=500"]).worlds == 500
    with pytest.raises(SystemExit):
        parse(["run", "stock", "--worlds=many"])
