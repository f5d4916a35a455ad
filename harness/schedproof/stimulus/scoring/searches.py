"""The stimuli of normalize/*: searches for cases that break a clause, on each surface that the candidate offers."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from schedproof.binaries.cache import cache_dir
from schedproof.clusters.api import Manifest
from schedproof.foundation.errors import UsageError
from schedproof.foundation.saved_cases import SavedCase, SavedCases
from schedproof.foundation.waiting import until
from schedproof.history.acts import ScoringSearch, Surfaces
from schedproof.judge.rulings.late import PATIENCE, recovery
from schedproof.normalization.agreement import disagreement, undocumented
from schedproof.normalization.answer import (
    Answer,
    Case,
    Readings,
    Surface,
    SurfaceAround,
    case_from_json,
    case_to_json,
    readings_to_json,
)
from schedproof.normalization.effort import SURFACES
from schedproof.normalization.promises import NORMALIZE_SCORE, Promises
from schedproof.normalization.properties import unanswered
from schedproof.normalization.rules import OF_NORMALIZE_SCORE, RULES, Rule
from schedproof.normalization.search import Failing, Searched
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.kinds.answers import answered_late
from schedproof.stimulus.scoring.live_surfaces import LiveSurfaces
from schedproof.stimulus.traffic.load import LoadChanges
from schedproof.stimulus.traffic.own_placements import ApartSurface, OwnPlacements
from schedproof.stimulus.view import CandidateView
from schedproof.traffic.readings import node_labels

_NOT_BY_PODS = frozenset({"two-orders", "one-node"})
"""Shapes of cases that the running scheduler cannot be asked: it orders nodes itself, and never scores a single one."""

_MORE_THAN_SCORES = 12
"""More nodes than an extender has scores. With few nodes, an index or a rank would be in the range as well."""
_MANY = 30
"""Nodes, if there is time for them."""


def saved_cases() -> SavedCases:
    """Return the store of candidates' failing cases."""
    return SavedCases(cache_dir() / "cases")


_LIVE = frozenset({"extender", "scheduler"})
"""Surfaces on which a question may count as a placement. A plugin in a probe sees no placements."""


