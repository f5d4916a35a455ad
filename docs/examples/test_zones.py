"""Clauses of one's own, tried in a world of one's own.

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
    """Replicas that must not share a zone get a zone each, and the one too many waits."""
    web = {"labels": {"app": "web"}, "affinity": APART, "cpu": "100m"}
    replicas = [case.pod("web", **web) for _ in range(3)]
    case.expect_bound(replicas)
    case.expect_pending([case.pod("web", **web)])
    assert len({case.node_of(pod) for pod in replicas}) == 3


def test_a_full_zone_is_left_alone(case):
    """A pod that has to be in a zone waits while that is full, and gets its place once there is room."""
    here = {"nodeSelector": {ZONE: "local-c"}}
    filler = case.pods.fill("east", cpu="100m")
    case.settle()
    pod = case.pod("db", cpu="500m", **here)
    case.expect_pending([pod])
    case.delete([filler])
    case.expect_bound([pod])
