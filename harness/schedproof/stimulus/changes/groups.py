"""Groups of pods that must be bound as a whole or not at all, marked as the candidate's claim describes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from schedproof.candidate.claims import GangClaims, is_pod_group
from schedproof.candidate.placeholders import fill, placeholders_in
from schedproof.clusters.api import Manifest
from schedproof.clusters.objects import AppliedObjects
from schedproof.documents.manifests import merged
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.waiting import NotYet
from schedproof.history.acts import GroupCreated
from schedproof.stimulus.changes.objects import ObjectChanges
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.pods import Pod

_SIZE = "{size}"
_WHOLE: dict[str, Any] = {"spec": {"disruptionMode": {"all": {}}}}


class GroupChanges:
    """Creates groups. `undo` removes the objects that were made for them; pods are removed elsewhere."""

    def __init__(
        self, context: Context, gang: GangClaims, pods: PodChanges, objects: ObjectChanges, expect: Expectations
    ) -> None:
        self._context, self._recorder = context, context.recorder
        self._gang = gang
        self._pods, self._classes, self._expect = pods, objects, expect
        self._count = 0
        self._made: dict[str, dict[str, Any]] = {}
        """By uid of a group's first pod: the arguments with which its members are created."""
        self._objects = AppliedObjects(context.api, mine="foreign-objects" not in context.trial.cluster.capabilities)

    def create(
        self,
        count: int,
        size: int,
        *,
        present: int | None = None,
        priority_class: str = "",
        disrupted_whole: bool = False,
        phase: int = -1,
        **spec: Any,
    ) -> list[list[Pod]]:
        """Create `count` groups of `size` pods, in turns: one member of each group, then the next, and so on.

        `present`: how many members of each are created; None for all of them. `priority_class`: of the members, and of
        the group if the claim has a place for it. `disrupted_whole`: whether Kubernetes' PodGroups, where these are
        claimed, say that members are evicted together.
        """
        named = [self._values(size, priority_class) for _ in range(count)]
        for values in named:
            objects = [fill(_with_number(document, size), values) for document in self._gang.objects]
            if disrupted_whole:
                objects = [merged(_WHOLE, document) if is_pod_group(document) else document for document in objects]
            self._objects.apply(objects, self._context.trial.namespace, source="claims.gang.objects")
        classed = {"priorityClassName": priority_class} if priority_class else {}
        made = [
            {"template": fill(dict(self._gang.pods), values), "phase": phase, **classed, **spec} for values in named
        ]
        rounds = [
            [self._pods.create("member", role="member", **arguments) for arguments in made]
            for _ in range(size if present is None else present)
        ]  # fmt: skip
        groups = [list(members) for members in zip(*rounds, strict=True)]
        for values, members, arguments in zip(named, groups, made, strict=True):
            uids = [pod.uid for pod in members]
            self._made[members[0].uid] = arguments
            self._recorder.add(GroupCreated(case=self._context.clause, name=values["group"], pods=uids))
        return groups

    def add(self, group: Sequence[Pod], role: str) -> Pod:
        """Create one more member of a group: one that is still missing, or that replaces another."""
        return self._pods.create(role, role=role, **self._made[group[0].uid])

    def _values(self, size: int, priority_class: str) -> dict[str, str]:
        self._count += 1
        named = {"group": f"{self._context.prefix}-{self._count}", "size": str(size), "priorityClass": priority_class}
        if not priority_class and "priorityClass" in placeholders_in(self._gang.objects):
            named["priorityClass"] = self._classes.priority_class(0)  # the priority of pods without a class
        return named

    @property
    def due(self) -> Deadline:
        """Time to try pods again, after the time for which members may hold room without being bound."""
        requeue = self._context.deadlines.requeue
        return dataclasses.replace(requeue, seconds=requeue.seconds + self._gang.timeout)

    def expect_whole(self, groups: Sequence[Sequence[Pod]]) -> None:
        """Give the candidate time to bind any one of these groups as a whole.

        If several contend for room, those that were tried together may have to time out first.
        """

        def whole() -> None:
            if not any(all(map(self._pods.node_of, group)) for group in groups):
                raise NotYet("no group has all of its members bound")

        due = self._expect.due(self.due)
        in_time = self._expect.patiently(whole, due, "a group to be bound as a whole")
        first = max(groups, key=lambda group: (sum(map(bool, map(self._pods.node_of, group))), self._holding(group)))
        self._expect.record("bound", first, due)
        if not in_time and not all(map(self._holding, groups)):
            self._expect.end_early()

    def _holding(self, group: Sequence[Pod]) -> int:
        """Return the number of members with a nominated node. If all groups have such members, room may be lacking."""
        pods = (self._recorder.pods.get(pod.uid, {}) for pod in group)
        return sum(bool(pod.get("status", {}).get("nominatedNodeName")) for pod in pods)

    def await_timeout(self) -> None:
        """Fence, and wait until members that are bound without their group must be gone, by the candidate's claim."""
        self._expect.fence()
        patience = self._gang.timeout + 2 * self._context.freshness
        # Pods that were bound meanwhile have as much time.
        while (left := self._recorder.placed_at + patience - self._recorder.now()) > 0:
            self._context.trial.usable_time.let_pass(left)

    def undo(self) -> None:
        self._objects.remove()


def _with_number(value: Any, size: int) -> Manifest:
    """Replace a string that is just the placeholder of the size by a number, except in metadata.

    Fields of objects take a number, labels a string.
    """

    def numbered(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: item if key == "metadata" else numbered(item) for key, item in part.items()}
        if isinstance(part, (list, tuple)):
            return [numbered(item) for item in part]
        return size if part == _SIZE else part

    document: Manifest = numbered(dict(value))
    return document
