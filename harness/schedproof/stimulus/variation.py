"""Varies the manifests of a case's pods without changing their meaning, by the run's seed.

Requests are split among containers, or written as limits or in other units. Pods also request a device and storage,
which all nodes have enough of, and get labels, annotations, tolerations, selectors and affinities that exclude no
node. No scheduling rule distinguishes the pod from the plain one, so the judge need not consider it (Kubernetes:
effective requests of a pod, defaults of requests, quantities; node affinity; taints and tolerations).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from schedproof.candidate.subjects import CLAUSES, Subject
from schedproof.clusters.api import Manifest
from schedproof.foundation.counted import counted
from schedproof.oracle.quantity import parse_quantity
from schedproof.stimulus.unread import add_unread
from schedproof.worlds.world import REQUIRED

_PREFIX = "looks.schedproof.dev/"
NODE_LABELS: Mapping[str, str] = MappingProxyType(
    {f"{_PREFIX}empty": "", f"{_PREFIX}number": "7", f"{_PREFIX}word": "7a"}
)
"""Labels of every node, if nodes may be changed, for expressions that all nodes match."""

DEVICE, STORAGE = f"{_PREFIX}device", "ephemeral-storage"
"""Resources that pods request additionally, if all nodes offer more of them than pods can take."""
_MOST: Mapping[str, int] = MappingProxyType({DEVICE: 3, STORAGE: 64 << 20})
"""The most that a container requests of each."""

_NUMBER, _EMPTY, _WORD, _ABSENT = (f"{_PREFIX}{name}" for name in ("number", "empty", "word", "absent"))
_ARCH = "kubernetes.io/arch"
_ANYWHERE: Sequence[Mapping[str, Any]] = (
    {"key": _ARCH, "operator": "In", "values": ["amd64", "arm64", "ppc64le", "s390x"]},
    {"key": _ARCH, "operator": "NotIn", "values": [""]},
    {"key": _ARCH, "operator": "Exists"},
    {"key": _ABSENT, "operator": "DoesNotExist"},
    {"key": _ABSENT, "operator": "NotIn", "values": ["", "7"]},
)
"""Expressions that every node of every cluster matches. Not about its hostname, which a node of a case may lack."""
_LABELLED: Sequence[Mapping[str, Any]] = (
    {"key": _NUMBER, "operator": "Gt", "values": ["0"]},
    {"key": _NUMBER, "operator": "Lt", "values": ["10"]},
    {"key": _EMPTY, "operator": "In", "values": ["", "7"]},
    {"key": _EMPTY, "operator": "Exists"},
    {"key": _WORD, "operator": "NotIn", "values": ["7", ""]},
)
"""Expressions that nodes with `NODE_LABELS` match."""
_NOWHERE: Sequence[Mapping[str, Any]] = (
    {"key": _ABSENT, "operator": "Exists"},
    {"key": _ARCH, "operator": "In", "values": ["z80"]},
    {"key": _ABSENT, "operator": "Gt", "values": ["0"]},
    {"key": _ARCH, "operator": "Lt", "values": ["7"]},
)
"""Expressions that no node matches. In a term of their own they change nothing, because terms are ORed."""
_TOLERATIONS: Sequence[Mapping[str, Any]] = (
    {"key": _ABSENT, "operator": "Exists"},
    {"key": _ABSENT, "operator": "Equal", "value": "7", "effect": "NoSchedule"},
    {"key": _ABSENT, "value": "", "effect": "PreferNoSchedule"},
    {"key": _ABSENT, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600},
)
"""Tolerations of taints that no node has."""

_CPU_SUFFIXES = ("", "m", "e-3", "u")
_BYTE_SUFFIXES = ("", "m", "k", "M", "G", "e3", "E6", "Ki", "Mi", "Gi")
_SPLIT = ("cpu", "memory")
_UNITS = (1, 1000, 1024, 10**6, 1 << 20)
"""Bytes; parts are multiples of one of these."""
_LEAST_LIMIT = MappingProxyType({"cpu": Fraction(1, 100), "memory": Fraction(32 << 20)})
"""The least limits with which a real container can run."""
_CHANCE = 0.4
"""The probability of each kind of change."""
_VARIED = (
    Subject.SEVERAL_CONTAINERS, Subject.INIT_CONTAINERS, Subject.LIMITS, Subject.UNITS, Subject.EXTENDED_RESOURCES,
    Subject.EPHEMERAL_STORAGE, Subject.LABELS, Subject.ANNOTATIONS, Subject.TOLERATIONS, Subject.NODE_AFFINITY,
    Subject.NODE_SELECTOR, Subject.OWNERS, Subject.UNREAD_FIELDS,
)  # fmt: skip
KINDS: Mapping[str, str] = MappingProxyType({str(subject): CLAUSES[subject][0] for subject in _VARIED})
"""Each kind of change, which is the subject that it adds, and the clause about it."""


class Variation:
    """Changes the manifests of one case's pods.

    Args:
        source: of random numbers.
        without: what the candidate does not support; pods get none of it.
        labelled: whether nodes have `NODE_LABELS`.
        offered: returns which of `DEVICE` and `STORAGE` all nodes now have enough of.
        owner: returns an object that exists as long as the pods do, as a metav1.OwnerReference.
        real: whether kubelets run the pods: then there are few containers, with limits that they can run with.
        about: the clause whose case creates the pods; changes that this clause is about are made in full.
        left_out: kinds of changes that are not made. In the clause about such a kind, each pod has the change.
    """

    def __init__(
        self,
        source: random.Random,
        *,
        without: Collection[Subject] = (),
        labelled: bool,
        real: bool,
        offered: Callable[[], Collection[str]] = tuple,
        owner: Callable[[], Mapping[str, Any]],
        about: str = "",
        left_out: Collection[str] = (),
    ) -> None:
        self._random, self._real, self._labelled, self._offered = source, real, labelled, offered
        self._owner = owner
        self._expressions = [*_ANYWHERE, *(_LABELLED if labelled else ())]
        self._about, self._left_out = about, left_out
        self._in_full = False
        changes: Mapping[str, Callable[[Manifest], str]] = {
            "several containers": self._split, "an init container": self._init, "limits": self._limit,
            "amounts in other units": self._spell, "an extended resource": self._ask(DEVICE),
            "ephemeral storage": self._ask(STORAGE), "more labels": self._label, "an annotation": self._annotate,
            "tolerations": self._tolerate, "node affinity": self._require, "a node selector": self._select,
            str(Subject.OWNERS): self._own, str(Subject.UNREAD_FIELDS): self._add_unread,
        }  # fmt: skip
        self._changes = {kind: change for kind, change in changes.items() if kind not in without}

    def vary(self, pod: Manifest) -> dict[str, str]:
        """Change a manifest, and return kind to description of each change."""
        found = {}
        for kind, change in self._changes.items():
            own, left_out = KINDS[kind] == self._about, kind in self._left_out
            if own if left_out else self._chance():
                found[kind] = self.vary_fully(pod, kind) if own else change(pod)
        return {kind: described for kind, described in found.items() if described}

    def vary_fully(self, pod: Manifest, kind: str) -> str:
        """Make only this kind of change, with all that it can add. Return its description; "" if it does not apply."""
        self._in_full = True
        try:
            return self._changes[kind](pod)
        finally:
            self._in_full = False

    def toss(self) -> bool:
        """Return True or False with equal probability."""
        return self._random.random() < 0.5

    def _chance(self) -> bool:
        return self._random.random() < _CHANCE

    # -- requests

    def _split(self, pod: Manifest) -> str:
        """Split the requests of its only container among several.

        When nodes are scored, a container without a CPU or memory request counts as requesting a little
        (kube-scheduler: DefaultMilliCPURequest), so the additional containers request both.
        """
        containers = pod["spec"]["containers"]
        if len(containers) > 1 or "command" in containers[0]:
            return ""
        requests = containers[0].get("resources", {}).get("requests", {})
        asked = {name: parse_quantity(requests[name]) for name in _SPLIT if name in requests}
        if not any(asked.values()):
            return ""
        count = 2 if self._real else self._random.randint(2, 4)
        parts = {name: self._parts(name, amount, count) for name, amount in asked.items()}
        image = containers[0]["image"]
        requests.update({name: self._written(name, amounts[0]) for name, amounts in parts.items()})
        more = [
            {
                "name": f"beside-{number}", "image": image,
                "resources": {"requests": {
                    name: self._written(name, parts[name][number]) if name in parts else "0" for name in _SPLIT
                }},
            }
            for number in range(1, count)
        ]  # fmt: skip
        containers += more
        if not self._real:
            self._random.shuffle(containers)
        return f"{count} containers"

    def _parts(self, name: str, amount: Fraction, count: int) -> list[Fraction]:
        """Split `amount` into `count` parts."""
        units = [Fraction(1, 1000)] if name == "cpu" else [Fraction(unit) for unit in _UNITS]
        unit = self._random.choice([unit for unit in units if unit * count <= amount] or units[:1])
        steps = math.floor(amount / unit)
        cuts = sorted(self._random.randint(0, steps) for _ in range(count - 1))
        ends = [Fraction(0), *(cut * unit for cut in cuts), amount]
        return [end - begin for begin, end in itertools.pairwise(ends)]

    def _init(self, pod: Manifest) -> str:
        """Add an init container, which ends before the others start and requests no more than the first of them."""
        spec = pod["spec"]
        if self._real or spec.get("initContainers") or "command" in spec["containers"][0]:
            return ""
        requests = spec["containers"][0].get("resources", {}).get("requests", {})
        asked = {
            name: self._written(name, self._part_of(name, parse_quantity(requests.get(name, "0")))) for name in _SPLIT
        }
        image = spec["containers"][0]["image"]
        spec["initContainers"] = [{"name": "before", "image": image, "resources": {"requests": asked}}]
        return "an init container"

    def _part_of(self, name: str, amount: Fraction) -> Fraction:
        unit = Fraction(1, 1000) if name == "cpu" else Fraction(1)
        return self._random.randint(0, math.floor(amount / unit)) * unit

    def _limit(self, pod: Manifest) -> str:
        """Set limits: equal to the requests, higher, or alone, in which case the limit is also the request."""
        styles: set[str] = set()
        for container in pod["spec"]["containers"]:
            resources = container.get("resources", {})
            requests = resources.get("requests", {})
            limits = resources.setdefault("limits", {})
            free = [name for name in _SPLIT if name in requests and name not in limits]
            names = [name for name in free if self._can_limit(name, requests)]
            how = self._random.choice(("equal", "higher", "alone"))
            for name in names:
                amount = parse_quantity(requests[name])
                limits[name] = requests[name] if how != "higher" else self._written(name, amount * 2 + 1)
                if how == "alone":
                    del requests[name]
            styles |= {how} if names else set()
        return f"limits ({', '.join(sorted(styles))})" if styles else ""

    def _ask(self, name: str) -> Callable[[Manifest], str]:
        """Return a change that requests a resource additionally. The limit of an extended resource is its request."""

        def ask(pod: Manifest) -> str:
            containers = (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ()))
            asked = [container.get("resources", {}).get("requests", {}) for container in containers]
            if name not in self._offered() or any(name in requests for requests in asked):
                return ""
            unit = self._random.choice([unit for unit in _UNITS if unit <= _MOST[name]])
            amount = Fraction(unit * self._random.randint(1, _MOST[name] // unit))
            resources = self._random.choice(pod["spec"]["containers"]).setdefault("resources", {})
            written = self._written(name, amount) if name == STORAGE else str(amount)
            for kind in ("requests",) if name == STORAGE else ("requests", "limits"):
                resources[kind] = {**resources.get(kind, {}), name: written}
            return f"{name} {written}"

        return ask

    def _can_limit(self, name: str, requests: Mapping[str, str]) -> bool:
        return not self._real or parse_quantity(requests[name]) >= _LEAST_LIMIT[name]

    def _spell(self, pod: Manifest) -> str:
        """Write amounts in other units."""
        changed = set()
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
            for amounts in container.get("resources", {}).values():
                for name in amounts if isinstance(amounts, dict) else ():
                    if name in _SPLIT:
                        before, amounts[name] = amounts[name], self._written(name, parse_quantity(amounts[name]))
                        changed |= {amounts[name]} - {before}
        return f"amounts as {', '.join(sorted(changed))}" if changed else ""

    def _written(self, name: str, amount: Fraction) -> str:
        return self._random.choice(list(spellings(name, amount)))

    # -- labels, annotations, and other fields of the spec

    def _label(self, pod: Manifest) -> str:
        more = {f"{_PREFIX}empty": "", f"{_PREFIX}long": "x" * 63, f"{_PREFIX}number": "010"}
        labels = pod["metadata"].setdefault("labels", {})
        free = [name for name in more if name not in labels]
        if not free:  # a pod that is made from another pod
            return ""
        chosen = self._some(free)
        labels.update({name: more[name] for name in chosen})
        return counted(len(chosen), "label")

    def _annotate(self, pod: Manifest) -> str:
        text = self._random.choice(("", "true", '{"a": "b"}', "x" * 2_000, "\u00fc\u4e16\n"))
        annotations = pod["metadata"].setdefault("annotations", {}) or {}
        pod["metadata"]["annotations"] = {**annotations, f"{_PREFIX}note": text}
        return "an annotation"

    def _tolerate(self, pod: Manifest) -> str:
        chosen = self._some(_TOLERATIONS)
        pod["spec"]["tolerations"] = [*pod["spec"].get("tolerations", ()), *(dict(toleration) for toleration in chosen)]
        return f"{counted(len(chosen), 'toleration')} for taints that no node has"

    def _require(self, pod: Manifest) -> str:
        """Add to its required node affinity expressions that every node matches, and perhaps a term that none does."""
        affinity = pod["spec"].get("affinity") or {}
        own = (affinity.get("nodeAffinity") or {}).get(REQUIRED)
        if pod["spec"].get("nodeName"):
            return ""
        # Terms are ORed and their expressions ANDed; a term without expressions and fields matches no node.
        terms = [
            {**term, "matchExpressions": [*term.get("matchExpressions", ()), *self._met()]}
            if term.get("matchExpressions") or term.get("matchFields")
            else term
            for term in (own["nodeSelectorTerms"] if own else [{"matchExpressions": self._met()}])
        ]
        if self._in_full:
            # A scheduler that reads only the first term, or only the last, finds no node.
            terms = [self._never(), *terms, self._never()]
        else:
            terms += [self._never()] if self._chance() else []
            self._random.shuffle(terms)
        operators = sorted({str(found["operator"]) for term in terms for found in term.get("matchExpressions", ())})
        if not operators:  # no term has expressions
            return ""
        node_affinity = {**(affinity.get("nodeAffinity") or {}), REQUIRED: {"nodeSelectorTerms": terms}}
        pod["spec"]["affinity"] = {**affinity, "nodeAffinity": node_affinity}
        return f"node affinity that changes nothing ({', '.join(operators)})"

    def _never(self) -> dict[str, Any]:
        expressions = [self._random.choice(_NOWHERE), self._random.choice(_ANYWHERE)]
        return {"matchExpressions": [dict(expression) for expression in expressions]}

    def _met(self) -> list[dict[str, Any]]:
        return [dict(expression) for expression in self._some(self._expressions)]

    def _select(self, pod: Manifest) -> str:
        if pod["spec"].get("nodeName") or not self._labelled:
            return ""
        chosen = {name: NODE_LABELS[name] for name in self._some(list(NODE_LABELS))}
        pod["spec"]["nodeSelector"] = {**(pod["spec"].get("nodeSelector") or {}), **chosen}
        return f"a selector of {counted(len(chosen), 'label')} that every node has"

    def _own(self, pod: Manifest) -> str:
        """Give a pod without an owner one that many pods have, which may be its controller, and is no group."""
        if pod["metadata"].get("ownerReferences"):
            return ""
        is_controller = {"controller": True} if self._in_full or self._random.random() < 0.5 else {}
        pod["metadata"]["ownerReferences"] = [{**self._owner(), **is_controller}]
        return str(Subject.OWNERS)

    def _add_unread(self, pod: Manifest) -> str:
        return ", ".join(add_unread(pod, self._random, in_full=self._in_full, real=self._real))

    def _some(self, values: Sequence[Any]) -> list[Any]:
        count = len(values) if self._in_full else self._random.randint(1, min(3, len(values)))
        return self._random.sample(list(values), count)


def spellings(name: str, amount: Fraction) -> Iterator[str]:
    """Yield the notations of an amount of a resource (CPUs or bytes): plain, with each suffix, with an exponent.

    Amounts finer than the scheduler's units are written in billionths.
    """
    suffixes = _CPU_SUFFIXES if name == "cpu" else _BYTE_SUFFIXES
    scales = {suffix: parse_quantity(f"1{suffix}") for suffix in suffixes}
    found = [f"{amount / scale}{suffix}" for suffix, scale in scales.items() if (amount / scale).denominator == 1]
    if name == "cpu" and amount and (amount * 1000).denominator == 1:
        found.append(f"{float(amount)}")
    yield from found or [f"{math.ceil(amount * 10**9)}n"]
