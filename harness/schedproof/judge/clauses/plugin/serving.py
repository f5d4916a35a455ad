"""What a compiled scheduler serves to kubelets and to Prometheus: health endpoints and metrics."""

from __future__ import annotations

from http import HTTPStatus

from schedproof.history.acts import Expect
from schedproof.history.history import History
from schedproof.history.observations import EndpointAnswer
from schedproof.judge.clause import PROCESSES, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed


@gives("not-healthy", "not-tried", also=[judge_placement])
def judge_healthz_readyz(history: History, case: str) -> Finding:
    """Its health was requested without credentials, as a kubelet does, before and after it had scheduled a pod.

    /livez and /readyz may be missing (404) if a binary is given, which may be of a Kubernetes before 1.31.
    """
    asked = list(history.of(EndpointAnswer, case))
    for answer in asked:
        if _is_positive(answer) or _is_older(history, answer):
            continue
        fix = ""
        if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            fix = "; fix: serve these paths without credentials: a kubelet's probes have none"
        return failed(
            "not-healthy",
            f"{_described(answer)}: a kubelet would restart it, or send it no traffic{fix}",
        )
    finding = judge_placement(history, case)
    if finding.outcome != "passed" or not asked:
        return (
            finding if finding.outcome != "passed" else invalid("not-tried", "its health endpoints were not requested")
        )
    return passed(f"{', '.join(sorted({answer.path for answer in asked}))}: healthy before and after it scheduled")


def _is_positive(answer: EndpointAnswer) -> bool:
    return HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES


def _is_older(history: History, answer: EndpointAnswer) -> bool:
    given = (history.run.candidate.plugin or {}).get("binary")
    return bool(given) and answer.path != "/healthz" and answer.status == HTTPStatus.NOT_FOUND


def _described(answer: EndpointAnswer) -> str:
    how = f"answered {answer.status}" if answer.status else "did not answer"
    return f"{answer.path} {how} ({answer.answer.strip()[:100]})"


@gives("metrics-refused", "not-tried", "pods-not-counted", also=[judge_placement])
def judge_metrics(history: History, case: str) -> Finding:
    """A client with the rights of a Prometheus read its metrics, and they counted the pods that it had scheduled."""
    answers = list(history.of(EndpointAnswer, case))
    if refused := next((answer for answer in answers if not _is_positive(answer)), None):
        return failed("metrics-refused", f"{_described(refused)} to a client that has the right")
    finding = judge_placement(history, case)
    if finding.outcome != "passed" or len(answers) < _READINGS:
        return (
            finding
            if finding.outcome != "passed"
            else invalid("not-tried", "its metrics were not read before and after")
        )
    bound = sum(expected.outcome == "bound" for expected in history.of(Expect, case))
    before, after = answers[0].counted or 0, answers[-1].counted
    if after is None:
        return failed(
            "pods-not-counted",
            f"its metrics have no {_COUNTER}, although it scheduled {bound} pods",
        )
    if after - before < bound:
        return failed(
            "pods-not-counted",
            f"it scheduled {bound} pods, but {_COUNTER} with result=scheduled went from {before:g} to {after:g}",
        )
    return passed(f"{_COUNTER} counted the {bound} pods that it scheduled")


_COUNTER = "scheduler_schedule_attempts_total"
_READINGS = 2


CLAUSES = (
    Clause(
        "plugin/healthz-readyz",
        "While the scheduler runs, /healthz, /livez and /readyz respond with success, without credentials.",
        "kube-scheduler: health endpoints; probes of the control plane's static pod", judge_healthz_readyz,
        needs=PROCESSES,
        hint="In a main of your own, keep kube-scheduler's handlers and authorizer: health needs no credentials.",
    ),
    Clause(
        "plugin/metrics",
        "The scheduler serves kube-scheduler's metrics to authorized clients, and they count what it does.",
        "kube-scheduler: /metrics, stable metrics", judge_metrics, needs=PROCESSES,
        hint=(
            "Register your metrics by k8s.io/component-base/metrics/legacyregistry, and keep the metrics registered "
            "there."
        ),
    ),
)  # fmt: skip
