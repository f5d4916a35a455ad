"""Tables in docs that tools write, between `<!-- begin: COMMAND -->` and `<!-- end: COMMAND -->`."""

from __future__ import annotations

from pathlib import Path


def write_table(page: Path, command: str, table: str) -> None:
    """Replace the table of a command in a page."""
    begin, end = f"<!-- begin: {command} -->", f"<!-- end: {command} -->"
    before, _, rest = page.read_text().partition(begin)
    page.write_text(f"{before}{begin}\n{table}{end}{rest.partition(end)[2]}")
