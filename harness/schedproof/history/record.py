"""The history of one candidate's run: one JSON object per line, in the order of receipt.

Every record has `kind` and `at` (seconds since the run began, on the monotonic clock). Kinds:

- `run`: the first record: `schema`, `candidate` (the descriptor), `cluster`, `seed`, `versions`, `epoch` (the
  wall-clock time, in seconds, at which `at` was 0), `users` (user names by role: `candidate`, `harness`,
  `control`), `rbac` (rules that the candidate's identity is granted, `declared`, and those of Kubernetes' own
  `schedulers`), `scheduler_names`, `namespace`.
- `selected`: `clauses`: the ids of all that this run is to judge, in order; `allow_skipped`: whether what the cluster
  cannot try may stay untried.
- `case`: `case` (a clause id), `phase` ("begin" or "end"); at its end `early`: whether a missed deadline cut it short.
- `object`: an event of the harness's own watch: `resource`, `type` (LISTED, ADDED, MODIFIED, DELETED), `rv`
  (resourceVersion as a number: etcd's revision orders all resources of a cluster), `object`.
- `request`: a line of the audit log: every request of the candidate, and of others what changes pods and nodes:
  `line` (its place in the log; lines that are not kept count), `user`, `verb`, `group` (of the API), `resource` (with
  subresource: "pods/binding"; "" for a path that is none), `namespace`, `name`, `code`, `received` and `completed` (as
  the apiserver's wall clock has them, less `epoch`: see `history.audit_order`), `body`. Where there is something to
  say: `path` (that is no resource), `uid` (of the pod that was created), `dry_run` (true), `impersonates` (a user),
  `call` (see `admission`).
- `mark`: a request of the harness's own, of which there is nothing else to say: `mark` (its number), `at` and
  `answered` (when it was sent and answered), `line`, `received` and `completed` as for a request. Records of what the
  harness does have its number as `mark`: requests before that line came before it.
- `admission`: a Binding that passed the harness's webhook: `case`, `pod`, `uid` (which the Binding names), `node`,
  `user`, `call` (also at its request), `code` (with which it was refused; 0: it passed), `held` (it had to wait),
  `effective` (it took effect, by a Binding of the harness, although it was answered with `code`).
- `pod`: the harness created a pod: `case`, `pod` (namespace/name), `uid`, `role` (probe, sentinel, settle,
  control, filler, waiter (it must wait to the end of the run), and what a case says of its own), and `phase` (of the
  load) where it has one.
- `expect`: the harness waited for an outcome, and the wait is over: `case`, `pod`, `uid`, `outcome` ("bound",
  "pending", or "unwilling": it fits, and the candidate claims not to schedule it), `rv` (the newest revision it had
  seen by then), `within` (seconds), `deadline` (its name).
- `missed`: the candidate was waited for in vain: `case`, `what` it was to say, `within` (seconds), `deadline` (its
  name).
- `seen`: the candidate is known to have seen the nodes as of revision `nodes` and the pods that are on them as of
  `pods`, because at `shown_at_rv` it did what only that admits; `pod` is the proof. `rv`: what holds for both, where
  `nodes` and `pods` are missing.
- `aged`: the harness's watch showed `node` as of revision `rv` so many `seconds` ago (the candidate's claimed
  freshness); `case`.
- `unseen`: it could not be shown that the candidate saw `rv`; `reason`.
- `trouble`: the harness could not do its part of `case`; `text`.
- `asserted`: an assertion of a test of the user's own does not hold; `text`.
- `over`: all that was to be tried has been, and all logs have been read up to here; missing where the run was cut off.
- `fence`: everything created before the sentinel `pod` has been decided on; `case`, `rv`.
- `load`: traffic asked for: `case`, `phase` (a number), `traffic` (node to bytes per second), `source`.
- `reading`: what Prometheus answers at the moment of a decision: `case`, `pod`, `query`, `traffic`.
- `lift`: the harness removes the scheduling gates of `pod` (and `uid`) of `case`; `mark`.
- `emptied`: the harness takes all nodes away, in `case`.
- `fault`: the harness breaks (`on` true) or heals a `line` ("prometheus", "extender", "apiserver"); `case`, `fault`; of
  the last one `connections`, how many had come through it since the candidate's start.
- `halted`, `resumed`: the harness ends the candidate, and has started it again, in `case`; `mark`, before its start.
- `calm`, `calm-over`: from here on for `seconds` the harness does nothing, in `case`; it did not for `seconds`; `mark`.
- `query`: what went through the tap to Prometheus: `request`, `path`, `status` (0: unanswered), `answer`, `seconds`,
  `bytes` (of path and both bodies, as they passed), `fault` where the tap had one, `broken` (why, where the answer did
  not come whole), `cut` (true where more passed than is kept). Texts are decoded, where the request offered the coding.
- `extender`: what went through the tap to the extender: the same, and `by` ("scheduler" or "harness"), `pod`, `asked`
  and `answered` (names of nodes, None where there were none), `mode` and `answered_mode` ("names", "nodes", ""),
  `failed` (node to reason, of those that did not pass; missing in older histories), of a bind also the pod's `uid` and
  the `node` (missing in older histories), `scores` (list of host and score, None where the answer is no
  HostPriorityList), `error`, `json` (is the answer?), `unreadable` (why kube-scheduler cannot read the answer's body,
  "" where it can; missing in older histories). Nodes, scores and error are those that kube-scheduler reads
  (`candidates/extender_answers.py`).
- `configuration`: `document`, the KubeSchedulerConfiguration that a scheduler is started with.
- `start-failed`: a compiled scheduler ended at its start: `text`, `fix`.
- `tried`: it was started beside itself with ill-typed args: `case`, `arg`, `value`, `code` (None: it got ready), `log`.
- `score`: from a scheduler's log: `pod`, `scorer`, `node`, `score`.
- `log`: the last lines of a log at the end of `case`: `name`, `lines`.
- `process`: `name`, `event` ("started", "exited", "stopped": by us), `code`, `log`, `cause` (why it ended, as its log
  tells it; missing in older histories). With `descendant` (true), of
  what a process of the candidate has forked, and only where it runs files of the candidate's: "exited" has also `pid`,
  `argv`, `lived` (seconds at least; shorter lives are left out, but for the first with code 0) and `forked` (it is a
  copy of its parent, as a worker is); `code` is None where the kernel does not tell; `log` was printed in the
  second before. "replaced": the `pid` that ended has been followed by another one (`by`) with the same `argv`.
  "listener-replaced": what listened at the candidate's `port` has ended, and another process listens there.
  "unwatched": the kernel lists no children.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from schedproof.foundation.errors import UsageError
from schedproof.history.damage import damage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["FILE", "SCHEMA", "Record", "load_records"]

Record = dict[str, Any]

SCHEMA = "schedproof.history/v1"
FILE = "history.jsonl"

_DAMAGED = "the file was changed after the run: judge an unchanged copy, or run the candidate again"


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
        except (ValueError, RecursionError) as error:
            if number == len(lines) and not content.endswith(b"\n"):
                break
            raise UsageError(f"{path}:{number}: not a record: {error}", remedy=_DAMAGED) from error
    if not records or records[0].get("kind") != "run" or records[0].get("schema") != SCHEMA:
        raise UsageError(f"{path}: not a history of schema {SCHEMA}", remedy="judge it with the version that wrote it")
    for number, record in enumerate(records, 1):
        if problem := damage(record):
            raise UsageError(f"{path}:{number}: a damaged record of kind {record['kind']}: {problem}", remedy=_DAMAGED)
    return records


def _parse(line: bytes) -> Record:
    record = json.loads(line)
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str) or "at" not in record:
        raise ValueError("expected an object with `kind` and `at`")
    return record
