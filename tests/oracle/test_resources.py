"""Resources that pods request and use, and shortages of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.oracle.manifest import occupants
from schedproof.oracle.resources import allocatable, held, needed, shortages

Manifest = dict[str, Any]


def container(name: str = "main", *, always: bool = False, **requests: str) -> Manifest:
    result: Manifest = {"name": name, "resources": {"requests": requests}}
    return result | ({"restartPolicy": "Always"} if always else {})


def pod(
    *containers: Manifest, init: tuple[Manifest, ...] = (), status: Manifest | None = None, **spec: Any
) -> Manifest:
    return {
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {"containers": list(containers), "initContainers": list(init), **spec},
        "status": status or {},
    }


def node(**offered: str) -> Manifest:
    return {"metadata": {"name": "n"}, "status": {"allocatable": {"pods": "110", **offered}}}


@pytest.mark.parametrize(
    ("described", "manifest", "expected"),
    [
        ("containers add up", pod(container(cpu="500m"), container(cpu="1")), {"cpu": 1500}),
        ("a container without requests needs nothing", pod(container()), {}),
        ("null resources need nothing", pod({"name": "main", "resources": None}), {}),
        ("limits are not requests", pod({"name": "main", "resources": {"limits": {"cpu": "1"}}}), {}),
        (
            "the largest ordinary init container counts",
            pod(container(cpu="1"), init=(container("a", cpu="3"), container("b", cpu="2"))),
            {"cpu": 3000},
        ),
        (
            "an init container counts only if it exceeds the sum of the containers",
            pod(container(cpu="2"), container(cpu="2"), init=(container("a", cpu="3"),)),
            {"cpu": 4000},
        ),
        (
            "each resource is computed separately",
            pod(container(cpu="2", memory="1Gi"), init=(container("a", cpu="1", memory="2Gi"),)),
            {"cpu": 2000, "memory": 2**31},
        ),
        (
            "a sidecar runs beside the containers",
            pod(container(cpu="1"), init=(container("s", always=True, cpu="500m"),)),
            {"cpu": 1500},
        ),
        (
            "an init container after a sidecar runs beside it",
            pod(container(cpu="1"), init=(container("s", always=True, cpu="500m"), container("i", cpu="2"))),
            {"cpu": 2500},
        ),
        (
            "an init container before a sidecar runs alone",
            pod(container(cpu="1"), init=(container("i", cpu="2"), container("s", always=True, cpu="500m"))),
            {"cpu": 2000},
        ),
        (
            "sidecars add up in order",
            pod(
                container(cpu="1"),
                init=(
                    container("s", always=True, cpu="1"),
                    container("i", cpu="3"),
                    container("t", always=True, cpu="1"),
                    container("j", cpu="3"),
                ),
            ),
            {"cpu": 5000},
        ),
        (
            "restartPolicy Never is no sidecar",
            pod(container(cpu="1"), init=({**container("i", cpu="1"), "restartPolicy": "Never"},)),
            {"cpu": 1000},
        ),
        (
            "overhead is added",
            pod(container(cpu="1"), init=(container("i", cpu="3"),), overhead={"cpu": "250m", "memory": "1Mi"}),
            {"cpu": 3250, "memory": 2**20},
        ),
        (
            "a pod-level request replaces those of its containers",
            pod(container(cpu="3", memory="1Gi"), resources={"requests": {"cpu": "1"}}),
            {"cpu": 1000, "memory": 2**30},
        ),
        (
            "a pod-level request replaces those of larger init containers",
            pod(container(), init=(container("i", cpu="3"),), resources={"requests": {"cpu": "1"}}),
            {"cpu": 1000},
        ),
        (
            "overhead is added to a pod-level request",
            pod(container(cpu="3"), resources={"requests": {"cpu": "1"}}, overhead={"cpu": "1"}),
            {"cpu": 2000},
        ),
        (
            "huge pages have pod-level requests",
            pod(container(), resources={"requests": {"hugepages-2Mi": "4Mi"}}),
            {"hugepages-2Mi": 2**22},
        ),
        (
            "other resources have no pod-level requests",
            pod(
                container(**{"ephemeral-storage": "1"}),
                resources={"requests": {"ephemeral-storage": "5", "x.io/gpu": "5"}},
            ),
            {"ephemeral-storage": 1},
        ),
        (
            "pod-level limits are not requests",
            pod(container(cpu="3"), resources={"limits": {"cpu": "1"}}),
            {"cpu": 3000},
        ),
        ("extended resources are whole units", pod(container(**{"x.io/gpu": "2"})), {"x.io/gpu": 2}),
        ("requests are rounded once, after the sum", pod(container(cpu="500u"), container(cpu="500u")), {"cpu": 1}),
        (
            "unknown resource names do not count",
            pod(container(storage="5", pods="5", **{"requests.x.io/gpu": "5"})),
            {},
        ),
    ],
)
def test_requests_of_a_pod_to_be_scheduled(described: str, manifest: Manifest, expected: dict[str, int]) -> None:
    """Requests of a pod that is to be scheduled."""
    assert needed(manifest) == expected, described


RESIZED = container(cpu="2")
SIDECAR = container("s", always=True, cpu="2")


def reported(allocated: str, actual: str | None, name: str = "main") -> Manifest:
    result: Manifest = {"name": name, "allocatedResources": {"cpu": allocated}}
    return result if actual is None else result | {"resources": {"requests": {"cpu": actual}}}


@pytest.mark.parametrize(
    ("described", "manifest", "cpu"),
    [
        (
            "growing: the desired request counts at once",
            pod(RESIZED, status={"containerStatuses": [reported("1", "1")]}),
            2000,
        ),
        (
            "shrinking, not yet admitted: the allocated amount counts",
            pod(RESIZED, status={"containerStatuses": [reported("4", "3")]}),
            4000,
        ),
        (
            "shrinking, admitted: the actual amount counts",
            pod(RESIZED, status={"containerStatuses": [reported("2", "3")]}),
            3000,
        ),
        (
            "nothing reported: only the spec counts",
            pod(RESIZED, status={"containerStatuses": [{"name": "main"}]}),
            2000,
        ),
        (
            "allocatedResources without resources is ignored",
            pod(RESIZED, status={"containerStatuses": [reported("4", None)]}),
            2000,
        ),
        (
            "a sidecar can be resized",
            pod(init=(SIDECAR,), status={"initContainerStatuses": [reported("4", "3", "s")]}),
            4000,
        ),
        (
            "an ordinary init container cannot be resized",
            pod(init=(container("i", cpu="2"),), status={"initContainerStatuses": [reported("4", "4", "i")]}),
            2000,
        ),
        (
            "infeasible: the desired request is ignored",
            pod(
                RESIZED,
                status={
                    "containerStatuses": [reported("1", "1")],
                    "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
                },
            ),
            1000,
        ),
        (
            "deferred: the desired request counts",
            pod(
                RESIZED,
                status={
                    "containerStatuses": [reported("1", "1")],
                    "conditions": [{"type": "PodResizePending", "reason": "Deferred"}],
                },
            ),
            2000,
        ),
        (
            "only PodResizePending means infeasible",
            pod(
                RESIZED,
                status={
                    "containerStatuses": [reported("1", "1")],
                    "conditions": [{"type": "PodResizeInProgress", "reason": "Infeasible"}],
                },
            ),
            2000,
        ),
        (
            "pod-level resources can be resized",
            pod(
                container(),
                resources={"requests": {"cpu": "1"}},
                status={"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}},
            ),
            3000,
        ),
        (
            "a resize of pod-level resources may be infeasible",
            pod(
                container(),
                resources={"requests": {"cpu": "5"}},
                status={
                    "resources": {"requests": {"cpu": "2"}},
                    "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
                },
            ),
            2000,
        ),
        (
            "pod-level status without a request in the spec is ignored",
            pod(RESIZED, status={"resources": {"requests": {"cpu": "9"}}}),
            2000,
        ),
    ],
)
def test_pod_being_resized_holds_the_largest_amount(described: str, manifest: Manifest, cpu: int) -> None:
    """Resources that a pod occupies: the maximum of desired, allocated and actual."""
    assert held(manifest) == {"cpu": cpu}, described


def test_status_of_a_pod_to_be_scheduled_is_ignored() -> None:
    """The pod has not run on any node."""
    assert needed(pod(RESIZED, status={"containerStatuses": [reported("9", "9")]})) == {"cpu": 2000}


def test_allocatable_counts_instead_of_capacity() -> None:
    """Resources that the kubelet reserves for the system are not available to pods."""
    manifest = {
        "metadata": {"name": "n"},
        "status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "7900m", "pods": "110"}},
    }
    assert allocatable(manifest) == {"cpu": 7900, "pods": 110}


def test_node_without_a_status_has_no_room() -> None:
    """There is no room even for pods without requests."""
    assert shortages({}, {"metadata": {"name": "n"}}, []) == ("pods: 0 of 0 taken",)


@pytest.mark.parametrize(
    ("need", "offered", "used", "reasons"),
    [
        ({"cpu": 1000}, {"cpu": "4"}, [{"cpu": 3000}], ()),
        ({"cpu": 1500}, {"cpu": "4"}, [{"cpu": 3000}], ("cpu: needs 1500m, 1000m free of 4000m",)),
        ({"cpu": 1}, {"cpu": "1"}, [{"cpu": 600}, {"cpu": 600}], ("cpu: needs 1m, -200m free of 1000m",)),
        ({"memory": 2**31}, {"memory": "8Gi"}, [{"memory": 7 * 2**30}], ("memory: needs 2Gi, 1Gi free of 8Gi",)),
        ({"ephemeral-storage": 5}, {"ephemeral-storage": "4"}, [], ("ephemeral-storage: needs 5, 4 free of 4",)),
        ({"hugepages-2Mi": 2**22}, {}, [], ("hugepages-2Mi: needs 4Mi, 0 free of 0",)),
        ({"x.io/gpu": 1}, {}, [], ("x.io/gpu: needs 1, 0 free of 0",)),
        ({"x.io/gpu": 0}, {}, [], ()),
        ({"amd.com/gpu": 2}, {"amd.com/gpu": "1"}, [], ("amd.com/gpu: needs 2, 1 free of 1",)),
        ({"memory": 1}, {"cpu": "1", "memory": "1"}, [{"cpu": 2000}], ()),
        ({}, {"pods": "2"}, [{}], ()),
        ({}, {"pods": "2"}, [{}, {}], ("pods: 2 of 2 taken",)),
        ({"cpu": 2000, "memory": 2}, {"cpu": "1", "memory": "1", "pods": "0"}, [],
         ("pods: 0 of 0 taken", "cpu: needs 2000m, 1000m free of 1000m", "memory: needs 2, 1 free of 1")),
    ],
)  # fmt: skip
def test_every_shortage_is_named_with_its_numbers(
    need: dict[str, int], offered: dict[str, str], used: list[dict[str, int]], reasons: tuple[str, ...]
) -> None:
    """A full node still fits; a resource that is not requested is never short, even if it is overcommitted."""
    assert shortages(need, node(**offered), used) == reasons


@pytest.mark.parametrize(
    ("described", "spec", "status", "metadata", "there"),
    [
        ("running", {"nodeName": "n"}, {"phase": "Running"}, {}, True),
        ("bound, not yet started", {"nodeName": "n"}, {"phase": "Pending"}, {}, True),
        ("unknown phase", {"nodeName": "n"}, {"phase": "Unknown"}, {}, True),
        ("no status yet", {"nodeName": "n"}, None, {}, True),
        ("terminating", {"nodeName": "n"}, {"phase": "Running"}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        ("succeeded", {"nodeName": "n"}, {"phase": "Succeeded"}, {}, False),
        ("failed", {"nodeName": "n"}, {"phase": "Failed"}, {}, False),
        ("pending", {}, {"phase": "Pending"}, {}, False),
        ("only nominated", {}, {"phase": "Pending", "nominatedNodeName": "n"}, {}, False),
    ],
)
def test_pods_that_occupy_a_node(
    described: str, spec: Manifest, status: Manifest | None, metadata: Manifest, there: bool
) -> None:
    """From the binding to a terminal phase; a terminating pod still occupies its node."""
    manifest = {"metadata": {"name": "p", **metadata}, "spec": spec, "status": status}
    assert occupants([manifest]) == ({"n": [manifest]} if there else {}), described
