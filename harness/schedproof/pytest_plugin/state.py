"""The state of a pytest run: what it was asked for, and its session. Light: every run of pytest loads this module."""

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


def is_asked(config: pytest.Config) -> bool:
    """Whether this run tries a scheduler: for the user, for `schedproof run`, or for a controller of pytest-xdist."""
    return bool(config.getoption("--sched-candidate") or handed_of(config) or sent_of(config) is not None)


def handed_of(config: pytest.Config) -> Handed | None:
    """What `schedproof run` has read; None where pytest was started by the user, or by pytest-xdist."""
    return next((plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, Handed)), None)


def sent_of(config: pytest.Config) -> bytes | None:
    """In a worker of pytest-xdist, the pickled request that its controller sent; None elsewhere."""
    sent: bytes | None = getattr(config, "workerinput", {}).get(WORKER_INPUT)
    return sent


def keep(config: pytest.Config, request: RunRequest, session: Session) -> None:
    """Keep what the run was asked for, and its session, for the hooks to come."""
    config.stash[_request_key], config.stash[_session_key] = request, session


def request_of(config: pytest.Config) -> RunRequest | None:
    """What this pytest run is asked for; None where no candidate was given."""
    return config.stash.get(_request_key, None)


def session_of(config: pytest.Config) -> Session | None:
    """The session of this pytest run; None where no candidate was given."""
    return config.stash.get(_session_key, None)


def result_of(config: pytest.Config) -> RunResult | None:
    """What this pytest run has found so far; None where no candidate was given."""
    session = session_of(config)
    return session.result if session is not None else None


def verbosity_of(config: pytest.Config) -> int:
    """How much is printed: -1 (quiet), 0 or 1 (verbose)."""
    given = config.getoption("--sched-verbosity")
    return int(given if given is not None else config.getoption("verbose", default=0))
