"""The version of Kubernetes that a plugin's own go.mod names, and the requirements of a module that is not here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.kinds import PluginSpec
from schedproof.deploy.plugin_build.own_pins import RemoteModule, as_requirement, minor_of, own_kubernetes
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.progress import SilentProgress


def plugin(folder: Path, go_mod: str) -> PluginSpec:
    (folder / "go.mod").write_text(f"module example.com/x\n\ngo 1.24\n\n{go_mod}\n")
    (folder / "main.go").write_text("package main\n")
    return PluginSpec(main=str(folder), pins="own")


@pytest.mark.parametrize(
    ("go_mod", "version"),
    [
        ("require k8s.io/kubernetes v1.34.7", "v1.34.7"),
        ("require (\n\tk8s.io/api v0.34.1\n\tk8s.io/kubernetes v1.34.7\n)", "v1.34.7"),
        ("require k8s.io/kubernetes v1.30.0\n\nreplace k8s.io/kubernetes => k8s.io/kubernetes v1.35.3", "v1.35.3"),
        ("replace (\n\tk8s.io/kubernetes v1.30.0 => k8s.io/kubernetes v1.35.3\n)", "v1.35.3"),
        ("require k8s.io/kube-scheduler v0.35.2", "v1.35.2"),
        ("require k8s.io/api v0.0.0\n\nreplace k8s.io/api => k8s.io/api v0.36.1", "v1.36.1"),
        ("require example.com/y v1.0.0", None),
    ],
)
def test_the_version_is_that_of_kubernetes_or_of_a_module_that_comes_with_it(
    tmp_path: Path, go_mod: str, version: str | None
) -> None:
    spec = plugin(tmp_path, go_mod)
    assert own_kubernetes(spec, name="mine", progress=SilentProgress()) == version


def test_own_pins_are_those_of_the_minor_version(tmp_path: Path) -> None:
    spec = plugin(tmp_path, "require k8s.io/kubernetes v1.34.7")
    assert minor_of(spec, name="mine", progress=SilentProgress()) == "1.34"


@pytest.mark.parametrize(
    ("go_mod", "fact"),
    [("require k8s.io/kubernetes v1.19.0", r"v1\.19\.0"), ("require example.com/y v1.0.0", "no version")],
)
def test_a_version_that_is_not_pinned_or_not_named_is_refused(tmp_path: Path, go_mod: str, fact: str) -> None:
    with pytest.raises(CandidateError, match=fact):
        minor_of(plugin(tmp_path, go_mod), name="mine", progress=SilentProgress())


def test_a_folder_of_a_repository_is_replaced_by_the_published_module_of_its_version() -> None:
    def module(path: str, version: str = "") -> dict[str, Any]:
        return {"Path": path, **({"Version": version} if version else {})}

    own = {
        "Module": {"Path": "example.com/scheduler"},
        "Require": [
            module("example.com/apis", "v0.0.0"),
            module("example.com/tools", "v0.3.0"),
            module("y.org/z", "v2.0.0"),
        ],
        "Replace": [
            {"Old": module("example.com/apis"), "New": module("./staging/apis")},
            {"Old": module("example.com/tools"), "New": module("../tools")},
            {"Old": module("y.org/z"), "New": module("y.org/z", "v2.1.0")},
        ],
    }
    remote = RemoteModule("example.com/scheduler", "v1.15.0", Path("folder"), Path("go.mod"))
    found = as_requirement(remote, own)
    assert {each["Path"]: each["Version"] for each in found["Require"]} == {
        "example.com/scheduler": "v1.15.0", "example.com/apis": "v1.15.0", "example.com/tools": "v0.3.0",
        "y.org/z": "v2.0.0",
    }  # fmt: skip
    assert [each["Old"]["Path"] for each in found["Replace"]] == ["y.org/z"]
    assert found["Module"]["Path"] != "example.com/scheduler"
