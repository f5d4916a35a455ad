"""What fails a build: a limit on a ratio, as `schedproof bench --fail-if` takes it.

Only ratios to a baseline that was measured in the same run: an absolute number says more of the machine than of the
scheduler. And only what is shown: a limit is broken where the whole interval lies beyond it.

One gate may concern several comparisons. So that it fails by chance no more often than one comparison would, intervals
are then taken at the levels of Holm's procedure (A Simple Sequentially Rejective Multiple Test Procedure, 1979): of m
comparisons the first must be beyond the limit at the level alpha / m, the next at alpha / (m - 1), and so on.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from typing import TYPE_CHECKING, Any, Literal

from schedproof.benchmark.compare.ratio import METRICS, interval
from schedproof.documents.suggestions import did_you_mean
from schedproof.foundation.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["GRAMMAR", "MODES", "Gate", "GateResult", "Outcome", "evaluate"]

GRAMMAR = "METRIC ratio >|<|>=|<= NUMBER vs BASELINE [on WORKLOAD] [in MODE]"

MODES = ("drain", "open-loop", "one-at-a-time")

Outcome = Literal["passed", "failed", "unproved"]

_EXAMPLE = '"p99 ratio > 1.2 vs stock on basic in drain"'

_BEYOND: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip

_NUMBER = r"(?P<number>\d+(?:\.\d*)?|\.\d+)"
_RATIO = re.compile(
    rf"(?P<metric>\S.*?)\s+ratio\s*(?P<operator>[<>]=?)\s*{_NUMBER}\s+vs\s+(?P<baseline>\S+)"
    r"(?:\s+on\s+(?P<workload>\S+))?(?:\s+in\s+(?P<mode>\S+))?"
)
_ABSOLUTE = re.compile(rf"(?P<metric>\S.*?)\s*(?P<operator>[<>]=?)\s*{_NUMBER}\s*\S*(?:\s.*)?")


@dataclasses.dataclass(frozen=True)
class Gate:
    """A condition that must not be shown to hold. An empty `workload` or `mode`: any."""

    text: str
    metric: str
    operator: str
    limit: float
    baseline: str
    workload: str = ""
    mode: str = ""

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read a gate.

        Raises:
            UsageError: it is none; with the grammar, or the nearest word that is one.
        """
        found = _RATIO.fullmatch(text.strip())
        if found is None:
            _refuse(text)
            raise UsageError(f'--fail-if "{text}": this is no gate', remedy=f"{GRAMMAR}; such as {_EXAMPLE}")
        metric, mode = found["metric"], found["mode"] or ""
        if metric not in METRICS:
            raise UsageError(f'--fail-if "{text}": there is no metric {metric!r}', remedy=did_you_mean(metric, METRICS))
        if mode and mode not in MODES:
            raise UsageError(f'--fail-if "{text}": there is no mode {mode!r}', remedy=did_you_mean(mode, MODES))
        limit = float(found["number"])
        if not (limit > 0 and math.isfinite(limit)):
            raise UsageError(
                f'--fail-if "{text}": no ratio is ever {found["number"]}', remedy="a number above 0; 1 is equal"
            )
        return cls(text.strip(), metric, found["operator"], limit, found["baseline"], found["workload"] or "", mode)

    def concerns(self, comparison: Mapping[str, Any]) -> bool:
        """Whether a comparison, as bench.json has it, is one that this gate is about."""
        return (
            comparison["metric"] == self.metric
            and comparison["baseline"] == self.baseline
            and self.workload in ("", comparison["workload"])
            and self.mode in ("", comparison["mode"])
        )


@dataclasses.dataclass(frozen=True)
class GateResult:
    """failed: some comparison lies beyond the limit with its whole interval. unproved: none does, but one was invalid,
    or there was none at all; that is not passed.
    """

    gate: str
    outcome: Outcome
    detail: str

    def as_dict(self) -> dict[str, str]:
        """As bench.json has it."""
        return dataclasses.asdict(self)


