"""Whose kind clusters are removed: ours, that nobody uses. The Docker daemon here is a table of containers."""

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
    """A node as kind makes it; ours, if its lock is that of its cluster."""
    return container(name or f"{cluster}-worker", {CLUSTER_LABEL: cluster}, [(lock, MARK)] if lock else [])


def our_node(cluster: str, name: str = "") -> dict[str, Any]:
    return node(cluster, name, Claim.path_of(cluster))


def beside(cluster: str, name: str) -> dict[str, Any]:
    return container(name, {LOCK_LABEL: str(Claim.path_of(cluster))})


class Daemon:
    """What of Docker the removal uses."""

    def __init__(self) -> None:
        self.containers: list[dict[str, Any]] = []
        self.half_made: list[dict[str, Any]] = []
        """Their names are taken; nobody sees them before they were looked for once more."""
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
        return "\n".join(one[shown].removeprefix("/") for one in self.containers if self._matches(one, field, value))

    @staticmethod
    def _matches(one: dict[str, Any], field: str, value: str) -> bool:
        if field == "label":
            return value.partition("=")[0] in one["Config"]["Labels"]
        return not field or value == f"^{one['Name']}$"

    def _inspect(self, _: str, identity: str) -> str:
        return json.dumps([one for one in self.containers if one["Id"] == identity])

    def _rm(self, *arguments: str) -> str:
        self.containers = [one for one in self.containers if one["Name"][1:] not in arguments]
        return ""

    def _create(self, *arguments: str) -> str:
        name = f"/{arguments[arguments.index('--name') + 1]}"
        for one in self.half_made:
            if one["Name"] == name:
                self.half_made.remove(one)
                self.containers.append(one)
                raise DockerError(f"the name {name} is already in use")
        return f"id-probe{name}"


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    one = Daemon()
    monkeypatch.setattr(leftovers, "docker", one)
    monkeypatch.setattr(host_settings, "docker", one)
    monkeypatch.setattr(leftovers, "image_present", lambda _: True)
    return one


def claimed(cluster: str, *, kept: bool = False) -> Claim:
    claim = Claim(cluster)
    claim.write(Note([f"{cluster}-worker"], "image", "digest", "", kept))
    return claim


def names(daemon: Daemon) -> list[str]:
    return sorted(one["Name"][1:] for one in daemon.containers)


def test_a_node_is_ours_by_the_file_that_it_has_mounted_and_not_by_any_name(cache: Path) -> None:
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


def test_what_a_dead_run_left_is_removed_and_nothing_else(daemon: Daemon) -> None:
    claimed("dead").release()
    daemon.containers = [
        our_node("dead"), our_node("dead", "dead-control-plane"), beside("dead", "dead-prometheus"),
        node("foreign"), node("schedproof-abc", "schedproof-abc-worker"), container("web", {"app": "web"}),
    ]  # fmt: skip
    assert remove_leftovers() == ["kind cluster dead"]
    assert names(daemon) == ["foreign-worker", "schedproof-abc-worker", "web"]
    assert not Claim.path_of("dead").exists()
    assert remove_leftovers() == []


def test_what_a_living_run_uses_stays(daemon: Daemon) -> None:
    claim = claimed("alive")
    daemon.containers = [our_node("alive"), beside("alive", "alive-traffic")]
    assert remove_leftovers() == []
    with pytest.raises(UsageError, match="another run uses the cluster 'alive'"):
        remove_leftovers(["alive"])
    assert len(daemon.containers) == 2
    claim.release()
    assert remove_leftovers() == ["kind cluster alive"]


def test_a_kept_cluster_goes_only_by_its_name_but_what_a_run_had_beside_it_goes(daemon: Daemon) -> None:
    claimed("kept", kept=True).release()
    daemon.containers = [our_node("kept"), beside("kept", "kept-prometheus")]
    assert remove_leftovers() == ["container kept-prometheus"]
    assert names(daemon) == ["kept-worker"]
    assert remove_leftovers(["kept"]) == ["kind cluster kept"]
    assert not daemon.containers


def test_only_a_cluster_of_ours_can_be_named(daemon: Daemon) -> None:
    daemon.containers = [node("foreign")]
    with pytest.raises(UsageError, match="has started no kind cluster named foreign"):
        remove_leftovers(["foreign"])
    assert len(daemon.containers) == 1


def test_a_node_that_docker_is_still_making_is_waited_for(daemon: Daemon) -> None:
    """Its client was killed with the run; for seconds only its name shows that it will be there."""
    claimed("dead").release()
    daemon.half_made = [our_node("dead")]
    assert remove_leftovers() == ["kind cluster dead"]
    assert not daemon.containers
    assert not daemon.half_made


def test_without_docker_there_is_nothing_to_remove_unless_there_was_a_cluster(daemon: Daemon) -> None:
    daemon.runs = False
    assert remove_leftovers() == []
    claimed("dead").release()
    with pytest.raises(HostError, match="not running"):
        remove_leftovers()
    assert Claim.path_of("dead").exists()


def test_a_name_is_held_by_one_run_at_a_time() -> None:
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


def test_kernel_settings_come_back_when_the_last_cluster_is_gone(
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
