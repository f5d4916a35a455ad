"""Runs a world: lets the candidate schedule its pods on a few nodes of the clause, and returns what went wrong."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from schedproof.candidate.subjects import Subject
from schedproof.foundation.deadlines import AGAIN
from schedproof.foundation.waiting import NotYet
from schedproof.history.acts import PodCreated
from schedproof.oracle.manifest import occupants
from schedproof.oracle.reason import Reason
from schedproof.oracle.resources import held, is_overcommitted
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.view import CandidateView
from schedproof.stimulus.worlds.steps import HOSTNAME, WorldSteps
from schedproof.worlds.kinds import kind_of
from schedproof.worlds.parts import RULES_OF_PODS
from schedproof.worlds.search import Wrong
from schedproof.worlds.world import NODES, Manifest, World, required

_HURRIED = AGAIN
"""The deadline of a pod to be bound while a world is made smaller; milliseconds are usual."""
_GONE = (Reason("it is gone", rule="existence"),)
"""What is against a node that is not there."""


@dataclasses.dataclass
class _Waiting:
    """A pod of the candidate that is not bound."""

    pod: Pod
    described: Manifest
    before: Mapping[str, tuple[Reason, ...]] | None = None
    """Each node's reasons against it after the step before; None for a pod that has just come."""
    nodes: Mapping[str, tuple[Reason, ...]] = dataclasses.field(default_factory=dict)
    """Those when it was last looked at, of the nodes of worlds: by its selector, it fits on no other."""
    looked: int = 0
    """The number of records at that time."""
    decided: bool = False
    """Whether a fence has shown that the candidate has decided on it."""
    fitted: bool = False
    """Whether it fitted somewhere in the middle of a step, or while the candidate was away."""

    @property
    def fits(self) -> bool:
        """Whether it fitted somewhere when it was last looked at."""
        return any(not why for why in self.nodes.values())


