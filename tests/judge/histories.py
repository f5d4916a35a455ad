"""Builder of handwritten histories: one call for each event, with the records that the recorder writes.

A `HistoryBuilder` begins like a real run: nodes are listed, a bystander pod exists, the candidate has started and
seen all of it, and a case has begun. Time and revisions advance with every call.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.candidate.claims import Claims, Example, GangClaims, NetworkClaims
from schedproof.candidate.points import (
    FilterExample,
    OrderExample,
    PartOfMetadata,
    PartOfPod,
    PointClaims,
    ScoreExample,
)
from schedproof.candidate.profiles import PROFILES
from schedproof.clusters.spec import NodeSpec
from schedproof.documents.reading import dump
from schedproof.history.acts import (
    Accepted,
    CasePhase,
    Expect,
    Fence,
    Lift,
    LineFault,
    NodesLoad,
    PodCreated,
    Reading,
    Run,
    RunEnd,
    ScoringSearch,
    Selected,
    ShownSeen,
    Tolerates,
    Trouble,
    Unseen,
)
from schedproof.history.history import History
from schedproof.history.observations import (
    Admission,
    ApiRequest,
    AuditMark,
    Configured,
    ExtenderCall,
    KeptWaiting,
    NodeScore,
    ProcessEvent,
    PrometheusQuery,
    RequestBegun,
    WatchEvent,
)
from schedproof.history.record import Record
from schedproof.history.saved import FILE, SCHEMA, read_record
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.codes import OF_ANY_CLAUSE
from schedproof.judge.judge import judge
from schedproof.judge.verdict import Verdict, codes_of
from schedproof.normalization.answer import Answer, Readings, readings_to_json
from schedproof.stimulus.pods import pod_manifest

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
BY_POD_GROUPS = GangClaims(
    {"spec": {"schedulingGroup": {"podGroupName": "{group}"}}}, 5.0,
    ({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "{group}"}},),
)  # fmt: skip
FAST, SLOW = {"disk": "fast"}, {"disk": "slow"}
POINTS = PointClaims(
    filter=(FilterExample(fits=False),), prefilter=(FilterExample(fits=False),),
    score=(ScoreExample(FAST, SLOW, PartOfPod(spec={"priority": 1})), ScoreExample(SLOW, FAST)),
    queue_sort=(OrderExample(PartOfPod(PartOfMetadata({"tier": "gold"})), PartOfPod()),),
)  # fmt: skip
CLAIMS = Claims(
    profiles=PROFILES, features=("strict", "full-scale", "scale-free"), network=NETWORK,
    examples=(Example({"quiet": 1e6, "loud": 2e6}, {"quiet": 10, "loud": 0}),), points=POINTS,
)  # fmt: skip
EXTENDER: Mapping[str, Any] = MappingProxyType(
    {"filterVerb": "filter", "prioritizeVerb": "prioritize", "nodeCacheCapable": True}
)
NO_RIGHTS: Mapping[str, Any] = MappingProxyType({"declared": [], "schedulers": []})


def told(verdict: Verdict, outcome: str, code: str = "", *facts: object) -> None:
    """Assert a verdict's outcome and code, and that its summary contains these facts: names, numbers, quotes."""
    assert (verdict.outcome, verdict.code) == (outcome, code), verdict
    words = [str(fact) for fact in facts]
    missing = [word for word in words if not re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", verdict.summary)]
    assert not missing, verdict.summary


def as_read(lines: Iterable[dict[str, Any]]) -> list[Record]:
    """Records as they are read from these lines of a file."""
    return [read_record(json.loads(json.dumps(line))) for line in lines]


_CREATED = 201
_STEP = 0.01
"""Seconds from one record to the next."""


class HistoryBuilder:
    """Records of a run of one candidate while `case` is tried.

    Args:
        case: clause that is tried; records with a case get this one.
        bystander: whether a pod of another scheduler exists from the start.
        started: whether a start of the candidate's process is recorded.
        extender: the candidate's extender configuration.
        rbac: recorded rights; None if they are not recorded.
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
        self.records: list[dict[str, Any]] = []
        """Lines of the file, as JSON objects; a test may change them."""
        self._at = 0.0
        self._uids = 0
        self._line = 0
        self._marks = 0
        self.clock_ahead = 0.0
        """Seconds that the apiserver's wall clock is ahead of the run's clock, for the following records."""
        self._nodes: dict[str, dict[str, Any]] = {}
        self._pods: dict[str, dict[str, Any]] = {}
        self._pod_uids: dict[str, str] = {}
        self.add(Run(
            version=SCHEMA,
            candidate={
                "name": SCHEDULER, "kind": "attached", "schedulerName": SCHEDULER, "path": "candidate.yaml",
                "extender": {"config": dict(extender)},
                "claims": dump(claims), "exclusions": [{"link": None, **exclusion} for exclusion in exclusions],
            },
            cluster={"name": "embedded", "nodes": list(nodes), "device": "eth0", "capabilities": sorted(capabilities)},
            seed=7,
            versions={"kubernetes": "v1.36.3"},
            users={"candidate": [CANDIDATE_USER], "control": [CONTROL_USER], "harness": [HARNESS_USER]},
            scheduler_names=[SCHEDULER],
            namespace=NAMESPACE,
            epoch=1_795_185_137.0,
            **({} if rbac is None else {"rbac": dict(rbac)}),
        ))  # fmt: skip
        for name in nodes:
            self._nodes[name] = self._node_manifest(name)
            self._event("nodes", "LISTED", self._nodes[name])
        if bystander:
            self.pod("bystander", role="", scheduler=BYSTANDER)
        self.seen(pod="(its own start)")
        if started:
            self.process("scheduler-tested", "started")
        self.add(Selected(clauses=[case]))
        self.begin()

    # -- the record

    def add(self, record: Record) -> None:
        self._at = round(self._at + _STEP, 6)
        self.records.append(record.model_copy(update={"at": self._at}).as_dict())

    def pass_time(self, seconds: float) -> None:
        self._at = round(self._at + seconds, 6)

    @property
    def now(self) -> float:
        """Time of the last record."""
        return self._at

    def wait(self, seconds: float, **kept: float) -> None:
        """Let time pass; `kept`: seconds for which processes waited for a processor, by name."""
        self._at = round(self._at + seconds, 6)
        if kept:
            self.add(KeptWaiting(seconds=seconds, kept=kept))

    def history(self) -> History:
        """The history as read from disk."""
        return History(as_read(self.records))

    def save(self, folder: Path) -> Path:
        """Write the history where the recorder would, and return the file."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE
        file.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in self.records))
        return file

    def verdict(self, clause: str = "") -> Verdict:
        """Return the verdict of the case (or of another clause) if the run ended here."""
        ended = copy.copy(self)
        ended.records = [*self.records]
        if [record["phase"] for record in self.records if record["kind"] == "case"][-1] == "begin":
            ended.end()
        ended.over()
        verdict = judge(ended.history(), clause or self.case)
        own_judge = CATALOGUE[verdict.clause].judge
        if getattr(own_judge, "func", own_judge).__module__.startswith("schedproof."):
            # `explain` and the docs list every code.
            assert verdict.code in ("", *OF_ANY_CLAUSE, *codes_of(own_judge)), verdict.code
        return verdict

    def begin(self, case: str = "") -> None:
        self.case = case or self.case
        self.add(CasePhase(case=self.case, phase="begin"))

    def end(self, *, early: bool = False) -> None:
        self.add(CasePhase(case=self.case, phase="end", early=early))

    def over(self) -> None:
        self.add(RunEnd())

    def trouble(self, text: str) -> None:
        self.add(Trouble(case=self.case, text=text))

    def process(self, name: str, event: str, **fields: Any) -> None:
        self.add(ProcessEvent(name=name, event=event, **fields))

    def scoring(self, surface: str, *asked: tuple[Readings, Answer], cases: int = 100, **fields: Any) -> None:
        """Record the result of a search on a surface: questions and answers of the case that it reports."""
        shown = {
            "questions": [readings_to_json(readings) for readings, _ in asked],
            "answers": [answer.as_dict() for _, answer in asked],
        }
        self.add(
            ScoringSearch(case=self.case, surface=surface, cases=cases, **{"id": "", "steady": True, **shown, **fields})
        )

    # -- nodes

    def node(self, name: str, *, cpu: str = "8", **changes: Any) -> None:
        """Add or change a node: `labels`, `taints`, `unschedulable`; omitted values have their defaults."""
        known = name in self._nodes
        manifest = self._node_manifest(name, cpu=cpu, **changes)
        if known:
            manifest["metadata"]["uid"] = self._nodes[name]["metadata"]["uid"]
        self._nodes[name] = manifest
        self.happens("nodes", "MODIFIED" if known else "ADDED", manifest)

    def remove_node(self, name: str) -> None:
        self.happens("nodes", "DELETED", self._nodes.pop(name))

    def _node_manifest(
        self,
        name: str,
        *,
        cpu: str = "8",
        labels: Mapping[str, str] | None = None,
        taints: Iterable[Mapping[str, str]] = (),
        unschedulable: bool = False,
    ) -> dict[str, Any]:
        spec = NodeSpec(name, {"cpu": cpu, "memory": "16Gi", "pods": "110"}, labels or {}, tuple(taints))
        manifest = spec.manifest("198.18.0.10", "v1.36.3")
        if unschedulable:
            manifest["spec"]["unschedulable"] = True
        manifest["metadata"]["uid"] = self._uid("node")
        return manifest

    def namespace(self, name: str, **labels: str) -> None:
        """Add a namespace with these labels."""
        self.happens("namespaces", "ADDED", {"metadata": {"name": name, "labels": labels}})

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
        """Create a pod and return its uid. A pod without a role does not belong to the case. `spec`: see
        `pod_manifest`.
        """
        manifest = pod_manifest(name, scheduler, image="pause", **spec)
        uid = self._uid("pod")
        manifest["metadata"] |= {"namespace": NAMESPACE, "uid": uid}
        manifest["status"] = {"phase": "Pending"}
        self._pods[name] = manifest
        self._pod_uids[name] = uid
        if role:
            self.add(PodCreated(case=self.case, pod=f"{NAMESPACE}/{name}", uid=uid, role=role, phase=phase))
        self.happens("pods", "ADDED", manifest)
        return uid

    def uid(self, pod: str) -> str:
        """Return the uid of the latest pod of this name."""
        return self._pod_uids[pod]

    def bind(self, pod: str, node: str, *, by: str = CANDIDATE_USER) -> None:
        """Record a successful Binding and the watch event of the pod on its node."""
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
        """Record the audit event of a posted Binding. `uid`: "" for none, or the uid of another pod."""
        metadata = {"name": pod, "namespace": NAMESPACE}
        if uid != "":
            metadata["uid"] = uid or self.uid(pod)
        body = {"kind": "Binding", "apiVersion": "v1", "metadata": metadata, "target": {"kind": "Node", "name": node}}
        self.request("create", resource, pod, by=by, code=code, body=body, received=received, **more)

    def place(self, pod: str, node: str) -> None:
        """Record the watch event of a pod on a node."""
        self._pods[pod]["spec"]["nodeName"] = node
        self.condition(pod, status="True")

    def nominate(self, pod: str, node: str) -> None:
        """Record the watch event of a pod with a nominated node."""
        self._pods[pod]["status"]["nominatedNodeName"] = node
        self.happens("pods", "MODIFIED", self._pods[pod])

    def change(self, pod: str, **spec: Any) -> None:
        """Change fields of a pod's spec."""
        self._pods[pod]["spec"] |= spec
        self.happens("pods", "MODIFIED", self._pods[pod])

    def condition(self, pod: str, *, status: str = "False", reason: str = "", **more: str) -> None:
        """Set the PodScheduled condition as the pod's only condition."""
        condition = {"type": "PodScheduled", "status": status, **({"reason": reason} if reason else {}), **more}
        self._pods[pod]["status"]["conditions"] = [condition]
        self.happens("pods", "MODIFIED", self._pods[pod])

    def conditions(self, pod: str, conditions: Iterable[Mapping[str, str]]) -> None:
        """Replace all conditions of a pod."""
        self._pods[pod]["status"]["conditions"] = [dict(condition) for condition in conditions]
        self.happens("pods", "MODIFIED", self._pods[pod])

    def start(self, pod: str, second: int) -> None:
        """Set a pod to Running since this second of a minute."""
        self._pods[pod]["status"] |= {"phase": "Running", "startTime": f"2026-11-20T00:00:{second:02}Z"}
        self.happens("pods", "MODIFIED", self._pods[pod])

    def report(self, pod: str, **status: Any) -> None:
        """Change fields of a pod's status."""
        self._pods[pod]["status"] |= status
        self.happens("pods", "MODIFIED", self._pods[pod])

    def terminate(self, pod: str) -> None:
        """Mark a pod as being deleted, as with a finalizer."""
        self._pods[pod]["metadata"]["deletionTimestamp"] = "2026-11-20T00:00:00Z"
        self.happens("pods", "MODIFIED", self._pods[pod])

    def delete(self, pod: str) -> None:
        self.happens("pods", "DELETED", self._pods.pop(pod))

    def event(self, pod: str, message: str, *, names_uid: bool = True) -> None:
        """Record an Event about a pod."""
        about = {"kind": "Pod", "namespace": NAMESPACE, "name": pod, **({"uid": self.uid(pod)} if names_uid else {})}
        metadata = {"name": f"{pod}.1", "namespace": NAMESPACE, "uid": self._uid("event")}
        self.happens("events", "ADDED", {"metadata": metadata, "involvedObject": about, "message": message})

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
        """Record a request that completes now; `received`: when it was received (default: just before)."""
        self._line += 1
        completed = round(self._at + _STEP + self.clock_ahead, 6)  # which is the record's own time
        self.add(ApiRequest(
            user=by, verb=verb, resource=resource, name=name, code=code,
            line=self._line, received=round(completed - _STEP / 2, 6) if received is None else received,
            completed=completed, body=body, **{"group": "", "namespace": NAMESPACE, **more},
        ))  # fmt: skip

    def begun(self, resource: str, name: str, *, audit_id: str = "a") -> None:
        """Record that the candidate's patch has begun; its end is not in the audit log."""
        self._line += 1
        self.add(RequestBegun(
            id=audit_id, user=CANDIDATE_USER, verb="patch", group="", resource=resource, namespace=NAMESPACE, name=name,
            line=self._line, received=self._at, completed=self._at,
        ))  # fmt: skip

    def mark(self) -> int:
        """Record a mark of the harness in the audit log, and return its number."""
        self._line += 1
        self._marks += 1
        sent = round(self._at + _STEP, 6)
        self.add(AuditMark(
            mark=self._marks, line=self._line, answered=round(sent + 0.004, 6),
            received=round(sent + 0.001 + self.clock_ahead, 6), completed=round(sent + 0.002 + self.clock_ahead, 6),
        ))  # fmt: skip
        return self._marks

    def admission(self, pod: str, call: str, *, code: int = 0, held: bool = False, effective: bool = False) -> None:
        """Record a Binding that passed the harness's webhook."""
        self.add(Admission(
            case=self.case, pod=f"{NAMESPACE}/{pod}", uid=self.uid(pod), node="node-1",
            user=CANDIDATE_USER, call=call, code=code, held=held, effective=effective,
        ))  # fmt: skip

    # -- what the harness does and finds

    def seen(self, *, rv: int | None = None, pod: str = "settle-1") -> None:
        """Record that the candidate has seen the world as of `rv` (default: the current revision)."""
        self.add(ShownSeen(rv=self.rv if rv is None else rv, shown_at_rv=self.rv, pod=pod))

    def unseen(self, reason: str) -> None:
        self.add(Unseen(case=self.case, rv=self.rv, reason=reason))

    def expect(self, pod: str, outcome: str, *, deadline: str = "bind", within: float = 20, **kept: float) -> None:
        """Record the end of the wait for a pod; `kept`: seconds for which processes waited for a processor, by name."""
        self.add(Expect(
            case=self.case, pod=f"{NAMESPACE}/{pod}", uid=self.uid(pod), outcome=outcome, rv=self.rv,
            within=within, deadline=deadline, kept=kept,
        ))  # fmt: skip

    def fence(self, sentinel: str = "sentinel-1", node: str = "node-4") -> None:
        """Create a sentinel, bind it if `node` is not empty, and record the fence."""
        self.pod(sentinel, role="sentinel")
        if node:
            self.bind(sentinel, node)
        self.expect(sentinel, "bound")
        self.add(Fence(case=self.case, pod=f"{NAMESPACE}/{sentinel}", rv=self.rv))

    def load(self, phase: int, traffic: Mapping[str, float]) -> None:
        self.add(NodesLoad(case=self.case, phase=phase, traffic=dict(traffic), source="scripted"))

    def reading(self, pod: str, traffic: Mapping[str, float]) -> None:
        self.add(Reading(case=self.case, pod=f"{NAMESPACE}/{pod}", query="rate(x[2s])", traffic=dict(traffic)))

    def score(self, pod: str, node: str, score: int, *, scorer: str = "total") -> None:
        self.add(NodeScore(pod=f"{NAMESPACE}/{pod}", scorer=scorer, node=node, score=score))

    def lift(self, pod: str, mark: int = 0) -> None:
        """Record that the harness removes a pod's gates; the caller changes the pod."""
        self.add(Lift(case=self.case, pod=f"{NAMESPACE}/{pod}", uid=self.uid(pod), mark=mark))

    def tolerates(self, pod: str, phase: int = -1) -> None:
        """Record that the harness adds a toleration to a pending pod; the caller changes the pod."""
        self.add(Tolerates(case=self.case, pod=f"{NAMESPACE}/{pod}", uid=self.uid(pod), phase=phase))

    def accepts(self, pod: str, phase: int = -1) -> None:
        """Record that the harness stops refusing the Bindings of a pod."""
        self.add(Accepted(case=self.case, pod=f"{NAMESPACE}/{pod}", uid=self.uid(pod), phase=phase))

    def fault(self, what: str, line: str = "prometheus") -> None:
        """Record a fault of a connection, or its end if `what` is empty."""
        self.add(LineFault(case=self.case, line=line, fault=what, on=bool(what)))

    def query(self, request: str = "rate(x[2s])", *, status: int = 200, answer: str = "{}", **fields: Any) -> None:
        """Record a query of the candidate to Prometheus."""
        exchange = {"status": status, "answer": answer, "seconds": 0.001, **fields}
        self.add(PrometheusQuery(request=request, path="/api/v1/query", **exchange))

    def call(self, verb: str, /, **fields: Any) -> None:
        """Record an extender call with a usual answer, changed by `fields`."""
        names = [*self._nodes]
        answers = (
            {"answered": None, "answered_mode": "", "scores": [[name, 0] for name in names]}
            if verb == "prioritize"
            else {"answered": names, "answered_mode": "names", "scores": None}
        )
        self.add(ExtenderCall(
            **{
                "request": verb, "by": "scheduler", "pod": f"{NAMESPACE}/probe-1", "asked": names, "mode": "names",
                "error": "", "json": True, "status": 200, "answer": "", "seconds": 0.001, **answers, **fields,
            },
        ))  # fmt: skip

    def configuration(
        self,
        *,
        version: str = "kubescheduler.config.k8s.io/v1",
        plugins: Sequence[str] = (),
        args: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> None:
        """Record the configuration of a scheduler: enabled plugins, and args by plugin name."""
        profile = {
            "schedulerName": SCHEDULER,
            "plugins": {"multiPoint": {"enabled": [{"name": name} for name in plugins]}},
            "pluginConfig": [{"name": name, "args": dict(given)} for name, given in args.items()],
        }
        document = {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
        self.add(Configured(document=document))

    # -- events

    def _uid(self, what: str) -> str:
        self._uids += 1
        return f"{what}-uid-{self._uids}"

    def happens(self, resource: str, event: str, manifest: dict[str, Any]) -> None:
        """Record a watch event of an object at the next revision."""
        self.rv += 1
        self._event(resource, event, manifest)

    def _event(self, resource: str, event: str, manifest: dict[str, Any]) -> None:
        manifest["metadata"]["resourceVersion"] = str(self.rv)
        self.add(WatchEvent(resource=resource, type=event, rv=self.rv, object=manifest))
