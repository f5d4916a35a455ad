"""The running components of a candidate: their records, how they are frozen, and how they end."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from schedproof.deploy.component import Component
from schedproof.deploy.record import Recording, discard
from schedproof.foundation.deadlines import CANDIDATE_STOP

_NOISE = re.compile(r" score=|missing content for CA bundle")
"""Log lines that are left out: scores are recorded separately; every kube-scheduler with token authentication complains
about CA bundles.
"""


class RunningComponents:
    """The components that were started and not halted, in the order of their starts.

    Attributes:
        record: takes what becomes of them; from the end of a run on it keeps nothing.

    Args:
        watched: whether it is recorded how what their processes fork ends.
    """

    def __init__(self, *, watched: bool) -> None:
        self.record: Recording = discard
        self._watched = watched
        self._components: list[Component] = []
        self._deposed: tuple[Component, ...] = ()
        """Components that were frozen while another instance took over: they may end when they notice that."""
        self._reported: list[Component] = []

    @property
    def all(self) -> tuple[Component, ...]:
        """Components that run, or have ended by themselves."""
        return tuple(self._components)

    @property
    def ended(self) -> bool:
        """Whether any of them has ended, or could not be restarted."""
        needed = [component for component in self._components if component not in self._deposed]
        return not needed or any(component.exit_code is not None for component in needed)

    def started(self, component: Component) -> None:
        """Add a component that has been started, and record its start."""
        self._components.append(component)
        self.record("process", name=component.name, event="started")
        if self._watched:
            component.watch(self.record)

    @contextlib.contextmanager
    def first_frozen(self) -> Iterator[None]:
        """A context in which all components except the last started one are frozen."""
        self._deposed = tuple(self._components[:-1])
        for component in self._deposed:
            component.freeze()
        try:
            yield
        finally:
            for component in self._deposed:
                component.thaw()

    def report_exits(self) -> None:
        """Record the components that ended since the last call."""
        for component in self._components:
            if component.exit_code is not None and component not in self._reported:
                self._reported.append(component)
                event = "stood-down" if component in self._deposed else "exited"
                self.record(
                    "process", name=component.name, event=event, code=component.exit_code, cause=component.cause(),
                    log=component.log_tail(20).splitlines(),
                )  # fmt: skip

    def pids(self) -> dict[str, Sequence[int]]:
        """The current processes of each component, if this machine sees them."""
        return {component.name: component.pids() for component in self._components}

    def catch_up(self) -> None:
        """Bring the logs up to date with the output of the components."""
        for component in self._components:
            component.catch_up()

    def log_tails(self) -> dict[str, list[str]]:
        """The last lines of each component's log, without irrelevant ones."""
        return {
            component.name: [line for line in component.log_tail(60).splitlines() if not _NOISE.search(line)][-8:]
            for component in self._components
        }

    def halt(self) -> None:
        """End all of them, in the reverse order of their starts: a kube-scheduler must not lose its extender first."""
        self.report_exits()
        self._deposed = ()
        while self._components:
            component = self._components.pop()
            lives = component.exit_code is None
            component.stop(CANDIDATE_STOP.seconds)
            if lives:
                self.record("process", name=component.name, event="stopped")