class WorldRuns:
    """Runs worlds, one after the other, on the same nodes, which are changed for each: adding nodes is slow.

    When a pod comes, the oracle decides whether it fits. A pod that fits must be bound. The others wait: a fence shows
    that they were left pending before anything else changes, and they go on waiting. After each step, the oracle
    decides which waiting pods have come to fit. Those must be bound, unless others of them take the room. The
    candidate is shown to have seen all changes before the next pod comes.
    """

    def __init__(
        self, context: Context, pods: PodChanges, nodes: NodeChanges, view: CandidateView, expect: Expectations,
        candidate: CandidateChanges,
    ) -> None:  # fmt: skip
        self._context, self._trial, self._recorder = context, context.trial, context.recorder
        self._pods, self._nodes, self._view, self._expect = pods, nodes, view, expect
        self._world = WorldSteps(context, pods, nodes, candidate, between=self._note_fitting)
        self._retries = Subject.RETRIES not in context.left_out
        """Whether a pod that comes to fit must be bound."""
        self._settled = False
        """Whether the candidate has seen all changes."""
        self._waiting: list[_Waiting] = []
        self._missed = False
        """Whether a node changed, or something ended, while the candidate was away."""
        self.uids: list[str] = []
        """Uids of all pods of the last world, if something went wrong in it and it was not hurried."""
        self.freed: Counter[str] = Counter()
        """`RULE, KIND OF STEP` to how many pods came to be bound where a rule had kept them off before such a step."""
        self.disturbed: Counter[str] = Counter()
        """`FAULT, WHAT` to how often a fault was on while something happened: a kind of step, or what a pod waited for.

        A fault is an absence of the candidate, or a refused Binding.
        """

    def run(self, world: World, hurried: bool) -> Wrong | None:
        """Run a world, and return the first thing that goes wrong; None if nothing does.

        `hurried`: no expectations are recorded, and a pod that is reported as waiting is not waited for.

        Raises:
            CaseOver: the candidate could not be shown to have seen the world, or to have decided on its pods.
        """
        before, first = {pod.uid for pod in self._pods.present}, len(self._recorder.records)
        self._waiting, self.uids, self._missed = [], [], False
        try:
            self._world.begin(world)
            self._settled = False
            wrong = self._steps(world.steps, hurried=hurried)
        finally:
            self._world.end()
            pods = [pod for pod in self._pods.present if pod.uid not in before]
            self._pods.remove_finalizers(pods)
            self._pods.delete(pods)
        if wrong is not None and not hurried:
            created = (record for record in self._recorder.records[first:] if isinstance(record, PodCreated))
            self.uids = [record.uid for record in created if record.case == self._context.clause]
        return wrong

    def _steps(self, steps: Sequence[Manifest], *, hurried: bool) -> Wrong | None:
        for number, step in enumerate(steps):
            if "comes" in step:
                wrong = self._comes(steps, number, hurried=hurried)
            else:
                wrong = self._changes(step, number, hurried=hurried)
            if wrong is not None:
                return self._with_places(wrong, steps)
        last = len(steps) - 1
        wrong = self._returns(last, hurried=hurried) or self._left_pending(self._waiting, last, hurried=hurried)
        return self._with_places(wrong, steps) if wrong is not None else None

    def _with_places(self, wrong: Wrong, steps: Sequence[Manifest]) -> Wrong:
        """Add where the pods are that came before the step by which it shows, and before those together with it."""
        last = wrong.step
        while last and steps[last].get("together"):
            last -= 1
        before = {step["comes"]["name"] for step in steps[:last] if "comes" in step}
        return dataclasses.replace(wrong, placed={n: at for n, at in self._world.placed.items() if n in before})

    def _changes(self, step: Manifest, number: int, *, hurried: bool) -> Wrong | None:
        undecided = [entry for entry in self._waiting if not entry.decided]
        if not self._world.absence and (wrong := self._left_pending(undecided, number - 1, hurried=hurried)):
            return wrong
        self._settled = False
        if "recreated" not in step:
            self._world.do(step)
        elif again := self._world.recreated(step["recreated"]):
            self._waiting.append(_Waiting(*again))
        if not self._world.absence:
            return self._free(step, number, hurried=hurried)
        self._note_disturbed(self._world.absence, kind_of(step).name)
        self._missed |= "changed" in step or kind_of(step).ends
        self._note_fitting()
        return None

    # -- the candidate's pods

    def _comes(self, steps: Sequence[Manifest], number: int, *, hurried: bool) -> Wrong | None:
        """Create a pod, and return what goes wrong: with it, or with pods that wait and come to fit beside it.

        Pods that come together are created with the first of them.
        """
        if steps[number].get("together") and number and "comes" in steps[number - 1]:
            return None
        if wrong := self._returns(number, hurried=hurried):
            return wrong
        last = number
        while last + 1 < len(steps) and steps[last + 1].get("together"):
            last += 1
        come = steps[number : last + 1]
        for step in come:
            if "refused" in step:
                self._note_disturbed(f"refused {step['refused']}", "comes together" if last > number else "comes")
        if any(_may_leave(step["comes"]) for step in come) and (
            wrong := self._left_pending(self._waiting, number - 1, hurried=hurried)
        ):
            return wrong
        if not self._settled:
            self._view.settle()
            self._settled = True
        if last == number:
            if text := self._comes_alone(come[0], hurried=hurried):
                return Wrong(text, number)
        else:
            self._waiting += [_Waiting(self._world.comes(step), step["comes"]) for step in come]
        wrong = self._free(steps[number], last, hurried=hurried)
        self._world.refuse_none()
        return wrong

    def _comes_alone(self, step: Manifest, *, hurried: bool) -> str:
        """Create a pod, and return what goes wrong if it fits; "" if nothing does, or if it has to wait."""
        pod, described = self._world.comes(step), step["comes"]
        seen = self._recorder.pods.get(pod.uid)
        if seen is None:  # bound where a taint evicts it, or deleted by the candidate
            return "" if _may_leave(described) and self._pods.was_bound(pod) else f"{pod.name} is gone"
        nodes = self._pods.objections(seen)
        room = sorted(node for node, why in nodes.items() if not why)
        if not room:
            self._world.refuse_none()
            self._waiting.append(_Waiting(pod, described, nodes, nodes))
            return ""
        if all(map(self._is_overcommitted, room)):
            # Whether such a node takes a pod that requests none of what it lacks is for core/fit-overcommitted.
            self._drop([pod])
            self._settled = False
            return ""
        if "refused" in step:
            bound = self._expect.bound_in_time([pod], self._context.deadlines.requeue)
        else:
            bound = self._is_bound(pod, hurried=hurried)
        if not bound:
            return f"{pod.name} was not bound, although it fits on {', '.join(room)}"
        if _may_leave(described):
            self._leaves(pod)
            return ""
        return self._misplaced(pod, nodes)

    def _leaves(self, pod: Pod) -> None:
        """Delete a bound pod that a taint may evict now, or may have evicted already, with all that wait beside it.

        The judge sees where they were.
        """
        self._drop([pod])
        self._settled = False

    # -- pods that wait

    def _looked_at(self) -> list[_Waiting]:
        """Return the pods that wait and are there, with what is against each on the nodes as they are now."""
        self._waiting = [entry for entry in self._waiting if entry.pod.uid in self._recorder.pods]
        now = len(self._recorder.records)
        for entry in self._waiting:
            if entry.looked != now:
                entry.nodes, entry.looked = self._pods.objections(self._recorder.pods[entry.pod.uid], NODES), now
        return self._waiting

    def _note_fitting(self) -> None:
        """Note which waiting pods fit in a state that does not last."""
        for entry in self._looked_at():
            entry.fitted |= entry.fits

    def _returns(self, number: int, *, hurried: bool) -> Wrong | None:
        """End the candidate's absence; return the first pod that came to fit meanwhile and is not bound."""
        if not self._world.absence:
            return None
        step = {self._world.absence: True}
        self._world.end_absence()
        self._settled = False
        wrong = self._free(step, number, hurried=hurried)
        self._missed = False
        return wrong

    def _free(self, step: Manifest, number: int, *, hurried: bool) -> Wrong | None:
        """Let the candidate bind the waiting pods that have come to fit; return the first that it does not bind.

        A pod that was bound may let others fit, so they are looked at again. Nothing is expected of a pod that fitted
        for a while and does so no longer.
        """
        self._drop([entry.pod for entry in self._looked_at() if entry.fitted and not entry.fits])
        moved = False
        while fitting := [entry for entry in self._looked_at() if entry.fits]:
            if not self._retries or any(self._is_doubtful(entry, step) for entry in fitting):
                self._drop([entry.pod for entry in fitting])
                continue
            left = self._expect.bound_while_owed([entry.pod for entry in fitting], self._is_owed, record=not hurried)
            if left:
                room = (node for node, why in self._objections(left[0]).items() if not why)
                return Wrong(f"{left[0].name} was not bound, although it has come to fit on {', '.join(room)}", number)
            bound = [entry for entry in fitting if self._pods.was_bound(entry.pod)]
            self._waiting = [entry for entry in self._waiting if entry not in bound]
            moved = moved or bool(bound)
            for entry in bound:
                # While it takes over a list pod by pod, it may not have seen the world as it is: the judge decides.
                text = self._misplaced(entry.pod, self._objections(entry.pod), beside=len(bound) > 1)
                if text and "cut_off" not in step:
                    return Wrong(text, number)
                self._note_freed(entry, step)
            for entry in bound:
                if _may_leave(entry.described):
                    self._leaves(entry.pod)
        for entry in self._waiting:
            entry.before, entry.fitted = entry.nodes, False
        return self._bound_wrongly(self._waiting, number, beside=moved)

    def _is_doubtful(self, entry: _Waiting, step: Manifest) -> bool:
        """Return whether nothing is expected of a waiting pod that fits now.

        - All nodes on which it fits are overcommitted: for core/fit-overcommitted.
        - Another pod's end, or a change of a node, freed it of a rule about pods, and kube-scheduler is known not to
          try it again then: see docs/kubernetes.md. If it was cut off meanwhile, it is not known which change counts.
        - Such a rule kept it off, and the candidate is an extender: kube-scheduler decides when to try it again.
        """
        if not self._owes(entry.nodes):
            return True
        room = [node for node, why in entry.nodes.items() if not why]
        rules = {reason.rule for node in room for reason in (entry.before or {}).get(node, ())} & RULES_OF_PODS
        if not rules or self._trial.candidate.kind == "extender":
            return bool(rules)
        if ("changed" in step and self._is_unannounced(entry.described, rules)) or ("cut_off" in step and self._missed):
            return True
        if "pod-affinity" not in rules or "changed" in step:
            return False
        return kind_of(step).ends and (
            bool(required(entry.described, "podAffinity")) or self._world.most_anti_terms > 1
        )

    def _is_unannounced(self, pod: Manifest, rules: Collection[str]) -> bool:
        """Return whether kube-scheduler does not try a pod again that the last change of a node freed of these rules.

        Topology spread: neither the label over which the pod is spread nor a taint has changed, but the node no longer
        counts, because the pod no longer selects it. Affinity: the node of the pods that the pod selects has lost the
        label, and the pod is the first of its group.
        """
        changed = self._world.relabelled
        constraints = pod.get("spec", {}).get("topologySpreadConstraints", ())
        over = {one["topologyKey"] for one in constraints if one["whenUnsatisfiable"] == "DoNotSchedule"}
        if "topology-spread" in rules and not (over & changed.keys() or self._world.retainted):
            return True
        lost = {key for key, value in changed.items() if value is None}
        near = {term["topologyKey"] for term in required(pod, "podAffinity")}
        return "pod-affinity" in rules and (self._world.most_anti_terms > 0 or bool(near & lost))

    def _note_disturbed(self, fault: str, kind: str) -> None:
        rules = {reason.rule for entry in self._waiting for why in entry.nodes.values() for reason in why}
        self.disturbed.update(f"{fault}, {what}" for what in {*rules, *({kind} - {fault})})

    def _note_freed(self, entry: _Waiting, step: Manifest) -> None:
        kind = kind_of(step).name
        against = () if entry.before is None else entry.before.get(self._pods.node_of(entry.pod), _GONE)
        for rule in {reason.rule for reason in against}:
            self.freed[f"{rule}, {kind}"] += 1

    def _objections(self, pod: Pod) -> Mapping[str, tuple[Reason, ...]]:
        """Return what is against a pod on each node now; of a pod that is gone, nothing is known."""
        seen = self._recorder.pods.get(pod.uid)
        return {} if seen is None else self._pods.objections(seen)

    def _is_owed(self, pod: Pod) -> bool:
        return any(self._owes(entry.nodes) for entry in self._looked_at() if entry.pod == pod)

    def _owes(self, nodes: Mapping[str, tuple[Reason, ...]]) -> bool:
        """Return whether a pod with these reasons against nodes fits on one that is not overcommitted."""
        return any(not why and not self._is_overcommitted(node) for node, why in nodes.items())

    def _is_overcommitted(self, node: str) -> bool:
        """Return whether the pods on a node request more of a resource than it has."""
        there = occupants(list(self._recorder.pods.values())).get(node, ())
        return is_overcommitted(self._recorder.nodes[node], map(held, there))

    def _is_bound(self, pod: Pod, *, hurried: bool) -> bool:
        """Return whether a pod is bound in the claimed time or, if `hurried`, before it is reported as waiting."""
        if hurried:

            def decided() -> None:
                if not (self._pods.was_bound(pod) or self._pods.is_reported(pod)):
                    raise NotYet("no condition or event reports on it")

            self._expect.patiently(decided, _HURRIED, "a pod to be decided on")
            return self._pods.was_bound(pod)
        return self._expect.bound_in_time([pod])

    def _misplaced(self, pod: Pod, nodes: Mapping[str, tuple[Reason, ...]], *, beside: bool = False) -> str:
        """Return why a bound pod cannot run on its node; "" if it can.

        `beside`: others were bound after it, so rules about other pods may be broken that were kept when it was bound.
        The judge, which knows the order, finds those that were not.
        """
        node = self._pods.node_of(pod)
        against = nodes.get(node, _GONE) if nodes else ()
        why = [reason for reason in against if not (beside and reason.rule in RULES_OF_PODS)]
        return f"{pod.name} was bound to {node or 'a node'}, where it cannot run: {'; '.join(why)}" if why else ""

    def _drop(self, pods: Sequence[Pod]) -> None:
        """Delete pods of which nothing is expected.

        If one of them was bound before it was deleted, waiting pods may have come to fit beside it: all are deleted
        then.
        """
        self._pods.delete(pods)
        self._waiting = [entry for entry in self._waiting if entry.pod not in pods]
        if any(map(self._pods.was_bound, pods)):
            self._pods.delete([entry.pod for entry in self._waiting])
            self._waiting, self._settled = [], False

    def _left_pending(self, waiting: Sequence[_Waiting], number: int, *, hurried: bool) -> Wrong | None:
        """Let the candidate decide on these waiting pods; return the first of them that is bound, with this step."""
        if not waiting:
            return None
        pods, sentinel = [entry.pod for entry in waiting], {HOSTNAME: self._nodes.names[0]}
        if hurried:
            self._expect.let_decide(pods, nodeSelector=sentinel)
        else:
            self._expect.pending(pods, nodeSelector=sentinel)
        for entry in waiting:
            entry.decided = True
        return self._bound_wrongly(waiting, number)

    def _bound_wrongly(self, waiting: Sequence[_Waiting], number: int, *, beside: bool = False) -> Wrong | None:
        """Return the first of these pods, which fitted nowhere, that is bound where it cannot run.

        `beside`: others were bound at about the same time, so it may have been the first of them; see `_misplaced`.
        """
        for entry in [entry for entry in waiting if self._pods.was_bound(entry.pod)]:
            self._waiting.remove(entry)
            if text := self._misplaced(entry.pod, self._objections(entry.pod), beside=beside):
                return Wrong(text, number)
        return None


def _may_leave(pod: Manifest) -> bool:
    """Whether a taint may evict the pod as soon as it is bound: it tolerates one for zero seconds."""
    return any(toleration.get("tolerationSeconds") == 0 for toleration in pod.get("spec", {}).get("tolerations", ()))
