"""What Go has written about a build into a program: the versions of its modules, without Go on this machine.

The format is that of debug/buildinfo since Go 1.18: two texts behind a header, each with its length before it.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

_MAGIC = b"\xff Go buildinf:"
_HEADER = 32
"""Bytes of the header, behind which the texts are."""
_INLINE = 2
"""The flag that the texts are behind the header; older programs have pointers there."""
_FRAME = 16
"""Bytes of a mark before and behind the text about modules."""


def build_info(program: Path) -> str:
    """The lines that `go version -m` prints about a program; "" if it is no program of Go 1.18 or newer.

    Raises:
        OSError: it cannot be read.
    """
    with program.open("rb") as file:
        if not program.stat().st_size:
            return ""
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            start = content.find(_MAGIC)
            while start >= 0:  # the magic is also a constant in programs that read it, Go's own among them
                header = content[start : start + _HEADER]
                inline = len(header) == _HEADER and header[15] & _INLINE
                if inline and (found := _modules(content, start + _HEADER)):
                    return found
                start = content.find(_MAGIC, start + 1)
    return ""


def _modules(content: mmap.mmap, start: int) -> str:
    try:
        version, behind = _text(content, start)
        modules, _ = _text(content, behind)
    except IndexError:
        return ""
    return modules[_FRAME:-_FRAME].decode(errors="replace") if version.startswith((b"go", b"devel")) else ""


def _text(content: mmap.mmap, start: int) -> tuple[bytes, int]:
    """The text at `start`, and where the next one begins; its length is a varint before it."""
    length = shift = 0
    while True:
        byte = content[start]
        start += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return content[start : start + length], start + length


_MODULES = ("k8s.io/kubernetes", "k8s.io/kube-scheduler", "k8s.io/client-go", "k8s.io/api")
"""The modules whose versions are those of Kubernetes, the most telling first; those after the first have v0 for v1."""


def kubernetes_of(info: str) -> str | None:
    """The version of Kubernetes in the lines of `build_info`, such as `v1.34.7`; None if they name none.

    The version that the linker was told comes first: a program that is built in a tree of Kubernetes has no other.
    """
    if told := re.search(r"component-base/version\.gitVersion=(v\d+\.\d+\.\d+)", info):
        return told[1]
    versions = {
        name: (replaced or version)
        for name, version, replaced in re.findall(
            r"^(?:mod|dep)\t(\S+)\t(\S+)[^\n]*(?:\n=>\t\S+\t(\S+))?", info, re.MULTILINE
        )
    }
    for module in _MODULES:
        found = re.match(r"v([01])\.(\d+\.\d+)", versions.get(module, ""))
        if found and (found[1], found[2]) != ("0", "0.0") and (module == _MODULES[0]) == (found[1] == "1"):
            return f"v1.{found[2]}"
    return None
