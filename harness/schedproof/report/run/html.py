"""Renders report.html: conclusion, causes, each failure with its evidence, then the matrix. A single file that loads no
other resources.

`templates/run/report.html` is the page; this module provides its content as plain text and numbers. The script only
filters by text: without it, the page shows everything.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from schedproof import __version__
from schedproof.foundation.private import write_private
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.causes import Cause
from schedproof.judge.codes import CODES
from schedproof.judge.evidence import Scoring
from schedproof.judge.verdict import Verdict
from schedproof.report import templating
from schedproof.report.run.asking import search_speeds
from schedproof.report.run.conclusion import conclude, counts
from schedproof.report.run.gaps import gaps
from schedproof.report.run.lane_picture import LanePicture, lane_picture
from schedproof.report.run.matrix import anchor, has_section, kind_of, matrix
from schedproof.report.run.pictures import Picture, decision_picture, question_picture
from schedproof.report.run.soaked import COLUMNS, heading, note, rows
from schedproof.report.run.terminal import PASSES_ALONE
from schedproof.run.result import RunResult

REPORT = "report.html"
"""The file in a run's folder that users open."""
KINDS = {"PASSED": "passed", "FAILED": "failed", "UNPROVED": "invalid", "ERROR": "failed", "INTERRUPTED": "invalid"}
"""The CSS class of each conclusion."""
_IDS = re.compile(f"({'|'.join(sorted(map(re.escape, CATALOGUE), key=len, reverse=True))})")


def write_html(result: RunResult) -> None:
    """Write report.html into the run's folder."""
    write_private(result.folder / REPORT, render(result))


def report_of(folder: Path) -> Path | None:
    """Return the path of a folder's report.html, relative if it is below the working directory; None if missing."""
    file = folder / REPORT
    if not file.exists():
        return None
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def render(result: RunResult) -> str:
    """Render the whole document."""
    conclusion = conclude(result)
    script = templating.render("run/report.js")
    shown = matrix({name: tested.verdicts for name, tested in result.candidates.items()}, linked=True)
    return templating.document(
        "run/report.html",
        result=result,
        title=", ".join(result.candidates),
        conclusion=conclusion,
        kind=KINDS[conclusion.word],
        facts=_facts(result),
        errors=list(_errors(result)),
        causes=_causes(result),
        failures=_failures(result),
        gaps=list(gaps(result)),
        matrix=shown,
        kinds={
            "outcomes": shown.outcomes,
            "profiles": {profile: len(rows) for profile, rows in shown.profiles.items()},
        },
        script=script,
        script_digest=templating.digest(script),
        speeds=[
            f"{name} on surface {speed}"
            for name, tested in result.candidates.items()
            for speed in search_speeds(tested.verdicts)
        ],
        soaks=list(_soaks(result)),
        with_guarantees=_with_guarantees,
        passes_alone=PASSES_ALONE,
    )


@dataclasses.dataclass(frozen=True)
class _Failure:
    """The section of a verdict."""

    name: str
    verdict: Verdict
    anchor: str
    reproduce: str
    among: str
    """The command that tries the clause after the others of the run; "" if there is none."""

    @property
    def guarantee(self) -> str:
        return CATALOGUE[self.verdict.clause].guarantee

    @property
    def kind(self) -> str:
        return kind_of(self.verdict)

    @property
    def about(self) -> dict[str, str]:
        """Explanations of the clause and of the finding's code, as `schedproof explain` shows them."""
        clause, code = CATALOGUE[self.verdict.clause], CODES.get(self.verdict.code)
        promise = (inspect.getdoc(clause.judge) or "").split("\n\nArgs:")[0]
        texts = {
            "found": code.meaning if code else "", "fix": code.remedy if code else "", "holds if": promise,
            "where to look": clause.hint, "source": clause.source,
        }  # fmt: skip
        return {name: text for name, text in texts.items() if text}

    @property
    def lanes(self) -> LanePicture | None:
        lanes = self.verdict.evidence.lanes
        return lane_picture(lanes) if lanes else None

    @property
    def outcome(self) -> str:
        if self.verdict.stale:
            return "stale exclusion"
        return self.verdict.outcome + (" (recommended)" if self.verdict.level == "recommended" else "")

    @property
    def decisions(self) -> list[Picture]:
        return [decision_picture(decision) for decision in self.verdict.evidence.decisions]

    @property
    def scorings(self) -> list[tuple[Scoring, list[Picture]]]:
        scorings = self.verdict.evidence.scorings
        return [(scoring, [question_picture(asked, scoring.of) for asked in scoring.questions]) for scoring in scorings]

    @property
    def measured(self) -> str:
        return ", ".join(f"{key}: {value:g}" for key, value in self.verdict.evidence.measured.items())


