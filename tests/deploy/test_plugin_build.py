"""A plugin's scheduler: what is generated for its build, when it is built again, and the errors for its author."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import fcntl
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedproof.binaries import lock as locked
from schedproof.binaries.cache import scheduler_path
from schedproof.candidate.claims import Claims
from schedproof.candidate.kinds import PluginSpec
from schedproof.candidate.scheduler_config import PREFERENCE_WEIGHT, plugin_profile, scheduler_configuration
from schedproof.deploy.plugin_build import plugin_build
from schedproof.deploy.plugin_build.compiler_errors import explain
from schedproof.deploy.plugin_build.plugin_build import build_probe, build_scheduler, has_probe, scheduler_binary
from schedproof.deploy.plugin_build.plugin_module import (
    GENERATED,
    PROBE,
    importing_probe,
    merge_go_mod,
    merge_go_sum,
    scheduler_main,
)
from schedproof.deploy.plugin_build.plugin_sources import Sources
from schedproof.foundation.errors import CandidateError, HostError
from schedproof.foundation.progress import SilentProgress

GO = """\
import fcntl, json, os, pathlib, sys
here = pathlib.Path(__file__).parent
settings = json.loads((here / "go.json").read_text())
arguments = sys.argv[1:]
if arguments == ["env", "GOVERSION"]:
    print("go1.26.9")
    sys.exit()
if arguments[:3] == ["mod", "edit", "-json"]:
    print(json.dumps(settings["go_mod"].get(arguments[3], settings["kubernetes"])))
    sys.exit()
given = dict(flag.split("=", 1) for flag in arguments if "=" in flag and flag.startswith(("-modfile", "-overlay")))
read = lambda path: pathlib.Path(path).read_text()
overlay = json.loads(read(given["-overlay"]))["Replace"]
call = {
    "argv": arguments, "cwd": os.getcwd(), "env": dict(os.environ), "go.mod": read(given["-modfile"]),
    "go.sum": read(given["-modfile"].replace("go.mod", "go.sum")),
    "overlay": {virtual: read(real) for virtual, real in overlay.items()},
}
with (here / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps(call) + "\\n")
with (here / "gate").open("w") as gate:
    fcntl.flock(gate, fcntl.LOCK_EX)  # a test may hold it
if settings["edits"]:
    pathlib.Path(settings["edits"]).write_text("package edited")
if settings["failure"]:
    sys.exit(settings["failure"])
if arguments[0] == "build":
    made = pathlib.Path(arguments[arguments.index("-o") + 1])
    made.write_text("a scheduler")
    made.chmod(settings["mode"])
