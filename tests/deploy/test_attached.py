"""A scheduler that runs already: how its pods are found, and what cannot be done with it. The API is simulated."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec, ControllerSpec, Workload
from schedproof.candidate.surroundings import RbacSpec
from schedproof.clusters.api import NotFound
from schedproof.deploy.attached import withheld as withholding
from schedproof.deploy.attached.scheduler import AttachedScheduler, require_restartable
from schedproof.deploy.attached.withheld import RESTART_ATTACHED, withheld
from schedproof.deploy.attached.workload import FoundPod, find_leader, find_pods
from schedproof.foundation.errors import UsageError
from schedproof.judge.clause import OF_CANDIDATE

DEPLOYMENT = Workload("Deployment", "mine")
STATIC = {"kubernetes.io/config.mirror": "a hash"}


def candidate(**spec: Any) -> Candidate:
    return Candidate(
        name="mine", scheduler_name="mine", path=Path("candidate.yaml"),
        attached=AttachedSpec(**{"namespace": "here", "workload": DEPLOYMENT, **spec}),
    )  # fmt: skip


def pod(name: str, *containers: str, annotations: Any = None, metadata: Any = None, **spec: Any) -> dict[str, Any]:
    names = containers or ("scheduler",)
    return {
        "metadata": {
            "name": name, "namespace": "here", "uid": name, "annotations": annotations,
            "ownerReferences": [{"controller": True}], **(metadata or {}),
        },
        "spec": {"serviceAccountName": "own", "containers": [{"name": n, "image": "an-image"} for n in names], **spec},
        "status": {"containerStatuses": [{"name": n, "restartCount": 2, "imageID": f"sha256:{n}"} for n in names]},
    }  # fmt: skip


class PlayedApi:
    """An apiserver with a Deployment `mine`, and the pods and Leases of a test."""

    def __init__(self, *pods: dict[str, Any], holder: str = "", lease: str = "lock") -> None:
        self.pods = pods
        self.leases = [{"metadata": {"name": lease}, "spec": {"holderIdentity": holder}}]
        self.selectors: list[str] = []

    def get(self, resource: str, name: str, namespace: str) -> dict[str, Any]:
        if (resource, name, namespace) != ("deployments", "mine", "here"):
            raise NotFound("GET", name, 404, b"")
        terms = [{"key": "tier", "operator": "In", "values": ["a", "b"]}, {"key": "old", "operator": "DoesNotExist"}]
        return {"spec": {"selector": {"matchLabels": {"app": "mine"}, "matchExpressions": terms}}}

    def list(self, resource: str, _namespace: str = "", *, labelSelector: str = "") -> dict[str, Any]:  # noqa: N803
        self.selectors.append(labelSelector)
        others = {"leases": self.leases, "deployments": [{"metadata": {"name": "other"}}]}
        return {"items": self.pods if resource == "pods" else others.get(resource, [])}


def found(*pods: dict[str, Any], **spec: Any) -> list[FoundPod]:
    return find_pods(PlayedApi(*pods), candidate(**spec))  # type: ignore[arg-type]


def test_the_pods_of_a_workload_are_found_by_its_selector_but_for_those_that_end() -> None:
    api = PlayedApi(pod("b"), pod("a"), pod("going", metadata={"deletionTimestamp": "now"}))
    pods = find_pods(api, candidate())  # type: ignore[arg-type]
    assert [one.name for one in pods] == ["a", "b"]
    assert api.selectors == ["app=mine,tier in (a,b),!old"]
    assert (pods[0].user, pods[0].image, pods[0].restarts) == (
        "system:serviceaccount:here:own", "sha256:scheduler", 2,
    )  # fmt: skip


def test_a_selector_finds_pods_without_a_workload() -> None:
    (one,) = found(pod("kube-scheduler-a", annotations=STATIC), workload=None, selector={"component": "kube-scheduler"})
    assert one.is_static
    assert not one.is_replaced
    assert one.user == "", "a static pod has no ServiceAccount"


@pytest.mark.parametrize(
    ("pods", "spec", "problem", "fix"),
    [
        ([], {}, "the Deployment here/mine has no pod", "kubectl get pods -n here"),
        ([], {"workload": Workload("Deployment", "none")}, "there is no Deployment here/none", "there: other"),
        ([], {"workload": Workload("StatefulSet", "none")}, "there is no StatefulSet here/none", "there: none"),
        ([pod("a", "x", "y")], {}, "has several containers", "name one of x, y"),
        ([pod("a", "x")], {"container": "z"}, "has no container z", "name one of x"),
    ],
)
def test_what_is_not_found_is_named_with_what_is_there(pods: Any, spec: Any, problem: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        found(*pods, **spec)
    assert problem in caught.value.message
    assert fix in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("made", "holder", "lease", "leader"),
    [
        ({}, "a_0c2d", "lock", "a"),
        ({}, "elsewhere_0c2d", "lock", ""),
        # On a node's own network all pods have the node's name: the Lease must be that of a scheduler.
        ({"hostNetwork": True, "nodeName": "n"}, "n_0c2d", "scheduler", "a"),
        ({"hostNetwork": True, "nodeName": "n"}, "n_0c2d", "kube-controller-manager", ""),
    ],
)
def test_the_leader_is_the_holder_of_a_lease(made: Any, holder: str, lease: str, leader: str) -> None:
    api: Any = PlayedApi(pod("a", **made), pod("b"), holder=holder, lease=lease)
    mine = candidate()
    assert find_leader(api, mine, find_pods(api, mine)) == leader


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"annotations": STATIC}, "is static"),
        ({"metadata": {"ownerReferences": []}}, "has no controller"),
        ({"schedulerName": "mine"}, "is scheduled by mine itself"),
    ],
)
def test_a_scheduler_that_would_not_come_back_is_not_restarted(made: Any, why: str) -> None:
    require_restartable(candidate(), found(pod("a")))
    with pytest.raises(UsageError, match=why):
        require_restartable(candidate(), found(pod("a", **made)))


def test_with_an_audit_log_it_must_be_known_who_the_scheduler_is(tmp_path: Path) -> None:
    api = PlayedApi(pod("a", annotations=STATIC))
    site: Any = SimpleNamespace(api=api, capabilities=frozenset({"audit"}))
    with pytest.raises(UsageError, match="which user"):
        AttachedScheduler(site, candidate(), tmp_path)
    assert AttachedScheduler(site, candidate(user="system:kube-scheduler"), tmp_path).user == "system:kube-scheduler"
    blind: Any = SimpleNamespace(api=api, capabilities=frozenset())
    assert AttachedScheduler(blind, candidate(), tmp_path).user == ""


def test_what_is_withheld_says_what_would_make_it_possible() -> None:
    given = withheld(candidate(), [], "process")
    assert given.keys() - {"scripted-metrics"} == OF_CANDIDATE - {"watch-candidate"}
    assert "--allow-restart" in given["restart-candidate"]
    assert "spec.rbac" in given["grant-candidate"]
    assert "restart-candidate" not in withheld(candidate(), [RESTART_ATTACHED], "process")
    rights = dataclasses.replace(candidate(), rbac=RbacSpec(cluster_roles=("system:kube-scheduler",)))
    assert "grant-candidate" not in withheld(rights, [], "process")
    unseen = withheld(candidate(workload=None), [RESTART_ATTACHED], "process")
    assert unseen["watch-candidate"] == unseen["restart-candidate"]
    started = dataclasses.replace(candidate(), attached=None, controller=ControllerSpec(command=("a",)))
    assert withheld(started, [], "process") == {}


def test_in_a_pod_no_candidate_is_started_on_other_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    started = dataclasses.replace(candidate(), attached=None, controller=ControllerSpec(command=("a",)))
    monkeypatch.setattr(withholding, "in_cluster", lambda: True)
    assert withheld(started, ["hold-bindings"], "pod").keys() == {"configure-candidate"}
    assert withheld(started, [], "pod").keys() == {"configure-candidate", "scripted-metrics", "tap-candidate"}


def test_pods_that_do_not_reach_this_machine_have_no_taps_and_no_chosen_readings() -> None:
    started = dataclasses.replace(candidate(), attached=None, controller=ControllerSpec(command=("a",)))
    far = withheld(started, [], "pod")
    assert far.keys() == {"scripted-metrics", "tap-candidate"}
    assert all("--callback-address" in why for why in far.values())
    assert withheld(started, ["hold-bindings"], "pod") == {}
