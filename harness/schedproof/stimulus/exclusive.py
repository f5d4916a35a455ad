"""Pods of which a node has room for one, by each rule about the other pods of a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schedproof.candidate.subjects import Subject
from schedproof.stimulus.case import Case

_HOSTNAME = "kubernetes.io/hostname"
_LABEL = "schedproof.dev/one"
_MORE_THAN_ANY = 100_000
"""Domains that no cluster has: with fewer than `minDomains`, each may have `maxSkew` pods, whatever the others have."""


def one_for_each_node(case: Case) -> Iterator[dict[str, Any]]:
    """Yield specs for `Case.pod`. A node has room for one pod with the same: by its port, affinity, or topology spread.

    What the candidate does not support is left out.
    """
    if not case.leaves_out(Subject.HOST_PORTS):
        yield {"ports": [{"containerPort": 9595, "hostPort": 9595}]}
    if not case.leaves_out(Subject.POD_AFFINITY):
        term = {"labelSelector": {"matchLabels": {_LABEL: "apart"}}, "topologyKey": _HOSTNAME}
        apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        yield {"labels": {_LABEL: "apart"}, "affinity": apart}
    if not case.leaves_out(Subject.TOPOLOGY_SPREAD):
        constraint = {
            "labelSelector": {"matchLabels": {_LABEL: "spread"}}, "topologyKey": _HOSTNAME,
            "maxSkew": 1, "minDomains": _MORE_THAN_ANY, "whenUnsatisfiable": "DoNotSchedule",
        }  # fmt: skip
        yield {"labels": {_LABEL: "spread"}, "topologySpreadConstraints": [constraint]}
