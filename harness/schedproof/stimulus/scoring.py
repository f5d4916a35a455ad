"""The stimuli of normalize/*: searches for cases that break a clause, on each surface that the candidate offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.binaries.cache import cache_dir
from schedproof.normalization.answer import readings_to_json
from schedproof.normalization.effort import SURFACES
from schedproof.normalization.promises import NORMALIZE_SCORE, Promises
from schedproof.normalization.rules import OF_NORMALIZE_SCORE, RULES
from schedproof.normalization.saved import SavedCase, SavedCases
from schedproof.normalization.search import Failing, Searched
from schedproof.stimulus.normalization import NormalizationCase
from schedproof.traffic.readings import node_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedproof.clusters.api import Manifest
    from schedproof.normalization.answer import Answer, Case, Readings, Surface
    from schedproof.normalization.rules import Rule
    from schedproof.stimulus.trial import Trial

__all__ = ["ScoringCase", "saved_cases"]

_NOT_BY_PODS = frozenset({"two-orders", "one-node"})
"""Shapes that the running scheduler cannot be asked: it orders nodes by itself, and does not score one alone."""

_MORE_THAN_SCORES = 12
"""Nodes: more than an extender has scores. With few of them, an index or a place is in the range as well."""
_MANY = 30
"""Nodes, where there is time for them."""


def saved_cases() -> SavedCases:
    """Where failing cases of candidates are kept."""
    return SavedCases(cache_dir() / "cases")


class ScoringCase(NormalizationCase):
    """A case that asks on every surface."""

    def __init__(self, trial: Trial, clause: str) -> None:
        super().__init__(trial, clause)
        if trial.candidate.claims.network is None:
            self.script_readings = lambda _readings: None
        elif clause != "normalize/surfaces-agree":
            # There the readings are those of a real Prometheus, which so are held to those that we serve elsewhere.
            self.script_readings = self._serve

    def _serve(self, readings: Readings) -> None:
        server, nodes = self.trial.scorers.server, self._recorder.nodes
        labels = {node: node_labels(node, _address(nodes[node])) for node, _ in readings}
        server.put(self.claims.metric, self._device, self.claims.window, labels, readings)
        self._use(server.url)

    @property
    def surfaces(self) -> list[Surface]:
        return sorted((*self.trial.scorers.surfaces, *super().surfaces), key=lambda one: SURFACES.index(one.name))

    def search(self) -> None:
        """Look for a case that breaks the clause, on one surface after the other."""
        rule = RULES[self.clause]
        candidate, effort, saved = self.trial.candidate, self.trial.effort, saved_cases()
        wanted = _MORE_THAN_SCORES if effort.profile == "quick" and not effort.replay else _MANY
        if "idle-nodes" in self.trial.cluster.capabilities and (wanted == _MANY or self.clause == "normalize/range"):
            self.asked_nodes += tuple(self.add_idle_nodes(max(0, wanted - len(self.asked_nodes))))
            self.settle()
        scorer = str(candidate.path)
        for surface in self._asked(rule):
            promises = Promises.of(candidate.kind, candidate.claims, surface.name)
            earlier = saved.of(scorer, self.clause, surface.name)
            asked = surface if rule.shape == "again" else self._remembering(surface)
            if effort.replay:
                found = self._replay(rule, asked, promises)
            else:
                known = [_renamed(one.case, surface.nodes) for one in earlier if _fits(one.case, surface)]
                # Where each question costs a period of its polls, the corner cases must do.
                cases = 0 if effort.profile == "quick" and self._is_slow(surface) else effort.cases(surface.name)
                searches = self.trial.scorers.searches
                found = searches.search(rule, asked, promises, cases=cases, seed=self.trial.seed, known=known)
            identifier = ""
            if found.failing is not None:
                failed = SavedCase(scorer, self.clause, surface.name, found.failing.case, found.failing.text)
                identifier = saved.keep(failed)
            elif not effort.replay:
                for mended in earlier:
                    saved.forget(mended)
            self._note(surface, found, identifier)

    def compare(self) -> None:
        """Ask the same on all surfaces."""
        step = 1 + 2 * self.claims.resolution
        questions = [
            [1e6 * step**n for n in range(4)], [4e6, 1e6, 2e6], [1e6, 1e6, 4e6], [0.0, 1e6], [1e6, 1.2e6, 1.4e6],
            [0.0, 0.0],
        ]  # fmt: skip
        for surface in self._asked():
            values = [one for one in questions if surface.fewest <= len(one) <= surface.most]
            case = tuple(_named([f"node-{n}" for n in range(1, len(one) + 1)], one, surface) for one in values)
            self._ask(surface, case)

    def ask_examples(self) -> None:
        """Ask what the candidate's documentation gives the answers to."""
        examples = self.trial.candidate.claims.examples
        for surface in self._asked(most=max(len(example.readings) for example in examples)):
            case = tuple(_named(list(one.readings), list(one.readings.values()), surface) for one in examples)
            self._ask(surface, case)

    def _asked(self, rule: Rule | None = None, *, most: int = 2) -> list[Surface]:
        """Where it can be asked: by questions of so many nodes, or what a rule asks."""
        wanted, shape = self.trial.effort.surfaces, rule.shape if rule else "any"
        surfaces = [
            surface
            for surface in self.surfaces
            if (not wanted or surface.name in wanted)
            and surface.most >= most
            and (shape not in _NOT_BY_PODS or surface.name != "scheduler")
            and (surface.name != NORMALIZE_SCORE or (rule is not None and rule.clause in OF_NORMALIZE_SCORE))
            and not (surface.name == "scheduler" and rule is not None and self._is_told_by_its_extender())
        ]
        self._recorder.add("surfaces", case=self.clause, names=[surface.name for surface in surfaces])
        return surfaces

    def _is_slow(self, surface: Surface) -> bool:
        """Whether a question on this surface is asked only once new readings can have been polled."""
        return surface.name in ("extender", "plugin", "scheduler") and self.news_takes_time

    def _is_told_by_its_extender(self) -> bool:
        """Whether the running scheduler is not worth the wait: it has its scores from the extender."""
        effort = self.trial.effort
        offered = any(surface.name == "extender" for surface in self.surfaces)
        return effort.profile == "quick" and not effort.surfaces and offered and self.news_takes_time

    def _ask(self, surface: Surface, case: Case) -> None:
        answers = tuple(self._remembering(surface).ask(readings) for readings in case)
        self._note(surface, Searched(len(case), shown=(case, answers)), "")

    def _replay(self, rule: Rule, surface: Surface, promises: Promises) -> Searched:
        case = _renamed(saved_cases().get(self.trial.effort.replay).case, surface.nodes)
        answers = tuple(surface.ask(readings) for readings in case)
        text = rule.wrong(case, answers, promises)
        return Searched(1, Failing(case, answers, text) if text else None, (case, answers))

    def _remembering(self, surface: Surface) -> Surface:
        """Where each question costs a pod, or a wait, it is asked once: the corners of many clauses are the same."""
        if surface.name != "scheduler" and not self._is_slow(surface):
            return surface
        return _Remembering(surface, self.trial.scorers.answers.setdefault(surface.name, {}))

    def _note(self, surface: Surface, found: Searched, identifier: str) -> None:
        if found.failing is not None:
            case, answers = found.failing.case, found.failing.answers
        else:
            case, answers = found.shown or ((), ())
        self._recorder.add(
            "scoring", case=self.clause, surface=surface.name, cases=found.cases, id=identifier,
            asked=found.questions, seconds=round(found.seconds, 3), waited=round(found.waited, 3),
            steady=found.failing is None or found.failing.steady,
            questions=[readings_to_json(readings) for readings in case], answers=[one.as_dict() for one in answers],
        )  # fmt: skip


