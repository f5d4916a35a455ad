"""Verifies ConformanceReports: by themselves, and by the evidence of their runs, which is judged again."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pydantic
import yaml

from schedproof import __version__
from schedproof.candidate.descriptor.descriptor import is_fixed
from schedproof.candidate.profiles import PROFILES, profile_of
from schedproof.documents.part import first_wrong
from schedproof.documents.problems import Problem
from schedproof.documents.reading import raw
from schedproof.documents.yaml_source import read_document
from schedproof.foundation.errors import UsageError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.claimable import CLAIMABLE
from schedproof.judge.verdict import OUTDATED
from schedproof.report.conformance.document import ConformanceReport, Profile
from schedproof.report.conformance.writing import catalogue_digest, conformance_report
from schedproof.run.rejudge import rejudge

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LATER = datetime.timedelta(days=1)
"""How far ahead of this machine's clock a run may be dated."""


@dataclasses.dataclass(frozen=True)
class Verified:
    """What became of a report. Without `problems`, it says what it should; with evidence, what it says is so."""

    report: ConformanceReport
    problems: list[str]
    judged: bool
    """Whether its evidence was judged again."""


def verify(path: Path, evidence: Path | None = None) -> Verified:
    """Verify a report.

    Args:
        path: the report.
        evidence: the folder of the run's report, or of the candidate in it. None: the report is compared with itself.

    Raises:
        UsageError: there is no such file, it is not a ConformanceReport, or it is of another catalogue of clauses than
            this version's; the evidence is none, or cannot be judged by this version.
    """
    report = load_conformance(path)
    if evidence is None:
        return Verified(report, list(problems(report)), judged=False)
    if report.schedproof.catalogue != catalogue_digest():
        raise UsageError(
            f"{path}: made by another catalogue of clauses than that of this version ({__version__})",
            remedy=f"verify it with the version that made it: {report.schedproof.version}",
        )
    again = conformance_report(rejudge(evidence))
    found = [*problems(report), *_differences(report.as_dict(), again.as_dict())]
    return Verified(report, found, judged=True)


def load_conformance(path: Path) -> ConformanceReport:
    """Read a report.

    Raises:
        UsageError: it cannot be read, or is none.
    """
    found: list[Problem] = []
    document = raw(read_document(path, found))
    try:
        if found:
            raise UsageError(f"{path}: {found[0].message}", remedy=found[0].fix)
        return ConformanceReport.model_validate(document)
    except pydantic.ValidationError as error:
        raise UsageError(
            f"{path}: expected a ConformanceReport: {first_wrong(error)}",
            remedy="`schedproof run --conformance FILE` writes one; `schedproof schema conformance` describes it",
        ) from error


def problems(report: ConformanceReport) -> Iterator[str]:
    """What is wrong with a report by itself: numbers, outcomes and names that contradict each other."""
    yield from _dates(report)
    for name, digest in (
        ("schedproof.catalogue", report.schedproof.catalogue), ("evidence.digest", report.evidence.digest),
        ("implementation.configuration", report.implementation.configuration),
    ):  # fmt: skip
        if not _DIGEST.fullmatch(digest):
            yield f"{name}: not a digest: {digest!r}"
    for name in ("organization", "project", "version"):
        if not getattr(report.implementation, name).strip():
            yield f"implementation.{name}: empty"
    if not is_fixed(report.implementation.version):
        yield f"implementation.version: {report.implementation.version} is no tag, commit or digest"
    names = [profile.name for profile in report.profiles]
    if names != [name for name in PROFILES if name in names]:
        yield f"profiles: {', '.join(names)}: expected each once, of {', '.join(PROFILES)}, in this order"
    same_catalogue = report.schedproof.catalogue == catalogue_digest()
    for profile in report.profiles:
        for problem in _of_profile(profile, report, same_catalogue=same_catalogue):
            yield f"profiles.{profile.name}: {problem}"


def _dates(report: ConformanceReport) -> Iterator[str]:
    try:
        moment = datetime.datetime.strptime(report.date, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.UTC)
    except ValueError:
        yield f"date: expected a time such as 2027-06-30T12:00:00Z, found {report.date!r}"
        return
    if moment > datetime.datetime.now(datetime.UTC) + _LATER:
        yield f"date: {report.date} has not come yet"


def _of_profile(profile: Profile, report: ConformanceReport, *, same_catalogue: bool) -> Iterator[str]:
    counts = profile.statistics
    if any(count < 0 for count in counts.values()):
        yield "statistics: a number is negative"
    # A clause that passes although it is excluded counts as passed, and is listed as well.
    failed = [failure for failure in profile.failed if failure.code != OUTDATED]
    for name, number, listed in (
        ("failed", counts.get("failed", 0), len(failed)),
        ("invalid and skipped", counts.get("invalid", 0) + counts.get("skipped", 0), len(profile.unproved)),
    ):
        if number != listed:
            yield f"statistics: {number} {name}, but {listed} are listed"
    expected = _result_of(profile)
    if profile.result != expected:
        yield f"result: {profile.result}, but by what is listed it is {expected}"
    if same_catalogue:
        yield from _unknown(profile)
        members = sum(profile_of(clause) == profile.name for clause in CATALOGUE)
        if (total := sum(counts.values()) + len(profile.untried)) > members:
            yield f"statistics: {total} clauses, but the profile has {members}"
    excluded = sum(profile_of(exclusion.clause) == profile.name for exclusion in report.exclusions)
    if counts.get("excluded", 0) > excluded:
        yield f"statistics: {counts['excluded']} excluded, but exclusions lists {excluded}"


def _result_of(profile: Profile) -> str:
    if any(failure.level == "required" or failure.code == OUTDATED for failure in profile.failed):
        return "failure"
    left = [*(one.clause for one in profile.unproved), *profile.untried]
    required = any(clause not in CATALOGUE or CATALOGUE[clause].level == "required" for clause in left)
    return "partial" if required or profile.statistics.get("excluded", 0) else "success"


def _unknown(profile: Profile) -> Iterator[str]:
    clauses = [
        *(failure.clause for failure in profile.failed), *(one.clause for one in profile.unproved), *profile.untried,
    ]  # fmt: skip
    for clause in clauses:
        if clause not in CATALOGUE or profile_of(clause) != profile.name:
            yield f"{clause}: no clause of this profile"
    for failure in profile.failed:
        if failure.clause in CATALOGUE and failure.level != CATALOGUE[failure.clause].level:
            yield f"{failure.clause}: is {CATALOGUE[failure.clause].level}"
    for feature in (*profile.features.claimed, *profile.features.unclaimed):
        if feature not in CLAIMABLE.features:
            yield f"no feature {feature}"


def _differences(stated: Mapping[str, Any], shown: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Where a report differs from what its evidence shows."""
    for name in dict.fromkeys((*stated, *shown)):
        its, other = stated.get(name), shown.get(name)
        if its == other:
            continue
        if isinstance(its, dict) and isinstance(other, dict):
            yield from _differences(its, other, f"{at}{name}.")
        elif name == "profiles" and isinstance(its, list) and isinstance(other, list):
            yield from _differences(_by_name(its), _by_name(other), f"{at}{name}.")
        else:
            yield f"{at}{name}: {_said(its)}, but the evidence shows {_said(other)}"


def _by_name(profiles: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {profile["name"]: profile for profile in profiles}


def _said(value: Any) -> str:
    return "nothing" if value is None else yaml.safe_dump(value, default_flow_style=True, width=10_000).split("\n")[0]
