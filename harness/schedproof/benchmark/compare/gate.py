"""Gates: limits on ratios that fail a build, as `schedproof bench --fail-if` takes them.

A gate limits the ratio to a baseline measured in the same run, because an absolute number depends on the machine more
than on the scheduler. It fails only if the whole interval of a comparison lies beyond the limit.

A gate may apply to several comparisons. So that it fails by chance no more often than for a single comparison, their
intervals have the levels of Holm's procedure (A Simple Sequentially Rejective Multiple Test Procedure, 1979): of m
comparisons, the first must be beyond the limit at the level alpha / m, the next at alpha / (m - 1), and so on.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

from schedproof.benchmark.compare.ratio import METRICS, interval
from schedproof.benchmark.results import MODES, Comparison, GateResult
from schedproof.documents.suggestions import did_you_mean
from schedproof.foundation.errors import UsageError

GRAMMAR = "METRIC ratio >|<|>=|<= NUMBER vs BASELINE [on WORKLOAD] [in MODE]"

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
    """A condition that fails the build if it is shown to hold. An empty `workload` or `mode` matches any."""

    text: str
    metric: str
    operator: str
    limit: float
    baseline: str
    workload: str = ""
    mode: str = ""

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Parse a gate.

        Raises:
            UsageError: the text is not a gate; with the grammar, or the nearest known word.
        """
        found = _RATIO.fullmatch(text.strip())
        if found is None:
            _refuse(text)
            raise UsageError(f'--fail-if "{text}": expected a gate', remedy=f"write {GRAMMAR}, such as {_EXAMPLE}")
        metric, mode = found["metric"], found["mode"] or ""
        if metric not in METRICS:
            raise UsageError(f'--fail-if "{text}": there is no metric {metric!r}', remedy=did_you_mean(metric, METRICS))
        if mode and mode not in MODES:
            raise UsageError(f'--fail-if "{text}": there is no mode {mode!r}', remedy=did_you_mean(mode, MODES))
        limit = float(found["number"])
        if not (limit > 0 and math.isfinite(limit)):
            raise UsageError(
                f'--fail-if "{text}": a ratio is never {found["number"]}',
                remedy="use a number above 0; 1 means equal to the baseline",
            )
        return cls(text.strip(), metric, found["operator"], limit, found["baseline"], found["workload"] or "", mode)

    def concerns(self, comparison: Comparison) -> bool:
        """Whether this gate applies to a comparison."""
        return (
            comparison.metric == self.metric
            and comparison.baseline == self.baseline
            and self.workload in ("", comparison.workload)
            and self.mode in ("", comparison.mode)
        )

    def result(self, outcome: Literal["passed", "failed", "unproved"], detail: str) -> GateResult:
        return GateResult(gate=self.text, outcome=outcome, detail=detail)


def check_gate(gate: Gate, **measured: Collection[str]) -> None:
    """Refuse a gate that applies to nothing that will be measured: it would stay unproved.

    Args:
        gate: the gate.
        measured: the names that will be measured, by `baseline`, `workload` and `mode`.

    Raises:
        UsageError: the gate names something else.
    """
    for word, known in measured.items():
        value = getattr(gate, word)
        if value and value not in known:
            raise UsageError(
                f'--fail-if "{gate.text}": nothing is compared with {word} {value}',
                remedy=did_you_mean(value, sorted(known)),
            )


def evaluate(gate: Gate, comparisons: Iterable[Comparison], *, alpha: float = 0.01) -> GateResult:
    """Evaluate a gate on the comparisons of a run; the confidence level of each interval is 1 - `alpha`."""
    compared = list(comparisons)
    matching = [comparison for comparison in compared if gate.concerns(comparison)]
    if not matching:
        return gate.result("unproved", _nothing(gate, compared))
    if failed := _beyond(gate, matching, alpha):
        return gate.result("failed", _listed(failed))
    if open_ended := [comparison for comparison in matching if not _decided(gate, comparison)]:
        return gate.result("unproved", _listed(open_ended))
    near = [
        comparison
        for comparison in matching
        if comparison.ratio is not None and _BEYOND[gate.operator](comparison.ratio, gate.limit)
    ]
    note = f"; ratio beyond the limit, but not its whole interval: {_listed(near)}" if near else ""
    at_once = f" (at a level of {alpha:g} for all of them together)" if len(matching) > 1 else ""
    return gate.result("passed", f"{len(matching)} comparisons{at_once}{note}")


