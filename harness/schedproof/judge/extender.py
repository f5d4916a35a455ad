"""The extender's HTTP contract, from what went over the tapped line.

Sources: k8s.io/kube-scheduler/extender/v1 (types) and pkg/scheduler/extender.go (what kube-scheduler makes of them).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from schedproof.judge.evidence import shown
from schedproof.judge.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, invalid, not_claimed, passed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from schedproof.history.history import History
    from schedproof.history.record import Record

__all__ = ["judge_cache_mode", "judge_filter_subset", "judge_malformed", "judge_score_range", "judge_verbs_served"]

_HIGHEST = 10
"""MaxExtenderPriority. Nothing checks it: a score of 1000 wins outright."""


def _config(history: History) -> Mapping[str, Any]:
    config: Mapping[str, Any] = history.run["candidate"]["extender"]["config"]
    return config


def _calls(history: History, case: str, verb: str, by: str = "scheduler") -> list[Record]:
    """Calls of a configured verb (`filterVerb`) within the case; none where it is not configured."""
    name = _config(history).get(verb)
    begin, end = history.span(case)
    return [
        record
        for record in history.of("extender")
        if name and record["by"] == by and f"/{record['request']}".endswith(f"/{name}") and begin <= record["at"] <= end
    ]


def _called(call: Record) -> str:
    said = call["error"] or call["answer"][:200] or "nothing"
    return f"{call['request']} answered {call['status'] or 'not at all'} ({said})"


def _readable(call: Record, verb: str) -> bool:
    """Whether kube-scheduler can read the answer: JSON, and for prioritize a list."""
    return bool(call["json"]) and (verb != "prioritizeVerb" or call["scores"] is not None)


def judge_verbs_served(history: History, case: str) -> Finding:
    """Every configured verb of a scheduling cycle was called, and answered with status 200 and what it asks for."""
    configured = [verb for verb in ("filterVerb", "prioritizeVerb", "bindVerb") if _config(history).get(verb)]
    missing = []
    for verb in configured:
        calls = _calls(history, case, verb)
        wrong = [call for call in calls if call["status"] != HTTPStatus.OK or not _readable(call, verb)]
        if wrong:
            ignored = "; kube-scheduler ignores that silently" if verb == "prioritizeVerb" else ""
            return failed(f"{verb}: {_called(wrong[0])}{ignored}", **shown(history, case))
        if not calls:
            missing.append(verb)
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    if missing:
        return invalid(f"kube-scheduler never called {', '.join(missing)}", **shown(history, case))
    return passed(f"{', '.join(configured)}: answered with 200 and JSON", **shown(history, case))


def judge_cache_mode(history: History, case: str) -> Finding:
    """Filter answers were in the mode that the configuration claims: names where nodeCacheCapable, else nodes."""
    mode = "names" if _config(history).get("nodeCacheCapable") else "nodes"
    calls = _calls(history, case, "filterVerb") + _calls(history, case, "prioritizeVerb")
    for call in calls:
        if call["status"] != HTTPStatus.OK or call["error"]:
            return failed(f"asked with {call['mode'] or 'no nodes'}: {_called(call)}", **shown(history, case))
    filtered = _calls(history, case, "filterVerb")
    wrong = [call for call in filtered if call["answered_mode"] != mode]
    if wrong:
        wanted = "NodeNames" if mode == "names" else "Nodes"
        return failed(
            f"{_called(wrong[0])}: expected {wanted}, as its configuration claims nodeCacheCapable "
            f"{str(mode == 'names').lower()}",
            **shown(history, case),
        )
    finding = judge_placement(history, case)
    if finding.outcome != "passed" or not calls:
        return finding if calls else invalid("it was never asked", **shown(history, case))
    return passed(f"{len(calls)} calls answered in the mode that was asked for ({mode})", **shown(history, case))


def judge_filter_subset(history: History, case: str) -> Finding:
    """Filter answered with nodes that it was asked about, each once."""
    if not _config(history).get("filterVerb"):
        return not_claimed("no filterVerb is configured")
    calls = _calls(history, case, "filterVerb")
    for call in calls:
        asked, answered = call["asked"] or [], call["answered"] or []
        if invented := sorted(set(answered) - set(asked)):
            return failed(
                f"filter for {call['pod']} answered with {', '.join(invented[:3])}, which it was not asked about"
                + (": kube-scheduler binds the pod there" if call["answered_mode"] == "nodes" else ""),
                **shown(history, case),
            )
        if len(set(answered)) < len(answered):
            return failed(f"filter for {call['pod']} answered with a node twice", **shown(history, case))
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    if not any(call["answered"] for call in calls):
        return invalid("no filter call answered with nodes", **shown(history, case))
    return passed(f"{len(calls)} filter answers within what was asked", **shown(history, case))


def judge_score_range(history: History, case: str) -> Finding:
    """All scores were integers from 0 to 10, also for more nodes than there are scores."""
    if not _config(history).get("prioritizeVerb"):
        return not_claimed("no prioritizeVerb is configured")
    calls = _calls(history, case, "prioritizeVerb")
    if wrong := [call for call in calls if call["status"] == HTTPStatus.OK and call["scores"] is None]:
        return failed(f"{_called(wrong[0])}: that is no HostPriorityList", **shown(history, case))
    for call in calls:
        for host, score in call["scores"] or ():
            if score is None:
                continue  # Go's decoder takes what is left out for 0
            if not isinstance(score, int) or isinstance(score, bool) or not 0 <= score <= _HIGHEST:
                return failed(
                    f"{host} got the score {score} for {call['pod']}; expected an integer from 0 to {_HIGHEST}: "
                    "kube-scheduler takes what is beyond as it is, and one number that is no integer voids the answer",
                    **shown(history, case),
                )
    most = max((len(call["asked"] or ()) for call in calls), default=0)
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    if most <= _HIGHEST + 1:
        return invalid(f"it never scored more than {most} nodes at once", **shown(history, case))
    return passed(f"{len(calls)} answers, of up to {most} nodes, within 0 and {_HIGHEST}", **shown(history, case))


def judge_malformed(history: History, case: str) -> Finding:
    """Each malformed call was answered with an error status, or 200 with Error; and it went on serving."""
    calls = [record for record in history.of("extender", case) if record["by"] == "harness"]
    if not calls:
        return invalid("no malformed call was made", **shown(history, case))
    for call in calls:
        refused = call["status"] >= HTTPStatus.BAD_REQUEST and call["status"] != HTTPStatus.BAD_GATEWAY
        if not refused and not call["error"]:
            return failed(
                f"{call['what']} in place of the arguments of {call['verb']}: {_called(call)}; "
                "expected an error status, or 200 with Error",
                **shown(history, case),
            )
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    return passed(f"{len(calls)} malformed calls refused, and pods were scheduled after", **shown(history, case))
