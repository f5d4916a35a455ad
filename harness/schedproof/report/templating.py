"""Jinja2 for the HTML reports: whatever is no markup of a template's own is escaped, and a missing name is an error."""

from __future__ import annotations

import base64
import hashlib

import jinja2
from markupsafe import Markup

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("schedproof.report"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(name: str, **context: object) -> Markup:
    """The template `templates/NAME`, filled in."""
    return Markup(_TEMPLATES.get_template(name).render(context))  # noqa: S704  # autoescape is on


def document(name: str, **context: object) -> str:
    """A whole page: plain text, because Markup escapes what it is compared and cut with."""
    return f"{render(name, **context)!s}\n"


def macro(name: str, macro_name: str, *arguments: object) -> Markup:
    """What a macro of the template `templates/NAME` makes of its arguments."""
    found: Markup = getattr(_TEMPLATES.get_template(name).module, macro_name)(*arguments)
    return found


def digest(script: str) -> str:
    """For a page's policy: nothing is fetched, and no script runs but ours, whatever a candidate calls itself."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
