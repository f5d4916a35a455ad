"""What the command tells its shell: the same of verdicts and of benchmarks."""

from __future__ import annotations

__all__ = ["EXIT_ERROR", "EXIT_FAILED", "EXIT_PASSED", "EXIT_UNPROVED"]

EXIT_PASSED, EXIT_FAILED, EXIT_ERROR, EXIT_UNPROVED = 0, 1, 2, 3
