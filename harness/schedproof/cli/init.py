"""`schedproof init`: writes a working candidate of any kind into a new folder, as a starting point.

The content is in fixtures/templates. The templates are candidates themselves, named TEMPLATE_NAME, which is replaced by
the new name wherever it occurs.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from importlib import metadata
from pathlib import Path

from schedproof.cli.schemas import schema_text
from schedproof.documents.suggestions import did_you_mean
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError

KINDS = ("extender", "controller", "plugin")

TEMPLATE_NAME = "least-traffic-template"

_SCHEMA = Path("candidate.schema.json")
"""The schema line for editors in the templates' candidate.yaml. It depends on the catalogue, and so is in no template.
"""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?")
"""The pattern of metadata.name: a DNS label that leaves room for suffixes of derived names."""

_INSTALL = "pip install schedproof\n"
"""The name in the templates."""

_LEFT_BY_TOOLS = frozenset(
    {"__pycache__", ".benchmarks", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "schedproof-results"}
)
"""Not part of a template: files that running it, or pip's compilation, leaves there."""


def template_files(kind: str) -> dict[Path, Path]:
    """The destination of each file of a template, relative to the new folder, and its source."""
    root = content("fixtures", "templates", kind)
    files = {file.relative_to(root): file for file in sorted(root.rglob("*")) if file.is_file()}
    return {target: file for target, file in files.items() if not _LEFT_BY_TOOLS.intersection(target.parts)}


def scaffold(kind: str, folder: Path) -> str:
    """Write a candidate into a folder that is empty, or does not exist yet; return its name, which is the folder's.

    Nothing is overwritten, and after an error nothing is left behind.

    Raises:
        UsageError: the kind is unknown, the folder's name cannot be that of a scheduler, or it cannot be written there.
    """
    if kind not in KINDS:
        raise UsageError(
            f"unknown kind of scheduler {kind!r}: expected one of {', '.join(KINDS)}", remedy=did_you_mean(kind, KINDS)
        )
    try:
        # What it is called where it is: `.` and `..` are folders too.
        name = folder.resolve().name
        _require_name(name)
        _require_empty(folder)
        _write(kind, folder, name)
    except (OSError, RuntimeError) as error:  # a RuntimeError is a loop of links
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise UsageError(
            f"cannot write a candidate into {folder}: {reason}; no files were left there",
            remedy="name a folder that does not exist yet, in a place where you can write",
        ) from error
    return name


def _require_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r}, the name of the folder, cannot be that of a scheduler: expected lower-case letters, digits "
            "and dashes, at most 53, no dash at the beginning or end",
            remedy=f"name the folder for example {_suggestion(name)}: the scheduler is named after it",
        )


def _suggestion(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:53].strip("-") or "my-scheduler"


def _require_empty(folder: Path) -> None:
    if folder.is_dir():
        held = sorted(entry.name for entry in folder.iterdir())
        what = f"it contains {', '.join(held[:3])}{' and more' if len(held) > 3 else ''}" if held else ""
    else:
        what = "it is not a folder" if folder.exists() or folder.is_symlink() else ""
    if what:
        raise UsageError(
            f"refusing to write into {folder}: {what}",
            remedy="name a folder that is empty or does not exist yet; nothing is ever overwritten",
        )


def installed_from() -> str:
    """The requirement by which pip installs the running schedproof: its repository or wheel, if it came from one.

    pip records the origin (PEP 610). Of a wheel of this machine only the name is useful elsewhere.
    """
    noted = metadata.distribution("schedproof").read_text("direct_url.json")
    origin = json.loads(noted) if noted else {}
    url = str(origin.get("url", ""))
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"schedproof @ {vcs['vcs']}+{url}@{vcs['commit_id']}"
    if "archive_info" in origin:
        return url if not url.startswith("file:") else f"./{url.rpartition('/')[2]}"
    return "schedproof"


def _write(kind: str, folder: Path, name: str) -> None:
    with contextlib.ExitStack() as undo:
        for target, text in _texts(kind, name).items():
            file = folder / target
            for missing in reversed([parent for parent in (file.parent, *file.parent.parents) if not parent.exists()]):
                missing.mkdir()
                undo.callback(missing.rmdir)
            # Exclusively: a file that has just been created by another process is not overwritten.
            with file.open("x", encoding="utf-8") as stream:
                undo.callback(file.unlink)
                stream.write(text)
        undo.pop_all()


def _texts(kind: str, name: str) -> dict[Path, str]:
    """The content of each file, by its place in the new folder."""
    files = template_files(kind).items()
    install = f"pip install {shlex.quote(installed_from())}\n"
    texts = {
        target: source.read_text("utf-8").replace(TEMPLATE_NAME, name).replace(_INSTALL, install)
        for target, source in files
    }
    return {**texts, _SCHEMA: f"{schema_text('candidate')}\n"}
