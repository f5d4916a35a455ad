"""The conformance matrix in HTML: clauses by candidates."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from schedproof.judge.catalogue import CATALOGUE
from schedproof.report.terminal import SYMBOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from schedproof.judge.verdict import Verdict

__all__ = ["anchor", "matrix", "told"]


def matrix(candidates: Mapping[str, Iterable[Verdict]], *, linked: bool) -> str:
    """A row for each clause that was judged. `linked`: a cell leads to the section `anchor` of what `told` says."""
    verdicts = {(name, v.clause): v for name, judged in candidates.items() for v in judged}
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in candidates)
    rows = []
    for clause in CATALOGUE.values():
        row = [verdicts.get((name, clause.id)) for name in candidates]
        if any(row):
            cells = "".join(_cell(name, verdict, linked) for name, verdict in zip(candidates, row, strict=True))
            rows.append(f'<tr><th scope="row" title="{html.escape(clause.guarantee)}">{clause.id}</th>{cells}</tr>')
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="clauses by candidates">'
        "<table><caption>clauses by candidates</caption>"
        f'<thead><tr><th scope="col">clause</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def told(verdict: Verdict) -> bool:
    """Whether a report says more of it than a word."""
    return verdict.outcome in ("failed", "invalid", "excluded") or verdict.stale


def anchor(name: str, verdict: Verdict) -> str:
    """The id of the section that tells of it."""
    return html.escape(f"{name}-{verdict.clause}".replace("/", "-"))


def _cell(name: str, verdict: Verdict | None, linked: bool) -> str:
    if verdict is None:
        return "<td></td>"
    word = "STALE" if verdict.stale else SYMBOLS[verdict.outcome][0]
    kind = "stale" if verdict.stale else verdict.outcome
    if linked and told(verdict):
        word = f'<a class="{kind}" href="#{anchor(name, verdict)}">{word}</a>'
    return f'<td class="{kind}" title="{html.escape(verdict.summary)}">{word}</td>'
