"""What MkDocs calls while it builds the site (mkdocs.yml): generated pages, included sections, links.

Nothing on the site is a copy that could come to differ: clauses are those of the catalogue, commands those of the
command line, and the front page is the README's text.
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
    """Put the clauses where the table of contents names their folder."""
    config.nav = [{"Clauses": navigation()} if entry == {"Clauses": "clauses"} else entry for entry in config.nav]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file has."""
    whole = {page: f"<!-- all of {file} -->" for page, file in _WHOLE_FILES.items()}
    for path, markdown in {**clause_pages(), **code_pages(), **command_pages(), **data_pages(), **whole}.items():
        files.append(File.generated(config, path, content=markdown))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fill in what is taken from elsewhere."""
    return linked(with_sections(markdown), page.file.src_uri)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Refuse what a browser would have to fetch from the network."""
    if found := _FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri}: fetched from the network: {found[0]}")
    return output
