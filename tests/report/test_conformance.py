"""Conformance reports: what they say of a run, and that a forged one is refused."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from schedproof.cli.main import main
from schedproof.cli.schemas import SCHEMAS
from schedproof.history.saved import FILE
from schedproof.report.conformance.changes import describe, newly_failed
from schedproof.report.conformance.document import ConformanceReport
from schedproof.report.conformance.verification import load_conformance, verify
from schedproof.run.rejudge import rejudge

from ..judge.histories import HistoryBuilder

ABOUT = {"organization": "example", "project": "quiet", "url": "https://example.com/quiet", "version": "v1.2.0"}
Document = dict[str, Any]


def ran(folder: Path, *, wrong: bool = False, name: str = "quiet", about: dict[str, str] | None = None) -> Path:
    """Write the evidence of a run of two clauses, of which one fails if `wrong`; return its report folder."""
    h = HistoryBuilder("core/binds", exclusions=[{"clause": "core/cordon", "reason": "known", "until": "2099-01-01"}])
    h.records[0]["candidate"] |= {"name": name, "implementation": ABOUT if about is None else about}
    for case, node in (("core/binds", "node-1"), ("core/fit-cpu", "ghost" if wrong else "node-1")):
        if case != "core/binds":
            h.begin(case)
        h.pod("probe-1", cpu="1")
        h.bind("probe-1", node)
        h.expect("probe-1", "bound")
        h.delete("probe-1")
        h.end()
    selected = next(record for record in h.records if record["kind"] == "selected")
    selected["clauses"] = ["core/binds", "core/fit-cpu", "network/flip"]
    h.over()
    home = folder / "candidates" / name
    home.mkdir(parents=True)
    h.save(home)
    return folder


def published(folder: Path, file: Path) -> Document:
    assert main(["judge", str(folder), "--conformance", str(file), "-q"]) in (0, 1, 3)
    document: Document = yaml.safe_load(file.read_text())
    return document


@pytest.fixture
def of_run(tmp_path: Path) -> tuple[Path, Path, Document]:
    """The report folder of a run that failed a clause, and its conformance report as a file and as it is read."""
    folder, file = ran(tmp_path / "run", wrong=True), tmp_path / "conformance.yaml"
    return folder, file, published(folder, file)


def test_a_report_says_what_its_run_has_shown(of_run: tuple[Path, Path, Document]) -> None:
    folder, file, document = of_run
    assert document["implementation"].items() >= ABOUT.items()
    core, network, *_ = document["profiles"]
    assert (core["name"], core["result"], core["statistics"]["failed"]) == ("core", "failure", 1)
    assert [failure["clause"] for failure in core["failed"]] == ["core/fit-cpu"]
    assert (network["result"], network["unproved"][0]["clause"]) == ("partial", "network/flip")
    assert "core/cordon" in core["untried"]
    assert document["exclusions"] == [{"clause": "core/cordon", "reason": "known", "until": "2099-01-01"}]
    assert f"--seed={document['seed']}" in document["evidence"]["reproduce"]
    assert verify(file, folder).problems == []
    assert verify(file, folder / "candidates" / "quiet").problems == []
    jsonschema.validate(document, SCHEMAS["conformance"]())


def test_exit_codes_of_verify(of_run: tuple[Path, Path, Document], capsys: pytest.CaptureFixture[str]) -> None:
    folder, file, document = of_run
    assert main(["verify", str(file), "--evidence", str(folder)]) == 0
    assert main(["verify", str(file)]) == 3
    file.write_text(yaml.safe_dump({**document, "seed": 8}))
    assert main(["verify", str(file), "--evidence", str(folder)]) == 1
    assert "seed" in capsys.readouterr().out
    assert main(["verify", str(file.with_name("none.yaml"))]) == 2


def test_an_attestation_and_a_badge_are_written_beside_it(of_run: tuple[Path, Path, Document]) -> None:
    _, file, document = of_run
    statement = json.loads(file.with_suffix(".intoto.json").read_text())
    (subject,) = statement["subject"]
    assert f"sha256:{subject['digest']['sha256']}" == document["evidence"]["digest"]
    assert statement["predicate"]["conformanceReport"] == document
    assert (statement["predicate"]["result"], statement["predicate"]["failedTests"]) == ("FAILED", ["core"])
    assert "fails core" in file.with_suffix(".svg").read_text()


def core(document: Document) -> Document:
    found: Document = document["profiles"][0]
    return found


def moved(document: Document) -> None:
    core(document)["failed"] = []
    core(document)["statistics"] = {"passed": 2}
    core(document)["result"] = "partial"


FORGERIES: dict[str, Callable[[Document], object]] = {
    "a number": lambda d: core(d)["statistics"].update(passed=99),
    "a failure fewer": lambda d: core(d)["statistics"].update(failed=0),
    "a negative number": lambda d: core(d)["statistics"].update(skipped=-1),
    "a result": lambda d: core(d).update(result="success"),
    "a failure left out": lambda d: core(d).update(failed=[]),
    "a failure that passed, all through": moved,
    "another code": lambda d: core(d)["failed"][0].update(code="not-bound-in-time"),
    "a required clause as recommended": lambda d: core(d)["failed"][0].update(level="recommended"),
    "another clause": lambda d: core(d)["failed"][0].update(clause="core/cordon"),
    "untried as tried": lambda d: core(d).update(untried=core(d)["untried"][1:]),
    "a profile left out": lambda d: d.update(profiles=d["profiles"][1:]),
    "a profile twice": lambda d: d.update(profiles=[d["profiles"][0], *d["profiles"]]),
    "an unproved clause left out": lambda d: d["profiles"][1].update(unproved=[], result="success"),
    "a claim": lambda d: core(d)["features"]["claimed"].append("gang"),
    "the version": lambda d: d["implementation"].update(version="v2.0.0"),
    "no fixed version": lambda d: d["implementation"].update(version="latest"),
    "the project": lambda d: d["implementation"].update(project="other"),
    "the configuration": lambda d: d["implementation"].update(configuration=f"sha256:{'0' * 64}"),
    "the evidence": lambda d: d["evidence"].update(digest=f"sha256:{'0' * 64}"),
    "the command": lambda d: d["evidence"].update(reproduce="schedproof run ."),
    "Kubernetes": lambda d: d["kubernetes"].update(version="v1.99.0"),
    "a gate": lambda d: d["kubernetes"].update(featureGates={"Some": True}),
    "the kind of cluster": lambda d: d["kubernetes"].update(cluster="kind"),
    "the seed": lambda d: d.update(seed=d["seed"] + 1),
    "the date": lambda d: d.update(date="2020-01-01T00:00:00Z"),
    "a date to come": lambda d: d.update(date="2999-01-01T00:00:00Z"),
    "the machine": lambda d: d.update(machine={"processors": 64}),
    "an exclusion left out": lambda d: d.pop("exclusions"),
    "an exclusion for ever": lambda d: d["exclusions"][0].pop("until"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_report_is_refused(of_run: tuple[Path, Path, Document], forgery: str) -> None:
    folder, file, document = of_run
    forged = copy.deepcopy(document)
    FORGERIES[forgery](forged)
    file.write_text(yaml.safe_dump(forged))
    assert verify(file, folder).problems


@pytest.mark.parametrize("part", ["a record", "a record fewer", "another candidate's", "another run's"])
def test_other_evidence_is_refused(of_run: tuple[Path, Path, Document], tmp_path: Path, part: str) -> None:
    folder, file, _ = of_run
    history = folder / "candidates" / "quiet" / FILE
    if part == "a record":
        history.write_text(history.read_text().replace('"ghost"', '"node-1"'))
    elif part == "a record fewer":
        lines = history.read_text().splitlines(keepends=True)
        history.write_text("".join(line for line in lines if '"expect"' not in line))
    elif part == "another candidate's":
        folder = ran(tmp_path / "other", wrong=True, name="loud", about={**ABOUT, "project": "loud"})
    else:
        folder = ran(tmp_path / "other")
    assert verify(file, folder).problems


def test_a_forged_report_with_its_digest_is_refused(of_run: tuple[Path, Path, Document]) -> None:
    """The evidence is judged again: once it is changed, its verdicts differ from those of the report."""
    folder, file, document = of_run
    history = folder / "candidates" / "quiet" / FILE
    history.write_text(history.read_text().replace('"ghost"', '"node-1"'))
    line = f"0 {hashlib.sha256(history.read_bytes()).hexdigest()}\n"
    document["evidence"]["digest"] = f"sha256:{hashlib.sha256(line.encode()).hexdigest()}"
    file.write_text(yaml.safe_dump(document))
    assert any("core.result" in problem for problem in verify(file, folder).problems)


@pytest.mark.parametrize(
    "forgery", ["a number", "a failure left out", "a result", "a profile twice", "a date to come", "no fixed version"]
)
def test_a_report_that_contradicts_itself_is_refused_without_evidence(
    of_run: tuple[Path, Path, Document], forgery: str
) -> None:
    _, file, document = of_run
    FORGERIES[forgery](document)
    file.write_text(yaml.safe_dump(document))
    assert verify(file).problems
    assert main(["verify", str(file)]) == 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", "a: b", "apiVersion: schedproof.conformance/v2", "{", "\x00"],
    ids=["empty", "list", "other", "later", "not YAML", "binary"],
)
def test_what_is_no_report_is_wrong_input(tmp_path: Path, text: str) -> None:
    file = tmp_path / "conformance.yaml"
    file.write_text(text)
    assert main(["verify", str(file)]) == 2


def test_an_unknown_field_is_wrong_input(of_run: tuple[Path, Path, Document]) -> None:
    _, file, document = of_run
    file.write_text(yaml.safe_dump({**document, "certified": True}))
    assert main(["verify", str(file)]) == 2


@pytest.mark.parametrize("about", [{}, {**ABOUT, "version": ""}], ids=["nothing", "no version"])
def test_a_candidate_that_does_not_say_what_it_is_has_no_report(
    tmp_path: Path, about: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ran(tmp_path / "run", about=about)
    assert main(["judge", str(folder), "--conformance", str(tmp_path / "c.yaml")]) == 2
    assert "implementation" in capsys.readouterr().err
    assert not (tmp_path / "c.yaml").exists()


def test_an_exclusion_ends(tmp_path: Path) -> None:
    def outcome(until: str) -> str:
        h = HistoryBuilder("core/fit-cpu", exclusions=[{"clause": "core/fit-cpu", "reason": "known", "until": until}])
        h.pod("probe-1")
        h.bind("probe-1", "ghost")
        h.expect("probe-1", "bound")
        h.end()
        return h.verdict().outcome

    assert outcome("2099-01-01") == "excluded"
    assert outcome("2020-01-01") == "failed"


def test_changes_for_a_release_note(of_run: tuple[Path, Path, Document], tmp_path: Path) -> None:
    _, file, _ = of_run
    mended = tmp_path / "mended.yaml"
    published(ran(tmp_path / "mended", about={**ABOUT, "version": "v1.3.0"}), mended)
    before, after = load_conformance(file), load_conformance(mended)
    text = "\n".join(describe(before, after))
    assert re.search(r"v1\.2\.0 to v1\.3\.0", text)
    assert "mended: core/fit-cpu" in text
    assert (newly_failed(before, after), newly_failed(after, before)) == (set(), {"core/fit-cpu"})
    assert main(["compare", str(file), str(mended)]) == 0
    assert main(["compare", str(mended), str(file)]) == 1


def test_a_report_is_of_one_candidate(tmp_path: Path) -> None:
    ran(tmp_path / "run")
    ran(tmp_path / "run", name="loud")
    assert len(rejudge(tmp_path / "run").candidates) == 2
    assert main(["judge", str(tmp_path / "run"), "--conformance", str(tmp_path / "c.yaml")]) == 2


@pytest.mark.parametrize(
    "typed",
    [
        "run . --release v1", "run . --conformance c.yaml --release latest", "run . --conformance c.yaml --watch",
        "run . --conformance c.yaml --repeat 2", "run . stock --conformance c.yaml", "run . --conformance none/c.yaml",
        "run . --conformance c.yaml --kubernetes all", "run stock --conformance c.yaml",
    ],
)  # fmt: skip
def test_a_run_without_a_report_in_the_end_is_refused_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = {"schedulerName": "quiet", "controller": {"command": ["true"]}, "claims": {"profiles": ["core"]}}
    candidate = {"apiVersion": "schedproof/v1", "kind": "Candidate", "spec": spec}
    metadata = {"name": "quiet", "implementation": ABOUT}
    (tmp_path / "candidate.yaml").write_text(yaml.safe_dump({**candidate, "metadata": metadata}))
    assert main(typed.split()) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["candidate.yaml"]


def test_the_model_reads_what_it_writes(of_run: tuple[Path, Path, Document]) -> None:
    _, _, document = of_run
    assert ConformanceReport.model_validate(document).as_dict() == document
