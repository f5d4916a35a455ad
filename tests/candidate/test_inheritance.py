"""`extends`: a candidate.yaml that contains only differences from its base."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.candidate.kinds import ControllerSpec, ExtenderSpec
from schedproof.documents.problems import DescriptorError

BASE = """\
apiVersion: schedproof/v1
kind: Candidate
metadata: {name: base}
spec:
  schedulerName: base
  extender:
    command: ["{here}/serve", "{port}"]
    config: {filterVerb: filter, weight: 3, prioritizeVerb: prioritize}
  claims: {profiles: [core, extender]}
"""


def derived(folder: Path, text: str) -> Path:
    (folder / "base").mkdir(exist_ok=True)
    (folder / "base" / "candidate.yaml").write_text(BASE)
    (folder / "own").mkdir(exist_ok=True)
    file = folder / "own" / "candidate.yaml"
    file.write_text(f"apiVersion: schedproof/v1\nkind: Candidate\nextends: ../base\n{text}")
    return file


def test_absent_fields_are_inherited_one_by_one(tmp_path: Path) -> None:
    candidate = load_candidate(derived(tmp_path, "metadata: {name: own}\nspec: {extender: {config: {weight: 5}}}\n"))
    assert isinstance(candidate.spec, ExtenderSpec)
    assert (candidate.name, candidate.scheduler_name) == ("own", "base")
    assert candidate.spec.config.weight == 5
    assert candidate.spec.config.filter_verb == "filter"


def test_lists_are_replaced_not_merged(tmp_path: Path) -> None:
    candidate = load_candidate(derived(tmp_path, "spec: {claims: {profiles: [core]}}\n"))
    assert candidate.claims.profiles == ("core",)


def test_inherited_paths_are_relative_to_the_folder_of_the_base(tmp_path: Path) -> None:
    candidate = load_candidate(derived(tmp_path, "metadata: {name: own}\n"))
    assert isinstance(candidate.spec, ExtenderSpec)
    assert candidate.spec.command[0] == str(tmp_path / "base" / "serve")
    assert candidate.spec.workdir == tmp_path / "base"


def test_null_removes_an_inherited_field(tmp_path: Path) -> None:
    text = 'spec:\n  extender: null\n  controller: {command: ["{here}/run"]}\n  claims: {profiles: [core]}\n'
    candidate = load_candidate(derived(tmp_path, text))
    assert isinstance(candidate.spec, ControllerSpec)
    assert candidate.own_values()["here"] == str(tmp_path / "own")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("spec: {extender: {config: {wieght: 5}}}\n", "own/candidate.yaml:4:28"),
        ("metadata: {name: own, label: x}\n", "own/candidate.yaml:4:23"),
    ],
)
def test_a_problem_is_reported_at_its_place_in_the_file_that_contains_it(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(DescriptorError, match=place):
        load_candidate(derived(tmp_path, text))


def test_files_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    file = derived(tmp_path, "")
    (tmp_path / "base" / "candidate.yaml").write_text("extends: ../own\n")
    with pytest.raises(DescriptorError, match="extends this file too"):
        load_candidate(file)


@pytest.mark.parametrize("text", ["extends: 5\n", "extends: ../nowhere\n"])
def test_an_invalid_or_missing_base_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "candidate.yaml").write_text(text)
    with pytest.raises(DescriptorError):
        load_candidate(tmp_path)


def test_a_missing_base_is_reported_at_the_extends_field(tmp_path: Path) -> None:
    (tmp_path / "candidate.yaml").write_text("kind: Candidate\nextends: ../nowhere\n")
    with pytest.raises(DescriptorError, match=r"candidate\.yaml:2:10: extends: .*nowhere does not exist"):
        load_candidate(tmp_path)
