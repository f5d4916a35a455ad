"""Pods that are there for a whole run: why each waits, and that none of the bystanders is the candidate's."""

from __future__ import annotations

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.stimulus.pods import pod_manifest
from schedproof.stimulus.standing import LONG_WAITING, bystanders, waiting

from .world import SCHEDULER, World


def test_what_must_wait_fits_nowhere_whatever_becomes_of_the_nodes(world: World) -> None:
    world.cluster.add_node("bare")
    world.server.patch("nodes", "bare", {"spec": {"taints": None}})
    for name, spec in waiting({}).items():
        pod = world.pods.create(name, plain=True, **spec)
        objections = world.pods.objections(world.recorder.pods[pod.uid])
        gated = "schedulingGates" in world.pod(pod)["spec"]
        assert gated or all(len(reasons) == 1 for reasons in objections.values()), (name, objections)
        assert gated == (name == "gated")


def test_more_of_them_are_taken_on() -> None:
    more = {"full": {"cpu": "9"}}
    assert waiting(more).items() >= more.items()
    assert waiting(more).keys() - more.keys() == waiting({}).keys()


@pytest.mark.parametrize(
    ("subject", "reasons"),
    [
        (Subject.CPU, {"too-large"}),
        (Subject.MEMORY, {"too-much-memory"}),
        (Subject.EPHEMERAL_STORAGE, {"too-much-storage"}),
        (Subject.EXTENDED_RESOURCES, {"no-such-resource"}),
        (Subject.NODE_AFFINITY, {"affine"}),
        (Subject.NODE_SELECTOR, {"selector"}),
        (Subject.GATES, {"gated"}),
        (Subject.HOST_PORTS, set()),
    ],
)
def test_what_a_candidate_does_not_support_keeps_no_pod_waiting(subject: Subject, reasons: set[str]) -> None:
    assert waiting({}).keys() - waiting({}, [subject]).keys() == reasons


def test_a_patient_waits_until_there_is_a_place_for_it(world: World) -> None:
    pod = world.pods.create("patient", plain=True, **LONG_WAITING)
    assert not world.pods.fits(pod)
    world.server.patch("nodes", "node-1", {"metadata": {"labels": {"schedproof.dev/patient": "yes"}}})
    labelled = lambda: "schedproof.dev/patient" in world.recorder.nodes["node-1"]["metadata"]["labels"]  # noqa: E731
    world.await_shown(labelled, "the label")
    assert world.pods.fits(pod)


@pytest.mark.parametrize("served", [[SCHEDULER], [SCHEDULER, f"{SCHEDULER}-2", "default-scheduler"]])
def test_bystanders_are_of_schedulers_with_names_near_the_candidates(world: World, served: list[str]) -> None:
    pods = list(bystanders(SCHEDULER, served, world.cluster))
    near = [
        "schedproof-bystander",
        f"{SCHEDULER}-2",
        f"my-{SCHEDULER}",
        SCHEDULER.swapcase(),
        "default-scheduler",
        None,
    ]
    left = [name for name in near if (name or "default-scheduler") not in served]
    assert sorted(str(pod["spec"].get("schedulerName")) for pod in pods) == sorted(map(str, left))
    assert not any("nodeSelector" in pod["spec"] for pod in pods)


def test_where_a_default_scheduler_runs_its_pods_fit_nowhere(world: World) -> None:
    world.cluster.capabilities |= {"default-scheduler"}
    pods = list(bystanders(SCHEDULER, [SCHEDULER], world.cluster))
    kept = {pod["metadata"]["name"] for pod in pods if "nodeSelector" in pod["spec"]}
    assert kept == {"bystander-default", "bystander-unnamed"}


def test_a_pod_has_what_its_manifest_is_asked_for() -> None:
    manifest = pod_manifest(
        "web", "tested", image="image", command=["run"], cpu="1", memory="2Gi", node="node-1", labels={"app": "x"},
        annotations={"a": "b"}, finalizers=["f"], owner={"uid": "u"}, extended={"example.com/gpu": "1"},
        ports=[{"hostPort": 80}], more=[{"cpu": "2"}], init=[{"memory": "1Gi", "restartPolicy": "Always"}],
        priorityClassName="high",
    )  # fmt: skip
    metadata, spec = manifest["metadata"], manifest["spec"]
    assert (metadata["name"], metadata["labels"], metadata["annotations"]) == ("web", {"app": "x"}, {"a": "b"})
    assert (metadata["finalizers"], metadata["ownerReferences"]) == (["f"], [{"uid": "u"}])
    assert (spec["schedulerName"], spec["nodeName"], spec["priorityClassName"]) == ("tested", "node-1", "high")
    main, more = spec["containers"]
    assert main["resources"] == {
        "requests": {"cpu": "1", "memory": "2Gi", "example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"},
    }  # fmt: skip
    assert (main["command"], main["ports"], main["image"]) == (["run"], [{"hostPort": 80}], "image")
    assert more["resources"]["requests"] == {"cpu": "2"}
    (init,) = spec["initContainers"]
    assert (init["resources"]["requests"], init["restartPolicy"]) == ({"memory": "1Gi"}, "Always")


def test_a_pod_that_asks_for_nothing_has_nothing_of_it() -> None:
    manifest = pod_manifest("web", "tested", image="image")
    assert manifest["metadata"] == {"name": "web", "labels": {}, "finalizers": []}
    assert manifest["spec"].keys() & {"nodeName", "initContainers"} == set()
    assert manifest["spec"]["containers"] == [
        {"name": "main", "image": "image", "resources": {"requests": {}, "limits": {}}}
    ]
