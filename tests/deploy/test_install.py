"""What a candidate has installed: which manifests are applied, and what needs pods."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.candidate.served import Endpoint, led
from schedproof.clusters.objects import AppliedObjects
from schedproof.deploy.install import install, require_served, survey
from schedproof.documents.problems import DescriptorError
from schedproof.foundation.errors import UsageError

CANDIDATE = """\
apiVersion: schedproof/v1
kind: Candidate
metadata: {name: demo}
spec:
  schedulerName: demo
  plugin: {binary: kube-scheduler}
  install: %s
"""
RELEASE = """\
apiVersion: v1
kind: Namespace
metadata: {name: "{namespace}"}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: conf}, data: {a: "{{namespace}} {other} {namespace}"}}
  - {apiVersion: v1, kind: Service, metadata: {name: admission, namespace: demo}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: refuses}
webhooks:
  - {name: a.b.c, clientConfig: {service: {name: admission, namespace: demo}}, rules: [{resources: [queues]}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: ignored}
webhooks:
  - {name: a.b.c, failurePolicy: Ignore, clientConfig: {service: {name: admission, namespace: demo}}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.example.com}
spec: {service: {name: metrics, namespace: demo}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller}
"""
ELSEWHERE = """
---
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: demo}
spec: {type: ExternalName, externalName: localhost}
"""


class Applied(AppliedObjects):
    """Keeps what would be applied."""

    def __init__(self) -> None:
        self.manifests: list[dict[str, Any]] = []

    def apply(self, manifests: Any, namespace: str, *, source: str) -> None:  # noqa: ARG002 - as the base has it
        self.manifests += manifests


def candidate(folder: Path, installed: str, release: str = RELEASE) -> Candidate:
    (folder / "release.yaml").write_text(release)
    (folder / "candidate.yaml").write_text(CANDIDATE % installed)
    return load_candidate(folder)


def applied(one: Candidate) -> list[dict[str, Any]]:
    objects = Applied()
    install(objects, one.install, "schedproof-system", {"namespace": "schedproof-system"})
    return objects.manifests


@pytest.mark.parametrize(
    "written",
    [
        "{from: release.yaml, kinds: [ConfigMap, Namespace]}",
        "[{from: [release.yaml], kinds: [Namespace, ConfigMap]}]",
        "[{from: ., kinds: [Namespace, ConfigMap]}]",
    ],
)
def test_only_the_named_kinds_are_applied_in_the_order_of_the_file(tmp_path: Path, written: str) -> None:
    (tmp_path / "other.txt").write_text("none")
    found = applied(candidate(tmp_path, written))

    assert [manifest["kind"] for manifest in found] == ["Namespace", "ConfigMap"]


def test_a_manifest_has_the_namespace_of_the_candidate_and_its_own_braces(tmp_path: Path) -> None:
    namespace, config, *_ = applied(candidate(tmp_path, "[release.yaml]"))

    assert namespace["metadata"]["name"] == "schedproof-system"
    assert config["data"]["a"] == "{{namespace}} {other} schedproof-system"


def test_what_keeps_a_candidate_waiting_is_refused_with_its_place_and_the_kinds_that_are_left(tmp_path: Path) -> None:
    with pytest.raises(DescriptorError) as caught:
        require_served(candidate(tmp_path, "[release.yaml]"))

    webhook, api = caught.value.problems
    assert (Path(webhook.place.file).name, webhook.place.line) == ("release.yaml", 11)
    assert "demo/admission" in webhook.message
    assert "queues" in webhook.message
    assert "v1.example.com" in api.message
    for problem in (webhook, api):
        assert "install: [{from: release.yaml, kinds: [Namespace, ConfigMap, MutatingWebhookConfig" in problem.fix


def test_what_a_process_serves_is_accepted(tmp_path: Path) -> None:
    serving = "processes: [{name: a, command: ['{web_port}'], ports: [web], serves: {demo/admission: web, %s: web}}]"
    one = candidate(tmp_path, "[release.yaml]\n  " + serving % "demo/metrics")
    require_served(one)
    assert one.processes[0].services == {("demo", "admission"): "web_port", ("demo", "metrics"): "web_port"}
    with pytest.raises(DescriptorError, match=re.escape("v1.example.com")):
        require_served(candidate(tmp_path, "[release.yaml]\n  " + serving % "demo/other"))


def test_webhooks_and_apis_lead_to_a_process_with_its_certificate(tmp_path: Path) -> None:
    endpoints = {("demo", "admission"): Endpoint("8443", "PEM"), ("demo", "metrics"): Endpoint("9443", "PEM")}
    webhook = {"service": {"namespace": "demo", "name": "admission", "path": "/queues", "port": 443}}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": webhook, "conversionReviewVersions": ["v1"]}}
    definition = {"kind": "CustomResourceDefinition", "metadata": {"name": "a"}, "spec": {"conversion": conversion}}
    hooks = [{"name": "a", "clientConfig": webhook}, {"name": "b", "clientConfig": {"url": "https://example.com"}}]
    hooked = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "a"}, "webhooks": hooks}
    api = {
        "kind": "APIService",
        "spec": {"service": {"namespace": "demo", "name": "metrics"}},
        "metadata": {"name": "a"},
    }

    reached = {"url": "https://127.0.0.1:8443/queues", "caBundle": "UEVN"}
    assert led(hooked, endpoints)[0]["webhooks"] == [{"name": "a", "clientConfig": reached}, hooks[1]]
    assert led(definition, endpoints)[0]["spec"]["conversion"]["webhook"]["clientConfig"] == reached
    service, changed = led(api, endpoints)
    assert service["spec"] == {"type": "ExternalName", "externalName": "localhost"}
    assert changed["spec"] == {"service": {"namespace": "demo", "name": "metrics", "port": 9443}, "caBundle": "UEVN"}
    assert webhook["service"]["path"] == "/queues", "the manifest itself is changed"
    assert led(hooked, {}) == [hooked]


@pytest.mark.parametrize(
    "kinds", ["[Namespace, ConfigMap]", "[MutatingWebhookConfiguration, Deployment]", "[APIService, Service]"]
)
def test_what_harms_nothing_is_accepted(tmp_path: Path, kinds: str) -> None:
    require_served(candidate(tmp_path, f"{{from: release.yaml, kinds: {kinds}}}", RELEASE + ELSEWHERE))


def test_check_counts_by_kind_and_names_what_needs_pods(tmp_path: Path) -> None:
    told = "\n".join(survey(candidate(tmp_path, "{from: release.yaml, kinds: [ConfigMap, APIService, Deployment]}")))

    assert "release.yaml: 1 APIService, 1 ConfigMap, 1 Deployment; not applied: 4" in told
    assert "Deployment controller" in told
    assert "kinds: [ConfigMap]" in told


def test_a_kind_that_a_kustomization_does_not_have_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "kustomize"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec cat {tmp_path}/release.yaml\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "kustomization.yaml").touch()

    assert [each["kind"] for each in applied(candidate(tmp_path, "{from: built, kinds: [ConfigMap]}"))] == ["ConfigMap"]
    with pytest.raises(UsageError, match="ConfigMaps") as caught:
        require_served(candidate(tmp_path, "{from: built, kinds: [ConfigMaps]}"))
    assert "ConfigMap" in caught.value.remedy


def test_a_record_of_a_version_without_kinds_can_be_read(tmp_path: Path) -> None:
    one = candidate(tmp_path, "[release.yaml]")
    saved = one.as_dict()

    assert saved["install"] == [{"from": [str(tmp_path / "release.yaml")], "kinds": []}]
