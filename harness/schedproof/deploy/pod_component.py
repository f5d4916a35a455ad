"""A component of a candidate that is a pod: watched, with its log followed, like a process of this machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters.api import Api, ApiError, Manifest, Watch
from schedproof.deploy.container_log import ContainerLog
from schedproof.deploy.record import Recording
from schedproof.foundation.deadlines import CANDIDATE_READY, POD_GONE, POD_STARTED
from schedproof.foundation.errors import CandidateError, DeadlineExceededError, HostError
from schedproof.foundation.private import make_private
from schedproof.foundation.processes.last_words import cause_of_end
from schedproof.foundation.processes.sandbox import last_lines
from schedproof.foundation.waiting import NotYet, wait_for

_NEVER_STARTS = frozenset(
    {
        "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull", "ImageInspectError",
        "ImagePullBackOff", "InvalidImageName", "RunContainerError", "StartError", "ContainerCannotRun",
    }
)  # fmt: skip
"""A kubelet's reasons for a container that cannot start however long the wait."""

_RECONNECT_SECONDS = 0.5


class PodComponent:
    """See `schedproof.deploy.component.Component`.

    A kubelet starts a container again that has ended. This component has ended then: that it did not stay alive is what
    counts, and another try is another component.

    Args:
        query: selects its pod, as a `labelSelector` or a `fieldSelector`.
        name: for people.
        log: the file that its log is appended to.
        remove: takes the pod's objects away, and returns when they are gone.
        container: the name of its container; "" if its pod has only one.
        restarts: how often that had been restarted before.
        answers: raises `NotYet` until it can be reached, once it is ready.
        pids_of: the processes of the pod with a uid; see `Hosting`.
    """

    pid = scheduler_port = None

    def __init__(
        self,
        api: Api,
        namespace: str,
        query: Mapping[str, str],
        *,
        name: str,
        log: Path,
        remove: Callable[[], None],
        container: str = "",
        restarts: int = 0,
        answers: Callable[[], None] = lambda: None,
        pids_of: Callable[[str], Sequence[int]] = lambda _: (),
    ) -> None:
        self.name = name
        self.log = log
        self.exit_code: int | None = None
        self._api = api
        self._namespace = namespace
        self._query = dict(query)
        self._container_name, self._restarts = container, restarts
        self._remove = remove
        self._answers = answers
        self._pids_of = pids_of
        self._pod: Manifest = {}
        self._changed = threading.Condition()
        self._ended = ""
        self._log: ContainerLog | None = None
        self._watch: Watch | None = None
        self._closing = threading.Event()
        make_private(log.parent)
        log.touch()
        self._thread = threading.Thread(target=self._follow, name=f"watch-{name}", daemon=True)
        self._thread.start()

    def pids(self) -> Sequence[int]:
        uid = self._pod.get("metadata", {}).get("uid")
        return self._pids_of(uid) if uid is not None else []

    def log_tail(self, lines: int = 12) -> str:
        return last_lines(self.log, lines)

    def cause(self) -> str:
        return cause_of_end(last_lines(self.log, 10_000, most=1 << 20))

    def watch(self, record: Recording) -> None:
        """Nothing to do: a container whose first process ends is restarted, and its status shows that."""

    def catch_up(self) -> None:
        if self._log is not None and self.exit_code is None:
            self._log.catch_up()

    def exit_error(self) -> CandidateError | None:
        if self.exit_code is None:
            return None
        tail = "\n".join(f"    {line}" for line in self.log_tail().splitlines())
        return CandidateError(f"{self.name}: {self._ended}\n  last log lines:\n{tail}", remedy=f"read {self.log}")

    def wait_ready(self) -> None:
        what = f"the pod of {self.name}"
        try:
            wait_for(self._runs, POD_STARTED, what=f"{what} to run", watching=(self,), wake=self._changed)
            wait_for(self._is_ready, CANDIDATE_READY, what=f"{what} to be Ready", watching=(self,), wake=self._changed)
            wait_for(self._answers, CANDIDATE_READY, what=f"{self.name} to answer", watching=(self,))
        except DeadlineExceededError as error:
            raise DeadlineExceededError(f"{error.message}{self._events()}") from error

    def _runs(self) -> None:
        status = self._container(self._pod)
        if not status:
            conditions = self._pod.get("status", {}).get("conditions") or ()
            raise NotYet("; ".join(c["message"] for c in conditions if c.get("message")) or "no container yet")
        ((state, about),) = (status.get("state") or {"waiting": {}}).items()
        if about.get("reason") in _NEVER_STARTS:
            raise CandidateError(
                f"the pod of {self.name} cannot start: {about['reason']}: {about.get('message', '')}{self._events()}",
                remedy="spec.image in candidate.yaml says what is run; its command must be in the image",
            )
        if state != "running" or self._over(status):
            raise NotYet(f"{state}: {about.get('reason', '')} {about.get('message', '')}")

    def _is_ready(self) -> None:
        status = self._container(self._pod)
        # Where it has ended, `exit_error` says so once its log is here.
        if not status.get("ready") or self._over(status):
            raise NotYet("its readiness probe has not succeeded")

    def _events(self) -> str:
        """The cluster's information about its pod, for people."""
        if not self._pod:
            return "\n  it has no pod"
        name = self._pod["metadata"]["name"]
        try:
            events = self._api.list("events", self._namespace, fieldSelector=f"involvedObject.name={name}")["items"]
        except ApiError as error:
            return f"\n  its events cannot be read: {error.message}"
        lines = [f"    {event.get('reason', '')}: {event.get('message', '')}" for event in events[-8:]]
        return "\n".join(["", f"  events of pod {name}:", *lines])

    def _follow(self) -> None:
        while not self._closing.is_set():
            # A watch ends now and then, and where the apiserver is away: what was missed, the next list shows.
            with contextlib.suppress(Exception):
                listing = self._api.list("pods", self._namespace, **self._query)
                uids = {pod["metadata"]["uid"] for pod in listing["items"]}
                if self._pod and self._pod["metadata"]["uid"] not in uids:
                    self._take("DELETED", self._pod)
                for pod in listing["items"]:
                    self._take("LISTED", pod)
                version = listing["metadata"]["resourceVersion"]
                watch = self._watch = self._api.watch("pods", version, self._namespace, **self._query)
                if self._closing.is_set():
                    watch.close()
                for event in watch:
                    if event["type"] == "ERROR":
                        break
                    if event["type"] != "BOOKMARK":
                        self._take(event["type"], event["object"])
            self._closing.wait(_RECONNECT_SECONDS)

    def _take(self, event: str, pod: Manifest) -> None:
        if self._closing.is_set() or (self._pod and pod["metadata"]["uid"] != self._pod["metadata"]["uid"]):
            return  # the first is ours; one in its place means that it has ended
        status = self._container(pod)
        over = self._over(status)
        if self._log is None and (over or "running" in (status.get("state") or {})):
            self._log = ContainerLog(
                self._api, self._namespace, pod["metadata"]["name"], self.log, container=self._container_name
            )
        with self._changed:
            self._pod = pod
            self._changed.notify_all()
        if over and over.get("reason") not in _NEVER_STARTS:
            self._end(over["exitCode"], f"its container ended with exit code {over['exitCode']}", status)
        elif event == "DELETED":
            self._end(-9, "its pod was deleted", status)

    def _end(self, code: int, how: str, status: dict[str, Any]) -> None:
        if self.exit_code is not None:
            return
        if self._log is not None:
            self._log.complete(restarted="terminated" not in (status.get("state") or {}))
        with self._changed:
            self._ended, self.exit_code = how, code
            self._changed.notify_all()

    def _container(self, pod: Manifest) -> Manifest:
        """The status of its container; empty if there is none yet."""
        statuses: list[Manifest] = pod.get("status", {}).get("containerStatuses") or []
        return next((status for status in statuses if self._container_name in ("", status.get("name"))), {})

    def _over(self, status: Manifest) -> Manifest | None:
        """How its container ended, even if another one has replaced it by now."""
        found: Manifest | None = (status.get("state") or {}).get("terminated")
        if found is None and status.get("restartCount", 0) > self._restarts:
            found = (status.get("lastState") or {}).get("terminated")
        return found

    def freeze(self) -> None:
        raise HostError(f"{self.name} runs as a pod, whose processes cannot be paused")

    thaw = freeze

    def stop(self, grace: float) -> None:  # noqa: ARG002 - the pod's own grace period is the same
        self._closing.set()  # what ends from here on, is our doing
        if self._watch is not None:
            self._watch.close()
        try:
            self._remove()
        finally:
            self._thread.join()
            if self._log is not None:
                self._log.close()


def wait_gone(api: Api, namespace: str, selector: str) -> None:
    """Wait until `selector` selects no pod."""

    def gone() -> None:
        if pods := api.list("pods", namespace, labelSelector=selector)["items"]:
            raise NotYet(", ".join(f"pod {pod['metadata']['name']}" for pod in pods))

    wait_for(gone, POD_GONE, what=f"the pods of {selector} to go", poll=0.2)
