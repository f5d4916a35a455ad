"""Which pairs the worlds of saved runs have tried: `make pairs ARGS="REPORT..."`.

Two tables: by which rule a pod waited, and what freed it; and which fault was on, while what happened or was waited
for. They are written into docs/trust.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from pathlib import Path

from pages import write_table

from schedproof.history.acts import WorldSearch
from schedproof.history.saved import FILE

PAGE = Path(__file__).resolve().parent.parent / "docs" / "trust.md"


def searches(reports: list[Path]) -> list[WorldSearch]:
    """Return the searches of these reports, of which each is one candidate's."""
    lines = (line for report in reports for file in sorted(report.rglob(FILE)) for line in file.open())
    # Other records, of which there are thousands, are not read.
    found = (json.loads(line) for line in lines if line.startswith(f'{{"kind":"{WorldSearch.kind}"'))
    return [WorldSearch.model_validate(fields) for fields in found]


def table(title: str, found: list[dict[str, int]]) -> list[str]:
    """Return how often each pair occurred, as a Markdown table of the first by the second, and how many one run has."""
    count: Counter[tuple[str, str]] = Counter()
    for pairs in found:
        for pair, times in pairs.items():
            first, _, second = pair.partition(", ")
            count[first, second] += times
    rows, columns = sorted({first for first, _ in count}), sorted({second for _, second in count})
    lines = [f"| {title} | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    lines += [f"| {row} | {' | '.join(str(count[row, column] or '') for column in columns)} |" for row in rows]
    median = statistics.median(map(len, found)) if found else 0
    total = len(rows) * len(columns)
    return [*lines, "", f"{len(count)} of {total} pairs occurred; one run has {median:g} of them (median).", ""]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="folder of a run")
    found = searches(parser.parse_args().reports)
    lines = [f"{len(found)} runs of {sum(search.worlds for search in found):,} worlds.", ""]
    lines += table("kept off by, freed by", [search.freed for search in found])
    lines += table("fault, during", [search.disturbed for search in found])
    write_table(PAGE, "make pairs", "\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
