"""Go's version numbers, as in `go env GOVERSION` and go.mod."""

from __future__ import annotations

import re
from typing import NamedTuple

_FORM = re.compile(r"(?:go)?(\d+)\.(\d+)(?:\.(\d+)|(?:rc|beta)\d+|)(?![\d.])")


class GoVersion(NamedTuple):
    """A version of Go, in Go's order: a pre-release comes before its `.0`."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> GoVersion:
        """Parse `go1.26.8`, `1.26`, `go1.27rc1`, `devel go1.27-1a2b3c ...`.

        Raises:
            ValueError: the text has no version.
        """
        found = _FORM.search(text)
        if found is None:
            raise ValueError(f"not a version of Go: {text!r}")
        released = found[3] is not None or not re.search(r"(rc|beta)\d+$", found[0])
        return cls(int(found[1]), int(found[2]), int(found[3] or 0) if released else -1)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + (f".{self.patch}" if self.patch >= 0 else " (pre-release)")
