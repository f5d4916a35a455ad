"""Renders the HTML reports with Jinja2: all values are escaped, and an undefined name is an error."""

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
    """Render the template `templates/NAME`."""
    return Markup(_TEMPLATES.get_template(name).render(context))  # noqa: S704  # autoescape is on


def document(name: str, **context: object) -> str:
    """Render a whole page as a plain str: Markup would escape strings that it is combined with."""
    return f"{render(name, **context)!s}\n"


def macro(name: str, macro_name: str, *arguments: object) -> Markup:
    """Call a macro of the template `templates/NAME`."""
    found: Markup = getattr(_TEMPLATES.get_template(name).module, macro_name)(*arguments)
    return found


def digest(script: str) -> str:
    """Return a script's hash for the Content-Security-Policy, so that no script in a candidate's name can run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
