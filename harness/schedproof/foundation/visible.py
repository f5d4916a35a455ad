"""Makes text of other programs fit to be shown."""

from __future__ import annotations

import re
from typing import Any, TypeVar, cast

T = TypeVar("T")

# Control characters but for newline and tab; marks that turn the direction of writing round; halves of surrogate pairs.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""`text` with control characters of terminals and browsers written out: ESC becomes \x1b."""
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1].replace("\\r", "\\x0d"), text)


def visible_in(value: T) -> T:
    """As `visible`, for all texts in a document."""
    shown: Any = value
    if isinstance(value, str):
        shown = visible(value)
    elif isinstance(value, dict):
        shown = {visible(name) if isinstance(name, str) else name: visible_in(item) for name, item in value.items()}
    elif isinstance(value, (list, tuple)):
        shown = [visible_in(item) for item in value]
    return cast("T", shown)