"""

KUBERNETES = {
    "Module": {"Path": "schedproof.dev/binaries/kubernetes-1.36"},
    "Go": "1.26.0",
    "Require": [
        {"Path": "golang.org/x/net", "Version": "v0.49.0", "Indirect": True},
        {"Path": "github.com/prometheus/common", "Version": "v0.67.5", "Indirect": True},
        {"Path": "k8s.io/api", "Version": "v0.36.3", "Indirect": True},
        {"Path": "k8s.io/klog/v2", "Version": "v2.140.0", "Indirect": True},
        {"Path": "k8s.io/kubernetes", "Version": "v1.36.3"},
        {"Path": "k8s.io/kube-scheduler", "Version": "v0.0.0", "Indirect": True},
        {"Path": "sigs.k8s.io/json", "Version": "v0.0.0-2025", "Indirect": True},
    ],
    "Replace": [
        {"Old": {"Path": name}, "New": {"Path": name, "Version": "v0.36.3"}}
        for name in ("k8s.io/api", "k8s.io/kube-scheduler", "k8s.io/sample-controller")
    ],
}


@dataclasses.dataclass
class FakeGo:
    """A `go` on PATH that records its calls, and writes a file in place of a scheduler."""

    folder: Path

    def says(
        self, *, failure: str = "", edits: Path | None = None, mode: int = 0o755, go_mod: dict[str, Any] | None = None
    ) -> None:
        settings = {
            "failure": failure, "edits": str(edits or ""), "mode": mode, "go_mod": go_mod or {},
            "kubernetes": KUBERNETES,
        }  # fmt: skip
        (self.folder / "go.json").write_text(json.dumps(settings))

    @property
    def calls(self) -> list[dict[str, Any]]:
        record = self.folder / "calls.jsonl"
        return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []

    def held(self) -> io.TextIOWrapper:
        """While this is open, builds begin but do not end."""
        gate = (self.folder / "gate").open("w")
        fcntl.flock(gate, fcntl.LOCK_EX)
        return gate


@pytest.fixture(autouse=True)
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    fake = FakeGo(tmp_path / "go")
    for folder in (fake.folder, tmp_path / "bin"):
        folder.mkdir()
    (fake.folder / "go.py").write_text(GO)
    path = tmp_path / "bin" / "go"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{fake.folder / "go.py"}" "$@"\n')
    path.chmod(0o755)
    fake.says()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(plugin_build, "_built", {})
    return fake


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The folder of a plugin inside a module."""
    folder = tmp_path / "user" / "internal" / "traffic"
    folder.mkdir(parents=True)
    (tmp_path / "user" / "go.mod").write_text("module example.com/user\n")
    (tmp_path / "user" / "go.sum").write_text("example.com/dependency v1.0.0 h1:its=\n")
    (folder / "plugin.go").write_text("package traffic\n\nfunc New() {}\n")
    return folder


def spec_of(folder: Path | str, **fields: Any) -> PluginSpec:
    return PluginSpec(**{"package": str(folder), "name": "Traffic", **fields})


def built(spec: PluginSpec) -> Path:
    return build_scheduler(spec, name="mine", kubernetes="1.36", progress=SilentProgress())


# -- the generated module


def lines_of(go_mod: str) -> list[str]:
    return go_mod.splitlines()


def test_every_module_of_kubernetes_is_pinned_to_the_cluster_s_version() -> None:
    own = {
        "Module": {"Path": "example.com/user"}, "Go": "1.25.0",
        "Require": [
            {"Path": "k8s.io/api", "Version": "v0.37.2"}, {"Path": "k8s.io/kubernetes", "Version": "v1.37.2"},
            {"Path": "k8s.io/klog/v2", "Version": "v2.999.0"}, {"Path": "sigs.k8s.io/json", "Version": "v0.0.0-2099"},
        ],
        "Replace": [{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "../my-fork-of-api"}}],
    }  # fmt: skip
    merged = lines_of(merge_go_mod(KUBERNETES, own))
    for pin in (
        "k8s.io/api => k8s.io/api v0.36.3",
        "k8s.io/kube-scheduler => k8s.io/kube-scheduler v0.36.3",
        "k8s.io/sample-controller => k8s.io/sample-controller v0.36.3",
        "k8s.io/kubernetes => k8s.io/kubernetes v1.36.3",
        "k8s.io/klog/v2 => k8s.io/klog/v2 v2.140.0",
        "sigs.k8s.io/json => sigs.k8s.io/json v0.0.0-2025",
    ):
        assert merged.count(f"replace {pin}") == 1
    assert not [line for line in merged if "37.2" in line or "999" in line or "2099" in line or "fork" in line]


