"""What the harness cannot do with a scheduler that it did not start, or that runs far away, and what would make it
possible.
"""

from __future__ import annotations

from collections.abc import Collection

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.candidate.surroundings import RbacSpec
from schedproof.clusters.existing.access import in_cluster

RESTART_ATTACHED = "restart-attached"
"""The capability of a cluster whose user permits that the pods of a running scheduler are deleted."""

_NOT_OURS = "the harness does not start this scheduler, so {}"
_UNSEEN = "its pods are not known: name them by spec.attached.workload or spec.attached.selector"


_IN_POD = "the run is in a pod, where no candidate can be started on other configurations"
_FAR = "its pods do not reach this machine, so {}: --callback-address ADDRESS"


def withheld(candidate: Candidate, capabilities: Collection[str], deploy: str) -> dict[str, str]:
    """Return by capability why it cannot be used with the candidate; mostly nothing for one that the harness starts.

    Args:
        candidate: what is judged.
        capabilities: those of the cluster.
        deploy: how its components run, one of `deployer.DEPLOY_MODES`.
    """
    spec = candidate.spec
    if not isinstance(spec, AttachedSpec):
        within = {"configure-candidate": _IN_POD} if in_cluster() else {}
        if deploy != "pod" or "hold-bindings" in capabilities:
            return within
        return within | {
            "scripted-metrics": _FAR.format("its readings cannot be chosen"),
            "tap-candidate": _FAR.format("its calls do not lead through a proxy"),
        }
    readings = _NOT_OURS.format("its readings are those of the cluster's own Prometheus, which cannot be chosen")
    found = {
        "configure-candidate": _NOT_OURS.format("its configuration cannot be tried: describe it as a plugin"),
        "scripted-metrics": readings,
        "stop-candidate": _NOT_OURS.format("it cannot be held back until pods wait: its pods are replaced at once"),
        "tap-candidate": _NOT_OURS.format("its calls do not lead through a proxy: describe it as an extender"),
    }
    if candidate.rbac == RbacSpec():
        found["grant-candidate"] = _NOT_OURS.format("its rights are not known: state them in spec.rbac")
    if not spec.is_visible:
        found |= {"restart-candidate": _UNSEEN, "watch-candidate": _UNSEEN}
    elif RESTART_ATTACHED not in capabilities:
        found["restart-candidate"] = "it may not be restarted: --allow-restart permits to delete its pods"
    return found
