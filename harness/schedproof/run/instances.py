"""Merges the results of several instances of a run, each in a process and a cluster of its own, into one result.

Instances of one run are processes of one machine; those of its shards may have been on several.
"""

from __future__ import annotations

import collections
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.foundation.errors import CandidateError, HostError, SchedproofError, UsageError
from schedproof.foundation.private import make_private
from schedproof.history.acts import Run, Selected
from schedproof.history.history import History
from schedproof.history.saved import load_records
from schedproof.judge.judge import merge
from schedproof.judge.verdict import Verdict
from schedproof.run.events import Judged
from schedproof.run.folders import require_space
from schedproof.run.options import Shard, shard
from schedproof.run.rejudge import instance_folders, rejudge
from schedproof.run.result import CandidateResult, RunResult


def dump_result(result: RunResult) -> str:
    """Return as JSON what a worker process found besides its verdicts: versions, timings and errors."""
    errors = {name: _error(found.error) for name, found in result.candidates.items() if found.error is not None}
    return json.dumps(
        {
            "versions": result.versions, "timings": result.timings, "candidates": errors,
            "error": _error(result.error) if result.error is not None else None,
        }
    )  # fmt: skip


def _error(error: SchedproofError) -> dict[str, str]:
    return {"message": error.message, "remedy": error.remedy}


class Instances:
    """Collects verdicts and results of instances, and completes the result of the run at its end."""

    def __init__(self, result: RunResult) -> None:
        self._result = result
        self._verdicts: dict[tuple[str, str], dict[int, Verdict]] = collections.defaultdict(dict)

    def add(self, judged: Judged) -> None:
        """Add the verdict of an instance."""
        self._verdicts[judged.candidate, judged.verdict.clause][judged.verdict.instance] = judged.verdict

    def add_result(self, text: str) -> None:
        """Add the output of `dump_result`. Instances start concurrently, so the longest timing counts."""
        dumped: Mapping[str, Any] = json.loads(text)
        self._result.versions |= dumped["versions"]
        for name, seconds in dumped["timings"].items():
            self._result.timings[name] = max(seconds, self._result.timings.get(name, 0.0))
        for name, error in dumped["candidates"].items():
            self._result.candidates[name].error = CandidateError(error["message"], remedy=error["remedy"])
        if (error := dumped["error"]) is not None:
            self._result.fail(HostError(error["message"], remedy=error["remedy"]))

    def finish(self) -> None:
        """Give each candidate its verdicts, in the order in which they were selected."""
        for candidate in self._result.candidates.values():
            tried = [self._verdicts[candidate.candidate.name, clause] for clause in candidate.selected]
            candidate.verdicts = [self._together(candidate, list(found.values())) for found in tried if found]

    def _together(self, candidate: CandidateResult, found: list[Verdict]) -> Verdict:
        def histories() -> list[History]:
            homes = instance_folders(self._result.folder / "candidates" / candidate.candidate.name)
            return [History(load_records(homes[verdict.instance])) for verdict in found]

        return merge(found, histories)


def merge_shards(folders: Sequence[Path], report: Path) -> tuple[RunResult, list[Shard]]:
    """Put the evidence of shards into one folder, and judge it as one run.

    Returns:
        The result, in which clauses of missing shards are untried, and the shards that are missing.

    Raises:
        UsageError: these are not shards of one run, or `report` holds evidence already.
        HostError: the folder cannot be written.
    """
    shards: dict[Shard, Path] = {}
    headers: dict[str, tuple[Path, Run]] = {}
    for folder in folders:
        found = _shard_of(folder, headers)
        if found in shards:
            raise UsageError(f"{shards[found]} and {folder} are both shard {found}", remedy="give each shard once")
        shards[found] = folder
    counts = {found.count for found in shards}
    if len(counts) > 1:
        raise UsageError(
            f"shards of different numbers: {', '.join(map(str, sorted(shards)))}", remedy="give the shards of one run"
        )
    require_space(report)
    for one, folder in sorted(shards.items()):
        for home in sorted(folder.glob("candidates/*")):
            _add_instances(home, report / "candidates" / home.name)
        if (folder / "cluster").exists():
            shutil.copytree(folder / "cluster", report / "cluster" / f"shard-{one.number}")
    missing = {Shard(number + 1, count) for count in counts for number in range(count)} - {*shards}
    return rejudge(report, of_all_shards=True), sorted(missing)


def _shard_of(folder: Path, headers: dict[str, tuple[Path, Run]]) -> Shard:
    """The shard that a folder has the evidence of. `headers`: of candidates of other shards, which it must match."""
    found: set[str] = set()
    for home in sorted(folder.glob("candidates/*")):
        for path in instance_folders(home).values():
            history = History(load_records(path))
            found |= {record.shard for record in history.of(Selected)}
            other, header = headers.setdefault(home.name, (folder, history.run))
            if differing := _differing(header, history.run):
                raise UsageError(
                    f"{other} and {folder} are not of one run: {', '.join(differing)} of {home.name} differ",
                    remedy="give the shards of one run: same candidates, cluster, versions and --seed",
                )
    if len(found) != 1 or found == {""}:
        raise UsageError(
            f"{folder} is not the report of a shard" if found else f"no history in {folder}",
            remedy="give the report folders of runs with --shard",
        )
    return shard(found.pop())


def _differing(one: Run, other: Run) -> list[str]:
    """What two instances of one run have in common, and these do not."""
    same: Mapping[str, bool] = {
        "the seeds": one.seed == other.seed,
        "the versions": one.versions == other.versions,
        "the clusters": (one.cluster.name, len(one.cluster.nodes)) == (other.cluster.name, len(other.cluster.nodes)),
        "the descriptions": one.candidate.model_copy(update={"path": other.candidate.path}) == other.candidate,
    }
    return [name for name, is_same in same.items() if not is_same]


def _add_instances(home: Path, new: Path) -> None:
    """Copy the instances of a candidate to those that are there already."""
    make_private(new.parent)
    folders = instance_folders(home)
    further = {str(number) for number in folders if number > 1}  # in the folder of the first
    for folder in folders.values():
        taken = len(instance_folders(new))
        shutil.copytree(
            folder,
            new / str(taken + 1) if taken else new,
            ignore=lambda where, names: further.intersection(names) if where == str(home) else (),
        )
