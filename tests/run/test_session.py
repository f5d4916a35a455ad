"""A session: what it refuses before it starts anything, and how it closes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.foundation.progress import SilentProgress
from schedproof.history.acts import Broken, LeftOut, Unblocked
from schedproof.judge.catalogue import BINDS, HEAD_OF_LINE
from schedproof.pytest_plugin.starting import from_ini
from schedproof.run import session as module
from schedproof.run.launch import Settings
from schedproof.run.result import RunResult
from schedproof.run.session import Session


def test_a_report_folder_with_evidence_of_an_earlier_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "candidates").mkdir()
    session = Session(Settings(report=tmp_path), SilentProgress())
    with pytest.raises(UsageError, match="holds the evidence of an earlier run") as refused:
        _ = session.cluster
    assert "--report" in refused.value.remedy
    assert list(tmp_path.iterdir()) == [tmp_path / "candidates"]


def test_a_candidate_in_an_ini_file_is_relative_to_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "candidate.yaml").touch()
    (tmp_path / "tests").mkdir()
    config: Any = SimpleNamespace(inipath=tmp_path / "pytest.ini")
    monkeypatch.chdir(tmp_path / "tests")
    assert from_ini(config, "candidate.yaml") == str(tmp_path / "candidate.yaml")
    assert from_ini(config, "stock") == "stock"
    monkeypatch.chdir(tmp_path)
    assert from_ini(config, "candidate.yaml") == "candidate.yaml"


class FailingCluster:
    """A cluster on which a required clause has failed, and whose closing fails."""

    def __init__(self) -> None:
        self.exported: list[Path] = []

    timings: ClassVar = {"total": 1.0}
    host = SimpleNamespace(sandbox=SimpleNamespace(hide=lambda _: None))

    def versions(self) -> dict[str, str]:
        return {}

    def export_logs(self, folder: Path) -> None:
        self.exported.append(folder)

    def close(self) -> None:
        raise SchedproofError("something is left")


@pytest.mark.parametrize(
    ("names", "needed"), [((), True), (("stock",), False), (("stock", "least-traffic-extender"), True)]
)
def test_the_cluster_has_readings_if_any_selected_candidate_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], needed: bool
) -> None:
    readings_requested: list[bool] = []

    def launch(*_: object, readings: bool) -> FailingCluster:
        readings_requested.append(readings)
        return FailingCluster()

    monkeypatch.setattr("schedproof.run.session.launch", launch)
    session = Session(Settings(report=tmp_path), SilentProgress())
    for name in names:
        session.select(find_candidate(name), ["core/binds"])
    assert session.cluster
    assert readings_requested == [needed]


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_a_failed_run_exports_logs_of_the_cluster_and_a_failed_close_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    cluster = FailingCluster()
    monkeypatch.setattr("schedproof.run.session.launch", lambda *_, **__: cluster)
    session = Session(Settings(report=tmp_path), SilentProgress())
    assert session.cluster is cluster  # type: ignore[comparison-overlap]
    with monkeypatch.context() as found:
        found.setattr(RunResult, "exit_code", code)
        session.close()
    assert cluster.exported == ([tmp_path / "cluster" / "exported"] if code in (1, 2) else [])
    assert session.result.error is not None
    assert session.result.exit_code == 2
    session.close()


class VariedCase:
    """A case whose pods stayed unbound; `acts` is what was done to it."""

    clause = "core/fit-cpu"

    def __init__(self) -> None:
        self.acts: list[object] = []
        self.pods = SimpleNamespace(unbound_variations={"limits", "node affinity"})
        self.trial = SimpleNamespace(
            candidate=SimpleNamespace(name="tested"), left_out=set(), to_look_into=sorted,
            look_into_record=lambda *, late: not late,
            recorder=SimpleNamespace(add=self.acts.append),
        )  # fmt: skip

    def close(self) -> None:
        self.acts.append("close")


def looked_into(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, binds: bool, keep_going: bool = False
) -> VariedCase:
    """The case, after it was looked into and cleaned up; the candidate was suspected to bind nothing."""
    case: Any = VariedCase()
    monkeypatch.setattr(module, "binds_pods", lambda _: case.acts.append("plain pods") or binds)
    monkeypatch.setattr(module, "unbound", lambda _, kinds: [kind for kind in kinds if kind != "limits"])
    session = Session(Settings(report=tmp_path, keep_going=keep_going), SilentProgress())
    session._case, session._suspected_by = case, case.clause
    assert session._leave_out(case) is binds
    session.clean_up()
    assert session.schedules_nothing is not (binds or keep_going)
    return case


def test_kinds_of_variation_that_keep_pods_unbound_are_left_out_and_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    case = looked_into(monkeypatch, tmp_path, binds=True)
    left_out = LeftOut(case=case.clause, kinds={"node affinity": "core/node-affinity"})
    assert case.acts == ["close", "plain pods", left_out, "close"]
    assert case.trial.left_out == {"node affinity"}


@pytest.mark.parametrize("binds", [False, True])
def test_what_binds_nothing_is_tried_without_the_pods_that_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, binds: bool
) -> None:
    case: Any = VariedCase()
    case.clause, case.trial.binds_nothing = BINDS, True
    case.trial.attachment = SimpleNamespace(ended=False)
    case.trial.end_waiting = lambda: case.acts.append("end waiting")
    monkeypatch.setattr(
        module,
        "binds_pods",
        lambda _, *, freed=False: case.acts.append("plain pods") or (binds and freed and "end waiting" in case.acts),
    )
    session = Session(Settings(report=tmp_path), SilentProgress())
    assert session._unblock(case) is binds
    recorded = [Unblocked(case=BINDS), Broken(case=BINDS)] if binds else []
    assert case.acts == ["close", "plain pods", "end waiting", "plain pods", *recorded]
    assert session._shows_the_block(HEAD_OF_LINE) is binds
    assert not session._shows_the_block("core/fit-cpu")


def test_what_the_record_shows_to_bind_nothing_is_not_tried_without_the_pods_that_wait(tmp_path: Path) -> None:
    case: Any = VariedCase()
    case.clause, case.trial.binds_nothing = BINDS, True
    case.trial.attachment = SimpleNamespace(ended=False)
    case.trial.look_into_record = lambda *, late: late
    assert not Session(Settings(report=tmp_path), SilentProgress())._unblock(case)
    assert case.acts == []


@pytest.mark.parametrize("known", [None, True])
def test_what_binds_pods_after_its_deadline_is_not_blocked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, known: bool | None
) -> None:
    case: Any = VariedCase()
    case.clause, case.trial.binds_nothing = BINDS, True
    case.trial.attachment = SimpleNamespace(ended=False)
    monkeypatch.setattr(module, "binds_pods", lambda _: case.acts.append("plain pods") or True)
    session = Session(Settings(report=tmp_path), SilentProgress())
    session._binds = known
    assert not session._unblock(case)
    assert case.acts == ["close", *(["plain pods"] if known is None else [])]
    assert not session.schedules_nothing


@pytest.mark.parametrize("keep_going", [False, True])
def test_plain_pods_are_tried_once_for_both_suspicions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keep_going: bool
) -> None:
    case = looked_into(monkeypatch, tmp_path, binds=False, keep_going=keep_going)
    assert case.trial.left_out == set()
    assert case.acts == ["close", "plain pods", "close", *([] if keep_going else [Broken(case=case.clause)])]


@pytest.mark.parametrize("cause", ["", BINDS])
def test_no_further_pod_waits_once_nothing_more_is_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cause: str
) -> None:
    acts: list[str] = []
    trial: Any = SimpleNamespace(
        create_long_waiting=lambda: acts.append("patient"),
        attachment=SimpleNamespace(restart_if_ended=lambda: None, start_error=None),
    )
    session = Session(Settings(report=tmp_path), SilentProgress())
    session._cause = cause
    monkeypatch.setattr(session, "trial", lambda _: trial)
    monkeypatch.setattr(module, "Case", lambda *_: SimpleNamespace())
    session.begin(find_candidate("stock"), "core/alive")
    assert acts == ([] if cause else ["patient"])
