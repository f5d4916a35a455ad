"""Worlds for the parts of cases."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.foundation.deadlines import AGAIN, LATE, REPORTED
from schedproof.stimulus import expectations, view
from schedproof.stimulus.changes import pods
from schedproof.stimulus.trial import Trial

from .trials import Trials
from .world import World


@pytest.fixture
def make_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., World]]:
    """Makes a `World` of what it is given; no pause in it lasts."""
    for module in (expectations, pods):
        monkeypatch.setattr(module, "TIMESTAMP", 0.0)
    monkeypatch.setattr(view, "_PROPAGATION", 0.0)
    for name, deadline in (("LATE", LATE), ("REPORTED", REPORTED), ("AGAIN", AGAIN)):
        monkeypatch.setattr(expectations, name, dataclasses.replace(deadline, seconds=0.0))
    worlds: list[World] = []

    def make(**options: Any) -> World:
        worlds.append(World(tmp_path / f"world-{len(worlds)}", **options))
        return worlds[-1]

    yield make
    for made in worlds:
        made.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()


@pytest.fixture
def trials(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trials:
    return Trials(world, tmp_path, monkeypatch)


@pytest.fixture
def trial(trials: Trials) -> Iterator[Trial]:
    with contextlib.closing(trials.make()) as made:
        yield made
