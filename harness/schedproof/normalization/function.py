"""A bare Python function as a scorer, and the three lines that hold it to the clauses in tests of one's own."""

from __future__ import annotations

import operator
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from schedproof.candidate.claims import OnMissing
from schedproof.foundation.errors import UsageError
from schedproof.foundation.saved_cases import SavedCase, SavedCases
from schedproof.normalization.answer import Answer, Case, Readings, case_from_json, case_to_json
from schedproof.normalization.effort import PROFILES
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import rules_for
from schedproof.normalization.search import Searches


class FunctionSurface:
    """A function from readings to scores, called in this process."""

    name = "python"
    fewest, most = 1, 5000
    nodes: tuple[str, ...] = ()

    def __init__(self, score: Callable[[dict[str, float | None]], Any]) -> None:
        self._score = score
        self.waited = 0.0

    def ask(self, readings: Readings) -> Answer:
        begin = time.monotonic()
        answer = answer_of(self._score, readings)
        self.waited += time.monotonic() - begin
        return answer

    def close(self) -> None:
        pass


def answer_of(score: Callable[[dict[str, float | None]], Any], readings: Readings) -> Answer:
    """Call a scoring function, with node to bytes per second (None: no sample), in the order in which nodes are asked.

    It may return node to score, or (node, score) pairs.
    """
    try:
        scored = score(dict(readings))
        pairs = scored.items() if isinstance(scored, Mapping) else scored
        scores = tuple((str(node), _plain(value)) for node, value in pairs)
    except Exception as error:  # noqa: BLE001, RUF100 - whatever it raises is what it does
        return Answer(crash=_last_words(error))
    if any(isinstance(value, int) and abs(value) > sys.float_info.max for _, value in scores):
        return Answer(refusal="a score is too large for a float64")
    return Answer(scores)


def _plain(value: Any) -> float:
    """Integers of other libraries are integers; all else is as kube-scheduler would be sent it."""
    return operator.index(value) if hasattr(value, "__index__") else float(value)


def _last_words(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"


def hold_function(
    score: Callable[[dict[str, float | None]], Any],
    *,
    highest: int = 100,
    resolution: float = 0.1,
    features: Collection[str] = (),
    on_missing: OnMissing | None = None,
    without: Collection[str] = (),
    profile: str = "quick",
    seed: int = 0,
    kept: Path = Path(".hypothesis") / "schedproof",
) -> None:
    """Hold a scoring function to every `normalize/*` clause that it claims.

    Args:
        score: takes node to bytes per second (None: the node has no sample), in the order in which nodes are asked
            about, and returns node to score: the less traffic, the more.
        highest: the best score of its scale; 10 for an extender.
        resolution: the smallest relative difference of two readings that it promises to see.
        features: more that it promises: `strict`, `full-scale`, `scale-free`.
        on_missing: what becomes of nodes without a sample: `neutral`, `avoid` or `reject`.
        without: clauses that it is known to break.
        profile: how many cases: `quick`, `ci` or `thorough`.
        seed: of the cases.
        kept: the folder where failing cases are kept, to be tried first the next time.

    Raises:
        AssertionError: it breaks some; each with the smallest case that was found.
        UsageError: there is no such profile, feature or clause.
    """
    promises = Promises(highest, resolution, frozenset(features), on_missing)
    _check(promises, without, profile)
    surface, saved, searches = FunctionSurface(score), SavedCases(kept), Searches()
    scorer = f"{score.__module__}:{getattr(score, '__qualname__', score)}"
    broken = []
    for rule in rules_for(promises):
        if rule.clause in without:
            continue
        earlier = saved.of(scorer, rule.clause, surface.name)
        cases, _ = PROFILES[profile]
        known = [case_from_json(one.case) for one in earlier]
        found = searches.search(rule, surface, promises, cases=cases, seed=seed, known=known).failing
        if found is None:
            for mended in earlier:
                saved.forget(mended)
        else:
            saved.keep(SavedCase(scorer, rule.clause, surface.name, case_to_json(found.case), found.text))
            broken.append(f"{rule.clause}: {rule.guarantee}\n{explain(found.text, found.case, found.answers)}")
    if broken:
        raise AssertionError("\n\n".join(broken))


def _check(promises: Promises, without: Collection[str], profile: str) -> None:
    from schedproof.normalization.rules import RULES

    if profile not in PROFILES:
        raise UsageError(f"no profile {profile!r}", remedy=f"one of {', '.join(PROFILES)}")
    known = {rule.feature for rule in RULES.values()} - {""}
    if wrong := sorted(promises.features - known):
        raise UsageError(f"no feature {wrong[0]!r} of scores", remedy=f"one of {', '.join(sorted(known))}")
    if wrong := sorted(set(without) - set(RULES)):
        raise UsageError(f"no clause {wrong[0]!r}", remedy=f"one of {', '.join(RULES)}")


_SHOWN = 12


def explain(text: str, case: Case, answers: Iterable[Answer]) -> str:
    """What is wrong, and below it the questions with their scores."""
    lines = [f"  {text}"]
    for number, (readings, answer) in enumerate(zip(case, answers, strict=True), start=1):
        lines.append(f"  {'question' if len(case) == 1 else f'question {number}'}:")
        scores: dict[str, list[str]] = {}
        for node, score in answer.scores:
            scores.setdefault(node, []).append(f"{score}")
        for node, reading in readings[:_SHOWN]:
            carries = "no sample" if reading is None else f"{reading:g} B/s"
            lines.append(f"    {node:<12} {carries:>16}   score {', '.join(scores.get(node, ['none']))}")
        if len(readings) > _SHOWN:
            lines.append(f"    ... and {len(readings) - _SHOWN} more nodes")
    return "\n".join(lines)