class _Remembering:
    """A surface that answers a question again as it did before."""

    def __init__(self, surface: Surface, answers: dict[Readings, Answer]) -> None:
        self._surface, self._answers = surface, answers
        self.name, self.nodes = surface.name, surface.nodes
        self.fewest, self.most = surface.fewest, surface.most

    def ask(self, readings: Readings) -> Answer:
        key = tuple(sorted(readings, key=lambda one: one[0]))
        if key not in self._answers:
            self._answers[key] = self._surface.ask(readings)
        return self._answers[key]

    @property
    def waited(self) -> float:
        return self._surface.waited

    def close(self) -> None:
        self._surface.close()


def _address(node: Manifest) -> str:
    """Of a node; its name, where it has none."""
    addresses = node.get("status", {}).get("addresses", ())
    return str(next((one["address"] for one in addresses if one["type"] == "InternalIP"), node["metadata"]["name"]))


def _named(names: Sequence[str], values: Sequence[float | None], surface: Surface) -> Readings:
    return tuple(zip(surface.nodes or names, values, strict=False))


def _fits(case: Case, surface: Surface) -> bool:
    return all(surface.fewest <= len(readings) <= surface.most for readings in case)


def _renamed(case: Case, nodes: Sequence[str]) -> Case:
    """A case of another cluster, whose nodes had other names."""
    names = list(dict.fromkeys(node for readings in case for node, _ in readings))
    if not nodes or set(names) <= set(nodes):
        return case
    others = dict(zip(names, nodes, strict=False))
    return tuple(tuple((others[node], reading) for node, reading in readings) for readings in case)
