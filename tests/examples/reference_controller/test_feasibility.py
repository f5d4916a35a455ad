"""Where the reference controller lets pods go."""

from __future__ import annotations

from typing import Any

import pytest

from .worlds import Manifest, app, feasible, modules, namespace, node, pod, required, update, world

Pod = modules.pods.Pod

HOST = "kubernetes.io/hostname"


class TestNode:
    """What a node itself has against a pod."""

    def test_a_cordoned_node_is_open_to_those_who_tolerate_its_taint(self) -> None:
        there = world([node("open"), node("cordoned", unschedulable=True)])
        assert feasible(pod(), there) == {"open"}
        toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
        assert feasible(pod(tolerations=[toleration]), there) == {"open", "cordoned"}

    @pytest.mark.parametrize(
        ("effect", "stays_off"), [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False)]
    )
    def test_taints_that_keep_pods_off(self, effect: str, stays_off: bool) -> None:
        there = world([node("tainted", taints=[{"key": "k", "value": "v", "effect": effect}])])
        assert feasible(pod(), there) == (set() if stays_off else {"tainted"})

    @pytest.mark.parametrize(
        ("toleration", "covers"),
        [
            ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, True),
            ({"key": "k", "value": "v"}, True),
            ({"key": "k", "operator": "Exists"}, True),
            ({"operator": "Exists"}, True),
            ({"operator": "Exists", "effect": "NoSchedule"}, True),
            ({"key": "k", "value": "other"}, False),
            ({"key": "other", "operator": "Exists"}, False),
            ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ],
    )
    def test_tolerations(self, toleration: Manifest, covers: bool) -> None:
        there = world([node("tainted", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])])
        assert feasible(pod(tolerations=[toleration]), there) == ({"tainted"} if covers else set())

    @pytest.mark.parametrize(
        ("operator", "values", "chosen"),
        [
            ("In", ["ssd", "tape"], {"ssd"}),
            ("NotIn", ["ssd"], {"hdd", "none"}),
            ("Exists", [], {"ssd", "hdd"}),
            ("DoesNotExist", [], {"none"}),
        ],
    )
    def test_node_affinity_operators(self, operator: str, values: list[str], chosen: set[str]) -> None:
        there = world([node("ssd", labels={"disk": "ssd"}), node("hdd", labels={"disk": "hdd"}), node("none")])
        expression = {"key": "disk", "operator": operator, "values": values}
        assert feasible(pod(affinity=self.affinity({"matchExpressions": [expression]})), there) == chosen

    @pytest.mark.parametrize(("operator", "chosen"), [("Gt", {"large"}), ("Lt", {"small"})])
    def test_numbers_are_compared_as_numbers(self, operator: str, chosen: set[str]) -> None:
        there = world(
            [
                node(name, labels={"size": size})
                for name, size in (("small", "9"), ("ten", "10"), ("large", "11"), ("odd", "x"))
            ]
        )
        expression = {"key": "size", "operator": operator, "values": ["10"]}
        assert feasible(pod(affinity=self.affinity({"matchExpressions": [expression]})), there) == chosen

    def test_terms_are_alternatives_and_expressions_are_not(self) -> None:
        there = world([node("a", labels={"x": "1", "y": "1"}), node("b", labels={"x": "1"}), node("c")])
        has_x, has_y = ({"key": key, "operator": "Exists"} for key in "xy")
        name_c = {"key": "metadata.name", "operator": "In", "values": ["c"]}
        both = {"matchExpressions": [has_x, has_y]}
        assert feasible(pod(affinity=self.affinity(both)), there) == {"a"}
        assert feasible(pod(affinity=self.affinity(both, {"matchFields": [name_c]})), there) == {"a", "c"}
        assert (
            feasible(pod(affinity=self.affinity({"matchExpressions": [has_x], "matchFields": [name_c]})), there)
            == set()
        )
        assert feasible(pod(affinity=self.affinity({})), there) == set()

    def test_node_selector_and_affinity_must_both_hold(self) -> None:
        there = world([node("a", labels={"x": "1", "y": "1"}), node("b", labels={"x": "1"})])
        affinity = self.affinity({"matchExpressions": [{"key": "x", "operator": "Exists"}]})
        assert feasible(pod(affinity=affinity, nodeSelector={"y": "1"}), there) == {"a"}

    @staticmethod
    def affinity(*terms: Manifest) -> Manifest:
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


