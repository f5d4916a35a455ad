"""Records the cluster's watches, the audit log, and the actions of the harness."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from schedproof.clusters.api import Api, Manifest, Watch
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.disk import FREE_SPACE, DiskSpace
from schedproof.foundation.errors import HostError
from schedproof.foundation.private import make_private, open_private
from schedproof.foundation.redaction import SECRETS
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.acts import Missed, Run, RunEnd, Tried, Trouble
from schedproof.history.history import History
from schedproof.history.index import Index
from schedproof.history.observations import (
    AuditErrors,
    Configured,
    EndpointAnswer,
    ExtenderCall,
    LogTail,
    ProcessEvent,
    PrometheusQuery,
    QueryReads,
    StartFailed,
    WatchEvent,
)
from schedproof.history.record import Record
from schedproof.history.saved import FILE, read_record
from schedproof.recording.audit import AuditTail
from schedproof.recording.scores import ScoreTail

_WATCHED = (
    "namespaces", "nodes", "pods", "events", "storageclasses", "persistentvolumes", "persistentvolumeclaims",
    "csinodes", "csidrivers", "csistoragecapacities",
)  # fmt: skip
_DEVICES = ("deviceclasses", "resourceslices", "resourceclaims", "devicetaintrules")
_DEVICES_API = "resource.k8s.io/v1"
_DEVICES_BY = {"dra", "dra-extended"}
"""Features for which devices are watched as well: not every Kubernetes version serves them."""
_WITH_CANDIDATE_TEXT = frozenset(
    {
        Configured,
        EndpointAnswer,
        ExtenderCall,
        LogTail,
        Missed,
        ProcessEvent,
        PrometheusQuery,
        QueryReads,
        Run,
        StartFailed,
        Tried,
        Trouble,
    }
)
"""Records with text that a candidate was given or has produced. Secrets in these and in events are redacted."""


class Recorder:
    """Collects the records of one candidate's run, in memory and in `folder/history.jsonl`.

    `changed` is notified with every new record; hold it while reading `records` or `pods`.

    Args:
        header: the first record.
        audit_log: the apiserver's audit log, read from its current end on; None if the cluster has none.
    """

    def __init__(self, api: Api, folder: Path, header: Run, audit_log: Path | None) -> None:
        self.changed = threading.Condition()
        self.records: list[Record] = []
        self._index = Index(self.records)
        self.pods: dict[str, Manifest] = {}
        """The newest manifest of each existing pod, by uid."""
        self.nodes: dict[str, Manifest] = {}
        """The newest manifest of each existing node, by name."""
        self.rv = 0
        """The newest revision that a watch of pods or nodes has delivered."""
        self.newest = 0
        """The newest revision of all watched resources except events."""
        self.placed_at = -math.inf
        """When (as `now`) a pod was last seen to be bound to a node, by any client's request."""
        self.shown: set[str] = set()
        """The uids of all pods that the watch has shown, including deleted ones."""
        self.placed: set[str] = set()
        """The uids of all pods that the watch has shown on a node, including deleted ones."""
        self.versions: dict[str, int] = {}
        """The newest revision of each object that a watch has shown, by uid."""
        self._created_unbound: set[str] = set()
        self._origin = time.monotonic()
        self._epoch = time.time()
        self._api = api
        self._failure: HostError | None = None
        make_private(folder)
        self._disk = DiskSpace(folder)
        self._file: IO[str] = open(folder / FILE, "w", buffering=1, opener=open_private)  # noqa: SIM115 - see close
        self._audit: AuditTail | None = None
        if audit_log is not None:
            self._audit = AuditTail(audit_log, self._epoch, self.now, header.users.candidate)
            self._audit_errors = api.audit_errors()
        self._scores: list[ScoreTail] = []
        self.add(header.model_copy(update={"epoch": self._epoch}))
        self._watches: dict[str, Watch] = {}
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        for resource in _watched(header, api):
            listing = api.list(resource)
            for item in listing["items"]:
                self._take(resource, "LISTED", item, int(listing["metadata"]["resourceVersion"]))
            rv = listing["metadata"]["resourceVersion"]
            thread = threading.Thread(target=self._follow, args=(resource, rv), name=f"watch-{resource}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def now(self) -> float:
        """Return the seconds since the run began, on the monotonic clock."""
        return time.monotonic() - self._origin

    def moment(self, at: float) -> float:
        """Return the wall-clock time, in seconds since the epoch, of a record's `at`."""
        return self._epoch + at

    def note(self, kind: str, **fields: Any) -> None:
        """Add a record given as its kind and fields, for callers that do not import the record classes."""
        self.add(read_record({"kind": kind, **fields}))

    def add(self, record: Record) -> None:
        """Append a record. When this returns, a crash of the harness cannot lose it.

        Raises:
            HostError: the disk is full, or a watch has broken; a history with holes must not be judged.
        """
        at = record.at if "at" in record.model_fields_set else self.now()
        record = record.model_copy(update={"at": round(at, 6)})
        line = record.as_dict()
        if type(record) in _WITH_CANDIDATE_TEXT or (isinstance(record, WatchEvent) and record.resource == "events"):
            redacted = SECRETS.redact_all(line)
            if redacted != line:
                line, record = redacted, read_record(redacted)
        with self.changed:
            if self._failure is not None:
                raise self._failure
            self.records.append(record)
            try:
                self._file.write(json.dumps(line, separators=(",", ":"), default=str) + "\n")
            except OSError as error:
                self._failure = HostError(
                    f"cannot write the history to {self._file.name}: {error.strerror}", remedy=FREE_SPACE
                )
                raise self._failure from error
            finally:
                self.changed.notify_all()

    def check(self) -> None:
        """Raise the error that ended the recording, here or in the background, if any: always the same error."""
        if (failure := self.exit_error()) is not None:
            raise failure

    def exit_error(self) -> HostError | None:
        """Return the error that ended the recording; None while it runs."""
        if self._failure is None:
            # Other programs write to this disk as well, and not all report when they cannot.
            self._failure = self._disk.exit_error()
        return self._failure

    def await_shown(self, missing: Callable[[], str], deadline: Deadline, what: str) -> None:
        """Wait until the watches have shown something: until `missing` returns no text about what they have not.

        Raises:
            DeadlineExceededError: the deadline passed; quotes that text.
            HostError: the recording has ended.
        """

        def probe() -> None:
            self.check()
            if text := missing():
                raise NotYet(text)

        wait_for(probe, deadline, what=what, wake=self.changed)

    def require_shown(self, resource: str, manifest: Manifest) -> None:
        """Require that the watch of a resource has shown this version of an object.

        Raises:
            NotYet: that watch is behind.
        """
        self.check()
        metadata = manifest["metadata"]
        if self.versions.get(metadata["uid"], 0) < int(metadata["resourceVersion"]):
            raise NotYet(f"the watch of {resource} is behind")

    def follow_scores(self, tail: ScoreTail) -> None:
        """Read the scores that a scheduler logs, at every `catch_up`."""
        self._scores.append(tail)

    def history(self) -> History:
        """Return the history so far, with every line of the audit log up to now."""
        self.catch_up()
        return self.recorded()

    def recorded(self) -> History:
        """Return the history so far, without what the logs have beyond the last `catch_up`."""
        with self.changed:
            return History(self._index)

    def catch_up(self) -> None:
        """Read the logs up to now.

        A mark ends the wait for the audit log: requests answered before it precede it in the log, except those in
        flight at the same time. Bindings that the watch has shown are therefore waited for as well.
        """
        self.check()
        for tail in self._scores:
            for score in tail.read():
                self.add(score)
        if self._audit is None:
            return
        with self.changed:
            bound = {
                (pod["metadata"]["namespace"], pod["metadata"]["name"])
                for uid, pod in self.pods.items()
                if pod["spec"].get("nodeName") and uid in self._created_unbound
            }
        for record in self._audit.read_until(self._api, bound, watching=(self,)):
            self.add(record)

    def finish(self) -> None:
        """Read the logs up to now, record what the apiserver could not write to its audit log, and end the run."""
        self.catch_up()
        if self._audit is not None:
            before, errors = self._audit_errors, self._api.audit_errors()
            if before is not None and errors is not None:
                # A restarted apiserver counts from 0.
                self.add(AuditErrors(events=errors - before if errors >= before else errors))
        self.add(RunEnd())

    def mark(self) -> int:
        """Write a mark to the audit log: for the field `mark` of a record whose place among requests matters.

        Return 0 if there is no audit log.
        """
        return 0 if self._audit is None else self._audit.mark(self._api)

    def _follow(self, resource: str, rv: str) -> None:
        try:
            while not self._closing.is_set():
                # The apiserver ends every watch after half an hour or more; the next one continues there.
                watch = self._watches[resource] = self._api.watch(resource, rv)
                if self._closing.is_set():
                    watch.close()
                for event in watch:
                    if event["type"] == "ERROR":
                        raise HostError(f"the watch of {resource} ended with an error: {event['object']}")
                    rv = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._take(resource, event["type"], event["object"], int(rv))
        except Exception as error:
            with self.changed:
                if not self._closing.is_set():
                    self._failure = self._failure or HostError(
                        f"recording stopped: {error}", remedy="see the daemons' logs in the report folder"
                    )
                self.changed.notify_all()

    def _take(self, resource: str, event_type: str, manifest: Manifest, rv: int) -> None:
        manifest["metadata"].pop("managedFields", None)
        with self.changed:
            if uid := manifest["metadata"].get("uid"):
                self.versions[uid] = rv
            if resource == "pods":
                uid = manifest["metadata"]["uid"]
                self.shown.add(uid)
                if event_type == "DELETED":
                    self.pods.pop(uid, None)
                else:
                    if manifest["spec"].get("nodeName") and not self.pods.get(uid, {}).get("spec", {}).get("nodeName"):
                        self.placed_at = self.now()
                        self.placed.add(uid)
                    self.pods[uid] = manifest
                    if not manifest["spec"].get("nodeName"):
                        self._created_unbound.add(uid)
            elif resource == "nodes":
                if event_type == "DELETED":
                    self.nodes.pop(manifest["metadata"]["name"], None)
                else:
                    self.nodes[manifest["metadata"]["name"]] = manifest
            if resource in ("nodes", "pods"):
                self.rv = max(self.rv, rv)
            if resource != "events":
                self.newest = max(self.newest, rv)
            self.add(WatchEvent(resource=resource, type=event_type, rv=rv, object=manifest))

    def close(self) -> None:
        self._closing.set()
        # Watches that begin from here on are closed by their own threads, which still add to the dictionary.
        for watch in list(self._watches.values()):
            watch.close()
        for thread in self._threads:
            thread.join()
        for scores in self._scores:
            scores.close()
        if self._audit is not None:
            self._audit.close()
        # Every line was flushed when written. A line that could not be is still buffered, and would fail again.
        with contextlib.suppress(OSError):
            self._file.close()


def _watched(header: Run, api: Api) -> list[str]:
    features = header.candidate.claims.get("features") or ()
    if "claimed-devices" not in header.cluster.capabilities or not _DEVICES_BY & set(features):
        return [*_WATCHED]
    served = {entry["name"] for entry in api.discovered(_DEVICES_API)}  # DeviceTaintRules since 1.37
    return [*_WATCHED, *(resource for resource in _DEVICES if resource in served)]