def evaluate(gate: Gate, comparisons: Iterable[Mapping[str, Any]], *, alpha: float = 0.01) -> GateResult:
    """Hold a gate against the comparisons of a run, as bench.json has them; `alpha` is the level of each interval."""
    everything = list(comparisons)
    matching = [one for one in everything if gate.concerns(one)]
    if not matching:
        return GateResult(gate.text, "unproved", _nothing(gate, everything))
    if failed := _beyond(gate, matching, alpha):
        return GateResult(gate.text, "failed", _listed(failed))
    if open_ended := [one for one in matching if not _decided(gate, one)]:
        return GateResult(gate.text, "unproved", _listed(open_ended))
    near = [one for one in matching if _BEYOND[gate.operator](one["ratio"], gate.limit)]
    note = f"; beyond the limit, but not shown: {_listed(near)}" if near else ""
    at_once = f" (at a level of {alpha:g} for all of them together)" if len(matching) > 1 else ""
    return GateResult(gate.text, "passed", f"{len(matching)} comparisons{at_once}{note}")


def _beyond(gate: Gate, matching: Sequence[Mapping[str, Any]], alpha: float) -> list[Mapping[str, Any]]:
    """Those that are shown to be beyond the limit, by Holm's procedure."""
    # Such as the limit that an interval's end must pass; an invalid comparison may have that end.
    beyond, end = _BEYOND[gate.operator], "low" if gate.operator.startswith(">") else "high"
    candidates = [
        one for one in matching
        if one[end] is not None and (one["verdict"] != "invalid" or one.get("bound")) and beyond(one[end], gate.limit)
    ]  # fmt: skip
    found: list[Mapping[str, Any]] = []
    while len(found) < len(candidates):
        left = len(matching) - len(found)
        new = [
            one for one in candidates
            if one not in found and beyond(_end(one, end, alpha / left if left > 1 else None), gate.limit)
        ]  # fmt: skip
        if not new:
            break
        found += new
    return [one for one in matching if one in found]


def _end(one: Mapping[str, Any], end: str, level: float | None) -> float:
    """An end of the interval at this level; None: at that of bench.json. It never gets nearer to the ratio."""
    known: float = one[end]
    if level is None or not one.get("ratios"):
        return known
    low, high = interval(one["ratios"], level)
    return min(known, low) if end == "low" else max(known, high)


def _decided(gate: Gate, one: Mapping[str, Any]) -> bool:
    """Whether a comparison says something of the limit, given that it is not shown to be beyond it.

    An interval with one end does where all of it is on this side of the limit.
    """
    if None not in (one["low"], one["high"]):
        return bool(one["verdict"] != "invalid")
    near = one["high"] if gate.operator.startswith(">") else one["low"]
    return near is not None and not _BEYOND[gate.operator](near, gate.limit)


def _refuse(text: str) -> None:
    """Tell a limit on an absolute number from a mistyped one."""
    found = _ABSOLUTE.fullmatch(text.strip())
    if found is not None and not re.search(r"\b(ratio|vs)\b", text):
        limit = "1.2" if found["operator"].startswith(">") else "0.8"
        raise UsageError(
            f'--fail-if "{text}": a limit on an absolute number; machines differ, and so does one from hour to hour',
            remedy=f'a ratio to what ran beside it: "{found["metric"]} ratio {found["operator"]} {limit} vs stock"',
        )


def _nothing(gate: Gate, everything: Sequence[Mapping[str, Any]]) -> str:
    """Why no comparison matches: the first word of the gate that none of them knows."""
    if not everything:
        return "nothing was compared"
    for word, value in (("metric", gate.metric), ("baseline", gate.baseline), ("workload", gate.workload),
                        ("mode", gate.mode)):  # fmt: skip
        known = sorted({str(one[word]) for one in everything})
        if value and value not in known:
            return f"nothing was compared with {word} {value}; {did_you_mean(value, known)}"
    return "nothing was compared with all of these together"


def _listed(comparisons: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(map(_described, comparisons))


def _described(one: Mapping[str, Any]) -> str:
    rate = "" if one.get("rate") is None else f" at {one['rate']:g}/s"
    where = f"{one['candidate']} on {one['workload']}, {one['mode']}{rate}"
    if one.get("bound"):
        known = one["high"] if one["low"] is None else one["low"]
        return f"{where}: {one['bound']} {known:.3f}: {one.get('reason')}"
    if one["ratio"] is None or None in (one["low"], one["high"]):
        return f"{where}: invalid: {one.get('reason') or 'no reason given'}"
    reason = f": invalid: {one.get('reason')}" if one["verdict"] == "invalid" else ""
    return f"{where}: {one['ratio']:.3f} ({one['low']:.3f} to {one['high']:.3f}){reason}"