def test_other_requirements_of_the_user_are_kept() -> None:
    own = {
        "Module": {"Path": "example.com/user"},
        "Go": "1.27.1",
        "Require": [
            {"Path": "github.com/prometheus/common", "Version": "v0.70.0"},
            {"Path": "example.com/transitive", "Version": "v1.1.0", "Indirect": True},
            {"Path": "golang.org/x/net", "Version": "v0.99.0", "Indirect": True},
        ],
        "Replace": [
            {"Old": {"Path": "example.com/a"}, "New": {"Path": "../a"}},
            {"Old": {"Path": "example.com/b", "Version": "v1.0.0"}, "New": {"Path": "../with space"}},
            {"Old": {"Path": "example.com/c"}, "New": {"Path": "example.com/d", "Version": "v2.0.0"}},
        ],
        "Exclude": [{"Path": "example.com/e", "Version": "v1.0.0"}],
    }
    merged = lines_of(merge_go_mod(KUBERNETES, own))
    assert merged[:2] == ["module example.com/user", "go 1.27.1"]
    for line in (
        "require github.com/prometheus/common v0.70.0",  # Go takes the higher of the two
        "require github.com/prometheus/common v0.67.5",
        "require example.com/transitive v1.1.0",
        "replace example.com/a => ../a",
        'replace example.com/b v1.0.0 => "../with space"',
        "replace example.com/c => example.com/d v2.0.0",
        "exclude example.com/e v1.0.0",
    ):
        assert line in merged
    # What it only repeats for others does not raise what Kubernetes was tested with.
    assert [line for line in merged if "golang.org/x/net" in line] == ["require golang.org/x/net v0.49.0"]


def test_a_folder_without_a_module_has_a_generated_module() -> None:
    assert lines_of(merge_go_mod(KUBERNETES, None))[:2] == ["module schedproof.dev/candidate", "go 1.26.0"]


def test_the_go_version_is_compared_as_a_version() -> None:
    own = {"Module": {"Path": "a"}, "Go": "1.9"}
    assert "go 1.26.0" in lines_of(merge_go_mod(KUBERNETES, own))


def test_go_sums_are_merged_without_repetition() -> None:
    assert merge_go_sum("b v1 h1:x=\na v1 h1:y=\n", "b v1 h1:x=\nc v1 h1:z=") == "a v1 h1:y=\nb v1 h1:x=\nc v1 h1:z=\n"


@pytest.mark.parametrize("minor", sorted(locked.load().kubernetes))
def test_main_registers_the_plugin_under_its_name(minor: str) -> None:
    template = locked.load().kubernetes[minor].folder / "scheduler.go.tmpl"
    text = scheduler_main(template, package="example.com/user/traffic", constructor="NewTraffic", name='Tra"ffic')
    assert 'plugin "example.com/user/traffic"' in text
    assert 'app.WithPlugin("Tra\\"ffic", plugin.NewTraffic)' in text
    assert "$" not in text


# -- the build


def test_a_package_is_built_in_its_own_module_without_writing_to_it(plugin: Path, go: FakeGo) -> None:
    root = plugin.parents[1]
    before = sorted(root.rglob("*"))
    go.says(go_mod={str(root / "go.mod"): {"Module": {"Path": "example.com/user"}, "Go": "1.26.0"}})
    path = built(spec_of(plugin, constructor="NewTraffic"))
    assert path.read_text() == "a scheduler"
    (call,) = go.calls
    assert call["cwd"] == call["env"]["PWD"] == str(root)
    assert call["argv"][0] == "build"
    assert call["argv"][-1] == f"./internal/traffic/{GENERATED}"
    assert {"-mod=mod", "-trimpath", "-buildvcs=false"} <= set(call["argv"])
    assert "k8s.io/component-base/version.gitVersion=v1.36.3" in " ".join(call["argv"])
    assert call["env"]["CGO_ENABLED"] == "0"
    assert call["env"]["GOTOOLCHAIN"] == "local"
    assert call["env"]["GOWORK"] == "off"
    (main,) = call["overlay"]
    assert main == str(plugin / GENERATED / f"{GENERATED}.go")
    # Below the package, so that it may import it although it is internal.
    assert 'plugin "example.com/user/internal/traffic"' in call["overlay"][main]
    assert "plugin.NewTraffic" in call["overlay"][main]
    assert call["go.mod"].startswith("module example.com/user\n")
    assert "example.com/dependency v1.0.0 h1:its=" in call["go.sum"]
    assert "k8s.io/kubernetes v1.36.3 h1:" in call["go.sum"]
    assert sorted(root.rglob("*")) == before


