"""`core/alive`: no process of the candidate ends by itself, not even if a supervisor restarts it."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

from schedproof.history.history import History
from schedproof.history.observations import ProcessEvent, StartFailed
from schedproof.judge.clause import WATCH, Clause
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.timeline import describe_process, log_tails
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed

_ENOUGH = 2.0
"""Seconds. A descendant with a shorter life may be a helper whose exit code is its result."""
_REQUESTS = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL})
"""Signals by which a supervisor ends a worker that it replaces, or `timeout` a command that takes too long (Go's
CommandContext by SIGKILL). No fault of the process causes them: only the machine limits its memory.
"""
_TIMELINE = 40
_SHELL = 128
"""By convention, a program that handles a signal exits with this plus the signal's number."""

# Go; Python (of a process, of a thread); Rust; Java; and the last line of Python, Node.js and Java: `TypeError: ...`.
_CRASH = re.compile(
    r"panic: |fatal error: |Traceback \(most recent call last\)|Exception in thread |thread '.*' panicked at "
    r"|(Uncaught )?[A-Za-z_][\w.]*(Error|Exception): "
)


@gives("does-not-start", "nothing-started", "process-exited", "process-restarted")
def judge_alive(history: History, case: str) -> Finding:
    """No process of the candidate ended before the harness ended it, or crashed and was restarted by the candidate's
    own supervisor.
    """
    logs = Evidence(logs=log_tails(history, case))
    if (failure := next(history.of(StartFailed), None)) is not None:
        fix = f"; fix: {failure.fix}" if failure.fix else ""
        return failed("does-not-start", f"it does not start: {failure.text}{fix}", logs)
    events = list(history.of(ProcessEvent))
    started = {event.name for event in events if event.event == "started"}
    if not started:
        return invalid("nothing-started", "the harness saw no process of the candidate start")
    exits = [event for event in events if event.event == "exited" and not event.descendant]
    ends = sorted([*exits, *_hidden_crashes(events)], key=lambda event: event.at)
    if ends:
        more = f" (and {len(ends) - 1} more times)" if len(ends) > 1 else ""
        return failed(
            "process-exited" if ends[0] in exits else "process-restarted",
            f"{_describe_end(ends[0])}, {ends[0].at:.1f} s into the run{more}",
            logs | Evidence(timeline=[f"{event.at:8.3f}s  {describe_process(event)}" for event in events[-_TIMELINE:]]),
        )
    unwatched = any(event.event == "unwatched" for event in events)
    note = "; their child processes were not watched: this kernel does not list them" if unwatched else ""
    return passed(f"{len(started)} processes ran until the harness stopped them{note}")


def _hidden_crashes(events: list[ProcessEvent]) -> Iterator[ProcessEvent]:
    """The ends of descendants that another process of the candidate hides by restarting them."""
    ends = [event for event in events if event.event == "exited" and event.descendant]
    followed = {event.pid for event in events if event.event == "replaced"}
    # What is started again after an end with 0 is a step of a loop, and what it ends with is its answer to the loop.
    steps = {tuple(end.argv) for end in ends if end.code == 0}
    for end in ends:
        if end.pid in followed and end.lived >= _ENOUGH and tuple(end.argv) not in steps and _is_crash(end):
            yield end


def _is_crash(end: ProcessEvent) -> bool:
    code = end.code
    dumped = any(_CRASH.match(line) for line in end.log)
    if code is None:
        return dumped
    if code < 0:
        return -code not in _REQUESTS
    if code == 0 or code - _SHELL in _REQUESTS:
        return False
    # A copy of its parent may be one end of a shell's pipeline: what that ends with says little.
    return dumped or not end.forked


def _describe_end(end: ProcessEvent) -> str:
    if not end.descendant:
        cause = " ".join(end.cause.split())
        return f"{end.name} exited by itself with {_code(end.code)}{f': {cause}' if cause else ''}"
    known = "" if end.code is not None else " (this kernel does not report it; its log shows a crash)"
    return f"{end.name} exited by itself with {_code(end.code)}{known} and a supervisor restarted it"


def _code(code: int | None) -> str:
    if code is None:
        return "an unknown code"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


CLAUSES = (
    Clause(
        "core/alive", "The scheduler does not exit, panic or crash-loop, whatever pods and nodes the run has.",
        "schedproof", judge_alive, always=True, needs=WATCH,
        hint="Catch errors per pod, not around the whole loop; the last log lines show the panic or the exit.",
    ),
)  # fmt: skip
