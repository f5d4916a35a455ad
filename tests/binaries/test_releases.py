"""Releases are downloaded where available, and used only with the published content; else binaries are built."""

from __future__ import annotations

import dataclasses
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import schedproof
from schedproof.binaries import download, lock, toolchain
from schedproof.binaries.cache import cache_dir, release_path
from schedproof.binaries.download import DownloadError, unreachable
from schedproof.binaries.release import published_checksum
from schedproof.binaries.resolve import Origin, locate, resolve
from schedproof.cli.main import main
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.clusters.kind.registration import KIND
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for

from .binary_fakes import FakeGo, RecordedProgress, banner, go, machine_without_binaries, program, script

__all__ = ["go", "machine_without_binaries"]
from .release_server import ReleaseServer, release_server, sha256, tarball

ETCD = script(banner("etcd")).encode()
SOON = Deadline("soon", 30, "only bounds how long a failing test takes")
BRIEF = Deadline("brief", 0.2, "nothing answers in these tests")


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which servers this process has tried, and install no Go: a build without the fake Go fails."""
    monkeypatch.setattr(download, "_state", {})
    monkeypatch.setattr(toolchain, "_pip", lambda: None)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, machine_without_binaries: None) -> Iterator[ReleaseServer]:
    with release_server() as server:
        monkeypatch.setenv("SCHEDPROOF_RELEASES", server.url)
        yield server


@pytest.fixture
def etcd(server: ReleaseServer) -> str:
    """The path of a release of etcd, a tarball, whose project publishes checksums."""
    return server.publish("etcd", ETCD)


def lock_checksum(monkeypatch: pytest.MonkeyPatch, name: str, checksum: str) -> None:
    """Set the checksum of a tool's release in the lock file, on every architecture; "" for none."""
    held = lock.load()
    tool = held.tools[name]
    assert tool.release is not None
    sums = {name: dict.fromkeys(("amd64", "arm64"), checksum)} if checksum else {}
    changed = dataclasses.replace(tool, release=dataclasses.replace(tool.release, sha256=sums))
    monkeypatch.setattr(lock, "load", lambda: dataclasses.replace(held, tools={**held.tools, name: changed}))


def take(name: str = "etcd", progress: SilentProgress | None = None) -> Origin:
    """Resolve one binary, check that it is complete and that nothing is left beside it; return its origin."""
    found = resolve([name], progress=progress or SilentProgress())[name]
    assert found.path.read_bytes() == script(banner(name)).encode() or found.origin is Origin.BUILT
    assert os.access(found.path, os.X_OK)
    assert not list((cache_dir() / "work").glob("*"))
    return found.origin


def parts() -> list[Path]:
    return sorted((cache_dir() / "downloads").glob("*"))


# -- what the lock file says


@pytest.mark.parametrize("name", sorted({*EMBEDDED.binaries, "kind"}))
def test_binaries_of_embedded_clusters_are_published_over_https(name: str) -> None:
    build = lock.load().builds()[name]
    assert build.release is not None
    for arch in ("amd64", "arm64"):
        asset = build.release.asset(name, build.version, arch)
        if asset is None:
            assert (name, arch) == ("kwok", "arm64")  # published without a checksum, and none is locked
            continue
        assert asset.url.startswith("https://")
        assert asset.checksums.startswith("https://") or asset.sha256
        assert build.version in asset.url
        assert arch in asset.url
        assert "{" not in asset.url + asset.checksums + asset.member


@pytest.mark.parametrize("build", [*lock.load().tools.values(), *lock.load().kubernetes.values()], ids=lambda b: b.key)
def test_locked_checksums_are_those_of_binaries_of_the_build(build: lock.Build) -> None:
    for name, by_arch in build.release.sha256.items() if build.release is not None else ():
        assert name in build.packages
        assert all(re.fullmatch(r"[0-9a-f]{64}", checksum) for checksum in by_arch.values())


def test_the_cached_path_of_a_release_depends_on_its_entry_in_the_lock_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def path() -> Path:
        return release_path("etcd", lock.load().tools["etcd"])

    before = path()
    lock_checksum(monkeypatch, "etcd", "0" * 64)
    assert path() != before


