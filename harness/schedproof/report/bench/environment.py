"""The page's sections on conformance, the machine, the limits of the numbers, and how to measure again."""

from __future__ import annotations

from markupsafe import Markup

from schedproof.benchmark.results import BenchDocument, MachineSummary
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.verdict import ClauseOutcome
from schedproof.report import templating
from schedproof.report.bench.document import METRICS, candidates, trials, typical
from schedproof.report.bench.markup import TableRow, number, table
from schedproof.report.bench.units import data, duration, figures, percent, throughput
from schedproof.report.run.matrix import has_section, matrix


def conformance(document: BenchDocument) -> Markup:
    """Show the matrix of `schedproof run`, and a line for each verdict that failed, is invalid, excluded or stale."""
    judged = {candidate.name: candidate.clauses for candidate in document.conformance or ()}
    if not judged:
        return Markup()
    broken = [
        (name, verdict, _guarantee(verdict))
        for name, verdicts in judged.items()
        for verdict in verdicts
        if has_section(verdict)
    ]
    return templating.render("bench/conformance.html", matrix=matrix(judged, linked=False), broken=broken)


def environment(document: BenchDocument) -> Markup:
    run, host = document.run, document.run.environment
    # In a dict, because `versions` may contain the cluster too.
    facts = dict(
        [
            ("cluster", run.cluster),
            ("seed", run.seed),
            ("CPU", _cpu(host)),
            ("memory", data(host.memory) if host.memory else None),
            ("kernel", host.kernel),
            ("Python", host.python),
            *run.versions.items(),
            ("the run took", duration(run.seconds) if run.seconds else None),
            ("ceiling", ceiling(document)),
        ]
    )
    known = {name: value for name, value in facts.items() if value is not None}
    return templating.render("bench/environment.html", facts=known, limits=_limits(document))


def ceiling(document: BenchDocument) -> str | None:
    """Describe the machine's rate of pods without scheduling decisions, and the share of it that the run reached."""
    limit = document.run.ceiling.binds_per_second if document.run.ceiling is not None else None
    if not limit:
        return None
    reached = [
        value
        for trial in trials(document)
        if trial.mode == "drain"
        for measured in trial.measurements
        if (value := typical(measured, METRICS["throughput"])) is not None
    ]
    text = f"{throughput(limit)} can be created and bound on this machine without a scheduler"
    return f"{text}; the fastest candidate here reached {percent(max(reached) / limit)} of that" if reached else text


def reproduce(document: BenchDocument) -> Markup:
    command = document.run.command
    lines = [*([command] if command else []), "benchstat -col /candidate benchstat.txt"]
    return templating.render("bench/reproduce.html", lines=lines)


def _limits(document: BenchDocument) -> Markup:
    limits = document.run.client_limits
    rows: list[TableRow] = []
    for name in dict.fromkeys([*candidates(document), *limits]) if limits else ():
        known = limits.get(name, {})
        shown = [
            number(known.get(limit), figures(known[limit]) if limit in known else "not known")
            for limit in ("qps", "burst")
        ]
        percentage = document.run.nodes_to_score.get(name)
        rows.append([name, *shown, number(percentage, "not set" if percentage == 0 else figures(percentage))])
    caption = "client-side rate limits towards the apiserver, requests per second, and percentageOfNodesToScore"
    return table(caption, ["candidate", "QPS", "burst", "nodes to score, %"], rows) if rows else Markup()


def _cpu(host: MachineSummary) -> str | None:
    cores = f"{host.cores} cores" if host.cores else None
    return ", ".join(part for part in (cores, host.cpu) if part) or None


def _guarantee(verdict: ClauseOutcome) -> str:
    clause = CATALOGUE.get(verdict.clause)
    return clause.guarantee if clause is not None else ""
