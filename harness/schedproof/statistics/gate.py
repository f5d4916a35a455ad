"""What fails a build: a limit on a ratio, as `schedproof bench --fail-if` takes it.

Only ratios to a baseline that was measured in the same run: an absolute number says more of the machine than of the
scheduler. And only what is shown: a limit is broken where the whole interval lies beyond it.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from typing import TYPE_CHECKING, Any, Literal

from schedproof.candidates.suggestions import did_you_mean
from schedproof.foundation.errors import UsageError
from schedproof.statistics.ratio import METRICS

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


def evaluate(gate: Gate, comparisons: Iterable[Mapping[str, Any]]) -> GateResult:
    """Hold a gate against the comparisons of a run, as bench.json has them."""
    everything = list(comparisons)
    matching = [one for one in everything if gate.concerns(one)]
    if not matching:
        return GateResult(gate.text, "unproved", _nothing(gate, everything))
    # A ratio without an interval is invalid too: there is nothing that could be shown.
    valid = [one for one in matching if one["verdict"] != "invalid" and None not in (one["low"], one["high"])]
    beyond = _BEYOND[gate.operator]
    end = "low" if gate.operator.startswith(">") else "high"
    if failed := [one for one in valid if beyond(one[end], gate.limit)]:
        return GateResult(gate.text, "failed", _listed(failed))
    if invalid := [one for one in matching if one not in valid]:
        return GateResult(gate.text, "unproved", _listed(invalid))
    near = [one for one in valid if beyond(one["ratio"], gate.limit)]
    note = f"; beyond the limit, but not shown: {_listed(near)}" if near else ""
    return GateResult(gate.text, "passed", f"{len(valid)} comparisons{note}")


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
    if one["ratio"] is None or None in (one["low"], one["high"]):
        return f"{where}: invalid: {one.get('reason') or 'no reason given'}"
    reason = f": invalid: {one.get('reason')}" if one["verdict"] == "invalid" else ""
    return f"{where}: {one['ratio']:.3f} ({one['low']:.3f} to {one['high']:.3f}){reason}"
