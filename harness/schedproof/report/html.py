"""report.html: the matrix, and each decision that was wrong. One file, no network, no scripts."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

from schedproof.judge.catalogue import CATALOGUE
from schedproof.report.matrix import anchor, matrix, told
from schedproof.report.style import STYLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedproof.judge.verdict import Verdict
    from schedproof.report.result import RunResult

__all__ = ["render"]

_STYLE = (
    STYLE
    + """
tr.chosen td:first-child::after { content: " \\2190 chosen"; color: var(--fail); }
tr.expected td:first-child::after { content: " \\2190 expected"; color: var(--pass); }
tr.chosen.expected td:first-child::after { content: " \\2190 expected, chosen"; color: var(--pass); }
"""
)


def render(result: RunResult) -> str:
    """The whole document."""
    sections = [
        _verdict(result, name, verdict)
        for name, one in result.candidates.items()
        for verdict in one.verdicts
        if told(verdict)
    ]
    errors = [
        f"<h2>{_text(name)} could not be brought up</h2><pre>{_text(str(one.error))}</pre>"
        for name, one in result.candidates.items()
        if one.error is not None
    ]
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>schedproof report</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>schedproof: {_text(', '.join(result.candidates))}</h1>\n"
        f"<p>cluster {_text(result.cluster)}; seed {result.seed}; {_text(versions)}</p>\n"
        + "\n".join(
            [matrix({name: one.verdicts for name, one in result.candidates.items()}, linked=True), *errors, *sections]
        )
        + "\n</body></html>\n"
    )


def _verdict(result: RunResult, name: str, verdict: Verdict) -> str:
    evidence = verdict.evidence
    candidate = result.candidates[name].candidate
    outcome = f'<span class="{verdict.outcome}">{verdict.outcome}</span>'
    parts = [
        f'<h2 id="{anchor(name, verdict)}">{_text(name)}: {verdict.clause} {outcome}</h2>',
        f"<blockquote>{_text(CATALOGUE[verdict.clause].guarantee)}</blockquote><p>{_text(verdict.summary)}</p>",
        *(_decision(decision) for decision in evidence.get("decisions", ())),
        *(_scoring(scoring) for scoring in evidence.get("scorings", ())),
    ]
    if measured := evidence.get("measured"):
        parts.append(f"<p>{_text(', '.join(f'{key}: {value:g}' for key, value in measured.items()))}</p>")
    if events := evidence.get("timeline"):
        parts.append(f"<details open><summary>timeline</summary><pre>{_lines(events)}</pre></details>")
    for log, lines in evidence.get("logs", {}).items():
        parts.append(f"<details><summary>last words of {_text(log)}</summary><pre>{_lines(lines)}</pre></details>")
    parts.append(f"<p>reproduce: <code>{_text(result.reproduce(candidate, verdict.clause))}</code></p>")
    return "\n".join(parts)


def _decision(decision: dict[str, Any]) -> str:
    """A node a row; the traffic as a bar, so that the quietest is seen at a glance."""
    rows = decision["nodes"]
    scorers = sorted({scorer for row in rows for scorer in row["scores"]}, key=lambda s: (s == "total", s))
    most = max((row["traffic"] or 0 for row in rows), default=0)
    head = "".join(f'<th scope="col">{_text(c)}</th>' for c in ("node", "feasible", "traffic B/s", *scorers))
    body = []
    for row in rows:
        marks = " ".join(mark for mark in ("expected", "chosen") if row[mark])
        traffic = "" if row["traffic"] is None else f"{row['traffic']:,.0f}"
        share = (row["traffic"] or 0) / most if most else 0
        scores = "".join(f'<td class="number">{row["scores"].get(scorer, "")}</td>' for scorer in scorers)
        feasible = "yes" if row["feasible"] else f"no: {_text('; '.join(row['reasons']))}"
        body.append(
            f'<tr class="{marks}"><td>{_text(row["node"])}</td><td>{feasible}</td>'
            f'<td class="number bar" style="--share: {share:.0%}">{traffic}</td>{scores}</tr>'
        )
    query = f"; traffic: <code>{_text(decision['query'])}</code>" if decision["query"] else ""
    chosen = _text(decision["chosen"] or "nowhere")
    return (
        f'<div class="scroll"><table><caption>{_text(decision["pod"])} &rarr; {chosen}{query}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _scoring(scoring: dict[str, Any]) -> str:
    """The questions of one case on one surface: for each node its reading and its score, a bar each."""
    again = f"; again: <code>schedproof replay {_text(scoring['id'])}</code>" if scoring["id"] else ""
    title = f"surface {_text(scoring['surface'])}, one of {scoring['cases']} cases{again}"
    return f"<p>{title}</p>" + "".join(_scored(question, scoring["of"]) for question in scoring["questions"])


def _scored(question: dict[str, Any], of: str) -> str:
    rows = question["nodes"]
    readings = [_share(row["reading"]) for row in rows]
    scores = [_share(row["scores"][0]) if row["scores"] else 0.0 for row in rows]
    most, best = max(readings, default=0.0) or 1.0, max(scores, default=0.0) or 1.0
    body = "".join(
        f"<tr><td>{_text(row['node'])}</td>"
        f'<td class="number bar" style="--share: {reading / most:.0%}">{_text(row["reading"])}</td>'
        f'<td class="number bar" style="--share: {score / best:.0%}">'
        f"{', '.join(map(str, row['scores'])) or 'none'}</td></tr>"
        for row, reading, score in zip(rows, readings, scores, strict=True)
    )
    more = f"<p>... and {question['more']} more nodes</p>" if question["more"] else ""
    return (
        f'<div class="scroll"><table><caption>{_text(question["unanswered"])}</caption><thead><tr>'
        f'<th scope="col">node</th><th scope="col">{of}</th><th scope="col">score</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>{more}"
    )


def _share(value: str | float) -> float:
    """How long a bar is; none for what is no finite number, or negative."""
    try:
        number = float(value)
    except ValueError:
        return 0.0
    return number if 0 < number < math.inf else 0.0


def _lines(lines: Iterable[str]) -> str:
    return _text("\n".join(lines))


def _text(text: str) -> str:
    return html.escape(text)
