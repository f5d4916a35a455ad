"""The causes of a candidate's findings: few causes for many failures, in the order in which to fix them.

Findings have one cause if the record shows the same fault beside them (`schedproof.judge.symptoms`), or, if it shows
none, if they have the same code.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence

from schedproof.candidate.subjects import CLAUSES
from schedproof.judge.catalogue import BASICS, BINDS, CATALOGUE, HEAD_OF_LINE
from schedproof.judge.codes import CODES, Code
from schedproof.judge.evidence import Decision
from schedproof.judge.feature_gates import load_gates
from schedproof.judge.symptoms import KINDS
from schedproof.judge.verdict import Verdict

_CONFIGURATION = (
    "config-version-not-served", "plugin-not-registered", "plugin-name-taken", "plugin-not-enabled", "args-refused",
    "queue-sorts-differ", "claim-contradicts-config", "not-configured", "does-not-start",
)  # fmt: skip
"""Codes of faults before anything is scheduled, the most informative first. All other failures may follow from them."""

_PREFERENCES: Mapping[str, str] = {
    "inverted": "pods go to the busiest node: the preference is inverted",
    "totals": "pods do not go to the node with the lowest rate: totals are compared instead of rates",
    "one-node": "pods go to the same node, whichever is the quietest: the choice does not follow traffic",
    "ignored": "pods go to the quietest node as often as by chance: traffic has no effect on the choice",
    "partly": "pods go to the quietest node sometimes: traffic is read in part, late, or too coarsely",
    "outweighed": "another criterion counts more than traffic, which is claimed to come first (network.priority)",
}
_OUTWEIGHED = "outweighed"
_BY_TOTALS = "network/rate-not-total"
"""The clause that a scheduler fails if it compares totals: a node that was busy long ago stays the busiest."""
_HINTED: Mapping[str, str] = {"inverted": "network/least-traffic", "totals": _BY_TOTALS}
"""The clause whose hint says how to fix a pattern."""
_RULES: Mapping[str, tuple[str, str]] = {
    "node-affinity": (
        "nodeSelector or node affinity is ignored or misread: pods are bound to nodes that they do not select",
        "core/node-selector",
    ),
    "resources": ("requests are ignored or miscounted: pods are bound to nodes with too little room", "core/fit-cpu"),
    "taints": (
        "taints are ignored or misread: pods are bound to nodes with taints that they do not tolerate",
        "core/taint-noschedule",
    ),
    "cordon": ("cordons are ignored: pods are bound to nodes with spec.unschedulable", "core/cordon"),
    "existence": ("pods are bound to nodes that do not exist", "core/bind-existing-node"),
    "scheduling-gates": ("scheduling gates are ignored: gated pods are bound", "core/scheduling-gates"),
    "host-ports": (
        "host ports are ignored or misread: pods are bound to nodes where their port is taken", "core/host-port",
    ),
    "pod-affinity": (
        "affinity or anti-affinity between pods is ignored or misread", "core/pod-anti-affinity",
    ),
    "topology-spread": ("topology spread constraints are ignored or miscounted", "core/topology-spread"),
    "volumes": (
        "volumes are ignored or misread: pods are bound to nodes where their volumes are unusable",
        "core/volume-node-affinity",
    ),
    "devices": (
        "devices are ignored or miscounted: pods are bound to nodes without the devices that they claim", "core/dra",
    ),
    "declared-features": (
        "pods are bound to nodes that do not declare the features that they use", "core/declared-features",
    ),
}  # fmt: skip
"""The headline for an ignored rule of the oracle, and the clause that is about that rule alone.

