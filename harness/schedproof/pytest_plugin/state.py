"""The request and the session of a pytest run. Has few imports, because every run of pytest loads this module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from schedproof.run.handed import WORKER_INPUT, Handed

if TYPE_CHECKING:  # a cluster's clients, in a run of pytest that tries no scheduler
    from schedproof.run.request import RunRequest
    from schedproof.run.result import RunResult
    from schedproof.run.session import Session

_session_key = pytest.StashKey["Session"]()
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


def keep(config: pytest.Config, request: RunRequest, session: Session) -> None:
    """Store the run's request and session for later hooks."""
    config.stash[_request_key], config.stash[_session_key] = request, session


def request_of(config: pytest.Config) -> RunRequest | None:
    """Return the request of this pytest run; None without a candidate."""
    return config.stash.get(_request_key, None)


def session_of(config: pytest.Config) -> Session | None:
    """Return the session of this pytest run; None without a candidate."""
    return config.stash.get(_session_key, None)


def result_of(config: pytest.Config) -> RunResult | None:
    """Return the results of this pytest run so far; None without a candidate."""
    session = session_of(config)
    return session.result if session is not None else None


def verbosity_of(config: pytest.Config) -> int:
    """Return how much is printed: -1 (quiet), 0 or 1 (verbose)."""
    given = config.getoption("--sched-verbosity")
    return int(given if given is not None else config.getoption("verbose", default=0))
