"""Files of manifests: what is accepted, and that a mistake is reported with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.documents.manifests import is_kustomization, read_manifests
from schedproof.documents.problems import DescriptorError

TWO = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n"
ITEM = "  - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"


def test_each_document_and_each_item_of_a_list_is_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(TWO + ITEM)
    assert [manifest["kind"] for manifest in read_manifests(tmp_path / "all.yaml")] == ["Namespace", "ConfigMap"]


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name, kind in (("2.json", "B"), ("10.yaml", "A"), ("note.txt", "C"), ("3.yml", "D")):
        (tmp_path / name).write_text(f'{{"apiVersion": "v1", "kind": "{kind}", "metadata": {{"name": "x"}}}}')
    assert [manifest["kind"] for manifest in read_manifests(tmp_path)] == ["A", "B", "D"]
    assert not is_kustomization(tmp_path)
    (tmp_path / "kustomization.yaml").touch()
    assert is_kustomization(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ("", 0, "invalid-manifest"),
        ("a: b: c", 1, "not-yaml"),
        ("- a\n", 1, "invalid-manifest"),
        ("# one\nkind: A\n", 2, "invalid-manifest"),
        ("apiVersion: v1\nmetadata: {name: a}\n", 1, "invalid-manifest"),
        ("apiVersion: v1\nkind: A\nmetadata: {}\n", 1, "invalid-manifest"),
        (TWO + "  - {kind: A}\n", 6, "invalid-manifest"),
        ("a: \0", 0, "not-yaml"),
    ],
)
def test_an_invalid_manifest_is_reported_with_its_place(tmp_path: Path, text: str, line: int, code: str) -> None:
    (tmp_path / "it.yaml").write_text(text)
    with pytest.raises(DescriptorError) as caught:
        read_manifests(tmp_path / "it.yaml")
    (problem,) = caught.value.problems
    assert (problem.place.line, problem.code) == (line, code)
    assert problem.fix


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DescriptorError, match="cannot be read"):
        read_manifests(tmp_path / "nowhere.yaml")
