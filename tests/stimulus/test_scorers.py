"""What a trial keeps for questions about scores that need no pods: which surfaces there are, and when they end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.claims import Claims
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec, PluginSpec, Spec
from schedproof.candidate.surroundings import EntryPoint, Scoring
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.progress import SilentProgress
from schedproof.stimulus.scoring import scorers
from schedproof.stimulus.scoring.scorers import Scorers, build_scorers

from .played_traffic import CLAIMS

SOURCES, BINARY = PluginSpec(package="/its/folder", name="Quiet"), PluginSpec(binary="kube-scheduler", name="Quiet")
RULES = ({"record": "a", "expr": "b"},)


def candidate(spec: Spec, *, network: bool = True, scoring: Scoring | None = None) -> Candidate:
    claims = Claims(network=CLAIMS if network else None)
    return Candidate(
        name="tested", scheduler_name="tested", path=Path("candidate.yaml"), claims=claims, scoring=scoring,
        **{spec.kind: spec},
    )  # fmt: skip


class Programs:
    """Programs that would be built and started; `acts` is what was done to them, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.acts: list[Any] = []
        self.alone = True
        found = SimpleNamespace(path=Path("/readings-server"))
        monkeypatch.setattr(scorers, "resolve", lambda names, **_: self._resolve(names, found))
        monkeypatch.setattr(scorers, "build_probe", lambda *_, **options: self.acts.append(("build", options["name"])))
        monkeypatch.setattr(scorers, "ReadingsServer", lambda *_: self._started("server"))
        monkeypatch.setattr(scorers, "PluginSurface", lambda *_, **__: self._started("plugin"))
        monkeypatch.setattr(
            scorers, "NormalizeScoreSurface", lambda _: SimpleNamespace(name="alone", is_offered=self.alone)
        )

    def _resolve(self, names: list[str], found: Any) -> dict[str, Any]:
        self.acts.append(("resolve", *names))
        return dict.fromkeys(names, found)

    def _started(self, name: str) -> Any:
        self.acts.append(("start", name))
        return SimpleNamespace(name=name, close=lambda: self.acts.append(("close", name)))


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(monkeypatch)


def of(candidate: Candidate, folder: Path) -> Scorers:
    made = Scorers(candidate, "1.36", folder)
    made.rules = RULES
    return made


def names(made: Scorers) -> list[str]:
    return [surface.name for surface in made.surfaces]


@pytest.mark.parametrize("alone", [False, True])
def test_a_plugin_is_asked_in_a_probe_with_a_prometheus_that_ends_after_it(
    programs: Programs, tmp_path: Path, alone: bool
) -> None:
    programs.alone = alone
    made = of(candidate(SOURCES), tmp_path)
    assert names(made) == ["plugin", *(["alone"] if alone else [])]
    assert made.server.rules == RULES
    made.close()
    assert programs.acts == [
        ("resolve", "readings-server"), ("start", "server"), ("start", "plugin"), ("close", "plugin"),
        ("close", "server"),
    ]  # fmt: skip


@pytest.mark.parametrize(("spec", "network"), [(SOURCES, False), (BINARY, True), (AttachedSpec(), True)])
def test_without_sources_or_readings_nothing_is_started(
    programs: Programs, tmp_path: Path, spec: Spec, network: bool
) -> None:
    made = of(candidate(spec, network=network), tmp_path)
    assert names(made) == []
    made.close()
    assert programs.acts == []


@pytest.mark.parametrize(
    ("spec", "network", "built"),
    [(SOURCES, True, True), (SOURCES, False, False), (BINARY, True, False), (AttachedSpec(), True, False)],
)
def test_a_probe_is_built_before_where_there_will_be_one(
    programs: Programs, spec: Spec, network: bool, built: bool
) -> None:
    build_scorers(candidate(spec, network=network), "1.36", SilentProgress())
    assert programs.acts == [("resolve", "readings-server"), *([("build", "tested")] if built else [])]


def test_a_bare_function_is_asked_in_a_process_that_ends_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "scoring.py").write_text("def score(readings):\n    return {node: 7 for node in readings}\n")
    made = of(candidate(AttachedSpec(), scoring=Scoring(EntryPoint("scoring", "score", tmp_path))), tmp_path / "logs")
    (surface,) = made.surfaces
    assert surface.ask((("a", 1.0),)).scores == (("a", 7),)
    worker = surface._worker  # type: ignore[attr-defined]
    assert worker.lives
    made.close()
    assert not worker.lives


def test_a_function_that_does_not_exist_is_an_error_of_the_candidate(tmp_path: Path) -> None:
    (tmp_path / "scoring.py").write_text("")
    made = of(candidate(AttachedSpec(), scoring=Scoring(EntryPoint("scoring", "score", tmp_path))), tmp_path / "logs")
    with pytest.raises(CandidateError):
        _ = made.surfaces
    made.close()
