"""Pages for each clause of the catalogue and for each profile, with the content of `schedproof explain`."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import yaml
from prose import ROOT, clause_page, escaped

from schedproof.candidate.profiles import PROFILES, profile_of
from schedproof.cli.explain import Explanation, explain
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import Clause
from schedproof.judge.codes import CODES

_INTRODUCTION = """\
# The clauses

A clause is one guarantee of a scheduler that schedproof checks. There are {count}, in {profiles} profiles. A candidate
claims profiles and additional features, and is judged by their clauses. `schedproof clauses --candidate .` lists what a
candidate claims, `schedproof explain CLAUSE` prints the content of a page here.

Required clauses decide the verdict of a run. Recommended clauses are reported, and never fail it.
"""


def navigation() -> list[dict[str, object] | str]:
    """Return the entry of the clauses in the site's table of contents."""
    return [
        "clauses/index.md",
        *(
            {profile: [f"clauses/{profile}/index.md", *({known.id: clause_page(known.id)} for known in _of(profile))]}
            for profile in PROFILES
        ),
    ]


def clause_pages() -> dict[str, str]:
    """Return paths, relative to the folder of all pages, to Markdown."""
    profiles = {f"clauses/{profile}/index.md": _profile(profile) for profile in PROFILES}
    clauses = {clause_page(clause.id): _page(explain(clause)) for clause in CATALOGUE.values()}
    return {"clauses/index.md": _overview(), **profiles, **clauses}


def _of(profile: str) -> list[Clause]:
    return [clause for clause in CATALOGUE.values() if profile_of(clause.id) == profile]


def _overview() -> str:
    tables = (f"\n## {profile}\n\n{_table(profile, f'{profile}/')}" for profile in PROFILES)
    return _INTRODUCTION.format(count=len(CATALOGUE), profiles=len(PROFILES)) + "".join(tables)


def _profile(profile: str) -> str:
    return f"# {profile}\n\n{_table(profile, '')}"


def _table(profile: str, folder: str) -> str:
    rows = (
        f"| [{clause.id}]({folder}{clause.id.partition('/')[2]}.md) | {escaped(clause.guarantee)}{_remark(clause)} |\n"
        for clause in _of(profile)
    )
    return "| clause | guarantee |\n|---|---|\n" + "".join(rows)


def _remark(clause: Clause) -> str:
    remarks = [f"feature {name}" for name in sorted(clause.features)]
    remarks += ["recommended"] if clause.level == "recommended" else []
    return f" *({', '.join(remarks)})*" if remarks else ""


def _page(known: Explanation) -> str:
    return "\n".join(_lines(known)) + "\n"


def _lines(known: Explanation) -> Iterator[str]:
    clause = known.clause
    yield f"# {clause.id}\n"
    yield f'!!! abstract "It guarantees"\n    {escaped(clause.guarantee)}\n'
    yield "| | |\n|---|---|"
    for name, text in _facts(known).items():
        yield f"| {name} | {escaped(text)} |"
    yield f"\n## How it is tried\n\n{escaped(known.stimulus)}\n\nThe stimulus is `{known.test}`.\n"
    yield f"## When it holds\n\n{escaped(known.holds_if)}\n"
    if failure := failures().get(clause.id):
        yield f"## What a failure looks like\n\nWith the planted candidate `{failure['candidate']}`:\n"
        yield f"``` {{.text .failure}}\n{clause.id}: failed\nguarantee: {clause.guarantee}"
        yield f"finding:   {failure['finding']}\n```\n"
    yield f"## What breaks it\n\n{_defects(known)}"
    yield f"## How to fix it\n\n{escaped(known.to_fix)}\n"
    yield f"{_codes(known)}\n"
    yield f"## Try yours\n\n```console\n$ schedproof run candidate.yaml --clause {clause.id}\n```"


@functools.cache
def failures() -> dict[str, dict[str, str]]:
    """Return clause to a planted candidate and its finding, as recorded by `make defects`."""
    recorded: dict[str, dict[str, str]] = yaml.safe_load((ROOT / "docs" / "failures.yaml").read_text(encoding="utf-8"))
    return recorded


def _facts(known: Explanation) -> dict[str, str]:
    clause = known.clause
    facts = {
        "profile": profile_of(clause.id),
        "level": clause.level,
        "claimed": known.claimed,
        "also judges the features": ", ".join(sorted(clause.also)),
        "waits for": ", ".join(f"`{basic}`" for basic in sorted(clause.stands_on)) or "no other clause",
        "needs of the cluster": ", ".join(f"`{need}`" for need in sorted(clause.needs)) or "nothing particular",
        "source": clause.source,
    }
    return {name: text for name, text in facts.items() if text}


def _codes(known: Explanation) -> str:
    """Return the table of a clause's codes. Codes that any clause may have are on the page of all codes."""
    rows = "".join(
        f"| `{code}` | {escaped(CODES[code].meaning)} | {escaped(CODES[code].remedy)} |\n" for code in known.codes
    )
    return f"| code | what was found | what to do |\n|---|---|---|\n{rows}"


def _defects(known: Explanation) -> str:
    if not known.defects:
        return "No planted candidate is listed for it.\n"
    rows = "".join(f"| {escaped(defect)} | `{candidate}` |\n" for candidate, defect in known.defects)
    first = known.defects[0][0]
    return (
        "Planted candidates that it must catch:\n\n"
        f"| defect | candidate |\n|---|---|\n{rows}\n"
        f"See it fail:\n\n```console\n$ schedproof run {first} --clause {known.clause.id}\n```\n"
    )
