"""Services that nothing serves: on an embedded cluster, a connection to one is refused on this machine."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Iterator

import pytest

from schedproof.clusters.api import ApiError
from schedproof.clusters.cluster import Cluster
from schedproof.foundation.deadlines import WEBHOOK_CALLED
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.run.launch import Settings
from schedproof.run.session import Session

pytestmark = [pytest.mark.live, pytest.mark.slow]

NAME = "unserved"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    session = Session(Settings(report=tmp_path_factory.mktemp("services")), SilentProgress())
    with contextlib.closing(session):
        yield session.cluster


def test_a_webhook_of_a_service_that_nothing_serves_is_refused_at_once(cluster: Cluster) -> None:
    """Not after its timeout of 30 s, which is what happens to packets that leave the machine."""
    api, namespace = cluster.api, cluster.namespace
    service = api.create("services", {"metadata": {"name": NAME}, "spec": {"ports": [{"port": 443}]}}, namespace)
    address = service["spec"]["clusterIP"]
    assert ipaddress.ip_address(address).is_loopback
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": "unserved.schedproof.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "failurePolicy": "Fail", "timeoutSeconds": 30, "rules": [rule],
        "clientConfig": {"service": {"name": NAME, "namespace": namespace}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }  # fmt: skip
    api.create("validatingwebhookconfigurations", {"metadata": {"name": NAME}, "webhooks": [hook]})

    def refused() -> str:
        try:
            api.create("configmaps", {"metadata": {"generateName": f"{NAME}-"}}, namespace)
        except ApiError as error:
            return error.message
        raise NotYet("the apiserver did not call it")

    message = wait_for(refused, WEBHOOK_CALLED, what="the apiserver to call the webhook")
    assert f"{address}:443: connect: connection refused" in message
