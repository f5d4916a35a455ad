"""The feature gates of kube-scheduler by minor version of Kubernetes, and the clauses that judge what they mean."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

import yaml

from schedproof.foundation.content import content


@dataclasses.dataclass(frozen=True)
class FeatureGate:
    """A feature gate that kube-scheduler asks for.

    Attributes:
        stages: by minor version such as `1.36`, oldest first: stage and default, such as `beta, on`.
        clauses: the ids of the clauses that judge what it means for a scheduler.
        why: without clauses, why there are none; beside them, what they leave out.
    """

    name: str
    stages: Mapping[str, str]
    clauses: tuple[str, ...] = ()
    why: str = ""

    def is_on(self, minor: str) -> bool:
        """Whether it is on by default in a minor version; versions beyond the listed ones count as the nearest.

        A gate that is on and disappears is on for good.
        """
        so_far = (listed for listed in self.stages if _number(listed) <= max(_number(minor), _number(minors()[0])))
        latest = max(so_far, key=_number, default="")
        return ", on" in self.stages.get(latest, "")

    @property
    def since(self) -> str:
        """The first listed minor version in which it is on by default; "" if there is none."""
        return next((minor for minor in minors() if self.is_on(minor)), "")

    @property
    def new(self) -> str:
        """Since when it is on by default, in words; "" if that is older than the listed versions, or does not hold."""
        return f"new in Kubernetes {self.since} ({self.name})" if self.since not in ("", minors()[0]) else ""

    def is_new(self, minor: str) -> bool:
        """Whether it is on by default in a minor version, and was not in the version before."""
        return self.since == minor != minors()[0]


@functools.cache
def minors() -> tuple[str, ...]:
    """The listed minor versions, oldest first."""
    return tuple(sorted({minor for gate in load_gates().values() for minor in gate.stages}, key=_number))


def _number(minor: str) -> int:
    """The order of a version such as `1.36`."""
    return int(minor.partition(".")[2])


@functools.cache
def load_gates() -> Mapping[str, FeatureGate]:
    """The gates by name, from `clusters/feature-gates.yaml`."""
    document = yaml.safe_load(content("clusters", "feature-gates.yaml").read_text(encoding="utf-8"))
    return {
        name: FeatureGate(name, entry["stages"], tuple(entry.get("clauses", ())), entry.get("why", ""))
        for name, entry in document.items()
    }
