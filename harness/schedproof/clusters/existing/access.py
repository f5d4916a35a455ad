"""How a user's kubeconfig reaches a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from schedproof.clusters.api import Api
from schedproof.foundation.errors import UsageError

_LINE = ("insecure-skip-tls-verify", "tls-server-name", "proxy-url")


@dataclasses.dataclass(frozen=True)
class Access:
    """One context of a kubeconfig. `authorization` gives the header's present value; `line` is as for `Api`."""

    context: str
    url: str
    ca: Path | None
    line: Mapping[str, Any]
    authorization: Callable[[], str]
    certificate: Path | None
    key: Path | None

    def api(self, marks: Mapping[str, str] | None = None) -> Api:
        """As the user."""
        return Api(
            self.url, self.ca, token=self.authorization, certificate=self.certificate, key=self.key, line=self.line,
            marks=marks,
        )  # fmt: skip


def read_access(kubeconfig: Path, context: str, scratch: Path) -> Access:
    """Read a kubeconfig, with the kubernetes client's own loader: it knows exec plugins and all other credentials.

    Args:
        kubeconfig: the file.
        context: its name in there; "" for the current one.
        scratch: a folder for what is inside the file, and needed as files.

    Raises:
        UsageError: there is no such file or context, or it is not a kubeconfig.
    """
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException, load_kube_config

    document, contexts, chosen = _contexts(kubeconfig, context)
    configuration: Any = Configuration()
    try:
        load_kube_config(  # type: ignore[no-untyped-call]
            str(kubeconfig), chosen, configuration, persist_config=False, temp_file_path=str(scratch / "credentials")
        )
        (cluster,) = (one["cluster"] for one in document["clusters"] if one["name"] == contexts[chosen]["cluster"])
    except (ConfigException, TypeError, KeyError, ValueError) as error:
        raise UsageError(
            f"{kubeconfig}: the context {chosen} cannot be used: {error}",
            remedy="kubectl --kubeconfig FILE --context NAME get nodes must work",
        ) from error
    return Access(
        chosen, configuration.host, _path(configuration.ssl_ca_cert),
        {name: cluster[name] for name in _LINE if name in cluster},
        lambda: configuration.get_api_key_with_prefix("BearerToken") or "",
        _path(configuration.cert_file), _path(configuration.key_file),
    )  # fmt: skip


def check_kubeconfig(kubeconfig: Path, context: str) -> None:
    """Refuse what is no kubeconfig, or has no such context, without reaching for any cluster; as `read_access` does."""
    _contexts(kubeconfig, context)


def _contexts(kubeconfig: Path, context: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """What is in the file, its contexts by name, and the one that is meant."""
    try:
        text = kubeconfig.read_text()
        if not text.strip():
            raise UsageError(
                f"the kubeconfig {kubeconfig} is empty", remedy="pass a kubeconfig to --kubeconfig that kubectl accepts"
            )
        document = yaml.safe_load(text)
        contexts = {one["name"]: one["context"] for one in document["contexts"]}
        chosen = context or document.get("current-context", "")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read the kubeconfig {kubeconfig}: {error.strerror if isinstance(error, OSError) else error}",
            remedy="pass an existing kubeconfig to --kubeconfig",
        ) from error
    except (yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{kubeconfig} is not a kubeconfig: {type(error).__name__}: {' '.join(str(error).split())}",
            remedy="`kubectl config view --kubeconfig FILE` shows whether it is one",
        ) from error
    if chosen not in contexts:
        what = f"no context {chosen!r}" if chosen else "no current context"
        raise UsageError(
            f"{kubeconfig} has {what}", remedy=f"--context: one of {', '.join(sorted(contexts)) or 'none'}"
        )
    return document, contexts, chosen


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
