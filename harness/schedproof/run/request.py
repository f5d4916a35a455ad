"""The request for a run: candidates, clauses, profiles and settings, parsed from options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.binaries.resolve import explicit_binaries
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.existing.access import in_cluster
from schedproof.clusters.kinds import KINDS
from schedproof.deploy.install import require_served
from schedproof.deploy.plugin_build.own_pins import minor_of
from schedproof.documents.suggestions import did_you_mean
from schedproof.foundation.errors import UsageError
from schedproof.foundation.private import new_results
from schedproof.foundation.progress import ConsoleProgress
from schedproof.judge.catalogue import CATALOGUE, find_clause
from schedproof.judge.claimable import CLAIMABLE
from schedproof.judge.judge import why_unclaimed
from schedproof.normalization.effort import Effort
from schedproof.run.candidates import find_candidates
from schedproof.run.durations import Durations
from schedproof.run.launch import Settings
from schedproof.run.options import CLUSTER_OPTIONS, Shard, given
from schedproof.run.plan import as_tried, is_selected, part

_OWN_IN_REPRODUCTION = frozenset({"clause", "profile", "shard", "seed", "report", "fail-fast"})


def _own_minor(candidates: Sequence[Candidate], options: Mapping[str, Any]) -> str | None:
    """The minor version of a plugin with `pins: own`, which the cluster has as well if nothing else is asked for.

    Raises:
        UsageError: several plugins have pins of several versions.
        CandidateError: a plugin's version cannot be found out, or is not pinned.
    """
    kind = KINDS.get(options["cluster"])
    if options["cluster_file"] is not None or kind is None or "kubernetes" not in kind.options:
        return None
    minors = {
        candidate.name: minor_of(candidate.spec, name=candidate.name, progress=ConsoleProgress())
        for candidate in candidates
        if isinstance(candidate.spec, PluginSpec) and candidate.spec.pins == "own"
    }
    if len(set(minors.values())) > 1:
        named = ", ".join(f"{name} {minor}" for name, minor in minors.items())
        raise UsageError(
            f"the candidates have pins of several versions of Kubernetes: {named}",
            remedy="run them one by one, or name the cluster's version: --kubernetes MINOR",
        )
    return next(iter(minors.values()), None)


@dataclasses.dataclass(frozen=True)
class RunRequest:
    """What a run is asked for, read once: by the command line, or from pytest's options.

    `clauses` and `profiles` select what is tried; where both are empty, that is all that is claimed.
    """

    candidates: Sequence[Candidate]
    settings: Settings
    clauses: Sequence[str] = ()
    profiles: Sequence[str] = ()
    only: frozenset[str] = frozenset()
    """Clauses that are tried instead, if any."""
    shard: Shard | None = None
    """The part of these that is tried; None: all."""
    untried: frozenset[tuple[str, str]] | None = None
    """The names of candidates and clauses that an interrupted run has left, and that are tried instead; None: no run is
    resumed.
    """

    @classmethod
    def from_options(cls, value_of: Callable[[str], Any], candidates: Sequence[str], folder: Path) -> RunRequest:
        """Read the candidates and the options.

        Args:
            value_of: an option's value, by its name in `options.OPTIONS`.
            candidates: files, folders, or names of shipped ones.
            folder: where results go, if no option names a place.

        Raises:
            UsageError: a candidate, an option, or what they ask for together is wrong.
        """
        found = as_tried(find_candidates(candidates), value_of("window"))
        report, seed = value_of("report"), value_of("seed")
        if seed is None and value_of("shard") is not None:
            raise UsageError(
                "--shard needs --seed: shards of one run have one seed",
                remedy="give each shard the same number, such as the id of the CI run",
            )
        options = {option.name.replace("-", "_"): value_of(option.name) for option in CLUSTER_OPTIONS}
        options["kubernetes"] = options["kubernetes"] or _own_minor(found, options)
        settings = Settings(
            # What a failure says to type: the same options, but for what it names itself.
            options=tuple(given(value_of, prefix="", without=_OWN_IN_REPRODUCTION)),
            report=(report or folder / new_results()).absolute(),
            effort=Effort(
                value_of("cases") or Effort.profile, tuple(value_of("surface")), value_of("replay") or "",
                value_of("worlds"),
            ),
            **options,
            binaries=explicit_binaries(value_of("binary")),
            allow_skipped=value_of("allow-skipped"), keep_going=value_of("keep-going"),
            fail_fast=value_of("fail-fast"),
            **({} if seed is None else {"seed": seed}),
        )  # fmt: skip
        request = cls(found, settings, tuple(value_of("clause")), tuple(value_of("profile")), shard=value_of("shard"))
        request.check()
        return request

    def selects(self, clause: str) -> bool:
        """Whether a clause is asked for."""
        if self.untried is not None:
            return any(left == clause for _, left in self.untried)
        return clause in self.only if self.only else is_selected(clause, self.clauses, self.profiles)

    @property
    def trials(self) -> list[tuple[Candidate, str]]:
        """What of the catalogue is tried on which candidate."""
        selected = [clause for clause in CATALOGUE if self.selects(clause)]
        trials = [(candidate, clause) for candidate in self.candidates for clause in selected]
        tried = self.part(trials)
        return [(candidate, clause) for candidate, clause in trials if (candidate.name, clause) in tried]

    def part(self, trials: Sequence[tuple[Candidate, str]]) -> Collection[tuple[str, str]]:
        """The names of candidates and clauses that are tried of these."""
        if self.untried is not None:
            return self.untried
        if self.shard is None:
            return {(candidate.name, clause) for candidate, clause in trials}
        return part(self.shard, trials, Durations(self.settings.effort))

    def check(self) -> None:
        """Refuse requests that cannot be judged, before anything is started: a run that tries nothing would look fine.

        Raises:
            UsageError: there is no such clause or profile, a candidate is not held to it, or two have one name.
        """
        for clause in self.clauses:
            find_clause(clause)
        known = sorted(CLAIMABLE.profiles)
        for profile in self.profiles:
            if profile not in known:
                raise UsageError(f"no clauses of a profile {profile!r}", remedy=did_you_mean(profile, known))
        for candidate in self.candidates:
            self._check_kind(candidate)
            if "pod" not in self.settings.kind.deploys:
                require_served(candidate)
            self._check_claims(candidate)
        names = sorted(candidate.name for candidate in self.candidates)
        if len(set(names)) < len(names):
            raise UsageError(
                f"two candidates have the same name: {', '.join(names)}",
                remedy="metadata.name tells them apart in the report",
            )

    def _check_kind(self, candidate: Candidate) -> None:
        if candidate.kind == "attached" and not self.settings.kind.attaches:
            fitting = [name for name, kind in KINDS.items() if kind.attaches]
            raise UsageError(
                f"{candidate.path}: {candidate.name} runs already (spec.attached), which none does in a cluster that "
                f"the run starts (--cluster {self.settings.kind.name})",
                remedy=f"name the cluster in which it runs: --cluster {' or '.join(fitting)} --kubeconfig FILE",
            )

        in_pod = in_cluster() and self.settings.kind.attaches and self.settings.kubeconfig is None
        if in_pod and candidate.kind != "attached" and self.settings.deployed == "process":
            raise UsageError(
                f"{candidate.path}: in the pod of a cluster, {candidate.name} cannot run as a process of the harness",
                remedy="--deploy pod, with an image of the candidate (spec.image.ref)",
            )

    def _check_claims(self, candidate: Candidate) -> None:
        for profile in self.profiles:
            if profile not in candidate.claims.profiles:
                raise UsageError(
                    f"{candidate.name} does not claim the profile {profile}, so none of its clauses would be tried",
                    remedy=f"add {profile} to spec.claims.profiles in {candidate.path}, or leave it out",
                )
        for clause in self.clauses:
            if why := why_unclaimed(CATALOGUE[clause], candidate.claims):
                raise UsageError(
                    f"{candidate.name} is not judged by {clause}: {why}",
                    remedy=f"claim it in spec.claims of {candidate.path}, or leave it out",
                )

    def check_several_clusters(self) -> None:
        """Refuse several clusters where only one is possible.

        Raises:
            UsageError: that is so.
        """
        if why := self.settings.kind.single:
            raise UsageError(why, remedy="leave out -n (--jobs)")
        if self.settings.keep_cluster or self.settings.cluster_name:
            raise UsageError(
                "several clusters cannot have one name", remedy="leave out -n (--jobs), or the cluster's name"
            )
