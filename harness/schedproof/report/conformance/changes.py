"""What changed between two ConformanceReports, in words for a release note."""

from __future__ import annotations

from collections.abc import Iterator

from schedproof.report.conformance.document import ConformanceReport, Profile


def describe(before: ConformanceReport, after: ConformanceReport) -> list[str]:
    """A line for the versions, and the lines of each profile that changed."""
    old, new = before.implementation, after.implementation
    versions = (
        _step(old.version, new.version),
        f"Kubernetes {_step(before.kubernetes.version, after.kubernetes.version)}",
        f"schedproof {_step(before.schedproof.version, after.schedproof.version)}",
    )
    lines = [f"{new.project}: {', '.join(versions)}"]
    earlier = {profile.name: profile for profile in before.profiles}
    later = {profile.name: profile for profile in after.profiles}
    for name in dict.fromkeys((*earlier, *later)):
        changed = list(_of_profile(earlier.get(name), later.get(name)))
        lines += [f"{name}: {changed[0]}", *(f"  {line}" for line in changed[1:])] if changed else []
    gone = {one.clause for one in before.exclusions} - {one.clause for one in after.exclusions}
    added = {one.clause for one in after.exclusions} - {one.clause for one in before.exclusions}
    lines += _listed("no longer excluded", gone) + _listed("excluded now", added)
    return lines if len(lines) > 1 else [*lines, "nothing else changed"]


def newly_failed(before: ConformanceReport, after: ConformanceReport) -> set[str]:
    """The clauses that failed in the later run only."""
    return _failed(after) - _failed(before)


def _failed(report: ConformanceReport) -> set[str]:
    return {failure.clause for profile in report.profiles for failure in profile.failed}


def _of_profile(before: Profile | None, after: Profile | None) -> Iterator[str]:
    """What changed, the result first; nothing if nothing did."""
    if before is None or after is None:
        yield "claimed now" if before is None else "no longer claimed"
        return
    old, new = ({one.clause: one.code for one in profile.failed} for profile in (before, after))
    unproved, doubtful = ({one.clause for one in profile.unproved} for profile in (before, after))
    lines = [
        *_listed("mended", old.keys() - new.keys() - doubtful - {*after.untried}),
        *_listed("fails now", {f"{clause} ({new[clause]})" for clause in new.keys() - old.keys()}),
        *_listed("fails otherwise", {f"{c} ({old[c]}, now {new[c]})" for c in old.keys() & new if old[c] != new[c]}),
        *_listed("not proved now", doubtful - unproved),
        *_listed("proved now", unproved - doubtful - new.keys()),
        *_listed("claimed now", {*after.features.claimed} - {*before.features.claimed}),
        *_listed("no longer claimed", {*before.features.claimed} - {*after.features.claimed}),
    ]
    if lines or before.result != after.result:
        yield _step(before.result, after.result)
        yield from lines


def _step(before: str, after: str) -> str:
    return after if before == after else f"{before} to {after}"


def _listed(what: str, names: set[str]) -> list[str]:
    return [f"{what}: {', '.join(sorted(names))}"] if names else []
