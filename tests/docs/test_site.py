"""The pages that tools/site generates, and what it copies from other files. `make docs` builds the site."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedproof.history import acts, observations  # noqa: F401 - without them no kinds are known
from schedproof.history.record import KINDS
from schedproof.judge.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of the generator, whose folder is not on the path."""
    monkeypatch.syspath_prepend(ROOT / "tools" / "site")
    return importlib.import_module


def pages_of(entry: Any) -> Iterator[str]:
    """The pages in a table of contents."""
    if isinstance(entry, str):
        yield entry
    for inner in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from pages_of(inner)


def test_each_clause_has_a_page_with_its_guarantee_and_fix(generator: Any) -> None:
    pages = generator("clause_pages").clause_pages()
    for clause in CATALOGUE.values():
        page = pages[generator("prose").clause_page(clause.id)]
        assert page.startswith(f"# {clause.id}\n")
        assert generator("prose").escaped(clause.guarantee) in page
        assert "## How to fix it\n" in page


def test_each_page_of_clauses_is_in_the_table_of_contents_once(generator: Any) -> None:
    module = generator("clause_pages")
    assert sorted(pages_of(module.navigation())) == sorted(module.clause_pages())


def test_planted_defects_are_named_on_the_pages_of_the_clauses_that_catch_them(generator: Any) -> None:
    pages = generator("clause_pages").clause_pages()
    assert "`described/d1-network-traffic/divides-by-zero`" in pages["clauses/network-aware/zero-traffic.md"]


def test_each_command_and_its_options_are_in_the_reference(generator: Any) -> None:
    pages = generator("command_pages").command_pages()
    text = pages["reference/commands.md"]
    assert "\n## schedproof cluster up\n" in text
    assert "| `--window DURATION` |" in text
    assert "| `-q`, `--quiet` |" in text
    assert "| `--sched-window DURATION` |" in pages["reference/pytest.md"]


def test_each_page_is_in_the_table_of_contents() -> None:
    """Files only; `make docs` checks all pages, in half a minute."""
    contents = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = set(re.findall(r"([\w-]+\.md)$", contents, re.MULTILINE))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= listed


def test_clauses_that_upstreams_tests_are_compared_with_exist() -> None:
    text = (ROOT / "docs" / "upstream.md").read_text()
    named = set(re.findall(r"`([a-z]+/[a-z-]+)`", text))
    assert len(named) > 40
    assert named <= {*CATALOGUE}


def test_the_page_of_described_systems_names_every_planted_defect_and_its_clauses() -> None:
    sections = re.split(r"^## ", (ROOT / "docs" / "described.md").read_text(), flags=re.MULTILINE)[1:]
    described = {
        (section.split(":")[0], row.split("|")[1].strip()): {*re.findall(r"`([a-z]+/[a-z-]+)`", row)} & {*CATALOGUE}
        for section in sections
        for row in re.findall(r"^\|.*$", section, re.MULTILINE)[2:]
    }
    rows = [row for row in yaml.safe_load((ROOT / "fixtures" / "defects.yaml").read_text()) if "system" in row]
    planted = {(row["system"], row["candidate"].rpartition("/")[2]): set(row["fails"]) for row in rows}
    assert described.keys() == planted.keys()
    assert all(clauses and clauses <= planted[row] for row, clauses in described.items())


def test_the_page_about_trust_names_what_fails_besides_of_each_defect_that_is_tried_on_all_clauses() -> None:
    table = (ROOT / "docs" / "trust.md").read_text().partition("<!-- begin: make whole -->")[2].splitlines()
    lines = {line.partition(":")[0].removeprefix("| "): line for line in table}
    tried = [row for row in yaml.safe_load((ROOT / "fixtures" / "defects.yaml").read_text()) if "also" in row]
    assert len(tried) >= 20
    for row in tried:
        for reason, clauses in row["also"].items():
            assert set(clauses) <= CATALOGUE.keys() - set(row["fails"])
            assert f"{reason}: {', '.join(f'`{clause}`' for clause in clauses)}" in lines[row["candidate"]]


def test_each_section_that_a_page_includes_from_another_file_exists(generator: Any) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert "<!-- from" not in generator("prose").with_sections(page.read_text())


def test_a_section_ends_at_the_next_heading_and_not_at_a_comment_of_a_shell(generator: Any) -> None:
    text = "# T\n\nlead\n\n## A\n\n```\n## no heading\n```\n\nend\n\n## B\n\nelse\n"
    section = generator("prose").section
    assert section(text, None) == "# T\n\nlead"
    assert section(text, "A").endswith("end")
    with pytest.raises(KeyError):
        section(text, "no heading")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("see [it](../fixtures/x.py)", "see it (`fixtures/x.py`)"),
        ("see [fixtures/x.py](../fixtures/x.py)", "see `fixtures/x.py`"),
        ("see [it](../CONTRIBUTING.md#rooms)", "see [it](contributing.md#rooms)"),
        ("see [it](scoring.md#why)", "see [it](scoring.md#why)"),
        ("`core/binds` first", "[`core/binds`](clauses/core/binds.md) first"),
        ("`core/no-such-clause`", "`core/no-such-clause`"),
        ("`own/test`", "`own/test`"),
        ("```\n`core/binds`\n```", "```\n`core/binds`\n```"),
    ],
)
def test_links_are_rewritten_for_the_site_and_names_of_clauses_are_links(
    generator: Any, written: str, shown: str
) -> None:
    assert generator("prose").linked(written, "judge.md") == shown


def test_text_with_markdown_syntax_is_escaped(generator: Any) -> None:
    assert generator("prose").escaped("*, <b> | `a*|` [x]") == "\\*, &lt;b> \\| `a*\\|` \\[x]"


def test_each_field_of_the_files_that_a_run_writes_is_in_the_reference(generator: Any) -> None:
    pages = generator("data_pages").data_pages()
    for kind, model in KINDS.items():
        _, _, section = pages["reference/history.md"].partition(f"\n## `{kind}`\n")
        table = section.partition("\n## ")[0]
        assert all(f"| `{field.serialization_alias or name}` |" in table for name, field in model.model_fields.items())
    assert "| `depends_on` |" in pages["reference/report.md"]
    assert "\n## RoundResult\n" in pages["reference/bench.md"]
