"""The components of a candidate that run: what of them is recorded, how they are frozen, and how they end."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from schedproof.deploy.component import Component
from schedproof.deploy.record import Recording, discard
from schedproof.foundation.deadlines import CANDIDATE_STOP

_NOISE = re.compile(r" score=|missing content for CA bundle")
"""Scores are recorded by themselves; of CA bundles every kube-scheduler complains that authenticates by tokens."""


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
        """Those that were halted while another instance took over: they may end once they see that."""
        self._reported: list[Component] = []

    @property
    def all(self) -> tuple[Component, ...]:
        """What runs, or has ended by itself."""
        return tuple(self._components)

    @property
    def ended(self) -> bool:
        """Whether any of them has ended, or could not be started again."""
        needed = [component for component in self._components if component not in self._deposed]
        return not needed or any(component.exit_code is not None for component in needed)

    def started(self, component: Component) -> None:
        """Take a component that has been started, and record that."""
        self._components.append(component)
        self.record("process", name=component.name, event="started")
        if self._watched:
            component.watch(self.record)

    @contextlib.contextmanager
    def first_frozen(self) -> Iterator[None]:
        """A context in which all but the component that was started last are halted as they are."""
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
        """Of each component the processes that it is now, where this machine sees them."""
        return {component.name: component.pids() for component in self._components}

    def catch_up(self) -> None:
        """Have in the logs what the components have printed up to now."""
        for component in self._components:
            component.catch_up()

    def log_tails(self) -> dict[str, list[str]]:
        """The last lines of each component's log, less what says nothing."""
        return {
            component.name: [line for line in component.log_tail(60).splitlines() if not _NOISE.search(line)][-8:]
            for component in self._components
        }

    def halt(self) -> None:
        """End all of them, the last that was started first: a kube-scheduler's extender must not fail under it."""
        self.report_exits()
        self._deposed = ()
        while self._components:
            component = self._components.pop()
            lives = component.exit_code is None
            component.stop(CANDIDATE_STOP.seconds)
            if lives:
                self.record("process", name=component.name, event="stopped")
