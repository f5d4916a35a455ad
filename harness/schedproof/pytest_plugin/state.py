"""The request and the engine of a pytest run. Has few imports, because every run of pytest loads this module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from schedproof.run.handed import WORKER_INPUT, Handed

if TYPE_CHECKING:  # a cluster's clients, in a run of pytest that tries no scheduler
    from schedproof.run.engine import Engine
    from schedproof.run.request import RunRequest

JUDGED = "schedproof"
"""The property of a test whose clause was judged: the outcome."""
_engine_key = pytest.StashKey["Engine"]()
_request_key = pytest.StashKey["RunRequest"]()


def tries_scheduler(config: pytest.Config) -> bool:
    """Whether this run tries a scheduler: for the user, for `schedproof run`, or for a controller of pytest-xdist."""
    return bool(config.getoption("--sched-candidate") or handed_of(config) or sent_of(config) is not None)


def handed_of(config: pytest.Config) -> Handed | None:
    """Return the run that `schedproof run` passed; None if the user or pytest-xdist started pytest."""
    return next((plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, Handed)), None)


def sent_of(config: pytest.Config) -> bytes | None:
    """Return the pickled request of the controller, in a worker of pytest-xdist; None elsewhere."""
    pickled: bytes | None = getattr(config, "workerinput", {}).get(WORKER_INPUT)
    return pickled


def keep(config: pytest.Config, request: RunRequest, engine: Engine) -> None:
    """Store the run's request and engine for later hooks."""
    config.stash[_request_key], config.stash[_engine_key] = request, engine


def request_of(config: pytest.Config) -> RunRequest | None:
    """Return the request of this pytest run; None without a candidate."""
    return config.stash.get(_request_key, None)


def engine_of(config: pytest.Config) -> Engine | None:
    """Return the engine of this pytest run; None without a candidate."""
    return config.stash.get(_engine_key, None)


def verbosity_of(config: pytest.Config) -> int:
    """Return how much is printed: -1 (quiet), 0 or 1 (verbose)."""
    given = config.getoption("--sched-verbosity")
    return int(given if given is not None else config.getoption("verbose", default=0))
