"""The reference of codes, as the tables of findings and problems have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prose import escaped

from schedproof.documents.problems import CODES as PROBLEMS
from schedproof.judge.codes import CODES as FINDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["code_pages"]

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

{findings}

## Problems

What is wrong with a file that you write has a code as well. `schedproof check --json CANDIDATE` prints a list of
problems, each with `file`, `line`, `column`, `path` of the field, `code`, `message` and `fix`.

{problems}
"""


def code_pages() -> dict[str, str]:
    """Paths, from the folder of all pages, to Markdown."""
    return {"reference/codes.md": _PAGE.format(findings=_table(FINDINGS), problems=_table(PROBLEMS))}


def _table(codes: Mapping[str, str]) -> str:
    return "\n".join(
        ["| code | meaning |\n|---|---|", *(f"| `{code}` | {escaped(text)} |" for code, text in codes.items())]
    )
