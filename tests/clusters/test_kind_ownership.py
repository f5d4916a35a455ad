"""Removal of kind clusters: those of this cache that no run uses. Docker is replaced by a table of containers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.clusters.kind import host_settings, leftovers
from schedproof.clusters.kind.docker import DockerError
from schedproof.clusters.kind.leftovers import remove_leftovers
from schedproof.clusters.kind.ownership import CLUSTER_LABEL, LOCK_LABEL, MARK, Claim, Note, ours
from schedproof.foundation.errors import HostError, UsageError

NOTE = Note(["x-control-plane", "x-worker"], "image", "digest", "/evidence/audit.jsonl")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path))
    return tmp_path


def container(name: str, labels: dict[str, str], mounts: list[tuple[object, str]] = []) -> dict[str, Any]:  # noqa: B006
    found = [{"Source": str(source), "Destination": destination} for source, destination in mounts]
    return {"Id": f"id-{name}", "Name": f"/{name}", "Config": {"Labels": labels}, "Mounts": found}


def node(cluster: str, name: str = "", lock: object = None) -> dict[str, Any]:
    """A node as kind creates it; ours, if its lock is that of its cluster."""
    return container(name or f"{cluster}-worker", {CLUSTER_LABEL: cluster}, [(lock, MARK)] if lock else [])


def our_node(cluster: str, name: str = "") -> dict[str, Any]:
    return node(cluster, name, Claim.path_of(cluster))


def beside(cluster: str, name: str) -> dict[str, Any]:
    return container(name, {LOCK_LABEL: str(Claim.path_of(cluster))})


class Daemon:
    """The Docker commands that the removal uses."""

    def __init__(self) -> None:
        self.containers: list[dict[str, Any]] = []
        self.half_made: list[dict[str, Any]] = []
        """Their names are taken; they are listed only after another look."""
        self.runs = True

    def __call__(self, command: str, *arguments: str, **_: object) -> str:
        if not self.runs:
            raise HostError("the Docker daemon is not running")
        return str(getattr(self, f"_{command}")(*arguments))

    def _ps(self, *arguments: str) -> str:
        (selection,) = [argument.removeprefix("--filter=") for argument in arguments if "filter=" in argument] or [""]
        field, _, value = selection.partition("=")
        if arguments[-2] == "--filter":
            field, _, value = arguments[-1].partition("=")
        shown = "Name" if "--format={{.Names}}" in arguments else "Id"
        return "\n".join(
            container[shown].removeprefix("/")
            for container in self.containers
            if self._matches(container, field, value)
        )

    @staticmethod
    def _matches(container: dict[str, Any], field: str, value: str) -> bool:
        if field == "label":
            return value.partition("=")[0] in container["Config"]["Labels"]
        return not field or value == f"^{container['Name']}$"

    def _inspect(self, _: str, identity: str) -> str:
        return json.dumps([container for container in self.containers if container["Id"] == identity])

    def _rm(self, *arguments: str) -> str:
        self.containers = [container for container in self.containers if container["Name"][1:] not in arguments]
        return ""

    def _create(self, *arguments: str) -> str:
        name = f"/{arguments[arguments.index('--name') + 1]}"
        for container in self.half_made:
            if container["Name"] == name:
                self.half_made.remove(container)
                self.containers.append(container)
                raise DockerError(f"the name {name} is already in use")
        return f"id-probe{name}"


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    fake = Daemon()
    monkeypatch.setattr(leftovers, "docker", fake)
    monkeypatch.setattr(host_settings, "docker", fake)
    monkeypatch.setattr(leftovers, "image_present", lambda _: True)
    return fake


def claimed(cluster: str, *, kept: bool = False) -> Claim:
    claim = Claim(cluster)
    claim.write(Note([f"{cluster}-worker"], "image", "digest", "", kept))
    return claim


def names(daemon: Daemon) -> list[str]:
    return sorted(container["Name"][1:] for container in daemon.containers)


def test_a_node_is_ours_if_it_mounts_the_lock_of_its_cluster_whatever_its_name(cache: Path) -> None:
    lock = Claim.path_of("x")
    assert list(ours([our_node("x")])) == ["x"]
    assert not ours(
        [
            node("x"),
            node("schedproof"),
            node("x", lock=Claim.path_of("y")),
            node("x", lock=cache.parent / "another-cache" / "kind" / lock.name),
            container("x-worker", {CLUSTER_LABEL: "x"}, [(lock, "/elsewhere")]),
            container("x-worker", {}, [(lock, MARK)]),
            container("x-prometheus", {LOCK_LABEL: str(cache / "elsewhere" / lock.name)}),
        ]
    )


def test_only_clusters_and_containers_of_dead_runs_are_removed(daemon: Daemon) -> None:
    claimed("dead").release()
    daemon.containers = [
        our_node("dead"), our_node("dead", "dead-control-plane"), beside("dead", "dead-prometheus"),
        node("foreign"), node("schedproof-abc", "schedproof-abc-worker"), container("web", {"app": "web"}),
    ]  # fmt: skip
    assert remove_leftovers() == ["kind cluster dead"]
    assert names(daemon) == ["foreign-worker", "schedproof-abc-worker", "web"]
    assert not Claim.path_of("dead").exists()
    assert remove_leftovers() == []


def test_the_cluster_of_a_live_run_is_not_removed(daemon: Daemon) -> None:
    claim = claimed("alive")
    daemon.containers = [our_node("alive"), beside("alive", "alive-traffic")]
    assert remove_leftovers() == []
    with pytest.raises(UsageError, match="another run uses the cluster 'alive'"):
        remove_leftovers(["alive"])
    assert len(daemon.containers) == 2
    claim.release()
    assert remove_leftovers() == ["kind cluster alive"]


def test_a_kept_cluster_is_removed_only_by_name_but_its_other_containers_are_removed(daemon: Daemon) -> None:
    claimed("kept", kept=True).release()
    daemon.containers = [our_node("kept"), beside("kept", "kept-prometheus")]
    assert remove_leftovers() == ["container kept-prometheus"]
    assert names(daemon) == ["kept-worker"]
    assert remove_leftovers(["kept"]) == ["kind cluster kept"]
    assert not daemon.containers


def test_a_cluster_that_schedproof_did_not_create_cannot_be_removed_by_name(daemon: Daemon) -> None:
    daemon.containers = [node("foreign")]
    with pytest.raises(UsageError, match="has started no kind cluster named foreign"):
        remove_leftovers(["foreign"])
    assert len(daemon.containers) == 1


def test_removal_waits_for_a_node_that_docker_is_still_creating(daemon: Daemon) -> None:
    """The run and its client of Docker were killed: for seconds only a reserved name shows that the node will exist."""
    claimed("dead").release()
    daemon.half_made = [our_node("dead")]
    assert remove_leftovers() == ["kind cluster dead"]
    assert not daemon.containers
    assert not daemon.half_made


def test_without_docker_nothing_is_removed_and_a_claimed_cluster_is_an_error(daemon: Daemon) -> None:
    daemon.runs = False
    assert remove_leftovers() == []
    claimed("dead").release()
    with pytest.raises(HostError, match="not running"):
        remove_leftovers()
    assert Claim.path_of("dead").exists()


def test_a_cluster_name_is_claimed_by_one_run_at_a_time() -> None:
    first = Claim("x")
    with pytest.raises(UsageError, match="--cluster-name"):
        Claim("x")
    Claim("y").release()
    first.release()
    Claim("x").release()


def test_a_note_outlives_the_run_that_wrote_it() -> None:
    first = Claim("x")
    assert first.note is None
    first.write(NOTE)
    first.write(NOTE)
    first.release()
    second = Claim("x")
    assert second.note == NOTE
    second.forget()
    second.release()
    third = Claim("x")
    assert third.note is None
    third.release()


def test_kernel_settings_are_restored_when_the_last_cluster_is_removed(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc = tmp_path / "proc"
    monkeypatch.setattr(host_settings, "_PROC", proc)

    def values() -> list[str]:
        return [(proc / setting).read_text().strip() for setting in host_settings.SETTINGS]

    def write(*values: str) -> None:
        for setting, value in zip(host_settings.SETTINGS, values, strict=True):
            (proc / setting).parent.mkdir(parents=True, exist_ok=True)
            (proc / setting).write_text(f"{value}\n")

    write("0", "0", "2", "128")
    claim = Claim("x")
    host_settings.note_settings("image")
    assert values() == ["0", "0", "2", "1024"], "what nodes need"
    write("10", "1", "1", "1024")  # by the kubelets
    host_settings.note_settings("image")  # of a second cluster, which sees what the first one did
    host_settings.restore_settings()
    assert values() == ["10", "1", "1", "1024"], "while a run holds a cluster"
    claim.forget()
    claim.release()
    daemon.containers = [node("foreign")]
    host_settings.restore_settings()
    assert values() == ["10", "1", "1", "1024"], "while there is any other"
    daemon.containers = []
    host_settings.restore_settings()
    assert values() == ["0", "0", "2", "128"]
    write("3", "3", "3", "4096")
    host_settings.restore_settings()
    assert values() == ["3", "3", "3", "4096"], "once"
    host_settings.note_settings("image")
    assert values() == ["3", "3", "3", "4096"], "enough is not made less"
