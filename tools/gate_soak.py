"""Run the gate several times, every second time with a busy loop on one core: `make gate-soak N=6`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from busy import busy_loops

TOOL = Path(__file__).with_name("run_tests.py")


def main(argv: list[str]) -> int:
    count = int(argv[0]) if argv else 6
    lines = ["| run | one core busy | time | result |", "|---|---|---|---|"]
    failed = 0
    for number in range(1, count + 1):
        busy = number % 2 == 0
        began = time.monotonic()
        with busy_loops(int(busy)):
            done = subprocess.run([sys.executable, str(TOOL), "--again", "gate"], check=False)
        seconds = time.monotonic() - began
        failed += done.returncode != 0
        result = "passed" if done.returncode == 0 else "failed"
        lines.append(
            f"| {number} | {'yes' if busy else 'no'} | {seconds // 60:.0f} min {seconds % 60:02.0f} s | {result} |"
        )
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
