"""The tap in front of an extender accepts the certificates that Go accepts, and refuses those that Go refuses."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import datetime
import ipaddress
import json
import socket
import ssl
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from schedproof.binaries import lock, toolchain
from schedproof.binaries.goversion import GoVersion
from schedproof.foundation.progress import ConsoleProgress
from schedproof.proxies.tap_tls import trust_of

pytestmark = [pytest.mark.live, pytest.mark.slow]

DNS, IP = "quiet.example.com", "127.0.0.1"
NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)


@dataclasses.dataclass(frozen=True)
class Issued:
    certificate: x509.Certificate
    key: Any

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def key_pem(self) -> str:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()


def issue(
    name: str,
    by: Issued | None = None,
    *,
    names: tuple[str, ...] = (),
    ca: bool | None = None,
    usage: Any = None,
    begin: datetime.timedelta = -DAY,
    end: datetime.timedelta = DAY,
    key: Any = None,
) -> Issued:
    """Issue a certificate with this Common Name. `names`: its subjectAltNames; `ip:` precedes an address."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + begin)
        .not_valid_after(NOW + end)
    )
    if names:
        alternatives: list[x509.GeneralName] = [
            x509.IPAddress(ipaddress.ip_address(name[3:])) if name.startswith("ip:") else x509.DNSName(name)
            for name in names
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return Issued(builder.sign(by.key if by else key, hashes.SHA256()), key)


CA = issue("an authority", ca=True)
MIDDLE = issue("in the middle", CA, ca=True)
NO_CA = issue("no authority", CA, ca=False)
OTHER = issue("another authority", ca=True)
SELF = issue("by itself", names=(DNS,))
BELOW_MIDDLE = issue("x", MIDDLE, names=(DNS,))

CASES: dict[str, tuple[Issued, Issued, str, tuple[Issued, ...]]] = {
    "its name": (CA, issue("x", CA, names=(DNS,)), DNS, ()),
    "its name in capitals": (CA, issue("x", CA, names=(DNS.upper(),)), DNS, ()),
    "a Common Name alone": (CA, issue(DNS, CA), DNS, ()),
    "a Common Name alone, signed by itself": ((own := issue(DNS, ca=True)), own, DNS, ()),
    "a Common Name beside another name": (CA, issue(DNS, CA, names=("other.example.com",)), DNS, ()),
    "an address as Common Name": (CA, issue(IP, CA), IP, ()),
    "another name": (CA, issue("x", CA, names=("other.example.com",)), DNS, ()),
    "a wildcard": (CA, issue("x", CA, names=("*.example.com",)), DNS, ()),
    "a wildcard of two levels": (CA, issue("x", CA, names=("*.com",)), DNS, ()),
    "a wildcard within a label": (CA, issue("x", CA, names=("q*.example.com",)), DNS, ()),
    "its address": (CA, issue("x", CA, names=(f"ip:{IP}",)), IP, ()),
    "another address": (CA, issue("x", CA, names=("ip:127.0.0.2",)), IP, ()),
    "its address as a name": (CA, issue("x", CA, names=(IP,)), IP, ()),
    "expired": (CA, issue("x", CA, names=(DNS,), end=-DAY / 2), DNS, ()),
    "not valid yet": (CA, issue("x", CA, names=(DNS,), begin=DAY / 2), DNS, ()),
    "for clients alone": (CA, issue("x", CA, names=(DNS,), usage=ExtendedKeyUsageOID.CLIENT_AUTH), DNS, ()),
    "for servers": (CA, issue("x", CA, names=(DNS,), usage=ExtendedKeyUsageOID.SERVER_AUTH), DNS, ()),
    "of another authority": (OTHER, issue("x", CA, names=(DNS,)), DNS, ()),
    "signed by itself, and trusted": (SELF, SELF, DNS, ()),
    "signed by itself, and not trusted": (CA, SELF, DNS, ()),
    "with all that is between": (CA, BELOW_MIDDLE, DNS, (MIDDLE,)),
    "without what is between": (CA, BELOW_MIDDLE, DNS, ()),
    "what is between is trusted": (MIDDLE, BELOW_MIDDLE, DNS, ()),
    "signed by what is no authority": (CA, issue("x", NO_CA, names=(DNS,)), DNS, (NO_CA,)),
    "RSA of 2048 bits": (CA, issue("x", CA, names=(DNS,), key=rsa.generate_private_key(65537, 2048)), DNS, ()),
    "RSA of 1024 bits": (CA, issue("x", CA, names=(DNS,), key=rsa.generate_private_key(65537, 1024)), DNS, ()),
}
"""The trusted authority, the server's certificate, the requested name, and further certificates that are sent."""


def refusal(authority: Issued, server: Issued, name: str, chain: tuple[Issued, ...], folder: Path) -> str:
    """Why the tap refuses a server's certificate for that name; "" where it accepts it."""
    file = folder / "server.pem"
    file.write_text(server.key_pem + server.pem + "".join(certificate.pem for certificate in chain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.load_cert_chain(file)
    near, far = socket.socketpair()

    def greet() -> None:
        with contextlib.suppress(OSError), far, context.wrap_socket(far, server_side=True) as secure:
            secure.recv(1)

    thread = threading.Thread(target=greet)
    thread.start()
    trust = trust_of({"caData": base64.b64encode(authority.pem.encode()).decode()})
    try:
        with near, trust.wrap_socket(near, server_hostname=name):
            return ""
    except ssl.SSLError as error:
        return str(error)
    finally:
        near.close()
        thread.join()


def test_the_tap_trusts_what_go_trusts(tmp_path: Path) -> None:
    go = toolchain.obtain(GoVersion(1, 24, 0), lock.load().go, ConsoleProgress())
    program = tmp_path / "tls"
    source = Path(__file__).parent / "tls" / "main.go"
    subprocess.run([go.path, "build", "-o", program, source], check=True, cwd=tmp_path)
    questions = [
        {"authority": authority.pem, "name": name, "key": server.key_pem,
         "certificates": server.pem + "".join(certificate.pem for certificate in chain)}
        for authority, server, name, chain in CASES.values()
    ]  # fmt: skip
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    answered = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    by_go = dict(zip(CASES, map(json.loads, answered), strict=True))
    by_tap = {what: refusal(*case, tmp_path) for what, case in CASES.items()}
    differ = {what: (by_go[what], by_tap[what]) for what in CASES if bool(by_go[what]) != bool(by_tap[what])}
    assert not differ
    assert 0 < sum(map(bool, by_go.values())) < len(CASES)
