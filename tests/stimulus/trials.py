"""Makes trials on a fake apiserver, of a candidate of which no process runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.surroundings import PolicyRule, RbacSpec
from schedproof.stimulus import trial as module
from schedproof.stimulus.trial import Trial

from .world import SCHEDULER, World

ROLES = ("system:kube-scheduler", "system:volume-scheduler", "system:basic-user", "system:discovery")


def rule(resource: str) -> dict[str, list[str]]:
    return {"verbs": ["get"], "apiGroups": [""], "resources": [resource]}


class Attachment:
    """A candidate that schedules as the world says; `acts` is what was done to it, with the pods that there were."""

    deploy = "process"

    def __init__(self, world: World, log: Path) -> None:
        self._world = world
        self.acts: list[tuple[str, int]] = []
        self.starts = 0
        self.ended = False
        self.error: Exception | None = None
        self.users, self.process_users = [SCHEDULER, "helper"], {"helper": "helper"}
        self.programs = [
            SimpleNamespace(name="helper", rbac=RbacSpec(rules=(PolicyRule(("get",), ("",), ("secrets",)),))),
            SimpleNamespace(name="another", rbac=None),
        ]
        self.versions = {"image": "sha256:abc"}
        self.scheduler_names = [SCHEDULER]
        self.scheduler_log = log

    def _did(self, what: str) -> None:
        self.acts.append((what, len(self._world.server.names("pods"))))

    def start(self, _: Any) -> None:
        self._did("start")
        self.starts += 1
        if self.error is not None:
            raise self.error

    def restart_if_ended(self) -> None:
        self._did("restart if ended")

    def stop(self) -> None:
        self._did("stop")

    def pids(self) -> dict[str, list[int]]:
        return {}

    def report_exits(self) -> None:
        self._did("report exits")

    def await_answers(self) -> None:
        pass

    def record_left(self) -> None:
        self._did("record left")

    def catch_up(self) -> None:
        self._did("catch up")


class Control:
    """The stock scheduler beside it."""

    def __init__(self, log: Path) -> None:
        self.acts: list[str] = []
        self.process = SimpleNamespace(command=SimpleNamespace(log=log), stop=lambda **_: self.acts.append("stop"))

    def start(self, *_: Any, **__: Any) -> Control:
        self.acts.append("start")
        return self

    def wait_ready(self) -> None:
        self.acts.append("ready")


class Trials:
    """Makes trials on the cluster of a world."""

    def __init__(self, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for log in ("scheduler.log", "control.log"):
            (folder / log).touch()
        self.world, self._folder = world, folder
        self.log, self.control_log = folder / "scheduler.log", folder / "control.log"
        self.attachment, self.control = Attachment(world, self.log), Control(self.control_log)
        self.rules: list[Any] = []
        for role in ROLES:
            world.server.store("clusterroles", {"metadata": {"name": role}, "rules": [rule(role)]})
        cluster = world.cluster
        cluster.audit_log, cluster.host = None, None
        cluster.versions, cluster.servers = (lambda: {"kubernetes": "v1.36.0"}), dict
        cluster.load_rules = self.rules.extend
        cluster.identity = lambda name, _: SimpleNamespace(user=f"user of {name}", kubeconfig=folder / "kubeconfig")
        monkeypatch.setattr(module, "Attachment", lambda *_: self.attachment)
        monkeypatch.setattr(module, "start_scheduler", self.control.start)
        self.candidate = world.candidate
        self._numbers = iter(range(9))

    def make(self, **options: Any) -> Trial:
        return Trial(self.world.cluster, self.candidate, self._folder / f"trial-{next(self._numbers)}", 7, **options)
