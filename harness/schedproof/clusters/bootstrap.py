"""Creates the first objects of the harness in a cluster: its namespace, and the identities of all clients."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from schedproof.clusters.api import Api, Manifest
from schedproof.clusters.cluster import NAMESPACE, Identity, Rbac
from schedproof.daemons.kubeconfig import write_kubeconfig

HARNESS = "schedproof-harness"
"""The harness's own ServiceAccount."""

SCHEDULER_RBAC = Rbac(
    cluster_roles=("system:kube-scheduler", "system:volume-scheduler"),
    # Grants access to the apiserver's authentication configuration, for requests to the scheduler's own endpoints.
    system_roles=("extension-apiserver-authentication-reader",),
)
"""The rights of a kube-scheduler, from Kubernetes' own bootstrap roles."""

_RBAC_GROUP = "rbac.authorization.k8s.io"


def namespace(api: Api, name: str, labels: Mapping[str, str] = MappingProxyType({})) -> None:
    """Create a namespace with its default ServiceAccount, so that pods can be created at once.

    The ServiceAccount controller would create the account later, and admission rejects pods until then.
    """
    api.create_or_keep("namespaces", {"metadata": {"name": name, "labels": {**labels, "schedproof.dev/owned": "true"}}})
    api.create_or_keep("serviceaccounts", {"metadata": {"name": "default"}}, name)


def system_namespace(api: Api) -> None:
    namespace(api, NAMESPACE)


def exempt(api: Api) -> None:
    """Exempt all requests of the harness's ServiceAccounts from API Priority and Fairness.

    A client that drains a full queue of pods may fill the apiserver's queue of requests: some requests get status
    429 at random, and the client waits for a second.
    """
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    rule = {
        "subjects": [{"kind": "Group", "group": {"name": f"system:serviceaccounts:{NAMESPACE}"}}],
        "resourceRules": [everything],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    spec = {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 2, "rules": [rule]}
    api.create_or_keep("flowschemas", {"metadata": {"name": NAMESPACE}, "spec": spec})


def harness_token(api: Api, *, home: str = NAMESPACE) -> str:
    """Return a token of the harness's own ServiceAccount in the namespace `home`.

    It has all rights, and the audit log tells its requests apart.
    """
    _service_account(api, HARNESS, Rbac(cluster_roles=("cluster-admin",)), home)
    return api.token(home, HARNESS)


def harness_user(home: str = NAMESPACE) -> str:
    """Return the user name of the harness's own ServiceAccount."""
    return f"system:serviceaccount:{home}:{HARNESS}"


def identity(
    api: Api,
    name: str,
    rbac: Rbac,
    *,
    directory: Path,
    server: str,
    ca: Path | None,
    line: Mapping[str, Any] | None = None,
    home: str = NAMESPACE,
) -> Identity:
    """Create a ServiceAccount with exactly these rights in the namespace `home`, and a kubeconfig for it."""
    _service_account(api, name, rbac, home)
    token = api.token(home, name)
    path = directory / f"{name}.kubeconfig"
    return Identity(name, write_kubeconfig(path, server=server, ca=ca, user=name, token=token, line=line), home)


def _service_account(api: Api, name: str, rbac: Rbac, home: str) -> None:
    subject = {"kind": "ServiceAccount", "name": name, "namespace": home}
    api.create_or_keep("serviceaccounts", {"metadata": {"name": name}}, home)
    # Names of cluster-scoped objects are shared by all namespaces.
    name = f"{home}:{name}"
    for role in rbac.cluster_roles:
        api.create_or_keep("clusterrolebindings", _binding(f"{name}:{role}", "ClusterRole", role, subject))
    if rbac.rules:
        api.create_or_keep("clusterroles", {"metadata": {"name": name}, "rules": [dict(rule) for rule in rbac.rules]})
        api.create_or_keep("clusterrolebindings", _binding(name, "ClusterRole", name, subject))
    for number, (namespace, rules) in enumerate(rbac.roles):
        # A ClusterRole, bound in the namespace: what a run leaves is looked for among fewer kinds of objects.
        own = f"{name}:{number}"
        api.create_or_keep("clusterroles", {"metadata": {"name": own}, "rules": [dict(rule) for rule in rules]})
        api.create_or_keep("rolebindings", _binding(own, "ClusterRole", own, subject), namespace)
    for role in rbac.system_roles:
        api.create_or_keep("rolebindings", _binding(f"{name}:{role}", "Role", role, subject), "kube-system")


def _binding(name: str, kind: str, role: str, subject: Manifest) -> Manifest:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC_GROUP, "kind": kind, "name": role},
        "subjects": [subject],
    }