A, B = "a" * 64, "B" * 64


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (A, A),
        (f"{A}\n", A),
        (f"{B}  other\n{A}  wanted\n", A),
        (f"{B} *wanted\n", B.lower()),
        (f"{A}  ./wanted\n", A),
        (f"{A}  other/wanted\n{A}  wanted.asc", ""),
        (f"{A[:-1]}  wanted", ""),
        ("<html>not found</html>", ""),
        ("", ""),
    ],
)
def test_published_checksums_are_read(text: str, found: str) -> None:
    assert published_checksum(text, "wanted") == found


# -- the order


def test_releases_of_all_layouts_are_downloaded_checked_and_found_again(
    server: ReleaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("prometheus", "node_exporter", "kind"):
        lock_checksum(monkeypatch, name, "")
    lock_checksum(monkeypatch, "kwok", sha256(script(banner("kwok")).encode()))
    names = sorted({*EMBEDDED.binaries, "kind"})
    for name in names:
        server.publish(name, script(banner(name)).encode())
    found = resolve(names, progress=SilentProgress())
    assert {binary.origin for binary in found.values()} == {Origin.RELEASE}
    assert all(binary.path.read_text() == script(banner(name)) for name, binary in found.items())
    assert all(binary.path.stat().st_mode & 0o777 == 0o755 for binary in found.values())
    before = len(server.requests)
    again = resolve(names, progress=SilentProgress())
    assert {binary.origin for binary in again.values()} == {Origin.CACHE}
    assert [binary.path for binary in again.values()] == [binary.path for binary in found.values()]
    assert len(server.requests) == before
    assert not parts()


@pytest.mark.usefixtures("etcd")
def test_a_binary_on_the_machine_is_preferred_to_a_release(server: ReleaseServer, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "etcd", banner("etcd"))
    assert take() is Origin.PATH
    assert not server.requests


@pytest.mark.usefixtures("etcd")
def test_a_release_is_preferred_to_a_build_and_reported_in_one_line(server: ReleaseServer, go: FakeGo) -> None:
    progress = RecordedProgress()
    assert take(progress=progress) is Origin.RELEASE
    assert not go.builds
    [line] = progress.lines
    assert "127.0.0.1" in line


@pytest.mark.usefixtures("etcd")
def test_the_policy_never_downloads_nothing(server: ReleaseServer, go: FakeGo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDPROOF_DOWNLOAD", "never")
    assert take() is Origin.BUILT
    assert not server.requests


def test_the_policy_only_builds_nothing_that_has_a_release(
    server: ReleaseServer, go: FakeGo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEDPROOF_DOWNLOAD", "only")
    with pytest.raises(HostError, match=r"etcd 3\.6\.8: .*404") as caught:
        take()
    assert "SCHEDPROOF_RELEASES" in caught.value.remedy
    assert not go.builds
    # The harness's own programs have no release.
    assert take("readings-server") is Origin.BUILT


@pytest.mark.parametrize("policy", ["always", "NEVER", "auto"])
def test_an_unknown_policy_is_a_usage_error(
    policy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SCHEDPROOF_DOWNLOAD", policy)
    with pytest.raises(UsageError, match=policy):
        resolve([], progress=SilentProgress())
    assert main(["doctor"]) == 2
    assert policy in capsys.readouterr().err


@pytest.mark.parametrize("mirror", ["mirror.example", "ftp://mirror.example", "/srv/releases", "https://"])
def test_a_mirror_that_is_not_a_url_is_a_usage_error(mirror: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDPROOF_RELEASES", mirror)
    with pytest.raises(UsageError, match="SCHEDPROOF_RELEASES"):
        take()


# -- what is not what was published


@pytest.mark.usefixtures("go")
class TestRefused:
    """Each of these is reported, is not kept, and leads to a build."""

    def expect_build(self, *words: str, name: str = "etcd") -> None:
        progress = RecordedProgress()
        assert take(name, progress) is Origin.BUILT
        output = "\n".join(progress.lines)
        assert all(word in output for word in words), output
        assert not list((cache_dir() / "binaries").glob("*/*/*-release-*/*"))

    def test_a_file_with_another_checksum(self, server: ReleaseServer, etcd: str) -> None:
        server.files[etcd] = tarball(("etcd-v3.6.8-linux-amd64/etcd", b"another"))
        self.expect_build("SHA-256", sha256(server.files[etcd]))
        assert not parts()

    def test_a_published_checksum_that_differs_from_the_locked_checksum(
        self, server: ReleaseServer, etcd: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock_checksum(monkeypatch, "etcd", "0" * 64)
        self.expect_build("binaries.lock.yaml", "0" * 64)
        assert not server.asked(etcd)

    def test_a_file_whose_checksum_differs_from_the_locked_checksum(
        self, server: ReleaseServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock_checksum(monkeypatch, "kwok", "0" * 64)
        server.publish("kwok", b"another")
        self.expect_build(sha256(b"another"), "0" * 64, name="kwok")

    def test_a_checksum_file_without_the_file(self, server: ReleaseServer, etcd: str) -> None:
        sums = f"{etcd.rpartition('/')[0]}/SHA256SUMS"
        server.files[sums] = f"{'0' * 64}  another\n".encode()
        self.expect_build("SHA256SUMS has no SHA-256")
        assert not server.asked(etcd)

    def test_a_release_that_does_not_exist(self, server: ReleaseServer, etcd: str) -> None:
        del server.files[etcd]
        self.expect_build("404")

    @pytest.mark.usefixtures("server")
    def test_a_missing_checksum_file(self) -> None:
        self.expect_build("404", "SHA256SUMS")

    @pytest.mark.usefixtures("etcd")
    def test_a_checksum_file_that_is_too_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(download, "_LARGEST_TEXT", 10)
        self.expect_build("larger than 10 bytes")

    def test_a_truncated_checksum_file(self, server: ReleaseServer, etcd: str) -> None:
        server.cut[f"{etcd.rpartition('/')[0]}/SHA256SUMS"] = [70]
        self.expect_build("ends after 70 of")

    def test_a_download_that_is_always_truncated(self, server: ReleaseServer, etcd: str) -> None:
        server.cut[etcd] = [100, 0, 0]
        self.expect_build("ends after 100 of")
        # It sent nothing more when it was asked to go on, and so was not asked a third time.
        assert server.asked(etcd) == [0, 100]
        [part] = parts()
        assert part.read_bytes() == server.files[etcd][:100]

    def test_a_binary_that_reports_another_version(self, server: ReleaseServer) -> None:
        server.publish("etcd", script(banner("etcd", "3.5.0")).encode())
        self.expect_build("3.5.0")

    def test_a_binary_that_does_not_run(self, server: ReleaseServer) -> None:
        server.publish("etcd", b"\x7fELF of another machine")
        self.expect_build("does not run")

    def test_a_tarball_without_the_binary(self, server: ReleaseServer, etcd: str) -> None:
        server.replace("etcd", etcd, tarball(("etcd", ETCD)))
        self.expect_build("does not contain etcd-v3.6.8")

    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])
    def test_a_tarball_whose_binary_is_not_a_regular_file(self, server: ReleaseServer, etcd: str, kind: bytes) -> None:
        member = tarfile.TarInfo(f"{etcd.rpartition('/')[2].removesuffix('.tar.gz')}/etcd")
        member.type, member.linkname = kind, "/bin/true"
        server.replace("etcd", etcd, tarball(member))
        self.expect_build("is not a regular file")

    @pytest.mark.parametrize("damage", ["half", "other bytes", "no gzip"])
    def test_a_damaged_tarball_with_a_matching_checksum(self, server: ReleaseServer, etcd: str, damage: str) -> None:
        whole = server.files[etcd]
        server.replace(
            "etcd", etcd,
            {
                "half": whole[: len(whole) // 2],
                "other bytes": whole[:40] + bytes(40) + whole[80:],
                "no gzip": b"not found",
            }[damage],
        )  # fmt: skip
        self.expect_build(etcd.rpartition("/")[2])


def test_a_tarball_with_paths_outside_of_itself_writes_only_its_binary(server: ReleaseServer, tmp_path: Path) -> None:
    link = tarfile.TarInfo("away")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
    outside = tmp_path / "outside"
    evil = (("../../../evil", b"1"), (str(outside), b"2"), link, ("away/evil", b"3"))
    server.publish("etcd", ETCD, *evil)
    assert take() is Origin.RELEASE
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert files == [release_path("etcd", lock.load().tools["etcd"])]


def test_a_redirect_is_followed(server: ReleaseServer, etcd: str) -> None:
    server.files["objects/1"] = server.files.pop(etcd)
    server.redirects[etcd] = f"{server.url}/objects/1?token=2"
    server.files["objects/1?token=2"] = server.files["objects/1"]
    assert take() is Origin.RELEASE


def test_a_redirect_from_https_to_http_is_not_followed() -> None:
    request = urllib.request.Request("https://dl.example/etcd")
    with pytest.raises(DownloadError, match="not encrypted"):
        download._Redirects().redirect_request(request, None, 302, "", {}, "http://cdn.example/etcd")
    followed = download._Redirects().redirect_request(request, None, 302, "", {}, "https://cdn.example/etcd")
    assert followed is not None


# -- slow, cut off, interrupted


def test_an_interrupted_transfer_is_continued_with_a_range_request(server: ReleaseServer, etcd: str) -> None:
    server.cut[etcd] = [100, 50]
    assert take() is Origin.RELEASE
    assert server.asked(etcd) == [0, 100, 150]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_server_without_range_requests_sends_the_whole_file_again(
    server: ReleaseServer, etcd: str, ranges: bool
) -> None:
    server.ranges = ranges
    server.cut[etcd] = [100]
    assert take() is Origin.RELEASE
    assert server.asked(etcd) == [0, 100]


@pytest.mark.parametrize("damage", [b"other bytes", b"more than there is" * 1000])
def test_a_damaged_partial_download_is_discarded(server: ReleaseServer, etcd: str, damage: bytes, go: FakeGo) -> None:
    server.cut[etcd] = [100, 0]
    assert take() is Origin.BUILT
    for path in (cache_dir() / "binaries").rglob("etcd"):
        if path.is_file():
            path.unlink()
    [part] = parts()
    part.write_bytes(damage)
    assert take() is Origin.RELEASE
    assert server.asked(etcd)[-1] == 0
    assert not parts()


def test_a_stalled_download_ends_and_its_part_is_kept(
    server: ReleaseServer, etcd: str, go: FakeGo, monkeypatch
) -> None:
    # Long enough for its first bytes, on a busy machine too; so one attempt must do.
    monkeypatch.setattr(download, "SERVER_STALLED", dataclasses.replace(BRIEF, seconds=3))
    monkeypatch.setattr(download, "_ATTEMPTS", 1)
    server.held[etcd] = threading.Event()
    assert take() is Origin.BUILT
    [part] = parts()
    assert server.files[etcd].startswith(part.read_bytes())
    assert download.known_unreachable(server.url)


def test_progress_is_shown_while_a_slow_server_sends(server: ReleaseServer, etcd: str) -> None:
    gate = server.held[etcd] = threading.Event()
    whole = len(server.files[etcd])
    seen: list[tuple[int, int]] = []

    def advance(done: int, total: int) -> None:
        seen.append((done, total))
        if 0 < done < whole:
            gate.set()  # without progress in between the second half would never come

    part = cache_dir() / "part"
    part.parent.mkdir(parents=True)
    download.fetch_file(f"{server.url}/{etcd}", part, advance)
    assert part.read_bytes() == server.files[etcd]
    assert seen[0] == (0, whole)
    assert seen[-1] == (whole, whole)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


RESOLVE = """\
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from schedproof.binaries.resolve import resolve
from schedproof.foundation.progress import ConsoleProgress
found = resolve(["etcd"], progress=ConsoleProgress())["etcd"]
print(found.origin.value, found.path)
"""


def another_process() -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(schedproof.__file__).parents[1])}
    return subprocess.Popen(
        (sys.executable, "-c", RESOLVE), env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def some_has_arrived() -> None:
    if not any(part.stat().st_size for part in parts()):
        raise NotYet(f"{parts()}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_download_is_resumed_by_the_next_run(server: ReleaseServer, etcd: str, number: int) -> None:
    # So large that what was sent cannot all be in buffers.
    etcd = server.publish("etcd", ETCD + b"#" * 100 + os.urandom(1 << 20).hex().encode())
    server.held[etcd] = threading.Event()
    with another_process() as process:
        wait_for(some_has_arrived, SOON, what="the first bytes to be written")
        process.send_signal(number)
        process.communicate()
    assert process.returncode
    [part] = parts()
    begin = part.stat().st_size
    assert 0 < begin < len(server.files[etcd])
    server.held.pop(etcd).set()
    assert resolve(["etcd"], progress=SilentProgress())["etcd"].origin is Origin.RELEASE
    assert server.asked(etcd) == [0, begin]
    assert not parts()


def test_the_second_process_waits_for_the_download_of_the_first_and_uses_the_result(
    server: ReleaseServer, etcd: str
) -> None:
    gate = server.held[etcd] = threading.Event()
    with another_process() as first:
        assert server.half_sent.wait(SOON.seconds)
        with another_process() as second:
            assert second.stderr is not None
            assert second.stderr.readline().startswith("wait for etcd-release: another schedproof process")
            gate.set()
            answers = {process.communicate()[0] for process in (first, second)}
    assert answers == {f"release {release_path('etcd', lock.load().tools['etcd'])}\n"}
    assert server.asked(etcd) == [0]


def test_a_cache_that_cannot_be_written_is_named(
    server: ReleaseServer, etcd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(HostError, match=r"file/cache.*\n.*SCHEDPROOF_CACHE"):
        take()


# -- servers that cannot be reached


@pytest.fixture
def closed_port() -> Iterator[str]:
    """A server that refuses connections."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A server to which connections hang: it accepts none, and its queue is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        for client in waiting:
            client.close()


@pytest.mark.parametrize("kind", ["closed_port", "black_hole"])
def test_without_a_reachable_server_the_binaries_are_built_and_one_line_reports_it(
    kind: str, go: FakeGo, monkeypatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(download, "SERVER_REACHED", BRIEF)
    monkeypatch.setenv("SCHEDPROOF_RELEASES", request.getfixturevalue(kind))
    progress = RecordedProgress()
    found = resolve(EMBEDDED.binaries, progress=progress)
    assert {binary.origin for binary in found.values()} == {Origin.BUILT}
    assert sum("cannot be reached" in line for line in progress.lines) == 1
    assert not parts()


def test_servers_are_probed_concurrently_once_per_process_and_a_hanging_dns_lookup_blocks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(download, "SERVER_REACHED", BRIEF)
    looked_up: queue.Queue[str] = queue.Queue()
    never = threading.Event()

    def hang(host: str, *_: object, **__: object) -> list[object]:
        looked_up.put(host)
        never.wait()
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    servers = {"https://one.example", "https://two.example"}
    try:
        for _ in range(2):
            assert set(unreachable(servers)) == servers
        # The threads may begin only after they are no longer waited for.
        assert {looked_up.get(timeout=60) for _ in servers} == {"one.example", "two.example"}
    finally:
        never.set()
    assert looked_up.empty()


def test_a_server_that_responds_with_any_status_is_reachable(server: ReleaseServer) -> None:
    assert not unreachable([server.url])
    assert not unreachable([server.url])
    assert [request.method for request in server.requests] == ["HEAD"]


@pytest.mark.usefixtures("go")
def test_a_server_that_becomes_unreachable_is_not_tried_again_in_this_run(
    server: ReleaseServer, etcd: str, closed_port: str
) -> None:
    server.redirects[etcd] = f"{closed_port}/objects"
    names = ("kube-apiserver", "kube-scheduler")
    for name in names:
        server.redirects[server.publish(name, b"")] = f"{closed_port}/objects"
    assert take() is Origin.BUILT
    before = len(server.requests)
    resolve(names, progress=SilentProgress())
    assert len(server.requests) == before


def test_http_proxy_and_no_proxy_are_respected(
    server: ReleaseServer, etcd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEDPROOF_RELEASES", "http://releases.invalid")
    monkeypatch.setenv("http_proxy", server.url)
    # A proxy is asked for whole URLs.
    for path in list(server.files):
        server.files[f"http://releases.invalid/{path}"] = server.files.pop(path)
    assert take() is Origin.RELEASE
    monkeypatch.setenv("no_proxy", "releases.invalid")
    monkeypatch.setattr(download, "_state", {})
    assert unreachable(["http://releases.invalid"])


@pytest.mark.parametrize("name", sorted(set(KIND.binaries) - {"kwok"}))
def test_binaries_of_kind_clusters_have_a_release(name: str) -> None:
    assert lock.load().builds()[name].asset(name) is not None


def test_locating_uses_no_network(server: ReleaseServer) -> None:
    assert locate(["etcd"]) == {"etcd": None}
    assert not server.requests
