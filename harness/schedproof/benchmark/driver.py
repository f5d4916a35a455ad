"""Controls the driver (`clusters/modules/driver`), which creates a benchmark's pods and sees them bound.

It is a program of its own because Python cannot do both fast enough: benchmarks/test_driver.py measures by how much.
All moments are CLOCK_MONOTONIC seconds, as `time.monotonic()` gives them; all durations are seconds.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.daemons.daemon import clean_environment
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError
from schedproof.foundation.lines import LineProcess
from schedproof.foundation.private import make_private
from schedproof.foundation.waiting import NotYet, Watched, wait_for

BINARY = "driver"
"""Its name for `schedproof.binaries.resolve.resolve`."""

CONNECTIONS = 16
"""So many requests are on their way at once, each on a connection of its own. From 8 on it makes no difference on two
cores: then the apiserver has no more to give (benchmarks/test_driver.py)."""

DRIVER_ANSWER = Deadline("answer of the driver", 120, "connecting, some namespaces, 30,000 rows: a second each")
PODS_DONE = Deadline("pods created, bound or deleted", 900, "30,000 at 100 a second, which only a crowded machine has")
NODES_DONE = Deadline("nodes created or deleted", 300, "5,000 take 5 s on two idle cores")

_SLICE = Deadline("one look at the driver", 0.1, "then those that are watched are looked at")


@dataclasses.dataclass(frozen=True)
class Pods:
    """Pods to create, of the `templates` in turn.

    They join a group, all of which is in one namespace. A name is `prefix` and a number, which goes on where the group
    has pods. Templates are manifests; fields that the driver's version of the API does not have are refused.
    """

    group: str
    namespace: str
    prefix: str
    count: int
    templates: Sequence[Mapping[str, Any]]

    def command(self) -> dict[str, Any]:
        return {
            "group": self.group, "namespace": self.namespace, "prefix": self.prefix, "count": self.count,
            "templates": [dict(template) for template in self.templates],
        }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Created:
    """Pods were created, each request answered, within `seconds` from the moment `started`.

    `capped` of them had to wait because 2,000 others were not yet answered: arrivals were not as asked for.
    """

    started: float
    seconds: float
    capped: int


@dataclasses.dataclass(frozen=True)
class Bound:
    """So many of so many pods were seen bound."""

    bound: int
    pods: int


@dataclasses.dataclass(frozen=True)
class Timed:
    """So many pods were bound, or deleted, within `seconds`."""

    pods: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class ChurnLoad:
    """Objects that come and go, as scheduler_perf's churnOp has them.

    Mode `create`: every `interval` one of each template is created, `number` times; 0: without end. Mode `recreate`:
    `number` places for each template are filled one by one, emptied one by one, and so on. Templates are manifests of
    any kind of core v1; names are generated from theirs. `namespace` is for those kinds that have one.
    """

    mode: str
    number: int
    templates: Sequence[Mapping[str, Any]]
    interval: float
    namespace: str = "default"


@dataclasses.dataclass(frozen=True)
class Churned:
    """What came of it. `failure` is the text of the first request that failed."""

    created: int
    deleted: int
    failed: int
    failure: str


@dataclasses.dataclass(frozen=True)
class PodTimes:
    """What became of one pod; a moment that never came is None.

    `intended` is when its creation was due, and is `sent` unless it was to arrive at a certain time. `answered` is when
    the apiserver had answered the creation, `shown` when the watch first showed it, and `seen` when it first showed it
    with a node. `uid` and `node` are empty until then.
    """

    pod: str
    uid: str
    intended: float
    sent: float
    answered: float | None
    seen: float | None
    node: str
    shown: float | None = None


class Driver:
    """Does one thing at a time. It ends with us, and leaves what it has created.

    Every method raises `HostError` when the driver cannot do what is asked for, with the apiserver's words where it was
    that which refused, and `DeadlineExceededError` when it takes too long. Where the watch of pods is lost, every
    method says so: what it has missed cannot be made up for.

    Args:
        binary: the program.
        logs: the folder for its log.
    """

    def __init__(self, binary: Path, logs: Path) -> None:
        make_private(logs)
        self._last = 0
        self._process = LineProcess(
            (str(binary),), cwd=logs, env=clean_environment(logs), log=logs / "driver.log",
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    def connect(self, kubeconfig: Path, *, connections: int = CONNECTIONS) -> None:
        """Once, before all else. Returns when all pods that exist are known.

        Args:
            kubeconfig: of an identity with rights to all that is asked for later. Its cluster is not behind a proxy.
            connections: how many requests to have on their way at once; arrivals open more where they are needed.
        """
        self._ask("connect", DRIVER_ANSWER, kubeconfig=str(kubeconfig), connections=connections)

    def create_nodes(
        self, template: Mapping[str, Any], names: Sequence[str], labels: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Create a node of each name; of each label they take the values in turn.

        Each is the template, status and all, under its own name, which is also its label and address as a host.
        """
        values = {label: list(options) for label, options in (labels or {}).items()}
        self._ask("nodes", NODES_DONE, template=dict(template), names=list(names), labels=values)

    def create_namespaces(self, names: Sequence[str]) -> None:
        """Such that pods can be created in them at once; those that exist are kept."""
        self._ask("namespaces", DRIVER_ANSWER, names=list(names))

    def create(self, pods: Pods, *, watching: Sequence[Watched] = ()) -> Created:
        """Create pods as fast as the apiserver takes them; returns when every creation is answered.

        Args:
            pods: which.
            watching: processes whose end ends this, by the error that they have.
        """
        return Created(**self._ask("create", PODS_DONE, watching, **pods.command()))

    def arrive(self, pods: Pods, arrivals: Sequence[float], *, watching: Sequence[Watched] = ()) -> Created:
        """Create each pod at its moment, whatever became of those before it.

        Args:
            pods: which.
            arrivals: for each of them, seconds from the start, in their order.
            watching: as for `create`.
        """
        deadline = _later(PODS_DONE, max(arrivals, default=0.0))
        return Created(**self._ask("create", deadline, watching, **pods.command(), arrivals=list(arrivals)))

    def one_at_a_time(self, pods: Pods, seconds: float, *, watching: Sequence[Watched] = ()) -> Bound:
        """Create a pod only when the last one was seen bound.

        It ends with the first that is not within `seconds`: then one pod more was created than bound.
        """
        deadline = _later(DRIVER_ANSWER, pods.count * seconds)
        return Bound(**self._ask("one", deadline, watching, **pods.command(), seconds=seconds))

    def wait(self, group: str, seconds: float) -> Bound:
        """Returns as soon as all of the group's pods were seen bound, or after `seconds`."""
        return Bound(**self._ask("wait", _later(DRIVER_ANSWER, seconds), group=group, seconds=seconds))

    def rows(self, group: str, path: Path) -> tuple[PodTimes, ...]:
        """What became of each of the group's pods, in the order of their numbers; kept in a CSV file."""
        self._ask("rows", DRIVER_ANSWER, group=group, path=str(path.absolute()))
        with path.open(newline="") as file:
            return tuple(map(_row, csv.DictReader(file)))

    def bind(self, group: str, nodes: Sequence[str]) -> Timed:
        """Bind each pod to the next node, without a thought: no scheduler can be faster on this machine."""
        return Timed(**self._ask("bind", PODS_DONE, group=group, nodes=list(nodes)))

    def delete(self, group: str) -> Timed:
        """Delete the group's pods, return when the watch has shown that all of them are gone, and forget the group."""
        return Timed(**self._ask("delete", PODS_DONE, group=group))

    def delete_all(self, namespace: str) -> Timed:
        """The same for all pods and all groups in a namespace."""
        return Timed(**self._ask("delete", PODS_DONE, namespace=namespace))

    def start_churn(self, name: str, churn: ChurnLoad) -> None:
        """It goes on beside all else, until it is stopped under that name."""
        templates = [dict(template) for template in churn.templates]
        self._ask("churn", DRIVER_ANSWER, churn=name, **{**dataclasses.asdict(churn), "templates": templates})

    def stop_churn(self, name: str) -> Churned:
        """And delete what is left of it."""
        return Churned(**self._ask("churn-stop", PODS_DONE, churn=name))

    def close(self) -> None:
        self._process.close()

    def _ask(self, op: str, deadline: Deadline, watching: Sequence[Watched] = (), **arguments: Any) -> dict[str, Any]:
        self._last += 1
        try:
            self._send({"op": op, "id": self._last, **arguments}, deadline)
            answer = wait_for(self._answer, deadline, what=f"the driver to answer {op}", watching=watching, poll=0)
        except ConnectionError as error:
            raise HostError(
                f"the driver has ended; its last output:\n{self._process.printed()[-2_000:]}",
                remedy=f"read {self._process.log}",
            ) from error
        except BaseException:
            # A caller that gave up waiting needs no more of it, and asks for something else next.
            with contextlib.suppress(OSError):
                self._send({"op": "cancel", "id": self._last}, DRIVER_ANSWER)
            raise
        if "error" in answer:
            raise HostError(
                f"the driver: {answer['error']}", remedy=f"read {self._process.log}, and the apiserver's log"
            )
        del answer["id"]
        return answer

    def _send(self, command: Mapping[str, Any], deadline: Deadline) -> None:
        self._process.send(json.dumps(command).encode() + b"\n", deadline)

    def _answer(self) -> dict[str, Any]:
        """The answer to the last command; those before it were given up."""
        while True:
            try:
                answer: dict[str, Any] = json.loads(self._process.receive(_SLICE))
            except TimeoutError:
                raise NotYet("no answer") from None
            if answer["id"] == self._last:
                return answer


def _row(said: Mapping[str, str]) -> PodTimes:
    answered, shown, seen = (float(said[name]) if said[name] else None for name in ("answered", "shown", "seen"))
    intended, sent = float(said["intended"]), float(said["sent"])
    return PodTimes(said["pod"], said["uid"], intended, sent, answered, seen, said["node"], shown)


def _later(deadline: Deadline, seconds: float) -> Deadline:
    return dataclasses.replace(deadline, seconds=deadline.seconds + seconds)
