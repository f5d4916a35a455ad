"""Where it was measured, what bounds the numbers, how to measure again; and whether candidates keep their promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.verdict import Verdict
from schedproof.report import templating
from schedproof.report.bench.document import METRICS, candidates, trials, typical
from schedproof.report.bench.markup import TableRow, number, table
from schedproof.report.bench.units import data, duration, figures, percent, throughput
from schedproof.report.run.matrix import matrix, told

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ceiling", "conformance", "environment", "reproduce"]


def conformance(document: Any) -> Markup:
    """The matrix of `schedproof run`, and a line for each guarantee that does not hold."""
    judged = {
        one["name"]: [
            Verdict(c["id"], c["level"], c["outcome"], c["summary"], stale=c.get("stale", False))
            for c in one["clauses"]
        ]
        for one in document.get("conformance") or ()
    }
    if not judged:
        return Markup()
    broken = [(name, one, _guarantee(one)) for name, verdicts in judged.items() for one in verdicts if told(one)]
    return templating.render("bench/conformance.html", matrix=matrix(judged, linked=False), broken=broken)


def environment(document: Any) -> Markup:
    run = document.get("run") or {}
    host = run.get("environment") or {}
    # A dict: versions may name the cluster again.
    facts = dict(
        [
            ("cluster", run.get("cluster")),
            ("seed", run.get("seed")),
            ("CPU", _cpu(host)),
            ("memory", data(host["memory"]) if host.get("memory") else None),
            ("kernel", host.get("kernel")),
            ("Python", host.get("python")),
            *((name, version) for name, version in (run.get("versions") or {}).items()),
            ("the run took", duration(run.get("seconds")) if run.get("seconds") else None),
            ("ceiling", ceiling(document)),
        ]
    )
    known = {name: value for name, value in facts.items() if value is not None}
    return templating.render("bench/environment.html", facts=known, limits=_limits(document, run))


def ceiling(document: Any) -> str | None:
    """How fast pods can be created and bound here without any decision, and how close the run came to that."""
    limit = ((document.get("run") or {}).get("ceiling") or {}).get("binds_per_second")
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
    return f"{said}; the fastest round here came to {percent(max(reached) / limit)} of that" if reached else said


def reproduce(document: Any) -> Markup:
    command = (document.get("run") or {}).get("command")
    lines = [*([command] if command else []), "benchstat -col /candidate benchstat.txt"]
    return templating.render("bench/reproduce.html", lines=lines)


def _limits(document: Any, run: Any) -> Markup:
    limits = run.get("client_limits") or {}
    rows: list[TableRow] = []
    for name in dict.fromkeys([*candidates(document), *limits]) if limits else ():
        one = limits.get(name) or {}
        shown = [number(one.get(what), figures(one[what]) if what in one else "not known") for what in ("qps", "burst")]
        rows.append([name, *shown])
    caption = "client-side limits towards the apiserver, requests per second"
    return table(caption, ["candidate", "QPS", "burst"], rows) if rows else Markup()


def _cpu(host: Any) -> str | None:
    cores = f"{host['cores']} cores" if host.get("cores") else None
    known: Sequence[str] = [str(part) for part in (cores, host.get("cpu")) if part]
    return ", ".join(known) or None


def _guarantee(verdict: Verdict) -> str:
    clause = CATALOGUE.get(verdict.clause)
    return clause.guarantee if clause is not None else ""
