"""A made-up result of a run: an extender that fails in several ways, beside the stock scheduler."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedproof.candidate.claims import Claims, NetworkClaims
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.verdict import Verdict
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of

NAME = "least-traffic-extender"
STARTED = datetime.datetime(2026, 1, 31, 23, 59, 1, tzinfo=datetime.UTC)
TAINTED = "cordoned: spec.unschedulable is set; taint schedproof.dev/schedproof-reserved:NoSchedule is not tolerated"
NETWORK = NetworkClaims("node_network_receive_bytes_total", "receive", window=30, resolution=0.1)
ALIKE = {"TaintToleration": 300, "NodeAffinity": 0, "PodTopologySpread": 200}


def decision(number: int) -> dict[str, Any]:
    return {
        "pod": f"sp-{NAME}/network-least-traffic-probe-{number}", "requests": [{"cpu": "100m"}],
        "expected": "node-3", "chosen": "node-1",
        "query": 'sum by (node) (rate(node_network_receive_bytes_total{device="eth0"}[2000ms]))',
        "nodes": [
            {
                "node": f"node-{n}", "feasible": n < 5, "reasons": [] if n < 5 else [TAINTED],
                "traffic": [110_500.0, 122_102.0, 100_000.0, 134_923.0, None][n - 1],
                "scores": {**ALIKE, "extender": n, "NodeResourcesFit": 90 - n, "total": 590 - n} if n < 5 else {},
                "expected": n == 3, "chosen": n == 1,
                "room": {
                    "cpu": {"asked": 100, "free": 50 if n == 2 else 3900, "total": 4000},
                    "pods": {"asked": 1, "free": 108, "total": 110},
                },
            }
            for n in range(1, 6)
        ],
    }  # fmt: skip


LANES = {
    "seconds": 20.0, "more": 0,
    "load": [
        {"at": 0.0, "traffic": {"node-1": 110_500.0, "node-2": 122_102.0, "node-3": 100_000.0}},
        {"at": 9.0, "traffic": {"node-1": 90_500.0, "node-2": 122_102.0, "node-3": 100_000.0}},
    ],
    "lanes": [
        {"name": "probe-1", "kind": "pod", "text": "bound to node-1", "more": 0, "events": [
            {"at": 1.0, "until": 3.5, "kind": "waits", "text": "probe pod waits"},
            {"at": 2.0, "until": 2.0, "kind": "refused", "text": "Binding to node-2: 409"},
            {"at": 3.5, "until": 20.0, "kind": "bound", "text": "on node-1"},
        ]},
        {"name": "asks Prometheus", "kind": "requests", "text": "", "more": 2, "events": [
            {"at": n, "until": n + 0.01, "kind": "refused" if n == 7 else "answered", "text": f"200: {'x' * 90}"}
            for n in range(1, 19)
        ]},
    ],
    "requests": [
        {"request": "create pods/binding", "code": 409, "count": 1},
        {"request": "create pods/binding", "code": 201, "count": 2},
    ],
}  # fmt: skip
"""Output of `judge.lanes`."""


def result() -> RunResult:
    """Return the example, equal at every call."""
    evidence = {
        "decisions": [decision(number) for number in range(1, 4)], "measured": {"probes": 12}, "lanes": LANES,
        "timeline": [f"+{number}.000s  candidate asks Prometheus: {'x' * 90}" for number in range(20)],
        "logs": {f"candidate {NAME}": ["a line of the log " * 12] * 30},
    }  # fmt: skip
    failed = {
        "network/least-traffic": verdict_of(
            "network/least-traffic",
            "required",
            "failed",
            "9 of 14 probes did not go to the quietest node",
            evidence,
            code="probe-not-on-quietest",
        ),
        "network/flip": verdict_of(
            "network/flip", "required", "invalid", "the machine was too slow", evidence, code="answered-late"
        ),
        "core/cordon": verdict_of(
            "core/cordon", "required", "skipped", "this cluster lacks the capability change-nodes"
        ),
        "extender/rbac-minimal": verdict_of("extender/rbac-minimal", "recommended", "failed", "it never lists leases"),
    }
    run = RunResult(
        7, "embedded", Path("report"), versions={"kubernetes": "v1.36.3"}, started=STARTED, seconds=83.2, jobs=2
    )
    for name, profiles in ((NAME, ("core", "network-aware", "extender")), ("stock", ("core",))):
        run.candidates[name] = candidate(name, profiles, failed if name == NAME else {})
    return run


def candidate(name: str, profiles: tuple[str, ...], failed: Mapping[str, Verdict]) -> CandidateResult:
    """A candidate that passed all that it claims, except `failed`."""
    claims = Claims(profiles, network=NETWORK)
    verdicts = [
        failed.get(clause)
        or verdict_of(clause, "required", "passed" if _claims(clause, profiles) else "not-claimed", "it holds")
        for clause in CATALOGUE
    ]
    found = Candidate(
        name=name, scheduler_name=name, attached=AttachedSpec(), path=Path(name, "candidate.yaml"), claims=claims
    )
    return CandidateResult(found, tuple(CATALOGUE), verdicts)


def _claims(clause: str, profiles: tuple[str, ...]) -> bool:
    return any(clause.partition("/")[0] == profile.partition("-")[0] for profile in profiles)
