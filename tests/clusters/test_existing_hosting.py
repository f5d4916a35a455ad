"""How candidates run as pods of an existing cluster: images, and access to the apiserver."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from schedproof.clusters.existing import hosting as module
from schedproof.clusters.existing.hosting import ExistingHosting, push, scheduler_image
from schedproof.clusters.kind.docker import DockerError
from schedproof.foundation.errors import UsageError


class PlayedApi:
    def get(self, resource: str, name: str, namespace: str) -> dict[str, Any]:
        assert (resource, name, namespace) == ("configmaps", "kube-root-ca.crt", "schedproof-run")
        return {"data": {"ca.crt": "PEM"}}


def hosting(**given: Any) -> ExistingHosting:
    api: Any = PlayedApi()
    defaults = {"registry": "", "python_image": "", "scheduler_image": "", "service_address": "", "prometheus_url": ""}
    return ExistingHosting(api, "schedproof-run", "abc", **{**defaults, **given})


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Docker was told; it has the image `mine:1`, and the registry `closed` refuses all."""
    told: list[str] = []

    def docker(*argv: str, **_: Any) -> str:
        told.append(" ".join(argv))
        if argv[0] == "push" and "closed" in argv[-1]:
            raise DockerError("denied")
        return ""

    monkeypatch.setattr(module, "docker", docker)
    monkeypatch.setattr(module, "image_present", lambda ref: ref == "mine:1")
    return told


def test_pods_reach_the_apiserver_by_its_name_and_the_authority_that_the_cluster_publishes() -> None:
    authority = base64.b64encode(b"PEM").decode()
    expected = {"server": "https://kubernetes.default.svc", "certificate-authority-data": authority}
    assert hosting().apiserver == expected


def test_without_a_registry_no_image_that_is_built_here_gets_there() -> None:
    assert not hosting().builds
    assert hosting(registry="r.example.com/me").builds


def test_an_image_is_pushed_once_under_its_own_name(commands: list[str]) -> None:
    there = hosting(registry="r.example.com/me/")
    assert {there.load_image("mine:1") for _ in range(2)} == {"r.example.com/me/mine:1"}
    assert commands == ["tag mine:1 r.example.com/me/mine:1", "push --quiet r.example.com/me/mine:1"]


def test_a_base_image_that_docker_lacks_is_pulled_first(commands: list[str]) -> None:
    assert push("docker.io/library/python:3-slim", "localhost:5000") == "localhost:5000/python:3-slim"
    assert commands[0] == "pull --quiet docker.io/library/python:3-slim"


def test_a_registry_that_refuses_is_an_error_with_a_fix(commands: list[str]) -> None:
    with pytest.raises(UsageError, match="--registry closed: mine:1 cannot be pushed: denied") as refused:
        push("mine:1", "closed")
    assert "docker push closed/mine:1" in refused.value.remedy
    assert commands


def test_the_scheduler_s_image_is_the_cluster_s_own_or_that_of_its_version() -> None:
    own = "mirror.example.com/kube-scheduler:v1.36.3"
    node = {"status": {"images": [{"names": ["other:1", own]}]}}
    assert scheduler_image([{"status": {}}, node], "v1.36.3") == own
    assert scheduler_image([node], "v1.36.2-vendor.5") == "registry.k8s.io/kube-scheduler:v1.36.2"
    assert scheduler_image([], "v1.36.2+k3s1") == "registry.k8s.io/kube-scheduler:v1.36.2"
