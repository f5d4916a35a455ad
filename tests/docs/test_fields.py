"""The tables of fields in docs/ match the schemas."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("write_fields")


def test_the_tables_are_up_to_date(tables: Any) -> None:
    """If this fails, run `make fields`."""
    for page in tables.PAGES:
        text = page.read_text()
        assert tables.with_fields(text) == text, page.name


def test_the_page_of_each_file_that_users_write_has_its_tables() -> None:
    for page, name in (("candidate", "candidate"), ("clusters", "cluster"), ("workloads", "workload")):
        assert f"<!-- fields of {name}:" in (ROOT / "docs" / f"{page}.md").read_text()


def test_the_row_of_a_field_has_its_type_its_default_and_its_meaning(tables: Any) -> None:
    page = tables.with_fields("<!-- fields of candidate: spec.extender.config -->\n<!-- end of fields -->\n")
    assert "| `weight` | whole number from 1 | `1` | multiplier of its scores" in page
    page = tables.with_fields("<!-- fields of candidate: spec.exclusions[] -->\n<!-- end of fields -->\n")
    assert "| `reason` | text | required | what fails" in page
