"""The oracle's decisions beside kube-scheduler's, counted by kind.

As a program: `python -m differential.comparison WORLDS [SEED]`, from the folder `tests`; `make differential` calls it.
"""

from __future__ import annotations

import collections
import dataclasses
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.oracle.coverage import unmodelled
from schedproof.oracle.feasibility import check
from schedproof.oracle.manifest import Manifest
from schedproof.oracle.selectors import required_terms, selects

from .programs import main
from .referee import Decision, decisions
from .worlds import Worlds

_BATCH = 2_000
_SEVERAL = ("InterPodAffinity", "PodTopologySpread", "VolumeBinding", "VolumeZone", "DynamicResources")
"""Plugins of several rules each, which give reasons of their own."""


@dataclasses.dataclass
class Comparison:
    """`alike`: decisions by kube-scheduler's first reason, "feasible" where there is none; `different`: those on which
    the two do not agree, by what each says; `known`: those of them that a bug of kube-scheduler explains (see
    docs/kubernetes.md); `silent`: decisions on which the oracle says that it does not model a rule.
    """

    alike: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    different: dict[str, list[Decision]] = dataclasses.field(default_factory=dict)
    known: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    silent: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    @property
    def decided(self) -> int:
        """Number of compared decisions."""
        return self.alike.total() + self.known.total() + sum(map(len, self.different.values()))

    def add(self, decision: Decision) -> None:
        """Compare every node of one decision."""
        world = (decision.nodes, decision.pods, decision.namespaces)
        known = (decision.namespaces, decision.storage, decision.inventory)
        if gaps := unmodelled(decision.pod, decision.pods, decision.nodes, *known):
            self.silent[gaps[0].partition(" of ")[0]] += len(decision.nodes)
            return
        ours = check(decision.pod, *world, storage=decision.storage, inventory=decision.inventory)
        for node, theirs in decision.verdicts.items():
            if bool(ours[node]) == bool(theirs):
                self.alike[_kind(theirs)] += 1
            elif known := _known(decision.pod):
                self.known[known] += 1
            else:
                kind = (
                    f"kube-scheduler: {', '.join(theirs) or 'feasible'}; oracle: {', '.join(ours[node]) or 'feasible'}"
                )
                self.different.setdefault(kind, []).append(decision)

    def lines(self) -> Iterable[str]:
        yield f"{self.decided:,} decisions compared, {sum(map(len, self.different.values())):,} different"
        yield from (f"  alike, {reason}: {count:,}" for reason, count in self.alike.most_common())
        yield from (f"  different by a known bug, {bug}: {count:,}" for bug, count in self.known.most_common())
        yield from (f"  DIFFERENT, {len(found):,}: {kind}" for kind, found in self.different.items())
        yield from (f"  not modelled, {gap}: {count:,}" for gap, count in self.silent.most_common())


def _kind(theirs: Sequence[str]) -> str:
    """Return the first plugin that refuses the pod, and its rule where it has several, without names of objects."""
    if not theirs:
        return "feasible"
    return re.sub(r' ".*?"| \S+/\S+| r\d\b', "", ": ".join(theirs[:2])) if theirs[0] in _SEVERAL else theirs[0]


def _known(pod: Manifest) -> str:
    """Return the bug of kube-scheduler that may have decided on a pod; "" for none.

    With a namespaceSelector that also selects a namespace without labels, kube-scheduler selects all namespaces for
    pods to be scheduled (interpodaffinity/plugin.go, mergeAffinityTermNamespacesIfNotEmpty, changes a copy of the
    term).
    """
    terms = [*required_terms(pod, "podAffinity"), *required_terms(pod, "podAntiAffinity")]
    return (
        "namespaceSelector taken for all" if any(selects(term.get("namespaceSelector"), {}) for term in terms) else ""
    )


def compare(program: Path, count: int, seed: int) -> Comparison:
    """Compare `count` worlds from a seed on."""
    comparison, worlds = Comparison(), Worlds(seed)
    while count > 0:
        batch = [worlds.draw() for _ in range(min(count, _BATCH))]
        count -= len(batch)
        for decision in decisions(program, batch):
            comparison.add(decision)
    return comparison


if __name__ == "__main__":
    sys.exit(main("referee", DEFAULT_KUBERNETES, compare))
