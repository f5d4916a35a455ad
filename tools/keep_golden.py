"""Keep a run as a golden history for tests/judge/test_golden.py: `python tools/keep_golden.py REPORT NAME`.

REPORT is the report folder of a run of one candidate on one cluster (`--jobs 1`). Later versions must always be able
to read its history. The history, compressed, and the outcomes in report.json are kept.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

from schedproof.history.saved import FILE

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "judge" / "golden"


def main(report: str, name: str) -> None:
    (candidate,) = json.loads((Path(report) / "report.json").read_text())["candidates"]
    (history,) = Path(report).glob(f"candidates/*/{FILE}")
    content = history.read_bytes()
    # Paths of this machine mean nothing on another.
    checkout, _, _ = json.loads(content.splitlines()[0])["candidate"]["path"].partition("/fixtures/")
    kept = GOLDEN / name
    kept.mkdir(parents=True)
    (kept / f"{FILE}.xz").write_bytes(lzma.compress(content.replace(checkout.encode(), b"/schedproof"), preset=9))
    outcomes = {clause["id"]: clause["outcome"] for clause in candidate["clauses"]}
    (kept / "outcomes.json").write_text(f"{json.dumps(outcomes, indent=1)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
