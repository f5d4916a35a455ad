"""The sources of a compiled scheduler: the root of their Go module, and the files that a build may read."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from schedproof.foundation.errors import CandidateError

# Go reads no sources from these, or (the last) the harness writes it: a run must not change what it builds.
_NOT_SOURCES = frozenset({".git", ".hg", ".svn", ".bzr", "vendor", "schedproof-results"})

# `replace example.com/shared => ../shared`: another module on this disk, whose sources count as well.
_LOCAL = re.compile(r'=>\s*"?(\.{1,2}(?:/[^\s"]*)?|/[^\s"]*)"?', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Sources:
    """A package in a folder. `root` is the root of its module; without a go.mod, the folder itself."""

    root: Path
    package: str
    """The package's folder in Go's notation: `.`, or `./networktraffic`."""
    has_go_mod: bool

    @classmethod
    def of(cls, folder: Path) -> Sources:
        """Find the sources as Go does: the module is the nearest folder above that has a go.mod.

        Raises:
            CandidateError: there are no Go files in the folder.
        """
        folder = folder.resolve()
        if not any(file.suffix == ".go" for file in folder.iterdir()):
            raise CandidateError(
                f"no Go files are in {folder}",
                remedy="spec.plugin.package (or main) must name the folder whose Go files are the package itself",
            )
        for root in (folder, *folder.parents):
            if (root / "go.mod").is_file():
                below = folder.relative_to(root).as_posix()
                return cls(root, f"./{below}" if below != "." else ".", has_go_mod=True)
        return cls(folder, ".", has_go_mod=False)

    @property
    def folder(self) -> Path:
        return self.root / self.package

    def digest(self) -> str:
        """A hash of every file that the build may read: of the module, and of the folders that replace modules.

        Raises:
            CandidateError: a file cannot be read.
        """
        state = hashlib.sha256()
        try:
            for tree in (self.root, *self._replacements()):
                for file in sorted(_files(tree)):
                    content = file.read_bytes()
                    state.update(f"{file.relative_to(tree)}\0{len(content)}\0".encode(errors="surrogateescape"))
                    state.update(content)
                state.update(b"\0")
        except OSError as error:
            raise CandidateError(
                f"the Go module in {self.root} cannot be read: {error}", remedy="make all of its files readable"
            ) from error
        return state.hexdigest()

    def go_files(self) -> list[Path]:
        """The Go files of the module, except for tests."""
        return sorted(file for file in _files(self.root) if file.suffix == ".go" and not file.name.endswith("_test.go"))

    def _replacements(self) -> list[Path]:
        if not self.has_go_mod:
            return []
        text = (self.root / "go.mod").read_text(errors="replace")
        return [tree for path in _LOCAL.findall(text) if (tree := self.root / path).is_dir()]


def _files(root: Path) -> set[Path]:
    """All files of the folders with Go files; if a Go file embeds files, also all files below its folder.

    Other files of a repository, such as evidence and documents, cause no new build.
    """
    found = {file for name in ("go.mod", "go.sum") if (file := root / name).is_file()}
    for folder, files in _walk(root):
        go_files = [file for file in files if file.suffix == ".go"]
        if go_files:
            found.update(files)
        if any(b"//go:embed" in file.read_bytes() for file in go_files):
            found.update(file for _, below in _walk(folder) for file in below)
    return found


def _walk(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    """The folders of a module with their files; without modules nested in it."""
    for name, folders, files in os.walk(root):
        folder = Path(name)
        folders[:] = [
            child for child in folders if child not in _NOT_SOURCES and not (folder / child / "go.mod").exists()
        ]
        yield folder, [path for file in files if (path := folder / file).is_file()]