class ScoreSearches:
    """Asks questions on every surface. `live` has the surfaces that need a running candidate.

    Questions follow each other without pauses. A candidate that counts its own placements as load may then answer
    wrongly because of earlier questions. A wrong answer is therefore asked for again after a pause. If the new
    answer is right, all further questions on the surface have pauses.
    """

    def __init__(
        self, context: Context, live: LiveSurfaces, load: LoadChanges, nodes: NodeChanges, view: CandidateView
    ) -> None:
        self._clause, self._trial, self._recorder = context.clause, context.trial, context.recorder
        self.live, self._load, self._nodes, self._view = live, load, nodes, view
        self._placements = OwnPlacements(context.trial)
        if context.trial.candidate.claims.network is None:
            live.script_readings = lambda _readings: None
        elif context.clause != "normalize/surfaces-agree":
            # There, a real Prometheus serves the readings: surfaces on the harness's server are compared to it.
            live.script_readings = self._serve

    def _serve(self, readings: Readings) -> None:
        server, nodes = self._trial.scorers.server, self._recorder.nodes
        labels = {node: node_labels(node, _address(nodes[node])) for node, _ in readings}
        server.put(self._load.claims.metric, self._load.device, self._load.claims.window, labels, readings)
        self._load.use(server.url)

    @property
    def surfaces(self) -> list[Surface]:
        return sorted(
            (*self._trial.scorers.surfaces, *self.live.surfaces), key=lambda surface: SURFACES.index(surface.name)
        )

    def undo(self) -> None:
        self.live.close()

    def search(self) -> None:
        """Look for a case that breaks the clause, on one surface after the other."""
        rule = RULES[self._clause]
        candidate, effort, saved = self._trial.candidate, self._trial.effort, saved_cases()
        wanted = _MORE_THAN_SCORES if effort.profile == "quick" and not effort.replay else _MANY
        if "idle-nodes" in self._trial.cluster.capabilities and (wanted == _MANY or self._clause == "normalize/range"):
            self.live.asked_nodes += tuple(self._nodes.add_idle(max(0, wanted - len(self.live.asked_nodes))))
            self._view.settle()
        scorer = str(candidate.path)
        for surface in self._asked(rule):
            promises = Promises.of(candidate.kind, candidate.claims, surface.name)
            earlier = saved.of(scorer, self._clause, surface.name)
            cases = [case_from_json(found.case) for found in earlier]
            known = [_renamed(case, surface.nodes) for case in cases if _fits(case, surface)]
            found = self._found(rule, surface, promises, known)
            identifier = ""
            if found.failing is not None:
                asked = case_to_json(found.failing.case)
                identifier = saved.keep(SavedCase(scorer, self._clause, surface.name, asked, found.failing.text))
            elif not effort.replay:
                for mended in earlier:
                    saved.forget(mended)
            self._note(surface, found, identifier)

    def compare(self) -> None:
        """Ask the same questions on all surfaces."""
        step = 1 + 2 * self._load.claims.resolution
        questions = [
            [1e6 * step**n for n in range(4)], [4e6, 1e6, 2e6], [1e6, 1e6, 4e6], [0.0, 1e6], [1e6, 1.2e6, 1.4e6],
            [0.0, 0.0],
        ]  # fmt: skip
        cases = []
        for surface in self._asked():
            fitting = [rates for rates in questions if surface.fewest <= len(rates) <= surface.most]
            case = tuple(_named([f"node-{n}" for n in range(1, len(rates) + 1)], rates, surface) for rates in fitting)
            cases.append((surface, case))
        self._ask_all(cases, lambda asked: bool(disagreement(asked)[1]))

    def ask_examples(self) -> None:
        """Ask the questions that the candidate's documentation answers."""
        examples = self._trial.candidate.claims.examples
        cases = [
            (
                surface,
                tuple(_named(list(example.readings), list(example.readings.values()), surface) for example in examples),
            )
            for surface in self._asked(most=max(len(example.readings) for example in examples))
        ]
        self._ask_all(cases, lambda asked: any(undocumented(examples, case, got) for _, case, got in asked))

    def _asked(self, rule: Rule | None = None, *, most: int = 2) -> list[Surface]:
        """Return the surfaces to ask: those that take `most` nodes, and the rule's questions if there is a rule."""
        wanted, shape = self._trial.effort.surfaces, rule.shape if rule else "any"
        surfaces = [
            surface
            for surface in self.surfaces
            if (not wanted or surface.name in wanted)
            and surface.most >= most
            and (shape not in _NOT_BY_PODS or surface.name != "scheduler")
            and (surface.name != NORMALIZE_SCORE or (rule is not None and rule.clause in OF_NORMALIZE_SCORE))
            and not (surface.name == "scheduler" and rule is not None and self._skips_scheduler())
        ]
        self._recorder.add(Surfaces(case=self._clause, names=[surface.name for surface in surfaces]))
        return surfaces

    def _is_slow(self, surface: Surface) -> bool:
        """Whether each question there waits until new readings are polled, or earlier placements no longer count."""
        polled = surface.name in ("extender", "plugin", "scheduler") and self.live.news_takes_time
        return polled or surface.name in self._trial.asked_apart

    def _skips_scheduler(self) -> bool:
        """Whether to skip the running scheduler: its scores come from the extender, and waiting for them takes long."""
        effort = self._trial.effort
        extender = next((surface for surface in self.surfaces if surface.name == "extender"), None)
        return effort.profile == "quick" and not effort.surfaces and extender is not None and self._is_slow(extender)

    def _ask_all(
        self,
        cases: Sequence[tuple[Surface, Case]],
        is_wrong: Callable[[Sequence[tuple[str, Case, tuple[Answer, ...]]]], bool],
    ) -> None:
        """Ask these cases on their surfaces; again with pauses, if that may correct wrong answers."""

        def ask() -> list[tuple[str, Case, tuple[Answer, ...]]]:
            asked = [(surface.name, case, self._remembering(surface)) for surface, case in cases]
            return [(name, case, tuple(map(surface.ask, case))) for name, case, surface in asked]

        asked = ask()
        counting = [surface for surface, _ in cases if self._may_count(surface)]
        if counting and is_wrong(asked):
            self._ask_apart(counting)
            asked = ask()
            if is_wrong(asked):
                self._trial.asked_apart.difference_update(surface.name for surface in counting)
        for (surface, case), (_, _, answers) in zip(cases, asked, strict=True):
            self._note(surface, Searched(len(case), shown=(case, answers)), "")

    def _found(self, rule: Rule, surface: Surface, promises: Promises, known: Sequence[Case]) -> Searched:
        """Return what a search finds; it is repeated if late responses, or earlier questions, may explain a failure."""
        begin = self._recorder.now()
        found = self._find(rule, surface, promises, known)
        failing = found.failing
        if failing is not None and self._answers_came_late(begin):
            answers = tuple(map(surface.ask, failing.case))
            if not rule.wrong(failing.case, answers, promises):
                found = self._find(rule, surface, promises, known)
                failing = found.failing
        if failing is None or rule.about == "nothing" or not self._may_count(surface):
            return found
        if any(map(unanswered, failing.answers)):
            return found
        self._placements.note_question()
        answers = tuple(map(ApartSurface(surface, self._placements).ask, failing.case))
        if text := rule.wrong(failing.case, answers, promises):
            return dataclasses.replace(found, failing=dataclasses.replace(failing, answers=answers, text=text))
        self._ask_apart([surface])
        return self._find(rule, surface, promises, known)

    def _answers_came_late(self, begin: float) -> bool:
        """Whether a response of Prometheus took so long that the candidate may have answered without it.

        If so, returns once the time is over for which the candidate claims to need afterwards.
        """
        rest = recovery(self._trial.candidate.claims.network) or PATIENCE
        if not answered_late(self._recorder, begin - rest):
            return False
        until(time.monotonic() + rest)
        return True

    def _find(self, rule: Rule, surface: Surface, promises: Promises, known: Sequence[Case]) -> Searched:
        effort = self._trial.effort
        asked = self._apart(surface) if rule.shape == "again" else self._remembering(surface)
        if effort.replay:
            return self._replay(rule, asked, promises)
        # If each question costs a poll period, or the time for which placements count, corner cases must suffice.
        cases = 0 if effort.profile == "quick" and self._is_slow(surface) else effort.cases(surface.name)
        return self._trial.scorers.searches.search(
            rule, asked, promises, cases=cases, seed=self._trial.seed, known=known
        )  # fmt: skip

    def _replay(self, rule: Rule, surface: Surface, promises: Promises) -> Searched:
        saved = saved_cases().get(self._trial.effort.replay)
        if not saved.surface:
            raise UsageError(f"{saved.id} is not a case of scores", remedy=f"try it with --clause {saved.clause}")
        case = _renamed(case_from_json(saved.case), surface.nodes)
        answers = tuple(surface.ask(readings) for readings in case)
        text = rule.wrong(case, answers, promises)
        return Searched(1, Failing(case, answers, text) if text else None, (case, answers))

    def _may_count(self, surface: Surface) -> bool:
        """Whether questions on this surface may count as placements, and are asked without pauses so far."""
        return self._placements.may_count and surface.name in _LIVE - self._trial.asked_apart

    def _ask_apart(self, surfaces: Sequence[Surface]) -> None:
        """Ask with pauses there from now on, and forget answers that earlier questions may have changed."""
        self._placements.note_question()
        for surface in surfaces:
            self._trial.asked_apart.add(surface.name)
            self._trial.scorers.answers.pop(surface.name, None)

    def _apart(self, surface: Surface) -> Surface:
        return ApartSurface(surface, self._placements) if surface.name in self._trial.asked_apart else surface

    def _remembering(self, surface: Surface) -> Surface:
        """Return the surface, with a memory if each question costs a pod or a wait: many clauses share corner cases."""
        if surface.name != "scheduler" and not self._is_slow(surface):
            return surface
        return _Remembering(self._apart(surface), self._trial.scorers.answers.setdefault(surface.name, {}))

    def _note(self, surface: Surface, found: Searched, identifier: str) -> None:
        self._placements.note_question()
        if found.failing is not None:
            case, answers = found.failing.case, found.failing.answers
        else:
            case, answers = found.shown or ((), ())
        self._recorder.add(ScoringSearch(
            case=self._clause, surface=surface.name, cases=found.cases, id=identifier,
            asked=found.questions, seconds=round(found.seconds, 3), waited=round(found.waited, 3),
            steady=found.failing is None or found.failing.steady,
            questions=[readings_to_json(readings) for readings in case],
            answers=[answer.as_dict() for answer in answers],
        ))  # fmt: skip


