"""A run in a cluster, seen from outside: created, followed, fetched and removed, over connections that may be lost."""

from __future__ import annotations

import contextlib
import secrets
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.clusters.api import Api, ApiError, Conflict, Manifest, NotFound, UnreachableError
from schedproof.clusters.existing.sweep import SUBMISSION, sweep
from schedproof.foundation.deadlines import IMAGE_PULLED, RECONNECTED, SUBMISSION_GONE, Deadline
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.exit_codes import WORST_FIRST
from schedproof.foundation.private import make_private
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.submission import manifests
from schedproof.submission.files import CandidateFiles

T = TypeVar("T")

_SEND = ("python3", "-m", "schedproof.submission.pod", "send")
_SILENT = 30.0
"""Seconds without output after which the log is asked for again: a lost connection need not show itself."""
_NEVER = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"}
)
"""Reasons of the kubelet for a container that does not start without help."""


class Submission:
    """A submitted run, by its name. It exists in the cluster, whether or not this object does.

    Args:
        api: the connection of the user.
        name: see `create` and `find`.
    """

    def __init__(self, api: Api, name: str) -> None:
        self._api, self.name, self._namespace = api, name, manifests.namespace_of(name)
        self._printed = 0

    @classmethod
    def create(
        cls,
        api: Api,
        candidate: Candidate,
        files: CandidateFiles,
        *,
        image: str,
        options: Sequence[str],
        seconds: int,
        callbacks: bool,
    ) -> Submission:
        """Create all objects of a submission. After an error nothing is left.

        Args:
            api: the connection of the user.
            candidate: what is judged.
            files: its files.
            image: that of the harness.
            options: see `manifests.job`.
            seconds: see `manifests.job`.
            callbacks: whether pods and the apiserver may reach the harness's pod.

        Raises:
            ApiError: the apiserver refuses an object.
        """
        made = cls(api, f"{candidate.name[:40]}-{secrets.token_hex(3)}")
        with contextlib.ExitStack() as undo:
            owner = api.create("namespaces", manifests.namespace(made.name))
            undo.callback(made.remove)
            objects = [
                *manifests.rights(made.name, candidate, callbacks=callbacks),
                manifests.config_map(files),
                manifests.job(image, candidate, files, options, seconds=seconds),
            ]
            for manifest in objects:
                made._create(manifests.owned(manifest, owner, made.name))
            undo.pop_all()
        return made

    def _create(self, manifest: Manifest) -> None:
        resource = f"{manifest['kind'].lower()}s"
        place = manifest["metadata"].get("namespace") or ("" if resource.startswith("cluster") else self._namespace)
        self._api.create(resource, manifest, place)

    @classmethod
    def find(cls, api: Api, name: str) -> Submission:
        """Return a submission that is in the cluster.

        Raises:
            UsageError: there is none of that name.
        """
        names = [
            item["metadata"]["labels"][SUBMISSION] for item in api.list("namespaces", labelSelector=SUBMISSION)["items"]
        ]
        if name not in names:
            raise UsageError(
                f"no run of the name {name} is in the cluster",
                remedy=f"name one of {', '.join(sorted(names))}" if names else "submit it: there is none at all",
            )
        return cls(api, name)

    def follow(self, say: Callable[[str], object]) -> int:
        """Pass on what the run prints, until it ends; return its exit code.

        Raises:
            UsageError: its image cannot be had.
            HostError: its pod is gone, or was ended from outside, or the cluster is out of reach for too long.
        """
        wait_for(self._started, IMAGE_PULLED, what=f"the pod of {self.name} to start", poll=0.5)
        job = self._reached(lambda: self._api.get("jobs", manifests.JOB, self._namespace))
        seconds = float(job["spec"]["activeDeadlineSeconds"])
        lasts = Deadline("submitted run ends", seconds, "its Job has this deadline").then(RECONNECTED)

        def ended() -> Manifest:
            complete = self._copy_log(say)
            if not complete or (state := self._state().get("terminated")) is None:
                raise NotYet("it runs")
            return dict(state)

        state = wait_for(ended, lasts, what=f"{self.name} to end", poll=0.5)
        code = int(state["exitCode"])
        if code not in WORST_FIRST:
            raise HostError(
                f"the run {self.name} was ended from outside: {state.get('reason')}, exit code {code}",
                remedy="see the events of its node: memory may have run out",
            )
        return code

    def _started(self) -> None:
        state = self._state()
        if waiting := state.get("waiting"):
            text = " ".join(filter(None, (waiting.get("reason"), waiting.get("message"))))
            if waiting.get("reason") in _NEVER:
                raise UsageError(
                    f"the pod of {self.name} does not start: {text}",
                    remedy="--image names an image of the harness that nodes have or can pull (`make image` builds it)",
                )
            raise NotYet(text)
        if not state:
            conditions = self._pod()["status"].get("conditions") or ()
            raise NotYet(" ".join(c["message"] for c in conditions if c.get("message")) or "no container yet")

    def _copy_log(self, say: Callable[[str], object]) -> bool:
        """Pass on lines that are new, as they come; return whether the log has ended, and not the connection.

        A log is some hundred lines: after a loss all of it is read again, and what is known is skipped.
        """
        from urllib3.exceptions import HTTPError

        number, pending = 0, b""
        try:
            stream = self._api.log(
                self._namespace, self._pod()["metadata"]["name"], _SILENT, container=manifests.RUN, follow="true"
            )
            for chunk in stream.chunks():
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    number += 1
                    self._say(line, number, say)
        except (HTTPError, UnreachableError):
            return False
        except ApiError as error:
            if error.status < 500:
                raise
            return False  # the kubelet is out of the apiserver's reach
        if pending:
            self._say(pending, number + 1, say)
        return True

    def _say(self, line: bytes, number: int, say: Callable[[str], object]) -> None:
        if number > self._printed:
            say(line.decode(errors="replace"))
            self._printed = number

    def _pod(self) -> Manifest:
        """Return the pod of the Job.

        Raises:
            HostError: it is gone.
            NotYet: it is not there yet.
        """
        selector = f"job-name={manifests.JOB}"
        pods = self._reached(lambda: self._api.list("pods", self._namespace, labelSelector=selector))["items"]
        if pods:
            return dict(pods[0])
        try:
            job = self._reached(lambda: self._api.get("jobs", manifests.JOB, self._namespace))
        except NotFound:
            raise HostError(f"the run {self.name} was removed from the cluster") from None
        failed = [c for c in job["status"].get("conditions") or () if c["type"] == "Failed" and c["status"] == "True"]
        if failed:
            raise HostError(
                f"the run {self.name} was ended by the cluster: {failed[0].get('reason')}: {failed[0].get('message')}",
                remedy="--hours gives it more time, if its deadline has passed; else see the events of its node",
            )
        raise NotYet("the Job has no pod yet")

    def _state(self) -> Manifest:
        """Return the state of the container that runs; empty if there is none yet."""
        pod = self._pod()
        statuses = pod["status"].get("containerStatuses") or ()
        if pod["status"].get("phase") == "Failed" and not statuses:
            raise HostError(
                f"the pod of {self.name} has failed: {pod['status'].get('message') or pod['status'].get('reason')}"
            )
        return next((dict(status["state"]) for status in statuses if status["name"] == manifests.RUN), {})

    def _reached(self, request: Callable[[], T]) -> T:
        """Return what a request returns, once the apiserver is within reach."""

        def probe() -> T:
            try:
                return request()
            except UnreachableError as error:
                raise NotYet(error.message) from error

        return wait_for(probe, RECONNECTED, what="the apiserver", poll=1)

    def fetch(self, folder: Path) -> None:
        """Write the report into a folder.

        Raises:
            HostError: its pod is gone, or it cannot be fetched.
        """

        def fetched() -> None:
            pod = self._pod()["metadata"]["name"]
            with tempfile.TemporaryFile() as packed:
                try:
                    connection = self._api.execute(self._namespace, pod, manifests.REPORT, _SEND)
                    with contextlib.closing(connection):
                        connection.copy(packed)
                except UnreachableError as error:
                    raise NotYet(error.message) from error
                packed.seek(0)
                make_private(folder)
                with tarfile.open(fileobj=packed, mode="r:gz") as archive:
                    archive.extractall(folder, filter="data")

        wait_for(fetched, RECONNECTED, what=f"the report of {self.name}", poll=1)

    def remove(self) -> None:
        """Remove it, and return when nothing of it is left. A run that is not over ends, and removes what it made."""
        with contextlib.suppress(NotFound, Conflict):
            self._api.remove(self._api.path("jobs", self._namespace, manifests.JOB))

        def gone() -> None:
            if left := self._api.list("pods", self._namespace)["items"]:
                raise NotYet(", ".join(pod["metadata"]["name"] for pod in left))

        # Its rights go last: the run needs them until its end.
        wait_for(gone, SUBMISSION_GONE, what=f"the pod of {self.name} to go", poll=0.2)
        sweep(self._api, f"{SUBMISSION}={self.name}")