def _beyond(gate: Gate, matching: Sequence[Comparison], alpha: float) -> list[Comparison]:
    """Return the comparisons that are shown to be beyond the limit, by Holm's procedure."""
    # An invalid comparison counts too if it has a bound on the side of the limit.
    beyond = _BEYOND[gate.operator]
    candidates = [
        comparison for comparison in matching
        if (end := _end(gate, comparison, None)) is not None and (comparison.verdict != "invalid" or comparison.bound)
        and beyond(end, gate.limit)
    ]  # fmt: skip
    found: list[Comparison] = []
    while len(found) < len(candidates):
        left = len(matching) - len(found)
        new = [
            comparison for comparison in candidates
            if comparison not in found
            and (end := _end(gate, comparison, alpha / left if left > 1 else None)) is not None
            and beyond(end, gate.limit)
        ]  # fmt: skip
        if not new:
            break
        found += new
    return [comparison for comparison in matching if comparison in found]


def _end(gate: Gate, comparison: Comparison, level: float | None) -> float | None:
    """Return the end of the interval that must pass the limit, at this level; None: at the comparison's own level.

    It is never nearer to the ratio than the comparison's own end. None if the interval has no such end.
    """
    lower = gate.operator.startswith(">")
    known = comparison.low if lower else comparison.high
    if known is None or level is None or not comparison.ratios:
        return known
    low, high = interval(comparison.ratios, level)
    return min(known, low) if lower else max(known, high)


def _decided(gate: Gate, comparison: Comparison) -> bool:
    """Whether a comparison that is not shown to be beyond the limit proves that it is not.

    An interval with a single end does if all of it is on this side of the limit.
    """
    if None not in (comparison.low, comparison.high):
        return comparison.verdict != "invalid"
    near = comparison.high if gate.operator.startswith(">") else comparison.low
    return near is not None and not _BEYOND[gate.operator](near, gate.limit)


def _refuse(text: str) -> None:
    """Raise a specific error if the text is a limit on an absolute number rather than a mistyped gate."""
    found = _ABSOLUTE.fullmatch(text.strip())
    if found is not None and not re.search(r"\b(ratio|vs)\b", text):
        limit = "1.2" if found["operator"].startswith(">") else "0.8"
        raise UsageError(
            f'--fail-if "{text}": limits on absolute numbers are not supported: such numbers vary between machines, '
            "and over time on one machine",
            remedy=f'use a ratio to a baseline: "{found["metric"]} ratio {found["operator"]} {limit} vs stock"',
        )


def _nothing(gate: Gate, compared: Sequence[Comparison]) -> str:
    """Say why no comparison matches: the first word of the gate that matches none."""
    if not compared:
        return "nothing was compared"
    for word, value in (("metric", gate.metric), ("baseline", gate.baseline), ("workload", gate.workload),
                        ("mode", gate.mode)):  # fmt: skip
        known = sorted({str(getattr(comparison, word)) for comparison in compared})
        if value and value not in known:
            return f"nothing was compared with {word} {value}; {did_you_mean(value, known)}"
    return "nothing was compared with all of these together"


def _listed(comparisons: Sequence[Comparison]) -> str:
    return "; ".join(map(_described, comparisons))


def _described(comparison: Comparison) -> str:
    rate = "" if comparison.rate is None else f" at {comparison.rate:g}/s"
    where = f"{comparison.candidate} on {comparison.workload}, {comparison.mode}{rate}"
    if comparison.bound:
        end = comparison.high if comparison.low is None else comparison.low
        return f"{where}: {comparison.bound} {end:.3f}: {comparison.reason}"
    if comparison.ratio is None or comparison.low is None or comparison.high is None:
        return f"{where}: invalid: {comparison.reason or 'no reason given'}"
    reason = f": invalid: {comparison.reason}" if comparison.verdict == "invalid" else ""
    return f"{where}: {comparison.ratio:.3f} ({comparison.low:.3f} to {comparison.high:.3f}){reason}"