class TestRoom:
    """What the pods on a node leave."""

    @pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu"])
    def test_what_is_asked_must_be_free(self, resource: str) -> None:
        there = world([node("n", offers={resource: "4"})], [pod("other", node="n", requests={resource: "3"})])
        assert feasible(pod(requests={resource: "1"}), there) == {"n"}
        assert feasible(pod(requests={resource: "1001m"}), there) == set()
        assert feasible(pod(requests={}), there) == {"n"}

    def test_what_a_node_does_not_offer_it_has_not(self) -> None:
        assert feasible(pod(requests={"example.com/gpu": "1"}), world([node("n")])) == set()
        assert feasible(pod(requests={"example.com/gpu": "0"}), world([node("n")])) == {"n"}

    def test_the_number_of_pods_is_bounded(self) -> None:
        others = [pod("first", node="n"), pod("done", node="n", status={"phase": "Succeeded"})]
        assert feasible(pod(), world([node("n", offers={"pods": "2"})], others)) == {"n"}
        assert feasible(pod(), world([node("n", offers={"pods": "1"})], others)) == set()

    @pytest.mark.parametrize(("more", "holds"), [({"status": {"phase": "Failed"}}, False), ({"deleted": True}, True)])
    def test_finished_pods_free_what_they_held_and_terminating_ones_do_not(self, more: Manifest, holds: bool) -> None:
        there = world([node("n")], [pod("other", node="n", requests={"cpu": "3"}, **more)])
        assert feasible(pod(requests={"cpu": "2"}), there) == (set() if holds else {"n"})

    def test_a_pod_needs_the_worst_of_its_moments(self) -> None:
        """Containers beside sidecars, or an init container beside the sidecars that came before it."""

        def init(cpu: str, **more: str) -> Manifest:
            return {"name": f"init-{cpu}", "resources": {"requests": {"cpu": cpu}}, **more}

        sidecar = init("300m", restartPolicy="Always")
        assert Pod(pod(requests={"cpu": "1"}, initContainers=[init("2")])).asked == {"cpu": 2000}
        assert Pod(pod(requests={"cpu": "1"}, initContainers=[sidecar])).asked == {"cpu": 1300}
        assert Pod(pod(requests={"cpu": "1"}, initContainers=[sidecar, init("2")])).asked == {"cpu": 2300}
        assert Pod(pod(requests={"cpu": "1"}, initContainers=[init("2"), sidecar])).asked == {"cpu": 2000}
        assert Pod(pod(requests={"cpu": "1"}, overhead={"cpu": "50m"})).asked == {"cpu": 1050}
        assert Pod(pod(requests={"cpu": "1"}, resources={"requests": {"cpu": "3"}})).asked == {"cpu": 3000}

    def test_amounts_are_rounded_up_once_for_the_whole_pod(self) -> None:
        manifest = pod(requests={"cpu": "0.1m", "memory": "0.5"})
        manifest["spec"]["containers"] *= 2
        assert Pod(manifest).asked == {"cpu": 1, "memory": 1}

    def test_while_a_pod_is_resized_it_holds_the_most_of_what_counts(self) -> None:
        manifest = pod(node="n", requests={"cpu": "3"})
        report = {"name": "main", "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "1"}}}
        manifest["status"] = {"phase": "Running", "containerStatuses": [report]}
        assert Pod(manifest).held == {"cpu": 3000}
        manifest["status"]["conditions"] = [{"type": "PodResizePending", "reason": "Infeasible"}]
        assert Pod(manifest).held == {"cpu": 2000}

    @pytest.mark.parametrize(
        ("wanted", "collides"),
        [
            ({"hostPort": 80}, True),
            ({"hostPort": 80, "hostIP": "10.0.0.1"}, True),
            ({"hostPort": 80, "hostIP": "10.0.0.2"}, False),
            ({"hostPort": 80, "protocol": "UDP"}, False),
            ({"hostPort": 81}, False),
            ({"containerPort": 80}, False),
        ],
    )
    def test_host_ports(self, wanted: Manifest, collides: bool) -> None:
        other = pod("other", node="n", ports=[{"containerPort": 1, "hostPort": 80, "hostIP": "10.0.0.1"}])
        assert feasible(pod(ports=[wanted]), world([node("n")], [other])) == (set() if collides else {"n"})

    def test_a_port_on_all_addresses_collides_with_each(self) -> None:
        there = world([node("n")], [pod("other", node="n", ports=[{"hostPort": 80}])])
        assert feasible(pod(ports=[{"hostPort": 80, "hostIP": "10.0.0.1"}]), there) == set()


ZONES = [
    node("a1", labels={"zone": "a"}),
    node("a2", labels={"zone": "a"}),
    node("b1", labels={"zone": "b"}),
    node("nowhere"),
]


class TestNeighbours:
    """Inter-pod affinity and anti-affinity."""

    def test_affinity_keeps_to_the_place_of_the_others(self) -> None:
        there = world(ZONES, [pod("web", node="a1", labels={"app": "web"})])
        near = {"podAffinity": required({"topologyKey": "zone", "labelSelector": app("web")})}
        assert feasible(pod(affinity=near), there) == {"a1", "a2"}

    def test_all_terms_of_an_affinity_must_be_met_by_the_same_pods(self) -> None:
        others = [pod("web", node="a1", labels={"app": "web"}), pod("blue", node="a2", labels={"color": "blue"})]
        terms = [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": label}}
            for label in ({"app": "web"}, {"color": "blue"})
        ]
        assert feasible(pod(affinity={"podAffinity": required(*terms)}), world(ZONES, others)) == set()
        others.append(pod("both", node="b1", labels={"app": "web", "color": "blue"}))
        assert feasible(pod(affinity={"podAffinity": required(*terms)}), world(ZONES, others)) == {"b1"}

    def test_the_first_of_a_group_may_go_to_any_place(self) -> None:
        near = {"podAffinity": required({"topologyKey": "zone", "labelSelector": app("web")})}
        first = pod(affinity=near, labels={"app": "web"})
        assert feasible(first, world(ZONES)) == {"a1", "a2", "b1"}
        assert feasible(pod(affinity=near, labels={"app": "other"}), world(ZONES)) == set()

    def test_anti_affinity_keeps_away_from_the_others(self) -> None:
        there = world(ZONES, [pod("web", node="a1", labels={"app": "web"})])
        apart = {"podAntiAffinity": required({"topologyKey": "zone", "labelSelector": app("web")})}
        assert feasible(pod(affinity=apart), there) == {"b1", "nowhere"}

    def test_anti_affinity_works_from_both_sides(self) -> None:
        apart = {"podAntiAffinity": required({"topologyKey": "zone", "labelSelector": app("web")})}
        there = world(ZONES, [pod("loner", node="a1", affinity=apart)])
        assert feasible(pod(labels={"app": "web"}), there) == {"b1", "nowhere"}
        assert feasible(pod(labels={"app": "db"}), there) == {"a1", "a2", "b1", "nowhere"}
        there.apply(update("pods", {"metadata": {"uid": next(iter(there.pods))}}, gone=True))
        assert feasible(pod(labels={"app": "web"}), there) == {"a1", "a2", "b1", "nowhere"}

    @pytest.mark.parametrize(
        ("where", "means"),
        [
            ({}, {"own"}),
            ({"namespaces": ["other"]}, {"other"}),
            ({"namespaceSelector": {}}, {"own", "other"}),
            ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, {"other"}),
            ({"namespaces": ["own"], "namespaceSelector": {"matchLabels": {"team": "x"}}}, {"own", "other"}),
            ({"namespaceSelector": {"matchLabels": {"team": "y"}}}, set()),
        ],
    )
    def test_namespaces_of_a_term(self, where: Manifest, means: set[str]) -> None:
        spaces = [namespace("own"), namespace("other", team="x")]
        apart = {"podAntiAffinity": required({"topologyKey": HOST, "labelSelector": {}, **where})}
        for there in ("own", "other"):
            other = pod("other", node="a1", namespace=there)
            may_go = feasible(pod(namespace="own", affinity=apart), world(ZONES[:1], [other], spaces))
            assert may_go == (set() if there in means else {"a1"})

    def test_no_selector_selects_nobody(self) -> None:
        apart = {"podAntiAffinity": required({"topologyKey": HOST})}
        assert feasible(pod(affinity=apart), world(ZONES[:1], [pod("other", node="a1")])) == {"a1"}


