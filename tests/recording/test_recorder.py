"""The recorder, with the storing fake apiserver: what it records, and how it ends."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedproof.clusters.api import Api
from schedproof.foundation.deadlines import OBJECT_SHOWN
from schedproof.foundation.errors import HostError
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.acts import CasePhase, Run, RunCandidate, RunCluster, Users
from schedproof.history.observations import WatchEvent
from schedproof.history.saved import SCHEMA
from schedproof.recording.recorder import Recorder

from ..fake_apiserver.scripted import CUT, GONE, OVER
from ..fake_apiserver.storing import Storing

HEADER = Run(
    version=SCHEMA, seed=7, versions={}, scheduler_names=["tested"], namespace="ns", epoch=0.0,
    candidate=RunCandidate(name="tested", kind="attached", scheduler_name="tested", path="", claims={}),
    cluster=RunCluster(name="embedded", capabilities=[]), users=Users(candidate=["tested"]),
)  # fmt: skip
POD: dict[str, Any] = {"metadata": {"name": "a", "managedFields": []}, "spec": {}, "status": {"phase": "Pending"}}


@pytest.fixture
def server() -> Iterator[Storing]:
    with contextlib.closing(Storing()) as server:
        server.store("nodes", {"metadata": {"name": "n"}})
        yield server


@pytest.fixture
def recorder(server: Storing, tmp_path: Path) -> Iterator[Recorder]:
    with contextlib.closing(Recorder(Api(server.url, None), tmp_path / "run", HEADER, None)) as recorder:
        yield recorder


def await_shown(recorder: Recorder, name: str) -> None:
    def probe() -> None:
        recorder.check()
        if not any(pod["metadata"]["name"] == name for pod in recorder.pods.values()):
            raise NotYet("it is not shown")

    wait_for(probe, OBJECT_SHOWN, what=name, wake=recorder.changed)


@pytest.mark.parametrize("rules", [True, False])
def test_devices_are_watched_as_far_as_they_are_served(server: Storing, tmp_path: Path, rules: bool) -> None:
    """DeviceTaintRules are not served by every minor version."""
    devices = ["deviceclasses", "resourceslices", "resourceclaims", *(["devicetaintrules"] if rules else [])]
    server.kinds["resource.k8s.io/v1"] = [{"name": name} for name in devices]
    header = HEADER.model_copy(
        update={
            "candidate": HEADER.candidate.model_copy(update={"claims": {"features": ["dra"]}}),
            "cluster": HEADER.cluster.model_copy(update={"capabilities": ["claimed-devices"]}),
        }
    )
    with contextlib.closing(Recorder(Api(server.url, None), tmp_path / "run", header, None)):
        begun = {thread.name.removeprefix("watch-") for thread in threading.enumerate()}
    assert {name for name in begun if name.startswith(("device", "resource"))} == set(devices)


def test_existing_objects_are_listed_and_later_events_are_watched(server: Storing, recorder: Recorder) -> None:
    assert list(recorder.nodes) == ["n"]
    pod = server.store("pods", POD, "ns")
    await_shown(recorder, "a")
    uid = pod["metadata"]["uid"]
    assert (recorder.rv, recorder.versions[uid], recorder.placed) == (server.version, server.version, set())
    server.bind("ns", "a", "n")
    server.delete("pods", "a", "ns")
    server.store("pods", {**POD, "metadata": {"name": "b"}}, "ns")
    await_shown(recorder, "b")
    assert (uid in recorder.pods, uid in recorder.placed, uid in recorder.shown) == (False, True, True)
    events = [record for record in recorder.records if isinstance(record, WatchEvent)]
    assert [event.type for event in events] == ["LISTED", "ADDED", "MODIFIED", "DELETED", "ADDED"]
    assert "managedFields" not in events[1].object["metadata"]


def test_a_watch_that_ends_is_resumed_at_its_last_resource_version(server: Storing, recorder: Recorder) -> None:
    server.store("pods", POD, "ns")
    await_shown(recorder, "a")
    server.end(OVER)
    server.store("pods", {**POD, "metadata": {"name": "b"}}, "ns")
    await_shown(recorder, "b")
    assert sum(isinstance(record, WatchEvent) for record in recorder.records) == 3, "each object once"


@pytest.mark.parametrize(("how", "why"), [(CUT, "ended prematurely"), (GONE, "the watch of .* ended with an error")])
def test_a_watch_that_loses_events_is_an_error(server: Storing, recorder: Recorder, how: object, why: str) -> None:
    server.store("pods", POD, "ns")
    await_shown(recorder, "a")  # so there is a watch of pods
    server.end(how)
    with pytest.raises(HostError, match=why):
        wait_for(lambda: _fail(recorder), OBJECT_SHOWN, what="the end", wake=recorder.changed)
    with pytest.raises(HostError, match=why):
        recorder.add(CasePhase(case="core/binds", phase="begin"))


def _fail(recorder: Recorder) -> None:
    recorder.check()
    raise NotYet("it goes on")


def test_watches_that_begin_while_the_recorder_closes_are_closed_too(recorder: Recorder) -> None:
    class Late:
        """A watch that starts another watch while it is closed."""

        def close(self) -> None:
            watches["late"] = Late()

    watches: Any = recorder._watches
    watches["early"] = Late()
    recorder.close()
    assert not any(thread.is_alive() for thread in recorder._threads)
