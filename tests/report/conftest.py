"""Fixtures shared by the tests in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .browser import Browser, browser


@pytest.fixture(scope="session")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found
