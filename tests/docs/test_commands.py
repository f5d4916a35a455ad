"""Commands that texts recommend exist, with their options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from schedproof.cli.main import command_line

ROOT = Path(__file__).parents[2]
INLINE = re.compile(r"`(?:[\w./-]+/)?schedproof ([a-z][a-z-]*)\b([^`\n]*)`")
IN_BLOCK = re.compile(r"^\s*(?:[\w./-]+/)?schedproof ([a-z][a-z-]*)\b(.*)", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
READ = ("*.md", "docs/*.md", "docs/*.yaml", "harness/**/*.py", "harness/**/*.j2", "fixtures/**/*.yaml", ".ci/*")


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (found,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return found.choices


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a command, and of the commands below it."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    inner = [options_of(command) for action in below for command in action.choices.values()]
    return {flag for action in parser._actions for flag in action.option_strings}.union(*inner)


def recommended() -> Iterator[tuple[str, str, str]]:
    """Where a command is named, its name, and the rest of the line."""
    for path in sorted({path for pattern in READ for path in ROOT.glob(pattern) if path.is_file()}):
        text = path.read_text()
        blocks = "\n".join(BLOCK.findall(text)) if path.suffix == ".md" else ""
        for command, rest in (*INLINE.findall(text), *IN_BLOCK.findall(blocks)):
            yield str(path.relative_to(ROOT)), command, rest


def test_commands_that_texts_recommend_exist() -> None:
    found = list(recommended())
    assert len(found) > 80
    commands = commands_of(command_line())
    unknown = [(file, command) for file, command, _ in found if command not in commands]
    assert not unknown
    wrong = [
        (file, command, option)
        for file, command, rest in found
        for option in OPTION.findall(rest)
        if option not in options_of(commands[command])
    ]
    assert not wrong
