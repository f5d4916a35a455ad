"""The pods that send load in an existing cluster: one on each node, only as long as there is load."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schedproof.clusters.existing.pod_traffic import LOAD_SECONDS, PodTraffic, job
from schedproof.foundation.errors import HostError

NODES = ("a", "b", "c")


class PlayedPod:
    """The container of a pod: it answers each line of its input, unless it has ended."""

    def __init__(self) -> None:
        self.rates: dict[str, float] = {}
        self.ended = False
        self._output = [b'{"address": "10.0.0.9"}\n']

    def send(self, data: bytes) -> None:
        self.rates |= json.loads(data)["rates"]
        self._output.append(b'{"ok": true}\n')

    def readline(self) -> bytes:
        return b"" if self.ended else self._output.pop(0)

    def close(self) -> None:
        self.ended = True


class PlayedApi:
    """An apiserver that runs the pods of a Job at once."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, PlayedPod] = {}

    def create(self, resource: str, body: dict[str, Any], _namespace: str) -> None:
        self.objects[resource] = body

    def path(self, resource: str, _namespace: str, _name: str) -> str:
        return resource

    def remove(self, resource: str) -> None:
        del self.objects[resource]

    def delete_if_there(self, resource: str, _name: str, _namespace: str) -> None:
        self.objects.pop(resource, None)

    def list(self, _resource: str, _namespace: str, **_query: str) -> dict[str, Any]:
        found = [
            {
                "metadata": {"name": f"load-{node}"}, "spec": {"nodeName": node},
                "status": {"podIP": f"10.0.0.{node}", "containerStatuses": [{"state": {"running": {}}}]},
            }
            for node in NODES
        ]  # fmt: skip
        return {"items": found if "jobs" in self.objects else []}

    def attach(self, _namespace: str, pod: str) -> PlayedPod:
        self.pods[pod.removeprefix("load-")] = made = PlayedPod()
        return made


@pytest.fixture
def api() -> PlayedApi:
    return PlayedApi()


@pytest.fixture
def traffic(api: PlayedApi) -> PodTraffic:
    played: Any = api
    return PodTraffic(played, "ns", NODES, image=lambda: "python:3", labels={"run": "1"}, most=1e6)


def test_a_node_receives_from_the_next_one_and_nothing_runs_without_load(api: PlayedApi, traffic: PodTraffic) -> None:
    traffic.set_rates(dict.fromkeys(NODES, 0.0))
    assert not api.objects
    traffic.set_rates({"a": 100.0, "b": 200.0, "c": 0.0})
    assert {node: pod.rates for node, pod in api.pods.items()} == {
        "a": {"10.0.0.c": 0.0}, "b": {"10.0.0.a": 100.0}, "c": {"10.0.0.b": 200.0},
    }  # fmt: skip
    assert set(api.objects) == {"configmaps", "jobs"}
    traffic.set_rates(dict.fromkeys(NODES, 0.0))
    assert not api.objects
    assert all(pod.ended for pod in api.pods.values())


def test_what_a_node_transmits_goes_to_the_next_one(api: PlayedApi, traffic: PodTraffic) -> None:
    traffic.set_rates({"c": 100.0}, "transmit")
    assert api.pods["c"].rates == {"10.0.0.a": 100.0}


def test_more_than_the_user_allows_is_refused_before_anything_runs(api: PlayedApi, traffic: PodTraffic) -> None:
    with pytest.raises(HostError, match="more than the user allows"):
        traffic.set_rates({"a": 1e6 + 1})
    assert not api.objects


def test_a_pod_that_has_ended_is_an_error(api: PlayedApi, traffic: PodTraffic) -> None:
    traffic.set_rates({"a": 100.0})
    api.pods["b"].ended = True
    with pytest.raises(HostError, match="pod load-b, which sends load, has ended"):
        traffic.set_rates({"a": 200.0})


def test_closing_ends_all_input(api: PlayedApi, traffic: PodTraffic) -> None:
    traffic.set_rates({"a": 100.0})
    traffic.close()
    assert all(pod.ended for pod in api.pods.values())


def test_the_job_is_bounded_in_time_owned_by_the_run_and_restricted() -> None:
    made = job(NODES, "python:3", {"run": "1"})
    spec, pod = made["spec"], made["spec"]["template"]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (3, 3, 0)
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (LOAD_SECONDS, 0)
    assert made["metadata"]["labels"] == {"run": "1"}
    assert spec["template"]["metadata"]["labels"]["run"] == "1"
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchFields"][0]["values"] for term in terms] == [["a"], ["b"], ["c"]]
    (container,) = pod["containers"]
    assert container["image"] == "python:3"
    # The end of the harness is the end of their input, and of them.
    assert container["stdin"]
    assert container["stdinOnce"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
