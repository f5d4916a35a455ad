"""Image layers, assembled in memory and written as tar files, without a daemon, root or mounts."""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
import io
import posixpath
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from schedproof.foundation.errors import HostError

# Debian merges /bin, /sbin and /lib* into /usr; packages still ship files under the old names.
_MERGED = ("bin", "sbin", "lib", "lib64")

# Files that are not needed in a container. Copyright files stay, as the licences require.
_UNREAD = (
    "usr/share/doc/*", "usr/share/man/*", "usr/share/locale/*", "usr/share/info/*", "usr/share/i18n/*",
    "usr/share/lintian/*", "usr/share/bash-completion/*", "usr/share/zsh/*", "usr/share/bug/*",
    "usr/lib/*/gconv/*", "usr/lib/udev/hwdb.d/*",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class LayerFile:
    """A layer as an uncompressed tar file."""

    path: Path
    digest: str
    """sha256, in hexadecimal."""


class Layer:
    """Files by their path in the image, without a leading slash. A later file replaces an earlier one at its path."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[tarfile.TarInfo, bytes | Path]] = {}

    def file(self, path: str, content: bytes | Path, mode: int = 0o644) -> None:
        """Add a file, from memory or from this machine."""
        info = tarfile.TarInfo(path)
        info.mode = mode
        info.size = len(content) if isinstance(content, bytes) else content.stat().st_size
        self._entries[path] = (info, content)

    def folder(self, path: str, mode: int = 0o755) -> None:
        info = tarfile.TarInfo(path)
        info.type, info.mode = tarfile.DIRTYPE, mode
        self._entries[path] = (info, b"")

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link."""
        info = tarfile.TarInfo(path)
        info.type, info.linkname = tarfile.SYMTYPE, target
        self._entries[path] = (info, b"")

    def tree(self, source: Path, at: str) -> None:
        """Add a folder of this machine with all its files, owned by root."""
        self.folder(at)
        for path in sorted(source.rglob("*")):
            name = posixpath.join(at, path.relative_to(source).as_posix())
            if path.is_dir():
                self.folder(name, path.stat().st_mode & 0o7777)
            else:
                self.file(name, path, path.stat().st_mode & 0o7777)

    def packages(self, archives: Iterable[Path]) -> None:
        """Add the files of Debian packages, without running their scripts.

        Raises:
            HostError: a package is damaged, or dpkg-deb is missing.
        """
        for name in _MERGED:
            self.folder(f"usr/{name}")
            self.link(name, f"usr/{name}")
        for archive in archives:
            try:
                unpacked = subprocess.run(
                    ("dpkg-deb", "--fsys-tarfile", str(archive)), capture_output=True, check=True
                ).stdout
            except (OSError, subprocess.CalledProcessError) as error:
                raise HostError(
                    f"{archive} cannot be unpacked: {error}", remedy="remove it, and check that dpkg is installed"
                ) from error
            with tarfile.open(fileobj=io.BytesIO(unpacked)) as members:
                for info in members:
                    self._member(members, info)

    def _member(self, members: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        info.name = _merged(info.name)
        if info.name in ("", ".", *_MERGED) or (info.isdir() and info.name in self._entries):
            return
        if any(fnmatch.fnmatch(info.name, pattern) for pattern in _UNREAD) and not info.name.endswith("/copyright"):
            return
        content = b""
        if info.isreg():
            extracted = members.extractfile(info)
            assert extracted is not None
            content = extracted.read()
        elif info.islnk():
            info.linkname = _merged(info.linkname)
        self._entries[info.name] = (info, content)

    def remove(self, *patterns: str) -> None:
        """Remove all paths that match a pattern of fnmatch, whose `*` also matches slashes."""
        for path in {path for pattern in patterns for path in self.paths(pattern)}:
            del self._entries[path]

    def paths(self, pattern: str) -> list[str]:
        """Return the paths that match, sorted."""
        return sorted(path for path in self._entries if fnmatch.fnmatch(path, pattern))

    def read(self, path: str) -> bytes:
        """Return the content of a file that is in memory."""
        content = self._entries[path][1]
        assert isinstance(content, bytes)
        return content

    def write(self, path: Path) -> LayerFile:
        """Write the layer into a file; the same entries always yield the same bytes."""
        with tarfile.open(path, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name in self._in_order():
                info, content = self._entries[name]
                info.mtime, info.uname, info.gname, info.pax_headers = 0, "", "", {}
                if isinstance(content, bytes):
                    tar.addfile(info, io.BytesIO(content))
                else:
                    with content.open("rb") as source:
                        tar.addfile(info, source)
        with path.open("rb") as file:
            return LayerFile(path, hashlib.file_digest(file, "sha256").hexdigest())

    def _in_order(self) -> Sequence[str]:
        for name in list(self._entries):
            parent = posixpath.dirname(name)
            while parent and parent not in self._entries:
                self.folder(parent)
                parent = posixpath.dirname(parent)
        # A hard link must come after its target.
        return sorted(self._entries, key=lambda name: (self._entries[name][0].islnk(), name))


def _merged(name: str) -> str:
    name = name.removeprefix("./").strip("/")
    return f"usr/{name}" if name.partition("/")[0] in _MERGED and "/" in name else name
