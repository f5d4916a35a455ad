"""Example clauses of your own, in a world of your own.

pytest test_zones.py --sched-candidate=candidate.yaml --sched-cluster-file=zones.yaml
"""

ZONE = "topology.kubernetes.io/zone"
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


def test_replicas_in_zones_of_their_own(case):
    """Replicas that must not share a zone are bound to a zone each; an extra replica stays pending."""
    web = {"labels": {"app": "web"}, "affinity": APART, "cpu": "100m"}
    replicas = [case.pod("web", **web) for _ in range(3)]
    case.expect_bound(replicas)
    case.expect_pending([case.pod("web", **web)])
    assert len({case.node_of(pod) for pod in replicas}) == 3


def test_a_full_zone_is_left_alone(case):
    """A pod that must run in a zone stays pending while the zone is full, and is bound once there is room."""
    here = {"nodeSelector": {ZONE: "local-c"}}
    filler = case.pods.fill("east", cpu="100m")
    case.settle()
    pod = case.pod("db", cpu="500m", **here)
    case.expect_pending([pod])
    case.delete([filler])
    case.expect_bound([pod])
