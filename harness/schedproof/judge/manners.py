"""How a candidate treats the apiserver: the rights that it asks for, and how often it asks."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from schedproof.judge.evidence import log_tails, shown, timeline
from schedproof.judge.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, invalid, passed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from schedproof.history.history import History

__all__ = ["STEADY_LIMIT", "judge_rbac_minimal", "judge_steady"]

STEADY_LIMIT = 10.0
"""Requests per second while nothing happens but that pods fit nowhere. A poll of everything once a second stays below;
a loop without back-off makes hundreds."""

_READING = frozenset({"get", "list", "watch"})

_Right = tuple[str, str]
"""Verb and resource, with its subresource."""


def judge_rbac_minimal(history: History, case: str) -> Finding:
    """It was refused nothing, and asks for no more than it uses or than Kubernetes grants to schedulers.

    Too much is: a wildcard; secrets; a right to write which was not used in the whole run, and which the bootstrap
    roles of schedulers do not have.
    """
    user = history.run["users"]["candidate"][0]
    requests = [request for request in history.of("request") if request["user"] == user]
    if not requests and history.run["candidate"]["kind"] == "controller":
        return invalid("it made no request")
    refused = [request for request in requests if request["code"] == HTTPStatus.FORBIDDEN]
    if refused:
        first = refused[0]
        return failed(
            f"it was refused to {first['verb']} {first['resource']}: spec.rbac says less than it needs "
            f"({len(refused)} requests)",
            logs=log_tails(history, case),
        )
    rights = history.run.get("rbac")
    if rights is None:
        return invalid("its rights are not on record")
    used = {(request["verb"], request["resource"]) for request in requests}
    granted = set(_rights(rights["schedulers"]))
    for verb, resource in _rights(rights["declared"]):
        if "*" in (verb, resource):
            return failed(f"it asks to {verb} {resource}: say what it needs, resource by resource and verb by verb")
        if (verb, resource) in used or (verb, resource) in granted:
            continue
        if resource == "secrets" or verb not in _READING:
            return failed(f"it asks to {verb} {resource}, and never did; Kubernetes' own schedulers may not either")
    return passed(f"{len(used)} kinds of requests, none refused; it asks for nothing beyond")


def _rights(rules: Iterable[Mapping[str, Any]]) -> Iterable[_Right]:
    for rule in rules:
        for verb in rule.get("verbs", ()):
            for resource in rule.get("resources", ()):
                yield verb, resource


def judge_steady(history: History, case: str) -> Finding:
    """While pods fitted nowhere and nothing else happened, it made few requests."""
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    calm = next(history.of("calm", case), None)
    if calm is None:
        return invalid("there was no calm to watch it in", timeline=timeline(history, case))
    if not any(expectation["outcome"] == "pending" for expectation in history.of("expect", case)):
        return invalid("no pod was to be left pending", timeline=timeline(history, case))
    begin, seconds = calm["at"], calm["seconds"]
    requests = [
        request
        for request in history.of("request")
        if request["user"] in history.candidate_users and begin <= request["received"] <= begin + seconds
    ]
    rate = len(requests) / seconds
    measured = {"requests per second": rate}
    if rate > STEADY_LIMIT:
        verb, resource = requests[0]["verb"], requests[0]["resource"]
        return failed(
            f"{rate:.0f} requests per second while nothing happened (such as {verb} {resource}); at most "
            f"{STEADY_LIMIT:g} are no hot loop",
            measured=measured, **shown(history, case),
        )  # fmt: skip
    return passed(f"{rate:.1f} requests per second while pods fitted nowhere", measured=measured)
