"""Groups of pods that must be bound as a whole or not at all, marked as the candidate's claim describes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from schedproof.candidate.claims import GangClaims
from schedproof.candidate.placeholders import fill
from schedproof.clusters.api import Manifest
from schedproof.clusters.objects import AppliedObjects
from schedproof.foundation.waiting import NotYet
from schedproof.history.acts import GroupCreated
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.pods import Pod

_SIZE = "{size}"


class GroupChanges:
    """Creates groups. `undo` removes the objects that were made for them; pods are removed elsewhere."""

    def __init__(self, context: Context, gang: GangClaims, pods: PodChanges, expect: Expectations) -> None:
        self._context, self._recorder = context, context.recorder
        self._gang = gang
        self._pods, self._expect = pods, expect
        self._count = 0
        self._objects = AppliedObjects(context.api, mine="foreign-objects" not in context.trial.cluster.capabilities)

    def create(self, count: int, size: int, **spec: Any) -> list[list[Pod]]:
        """Create `count` groups of `size` pods, in turns: one member of each group, then the next, and so on."""
        named = [self._values(size) for _ in range(count)]
        for values in named:
            objects = [fill(_with_number(document, size), values) for document in self._gang.objects]
            self._objects.apply(objects, self._context.trial.namespace, source="claims.gang.objects")
        templates = [fill(dict(self._gang.pods), values) for values in named]
        rounds = [
            [self._pods.create("member", role="member", template=template, **spec) for template in templates]
            for _ in range(size)
        ]  # fmt: skip
        groups = [list(members) for members in zip(*rounds, strict=True)]
        for values, members in zip(named, groups, strict=True):
            uids = [pod.uid for pod in members]
            self._recorder.add(GroupCreated(case=self._context.clause, name=values["group"], pods=uids))
        return groups

    def _values(self, size: int) -> dict[str, str]:
        self._count += 1
        return {"group": f"{self._context.prefix}-{self._count}", "size": str(size)}

    def expect_whole(self, groups: Sequence[Sequence[Pod]]) -> None:
        """Give the candidate time to bind any one of these groups as a whole.

        If several contend for room, those that were tried together may have to time out first.
        """

        def whole() -> None:
            if not any(all(map(self._pods.node_of, group)) for group in groups):
                raise NotYet("no group has all of its members bound")

        requeue = self._expect.due(self._context.deadlines.requeue)
        due = dataclasses.replace(requeue, seconds=requeue.seconds + self._gang.timeout)
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
