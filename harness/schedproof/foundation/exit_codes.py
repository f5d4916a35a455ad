"""What the command tells its shell: the same of verdicts and of benchmarks."""

from __future__ import annotations

EXIT_PASSED, EXIT_FAILED, EXIT_ERROR, EXIT_UNPROVED = 0, 1, 2, 3
EXIT_INTERRUPTED = 130
"""As shells have it: 128 and the number of SIGINT."""
