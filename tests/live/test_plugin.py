"""A plugin is compiled into a scheduler of the cluster's version, once; compiler errors are explained."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.binaries import lock, toolchain
from schedproof.foundation.content import content
from schedproof.foundation.progress import SilentProgress

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

REFERENCE = content("fixtures", "candidates", "least-traffic-plugin")
EXAMPLES = Path(__file__).parents[1] / "examples"
BUILDS = "build the scheduler of least-traffic-plugin"
LOADS = ("network/least-traffic", "network/flip")
# The rest of its core is kube-scheduler's, as stock's is.
TRIED = (
    "--clause=core/binds", "--clause=core/random-worlds", "--clause=core/restart",
    "--profile=plugin", "--profile=network-aware", "--profile=normalization",
)  # fmt: skip


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    (candidate,) = report["candidates"]
    return {clause["id"]: clause["outcome"] for clause in candidate["clauses"]}


def test_the_reference_plugin_is_compiled_once_and_keeps_what_it_claims(shell: Shell) -> None:
    shutil.copytree(REFERENCE, shell.work / "mine")
    first = shell.schedproof("run", "mine", *TRIED, "--report", "report")
    assert first.code == 0, first.printed
    judged = outcomes(shell.report())
    assert set(judged.values()) == {"passed", "not-claimed"}, first.printed
    assert set(LOADS) <= set(judged)
    (shell.work / "mine" / "notes.md").write_text("nothing that the build reads")
    again = shell.schedproof("run", "mine", "--clause", "core/binds", "--report", "again")
    assert again.code == 0, again.printed
    assert BUILDS not in again.err


def test_imports_of_another_kubernetes_version_are_explained(shell: Shell) -> None:
    """Its go.mod requires another version, and it imports packages of that version."""
    folder = shell.work / "mine"
    shutil.copytree(REFERENCE, folder)
    plugin = folder / "networktraffic" / "plugin.go"
    source = plugin.read_text()
    plugin.write_text(
        source.replace(
            'fwk "k8s.io/kube-scheduler/framework"',
            'fwk "k8s.io/kube-scheduler/framework"\n\t"k8s.io/kubernetes/pkg/scheduler/framework"',
        ).replace("_ fwk.PreScorePlugin ", "_ framework.PreScorePlugin ")
    )
    ended = shell.schedproof("run", "mine", "--clause", "core/binds", "--report", "report")
    assert ended.code == 2, ended.printed
    assert f"{BUILDS} with Kubernetes" in ended.err
    assert "undefined: framework.PreScorePlugin" in ended.out
    assert "networktraffic/plugin.go:" in ended.out
    assert "k8s.io/kube-scheduler/framework" in ended.out.partition("fix: ")[2]
    assert str(Path(shell.env.get("SCHEDPROOF_CACHE", "~/.cache")).expanduser() / "work") not in ended.printed


def test_misspelled_args_keep_a_plugin_from_starting(shell: Shell) -> None:
    shutil.copytree(REFERENCE, shell.work / "mine")
    file = shell.work / "mine" / "candidate.yaml"
    file.write_text(file.read_text().replace("timeRange:", "timeRanje:"))
    ended = shell.schedproof(
        "run", "mine", "--clause", "core/binds", "--clause", "plugin/args-typed", "--report", "report"
    )
    assert ended.code == 1, ended.printed
    found = outcomes(shell.report())
    assert found["core/alive"] == "failed"
    # The plugin has done right: it is the descriptor that is wrong.
    assert found["core/binds"] == found["plugin/args-typed"] == "skipped"
    page = " ".join(ended.out.split())
    assert "unknown field timeRanje in the plugin's args" in page
    assert 'unknown field "timeRanje"' in page


def test_the_reference_plugin_s_own_tests_pass() -> None:
    """As in its README."""
    expect_go_tests_pass(REFERENCE)


def test_the_template_reads_prometheus_strictly(tmp_path: Path) -> None:
    shutil.copytree(content("fixtures", "templates", "plugin"), tmp_path, dirs_exist_ok=True)
    shutil.copy(EXAMPLES / "plugin_template" / "prometheus_test.go", tmp_path / "leasttraffic")
    expect_go_tests_pass(tmp_path)


def expect_go_tests_pass(folder: Path) -> None:
    """Run the tests of a module with the flags of the build, so that Go finds what it has already compiled."""
    go = toolchain.obtain(lock.load().minimum_go, lock.load().go, SilentProgress())
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-trimpath", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    for arguments in (("vet", "./..."), ("test", "./...")):
        done = subprocess.run((go.path, *arguments), cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    unformatted = subprocess.run(
        (go.path.with_name("gofmt"), "-l", "."), cwd=folder, capture_output=True, text=True, check=True
    )
    assert unformatted.stdout == ""
