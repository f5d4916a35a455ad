"""Where projects publish the binaries that they build themselves, and how those are checked."""

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
    """What `SCHEDPROOF_DOWNLOAD` says."""

    PREFER = ""
    """A release where its server can be reached, else a build."""
    NEVER = "never"
    """No release is downloaded."""
    ONLY = "only"
    """What has a release is not built."""
    PACKAGES = "packages"
    """A release where its server can be reached, else a package of the machine's Debian, else a build."""


def policy() -> Policy:
    """The policy of this process's environment.

    Raises:
        UsageError: it is none.
    """
    text = os.environ.get(POLICY, "")
    try:
        return Policy(text)
    except ValueError:
        raise UsageError(
            f"{POLICY} is {text!r}",
            remedy='use "never", "only" or "packages", or leave it out: releases are then preferred to builds',
        ) from None


@dataclasses.dataclass(frozen=True)
class Asset:
    """One published file, and the binary that it is or holds.

    Attributes:
        url: of the file; at the mirror that `SCHEDPROOF_RELEASES` names, where it names one.
        checksums: URL of the published file with its SHA-256; empty where the project publishes none.
        member: the path of the binary in the tarball; empty where the file is the binary.
        sha256: of the file, as the lock file has it; empty where that has none.
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
        """The server: scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def server(self) -> str:
        """The server's host, for messages."""
        return urlsplit(self.url).hostname or self.origin


@dataclasses.dataclass(frozen=True)
class Release:
    """What the lock file says; its texts have the fields `{version}`, `{arch}` (Go's name) and `{name}`."""

    url: str
    checksums: str = ""
    member: str = ""
    sha256: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    """By binary, then by Go's name of the architecture."""

    def asset(self, name: str, version: str, arch: str) -> Asset | None:
        """What is published of a binary; None where there is nothing to check it against.

        Raises:
            UsageError: `SCHEDPROOF_RELEASES` is no URL.
        """
        sha256 = self.sha256.get(name, {}).get(arch, "")
        if not sha256 and not self.checksums:
            return None

        def filled(text: str) -> str:
            return text.format(version=version, arch=arch, name=name)

        return Asset(_mirrored(filled(self.url)), _mirrored(filled(self.checksums)), filled(self.member), sha256)

    @property
    def digest(self) -> str:
        """Changes with everything that decides what is downloaded."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


def _mirrored(url: str) -> str:
    """The same file at the mirror, which has it under the original's host and path."""
    mirror = os.environ.get(MIRROR, "").rstrip("/")
    if not mirror or not url:
        return url
    parts = urlsplit(mirror)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{MIRROR} is {mirror!r}, which is not a URL of a server",
            remedy="such as https://mirror.example/releases; below it, files have their original host and path",
        )
    return f"{mirror}/{url.partition('://')[2]}"


def published_checksum(text: str, file_name: str) -> str:
    """A file's SHA-256 in what is published: the digest alone, or lines of `sha256sum`. Empty where there is none."""
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