In the order in which to fix them: what other clauses depend on, what concerns every pod, what a pod requests.
"""
_NO_DECISION = frozenset(KINDS) - {"preference", "outdated", "rule-ignored"}
"""Kinds of causes for which no decision is shown."""
_KINDS = tuple(KINDS)
_ENTRIES: Mapping[str, Code] = dict([*CODES.items(), *KINDS.items()])


@dataclasses.dataclass(frozen=True)
class Cause:
    """One fault of a candidate, and the verdicts that follow from it."""

    kind: str
    """One of `judge.symptoms.KINDS`, or a code of `judge.codes.CODES`."""
    about: str
    """What distinguishes it among causes of its kind, such as the ignored rule; "" if there is only one."""
    text: str
    """The fault as the most informative case shows it."""
    verdicts: tuple[Verdict, ...]
    """The verdicts that follow from it; a verdict can follow from several causes."""

    @property
    def title(self) -> str:
        """The headline. It says so if the fault is about a feature that Kubernetes has had only for some versions."""
        return f"{self._fault}: {new}, unheeded" if (new := self._new) else self._fault

    @property
    def _new(self) -> str:
        """The feature that all of its clauses are about, but for those of the whole run, and since when it is there."""
        gates = {clause.gate for clause in (CATALOGUE[name] for name in self.clauses) if not clause.last}
        return load_gates()[gate].new if len(gates) == 1 and (gate := gates.pop()) else ""

    @property
    def _fault(self) -> str:
        if self.kind == "preference":
            return _PREFERENCES[self.about]
        if self.kind == "rule-ignored":
            return _RULES[self.about][0]
        if self.kind in ("process-ended", "request-refused", "call-unanswered", "outdated"):
            return f"{self._entry.meaning} ({self.about})"
        if self.kind == "unbound-with":
            return f"pods with {self.about} are not bound, although plain pods are"
        return self._entry.meaning

    @property
    def remedy(self) -> str:
        """How to fix it."""
        if self.kind == "rule-ignored":
            return CATALOGUE[_RULES[self.about][1]].hint or self._entry.remedy
        if self.kind == "preference" and self.about in _HINTED:
            return CATALOGUE[_HINTED[self.about]].hint
        if self.kind == "preference" and len(hints := {CATALOGUE[clause].hint for clause in self.clauses}) == 1:
            return hints.pop()
        return self._entry.remedy

    @property
    def _entry(self) -> Code:
        return _ENTRIES[self.kind]

    @property
    def guarantee(self) -> str:
        """The guarantee of the most informative clause."""
        return CATALOGUE[self.shown_by.clause].guarantee

    @functools.cached_property
    def shown_by(self) -> Verdict:
        """The most informative verdict: it can be tried alone, is about nothing else, has a decision."""

        def turn(verdict: Verdict) -> tuple[object, ...]:
            rules = verdict.evidence.rules if self.kind == "rule-ignored" else [self.about]
            return (
                CATALOGUE[verdict.clause].last, verdict.outcome != "failed",
                self._own_clause not in ("", verdict.clause),
                rules.index(self.about), len(rules),
                not self._decision_of(verdict),
            )  # fmt: skip

        return min(self.verdicts, key=turn)

    @property
    def _own_clause(self) -> str:
        """The clause that is about this fault alone; "" if there is none."""
        if self.kind == "rule-ignored":
            return _RULES[self.about][1]
        if self.kind == "blocked":
            return HEAD_OF_LINE
        about = (clauses[0] for subject, clauses in CLAUSES.items() if subject == self.about)
        return next(about, "") if self.kind == "unbound-with" else ""

    @property
    def decision(self) -> Decision | None:
        """The decision that shows it."""
        return self._decision_of(self.shown_by)

    def _decision_of(self, verdict: Verdict) -> Decision | None:
        if self.kind in _NO_DECISION:
            return None
        shows = (d for d in verdict.evidence.decisions if self.kind != "rule-ignored" or self.about in _broken_by(d))
        return next(shows, None)

    @property
    def clauses(self) -> list[str]:
        return [verdict.clause for verdict in self.verdicts]


def _broken_by(decision: Decision) -> set[str]:
    """The rules that a decision breaks."""
    return {rule for row in decision.nodes if row.chosen for rule in row.rules}


def causes_of(verdicts: Sequence[Verdict]) -> list[Cause]:
    """The causes of the verdicts that did not pass, in the order in which to fix them.

    Causes that hide others come first.

    Args:
        verdicts: of one candidate.
    """
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        for key in _keys(verdict) if verdict.did_not_pass else ():
            found.setdefault(key, []).append(verdict)
    _join_starts(found)
    _join_preferences(found)
    causes = [_cause(kind, about, tuple(members)) for (kind, about), members in found.items()]
    waiting = collections.Counter(verdict.depends_on for verdict in verdicts if verdict.depends_on)
    places = {clause: place for place, clause in enumerate(CATALOGUE)}
    return sorted(causes, key=lambda cause: _turn(cause, waiting, places))


def _keys(verdict: Verdict) -> list[tuple[str, str]]:
    """The causes of a verdict: all ignored rules, or the first other fault, or its code."""
    seen: list[tuple[str, str]] = [(symptom.kind, symptom.about) for symptom in verdict.evidence.symptoms]
    if verdict.code in _CONFIGURATION:
        return [(verdict.code, "")]
    if rules := [key for key in seen if key[0] == "rule-ignored" and key[1] in _RULES]:
        return rules
    return seen[:1] or [(verdict.code or "not-tried", "")]


def _join_starts(found: dict[tuple[str, str], list[Verdict]]) -> None:
    """If the configuration is known to be wrong, it is the cause of a candidate that does not start."""
    does_not_start = found.get(("does-not-start", ""))
    why = next((code for code in _CONFIGURATION[:-1] if (code, "") in found), "")
    if does_not_start and why:
        found[why, ""] += found.pop(("does-not-start", ""))


def _join_preferences(found: dict[tuple[str, str], list[Verdict]]) -> None:
    """A missed preference is one cause, whatever its failures look like in each clause."""
    patterns = {about: found.pop(("preference", about)) for kind, about in list(found) if kind == "preference"}
    if not patterns:
        return
    # Where traffic does not decide among nodes that are alike, it does not among others.
    alike = {name: members for name, members in patterns.items() if name != _OUTWEIGHED} or patterns
    about = max(alike, key=lambda name: len(alike[name]))
    by_totals = next((name for name in alike if _BY_TOTALS in (verdict.clause for verdict in alike[name])), "")
    follows = any(name not in ("one-node", "ignored") or len(alike) > 1 for name in alike)
    # There the loudest node has counted the least.
    if (by_totals == "one-node" and follows) or (by_totals == "inverted" and about != "inverted"):
        about = "totals"
    followers = {verdict.clause: verdict for verdict in itertools.chain(*patterns.values())}
    found["preference", about] = [followers[clause] for clause in CATALOGUE if clause in followers]


def _cause(kind: str, about: str, verdicts: tuple[Verdict, ...]) -> Cause:
    cause = Cause(kind, about, "", verdicts)
    shown = cause.shown_by
    texts = [
        symptom.text
        for symptom in shown.evidence.symptoms
        if symptom.kind == kind and (symptom.about == about or kind == "preference")
    ]
    return dataclasses.replace(cause, text=(texts or [shown.summary])[0])


def _turn(cause: Cause, waiting: Mapping[str, int], places: Mapping[str, int]) -> tuple[int, ...]:
    """The sort key: first causes that hide others, then by the number of affected clauses, including those not tried.

    Among the first causes, kinds and rules have a fixed order: how many clauses follow from each differs between
    runs if nodes are chosen at random.

    Args:
        cause: one of a candidate's.
        waiting: how many clauses were not tried because of a clause.
        places: of clauses in the catalogue.
    """
    first = min(places[clause] for clause in cause.clauses)
    if cause.kind in _CONFIGURATION:
        return 0, _CONFIGURATION.index(cause.kind), first
    kind = _KINDS.index(cause.kind) if cause.kind in KINDS else len(_KINDS)
    follows = len(cause.verdicts) + sum(waiting.get(clause, 0) for clause in cause.clauses)
    if follows == len(cause.verdicts) and all(verdict.outcome == "invalid" for verdict in cause.verdicts):
        return 3, -follows, kind, first
    if _is_basic(cause, waiting) or follows > len(cause.verdicts):
        return 1, kind, tuple(_RULES).index(cause.about) if cause.kind == "rule-ignored" else 0, -follows, first
    # A clause of its own says more than one about the whole run.
    of_run = all(CATALOGUE[clause].last for clause in cause.clauses)
    return 2, -follows, int(of_run), kind, first


def _is_basic(cause: Cause, waiting: Mapping[str, int]) -> bool:
    """Whether it affects any pod.

    An ignored rule does if the clause about that rule alone fails. Whether it also keeps a plain pod from a
    feasible node depends on chance. A process that ends does if the rest of the trial was given up, whichever clause
    showed it.
    """
    if cause.kind == "process-ended" and waiting.keys() - BASICS:
        return True
    return (_RULES[cause.about][1] if cause.kind == "rule-ignored" else BINDS) in cause.clauses
