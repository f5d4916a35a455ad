"""Controls the driver (`clusters/modules/driver`), which creates a benchmark's pods and watches until they are bound.

The driver is a separate Go program because Python is too slow for both: benchmarks/test_driver.py compares the two.
All moments are CLOCK_MONOTONIC seconds, like `time.monotonic()`; all durations are seconds.
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
"""How many requests are in flight at once, each on its own connection. More than 8 make no difference on two cores,
because the apiserver is saturated (benchmarks/test_driver.py)."""

DRIVER_ANSWER = Deadline("answer of the driver", 120, "connecting, some namespaces, 30,000 rows: a second each")
PODS_DONE = Deadline(
    "pods created, bound or deleted", 900, "30,000 at 100 a second, which is slow even for a busy machine"
)
NODES_DONE = Deadline("nodes created or deleted", 300, "5,000 take 5 s on two idle cores")

_SLICE = Deadline("one read from the driver", 0.1, "the watched processes are checked between reads")


@dataclasses.dataclass(frozen=True)
class Pods:
    """Pods to create from the `templates` in turn.

    They join a group, all in the same namespace. Each is named `prefix` plus a number; the numbers continue those of
    the group's existing pods. Templates are manifests; the driver refuses fields that its version of the API lacks.
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
    """The result of creating pods: all requests were answered within `seconds` from the moment `started`.

    `capped` pods were sent late because 2,000 requests were unanswered at the time.
    """

    started: float
    seconds: float
    capped: int


@dataclasses.dataclass(frozen=True)
class Bound:
    """How many of the `pods` were seen bound."""

    bound: int
    pods: int


@dataclasses.dataclass(frozen=True)
class Timed:
    """How many pods were bound, or deleted, within `seconds`."""

    pods: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class ChurnLoad:
    """Objects to create and delete while pods are measured, as scheduler_perf's churnOp does.

    Mode `create`: every `interval` seconds an object of each template is created, `number` times; 0: without end. Mode
    `recreate`: objects of each template are created until there are `number`, deleted until there are none, and so on.
    Templates are manifests of any kind in core v1; names are generated from theirs. `namespace` applies to namespaced
    kinds.
    """

    mode: str
    number: int
    templates: Sequence[Mapping[str, Any]]
    interval: float
    namespace: str = "default"


@dataclasses.dataclass(frozen=True)
class Churned:
    """How many churn requests succeeded and failed. `failure` is the error of the first that failed."""

    created: int
    deleted: int
    failed: int
    failure: str


