"""Hooks that MkDocs calls while it builds the site (mkdocs.yml): generated pages, included sections, links.

No text of the site is a copy: clauses come from the catalogue, commands from the command line, and the front page is
the README.
"""

from __future__ import annotations

import re

from clause_pages import clause_pages, navigation
from code_pages import code_pages
from command_pages import command_pages
from data_pages import data_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from prose import linked, with_sections

_FETCHED = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
_WHOLE_FILES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Insert the clauses where the table of contents names their folder."""
    config.nav = [{"Clauses": navigation()} if entry == {"Clauses": "clauses"} else entry for entry in config.nav]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages without a file."""
    whole = {page: f"<!-- all of {file} -->" for page, file in _WHOLE_FILES.items()}
    for path, markdown in {**clause_pages(), **code_pages(), **command_pages(), **data_pages(), **whole}.items():
        files.append(File.generated(config, path, content=markdown))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Insert sections of other files, and adapt links."""
    return linked(with_sections(markdown), page.file.src_uri)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Refuse pages with content that a browser fetches from the network."""
    if found := _FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri}: {found[0]} is fetched from the network; use a local file")
    return output
