"""Recording rules of a candidate: in a rule file of Prometheus, or inline."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.candidate.claims import NetworkClaims
from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.documents.problems import DescriptorError
from schedproof.documents.reading import adapter, dump

DESCRIPTOR = """
apiVersion: schedproof/v1
kind: Candidate
metadata: {name: recorded}
spec:
  schedulerName: recorded
  controller: {command: [/bin/true, "{port}"], ready: /healthz}
  claims:
    profiles: [core, network-aware]
    network: {metric: node_network_receive_bytes_total, direction: receive, window: 2s, resolution: 10%, rules: RULES}
"""
FILE = """
groups:
- name: one
  interval: 1m
  rules:
  - {record: "a:b", expr: 'rate(x{device="{device}"}[{window}])'}
  - {alert: Loud, expr: "a:b > 1"}
- name: two
  rules:
  - {record: "c", expr: "sum(a:b)", labels: {by: rule}}
"""


def claimed(folder: Path, rules: str) -> NetworkClaims:
    (folder / "candidate.yaml").write_text(DESCRIPTOR.replace("RULES", rules))
    network = load_candidate(folder).claims.network
    assert network is not None
    return network


def test_recording_rules_are_read_from_a_file_in_order_and_alerts_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(FILE)
    assert tuple(rule.document() for rule in claimed(tmp_path, "rules.yaml").rules) == (
        {"record": "a:b", "expr": 'rate(x{device="{device}"}[{window}])', "labels": {}},
        {"record": "c", "expr": "sum(a:b)", "labels": {"by": "rule"}},
    )


def test_inline_rules_are_read_and_kept_in_a_saved_history(tmp_path: Path) -> None:
    claims = claimed(tmp_path, "[{record: 'a:b', expr: up, labels: {by: rule}}]")
    assert [rule.document() for rule in claims.rules] == [{"record": "a:b", "expr": "up", "labels": {"by": "rule"}}]
    assert adapter(NetworkClaims).validate_python(dump(claims)) == claims


def test_histories_saved_without_rules_are_still_read(tmp_path: Path) -> None:
    claims = claimed(tmp_path, "[]")
    saved = dump(claims)
    del saved["rules"]
    assert adapter(NetworkClaims).validate_python(saved) == claims


def test_recording_rules_make_readings_stale(tmp_path: Path) -> None:
    assert claimed(tmp_path, "[{record: 'a:b', expr: up}]").staleness > claimed(tmp_path, "[]").staleness == 0


@pytest.mark.parametrize(
    "rules",
    ["none.yaml", "candidate.yaml", "[{record: 'a b', expr: up}]", "[{record: a}]", "[{record: a, expr: '{node}'}]"],
)
def test_invalid_rules_are_refused(tmp_path: Path, rules: str) -> None:
    with pytest.raises(DescriptorError):
        claimed(tmp_path, rules)
