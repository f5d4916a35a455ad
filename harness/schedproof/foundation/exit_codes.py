"""The exit codes of commands, the same for verdicts and for benchmarks."""

from __future__ import annotations

EXIT_PASSED, EXIT_FAILED, EXIT_ERROR, EXIT_UNPROVED = 0, 1, 2, 3
EXIT_INTERRUPTED = 130
"""By the convention of shells: 128 plus the number of SIGINT."""
WORST_FIRST = (EXIT_INTERRUPTED, EXIT_ERROR, EXIT_FAILED, EXIT_UNPROVED, EXIT_PASSED)
"""The order in which the exit codes of several runs decide about that of all."""