def test_a_folder_without_go_mod_is_built_as_a_module_of_its_own(tmp_path: Path, go: FakeGo) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "plugin.go").write_text("package plain")
    built(spec_of(folder))
    (call,) = go.calls
    assert call["overlay"][str(folder / "go.mod")].startswith("module schedproof.dev/candidate\n")
    assert 'plugin "schedproof.dev/candidate"' in call["overlay"][str(folder / GENERATED / f"{GENERATED}.go")]
    assert call["argv"][-1] == f"./{GENERATED}"


def test_a_main_package_is_built_as_it_is_on_the_cluster_s_kubernetes(plugin: Path, go: FakeGo) -> None:
    built(PluginSpec(main=str(plugin)))
    (call,) = go.calls
    assert call["argv"][-1] == "./internal/traffic"
    assert call["overlay"] == {}
    assert "replace k8s.io/kubernetes => k8s.io/kubernetes v1.36.3" in call["go.mod"]


def test_a_main_package_without_func_main_is_a_candidate_error(plugin: Path, go: FakeGo) -> None:
    go.says(mode=0o644)
    with pytest.raises(CandidateError, match="has no func main"):
        built(PluginSpec(main=str(plugin)))


def test_an_import_path_is_fetched_at_its_version(go: FakeGo) -> None:
    built(spec_of("example.com/plugins/traffic@v1.2.3"))
    get, build = go.calls
    assert get["argv"][0] == "get"
    assert get["argv"][-1] == "example.com/plugins/traffic@v1.2.3"
    assert build["argv"][-1] == f"./{GENERATED}"
    assert any('plugin "example.com/plugins/traffic"' in text for text in build["overlay"].values())


def test_a_folder_without_go_files_is_a_candidate_error(tmp_path: Path) -> None:
    with pytest.raises(CandidateError, match="no Go files"):
        built(spec_of(tmp_path))


# -- what is built anew


def edited(name: str, text: str = "package traffic\n\nvar x = 1\n") -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        edited("internal/traffic/plugin.go"),
        edited("internal/traffic/more.go"),
        edited("internal/traffic/query_amd64.s", "TEXT"),
        edited("shared/shared.go"),
        edited("go.mod", "module example.com/user\n\ngo 1.26\n"),
        edited("go.sum", "something else\n"),
        lambda root: (root / "internal/traffic/plugin.go").rename(root / "internal/traffic/renamed.go"),
    ],
)
def test_a_change_of_the_sources_builds_a_new_scheduler(plugin: Path, go: FakeGo, edit: Callable[[Path], None]) -> None:
    first = built(spec_of(plugin))
    edit(plugin.parents[1])
    assert built(spec_of(plugin)) != first
    assert len(go.calls) == 2


@pytest.mark.parametrize(
    "name",
    [
        "docs/page.md", "schedproof-results/now/report.json", "schedproof-results/now/x.go", ".git/index",
        "vendor/a.go", "report/candidates/mine/history.jsonl", "another/module/x.go",
    ],
)  # fmt: skip
def test_a_change_of_files_that_the_build_does_not_read_builds_nothing(plugin: Path, go: FakeGo, name: str) -> None:
    root = plugin.parents[1]
    edited("another/module/go.mod", "module example.com/another\n")(root)
    first = built(spec_of(plugin))
    edited(name)(root)
    assert built(spec_of(plugin)) == first
    assert len(go.calls) == 1


def test_files_below_a_package_that_embeds_files_are_sources(plugin: Path) -> None:
    (plugin / "embed.go").write_text("package traffic\n\n//go:embed queries\nvar queries embed.FS\n")
    edited("queries/.deep/rate.promql", "rate(x)")(plugin)
    first = Sources.of(plugin).digest()
    edited("queries/.deep/rate.promql", "rate(y)")(plugin)
    assert Sources.of(plugin).digest() != first