@dataclasses.dataclass(frozen=True)
class PodTimes:
    """When a pod was created, shown by the watch, and bound; None for an event that did not happen.

    `intended`: when its creation was due; equal to `sent` unless the pod has an arrival time. `answered`: when the
    apiserver answered the create request. `shown`: when the watch first showed the pod. `seen`: when the watch first
    showed it with a node. `uid` and `node` are empty until known.
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
    """Sends commands to the driver, one at a time. The driver ends with this process; objects that it created stay.

    Every method raises `HostError` when the driver cannot execute a command, with the apiserver's message if the
    apiserver refused it, and `DeadlineExceededError` when it takes too long. Once the watch of pods is lost, every
    method raises `HostError`, because missed events cannot be recovered.

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
        """Connect to the apiserver, once, before any other command. Returns when all existing pods are known.

        Args:
            kubeconfig: of an identity with the rights for all later commands. Its cluster is not behind a proxy.
            connections: how many requests to have in flight at once; `arrive` opens more if needed.
        """
        self._ask("connect", DRIVER_ANSWER, kubeconfig=str(kubeconfig), connections=connections)

    def create_nodes(
        self, template: Mapping[str, Any], names: Sequence[str], labels: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Create a node for each name; the nodes take the values of each label in turn.

        Each node is the template, with its status, under its own name, which is also its hostname label and address.
        """
        values = {label: list(options) for label, options in (labels or {}).items()}
        self._ask("nodes", NODES_DONE, template=dict(template), names=list(names), labels=values)

    def create_namespaces(self, names: Sequence[str]) -> None:
        """Create namespaces and wait until pods can be created in them; existing namespaces are kept."""
        self._ask("namespaces", DRIVER_ANSWER, names=list(names))

    def create(self, pods: Pods, *, watching: Sequence[Watched] = ()) -> Created:
        """Create pods as fast as the apiserver takes them; returns when every creation is answered.

        Args:
            pods: what to create.
            watching: processes to check meanwhile; if one of them exits, its error is raised.
        """
        return Created(**self._ask("create", PODS_DONE, watching, **pods.command()))

    def arrive(self, pods: Pods, arrivals: Sequence[float], *, watching: Sequence[Watched] = ()) -> Created:
        """Create each pod at its arrival time, whether or not earlier pods are bound.

        Args:
            pods: what to create.
            arrivals: seconds from the start, ascending, for each pod.
            watching: as for `create`.
        """
        deadline = _later(PODS_DONE, max(arrivals, default=0.0))
        return Created(**self._ask("create", deadline, watching, **pods.command(), arrivals=list(arrivals)))

    def one_at_a_time(
        self, pods: Pods, seconds: float, *, pauses: Sequence[float] = (), watching: Sequence[Watched] = ()
    ) -> Bound:
        """Create each pod after the previous pod was seen bound.

        Stops at the first pod that is not bound within `seconds`: then one pod more was created than bound.

        Args:
            pods: what to create.
            seconds: the limit for each pod.
            pauses: before each pod, as a share of the longest latency so far; see `arrivals.pauses`. Empty: none.
            watching: as for `create`.
        """
        deadline = _later(DRIVER_ANSWER, pods.count * seconds * (2 if pauses else 1))
        arguments = {"seconds": seconds, "pauses": list(pauses)}
        return Bound(**self._ask("one", deadline, watching, **pods.command(), **arguments))

    def wait(self, group: str, seconds: float) -> Bound:
        """Return as soon as all of the group's pods were seen bound, or after `seconds`."""
        return Bound(**self._ask("wait", _later(DRIVER_ANSWER, seconds), group=group, seconds=seconds))

    def rows(self, group: str, path: Path) -> tuple[PodTimes, ...]:
        """Return the times of each of the group's pods, ordered by number; they are also kept in a CSV file."""
        self._ask("rows", DRIVER_ANSWER, group=group, path=str(path.absolute()))
        with path.open(newline="") as file:
            return tuple(map(_row, csv.DictReader(file)))

    def bind(self, group: str, nodes: Sequence[str]) -> Timed:
        """Bind the pods to the nodes in turn, without any scheduling: an upper limit for schedulers on this machine."""
        return Timed(**self._ask("bind", PODS_DONE, group=group, nodes=list(nodes)))

    def delete(self, group: str) -> Timed:
        """Delete the group's pods, wait until the watch has shown that all of them are gone, and forget the group."""
        return Timed(**self._ask("delete", PODS_DONE, group=group))

    def delete_all(self, namespace: str) -> Timed:
        """Delete all pods and forget all groups in a namespace, as `delete` does."""
        return Timed(**self._ask("delete", PODS_DONE, namespace=namespace))

    def start_churn(self, name: str, churn: ChurnLoad) -> None:
        """Start churn under a name; it runs in the background until `stop_churn`."""
        templates = [dict(template) for template in churn.templates]
        self._ask("churn", DRIVER_ANSWER, churn=name, **{**dataclasses.asdict(churn), "templates": templates})

    def stop_churn(self, name: str) -> Churned:
        """Stop the churn of this name and delete its remaining objects."""
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
            # The caller stops waiting: cancel the command, so that the driver can take the next.
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
        """Return the answer to the last command, and drop answers to cancelled commands."""
        while True:
            try:
                answer: dict[str, Any] = json.loads(self._process.receive(_SLICE))
            except TimeoutError:
                raise NotYet("no answer") from None
            if answer["id"] == self._last:
                return answer


def _row(columns: Mapping[str, str]) -> PodTimes:
    answered, shown, seen = (float(columns[name]) if columns[name] else None for name in ("answered", "shown", "seen"))
    intended, sent = float(columns["intended"]), float(columns["sent"])
    return PodTimes(columns["pod"], columns["uid"], intended, sent, answered, seen, columns["node"], shown)


def _later(deadline: Deadline, seconds: float) -> Deadline:
    return dataclasses.replace(deadline, seconds=deadline.seconds + seconds)
