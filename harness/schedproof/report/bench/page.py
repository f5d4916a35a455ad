"""bench.html: one file that needs no network and can be read without scripts."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from schedproof.report.bench.curves import knees, queries, scaling
from schedproof.report.bench.document import candidates, troubles
from schedproof.report.bench.environment import conformance, environment, reproduce
from schedproof.report.bench.headline import gates, headline
from schedproof.report.bench.markup import text
from schedproof.report.bench.panels import panels
from schedproof.report.bench.phases import phases
from schedproof.report.bench.plot import Series
from schedproof.report.bench.units import duration
from schedproof.report.style import STYLE

__all__ = ["render_bench"]

_HERE = Path(__file__).parent


def render_bench(document: Any) -> str:
    """The whole page, of bench.json's document (`schedproof.bench/v1`)."""
    names = candidates(document)
    # A candidate looks the same in every chart; the baseline, which comes first, is neutral.
    series = {name: Series(name, place) for place, name in enumerate(names)}
    sections = [
        ("faster", "Who is faster?", headline(document) + gates(document)),
        ("conformance", "Does it keep its promises?", conformance(document)),
        ("trials", "Workload by workload", panels(document, series)),
        ("knee", "How much can arrive?", knees(document, series)),
        ("scaling", "How does it grow with nodes?", scaling(document, series)),
        ("phases", "Where does the time go?", _tapped(phases(document))),
        ("queries", "What does it ask?", _tapped(queries(document, series))),
        ("environment", "Where was this measured?", environment(document)),
        ("reproduce", "How to measure again", reproduce(document)),
    ]
    sections = [section for section in sections if section[2]]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in sections)
    shown = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-head"><h2 id="{name}-head">{title}</h2>{content}</section>'
        for name, title, content in sections
    )
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        f"<title>schedproof bench: {text(', '.join(names))}</title>"
        f"<style>{STYLE}{(_HERE / 'page.css').read_text(encoding='utf-8')}</style></head><body>\n"
        f"<header><h1>{_title(names)}</h1>{_facts(document)}"
        f'<nav aria-label="sections"><ul>{links}</ul></nav></header>\n'
        f"<main>{shown}</main>\n<script>{script}</script>\n</body></html>\n"
    )


def _policy(script: str) -> str:
    """Nothing is fetched, and no script runs but ours, whatever a candidate calls itself."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _title(names: list[str]) -> str:
    return "schedproof bench" + (f": {text(', '.join(names))}" if names else "")


def _facts(document: Any) -> str:
    run = document.get("run") or {}
    facts = [f"cluster {run['cluster']}" if run.get("cluster") else "", f"seed {run['seed']}" if "seed" in run else ""]
    versions = run.get("versions") or {}
    facts += [f"{name} {versions[name]}" for name in ("schedproof", "kubernetes") if name in versions]
    facts += [f"took {duration(run['seconds'])}"] if run.get("seconds") else []
    alerts = "".join(
        f'<p class="alert" role="alert"><b>Not all was measured:</b> {text(said)}</p>' for said in troubles(document)
    )
    return f'<p class="dim">{text("; ".join(fact for fact in facts if fact))}</p>{alerts}'


def _tapped(content: str) -> str:
    said = '<p class="note">Measured in a separate pass, with taps on the lines; the timed rounds have none.</p>'
    return said + content if content else ""
