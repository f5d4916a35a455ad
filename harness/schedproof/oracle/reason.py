"""Why a pod cannot run on a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Reason(str):
    """A sentence for people, and the rule behind it.

    Rules, after kube-scheduler's Filter plugins: `scheduling-gates`, `existence` (there is no such node), `cordon`,
    `taints`, `node-affinity` (with nodeSelector), `host-ports`, `resources`, `topology-spread`, `pod-affinity` (with
    anti-affinity), `volumes`, `devices`, `declared-features`.
    """

    __slots__ = ("rule",)
    rule: str

    def __new__(cls, text: str, *, rule: str) -> Reason:
        self = super().__new__(cls, text)
        self.rule = rule
        return self


def reasons(rule: str, texts: Iterable[str]) -> Iterator[Reason]:
    """Several reasons of one rule."""
    return (Reason(text, rule=rule) for text in texts)