class TestSpreading:
    """Topology spread."""

    def constraint(self, **more: Any) -> Manifest:
        return {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": app("web"),
            **more,
        }

    def may_go(
        self, placed: list[str], *, nodes: list[Manifest] = ZONES, spec: Manifest | None = None, **more: Any
    ) -> set[str]:
        others = [
            pod(f"web-{number}", node=name, labels={"app": "web", "version": "1"}) for number, name in enumerate(placed)
        ]
        labels = {"app": "web", "version": "2"}
        return feasible(
            pod(labels=labels, topologySpreadConstraints=[self.constraint(**more)], **(spec or {})),
            world(nodes, others),
        )

    def test_the_emptiest_place_is_next(self) -> None:
        assert self.may_go([]) == {"a1", "a2", "b1"}
        assert self.may_go(["a1"]) == {"b1"}
        assert self.may_go(["a1", "b1"]) == {"a1", "a2", "b1"}
        assert self.may_go(["a1", "a2", "b1"]) == {"b1"}

    def test_max_skew(self) -> None:
        assert self.may_go(["a1"], maxSkew=2) == {"a1", "a2", "b1"}
        assert self.may_go(["a1", "a1"], maxSkew=2) == {"b1"}

    def test_schedule_anyway_keeps_nobody_off(self) -> None:
        assert self.may_go(["a1"], whenUnsatisfiable="ScheduleAnyway") == {"a1", "a2", "b1", "nowhere"}

    def test_too_few_places_count_as_if_one_was_empty(self) -> None:
        assert self.may_go(["a1", "b1"], minDomains=3) == set()
        assert self.may_go(["a1"], minDomains=3) == {"b1"}
        assert self.may_go(["a1", "b1"], minDomains=2) == {"a1", "a2", "b1"}

    def test_match_label_keys_count_only_the_same_revision(self) -> None:
        assert self.may_go(["a1"], matchLabelKeys=["version"]) == {"a1", "a2", "b1"}
        assert self.may_go(["a1"], matchLabelKeys=["absent"]) == {"b1"}

    def test_places_that_the_pod_does_not_choose_do_not_count(self) -> None:
        only_a = {"nodeSelector": {"zone": "a"}}
        assert self.may_go(["a1"], spec=only_a) == {"a1", "a2"}
        assert self.may_go(["a1"], spec=only_a, nodeAffinityPolicy="Ignore") == set()

    def test_tainted_places_count_unless_they_are_not_to(self) -> None:
        taint = {"key": "k", "effect": "NoSchedule"}
        nodes = [*ZONES[:2], node("b1", labels={"zone": "b"}, taints=[taint])]
        assert self.may_go(["a1"], nodes=nodes) == set()
        assert self.may_go(["a1"], nodes=nodes, nodeTaintsPolicy="Honor") == {"a1", "a2"}

    def test_terminating_pods_and_those_of_other_namespaces_do_not_count(self) -> None:
        labels = {"app": "web"}
        others = [
            pod("going", node="a1", labels=labels, deleted=True),
            pod("else", node="a1", labels=labels, namespace="b"),
        ]
        spread = pod(labels=labels, topologySpreadConstraints=[self.constraint()])
        assert feasible(spread, world(ZONES, others)) == {"a1", "a2", "b1"}


class TestUnknown:
    @pytest.mark.parametrize(
        "spec",
        [
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
            {"resourceClaims": [{"name": "r"}]},
            {"schedulingGroup": {"podGroupName": "g"}},
        ],
    )
    def test_what_is_not_understood_is_not_placed(self, spec: Manifest) -> None:
        objections = modules.feasibility.check(Pod(pod(**spec)), world([node("n")]))
        assert "not supported" in objections["n"]

    def test_volumes_that_are_everywhere_do_not_matter(self) -> None:
        volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "c"}}]
        assert feasible(pod(volumes=volumes), world([node("n")])) == {"n"}

    def test_the_summary_counts_nodes_by_objection(self) -> None:
        objections = {"a": "cordoned", "b": "insufficient cpu", "c": "insufficient cpu"}
        assert modules.feasibility.summary(objections) == "0/3 nodes are available: 2 insufficient cpu, 1 cordoned"
        assert modules.feasibility.summary({}) == "0/0 nodes are available"
