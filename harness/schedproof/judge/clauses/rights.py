"""The RBAC rules of a candidate: whether they suffice, are dangerous, or exceed what it uses."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from schedproof.history.acts import Rights
from schedproof.history.audit_order import READING
from schedproof.history.history import History
from schedproof.history.observations import ApiRequest, ExtenderCall, ProcessEvent
from schedproof.judge.clause import AUDIT, GRANT, Clause
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.extender_calls import never_called
from schedproof.judge.rulings.other_ways import not_done_otherwise
from schedproof.judge.rulings.timeline import log_tails
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed

_RBAC_GROUPS = frozenset({"rbac.authorization.k8s.io", "*"})
_ROLES = frozenset({"roles", "clusterroles"})
_CORE = frozenset({"", "*"})


_ANY_ACCOUNT = "with that it can act as any service account"
_ANY_CONTAINER = "with that it can run commands in any container"
_ADMISSION = "with that it can read and change every request to the apiserver"
_WRITING = ("create", "update", "patch")

_DANGEROUS: Mapping[tuple[str, str], str] = {
    ("create", "serviceaccounts/token"): _ANY_ACCOUNT,
    **{(verb, f"pods/{how}"): _ANY_CONTAINER for verb in ("create", "get") for how in ("exec", "attach")},
    **{(verb, f"{kind}webhookconfigurations"): _ADMISSION for verb in _WRITING for kind in ("mutating", "validating")},
    **{(verb, "certificatesigningrequests/approval"): _ANY_ACCOUNT for verb in _WRITING},
}
"""Kubernetes: RBAC good practices, privilege escalation risks. By verb and resource: why no scheduler needs it."""


@dataclasses.dataclass(frozen=True)
class _Right:
    """One verb on one resource of one API group, or on one non-resource URL."""

    verb: str
    group: str
    resource: str
    names: tuple[str, ...] = ()
    """resourceNames: only these objects; all objects if empty."""
    path: str = ""
    """A nonResourceURL; a * at its end matches any suffix."""
    namespace: str = ""
    """The only namespace in which it counts; it counts in all if empty."""

    @classmethod
    def of(cls, rules: Iterable[Mapping[str, Any]]) -> Iterator[_Right]:
        for rule in rules:
            for verb in rule.get("verbs") or ():
                for resource in rule.get("resources") or ():
                    for group in rule.get("apiGroups") or ("",):
                        names, namespace = tuple(rule.get("resourceNames") or ()), rule.get("namespace", "")
                        yield cls(verb, group, resource, names, namespace=namespace)
                for path in rule.get("nonResourceURLs") or ():
                    yield cls(verb, "", "", path=path)

    def __str__(self) -> str:
        where = self.path or (f"{self.resource} in {self.group}" if self.group else self.resource)
        named = f" named {', '.join(self.names)}" if self.names else ""
        return f"{self.verb} {where}{named}{f' of the namespace {self.namespace}' if self.namespace else ''}"

    def allows(self, request: ApiRequest) -> bool:
        """Whether it grants a request (pkg/apis/rbac/v1: VerbMatches, APIGroupMatches, ResourceMatches, ...)."""
        if self.verb not in ("*", request.verb):
            return False
        if self.path:
            return _path_matches(self.path, request.path)
        return (
            # Histories that were saved before the group was kept have the resource alone.
            self.group in ("*", self.group if request.group is None else request.group)
            and _resource_matches(self.resource, request.resource)
            and (not self.names or request.name in self.names)
            and self.namespace in ("", request.namespace)
        )

    def covers(self, other: _Right) -> bool:
        """Whether it grants everything that another right grants."""
        if self.verb not in ("*", other.verb) or bool(self.path) != bool(other.path):
            return False
        if self.path:
            return self.path == other.path or _path_matches(self.path, other.path)
        return (
            self.group in ("*", other.group)
            and _resource_matches(self.resource, other.resource)
            and (not self.names or (bool(other.names) and set(other.names) <= set(self.names)))
            and self.namespace in ("", other.namespace)
        )

    @property
    def danger(self) -> str:
        """Why no scheduler needs it; empty if a scheduler might."""
        all_resources = "*" in self.resource.split("/")
        # Reads of every resource of another group show no secret and reach no container: of a metrics API, where each
        # metric is a resource, or of the definitions that a scheduler brings along.
        if all_resources and self.verb in READING and self.group not in _CORE:
            return ""
        if "*" in (self.verb, self.path) or self.path == "/*" or all_resources:
            return "list what it needs, resource by resource and verb by verb"
        if self.group in _CORE and self.resource == "nodes/proxy":
            return "that is access to every kubelet's API, past admission and audit"
        if self.group in _CORE and self.resource == "secrets" and not self.names:
            return f"that is every secret of {f'the namespace {self.namespace}' if self.namespace else 'the cluster'}"
        if self.verb in ("escalate", "bind") and self.group in _RBAC_GROUPS and self.resource in _ROLES:
            return "with that it can give itself any right"
        if self.verb == "impersonate":
            return "with that it can act as another user"
        # A webhook that writes its own certificate into its own configuration changes no other one.
        if self.names and self.resource.endswith("webhookconfigurations"):
            return ""
        return _DANGEROUS.get((self.verb, self.resource), "") if self._is_of_a_dangerous_group else ""

    @property
    def _is_of_a_dangerous_group(self) -> bool:
        return self.group in {"", "*", "admissionregistration.k8s.io", "certificates.k8s.io"}


def _resource_matches(pattern: str, resource: str) -> bool:
    return pattern in ("*", resource) or (pattern.startswith("*/") and resource.endswith(pattern[1:]))


def _path_matches(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern[:-1]) and bool(path))


@gives("forbidden-request", "no-request", "not-applicable", "not-called")
def judge_rbac_sufficient(history: History, case: str) -> Finding:
    """No request that the candidate needs was refused.

    A request is needed if it changes an object, or is a read that is repeated. A read that is sent once after each
    start and then omitted is optional (as in client-go's discovery). A change that is then made by another request,
    which is granted (an eviction for a deletion, an update for a patch, an event of the other API group, a Binding of
    the pod for one of the namespace), lacks no right.
    """
    requests = _requests(history)
    if not requests:
        return _no_request(history)
    refused = [request for request in requests if request.code == HTTPStatus.FORBIDDEN]
    started = collections.Counter(r.name for r in history.of(ProcessEvent) if r.event == "started")
    starts = max(started.values(), default=1)
    times = collections.Counter(map(_kind, refused))
    needed = [r for r in not_done_otherwise(refused, requests) if r.verb not in READING or times[_kind(r)] > starts]
    if needed:
        verb, about = _kind(needed[0])
        others = sorted({" ".join(_kind(request)) for request in needed} - {f"{verb} {about}"})
        return failed(
            "forbidden-request",
            f"it was refused to {verb} {about}: {_field(history, needed[0])} does not grant that ({len(needed)} "
            "requests" + (f"; also {', '.join(others)})" if others else ")"),
            Evidence(
                timeline=[f"{' '.join(_kind(request))} {request.name}: 403" for request in needed[:20]],
                logs=log_tails(history, case),
            ),
        )
    if _never_called(history):
        return _no_request(history)
    return passed(f"{len({_kind(request) for request in requests})} kinds of requests, none of the needed ones refused")


@gives("dangerous-right", "rights-not-recorded")
def judge_rbac_dangerous(history: History, _case: str) -> Finding:
    """The candidate declares no right that no scheduler needs, used or not."""
    rights = history.run.rbac
    if rights is None:
        return invalid("rights-not-recorded", "its rights are not on record")
    declared = [right for _, rules in _declared(history) for right in _Right.of(rules)]
    dangerous = [right for right in declared if right.danger]
    if dangerous:
        more = f" (and {len(dangerous) - 1} more such rights)" if len(dangerous) > 1 else ""
        return failed(
            "dangerous-right",
            f"it may {dangerous[0]}: {dangerous[0].danger}{more}",
            Evidence(timeline=[f"{right}: {right.danger}" for right in dangerous[:20]]),
        )
    return passed(f"{len(declared)} rights declared, none that no scheduler needs")


@gives("no-request", "not-applicable", "not-called", "rights-not-recorded", "unused-right")
def judge_rbac_minimal(history: History, _case: str) -> Finding:
    """The candidate declares no right that it did not use in this run, except those that Kubernetes grants to
    schedulers.

    Recommended only: a run does not provoke every use.
    """
    rights = history.run.rbac
    if rights is None:
        return invalid("rights-not-recorded", "its rights are not on record")
    requests = _requests(history)
    if not requests or _never_called(history):
        return _no_request(history)
    usual = list(_Right.of(rights.schedulers))
    unused = [
        right
        for user, rules in _declared(history)
        for right in _Right.of(rules)
        if not any(request.user == user and right.allows(request) for request in requests)
        and not any(other.covers(right) for other in usual)
    ]
    if unused:
        return failed(
            "unused-right",
            f"not used in this run: {_few(unused)}. Remove the rights that it does not need; some may be needed in "
            "situations that this run does not have",
        )
    return passed(f"{len({_kind(request) for request in requests})} kinds of requests; it declares no other rights")


def _requests(history: History) -> list[ApiRequest]:
    """The requests of the candidate itself, without those of the kube-scheduler that calls an extender."""
    users = {user for user, _ in _declared(history)}
    return [request for request in history.requests() if request.user in users]


def _declared(history: History) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """The candidate's identities, by their names in the audit log, and the rules that each declares."""
    rights = history.run.rbac or Rights()
    yield history.run.users.candidate[0], rights.declared
    yield from rights.processes.items()


def _field(history: History, request: ApiRequest) -> str:
    """The field that declares the rights of the identity that made a request."""
    user = request.user
    own = user == history.run.users.candidate[0]
    return "spec.rbac" if own else f"the rbac of the process that is {user.rpartition(':')[2]}"


def _never_called(history: History) -> bool:
    """Whether it is an extender that got no call in the whole run: the rights it needs for calls are unknown."""
    return history.run.candidate.kind == "extender" and not any(
        call.by == "scheduler" and call.status == HTTPStatus.OK for call in history.of(ExtenderCall)
    )


def _no_request(history: History) -> Finding:
    if _requests(history):
        return invalid("not-called", never_called(history, "its extender"))
    if history.run.candidate.kind == "extender":
        return not_claimed("it made no request to the apiserver: there are no rights to try")
    return invalid("no-request", "it made no request")


def _kind(request: ApiRequest) -> tuple[str, str]:
    return request.verb, request.resource or request.path


def _few(rights: Sequence[_Right]) -> str:
    shown = ", ".join(map(str, rights[:5]))
    return shown + (f" and {len(rights) - 5} more" if len(rights) > 5 else "")


def _rights(kind: str) -> tuple[Clause, ...]:
    """The clauses about the rights of a kind of candidate."""
    source = "Kubernetes: RBAC good practices"
    return (
        Clause(
            f"{kind}/rbac-sufficient",
            "The declared RBAC rules suffice: no request that the candidate needs is refused.",
            source, judge_rbac_sufficient, needs=AUDIT | GRANT, whole_run=True,
            hint="Add the refused verb and resource to spec.rbac; the finding names them.",
        ),
        Clause(
            f"{kind}/rbac-dangerous",
            "The RBAC rules have no right that no scheduler needs: *, nodes/proxy, all secrets, escalate, bind, "
            "impersonate.",
            source, judge_rbac_dangerous, needs=GRANT, whole_run=True,
            hint="Name verbs and resources instead of *; bind, escalate, impersonate and all secrets are not needed.",
        ),
        Clause(
            f"{kind}/rbac-minimal", "The RBAC rules have no right that the candidate does not use.",
            source, judge_rbac_minimal, level="recommended", needs=AUDIT | GRANT, whole_run=True, pooled=True,
            hint="Remove unused rights from spec.rbac, unless another situation needs them.",
        ),
    )  # fmt: skip


CLAUSES = (
    *_rights("extender"),
    *_rights("plugin"),
    *_rights("controller"),
)  # fmt: skip
