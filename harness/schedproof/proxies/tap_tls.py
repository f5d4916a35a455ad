"""TLS on both sides of an extender's tap: as kube-scheduler speaks it, and with a certificate that it can trust.

Source: `makeTransport` in Kubernetes' pkg/scheduler/extender.go, and Go's crypto/tls.
"""

from __future__ import annotations

import base64
import ssl
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.daemons.certificates import Authority
from schedproof.foundation.http2 import ALPN

# No DHE, and no RSA key exchange. At level 1 OpenSSL refuses what Go refuses: SHA-1, and RSA keys below 1024 bits.
_CIPHERS = (
    "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:"
    "ECDHE-RSA-AES256-SHA:@SECLEVEL=1"
)
"""The ciphers that Go's client offers by default below TLS 1.3 (crypto/tls: defaultCipherSuites)."""


def own_certificate(address: str) -> tuple[ssl.SSLContext, str]:
    """Return TLS for a server at `address` with a new certificate, and the `caData` for clients that trust it."""
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder) / "authority")
        pair = authority.server("tap", address)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        return context, base64.b64encode(authority.certificate.read_bytes()).decode()


def made_certificates(hosts: Sequence[str] = ()) -> dict[str, str]:
    """Return a new certificate for an extender on loopback or called localhost, and for its client; as PEM.

    `hosts`: further names that it is called by.

    The keys are the names of the placeholders for the files: `caFile`, `certFile`, `keyFile`.
    """
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder) / "authority")
        pair = authority.both("extender", hosts)
        files = {"caFile": authority.certificate, "certFile": pair.certificate, "keyFile": pair.key}
        return {name: file.read_text(encoding="ascii") for name, file in files.items()}


def trust_of(config: Mapping[str, str | bool]) -> ssl.SSLContext:
    """Return TLS as kube-scheduler speaks it to an extender with this `tlsConfig` (placeholders filled in).

    Without a CA nothing is verified. The CA may also be the extender's own certificate. As Go's client does, it
    looks for the extender's name in the certificate's subjectAltNames only, whatever its Common Name is, and offers
    TLS 1.2 and 1.3 with the ciphers of `_CIPHERS`, and HTTP/2 before HTTP/1.1. It does not renegotiate.

    Raises:
        OSError: a file cannot be read, or is not a certificate or key.
        ValueError: kube-scheduler refuses this combination (client-go's TLSConfigFor).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.set_alpn_protocols(ALPN)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.hostname_checks_common_name = False
    authority = _pem(config, "ca")
    if authority is not None and config.get("insecure"):
        raise ValueError("insecure excludes a CA: kube-scheduler does not start with both")
    if authority is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=authority)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Go is not strict
    certificate, key = _pem(config, "cert"), _pem(config, "key")
    if certificate is not None and key is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # only its owner may read it
            file.write(certificate + "\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def unverified(trust: ssl.SSLContext) -> ssl.SSLContext:
    """Make a client accept any server certificate; its own certificate stays.

    Whether an extender's certificate is right must show in how its scheduler handles it, not in its readiness.
    """
    trust.check_hostname = False
    trust.verify_mode = ssl.CERT_NONE
    return trust


def _pem(config: Mapping[str, str | bool], what: str) -> str | None:
    """Return the PEM text of `ca`, `cert` or `key`; data has precedence over a file, as in client-go."""
    if data := config.get(f"{what}Data"):
        return base64.b64decode(str(data)).decode()
    if path := config.get(f"{what}File"):
        return Path(str(path)).read_text(encoding="utf-8")
    return None
