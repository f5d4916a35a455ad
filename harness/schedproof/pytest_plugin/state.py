"""The options of a pytest run, and its origin. Has few imports, because every run of pytest loads this module."""

from __future__ import annotations

import pytest

from schedproof.run.handed import WORKER_INPUT, Handed


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


def verbosity_of(config: pytest.Config) -> int:
    """Return how much is printed: -1 (quiet), 0 or 1 (verbose)."""
    given = config.getoption("--sched-verbosity")
    return int(given if given is not None else config.getoption("verbose", default=0))
