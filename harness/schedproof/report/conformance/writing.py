"""Makes a ConformanceReport of a run from its verdicts and the first records of its evidence."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pydantic

from schedproof.candidate.descriptor.descriptor import Implementation
from schedproof.candidate.profiles import PROFILES, profile_of
from schedproof.clusters.kinds import KINDS
from schedproof.documents.reading import adapter
from schedproof.foundation.errors import UsageError
from schedproof.history.acts import Run
from schedproof.history.saved import FILE, load_first
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.claimable import CLAIMABLE
from schedproof.judge.verdict import Verdict
from schedproof.report.conformance.document import (
    API_VERSION,
    ConformanceReport,
    Evidence,
    Excluded,
    Failure,
    Features,
    Harness,
    Kubernetes,
    Profile,
    Scheduler,
    Unproved,
)
from schedproof.run.rejudge import instance_folders
from schedproof.run.result import CandidateResult, RunResult, profile_results

_ADD = (
    "add it to metadata: implementation: {organization: ..., project: ..., url: ..., version: ...}; --release VERSION "
    "names the version of one run"
)


def conformance_report(result: RunResult) -> ConformanceReport:
    """Describe a run of one candidate. Its evidence is read for digests and for what it says of itself.

    Raises:
        UsageError: there are several candidates, or the candidate does not say what it is.
    """
    tested = _only(result)
    home = result.folder / "candidates" / tested.candidate.name
    folders = instance_folders(home) or instance_folders(result.folder)
    if not folders:
        raise UsageError(f"no history of {tested.candidate.name} in {result.folder}", remedy="run the candidate again")
    run = load_first(next(iter(folders.values())))
    about = _implementation(run, str(home))
    return ConformanceReport(
        apiVersion=API_VERSION,
        kind="ConformanceReport",
        date=datetime.datetime.fromtimestamp(run.epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        schedproof=Harness(version=str(run.versions.get("schedproof", "")), catalogue=catalogue_digest()),
        kubernetes=Kubernetes(
            version=str(run.versions.get("kubernetes", run.cluster.minor)), featureGates=run.cluster.feature_gates,
            cluster=run.cluster.name,
        ),
        implementation=Scheduler(
            organization=about.organization, project=about.project, url=about.url, version=about.version or "",
            kind=run.candidate.kind, configuration=_configuration_digest(run),
        ),
        profiles=list(_profiles(tested, run)),
        exclusions=[Excluded.model_validate(_given(exclusion)) for exclusion in run.candidate.exclusions],
        seed=run.seed,
        machine=dict(run.machine),
        evidence=Evidence(digest=evidence_digest(folders), reproduce=_reproduce(tested, run)),
    )  # fmt: skip


def catalogue_digest() -> str:
    """The digest of what candidates are judged by: of each clause its id, level, features and guarantee."""
    return _digest(
        [[clause.id, clause.level, sorted(clause.features), clause.guarantee] for clause in CATALOGUE.values()]
    )


def evidence_digest(folders: dict[int, Path]) -> str:
    """The digest of the histories of a candidate's instances: of a line for each, `NUMBER SHA256`, in their order."""
    lines = []
    for number, folder in sorted(folders.items()):
        with (folder / FILE).open("rb") as file:
            lines.append(f"{number} {hashlib.file_digest(file, 'sha256').hexdigest()}\n")
    return f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def _only(result: RunResult) -> CandidateResult:
    if len(result.candidates) != 1:
        raise UsageError(
            f"a conformance report is of one candidate; this run has {len(result.candidates)}",
            remedy="run them one by one, each with a file of its own",
        )
    return next(iter(result.candidates.values()))


def stated(about: Implementation | None, where: str) -> Implementation:
    """What a candidate says it is; `where` it should say so.

    Raises:
        UsageError: it does not, or leaves out its version.
    """
    if about is None or not about.version:
        missing = "what it is" if about is None else "its version"
        raise UsageError(f"{where}: candidate.yaml does not say {missing}", remedy=_ADD)
    return about


def _implementation(run: Run, home: str) -> Implementation:
    found = None
    with contextlib.suppress(pydantic.ValidationError):
        found = adapter(Implementation).validate_python((run.candidate.model_extra or {}).get("implementation"))
    return stated(found, home)


def _given(exclusion: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in exclusion.items() if value is not None}


def _profiles(tested: CandidateResult, run: Run) -> Iterator[Profile]:
    results = profile_results(tested.verdicts)
    left_out = [*tested.untried, *tested.not_asked_for]
    features = set(run.candidate.claims.get("features", ()))
    for name in PROFILES:
        if name not in results and name not in run.candidate.claims.get("profiles", ()):
            continue
        members = [verdict for verdict in tested.verdicts if verdict.profile == name]
        untried = [clause for clause in CATALOGUE if clause in left_out and profile_of(clause) == name]
        known = sorted(
            feature
            for feature, clauses in CLAIMABLE.features.items()
            if any(profile_of(clause) == name for clause in clauses)
        )
        result = results[name].result if name in results else "partial"
        counts = results[name].statistics if name in results else {}
        yield Profile(
            name=name,
            result="partial" if result == "success" and any(map(_is_required, untried)) else result,
            statistics={str(outcome): count for outcome, count in sorted(counts.items())},
            features=Features(
                claimed=[feature for feature in known if feature in features],
                unclaimed=[feature for feature in known if feature not in features],
            ),
            failed=list(_failures(members)),
            unproved=[
                Unproved(clause=verdict.clause, reason=verdict.code or verdict.outcome)
                for verdict in members
                if verdict.outcome in ("invalid", "skipped")
            ],
            untried=untried,
        )


def _is_required(clause: str) -> bool:
    return CATALOGUE[clause].level == "required"


def _failures(verdicts: Sequence[Verdict]) -> Iterator[Failure]:
    for verdict in verdicts:
        if verdict.outcome == "failed" or verdict.stale:
            yield Failure(clause=verdict.clause, code=verdict.code, level=verdict.level)


def _reproduce(tested: CandidateResult, run: Run) -> str:
    """The command, with the options that the evidence shows."""
    cluster, tried = run.cluster, tuple(verdict.clause for verdict in tested.verdicts)
    selection = dataclasses.replace(tested, selected=tried, of_all_shards=()).selection
    values = {"kubernetes": cluster.minor, "nodes": str(len(cluster.nodes))}
    kind = KINDS.get(cluster.name)
    options = [f"--{name}={value}" for name, value in values.items() if kind is not None and name in kind.options]
    return shlex.join(
        ["schedproof", "run", ".", f"--cluster={cluster.name}", *options, *selection, f"--seed={run.seed}"]
    )


def _configuration_digest(run: Run) -> str:
    """The digest of candidate.yaml as it was read, wherever it was."""
    here = str(Path(run.candidate.path).parent)
    described = run.candidate.model_dump(mode="json", by_alias=True, exclude={"path"})
    return _digest(_anywhere(described, here))


def _anywhere(value: Any, here: str) -> Any:
    """A description whose paths do not begin with the folder of candidate.yaml."""
    if isinstance(value, dict):
        return {name: _anywhere(item, here) for name, item in value.items()}
    if isinstance(value, list):
        return [_anywhere(item, here) for item in value]
    return value.replace(here, "{here}") if isinstance(value, str) else value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
