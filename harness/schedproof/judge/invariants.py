"""What holds over a whole run, whatever is tested: `core/alive`, `core/own-pods-only`, `core/all-accounted`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.judge.evidence import log_tails
from schedproof.judge.verdict import Finding, failed, invalid, passed

if TYPE_CHECKING:
    from schedproof.history.history import History
    from schedproof.history.record import Record

__all__ = ["judge_accounted", "judge_alive", "judge_own_pods", "writes"]

_READING = frozenset({"get", "list", "watch"})


def judge_alive(history: History, case: str) -> Finding:
    """No process of the candidate ended before the harness ended it."""
    if (failure := next(history.of("start-failed"), None)) is not None:
        fix = f"; fix: {failure['fix']}" if failure["fix"] else ""
        return failed(f"it does not start: {failure['text']}{fix}", logs=log_tails(history, case))
    events = list(history.of("process"))
    if not any(event["event"] == "started" for event in events):
        return invalid("no process of the candidate was seen to start")
    exits = [event for event in events if event["event"] == "exited"]
    if exits:
        first = exits[0]
        return failed(
            f"{first['name']} ended by itself with {_code(first['code'])}, {first['at']:.1f} s into the run"
            + (f" (and {len(exits) - 1} more times)" if len(exits) > 1 else ""),
            logs=log_tails(history, case),
        )
    return passed(f"{len({event['name'] for event in events})} processes lived to the end")


def judge_own_pods(history: History, _case: str) -> Finding:
    """No request of the candidate but reads concerned a pod of another schedulerName."""
    own = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in history.own_pods().values()}
    foreign = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in history.manifests.values()} - own
    if not foreign:
        return invalid("there was no pod of another scheduler to leave alone")
    touched = [request for request in writes(history) if f"{request['namespace']}/{request['name']}" not in own]
    if touched:
        return failed(
            f"{_request(touched[0])}, a pod of another scheduler (and {len(touched) - 1} more such requests)",
            timeline=[_request(request) for request in touched[:20]],
        )
    return passed(f"{len(foreign)} pods of other schedulers were left alone")


def writes(history: History) -> list[Record]:
    """The candidate's requests that concern pods, but for reading."""
    return [
        request
        for request in history.of("request")
        if request["user"] in history.candidate_users
        and request["verb"] not in _READING
        and request["resource"].partition("/")[0] in ("pods", "bindings")
    ]


def judge_accounted(history: History, case: str) -> Finding:
    """Every own pod ended bound, or Pending with a reason, or was deleted first; none was bound twice."""
    own = history.own_pods()
    if not own:
        return invalid("the candidate was given no pod")
    alive = {pod["metadata"]["uid"] for pod in history.world.latest().pods.values()}
    problems = []
    for uid, pod in own.items():
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        made = history.attempts_on(name, uid)
        successes = [attempt for attempt in made if attempt.succeeded]
        if successes and made[-1] is not successes[0]:
            again = made[made.index(successes[0]) + 1]
            problems.append(f"{name}: bound to {successes[0].node}, then tried again ({again.node}: {again.code})")
        if uid in history.bindings:
            if not successes and not any(attempt.unanswered for attempt in made):
                problems.append(f"{name}: is on {history.bindings[uid].node}, but not by a Binding of the candidate")
        elif uid in alive and not pod["spec"].get("nodeName") and not _has_reason(pod):
            # (A pod that came with its node, as static pods do, was never to be scheduled.)
            problems.append(f"{name}: ended Pending without a reason (no PodScheduled condition)")
    if problems:
        return failed(
            f"{problems[0]} ({len(problems)} of {len(own)} pods)",
            timeline=problems[:20],
            logs=log_tails(history, case),
        )
    return passed(f"{len(own)} pods accounted for, {len(history.bindings.keys() & own.keys())} of them bound once")


def _has_reason(pod: Record) -> bool:
    return any(c["type"] == "PodScheduled" and c.get("reason") for c in pod.get("status", {}).get("conditions", ()))


def _code(code: int | None) -> str:
    if code is None:
        return "an unknown code"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _request(request: Record) -> str:
    return (
        f"{request['user'].rpartition(':')[2]}: {request['verb']} {request['resource']} "
        f"{request['namespace']}/{request['name']} -> {request['code']}"
    )
