"""What happens to pods while kube-scheduler cannot reach the extender, or gets no response from it.

Source: pkg/scheduler/extender.go and schedule_one.go. An error of filter or bind fails the pod's attempt, unless the
extender is `ignorable`; an error of prioritize is ignored. A response after httpTimeout is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedproof.history.history import History, TestPod
from schedproof.judge.clause import Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.extender_calls import (
    ONLY_PREEMPT,
    calls,
    configuration,
    cycle_verbs,
    flaw,
    is_needed,
    never_called,
    unanswered,
)
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed


@gives(
    "bound-during-outage", "call-failed", "call-unanswered", "no-outage", "not-applicable", "not-called",
    also=[judge_placement],
)  # fmt: skip
def judge_outage(history: History, case: str) -> Finding:
    """While the extender was broken, pods waited or were bound, as configured; afterwards it was called again."""
    names = cycle_verbs(history)
    if not names:
        return not_claimed(ONLY_PREEMPT)
    needed = is_needed(configuration(history))
    outages = [outage for outage in history.outages("extender", case) if outage.healed]
    pods = history.test_pods(case, "outage")
    for pod in pods if needed else ():
        binding = history.bindings.get(pod.uid)
        if binding is not None and any(outage.at(binding.at) for outage in outages):
            return failed(
                "bound-during-outage",
                f"{pod.name} was bound to {binding.node} while the extender was broken, although it is not ignorable",
            )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not outages or not pods:
        return invalid("no-outage", "the extender was not broken while pods waited")
    healed = outages[-1].end
    again = [(call, flaw(call, name)) for name in names for call in calls(history, name, case) if call.begun > healed]
    # A Binding of its own is seen before the answer to bind comes, which may be on record after the case only.
    if not again and not _bound_by_itself(history, pods, healed):
        return invalid("not-called", never_called(history, "it again"))
    if again and all(wrong for _, wrong in again):  # pods that do not wait for it do not show that it is gone for good
        last, wrong = again[-1]
        code = "call-unanswered" if unanswered(last) else "call-failed"
        return failed(code, f"no call of it succeeded after the outage: {wrong}")
    became = "waited, and were bound afterwards" if needed else "were bound all the same"
    return passed(f"{len(pods)} pods {became}, and it was called again")


@gives(also=[judge_outage])
def judge_required(history: History, case: str) -> Finding:
    """As `judge_outage`, if pods have to wait for the extender."""
    if not is_needed(configuration(history)):
        return not_claimed(
            "by its configuration pods do not wait: it is ignorable, or has neither filterVerb nor bindVerb"
        )
    return judge_outage(history, case)


@gives("claim-contradicts-config", also=[judge_outage])
def judge_ignorable(history: History, case: str) -> Finding:
    """As `judge_outage`, if the candidate claims that pods do not wait for the extender."""
    if is_needed(configuration(history)):
        return failed(
            "claim-contradicts-config",
            "the feature ignorable is claimed, but by the configuration pods wait while it is down: ignorable is not "
            "true",
        )
    return judge_outage(history, case)


def _bound_by_itself(history: History, pods: Sequence[TestPod], since: float) -> bool:
    """Whether an extender with a bindVerb has bound one of these pods since some time."""
    own = history.run.users.candidate[:1]
    return bool(configuration(history).get("bindVerb")) and any(
        attempt.succeeded and attempt.user in own and attempt.received > since
        for pod in pods
        for attempt in history.attempts_on(pod.name, pod.uid)
    )


CLAUSES = (
    Clause(
        "extender/required-down", "While the extender is down, pods wait; once it is back, they are scheduled.",
        "kubescheduler.config.k8s.io: Extender.ignorable (false)", judge_required,
        hint="Accept connections at any time: kube-scheduler opens new ones after an outage.",
    ),
    Clause(
        "extender/ignorable-down",
        "While the extender is down, pods are scheduled without it; once it is back, it is called again and responds.",
        "kubescheduler.config.k8s.io: Extender.ignorable", judge_ignorable, features=frozenset({"ignorable"}),
        hint="Set ignorable: true in spec.extender.config; an extender that binds cannot be ignored.",
    ),
    Clause(
        "extender/slow",
        "An extender that exceeds httpTimeout counts as down; once it responds again, pods are scheduled.",
        "kubescheduler.config.k8s.io: Extender.httpTimeout", judge_outage,
        hint="Set httpTimeout to a few seconds: until then the current pod, and all pods behind it, wait.",
    ),
)  # fmt: skip
