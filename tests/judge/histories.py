"""Histories written by hand: one call for each thing that happens, in the records that the recorder writes.

A `HistoryBuilder` begins like a real run: nodes are listed, a bystander is there, the candidate has started and seen
all that, and a case has begun. Time and revisions advance with every call.
"""

from __future__ import annotations

import copy
import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from schedproof.candidates.claims import PROFILES, Claims, Example, NetworkClaims
from schedproof.clusters.spec import NodeSpec
from schedproof.history.history import History
from schedproof.history.record import FILE, SCHEMA
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import judge
from schedproof.normalization.answer import readings_to_json
from schedproof.stimulus.pods import pod_manifest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from schedproof.history.record import Record
    from schedproof.judge.verdict import Verdict
    from schedproof.normalization.answer import Answer, Readings

NODES = ("node-1", "node-2", "node-3", "node-4")
NAMESPACE = "sp-tested"
SCHEDULER, CONTROL, BYSTANDER = "tested", "schedproof-control", "schedproof-bystander"
CANDIDATE_USER = "system:serviceaccount:schedproof-system:candidate-tested"
CONTROL_USER = "system:serviceaccount:schedproof-system:schedproof-control"
HARNESS_USER = "system:serviceaccount:schedproof-system:schedproof-harness"
CAPABILITIES = frozenset().union(*(clause.needs for clause in CATALOGUE.values()))
NETWORK = NetworkClaims(
    "node_network_receive_bytes_total", "receive", window=2.0, resolution=0.1, refresh=0.5, on_missing="neutral",
    on_outage="schedule", recovers_within=15.0, own_placements="counted",
)  # fmt: skip
CLAIMS = Claims(
    profiles=PROFILES, features=("strict", "full-scale", "scale-free"), network=NETWORK,
    examples=(Example({"quiet": 1e6, "loud": 2e6}, {"quiet": 10, "loud": 0}),),
)  # fmt: skip
EXTENDER: Mapping[str, Any] = MappingProxyType(
    {"filterVerb": "filter", "prioritizeVerb": "prioritize", "nodeCacheCapable": True}
)
NO_RIGHTS: Mapping[str, Any] = MappingProxyType({"declared": [], "schedulers": []})


def told(verdict: Verdict, outcome: str, words: str) -> None:
    """A verdict is this, and its summary says so in these words."""
    assert (verdict.outcome, words in verdict.summary) == (outcome, True), f"{verdict.outcome}: {verdict.summary}"


_CREATED = 201
_STEP = 0.01
"""Seconds from one record to the next."""


