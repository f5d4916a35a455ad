"""Renders bench.html: one file that needs no network and is readable without scripts."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from schedproof.benchmark.results import BenchDocument
from schedproof.report import templating
from schedproof.report.bench.curves import knees, queries, scaling
from schedproof.report.bench.document import candidates, troubles
from schedproof.report.bench.environment import conformance, environment, reproduce
from schedproof.report.bench.headline import gates, headline
from schedproof.report.bench.panels import panels
from schedproof.report.bench.phases import phases
from schedproof.report.bench.plot import ChartSeries
from schedproof.report.bench.units import duration


def render_bench(document: BenchDocument) -> str:
    """Return the whole page for the document of a bench.json."""
    script = templating.render("bench/page.js")
    return templating.document(
        "bench/page.html",
        names=candidates(document),
        facts="; ".join(fact for fact in _facts(document) if fact),
        troubles=troubles(document),
        sections=[section for section in _sections(document) if section[2]],
        script=script,
        script_digest=templating.digest(script),
    )


def _sections(document: BenchDocument) -> Iterator[tuple[str, str, Markup]]:
    """Yield name, title and content of each section; a section without content is left out of the page."""
    # A candidate looks the same in every chart. The baseline is first, and has the neutral colour.
    series = {name: ChartSeries(name, place) for place, name in enumerate(candidates(document))}
    yield "faster", "Which is faster?", headline(document) + gates(document)
    yield "conformance", "Does it keep its guarantees?", conformance(document)
    yield "trials", "Workload by workload", panels(document, series)
    yield "knee", "How much load does it sustain?", knees(document, series)
    yield "scaling", "How does it grow with nodes?", scaling(document, series)
    yield "phases", "Where does the time go?", phases(document)
    yield "queries", "What does it request?", queries(document, series)
    yield "environment", "Where was this measured?", environment(document)
    yield "reproduce", "How to measure again", reproduce(document)


def _facts(document: BenchDocument) -> Iterator[str]:
    run = document.run
    yield f"cluster {run.cluster}" if run.cluster else ""
    yield f"seed {run.seed}" if run.seed is not None else ""
    yield from (f"{name} {run.versions[name]}" for name in ("schedproof", "kubernetes") if name in run.versions)
    yield f"took {duration(run.seconds)}" if run.seconds else ""