@pytest.mark.parametrize("written", ["../shared", "./../shared", '"../shared"', "{absolute}"])
def test_folders_that_replace_modules_are_sources(plugin: Path, written: str) -> None:
    root = plugin.parents[1]
    edited("shared.go", "package shared")(root.parent / "shared")
    target = written.format(absolute=root.parent / "shared")
    (root / "go.mod").write_text(f"module example.com/user\n\nreplace example.com/shared => {target}\n")
    first = Sources.of(plugin).digest()
    edited("shared.go", "package shared // edited")(root.parent / "shared")
    assert Sources.of(plugin).digest() != first


def test_the_name_and_the_constructor_are_compiled_in_but_args_are_not(plugin: Path) -> None:
    first = built(spec_of(plugin))
    assert built(spec_of(plugin, args={"timeRange": "1m"})) == first
    assert len({first, built(spec_of(plugin, name="Other")), built(spec_of(plugin, constructor="NewOther"))}) == 3


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "scheduler.go.tmpl"])
def test_changed_pins_or_a_changed_template_build_a_new_scheduler(
    plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    first = built(spec_of(plugin))
    lock = locked.load()
    folder = tmp_path / "pins"
    shutil.copytree(lock.kubernetes["1.36"].folder, folder)
    with (folder / name).open("a") as file:
        file.write("\n// changed\n")
    changed = dataclasses.replace(lock.kubernetes["1.36"], folder=folder)
    monkeypatch.setattr(locked, "load", lambda: dataclasses.replace(lock, kubernetes={"1.36": changed}))
    assert built(spec_of(plugin)) != first


def test_the_same_sources_in_another_folder_build_nothing(plugin: Path, tmp_path: Path, go: FakeGo) -> None:
    first = built(spec_of(plugin))
    shutil.copytree(plugin.parents[1], tmp_path / "copy")
    assert built(spec_of(tmp_path / "copy" / "internal" / "traffic")) == first
    assert len(go.calls) == 1


def test_a_scheduler_whose_sources_change_during_the_build_is_not_kept(plugin: Path, go: FakeGo) -> None:
    go.says(edits=plugin / "plugin.go")
    with pytest.raises(CandidateError, match="changed while they were built"):
        built(spec_of(plugin))
    assert not list((Path(os.environ["SCHEDPROOF_CACHE"]) / "schedulers").glob("*"))
    go.says()
    built(spec_of(plugin))


def test_of_two_concurrent_builds_the_second_uses_the_result_of_the_first(plugin: Path, go: FakeGo) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with go.held():
            both = [pool.submit(built, spec_of(plugin)) for _ in range(2)]
        first, second = (build.result() for build in both)
    assert first == second
    assert len(go.calls) == 1


def test_the_cache_keeps_the_schedulers_that_were_used_last(plugin: Path) -> None:
    old = [scheduler_path(f"{n:024}") for n in range(15)]
    for n, path in enumerate(old):
        path.parent.mkdir(parents=True)
        path.touch()
        os.utime(path, (n, n))
    path = built(spec_of(plugin))
    kept = {path, *old[-11:]}
    assert set((Path(os.environ["SCHEDPROOF_CACHE"]) / "schedulers").glob("*/*")) == kept
    os.utime(path, (0, 0))
    built(spec_of(plugin))  # taken from the cache: it is used now
    assert path.stat().st_mtime > 0


# -- the probe: the same program with another `app`

MAIN = """\
package main

import (
	"os"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)
"""


def probe(spec: PluginSpec) -> Path:
    return build_probe(spec, name="mine", kubernetes="1.36", progress=SilentProgress())


@pytest.mark.parametrize("line", ['{}"{}"', 'kube {}"{}"', "{}`{}`", '_ {}"{}"'])
def test_the_import_of_app_is_replaced_and_every_line_keeps_its_number(line: str) -> None:
    source = f"package main\n\nimport {line.format('', 'k8s.io/kubernetes/cmd/kube-scheduler/app')}\n"
    expected = f"package main\n\nimport {line.format('', f'example.com/user/{PROBE}')}\n"
    assert importing_probe(source, "example.com/user") == expected


def test_imports_of_other_kubernetes_packages_are_unchanged() -> None:
    exchanged = importing_probe(MAIN, "example.com/user")
    assert exchanged is not None
    assert f'"example.com/user/{PROBE}"' in exchanged
    assert '"k8s.io/kubernetes/cmd/kube-scheduler/app/options"' in exchanged
    assert importing_probe('package x\n\nimport "k8s.io/kubernetes/cmd/kube-scheduler/app/options"\n', "m") is None


def test_the_probe_of_a_package_has_the_stand_in_for_app_beside_the_generated_main(plugin: Path, go: FakeGo) -> None:
    root = plugin.parents[1]
    go.says(go_mod={str(root / "go.mod"): {"Module": {"Path": "example.com/user"}, "Go": "1.26.0"}})
    assert probe(spec_of(plugin)).name == "probe"
    (call,) = go.calls
    assert call["argv"][-1] == f"./internal/traffic/{GENERATED}"
    assert f'"example.com/user/{PROBE}"' in call["overlay"][str(plugin / GENERATED / f"{GENERATED}.go")]
    stand_in = {Path(path).name: text for path, text in call["overlay"].items() if PROBE in Path(path).parts}
    assert "func NewSchedulerCommand(" in stand_in["app.go"]
    assert all(text.startswith(("package app", "// Package app")) for text in stand_in.values())


def test_the_probe_of_a_main_package_replaces_imports_in_its_own_files(plugin: Path, go: FakeGo) -> None:
    root = plugin.parents[1]
    go.says(go_mod={str(root / "go.mod"): {"Module": {"Path": "example.com/user"}, "Go": "1.26.0"}})
    for name in ("cmd/scheduler/main.go", "internal/command/command.go", "cmd/scheduler/main_test.go"):
        edited(name, MAIN)(root)
    probe(PluginSpec(main=str(root / "cmd" / "scheduler")))
    (call,) = go.calls
    assert call["argv"][-1] == "./cmd/scheduler"
    exchanged = {path for path, text in call["overlay"].items() if f'"example.com/user/{PROBE}"' in text}
    assert exchanged == {str(root / "cmd/scheduler/main.go"), str(root / "internal/command/command.go")}
    assert (root / "cmd/scheduler/main.go").read_text() == MAIN


def test_the_plugins_of_a_main_package_share_one_probe_that_differs_from_the_scheduler(
    plugin: Path, go: FakeGo
) -> None:
    first = probe(PluginSpec(main=str(plugin), name="One"))
    assert probe(PluginSpec(main=str(plugin), name="Other", args={"a": 1})) == first
    assert built(PluginSpec(main=str(plugin), name="One")) != first
    assert len(go.calls) == 2


def test_a_changed_stand_in_builds_a_new_probe_and_no_new_scheduler(
    plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, scheduler = probe(spec_of(plugin)), built(spec_of(plugin))
    lock = locked.load()
    folder = tmp_path / "pins"
    shutil.copytree(lock.kubernetes["1.36"].folder, folder)
    (folder / "probe" / "more.go").write_text("package app\n")
    changed = dataclasses.replace(lock.kubernetes["1.36"], folder=folder)
    monkeypatch.setattr(locked, "load", lambda: dataclasses.replace(lock, kubernetes={"1.36": changed}))
    assert probe(spec_of(plugin)) != first
    assert built(spec_of(plugin)) == scheduler


def test_a_plugin_without_local_sources_has_no_probe(go: FakeGo) -> None:
    for spec in (PluginSpec(binary="kube-scheduler"), PluginSpec(main="example.com/scheduler@v1.0.0")):
        assert not has_probe(spec)
        with pytest.raises(CandidateError, match="cannot be queried in process"):
            probe(spec)
    assert go.calls == []


def test_an_unsupported_function_of_app_is_named_with_the_supported_functions(plugin: Path, go: FakeGo) -> None:
    go.says(failure="cmd/scheduler/main.go:9:2: undefined: app.Nonsense")
    with pytest.raises(CandidateError, match=r"undefined: app\.Nonsense") as raised:
        probe(PluginSpec(main=str(plugin)))
    assert "NewSchedulerCommand" in raised.value.remedy


# -- what is started


def started(spec: PluginSpec) -> str:
    return scheduler_binary(spec, name="mine", kubernetes="1.36", progress=SilentProgress())


def test_binaries_are_passed_through(tmp_path: Path, go: FakeGo) -> None:
    own = tmp_path / "kube-scheduler"
    own.touch(mode=0o755)
    assert started(PluginSpec(binary=str(own))) == str(own)
    assert started(PluginSpec(binary="kube-scheduler")) == "kube-scheduler"
    own.chmod(0o644)
    with pytest.raises(CandidateError, match="cannot be executed"):
        started(PluginSpec(binary=str(own)))
    assert go.calls == []


def test_a_run_starts_the_same_binary_even_if_the_sources_change(plugin: Path, go: FakeGo) -> None:
    first = started(spec_of(plugin))
    (plugin / "plugin.go").write_text("package edited")
    assert started(spec_of(plugin)) == first
    assert len(go.calls) == 1


def test_the_configuration_enables_the_plugin_with_its_args(tmp_path: Path) -> None:
    spec = PluginSpec(package="/x", name="Traffic", args={"address": "{prometheus}", "range": ["{window}", 5]})
    claims = Claims(profiles=("core", "network-aware"))
    profile = plugin_profile(spec, claims, {"prometheus": "http://here", "window": "2s"})
    configuration = scheduler_configuration(["mine"], tmp_path / "kubeconfig", profile=profile)
    assert configuration["profiles"] == [
        {
            "schedulerName": "mine",
            "plugins": {"multiPoint": {"enabled": [{"name": "Traffic", "weight": PREFERENCE_WEIGHT}]}},
            "pluginConfig": [{"name": "Traffic", "args": {"address": "http://here", "range": ["2s", 5]}}],
        }
    ]


def test_a_plugin_that_claims_no_preference_has_the_default_weight() -> None:
    profile = plugin_profile(PluginSpec(package="/x", name="Traffic"), Claims(), {})
    assert profile == {"plugins": {"multiPoint": {"enabled": [{"name": "Traffic"}]}}}


def test_a_scheduler_without_a_named_plugin_has_the_default_profile() -> None:
    assert plugin_profile(PluginSpec(main="/x"), Claims(), {}) == {}


# -- errors of a build

RUNTIME = '"k8s.io/kubernetes/pkg/scheduler/framework/runtime".PluginFactory value in argument to app.WithPlugin'
GENERATED_LINE = f"../../cache/work/x/module/{GENERATED}.go:18:75"


@pytest.mark.parametrize(
    ("output", "quoted", "remedy"),
    [
        (
            "# example.com/user/internal/traffic\ninternal/traffic/plugin.go:14:42: undefined: framework.Handle",
            "    internal/traffic/plugin.go:14:42: undefined: framework.Handle",
            'in 1.35): import fwk "k8s.io/kube-scheduler/framework"',
        ),
        (
            f"# example.com/x\n{GENERATED_LINE}: cannot use plugin.New (value of type func()) as {RUNTIME}",
            "    internal/traffic/plugin.go:3: func New() {}",
            "func New(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error)",
        ),
        (f"{GENERATED_LINE}: undefined: plugin.NewTrafic", "(generated main): undefined", "one of: New"),
        (
            "./p.go:17:25: Hello does not implement framework.ScorePlugin\n\t\twant Score(framework.NodeInfo)",
            "want Score(framework.NodeInfo)",
            "since 1.34 Score takes a NodeInfo",
        ),
        (
            "./plugin.go:15:131: state.Read undefined (type *framework.CycleState is pointer to interface)",
            "pointer to interface",
            "no longer pointers",
        ),
        (
            f'{GENERATED}/{GENERATED}.go:12:2: import "example.com/x" is a program, not an importable package',
            "is a program",
            "plugin: {main: FOLDER}",
        ),
        ("./plugin.go:5:1: package foo/bar is not in std (/go/src/foo)", "not in std", "module's name from go.mod"),
        (
            "go: finding module for package a.com/b\nplugin.go:5:1: no required module provides package a.com/b",
            "no required module provides",
            "go mod tidy",
        ),
        ("go: errors parsing go.mod:\n/x/go.mod:5: unknown directive: bogus", "unknown directive", "correct go.mod in"),
        (
            "go: a.com/b@v9.0.0: reading https://modules.example/a.com/b/@v/v9.0.0.info: 404 Not Found",
            "404 Not Found",
            "versions that exist",
        ),
        ("./plugin.go:9:2: declared and not used: x", "declared and not used", "correct the sources"),
        ("./plugin.go:9:2: undefined: x509: connection refused", "undefined: x509", "correct the sources"),
    ],
)  # fmt: skip
def test_a_compiler_error_is_quoted_with_a_fix(plugin: Path, output: str, quoted: str, remedy: str) -> None:
    spec = spec_of(plugin, constructor="NewTrafic" if "NewTrafic" in output else "New")
    error = explain(output, title="wrong", spec=spec, sources=Sources.of(plugin), kubernetes="v1.36.3")
    assert isinstance(error, CandidateError)
    assert error.message.startswith(f"wrong (in {plugin.parents[1]}):\n    ")
    assert quoted in error.message
    assert remedy in error.remedy
    assert "cache/work" not in str(error)
    assert "# example.com" not in error.message
    assert "finding module" not in error.message


@pytest.mark.parametrize(
    "output",
    [
        "go: example.com/x@v1.0.0: Get https://modules.example: dial tcp: lookup failed",
        "plugin.go:5:1: cannot find module providing package a.com/b: module lookup disabled by GOPROXY=off",
        "# k8s.io/kubernetes/cmd\n/usr/go/pkg/tool/link: signal: killed",
        "go: writing stat cache: no space left on device",
        "go: go.mod requires go >= 1.30.0 (running go 1.26.8; GOTOOLCHAIN=local)",
    ],
)
def test_a_build_that_fails_because_of_the_machine_is_a_host_error(plugin: Path, output: str) -> None:
    error = explain(output, title="wrong", spec=spec_of(plugin), sources=Sources.of(plugin), kubernetes="v1.36.3")
    assert isinstance(error, HostError)
    assert error.remedy


def test_a_long_list_of_compiler_errors_is_truncated(plugin: Path) -> None:
    output = "\n".join(f"./plugin.go:{n}:1: undefined: x{n}" for n in range(50))
    error = explain(output, title="wrong", spec=spec_of(plugin), sources=Sources.of(plugin), kubernetes="v1.36.3")
    assert error.message.count("undefined") == 20
    assert "and 30 lines more" in error.message


def test_a_failed_build_leaves_no_files_and_can_be_repeated(plugin: Path, go: FakeGo) -> None:
    module = Path(os.environ["SCHEDPROOF_CACHE"]) / "work"
    go.says(failure="internal/traffic/plugin.go:3:1: syntax error")
    for _ in range(2):
        with pytest.raises(CandidateError, match=r"plugin\.go:3:1: syntax error") as raised:
            started(spec_of(plugin))
        assert str(module) not in str(raised.value)
    assert not list(module.iterdir())
    go.says()
    assert Path(started(spec_of(plugin))).is_file()
