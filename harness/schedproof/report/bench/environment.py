"""Where it was measured, what bounds the numbers, how to measure again; and whether candidates keep their promises."""

from __future__ import annotations

from markupsafe import Markup

from schedproof.benchmark.results import BenchDocument, MachineSummary
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.verdict import Verdict
from schedproof.report import templating
from schedproof.report.bench.document import METRICS, candidates, trials, typical
from schedproof.report.bench.markup import TableRow, number, table
from schedproof.report.bench.units import data, duration, figures, percent, throughput
from schedproof.report.run.matrix import has_section, matrix


def conformance(document: BenchDocument) -> Markup:
    """The matrix of `schedproof run`, and a line for each guarantee that does not hold."""
    judged = {
        one.name: [
            Verdict(clause.id, clause.level, clause.outcome, clause.summary, stale=clause.stale)
            for clause in one.clauses
        ]
        for one in document.conformance or ()
    }
    if not judged:
        return Markup()
    broken = [(name, one, _guarantee(one)) for name, verdicts in judged.items() for one in verdicts if has_section(one)]
    return templating.render("bench/conformance.html", matrix=matrix(judged, linked=False), broken=broken)


def environment(document: BenchDocument) -> Markup:
    run, host = document.run, document.run.environment
    # A dict: versions may name the cluster again.
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
    """How fast pods can be created and bound here without any decision, and how close the run came to that."""
    limit = document.run.ceiling.binds_per_second if document.run.ceiling is not None else None
    if not limit:
        return None
    reached = [
        value
        for trial in trials(document)
        if trial.mode == "drain"
        for one in trial.measurements
        if (value := typical(one, METRICS["throughput"])) is not None
    ]
    said = f"{throughput(limit)} can be created and bound on this machine without a scheduler"
    return f"{said}; the fastest round here reached {percent(max(reached) / limit)} of that" if reached else said


def reproduce(document: BenchDocument) -> Markup:
    command = document.run.command
    lines = [*([command] if command else []), "benchstat -col /candidate benchstat.txt"]
    return templating.render("bench/reproduce.html", lines=lines)


def _limits(document: BenchDocument) -> Markup:
    limits = document.run.client_limits
    rows: list[TableRow] = []
    for name in dict.fromkeys([*candidates(document), *limits]) if limits else ():
        one = limits.get(name, {})
        shown = [number(one.get(what), figures(one[what]) if what in one else "not known") for what in ("qps", "burst")]
        rows.append([name, *shown])
    caption = "client-side limits towards the apiserver, requests per second"
    return table(caption, ["candidate", "QPS", "burst"], rows) if rows else Markup()


def _cpu(host: MachineSummary) -> str | None:
    cores = f"{host.cores} cores" if host.cores else None
    return ", ".join(part for part in (cores, host.cpu) if part) or None


def _guarantee(verdict: Verdict) -> str:
    clause = CATALOGUE.get(verdict.clause)
    return clause.guarantee if clause is not None else ""