class _Remembering(SurfaceAround):
    """A surface that repeats its answer to a question that was asked before."""

    def __init__(self, surface: Surface, answers: dict[Readings, Answer]) -> None:
        super().__init__(surface)
        self._answers = answers

    def ask(self, readings: Readings) -> Answer:
        key = tuple(sorted(readings, key=lambda reading: reading[0]))
        if key not in self._answers:
            self._answers[key] = super().ask(readings)
        return self._answers[key]


def _address(node: Manifest) -> str:
    """Return a node's InternalIP; its name if it has none."""
    addresses = node.get("status", {}).get("addresses", ())
    return str(
        next((entry["address"] for entry in addresses if entry["type"] == "InternalIP"), node["metadata"]["name"])
    )


def _named(names: Sequence[str], values: Sequence[float | None], surface: Surface) -> Readings:
    return tuple(zip(surface.nodes or names, values, strict=False))


def _fits(case: Case, surface: Surface) -> bool:
    return all(surface.fewest <= len(readings) <= surface.most for readings in case)


def _renamed(case: Case, nodes: Sequence[str]) -> Case:
    """Rename the nodes of a case from another cluster."""
    names = list(dict.fromkeys(node for readings in case for node, _ in readings))
    if not nodes or set(names) <= set(nodes):
        return case
    others = dict(zip(names, nodes, strict=False))
    return tuple(tuple((others[node], reading) for node, reading in readings) for readings in case)
