"""Records what happens: the cluster's own watch, the audit log, and what the harness does."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from pathlib import Path
from typing import IO, Any

from schedproof.clusters.api import Api, Manifest, Watch
from schedproof.foundation.disk import FREE_SPACE, DiskSpace
from schedproof.foundation.errors import HostError
from schedproof.foundation.private import make_private, open_private
from schedproof.foundation.redaction import SECRETS
from schedproof.foundation.waiting import NotYet
from schedproof.history.acts import Missed, Run, Tried, Trouble
from schedproof.history.history import History
from schedproof.history.index import Index
from schedproof.history.observations import (
    Configured,
    EndpointAnswer,
    ExtenderCall,
    LogTail,
    ProcessEvent,
    PrometheusQuery,
    StartFailed,
    WatchEvent,
)
from schedproof.history.record import Record
from schedproof.history.saved import FILE, read_record
from schedproof.recording.audit import AuditTail
from schedproof.recording.scores import ScoreTail

_WATCHED = (
    "namespaces", "nodes", "pods", "events", "storageclasses", "persistentvolumes", "persistentvolumeclaims",
)  # fmt: skip
_DEVICES = ("deviceclasses", "resourceslices", "resourceclaims")
"""Watched besides where a candidate claims `dra`: not every Kubernetes serves them."""
_ITS_WORDS = frozenset(
    {
        Configured,
        EndpointAnswer,
        ExtenderCall,
        LogTail,
        Missed,
        ProcessEvent,
        PrometheusQuery,
        Run,
        StartFailed,
        Tried,
        Trouble,
    }
)
"""The kinds of records that hold what a candidate was given or has said; events are its words too."""


class Recorder:
    """Collects the records of one candidate's run, in memory and in `folder/history.jsonl`.

    `changed` is notified with every new record; hold it while looking at `records` or `pods`.

    Args:
        header: the first record.
        audit_log: the apiserver's, or None where the cluster has none; read from its present end on.
    """

    def __init__(self, api: Api, folder: Path, header: Run, audit_log: Path | None) -> None:
        self.changed = threading.Condition()
        self.records: list[Record] = []
        self._index = Index(self.records)
        self.pods: dict[str, Manifest] = {}
        """Uid to the newest manifest, of pods that exist."""
        self.nodes: dict[str, Manifest] = {}
        """Name to the newest manifest, of nodes that exist."""
        self.rv = 0
        """The newest revision that the watch of pods or nodes has delivered."""
        self.newest = 0
        """The newest revision of all that schedulers decide by: likewise of volumes, devices and claims."""
        self.placed_at = -math.inf
        """When (as `now`) a pod was last seen to come to a node, by any client's request."""
        self.shown: set[str] = set()
        """The uids of all pods that the watch has shown, whether or not they still exist."""
        self.placed: set[str] = set()
        """The uids of all pods that the watch has shown on a node, whether or not they still exist."""
        self.versions: dict[str, int] = {}
        """Uid to the newest revision of it that a watch has shown."""
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
        self._scores: list[ScoreTail] = []
        self.add(header.model_copy(update={"epoch": self._epoch}))
        self._watches: dict[str, Watch] = {}
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        for resource in _watched(header):
            listing = api.list(resource)
            for item in listing["items"]:
                self._take(resource, "LISTED", item, int(listing["metadata"]["resourceVersion"]))
            rv = listing["metadata"]["resourceVersion"]
            thread = threading.Thread(target=self._follow, args=(resource, rv), name=f"watch-{resource}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def now(self) -> float:
        """Seconds since the run began, on the monotonic clock."""
        return time.monotonic() - self._origin

    def moment(self, at: float) -> float:
        """The wall-clock time, in seconds since the epoch, of a record's `at`."""
        return self._epoch + at

    def note(self, kind: str, **fields: Any) -> None:
        """As `add`, for what takes part in a run without knowing its records."""
        self.add(read_record({"kind": kind, **fields}))

    def add(self, record: Record) -> None:
        """Append a record. It is on disk when this returns, as far as a crash of the harness goes.

        Raises:
            HostError: the disk is full, or a watch has broken; a history with holes must not be judged.
        """
        at = record.at if "at" in record.model_fields_set else self.now()
        record = record.model_copy(update={"at": round(at, 6)})
        line = record.as_dict()
        if type(record) in _ITS_WORDS or (isinstance(record, WatchEvent) and record.resource == "events"):
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
                    f"cannot write the evidence to {self._file.name}: {error.strerror}", remedy=FREE_SPACE
                )
                raise self._failure from error
            finally:
                self.changed.notify_all()

    def check(self) -> None:
        """Raise what ended the recording, here or in the background, if anything did: always the same error."""
        if (failure := self.exit_error()) is not None:
            raise failure

    def exit_error(self) -> HostError | None:
        """The error that ended the recording; None while it runs."""
        if self._failure is None:
            # Others write to this disk as well, and not all of them say when they cannot.
            self._failure = self._disk.exit_error()
        return self._failure

    def require_shown(self, resource: str, manifest: Manifest) -> None:
        """Refuse to go on until the watch of a resource has shown this version of an object.

        Raises:
            NotYet: that watch is behind.
        """
        self.check()
        metadata = manifest["metadata"]
        if self.versions.get(metadata["uid"], 0) < int(metadata["resourceVersion"]):
            raise NotYet(f"the watch of {resource} is behind")

    def follow_scores(self, tail: ScoreTail) -> None:
        """Read the scores that a scheduler logs, whenever the history is asked for."""
        self._scores.append(tail)

    def history(self) -> History:
        """The history so far, with every line of the audit log up to now."""
        self.catch_up()
        with self.changed:
            return History(self._index)

    def catch_up(self) -> None:
        """Read the logs up to now.

        A mark ends the wait for the audit log: what was answered before it is in the log before it, but for requests
        in flight at the same time; bindings that the watch has shown are therefore waited for as well.
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

    def mark(self) -> int:
        """Leave a mark in the audit log: the field `mark` of a record whose place among requests matters.

        0 where there is no audit log.
        """
        return 0 if self._audit is None else self._audit.mark(self._api)

    def _follow(self, resource: str, rv: str) -> None:
        try:
            while not self._closing.is_set():
                # The apiserver ends every watch after half an hour or more; the next begins where it ended.
                watch = self._watches[resource] = self._api.watch(resource, rv)
                if self._closing.is_set():
                    watch.close()
                for event in watch:
                    if event["type"] == "ERROR":
                        raise HostError(f"the watch of {resource} broke: {event['object']}")
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
        # Those that begin from here on are closed by their own threads, which still add to the dictionary.
        for watch in list(self._watches.values()):
            watch.close()
        for thread in self._threads:
            thread.join()
        for scores in self._scores:
            scores.close()
        if self._audit is not None:
            self._audit.close()
        # Every line was flushed as it was written. One that could not be is still there, and would fail again.
        with contextlib.suppress(OSError):
            self._file.close()


def _watched(header: Run) -> list[str]:
    features = header.candidate.claims.get("features") or ()
    served = "claimed-devices" in header.cluster.capabilities
    return [*_WATCHED, *(_DEVICES if served and "dra" in features else ())]
