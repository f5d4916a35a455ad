"""The stimulus of core/random-worlds: searches for a world in which the candidate does not place a pod correctly."""

from __future__ import annotations

import math
import time
from typing import Any

from schedproof.candidate.subjects import Subject
from schedproof.foundation.private import make_private
from schedproof.foundation.saved_cases import SavedCase
from schedproof.history.acts import PodCreated, WorldSearch
from schedproof.stimulus.context import Context
from schedproof.stimulus.scoring.searches import saved_cases
from schedproof.stimulus.worlds.runs import WorldRuns
from schedproof.worlds.draws import corners, worlds
from schedproof.worlds.search import Bounds, Search
from schedproof.worlds.subjects import subjects_in
from schedproof.worlds.words import events_in, in_words, yaml_text
from schedproof.worlds.world import World, acceptable

FOLDER = "worlds"
"""The folder of found worlds, as YAML, in the candidate's evidence."""
_WORLDS = 200
_SECONDS = 60.0
_TRIES, _SMALLER_SECONDS = 150, 60.0


class WorldSearches:
    """The search of one case."""

    def __init__(self, context: Context, runs: WorldRuns) -> None:
        self._context, self._trial, self._runs = context, context.trial, runs
        # If kubelets run pods, pods on nodes without a kubelet do not end.
        self._ends = "real-pods" not in context.trial.cluster.capabilities
        # What a process holds shows a leak only while it lives.
        restarts = context.trial.candidate.kind != "attached" and context.trial.soak is None
        possible = {
            "stopped": restarts,
            "cut_off": context.trial.attachment.apiserver is not None,
            "refused": "hold-bindings" in context.trial.cluster.capabilities,
        }
        self._impossible = [kind for kind, can_happen in possible.items() if not can_happen]
        self._saved = saved_cases()
        self._read = self._pods = 0

    def search(self) -> None:
        """Try worlds that failed before, this seed's large worlds, and generated ones; make a failing world smaller.

        What is found is kept and recorded, even if the case ends early.
        """
        trial, effort, clause = self._trial, self._trial.effort, self._context.clause
        soak, generated, seconds = trial.soak, effort.worlds, _SECONDS
        if soak is not None:
            seconds = soak.seconds
        elif generated is not None:
            seconds = math.inf
        bounds = Bounds(_WORLDS if generated is None else generated, seconds, _TRIES, _SMALLER_SECONDS)
        pins = Subject.NODE_AFFINITY not in self._context.left_out
        search, begin = Search(self._runs.run, bounds, pins=pins, between=self._look), time.monotonic()
        earlier = self._saved.of(str(trial.candidate.path), clause, "")
        replayed = [self._saved.get(effort.replay)] if effort.replay else []
        try:
            if any(saved.clause == clause for saved in replayed):
                search.first_wrong([World.from_json(saved.case) for saved in replayed])
            else:
                left_out = self._context.left_out.keys()
                known = [
                    world
                    for saved in earlier
                    if acceptable(world := World.from_json(saved.case)) and not subjects_in(world) & left_out
                ]
                if (
                    search.first_wrong(known)
                    or search.first_wrong(corners(self._context.random, left_out))
                    or (search.generated if soak is None else search.generated_on)(
                        worlds(left_out, ends=self._ends, impossible=self._impossible), trial.seed
                    )
                ):
                    search.make_smaller()
                else:
                    for mended in earlier:
                        self._saved.forget(mended)
        finally:
            self._note(search, time.monotonic() - begin)

    def _look(self, worlds: int) -> bool:
        soak = self._trial.soak
        return soak is None or soak.look(self._trial.attachment, worlds=worlds, pods=self._created())

    def _created(self) -> int:
        """Return how many pods were created for the candidate."""
        fresh = self._context.recorder.records[self._read :]
        self._read += len(fresh)
        self._pods += sum(isinstance(record, PodCreated) and record.role != "filler" for record in fresh)
        return self._pods

    def _note(self, search: Search, seconds: float) -> None:
        found: dict[str, Any] = {}
        if search.world is not None and search.wrong is not None:
            world, text, candidate = search.world, search.wrong.text, self._trial.candidate
            identifier = self._saved.keep(
                SavedCase(str(candidate.path), self._context.clause, "", world.as_json(), text)
            )
            folder = self._trial.folder / FOLDER
            make_private(folder)
            (folder / f"{identifier}.yaml").write_text(yaml_text(world, text, candidate.scheduler_name))
            found = {
                "id": identifier, "world": world.as_json(), "words": in_words(world), "events": events_in(world),
                "file": f"{FOLDER}/{identifier}.yaml", "pods": self._runs.uids, "steady": search.steady,
            }  # fmt: skip
        self._context.recorder.add(WorldSearch(
            case=self._context.clause, worlds=search.count, tries=search.tries, seconds=round(seconds, 3),
            freed=dict(self._runs.freed), disturbed=dict(self._runs.disturbed),
            **found,
        ))  # fmt: skip
