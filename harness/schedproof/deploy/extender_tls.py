"""TLS settings of an extender for kube-scheduler, for the tap in its place, and for readiness probes."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedproof.candidate.kinds import ExtenderSpec
from schedproof.candidate.placeholders import CERTIFICATES, fill
from schedproof.foundation.errors import CandidateError
from schedproof.proxies.tap_tls import trust_of, unverified


class ExtenderTls:
    """The `tlsConfig` of an extender's descriptor, with what is filled in.

    Args:
        spec: the extender.
        path: of its candidate.yaml, for errors.
        values: the placeholders' values.
        certificates: those that the harness made for it, as PEM by their placeholders; None where it has its own.
    """

    def __init__(
        self, spec: ExtenderSpec, path: Path, values: Mapping[str, str], certificates: Mapping[str, str] | None
    ) -> None:
        self._spec, self._path, self._values, self._certificates = spec, path, values, certificates

    def config(self) -> dict[str, Any]:
        """Return kube-scheduler's tlsConfig for the extender, with the content of certificates made by the harness."""
        config: dict[str, Any] = tls.document() if (tls := self._spec.config.tls_config) else {}
        if self._certificates is None:
            return fill(config, self._values)
        named = {name: f"{{{name}}}" for name in CERTIFICATES}
        if not any(name.startswith(("ca", "cert", "key", "insecure")) for name in config):
            config |= named
        if config.get("caFile") == named["caFile"]:
            config.setdefault("serverName", "localhost")  # its address in a cluster is not known in advance
        for name, written in named.items():
            if config.get(name) == written:
                del config[name]
                pem = self._certificates[name].encode()
                config[name.replace("File", "Data")] = base64.b64encode(pem).decode()
        return fill(config, self._values)

    def trust(self, name: str) -> tuple[ssl.SSLContext, str]:
        """Return kube-scheduler's TLS context for the extender, and the server name that it would expect of `name`.

        Raises:
            CandidateError: the tlsConfig is not usable.
        """
        config = self.config()
        try:
            return trust_of(config), str(config.get("serverName") or name)
        except (OSError, ValueError) as error:
            raise CandidateError(
                f"{self._path}: extender.config.tlsConfig: {error}",
                remedy="kube-scheduler would refuse it too: certificates and keys are PEM",
            ) from error

    def as_client(self) -> tuple[ssl.SSLContext, str]:
        """Return the same certificate and name for readiness checks, which do not verify the extender's certificate."""
        trust, name = self.trust("")
        return unverified(trust), name
