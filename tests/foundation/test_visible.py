"""Control characters in foreign text do not reach the terminal."""

from __future__ import annotations

import pytest

from schedproof.foundation.visible import visible, visible_in


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("bell\a, return\r, NUL\0, DEL\x7f, CSI\x9b", r"bell\x07, return\x0d, NUL\x00, DEL\x7f, CSI\x9b"),
        ("turned \u202eround", r"turned \u202eround"),
        ("half \udc1b", r"half \udc1b"),
        ("Grüße, 世界", "Grüße, 世界"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


def test_control_characters_in_documents_are_escaped() -> None:
    document = {"logs": {"it\x1b": ["\x1b[2J", "plain"]}, "measured": {"count": 3}}
    assert visible_in(document) == {"logs": {r"it\x1b": [r"\x1b[2J", "plain"]}, "measured": {"count": 3}}
