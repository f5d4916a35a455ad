"""Words that texts for users and developers do not use of software."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFUSED = re.compile(r"(?<![-\w])(he|him|whom|whoever|nobody|somebody|everybody)\b", re.IGNORECASE)
"""Not as parts of names, such as that of a planted defect."""
READ = (
    "*.md", "docs/*.md", "harness/**/*.py", "harness/**/*.j2", "suites/**/*.py", "tools/**/*.py", "fixtures/**/*.py",
    "fixtures/**/*.yaml", "fixtures/*.yaml",
)  # fmt: skip


def test_texts_use_no_personal_pronouns_for_software() -> None:
    files = {path for pattern in READ for path in ROOT.glob(pattern) if path.is_file()}
    assert len(files) > 500
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(files)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if REFUSED.search(line)
    ]
    assert not found, "\n".join(found)
