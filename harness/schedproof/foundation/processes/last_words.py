"""Finds the cause in the output of a program that ended unexpectedly: the line that states it, and for Go the place."""

from __future__ import annotations

import re
import signal

# Go: "panic: ..." and "fatal error: ..." open the dump of goroutines; Python: the exception closes the traceback.
_LAST_WORDS = re.compile(r"^(panic: |fatal error: |[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt)\b)")

# component-base, cli/run.go: how each command of Kubernetes says why it ends.
_COMMAND_FAILED = re.compile(r'^E\d{4} .*\] "command failed" err="(?P<cause>(?:[^"\\]|\\.)*)"$', re.MULTILINE)

_CRASH = re.compile(r"^(?:panic|fatal error): .*$", re.MULTILINE)
_REPANICKED = re.compile(r" \[recovered[^]]*]$")
"""Text that Go adds if a deferred handler has panicked again, as those of k8s.io/apimachinery do."""
_GOROUTINE = re.compile(r"^goroutine \d+ .*\[running.*:$", re.MULTILINE)
# A function, and on the next line its file: `example.com/x/traffic.score(...)`, `\t/x/traffic/scoring.go:12 +0x1d`.
_FRAME = re.compile(r"^(?P<function>\S+)\([^()]*\)$\n^\t(?P<file>\S+\.go):(?P<line>\d+)", re.MULTILINE)
_NOT_THEIRS = re.compile(
    r"panic$|k8s\.io/|sigs\.k8s\.io/|\S*schedproof-generated-|(?:bufio|bytes|cmp|container|context|crypto|encoding"
    r"|errors|fmt|hash|internal|io|iter|log|maps|math|net|os|path|reflect|regexp|runtime|slices|sort|strconv|strings"
    r"|sync|syscall|text|time|unicode|unique|unsafe|vendor|weak)[./]"
)
"""Frames of Go's own library, of Kubernetes and of the harness."""


def last_words(log: str) -> str:
    """The line of a log's end that states why its process ended; its last line if none does."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if _LAST_WORDS.match(line)]
    return _REPANICKED.sub("", (telling or lines or ["(no output)"])[-1])


def cause_of_end(output: str) -> str:
    """The line of a program's whole output that states why it ended, for Go with the first frame of its own sources;
    empty if none does.
    """
    if _CRASH.search(output):
        return crash_text(output, 2)
    if failures := _COMMAND_FAILED.findall(output):
        return re.sub(r"\\(.)", r"\1", failures[-1])
    # Earlier lines may be errors that were handled.
    last = [line.strip() for line in output.splitlines() if line.strip()][-5:]
    return next((line for line in reversed(last) if _LAST_WORDS.match(line)), "")


def crash_text(output: str, code: int) -> str:
    """Why a program ended, and where in the candidate's sources.

    Args:
        output: all that it has printed.
        code: its exit code; negative: the signal that ended it.
    """
    crashes = list(_CRASH.finditer(output))
    if not crashes:
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return f"the process ended with {how}{f': {lines[-1][:300]}' if lines else ''}"
    # Go prints a second panic, in a handler of the first, after it; the dump is that of the first panic.
    what = _REPANICKED.sub("", crashes[0][0])[:300]
    running = _GOROUTINE.search(output, crashes[0].end())
    frames = _FRAME.finditer(output, running.end() if running else crashes[0].end())
    theirs = next((frame for frame in frames if not _NOT_THEIRS.match(frame["function"])), None)
    if theirs is None:
        return what
    file = "/".join(theirs["file"].split("/")[-2:])
    return f"{what}\n  in {theirs['function'].rpartition('/')[2]} ({file}:{theirs['line']})"
