"""Access to a cluster by a user's kubeconfig, or by the ServiceAccount of the pod that this process runs in."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from schedproof.clusters.api import Api
from schedproof.clusters.node_backup import NotingApi
from schedproof.foundation.errors import UsageError

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The files of a pod's ServiceAccount."""

IN_CLUSTER = "in-cluster"
"""Stands for the name of a context: the ServiceAccount of this process's pod."""

_LINE = ("insecure-skip-tls-verify", "tls-server-name", "proxy-url")


@dataclasses.dataclass(frozen=True)
class Access:
    """A context of a kubeconfig. `authorization` returns the current header; `line` is as for `Api`."""

    context: str
    url: str
    ca: Path | None
    line: Mapping[str, Any]
    authorization: Callable[[], str]
    certificate: Path | None
    key: Path | None

    def api(self, marks: Mapping[str, str] | None = None) -> Api:
        """Return a connection with the user's credentials."""
        return Api(self.url, self.ca, **self._credentials, marks=marks)

    def noting_api(self, marks: Mapping[str, str]) -> NotingApi:
        """Return a connection with the user's credentials for the changes of a run."""
        return NotingApi(self.url, self.ca, **self._credentials, marks=marks)

    @property
    def _credentials(self) -> dict[str, Any]:
        return {
            "token": self.authorization, "certificate": self.certificate, "key": self.key, "line": self.line,
        }  # fmt: skip


def in_cluster() -> bool:
    """Whether this process runs in a pod of a cluster, with the credentials of its ServiceAccount."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and (_ACCOUNT / "token").is_file()


def read_access(kubeconfig: Path | None, context: str, scratch: Path) -> Access:
    """Read a kubeconfig with the kubernetes client's loader, which supports exec plugins and all other credentials.

    Args:
        kubeconfig: the file; None: the credentials of this pod's ServiceAccount (see `in_cluster`).
        context: a name in the file; "" for the current context.
        scratch: a folder for data inside the file that is needed as files.

    Raises:
        UsageError: the file or the context does not exist, or the file is not a kubeconfig.
    """
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, load_kube_config

    if kubeconfig is None:
        return _own_account()
    document, contexts, chosen = _contexts(kubeconfig, context)
    configuration: Any = Configuration()
    try:
        load_kube_config(  # type: ignore[no-untyped-call]
            str(kubeconfig), chosen, configuration, persist_config=False, temp_file_path=str(scratch / "credentials")
        )
        (cluster,) = (
            entry["cluster"] for entry in document["clusters"] if entry["name"] == contexts[chosen]["cluster"]
        )
    except (ConfigException, TypeError, KeyError, ValueError) as error:
        raise UsageError(
            f"{kubeconfig}: the context {chosen} cannot be used: {error}",
            remedy="check that `kubectl --kubeconfig FILE --context NAME get nodes` works",
        ) from error
    return Access(
        chosen, configuration.host, _path(configuration.ssl_ca_cert),
        {name: cluster[name] for name in _LINE if name in cluster},
        lambda: configuration.get_api_key_with_prefix("BearerToken") or "",
        _path(configuration.cert_file), _path(configuration.key_file),
    )  # fmt: skip


def _own_account() -> Access:
    from kubernetes.client import Configuration
    from kubernetes.config import load_incluster_config

    configuration: Any = Configuration()
    load_incluster_config(configuration)  # type: ignore[no-untyped-call]
    return Access(
        IN_CLUSTER, configuration.host, _path(configuration.ssl_ca_cert), {},
        # The kubelet writes another token before one expires; the loader reads it again.
        lambda: configuration.get_api_key_with_prefix("BearerToken") or "",
        None, None,
    )  # fmt: skip


def check_kubeconfig(kubeconfig: Path, context: str) -> None:
    """Check that a file is a kubeconfig with this context, without connecting to it; raises as `read_access`."""
    _contexts(kubeconfig, context)


def _contexts(kubeconfig: Path, context: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return the file's content, its contexts by name, and the name of the chosen context."""
    try:
        text = kubeconfig.read_text()
        if not text.strip():
            raise UsageError(
                f"the kubeconfig {kubeconfig} is empty", remedy="pass a kubeconfig to --kubeconfig that kubectl accepts"
            )
        document = yaml.safe_load(text)
        contexts = {entry["name"]: entry["context"] for entry in document["contexts"]}
        chosen = context or document.get("current-context", "")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read the kubeconfig {kubeconfig}: {error.strerror if isinstance(error, OSError) else error}",
            remedy="pass an existing kubeconfig to --kubeconfig",
        ) from error
    except (yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{kubeconfig} is not a kubeconfig: {type(error).__name__}: {' '.join(str(error).split())}",
            remedy="check the file with `kubectl config view --kubeconfig FILE`",
        ) from error
    if chosen not in contexts:
        what = f"no context {chosen!r}" if chosen else "no current context"
        raise UsageError(
            f"{kubeconfig} has {what}", remedy=f"use --context with one of {', '.join(sorted(contexts)) or 'none'}"
        )
    return document, contexts, chosen


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
