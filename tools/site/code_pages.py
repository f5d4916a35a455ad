"""Reference page of the codes of findings and problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prose import escaped

from schedproof.documents.problems import CODES as PROBLEMS
from schedproof.judge.codes import CODES as FINDINGS
from schedproof.judge.codes import OF_ANY_CLAUSE, Code
from schedproof.judge.symptoms import KINDS

_PAGE = """\
# Codes of findings and problems

## Findings

A finding that is not `passed` has a code, which says what was found. It is `code` of a clause in `report.json`, and
`type` of a failure or an error in `junit.xml`. Match on codes, not on summaries: codes are as stable as the ids of
clauses, and the wording of summaries may change. The outcome beside a code says what it means for the clause:
`does-not-start` is a failure of `core/alive`, and leaves other clauses unproved.

```console
$ jq -r '.candidates[].clauses[] | select(.code == "infeasible-node") | .id' report.json
```

Any clause may have these:

{general}

The others, by what was found; the page of a clause, and `schedproof explain CLAUSE`, list those that it may have:

{findings}

## Causes

Findings beside which the record shows the same fault have one cause: `causes` of a candidate in `report.json`, in the
order in which to fix them, each with its `kind`, and, in `about`, which of that kind it is. Findings beside which no
such fault was seen are grouped by their code, which is the `kind` then.

{causes}

## Problems

Each problem in a file that you write has a code as well. `schedproof check --json CANDIDATE` prints a list of
problems, each with `file`, `line`, `column`, `path` of the field, `code`, `message` and `fix`.

{problems}
"""


def code_pages() -> dict[str, str]:
    """Return paths, relative to the folder of all pages, to Markdown."""
    general = {code: FINDINGS[code] for code in sorted(OF_ANY_CLAUSE)}
    others = {code: found for code, found in FINDINGS.items() if code not in general}
    problems = _table(("code", "meaning"), ((f"`{code}`", escaped(text)) for code, text in PROBLEMS.items()))
    page = _PAGE.format(
        general=_findings(general), findings=_findings(others), causes=_findings(KINDS), problems=problems
    )
    return {"reference/codes.md": page}


def _findings(codes: Mapping[str, Code]) -> str:
    rows = ((f"`{code}`", escaped(found.meaning), escaped(found.remedy)) for code, found in codes.items())
    return _table(("code", "what was found", "what to do"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
