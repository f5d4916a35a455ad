"""An admission webhook of a candidate is served by one of its processes, on an embedded cluster, which runs no pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

CANDIDATE = """\
apiVersion: schedproof/v1
kind: Candidate
metadata: {name: hooked}
spec:
  schedulerName: hooked
  plugin: {binary: kube-scheduler}
  install: {from: release.yaml, kinds: [Namespace, ConfigMap, MutatingWebhookConfiguration]}
  schedulerConfig: {from: release.yaml, configMap: configuration, key: scheduler}
  processes:
    - name: admission
      command: ["{python}", hook.py, "{webhook_port}", "{certFile}", "{keyFile}", "{address}:{port}"]
      ready: /healthz
      ports: [webhook]
      serves: {hooks/admission: webhook}
      rbac:
        roles:
          - namespace: "{namespace}"
            rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}]
  claims: {profiles: [core, plugin], features: [events, preemption, priority]}
"""
RELEASE = """\
apiVersion: v1
kind: Namespace
metadata: {name: hooks}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: configuration, namespace: hooks}
data:
  scheduler: |
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles: [{schedulerName: hooked}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hooked}
webhooks:
  - name: pods.hooks.example
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {name: admission, namespace: hooks, path: /mutate}}
    rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: admission, namespace: hooks}
"""
HOOK = """\
import http.server, json, ssl, sys, threading

port, certificate, key, health = sys.argv[1:]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        print(self.path, asked["object"]["metadata"]["name"], flush=True)
        response = {"uid": asked["uid"], "allowed": True}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(review).encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
host, _, number = health.rpartition(":")
http.server.ThreadingHTTPServer((host, int(number)), Handler).serve_forever()
"""
CLAUSES = ("core/binds", "core/priority-order", "core/restart")
"""A usual one, one that holds the scheduler, and one that ends it."""


def test_the_webhook_is_asked_and_keeps_no_pod_of_others_off_while_the_candidate_is_away(
    shell: Shell, tmp_path: Path
) -> None:
    for name, text in (("candidate.yaml", CANDIDATE), ("release.yaml", RELEASE), ("hook.py", HOOK)):
        (tmp_path / name).write_text(text)
    selected = [f"--clause={clause}" for clause in CLAUSES]
    ended = shell.start("schedproof", "run", str(tmp_path), *selected, "--report", str(tmp_path / "report")).ends()

    assert ended.code == 0, ended.printed
    verdicts = json.loads((tmp_path / "report" / "report.json").read_text())["candidates"][0]["clauses"]
    outcomes = {verdict["id"]: verdict["outcome"] for verdict in verdicts}
    assert {clause: outcomes[clause] for clause in CLAUSES} == dict.fromkeys(CLAUSES, "passed")
    (log,) = (tmp_path / "report").rglob("admission.log")
    assert "/mutate" in log.read_text()