def _facts(result: RunResult) -> dict[str, str]:
    facts = [
        ("clauses", ", ".join(f"{number} {kind}" for kind, number in counts(result).items())),
        ("date", result.started.strftime("%Y-%m-%d %H:%M:%S UTC") if result.started is not None else ""),
        ("duration", _duration(result.seconds) if result.seconds is not None else ""),
        ("cluster", result.cluster + (f", {result.jobs} side by side" if result.jobs > 1 else "")),
        ("seed", str(result.seed)),
        ("schedproof", __version__),
        *((name, version) for name, version in result.versions.items() if name != "cluster"),
    ]
    return {name: value for name, value in facts if value}


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _errors(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield pairs of a heading and an error."""
    if result.error is not None:
        yield "The run was aborted by an error", str(result.error)
    for name, tested in result.candidates.items():
        if tested.error is not None:
            yield f"{name} did not start", str(tested.error)


@dataclasses.dataclass(frozen=True)
class _ShownCause:
    """The section of a candidate's cause."""

    name: str
    number: int
    cause: Cause
    reproduce: str

    @property
    def decision(self) -> Picture | None:
        decision = self.cause.decision
        return None if decision is None else decision_picture(decision)

    @property
    def links(self) -> list[tuple[str, str]]:
        """The clauses that fail for this cause, each with the anchor of its section."""
        return [(verdict.clause, anchor(self.name, verdict)) for verdict in self.cause.verdicts]


def _causes(result: RunResult) -> list[_ShownCause]:
    return [
        _ShownCause(name, number, cause, result.reproduce(tested.candidate, cause.shown_by.clause))
        for name, tested in result.candidates.items()
        for number, cause in enumerate(tested.causes, 1)
    ]


def _failures(result: RunResult) -> list[_Failure]:
    """Return the failures that decide the run, then those that are only reported."""
    found = [
        _Failure(
            name,
            verdict,
            anchor(name, verdict),
            result.reproduce(tested.candidate, verdict.clause),
            result.reproduce_among(tested.candidate, verdict.clause),
        )
        for name, tested in result.candidates.items()
        for verdict in tested.verdicts
        if has_section(verdict)
    ]
    return sorted(found, key=lambda failure: not failure.verdict.fails_run)


@dataclasses.dataclass(frozen=True)
class _ShownSoak:
    """The section of a candidate's soak; `rows` pairs the cells of a row with whether it shows a leak."""

    heading: str
    note: str
    rows: list[tuple[tuple[str, ...], bool]]
    again: str
    columns: tuple[str, ...] = COLUMNS


def _soaks(result: RunResult) -> Iterator[_ShownSoak]:
    for name, tested in result.candidates.items():
        if (soaked := tested.soaked) is not None:
            marked = zip(rows(soaked), (growth.leaks for growth in soaked.growths), strict=True)
            again = result.soak_again(tested.candidate)
            yield _ShownSoak(heading(name, soaked), note(soaked), list(marked), again)


def _with_guarantees(text: object) -> Iterator[tuple[str, str]]:
    """Split a text at ids of clauses: yield each id with its guarantee, and other pieces with ""."""
    for piece in _IDS.split(str(text)):
        yield piece, CATALOGUE[piece].guarantee if piece in CATALOGUE else ""
