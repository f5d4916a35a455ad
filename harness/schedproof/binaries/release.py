"""Where projects publish their binaries, and the checksums to verify them."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from schedproof.foundation.errors import UsageError

POLICY = "SCHEDPROOF_DOWNLOAD"
MIRROR = "SCHEDPROOF_RELEASES"

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class Policy(enum.StrEnum):
    """The values of `SCHEDPROOF_DOWNLOAD`."""

    PREFER = ""
    """Use a release if its server is reachable, else build."""
    NEVER = "never"
    """Download no release."""
    ONLY = "only"
    """Build nothing that has a release."""
    PACKAGES = "packages"
    """Use a release if its server is reachable, else a package of the machine's Debian, else build."""


def policy() -> Policy:
    """Return the policy of this process's environment.

    Raises:
        UsageError: the value is unknown.
    """
    text = os.environ.get(POLICY, "")
    try:
        return Policy(text)
    except ValueError:
        raise UsageError(
            f"{POLICY} is {text!r}, which is not a policy",
            remedy='use "never", "only" or "packages", or unset it: releases are then preferred to builds',
        ) from None


@dataclasses.dataclass(frozen=True)
class Asset:
    """A published file that is a binary, or contains it.

    Attributes:
        url: of the file; at the mirror in `SCHEDPROOF_RELEASES`, if set.
        checksums: URL of the published file with its SHA-256; empty if the project publishes none.
        member: the path of the binary in the tarball; empty if the file is the binary.
        sha256: of the file, from the lock file; empty if it has none.
    """

    url: str
    checksums: str
    member: str
    sha256: str

    @property
    def file_name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def origin(self) -> str:
        """The server's scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def server(self) -> str:
        """The server's host, for messages."""
        return urlsplit(self.url).hostname or self.origin


@dataclasses.dataclass(frozen=True)
class Release:
    """A release in the lock file; its texts have the fields `{version}`, `{arch}` (Go's name) and `{name}`."""

    url: str
    checksums: str = ""
    member: str = ""
    sha256: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    """By binary, then by Go's name of the architecture."""

    def asset(self, name: str, version: str, arch: str) -> Asset | None:
        """Return the published file of a binary; None if it has no checksum.

        Raises:
            UsageError: `SCHEDPROOF_RELEASES` is not a URL.
        """
        sha256 = self.sha256.get(name, {}).get(arch, "")
        if not sha256 and not self.checksums:
            return None

        def filled(text: str) -> str:
            return text.format(version=version, arch=arch, name=name)

        return Asset(_mirrored(filled(self.url)), _mirrored(filled(self.checksums)), filled(self.member), sha256)

    @property
    def digest(self) -> str:
        """A hash of all that determines the download."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


def _mirrored(url: str) -> str:
    """Return the file's URL at the mirror, which has it under the original host and path."""
    mirror = os.environ.get(MIRROR, "").rstrip("/")
    if not mirror or not url:
        return url
    parts = urlsplit(mirror)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{MIRROR} is {mirror!r}, which is not a URL of a server",
            remedy="for example https://mirror.example/releases; below it, files have their original host and path",
        )
    return f"{mirror}/{url.partition('://')[2]}"


def published_checksum(text: str, file_name: str) -> str:
    """Return a file's SHA-256 from published text: the digest alone, or lines of `sha256sum`. "" if it is not there."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and len(lines[0]) == 1 and _SHA256.fullmatch(lines[0][0]):
        return lines[0][0].lower()
    for words in lines:
        if (
            len(words) == 2
            and _SHA256.fullmatch(words[0])
            and words[1].removeprefix("*").removeprefix("./") == file_name
        ):
            return words[0].lower()
    return ""
