"""Prometheus is found by its Service, and asked through the apiserver."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterator
from typing import Any

import pytest

from schedproof.clusters.api import Api, UnreachableError
from schedproof.clusters.existing.relay import Relay, services_of_prometheus, url_inside


def service(name: str, ports: list[dict[str, Any]], **labels: str) -> dict[str, Any]:
    return {"metadata": {"namespace": "monitoring", "name": name, "labels": labels}, "spec": {"ports": ports}}


WEB = [{"name": "reloader", "port": 8080}, {"name": "http-web", "port": 9090}]


def test_a_service_of_prometheus_has_a_usual_label_and_port() -> None:
    mine = service("mine", WEB, app="prometheus")
    others = [
        service("alerts", [{"port": 9093}], app="prometheus"),
        service("other", WEB, app="other"),
        service("x", []),
    ]
    assert services_of_prometheus([mine, *others]) == ["monitoring/mine:9090"]
    assert services_of_prometheus(others) == []
    again = service("again", [{"port": 9090}], app="prometheus")
    assert services_of_prometheus([mine, again]) == ["monitoring/again:9090", "monitoring/mine:9090"]
    operated = service("operated", WEB, **{"operated-prometheus": "true"})
    assert services_of_prometheus([mine, operated]) == ["monitoring/operated:9090"]


def test_pods_reach_it_by_its_name() -> None:
    assert url_inside("monitoring/mine:9090") == "http://mine.monitoring.svc:9090"


class PlayedApi:
    """An apiserver that repeats what it is asked, unless it is away."""

    away = False

    def path(self, *parts: str) -> str:
        return Api("http://127.0.0.1:1", None).path(*parts)

    def forward(self, method: str, path: str, body: bytes, content_type: str) -> tuple[int, str, bytes]:
        if self.away:
            raise UnreachableError("away")
        return 200, "application/json", f"{method} {path} {body.decode()} {content_type}".encode()


@pytest.fixture
def api() -> PlayedApi:
    return PlayedApi()


@pytest.fixture
def relay(api: PlayedApi) -> Iterator[Relay]:
    played: Any = api
    with contextlib.closing(Relay(played, "monitoring/mine:9090")) as relay:
        yield relay


def ask(relay: Relay, method: str, path: str, body: str | None = None) -> tuple[int, str]:
    with contextlib.closing(http.client.HTTPConnection(relay.url.removeprefix("http://"), timeout=30)) as connection:
        connection.request(method, path, body, {"Content-Type": "application/x-www-form-urlencoded"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_questions_go_through_the_apiserver_to_the_service(relay: Relay) -> None:
    proxy = "/api/v1/namespaces/monitoring/services/mine:9090/proxy"
    assert ask(relay, "GET", "/api/v1/query?query=up") == (200, f"GET {proxy}/api/v1/query?query=up  ")
    asked = ask(relay, "POST", "/api/v1/query", "query=up")
    assert asked == (200, f"POST {proxy}/api/v1/query query=up application/x-www-form-urlencoded")


@pytest.mark.parametrize(
    "path", ["/", "/api/v1/../../../../../../secrets", "/api/v1/%2e%2e/secrets", "/-/quit", "/api/v2/x"]
)
def test_nothing_else_is_asked_with_the_rights_of_the_user(relay: Relay, path: str) -> None:
    assert ask(relay, "GET", path)[0] == 403


def test_an_apiserver_that_is_away_is_a_bad_gateway(relay: Relay, api: PlayedApi) -> None:
    api.away = True
    assert ask(relay, "GET", "/-/ready")[0] == 502
