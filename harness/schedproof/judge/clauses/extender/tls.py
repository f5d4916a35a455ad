"""Whether an extender that is configured with HTTPS serves nothing else: extender/tls.

Source: `enableHTTPS` and `tlsConfig` of kubescheduler.config.k8s.io, makeTransport in pkg/scheduler/extender.go. An
extender sees whole pods and, with a bindVerb, binds them: reaching its port must not be enough to get a response.
"""

from __future__ import annotations

from http import HTTPStatus

from schedproof.history.acts import TransportTried
from schedproof.history.history import History
from schedproof.judge.clause import Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.extender_calls import NOTHING_ASKED, asking_verbs, configuration
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed

AS_CONFIGURED, PLAIN, WITHOUT_CERTIFICATE = "as configured", "over plain HTTP", "without a certificate"
"""How the harness sent a question to the extender."""
_MUTUAL = "mutual-tls"


@gives(
    "call-failed", "call-unanswered", "insecure-call-answered", "not-applicable", "not-configured", "not-tried",
    also=[judge_placement],
)  # fmt: skip
def judge_tls(history: History, case: str) -> Finding:
    """A question got a response over HTTPS, with the configured certificates, and none over plain HTTP.

    If `mutual-tls` is claimed, a client without a certificate got none either.
    """
    if not asking_verbs(history):
        return not_claimed(f"{NOTHING_ASKED}: there is no question that changes nothing")
    asked = {record.how: record for record in history.of(TransportTried, case)}
    if not asked:
        return invalid("not-tried", "the harness sent no request to the extender directly")
    if not configuration(history).get("enableHTTPS"):
        return failed(
            "not-configured",
            "the feature tls is claimed, but enableHTTPS is not set: kube-scheduler sends it plain HTTP",
        )
    if not _answered(asked[AS_CONFIGURED]):
        code = "call-failed" if asked[AS_CONFIGURED].status else "call-unanswered"
        response = _response(asked[AS_CONFIGURED])
        return failed(code, f"a question over HTTPS, with its tlsConfig, had {response}")
    refused = [PLAIN, WITHOUT_CERTIFICATE] if _MUTUAL in history.claims.features else [PLAIN]
    for how in refused:
        if _answered(asked[how]):
            return failed(
                "insecure-call-answered",
                f"a question {how} got a response ({_response(asked[how])})",
            )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    return passed(f"responded over HTTPS; refused: questions {', '.join(refused)}")


def _answered(record: TransportTried) -> bool:
    return record.status == HTTPStatus.OK


def _response(record: TransportTried) -> str:
    return f"status {record.status}" if record.status else f"no answer: {record.error}"


CLAUSES = (
    Clause(
        "extender/tls",
        "With HTTPS configured, the extender serves HTTPS only; with mutual-tls claimed, it refuses clients without "
        "a certificate.",
        "kubescheduler.config.k8s.io: Extender.enableHTTPS, tlsConfig", judge_tls, features=frozenset({"tls"}),
        also=frozenset({_MUTUAL}),
        hint="Serve only TLS on the port; for mutual TLS, require and verify client certificates.",
    ),
)  # fmt: skip
