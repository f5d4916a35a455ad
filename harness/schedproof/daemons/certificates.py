"""The certificate authority of a cluster, laid out as by kubeadm, for one machine and a week."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_USAGES = {"server": ExtendedKeyUsageOID.SERVER_AUTH, "client": ExtendedKeyUsageOID.CLIENT_AUTH}


@dataclasses.dataclass(frozen=True)
class KeyPair:
    """The files of a certificate and its private key, PEM."""

    certificate: Path
    key: Path


class Authority:
    """Issues certificates into `directory`. Keys are elliptic: an RSA key takes up to 0.2 s."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "schedproof")])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        certificate = self._builder(self._name, self._key.public_key()).add_extension(constraints, critical=True)
        self.certificate = self._directory / "ca.crt"
        self.certificate.write_bytes(
            certificate.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )

    def server(self, name: str, address: str = "127.0.0.1") -> KeyPair:
        """Issue a serving certificate for loopback, and for another IP `address` of this machine."""
        return self._issue(name, _common_name(name), ("server",), self._names(address))

    def both(self, name: str, hosts: Sequence[str] = ()) -> KeyPair:
        """Issue a certificate for loopback, and for these names of hosts, that is valid for a server and its client."""
        return self._issue(name, _common_name(name), ("server", "client"), self._names(hosts=hosts))

    @staticmethod
    def _names(address: str = "127.0.0.1", hosts: Sequence[str] = ()) -> x509.SubjectAlternativeName:
        return x509.SubjectAlternativeName(
            [
                *map(x509.DNSName, hosts),
                x509.DNSName("localhost"),
                x509.DNSName("kubernetes.default.svc"),
                *(x509.IPAddress(ipaddress.ip_address(ip)) for ip in sorted({"127.0.0.1", address})),
            ]
        )

    def client(self, user: str, group: str = "") -> KeyPair:
        """Issue a client certificate: the apiserver reads CN as the user and O as the group."""
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        if group:
            attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        return self._issue(user.replace(":", "-"), x509.Name(attributes), ("client",), None)

    def signing_key(self, name: str) -> Path:
        """Write a private key without a certificate, such as the key that signs ServiceAccount tokens."""
        return self._write_key(name, ec.generate_private_key(ec.SECP256R1()))

    def _issue(
        self, file: str, subject: x509.Name, usages: Sequence[str], names: x509.SubjectAlternativeName | None
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key()).add_extension(
            x509.ExtendedKeyUsage([_USAGES[usage] for usage in usages]), critical=False
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        path = self._directory / f"{file}.crt"
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return KeyPair(path, self._write_key(file, key))

    def _builder(self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        # Valid from an hour ago, because the clock of a suspended laptop may step.
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=7))
        )

    def _write_key(self, name: str, key: ec.EllipticCurvePrivateKey) -> Path:
        path = self._directory / f"{name}.key"
        path.touch(mode=0o600)
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                # "EC PRIVATE KEY": from PKCS8 the apiserver does not get the public half of a signing key
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        return path


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
