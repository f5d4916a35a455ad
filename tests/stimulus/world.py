"""What a case needs around it, with a fake apiserver for the cluster: parts of a case are tested on this."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, TypeVar

from schedproof.candidate.claims import Claims
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec, Spec
from schedproof.candidate.scheduler_config import NO_LEADER_ELECTION
from schedproof.candidate.timing import Timing
from schedproof.clusters.api import Api, Manifest
from schedproof.clusters.nodes import CORDONED
from schedproof.clusters.spec import NodeSpec
from schedproof.foundation.deadlines import OBJECT_SHOWN
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.acts import Habit, Run, RunCandidate, RunCluster, Users
from schedproof.history.record import Record
from schedproof.history.saved import SCHEMA
from schedproof.recording.recorder import Recorder
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.status import PodStatus
from schedproof.stimulus.surroundings import Surroundings
from schedproof.stimulus.trial import Trial
from schedproof.stimulus.usable_time import UsableTime
from schedproof.stimulus.view import CandidateView

from ..fake_apiserver.storing import Storing

NAMESPACE, SCHEDULER, CLAUSE = "sp-tested", "tested", "core/binds"
PREFIX = CLAUSE.replace("/", "-")
NODES = ("node-1", "node-2")
IN_TIME = Timing(freshness=0.0)
"""Claims by which nothing is waited for but what comes about."""
TOO_LATE = Timing(bind=0.0, requeue=0.0, takeover=0.0, freshness=0.0, reaction=0.0)
"""Claims by which all is missed that has not come about at once."""
TEMPLATE = NodeSpec("node-{n}", {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"})
_KUBELET = {"conditions": [{"type": "Ready", "status": "True"}], "images": []}
_R = TypeVar("_R", bound=Record)


class PlayedCluster:
    """The part of `Cluster` that adds and removes nodes; what controllers and kubelets do, the server's hooks do."""

    name, device, workload_image, namespace_prefix, namespace = "embedded", "eth0", "image", "sp", "schedproof-system"
    node_template, scrape_interval, kubernetes, prometheus_url = TEMPLATE, 0.0, "1.36", ""
    feature_gates: Mapping[str, bool] = MappingProxyType({})
    harness_user = "harness"

    def __init__(self, server: Storing, capabilities: Sequence[str]) -> None:
        self._server = server
        self.api = Api(server.url, None)
        self.capabilities = frozenset(capabilities)
        self.nodes: Sequence[str] = NODES
        for name in NODES:
            self.add_node(name)

    def add_node(self, name: str, *, like: NodeSpec = TEMPLATE) -> None:
        self.add_idle_nodes({name: "203.0.113.1"}, like=like)

    def add_idle_nodes(self, addresses: Mapping[str, str], *, like: NodeSpec = TEMPLATE) -> None:
        for name, address in addresses.items():
            node = dataclasses.replace(like, name=name).manifest(address, "v1.36.0")
            self._server.store("nodes", {**node, "status": {**node["status"], **_KUBELET}})

    def remove_node(self, name: str) -> None:
        self.api.delete("nodes", name)


class PlayedAttachment:
    """The candidate's processes, of which none runs; `acts` is what was done to them, in order."""

    second_user = "second"
    profiles_reversed = False

    def __init__(self) -> None:
        self.acts: list[str] = []
        self.ended = False
        self.leader_election: Mapping[str, Any] = NO_LEADER_ELECTION
        self.apiserver: Any = None

    def report_exits(self) -> None:
        self.acts.append("report exits")

    def await_answers(self) -> None:
        self.acts.append("await answers")

    def log_tails(self) -> dict[str, list[str]]:
        return {"tested": ["its last line"]}

    def halt(self) -> None:
        self.acts.append("halt")

    def resume(self) -> None:
        self.acts.append("resume")

    def start_second(self) -> None:
        self.acts.append("start second")

    @contextlib.contextmanager
    def first_frozen(self) -> Iterator[None]:
        self.acts.append("freeze")
        try:
            yield
        finally:
            self.acts.append("thaw")


