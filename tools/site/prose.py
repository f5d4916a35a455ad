"""Adapts the repository's text to the site: sections of other files, links, and names of clauses."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from schedproof.candidate.profiles import profile_of
from schedproof.judge.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]

_PAGES_OF_FILES = {
    "README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
}  # fmt: skip
_SHIPPED = frozenset(CATALOGUE)  # which takes the names of users' own tests for clauses, too
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_WHOLE = re.compile(r"^<!-- all of (\S+) -->$", re.MULTILINE)
_INCLUDE = re.compile(r"^<!-- from (\S+?)(?:: (.+?))? -->$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_CODE = re.compile(r"(?<![\[`])`([a-z]+/[a-z0-9-]+)`(?!`)")


def clause_page(clause: str) -> str:
    """Return the path of a clause's page, relative to the folder of all pages."""
    return f"clauses/{profile_of(clause)}/{clause.partition('/')[2]}.md"


def section(text: str, title: str | None) -> str:
    """Return a second-level heading with its content; without a title, the text before the first such heading.

    Raises:
        KeyError: there is no such heading.
    """
    outline = _FENCED.sub(lambda fenced: re.sub(r"[^\n]", "x", fenced[0]), text)  # a # of a shell is no heading
    starts = [found.start() for found in re.finditer(r"^## ", outline, re.MULTILINE)]
    for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
        if title is None or text[start:end].startswith(f"## {title}\n"):
            return text[start:end].strip()
    raise KeyError(title)


def with_sections(markdown: str) -> str:
    """Replace `<!-- from FILE: TITLE -->` and `<!-- all of FILE -->` by their content.

    If a page begins with a section, the section's heading becomes the page's title.
    """

    def included(found: re.Match[str]) -> str:
        text = _of_the_root(section((ROOT / found[1]).read_text(encoding="utf-8"), found[2]))
        return re.sub(r"^##", "#", text) if not markdown[: found.start()].strip() else text

    markdown = _WHOLE.sub(lambda found: _of_the_root((ROOT / found[1]).read_text(encoding="utf-8")), markdown)
    return _INCLUDE.sub(included, markdown)


def _of_the_root(text: str) -> str:
    """Make links relative to the repository's root relative to docs/."""
    return _LINK.sub(
        lambda found: (
            f"[{found[1]}]({posixpath.relpath(found[2], 'docs')}{found[3] or ''})" if ":" not in found[2] else found[0]
        ),
        text,
    )


def linked(markdown: str, page: str) -> str:
    """Adapt links to the site: links to files of the repository become text, names of clauses become links."""
    here = posixpath.dirname(page)

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        if not target.startswith("../") or here:
            return found[0]
        file = target.removeprefix("../")
        if file in _PAGES_OF_FILES:
            return f"[{text}]({_PAGES_OF_FILES[file]}{anchor})"
        return f"`{file}`" if text.strip("`") in file else f"{text} (`{file}`)"

    def clause(found: re.Match[str]) -> str:
        if found[1] not in _SHIPPED or clause_page(found[1]) == page:
            return found[0]
        return f"[`{found[1]}`]({posixpath.relpath(clause_page(found[1]), here or '.')})"

    return _outside_fences(markdown, lambda text: _CODE.sub(clause, _LINK.sub(link, text)))


def _outside_fences(markdown: str, change) -> str:
    parts, end = [], 0
    for fenced in _FENCED.finditer(markdown):
        parts += [change(markdown[end : fenced.start()]), fenced[0]]
        end = fenced.end()
    return "".join([*parts, change(markdown[end:])])


def escaped(text: str) -> str:
    """Return plain text, with code in backticks, escaped for Markdown and its tables."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _plain(part) for part in parts).replace("|", "\\|")


def _plain(text: str) -> str:
    return re.sub(r"([*_\[])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
