"""Merges the results of several instances of a run, each in a process and a cluster of its own, into one result.

Instances of one run are processes of one machine; those of its shards may have been on several.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.foundation.disk import writing_report
from schedproof.foundation.errors import CandidateError, HostError, SchedproofError, UsageError
from schedproof.foundation.private import make_private
from schedproof.history.acts import Run, RunCandidate, Selected
from schedproof.history.history import History
from schedproof.history.saved import load_records
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import judge_all, merge
from schedproof.judge.verdict import Verdict
from schedproof.run.events import Judged
from schedproof.run.folders import require_space
from schedproof.run.options import Shard, shard
from schedproof.run.rejudge import instance_folders, rejudge
from schedproof.run.result import CandidateResult, RunResult

_PART = "resumed"


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
    with writing_report(report):
        for one, folder in sorted(shards.items()):
            for home in sorted(folder.glob("candidates/*")):
                _add_instances(home, report / "candidates" / home.name)
            if (folder / "cluster").exists():
                shutil.copytree(folder / "cluster", report / "cluster" / f"shard-{one.number}")
    missing = {Shard(number + 1, count) for count in counts for number in range(count)} - {*shards}
    return rejudge(report, of_all_shards=True), sorted(missing)


@dataclasses.dataclass(frozen=True)
class Interrupted:
    """A run that was interrupted.

    untried: the names of candidates and clauses that it has left, with what is judged over all of a run.
    """

    seed: int
    cluster: str
    untried: frozenset[tuple[str, str]]


def interrupted(folder: Path, candidates: Sequence[Candidate]) -> Interrupted:
    """Read what a run has left, to go on with it.

    Raises:
        UsageError: it has no evidence, is complete, or was of other candidates.
    """
    _adopt_left(folder)
    untried: set[tuple[str, str]] = set()
    asked: set[str] = set()
    run: Run | None = None
    homes = [path for path in sorted(folder.glob("candidates/*")) if instance_folders(path)]
    for home in homes:
        histories = {number: History(load_records(path)) for number, path in instance_folders(home).items()}
        run = next(iter(histories.values())).run
        candidate = next((one for one in candidates if one.name == home.name), None)
        if candidate is None or not _same(RunCandidate.model_validate(candidate.as_dict()), run.candidate):
            what = "is not given" if candidate is None else "has changed since"
            raise UsageError(
                f"{folder} is the report of a run of {home.name}, which {what}",
                remedy="give the same candidates, or begin a new run without --resume",
            )
        verdicts = judge_all(histories)
        asked |= {verdict.clause for verdict in verdicts}
        left = {
            verdict.clause for verdict in verdicts
            if verdict.code == "cut-short" and not any(one.ended(verdict.clause) for one in histories.values())
        }  # fmt: skip
        if left:
            left |= {clause for clause in asked if CATALOGUE[clause].always}
        untried |= {(home.name, clause) for clause in left}
    not_begun = {candidate.name for candidate in candidates} - {home.name for home in homes}
    untried |= {(name, clause) for name in not_begun for clause in asked}
    if run is None or not untried:
        raise UsageError(
            f"no history in {folder}" if run is None else f"the run of {folder} is complete",
            remedy="give the report folder of an interrupted run"
            if run is None
            else f"`schedproof judge {folder}` judges it again",
        )
    return Interrupted(run.seed, run.cluster.name, frozenset(untried))


def new_part(folder: Path) -> Path:
    """A folder for the evidence of what a resumed run tries, until `add_part` adds it to that of the run."""
    return folder / _PART


def add_part(folder: Path) -> RunResult:
    """Add the evidence in `new_part` to that of the run, and judge all of it.

    Raises:
        UsageError: it is not of the same cluster and versions. It stays where it is.
    """
    _adopt_left(folder)
    return rejudge(folder)


def _adopt_left(folder: Path) -> None:
    """Add evidence that a resumed run, or one that was killed, has left in `new_part`."""
    part = folder / _PART
    homes = sorted(part.glob("candidates/*"))
    for home in homes:
        there = [*instance_folders(folder / "candidates" / home.name).values()]
        first, *others = (History(load_records(path)).run for path in (*there[:1], *instance_folders(home).values()))
        for other in others:
            if differing := _differing(first, other):
                raise UsageError(
                    f"{part} is not of the run in {folder}: {', '.join(differing)} of {home.name} differ",
                    remedy=f"begin a new run without --resume, or remove {part}",
                )
    with writing_report(folder):
        for home in homes:
            _add_instances(home, folder / "candidates" / home.name)
        number = len([*folder.glob("cluster/resumed-*")]) + 1
        if (part / "cluster").exists():
            shutil.copytree(part / "cluster", folder / "cluster" / f"resumed-{number}")
        if part.exists():
            shutil.rmtree(part)


def _shard_of(folder: Path, headers: dict[str, tuple[Path, Run]]) -> Shard:
    """The shard that a folder has the evidence of. `headers`: of candidates of other shards, which it must match."""
    found: set[str] = set()
    for home in sorted(folder.glob("candidates/*")):
        for path in instance_folders(home).values():
            history = History(load_records(path))
            # A shard that was resumed has further instances, which name none.
            found |= {record.shard for record in history.of(Selected) if record.shard}
            other, header = headers.setdefault(home.name, (folder, history.run))
            if differing := _differing(header, history.run):
                raise UsageError(
                    f"{other} and {folder} are not of one run: {', '.join(differing)} of {home.name} differ",
                    remedy="give the shards of one run: same candidates, cluster, versions and --seed",
                )
    if len(found) != 1:
        raise UsageError(
            f"{folder} is not the report of a shard", remedy="give the report folders of runs with --shard"
        )
    return shard(found.pop())


def _differing(one: Run, other: Run) -> list[str]:
    """What two instances of one run have in common, and these do not."""
    same: Mapping[str, bool] = {
        "the seeds": one.seed == other.seed,
        "the versions": one.versions == other.versions,
        "the clusters": (one.cluster.name, len(one.cluster.nodes)) == (other.cluster.name, len(other.cluster.nodes)),
        "the descriptions": _same(one.candidate, other.candidate),
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


def _same(one: RunCandidate, other: RunCandidate) -> bool:
    """Whether a candidate is described alike, in whichever folder."""
    return one.model_copy(update={"path": other.path}) == other
