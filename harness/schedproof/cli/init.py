"""`schedproof init`: a working candidate of each kind, written into a folder of its own, to be edited from there.

What is written is content, in fixtures/templates. The templates are candidates themselves, of the name TEMPLATE_NAME,
which the new name replaces wherever it stands.
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
"""What the templates' candidate.yaml names for editors. It is of the catalogue, and so of no template."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?")
"""What metadata.name takes: a DNS label that leaves room for the suffixes of what is named after it."""

_INSTALL = "pip install schedproof\n"
"""How the templates have it."""

_LEFT_BY_TOOLS = frozenset(
    {"__pycache__", ".benchmarks", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "schedproof-results"}
)
"""Not of a template, but left in it where it was run, or compiled by pip."""


def template_files(kind: str) -> dict[Path, Path]:
    """Where each file of a template goes, relative to the new folder, and where it comes from."""
    root = content("fixtures", "templates", kind)
    files = {file.relative_to(root): file for file in sorted(root.rglob("*")) if file.is_file()}
    return {target: file for target, file in files.items() if not _LEFT_BY_TOOLS.intersection(target.parts)}


def scaffold(kind: str, folder: Path) -> str:
    """Write a candidate into a folder that is empty, or not there yet; its name, which is the folder's.

    Nothing is overwritten, and on any error nothing is left behind.

    Raises:
        UsageError: there is no such kind, the folder's name is none for a scheduler, or it cannot be written there.
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
            f"{name!r}, the name of the folder, cannot be that of a scheduler: expected lower-case letters, digits and "
            "dashes, at most 53, no dash at the beginning or end",
            remedy=f"name the folder such as {_suggestion(name)}: the scheduler is named after it",
        )


def _suggestion(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:53].strip("-") or "my-scheduler"


def _require_empty(folder: Path) -> None:
    if folder.is_dir():
        held = sorted(entry.name for entry in folder.iterdir())
        what = f"it holds {', '.join(held[:3])}{' and more' if len(held) > 3 else ''}" if held else ""
    else:
        what = "it is not a folder" if folder.exists() or folder.is_symlink() else ""
    if what:
        raise UsageError(
            f"refusing to write into {folder}: {what}",
            remedy="name a folder that is empty or does not exist yet; nothing is ever overwritten",
        )


def installed_from() -> str:
    """The requirement by which pip installs the running schedproof: its repository or wheel, if it came from one.

    PEP 610 has pip keep note of it. Of a wheel of this machine only the name is known elsewhere.
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
    """What is written, by the file's place in the new folder."""
    files = template_files(kind).items()
    install = f"pip install {shlex.quote(installed_from())}\n"
    texts = {
        target: source.read_text("utf-8").replace(TEMPLATE_NAME, name).replace(_INSTALL, install)
        for target, source in files
    }
    return {**texts, _SCHEMA: f"{schema_text('candidate')}\n"}
