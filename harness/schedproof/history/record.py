"""The history of one candidate's run: one JSON object per line, in the order of receipt.

Every record has `kind` and `at` (seconds since the run began, on the monotonic clock). Kinds:

- `run`: the first record: `schema`, `candidate` (the descriptor), `cluster`, `seed`, `versions`, `epoch` (the
  wall-clock time, in seconds, at which `at` was 0), `users` (user names by role: `candidate`, `harness`,
  `control`), `rbac` (rules that the candidate's identity is granted, `declared`, and those of Kubernetes' own
  `schedulers`), `scheduler_names`, `namespace`.
- `selected`: `clauses`: the ids of all that this run is to judge, in order.
- `case`: `case` (a clause id), `phase` ("begin" or "end"); at its end `early`: whether a missed deadline cut it short.
- `object`: an event of the harness's own watch: `resource`, `type` (LISTED, ADDED, MODIFIED, DELETED), `rv`
  (resourceVersion as a number: etcd's revision orders all resources of a cluster), `object`.
- `request`: a line of the audit log: `user`, `verb`, `resource` (with subresource: "pods/binding"),
  `namespace`, `name`, `code`, `received` and `completed` (as `at`), `body`.
- `pod`: the harness created a pod: `case`, `pod` (namespace/name), `uid`, `role` (probe, sentinel, settle,
  control, filler, straggler, and what a case says of its own), and `phase` (of the load) where it has one.
- `expect`: the harness waited for an outcome, and the wait is over: `case`, `pod`, `uid`, `outcome` ("bound",
  "pending", or "unwilling": it fits, and the candidate claims not to schedule it), `rv` (the newest revision it had
  seen by then), `within` (seconds), `deadline` (its name).
- `seen`: the candidate is known to have seen the world as of `rv`, because at `shown_at_rv` it did what only
  that world admits; `pod` is the proof.
- `unseen`: it could not be shown that the candidate saw `rv`; `reason`.
- `trouble`: the harness could not do its part of `case`; `text`.
- `over`: all that was to be tried has been, and all logs have been read up to here; missing where the run was cut off.
- `fence`: everything created before the sentinel `pod` has been decided on; `case`, `rv`.
- `load`: traffic asked for: `case`, `phase` (a number), `traffic` (node to bytes per second), `source`.
- `reading`: what Prometheus answers at the moment of a decision: `case`, `pod`, `query`, `traffic`.
- `lift`: the harness removes the scheduling gates of `pod` (and `uid`) of `case`.
- `emptied`: the harness takes all nodes away, in `case`.
- `fault`: the harness breaks (`on` true) or heals a tapped `line` ("prometheus", "extender"); `case`, `fault`.
- `halted`, `resumed`: the harness ends the candidate, and has started it again, in `case`.
- `calm`: from here on for `seconds` the harness does nothing, in `case`.
- `query`: what went through the tap to Prometheus: `request`, `path`, `status` (0: unanswered), `answer`, `seconds`,
  `fault` where the tap had one.
- `extender`: what went through the tap to the extender: the same, and `by` ("scheduler" or "harness"), `pod`, `asked`
  and `answered` (names of nodes, None where there were none), `mode` and `answered_mode` ("names", "nodes", ""),
  `scores` (list of host and score, None where the answer is no HostPriorityList), `error`, `json` (is the answer?).
- `configuration`: `document`, the KubeSchedulerConfiguration that a scheduler is started with.
- `start-failed`: a compiled scheduler ended at its start: `text`, `fix`.
- `tried`: it was started beside itself with ill-typed args: `case`, `arg`, `value`, `code` (None: it got ready), `log`.
- `score`: from a scheduler's log: `pod`, `scorer`, `node`, `score`.
- `log`: the last lines of a log at the end of `case`: `name`, `lines`.
- `process`: `name`, `event` ("started", "exited", "stopped": by us), `code`, `log`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from schedproof.foundation.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["FILE", "SCHEMA", "Record", "load_records"]

Record = dict[str, Any]

SCHEMA = "schedproof.history/v1"
FILE = "history.jsonl"


def load_records(folder: Path) -> Sequence[Record]:
    """Read a saved history.

    A last line that was cut off (the harness was killed) is dropped.

    Raises:
        UsageError: it is not a history, or of a schema that this version does not know.
    """
    path = folder / FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"no history in {folder}: {error}",
            remedy=f"give the folder of one candidate's run: the one that holds {FILE}",
        ) from error
    records: list[Record] = []
    lines = content.splitlines()
    for number, line in enumerate(lines, 1):
        try:
            records.append(_parse(line))
        except ValueError as error:
            if number == len(lines) and not content.endswith(b"\n"):
                break
            raise UsageError(f"{path}:{number}: not a record: {error}", remedy="was the file edited?") from error
    if not records or records[0].get("kind") != "run" or records[0].get("schema") != SCHEMA:
        raise UsageError(f"{path}: not a history of schema {SCHEMA}", remedy="judge it with the version that wrote it")
    return records


def _parse(line: bytes) -> Record:
    record = json.loads(line)
    if not isinstance(record, dict) or not {"kind", "at"} <= record.keys():
        raise ValueError("expected an object with `kind` and `at`")
    return record
