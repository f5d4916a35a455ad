"""The feasible nodes of a pod for the reference controller."""

from __future__ import annotations

from typing import Any

import pytest

from .worlds import Manifest, app, feasible, modules, namespace, node, pod, required, update, world

Pod = modules.pods.Pod

HOST = "kubernetes.io/hostname"


class TestNode:
    """Taints, tolerations, node affinity and node selectors."""

    def test_a_cordoned_node_is_feasible_for_pods_that_tolerate_its_taint(self) -> None:
        there = world([node("open"), node("cordoned", unschedulable=True)])
        assert feasible(pod(), there) == {"open"}
        toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
        assert feasible(pod(tolerations=[toleration]), there) == {"open", "cordoned"}

    @pytest.mark.parametrize(
        ("effect", "stays_off"), [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False)]
    )
    def test_taints_repel_pods_by_their_effect(self, effect: str, stays_off: bool) -> None:
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
    def test_tolerations_match_taints_by_key_operator_value_and_effect(
        self, toleration: Manifest, covers: bool
    ) -> None:
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
    def test_node_affinity_operators_select_nodes_by_label(
        self, operator: str, values: list[str], chosen: set[str]
    ) -> None:
        there = world([node("ssd", labels={"disk": "ssd"}), node("hdd", labels={"disk": "hdd"}), node("none")])
        expression = {"key": "disk", "operator": operator, "values": values}
        assert feasible(pod(affinity=self.affinity({"matchExpressions": [expression]})), there) == chosen

    @pytest.mark.parametrize(("operator", "chosen"), [("Gt", {"large"}), ("Lt", {"small"})])
    def test_gt_and_lt_compare_labels_as_numbers(self, operator: str, chosen: set[str]) -> None:
        there = world(
            [
                node(name, labels={"size": size})
                for name, size in (("small", "9"), ("ten", "10"), ("large", "11"), ("odd", "x"))
            ]
        )
        expression = {"key": "size", "operator": operator, "values": ["10"]}
        assert feasible(pod(affinity=self.affinity({"matchExpressions": [expression]})), there) == chosen

    def test_node_selector_terms_are_ored_and_expressions_are_anded(self) -> None:
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
    """Free resources, host ports and the number of pods."""

    @pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu"])
    def test_requested_resources_must_be_free(self, resource: str) -> None:
        there = world([node("n", offers={resource: "4"})], [pod("other", node="n", requests={resource: "3"})])
        assert feasible(pod(requests={resource: "1"}), there) == {"n"}
        assert feasible(pod(requests={resource: "1001m"}), there) == set()
        assert feasible(pod(requests={}), there) == {"n"}

    def test_a_resource_without_allocatable_has_none_free(self) -> None:
        assert feasible(pod(requests={"example.com/gpu": "1"}), world([node("n")])) == set()
        assert feasible(pod(requests={"example.com/gpu": "0"}), world([node("n")])) == {"n"}

    def test_the_allocatable_number_of_pods_limits_a_node(self) -> None:
        others = [pod("first", node="n"), pod("done", node="n", status={"phase": "Succeeded"})]
        assert feasible(pod(), world([node("n", offers={"pods": "2"})], others)) == {"n"}
        assert feasible(pod(), world([node("n", offers={"pods": "1"})], others)) == set()

    @pytest.mark.parametrize(("more", "holds"), [({"status": {"phase": "Failed"}}, False), ({"deleted": True}, True)])
    def test_finished_pods_free_their_resources_and_terminating_pods_do_not(self, more: Manifest, holds: bool) -> None:
        there = world([node("n")], [pod("other", node="n", requests={"cpu": "3"}, **more)])
        assert feasible(pod(requests={"cpu": "2"}), there) == (set() if holds else {"n"})

    def test_a_pod_requests_the_maximum_of_its_containers_and_init_containers_with_sidecars(self) -> None:
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

    def test_requests_are_rounded_up_once_for_the_whole_pod(self) -> None:
        manifest = pod(requests={"cpu": "0.1m", "memory": "0.5"})
        manifest["spec"]["containers"] *= 2
        assert Pod(manifest).asked == {"cpu": 1, "memory": 1}

    def test_during_a_resize_a_pod_holds_the_maximum_of_desired_allocated_and_actual_resources(self) -> None:
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
    def test_host_ports_collide_by_port_protocol_and_address(self, wanted: Manifest, collides: bool) -> None:
        other = pod("other", node="n", ports=[{"containerPort": 1, "hostPort": 80, "hostIP": "10.0.0.1"}])
        assert feasible(pod(ports=[wanted]), world([node("n")], [other])) == (set() if collides else {"n"})

    def test_a_host_port_on_all_addresses_collides_with_each_address(self) -> None:
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

    def test_pod_affinity_requires_a_matching_pod_in_the_topology_domain(self) -> None:
        there = world(ZONES, [pod("web", node="a1", labels={"app": "web"})])
        near = {"podAffinity": required({"topologyKey": "zone", "labelSelector": app("web")})}
        assert feasible(pod(affinity=near), there) == {"a1", "a2"}

    def test_all_terms_of_a_pod_affinity_must_match_the_same_pods(self) -> None:
        others = [pod("web", node="a1", labels={"app": "web"}), pod("blue", node="a2", labels={"color": "blue"})]
        terms = [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": label}}
            for label in ({"app": "web"}, {"color": "blue"})
        ]
        assert feasible(pod(affinity={"podAffinity": required(*terms)}), world(ZONES, others)) == set()
        others.append(pod("both", node="b1", labels={"app": "web", "color": "blue"}))
        assert feasible(pod(affinity={"podAffinity": required(*terms)}), world(ZONES, others)) == {"b1"}

    def test_the_first_pod_that_matches_its_own_affinity_may_go_to_any_domain(self) -> None:
        near = {"podAffinity": required({"topologyKey": "zone", "labelSelector": app("web")})}
        first = pod(affinity=near, labels={"app": "web"})
        assert feasible(first, world(ZONES)) == {"a1", "a2", "b1"}
        assert feasible(pod(affinity=near, labels={"app": "other"}), world(ZONES)) == set()

    def test_anti_affinity_excludes_domains_of_matching_pods(self) -> None:
        there = world(ZONES, [pod("web", node="a1", labels={"app": "web"})])
        apart = {"podAntiAffinity": required({"topologyKey": "zone", "labelSelector": app("web")})}
        assert feasible(pod(affinity=apart), there) == {"b1", "nowhere"}

    def test_anti_affinity_of_existing_pods_excludes_domains_too(self) -> None:
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
    def test_an_affinity_term_matches_pods_of_its_namespaces(self, where: Manifest, means: set[str]) -> None:
        spaces = [namespace("own"), namespace("other", team="x")]
        apart = {"podAntiAffinity": required({"topologyKey": HOST, "labelSelector": {}, **where})}
        for there in ("own", "other"):
            other = pod("other", node="a1", namespace=there)
            may_go = feasible(pod(namespace="own", affinity=apart), world(ZONES[:1], [other], spaces))
            assert may_go == (set() if there in means else {"a1"})

    def test_an_affinity_term_without_a_selector_matches_no_pods(self) -> None:
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

    def test_topology_spread_with_max_skew_1_allows_only_the_least_filled_domains(self) -> None:
        assert self.may_go([]) == {"a1", "a2", "b1"}
        assert self.may_go(["a1"]) == {"b1"}
        assert self.may_go(["a1", "b1"]) == {"a1", "a2", "b1"}
        assert self.may_go(["a1", "a2", "b1"]) == {"b1"}

    def test_topology_spread_allows_domains_up_to_max_skew(self) -> None:
        assert self.may_go(["a1"], maxSkew=2) == {"a1", "a2", "b1"}
        assert self.may_go(["a1", "a1"], maxSkew=2) == {"b1"}

    def test_schedule_anyway_excludes_no_node(self) -> None:
        assert self.may_go(["a1"], whenUnsatisfiable="ScheduleAnyway") == {"a1", "a2", "b1", "nowhere"}

    def test_fewer_domains_than_min_domains_have_a_global_minimum_of_zero(self) -> None:
        assert self.may_go(["a1", "b1"], minDomains=3) == set()
        assert self.may_go(["a1"], minDomains=3) == {"b1"}
        assert self.may_go(["a1", "b1"], minDomains=2) == {"a1", "a2", "b1"}

    def test_match_label_keys_count_only_the_same_revision(self) -> None:
        assert self.may_go(["a1"], matchLabelKeys=["version"]) == {"a1", "a2", "b1"}
        assert self.may_go(["a1"], matchLabelKeys=["absent"]) == {"b1"}

    def test_domains_that_the_node_selector_excludes_do_not_count_unless_ignored(self) -> None:
        only_a = {"nodeSelector": {"zone": "a"}}
        assert self.may_go(["a1"], spec=only_a) == {"a1", "a2"}
        assert self.may_go(["a1"], spec=only_a, nodeAffinityPolicy="Ignore") == set()

    def test_tainted_domains_count_unless_node_taints_policy_is_honor(self) -> None:
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
    def test_pods_with_unsupported_fields_are_not_scheduled(self, spec: Manifest) -> None:
        objections = modules.feasibility.check(Pod(pod(**spec)), world([node("n")]))
        assert "not supported" in objections["n"]

    def test_volumes_that_are_available_on_every_node_are_ignored(self) -> None:
        volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "c"}}]
        assert feasible(pod(volumes=volumes), world([node("n")])) == {"n"}

    def test_the_summary_counts_nodes_by_reason(self) -> None:
        objections = {"a": "cordoned", "b": "insufficient cpu", "c": "insufficient cpu"}
        assert modules.feasibility.summary(objections) == "0/3 nodes are available: 2 insufficient cpu, 1 cordoned"
        assert modules.feasibility.summary({}) == "0/0 nodes are available"
