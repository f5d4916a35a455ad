"""The rules about scores: one for each `normalize/*` clause."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from schedproof.normalization import properties
from schedproof.normalization.answer import Answer, Case
from schedproof.normalization.promises import Promises

OF_NORMALIZE_SCORE = frozenset(
    f"normalize/{name}" for name in ("range", "permutation", "equal", "same-nodes", "zero", "huge")
)
"""The clauses that apply to NormalizeScore alone (CATALOGUE.md): it knows no direction, and no readings."""

Shape = Literal["any", "zeros", "one-node", "huge", "unusual", "two-orders", "two-units", "again"]
"""The shape of the questions of a rule; `cases.py` has them."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """The rule of one clause.

    `judge` returns what is wrong, in the clause's own words; "" if it holds. It gets answers that have scores,
    unless `answers` says that having scores is what the clause is about.
    """

    clause: str
    guarantee: str
    judge: Callable[[Case, Sequence[Answer], Promises], str]
    shape: Shape = "any"
    about: Literal["traffic", "values", "nothing"] = "traffic"
    answers: bool = False
    feature: str = ""

    def wrong(self, case: Case, answers: Sequence[Answer], promises: Promises) -> str:
        """What is wrong with these answers; "" if the clause holds, or does not apply to them."""
        if not self.answers and any(properties.unanswered(answer) for answer in answers):
            return ""  # that is for normalize/same-nodes, zero, single, huge and nonfinite to say
        return self.judge(case, answers, promises)


def rules_for(promises: Promises) -> list[Rule]:
    """The rules that apply to a scorer with these promises."""
    weight = {"nothing": 0, "values": 1, "traffic": 2}
    return [
        rule
        for rule in RULES.values()
        if weight[rule.about] <= weight[promises.about] and rule.feature in ("", *promises.features)
    ]


RULES: Mapping[str, Rule] = {
    rule.clause: rule
    for rule in (
        Rule(
            "normalize/repeat", "The same readings get the same scores, whatever is asked in between.",
            properties.repeat, "again", about="values",
        ),
        Rule(
            "normalize/range",
            "Scores are integers from 0 to 100 (framework.MaxNodeScore), of an extender from 0 to 10.",
            properties.in_range, about="nothing",
        ),
        Rule("normalize/order", "A node with less traffic never scores lower than a node with more.", properties.order),
        Rule(
            "normalize/strict", "Readings that differ by more than the claimed resolution get different scores.",
            properties.strict, feature="strict",
        ),
        Rule("normalize/best-is-top", "No node scores higher than the quietest node.", properties.best_is_top),
        Rule(
            "normalize/best-is-max",
            "If the quietest and the busiest node differ, the quietest gets the maximum of the range.",
            properties.best_is_max, feature="full-scale",
        ),
        Rule(
            "normalize/worst-is-min", "If the quietest and the busiest node differ, the busiest gets the score 0.",
            properties.worst_is_min, feature="full-scale",
        ),
        Rule("normalize/equal", "Nodes with equal readings get equal scores.", properties.equal, about="values"),
        Rule(
            "normalize/permutation", "The order of the nodes changes no score.",
            properties.same_scores("the order of the nodes"), "two-orders", about="values",
        ),
        Rule(
            "normalize/scale", "The unit of the readings changes no score.",
            properties.same_scores("the unit of the readings"), "two-units", feature="scale-free",
        ),
        Rule(
            "normalize/same-nodes", "Every requested node gets exactly one score, and no other node gets any.",
            properties.same_nodes, about="nothing", answers=True,
        ),
        Rule(
            "normalize/zero", "If no node has traffic, all nodes get the same score, within the range.",
            properties.zero, "zeros", about="values", answers=True,
        ),
        Rule(
            "normalize/single", "A node that is scored alone gets a score within the range.",
            properties.sound, "one-node", about="nothing", answers=True,
        ),
        Rule(
            "normalize/huge",
            "Readings up to the largest float64 get scores within the range, and those that a device can have are "
            "in order.",
            properties.huge, "huge", about="values", answers=True,
        ),
        Rule(
            "normalize/nonfinite",
            "With NaN, infinite, negative or missing readings, every node gets a score, other nodes stay in order, "
            "and a claimed policy for missing readings holds.",
            properties.nonfinite, "unusual", answers=True,
        ),
    )
}  # fmt: skip
"""By clause, in the order in which they are tried: `repeat` first, because a scorer with a memory may fail the others
too.
"""