class PlayedTrial(SimpleNamespace):
    """The part of `Trial` that parts of a case ask; what the candidate has shown is what is on record of it."""

    shown = Trial.shown

    def note(self, case: str, habit: Habit) -> None:
        """As `Trial.note`; of each wait for Bindings, `waits` says whether it was for nothing."""
        if habit in ("binds", "binds-nothing"):
            self.waits.append(habit == "binds-nothing")
        Trial.note(self, case, habit)  # type: ignore[arg-type]


class World:
    """A cluster of two nodes, a candidate that schedules what `schedule` says, and the parts of a case.

    `trial` has of a Trial what the parts ask for. Close it.
    """

    def __init__(
        self, folder: Path, *, timing: Timing = IN_TIME, capabilities: Sequence[str] = ("change-nodes", "idle-nodes"),
        spec: Spec | None = None, **claims: Any,
    ) -> None:  # fmt: skip
        self.server = Storing()
        self.server.controllers["nodes"] = [self._taint_cordoned]
        served = ("deviceclasses", "resourceslices", "resourceclaims")
        self.server.kinds["resource.k8s.io/v1"] = [{"name": name} for name in served]
        self.add_namespace(NAMESPACE)
        self.cluster: Any = PlayedCluster(self.server, capabilities)
        self.attachment = PlayedAttachment()
        spec = spec or AttachedSpec()
        self.candidate = Candidate(
            name=SCHEDULER, scheduler_name=SCHEDULER, path=Path("candidate.yaml"),
            claims=Claims(timing=timing, **claims), **{spec.kind: spec},
        )  # fmt: skip
        self.recorder = Recorder(self.cluster.api, folder, self._header(), None)
        self.said: list[tuple[str, bool]] = []
        """What the candidate was given a deadline to say, and whether it did."""
        self.trial: Any = PlayedTrial(
            cluster=self.cluster, candidate=self.candidate, recorder=self.recorder, attachment=self.attachment,
            namespace=NAMESPACE, seed=7, waiters={}, waits=[], reserved=None, taking_over=False, in_vain=False,
            look_into_record=lambda *, late: not late,
            surroundings=Surroundings(self.cluster, self.candidate), usable_time=UsableTime(dict),
            history=self.recorder.history, schedules=lambda: None,
            did=lambda what, *, in_time: self.said.append((what, in_time)),
            never_did=lambda what: (what, True) not in self.said and (what, False) in self.said,
            next_generation=lambda: "generation-1", asked_apart=set(), asked_at=-math.inf,
            probes_apart=False, placements_count=False,
            queries=SimpleNamespace(look_back=lambda _: None, note=lambda *_: None), reserved_nodes=(),
        )  # fmt: skip
        self.context = Context.of(self.trial, CLAUSE)
        self.pods = PodChanges(self.context)
        self.expect = Expectations(self.context, self.pods)
        self.status = PodStatus(self.context, self.pods, self.expect)
        self.view = CandidateView(self.context, self.pods, self.expect, self.status)

    def add_namespace(self, name: str) -> None:
        self.server.store("namespaces", {"metadata": {"name": name}})

    def _header(self) -> Run:
        return Run(
            version=SCHEMA, candidate=RunCandidate.model_validate(self.candidate.as_dict()), seed=7, versions={},
            cluster=RunCluster(name=self.cluster.name, capabilities=sorted(self.cluster.capabilities)),
            users=Users(candidate=[SCHEDULER]), scheduler_names=[SCHEDULER], namespace=NAMESPACE, epoch=0.0,
        )  # fmt: skip

    def _taint_cordoned(self, what: str, node: Manifest) -> None:
        """As the node controller does."""
        spec = node["spec"]
        others = [taint for taint in spec.get("taints", ()) if taint["key"] != CORDONED]
        taints = [*others, {"key": CORDONED, "effect": "NoSchedule"}] if spec.get("unschedulable") else others
        if what != "DELETED" and taints != spec.get("taints", []):
            self.server.patch("nodes", node["metadata"]["name"], {"spec": {"taints": taints or None}})

    # -- what the candidate and the cluster do, from here on

    def schedule(self, node_of: Callable[[Manifest], str] = lambda _: NODES[0], *, reason: str = "") -> None:
        """Have the candidate bind each created pod of its own to this node; "" leaves it pending, for this `reason`."""

        def bind(what: str, pod: Manifest) -> None:
            metadata = pod["metadata"]
            if what != "ADDED" or pod["spec"]["schedulerName"] != SCHEDULER:
                return
            if node := node_of(pod):
                self.server.bind(metadata["namespace"], metadata["name"], node)
            elif reason:
                self._refuse(metadata, reason)

        self.server.controllers.setdefault("pods", []).append(bind)

    def run_pods(self) -> None:
        """Have each pod run that comes to a node."""

        def run(what: str, pod: Manifest) -> None:
            metadata, phase = pod["metadata"], pod["status"]["phase"]
            if what != "DELETED" and pod["spec"].get("nodeName") and phase == "Pending":
                statuses = [{"name": container["name"], "ready": True} for container in pod["spec"]["containers"]]
                running = {"phase": "Running", "containerStatuses": statuses}
                self.server.patch("pods", metadata["name"], {"status": running}, metadata["namespace"])

        self.server.controllers.setdefault("pods", []).append(run)

    def refuse(self, reason: str = "Unschedulable") -> None:
        """Have the candidate say of each pod of its own that is created why it is not bound."""

        def tell(what: str, pod: Manifest) -> None:
            if what == "ADDED" and pod["spec"]["schedulerName"] == SCHEDULER:
                self._refuse(pod["metadata"], reason)

        self.server.controllers.setdefault("pods", []).append(tell)

    def _refuse(self, metadata: Manifest, reason: str) -> None:
        condition = {"type": "PodScheduled", "status": "False", "reason": reason}
        self.server.patch("pods", metadata["name"], {"status": {"conditions": [condition]}}, metadata["namespace"])

    def become(self, resource: str, change: Callable[[Manifest], Manifest | None], *, reads: int = 2) -> None:
        """Have a controller patch each object of a resource, in time: by the answers of `change` once it was read."""
        read: Counter[str] = Counter()

        def answer(what: str, manifest: Manifest) -> None:
            metadata = manifest["metadata"]
            read[metadata["uid"]] += what == "READ"
            if read[metadata["uid"]] == reads and what == "READ" and (patch := change(manifest)) is not None:
                read[metadata["uid"]] = 0
                self.server.patch(resource, metadata["name"], patch, metadata.get("namespace", ""))

        self.server.controllers.setdefault(resource, []).append(answer)

    # -- what came of it

    @contextlib.contextmanager
    def changed_back(self, undo: Callable[[], object]) -> Iterator[None]:
        """A context at whose end `undo` leaves all objects as they were before it, and then nothing to undo."""
        before = self.server.snapshot()
        yield
        assert self.server.snapshot() != before
        assert undo() in (True, None)
        assert self.server.snapshot() == before
        assert not undo()

    def pod(self, pod: Any) -> Manifest:
        """As the apiserver has it."""
        return self.server.read("pods", pod.name, pod.namespace)

    def of(self, kind: type[_R]) -> list[_R]:
        """The records of a kind."""
        with self.recorder.changed:
            return [record for record in self.recorder.records if isinstance(record, kind)]

    def await_shown(self, condition: Callable[[], object], what: str) -> None:
        """Wait until the recorder's watches have shown something."""

        def probe() -> None:
            self.recorder.check()
            if not condition():
                raise NotYet("it is not shown")

        wait_for(probe, OBJECT_SHOWN, what=what, wake=self.recorder.changed)

    def close(self) -> None:
        self.recorder.close()
        self.server.close()