class HistoryBuilder:
    """What happens to one candidate while `case` is tried.

    Args:
        case: the clause that is tried; records that belong to a case belong to this one.
        bystander: whether there is a pod of another scheduler from the start.
        started: whether the candidate's process was seen to start.
        extender: the candidate's extender configuration.
        rbac: the rights that are on record; None where none are.
    """

    def __init__(
        self,
        case: str = "core/fit-cpu",
        *,
        nodes: Iterable[str] = NODES,
        claims: Claims = CLAIMS,
        exclusions: Iterable[Mapping[str, str]] = (),
        capabilities: Collection[str] = CAPABILITIES,
        bystander: bool = True,
        started: bool = True,
        extender: Mapping[str, Any] = EXTENDER,
        rbac: Mapping[str, Any] | None = None,
    ) -> None:
        self.case = case
        self.rv = 100
        self.records: list[Record] = []
        self._at = 0.0
        self._uids = 0
        self._line = 0
        self._marks = 0
        self.clock_ahead = 0.0
        """Seconds that the apiserver's wall clock is ahead of the run's clock, from here on."""
        self._nodes: dict[str, Record] = {}
        self._pods: dict[str, Record] = {}
        self._pod_uids: dict[str, str] = {}
        self.add(
            "run",
            schema=SCHEMA,
            candidate={
                "name": SCHEDULER, "kind": "attached", "schedulerName": SCHEDULER, "path": "candidate.yaml",
                "extender": {"config": dict(extender)},
                "claims": claims.as_dict(), "exclusions": [{"link": None, **exclusion} for exclusion in exclusions],
            },
            cluster={"name": "embedded", "nodes": list(nodes), "device": "eth0", "capabilities": sorted(capabilities)},
            seed=7,
            versions={"kubernetes": "v1.36.3"},
            users={"candidate": [CANDIDATE_USER], "control": [CONTROL_USER], "harness": [HARNESS_USER]},
            scheduler_names=[SCHEDULER],
            namespace=NAMESPACE,
            epoch=1_795_185_137.0,
            **({} if rbac is None else {"rbac": dict(rbac)}),
        )  # fmt: skip
        for name in nodes:
            self._nodes[name] = self._node_manifest(name)
            self._event("nodes", "LISTED", self._nodes[name])
        if bystander:
            self.pod("bystander", role="", scheduler=BYSTANDER)
        self.seen(pod="(its own start)")
        if started:
            self.process("scheduler-tested", "started")
        self.add("selected", clauses=[case])
        self.begin()

    # -- the record

    def add(self, kind: str, **fields: Any) -> None:
        self._at = round(self._at + _STEP, 6)
        self.records.append({"kind": kind, "at": self._at, **copy.deepcopy(fields)})

    def pass_time(self, seconds: float) -> None:
        self._at = round(self._at + seconds, 6)

    @property
    def now(self) -> float:
        """The time of the last record."""
        return self._at

    def wait(self, seconds: float) -> None:
        """Nothing happens."""
        self._at = round(self._at + seconds, 6)

    def history(self) -> History:
        """As it would be read from disk."""
        return History([json.loads(json.dumps(record)) for record in self.records])

    def save(self, folder: Path) -> Path:
        """Write it where the recorder would, and return the file."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE
        file.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in self.records))
        return file

    def verdict(self, clause: str = "") -> Verdict:
        """What is said of the case (or another clause) if the run comes to its end here."""
        whole = copy.copy(self)
        whole.records = [*self.records]
        if [record["phase"] for record in self.records if record["kind"] == "case"][-1] == "begin":
            whole.end()
        whole.over()
        return judge(whole.history(), clause or self.case)

    def begin(self, case: str = "") -> None:
        self.case = case or self.case
        self.add("case", case=self.case, phase="begin")

    def end(self, *, early: bool = False) -> None:
        self.add("case", case=self.case, phase="end", early=early)

    def over(self) -> None:
        self.add("over")

    def trouble(self, text: str) -> None:
        self.add("trouble", case=self.case, text=text)

    def process(self, name: str, event: str, **fields: Any) -> None:
        self.add("process", name=name, event=event, **fields)

    def scoring(self, surface: str, *asked: tuple[Readings, Answer], cases: int = 100, **fields: Any) -> None:
        """What a search has found on a surface: the questions and answers of the case that it shows."""
        shown = {
            "questions": [readings_to_json(readings) for readings, _ in asked],
            "answers": [answer.as_dict() for _, answer in asked],
        }
        self.add(
            "scoring", case=self.case, surface=surface, cases=cases, **{"id": "", "steady": True, **shown, **fields}
        )

    # -- nodes

    def node(self, name: str, *, cpu: str = "8", **changes: Any) -> None:
        """A node joins, or is changed: `labels`, `taints`, `unschedulable`. What is not given is as at the start."""
        known = name in self._nodes
        manifest = self._node_manifest(name, cpu=cpu, **changes)
        if known:
            manifest["metadata"]["uid"] = self._nodes[name]["metadata"]["uid"]
        self._nodes[name] = manifest
        self._happens("nodes", "MODIFIED" if known else "ADDED", manifest)

    def remove_node(self, name: str) -> None:
        self._happens("nodes", "DELETED", self._nodes.pop(name))

    def _node_manifest(
        self,
        name: str,
        *,
        cpu: str = "8",
        labels: Mapping[str, str] | None = None,
        taints: Iterable[Mapping[str, str]] = (),
        unschedulable: bool = False,
    ) -> Record:
        spec = NodeSpec(name, {"cpu": cpu, "memory": "16Gi", "pods": "110"}, labels or {}, tuple(taints))
        manifest = spec.manifest("198.18.0.10")
        if unschedulable:
            manifest["spec"]["unschedulable"] = True
        manifest["metadata"]["uid"] = self._uid("node")
        return manifest

    def namespace(self, name: str, **labels: str) -> None:
        """A namespace is there, with these labels."""
        self._happens("namespaces", "ADDED", {"metadata": {"name": name, "labels": labels}})

    # -- pods

    def pod(
        self,
        name: str = "probe-1",
        *,
        role: str = "probe",
        scheduler: str = SCHEDULER,
        phase: int = -1,
        **spec: Any,
    ) -> str:
        """A pod is created; its uid. One without a role is not the case's. `spec`: see `pod_manifest`."""
        manifest = pod_manifest(name, scheduler, image="pause", **spec)
        uid = self._uid("pod")
        manifest["metadata"] |= {"namespace": NAMESPACE, "uid": uid}
        manifest["status"] = {"phase": "Pending"}
        self._pods[name] = manifest
        self._pod_uids[name] = uid
        if role:
            extra = {"phase": phase} if phase >= 0 else {}
            self.add("pod", case=self.case, pod=f"{NAMESPACE}/{name}", uid=uid, role=role, **extra)
        self._happens("pods", "ADDED", manifest)
        return uid

    def uid(self, pod: str) -> str:
        """Of the pod that bears the name, or bore it last."""
        return self._pod_uids[pod]

    def bind(self, pod: str, node: str, *, by: str = CANDIDATE_USER) -> None:
        """A Binding succeeds, and the watch shows the pod on its node."""
        self.attempt(pod, node, by=by)
        self.place(pod, node)

    def attempt(
        self,
        pod: str,
        node: str,
        *,
        by: str = CANDIDATE_USER,
        code: int = _CREATED,
        resource: str = "pods/binding",
        uid: str | None = None,
        received: float | None = None,
        **more: Any,
    ) -> None:
        """A Binding is posted: what the audit log has. `uid`: "", or of another pod than the one of that name now."""
        metadata = {"name": pod, "namespace": NAMESPACE}
        if uid != "":
            metadata["uid"] = uid or self.uid(pod)
        body = {"kind": "Binding", "apiVersion": "v1", "metadata": metadata, "target": {"kind": "Node", "name": node}}
        self.request("create", resource, pod, by=by, code=code, body=body, received=received, **more)

    def place(self, pod: str, node: str) -> None:
        """The watch shows a pod on a node."""
        self._pods[pod]["spec"]["nodeName"] = node
        self.condition(pod, status="True")

    def change(self, pod: str, **spec: Any) -> None:
        """Somebody changes fields of a pod's spec."""
        self._pods[pod]["spec"] |= spec
        self._happens("pods", "MODIFIED", self._pods[pod])

    def condition(self, pod: str, *, status: str = "False", reason: str = "", **more: str) -> None:
        """The pod's PodScheduled condition changes."""
        said = {"type": "PodScheduled", "status": status, **({"reason": reason} if reason else {}), **more}
        self._pods[pod]["status"]["conditions"] = [said]
        self._happens("pods", "MODIFIED", self._pods[pod])

    def conditions(self, pod: str, conditions: Iterable[Mapping[str, str]]) -> None:
        """All of a pod's conditions are these from here on."""
        self._pods[pod]["status"]["conditions"] = [dict(condition) for condition in conditions]
        self._happens("pods", "MODIFIED", self._pods[pod])

    def terminate(self, pod: str) -> None:
        """A pod is being deleted; a finalizer keeps it."""
        self._pods[pod]["metadata"]["deletionTimestamp"] = "2026-11-20T00:00:00Z"
        self._happens("pods", "MODIFIED", self._pods[pod])

    def delete(self, pod: str) -> None:
        self._happens("pods", "DELETED", self._pods.pop(pod))

    def event(self, pod: str, message: str) -> None:
        """Somebody says something about a pod."""
        about = {"kind": "Pod", "namespace": NAMESPACE, "name": pod, "uid": self.uid(pod)}
        metadata = {"name": f"{pod}.1", "namespace": NAMESPACE, "uid": self._uid("event")}
        self._happens("events", "ADDED", {"metadata": metadata, "involvedObject": about, "message": message})

    def request(
        self,
        verb: str,
        resource: str,
        name: str,
        *,
        by: str = CANDIDATE_USER,
        code: int = 200,
        body: Any = None,
        received: float | None = None,
        **more: Any,
    ) -> None:
        """A request is completed now; it was received just before, or at a moment of its own."""
        self._line += 1
        completed = round(self._at + _STEP + self.clock_ahead, 6)  # which is the record's own time
        self.add(
            "request", user=by, verb=verb, group="", resource=resource, namespace=NAMESPACE, name=name, code=code,
            line=self._line, received=round(completed - _STEP / 2, 6) if received is None else received,
            completed=completed, body=body, **more,
        )  # fmt: skip

    def mark(self) -> dict[str, int]:
        """The harness leaves a mark in the audit log: what its next record has."""
        self._line += 1
        self._marks += 1
        sent = round(self._at + _STEP, 6)
        self.add(
            "mark", mark=self._marks, line=self._line, answered=round(sent + 0.004, 6),
            received=round(sent + 0.001 + self.clock_ahead, 6), completed=round(sent + 0.002 + self.clock_ahead, 6),
        )  # fmt: skip
        return {"mark": self._marks}

    def admission(self, pod: str, call: str, *, code: int = 0, held: bool = False, effective: bool = False) -> None:
        """A Binding has passed the harness's webhook."""
        self.add(
            "admission", case=self.case, pod=f"{NAMESPACE}/{pod}", uid=self.uid(pod), node="node-1",
            user=CANDIDATE_USER, call=call, code=code, held=held, effective=effective,
        )  # fmt: skip

    # -- what the harness does and finds

    def seen(self, *, rv: int | None = None, pod: str = "settle-1") -> None:
        """The candidate has shown, by now, that it has seen the world as of `rv` (default: as it is now)."""
        self.add("seen", rv=self.rv if rv is None else rv, shown_at_rv=self.rv, pod=pod)

    def unseen(self, reason: str) -> None:
        self.add("unseen", case=self.case, rv=self.rv, reason=reason)

    def expect(self, pod: str, outcome: str, *, deadline: str = "bind", within: float = 20) -> None:
        """The harness has waited for an outcome, and the wait is over."""
        self.add(
            "expect", case=self.case, pod=f"{NAMESPACE}/{pod}", uid=self.uid(pod), outcome=outcome, rv=self.rv,
            within=within, deadline=deadline,
        )  # fmt: skip

    def fence(self, sentinel: str = "sentinel-1", node: str = "node-4") -> None:
        """A sentinel is created and, with a node, bound; then the fence is noted, as the harness always does."""
        self.pod(sentinel, role="sentinel")
        if node:
            self.bind(sentinel, node)
        self.expect(sentinel, "bound")
        self.add("fence", case=self.case, pod=f"{NAMESPACE}/{sentinel}", rv=self.rv)

    def load(self, phase: int, traffic: Mapping[str, float]) -> None:
        self.add("load", case=self.case, phase=phase, traffic=dict(traffic), source="scripted")

    def reading(self, pod: str, traffic: Mapping[str, float]) -> None:
        self.add("reading", case=self.case, pod=f"{NAMESPACE}/{pod}", query="rate(x[2s])", traffic=dict(traffic))

    def score(self, pod: str, node: str, score: int, *, scorer: str = "total") -> None:
        self.add("score", pod=f"{NAMESPACE}/{pod}", scorer=scorer, node=node, score=score)

    def lift(self, pod: str, **mark: int) -> None:
        """The harness says that it takes a pod's gates away; the pod's change is for the caller."""
        self.add("lift", case=self.case, pod=f"{NAMESPACE}/{pod}", uid=self.uid(pod), **mark)

    def fault(self, what: str, line: str = "prometheus") -> None:
        """A line breaks; or is healed, where `what` is empty."""
        self.add("fault", case=self.case, line=line, fault=what, on=bool(what))

    def query(self, request: str = "rate(x[2s])", *, status: int = 200, answer: str = "{}", **fields: Any) -> None:
        """The candidate asks Prometheus something."""
        exchange = {"status": status, "answer": answer, "seconds": 0.001, **fields}
        self.add("query", request=request, path="/api/v1/query", **exchange)

    def call(self, verb: str, /, **fields: Any) -> None:
        """The extender is asked, and answers as one that works does, but for `fields`."""
        names = [*self._nodes]
        answers = (
            {"answered": None, "answered_mode": "", "scores": [[name, 0] for name in names]}
            if verb == "prioritize"
            else {"answered": names, "answered_mode": "names", "scores": None}
        )
        self.add(
            "extender",
            **{
                "request": verb, "by": "scheduler", "pod": f"{NAMESPACE}/probe-1", "asked": names, "mode": "names",
                "error": "", "json": True, "status": 200, "answer": "", "seconds": 0.001, **answers, **fields,
            },
        )  # fmt: skip

    def configuration(
        self,
        *,
        version: str = "kubescheduler.config.k8s.io/v1",
        plugins: Sequence[str] = (),
        args: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> None:
        """A scheduler is about to be started: with these plugins enabled, and these args by name of plugin."""
        profile = {
            "schedulerName": SCHEDULER,
            "plugins": {"multiPoint": {"enabled": [{"name": name} for name in plugins]}},
            "pluginConfig": [{"name": name, "args": dict(given)} for name, given in args.items()],
        }
        document = {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
        self.add("configuration", document=document)

    # -- events

    def _uid(self, what: str) -> str:
        self._uids += 1
        return f"{what}-uid-{self._uids}"

    def _happens(self, resource: str, event: str, manifest: Record) -> None:
        self.rv += 1
        self._event(resource, event, manifest)

    def _event(self, resource: str, event: str, manifest: Record) -> None:
        manifest["metadata"]["resourceVersion"] = str(self.rv)
        self.add("object", resource=resource, type=event, rv=self.rv, object=manifest)
