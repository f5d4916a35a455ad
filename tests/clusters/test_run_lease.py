"""One run at a time: a run holds a Lease of the cluster as long as it renews it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, cast

import pytest

from schedproof.clusters import run_lease
from schedproof.clusters.api import Api, Conflict, Manifest, NotFound
from schedproof.clusters.node_backup import NotingApi
from schedproof.clusters.run_lease import RunLease
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.waiting import NotYet, wait_for

SOON = Deadline("test", 30, "what is played here happens at once")


class Leases:
    """An apiserver with one Lease. `renewed` is called at every read of it."""

    def __init__(self, holder: str = "", renewed: Callable[[Leases], None] = lambda _: None) -> None:
        self.lease: Manifest | None = None
        self.renewed = renewed
        self.version = 0
        if holder:
            self.write({"holderIdentity": holder, "acquireTime": "some time"})

    def write(self, spec: Manifest) -> Manifest:
        self.version += 1
        old = self.lease or {"metadata": {"uid": f"uid-{self.version}"}, "spec": {}}
        metadata = {**old["metadata"], "resourceVersion": str(self.version)}
        self.lease = {"metadata": metadata, "spec": {**old["spec"], **spec}}
        return self.lease

    def get(self, *_: str) -> Manifest:
        if self.lease is None:
            raise NotFound("GET", "lease", 404, b"")
        found = self.lease
        self.renewed(self)
        return found

    def create(self, _resource: str, body: Manifest, _namespace: str) -> Manifest:
        if self.lease is not None:
            raise Conflict("POST", "lease", 409, b"")
        return self.write(body["spec"])

    def merge(self, _resource: str, _name: str, patch: Manifest, _namespace: str) -> Manifest:
        if patch["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict("PATCH", "lease", 409, b"")
        return self.write(patch["spec"])

    def delete(self, *_: str, uid: str) -> None:
        if self.lease is None or self.lease["metadata"]["uid"] != uid:
            raise Conflict("DELETE", "lease", 409, b"")
        self.lease = None


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lease, "_DURATION", 0.2)


def taken(leases: Leases) -> RunLease:
    return RunLease(cast("Api", leases), "r1")


def holder(leases: Leases) -> Any:
    return leases.lease and leases.lease["spec"]["holderIdentity"]


def test_a_run_holds_the_lease_of_an_unused_cluster_and_deletes_it_at_its_end() -> None:
    leases = Leases()
    with contextlib.closing(taken(leases)):
        assert "run r1" in holder(leases)
    assert leases.lease is None


def test_holder_that_renews_keeps_the_lease_whatever_its_clock() -> None:
    leases = Leases("another", renewed=lambda held: cast("None", held.write({})))
    with pytest.raises(UsageError, match="in use by another, since some time") as refused:
        taken(leases)
    assert "one run at a time" in refused.value.remedy
    assert holder(leases) == "another"


def test_holder_that_stops_renewing_loses_the_lease() -> None:
    leases = Leases("another")
    with contextlib.closing(taken(leases)):
        assert "run r1" in holder(leases)


def test_a_lease_that_its_holder_deletes_meanwhile_is_acquired() -> None:
    def end(leases: Leases) -> None:
        leases.lease = None

    leases = Leases("another", renewed=end)
    first = taken(leases)
    assert "run r1" in holder(leases)
    first.close()


def test_of_two_runs_that_acquire_an_expired_lease_only_the_first_holds_it() -> None:
    """Another run writes between this run's read and its write, and then renews."""

    def quicker(leases: Leases) -> None:
        leases.write({"holderIdentity": "another", "acquireTime": "just now"})

    leases = Leases("dead", renewed=quicker)
    with pytest.raises(UsageError, match="in use by another, since just now"):
        taken(leases)


def test_a_lease_that_another_run_holds_by_now_is_not_deleted() -> None:
    leases = Leases()
    ours = taken(leases)
    leases.lease = None
    leases.write({"holderIdentity": "another"})
    ours.close()
    assert holder(leases) == "another"


def _until_lost(lease: RunLease) -> None:
    def probe() -> None:
        if lease.is_held:
            raise NotYet("held")

    wait_for(probe, SOON, what="the loss of the Lease")


def test_a_run_that_has_lost_its_lease_writes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lease, "_DURATION", 1_000)
    monkeypatch.setattr(run_lease, "_RENEW", 0.01)
    leases, api = Leases(), NotingApi("http://192.0.2.1", None)
    with contextlib.closing(taken(leases)) as api.lease:
        assert api.lease is not None
        api.lease.require()
        leases.write({"holderIdentity": "another"})
        _until_lost(api.lease)
        with pytest.raises(HostError, match="has lost the Lease kube-system/schedproof"):
            api.create("pods", {"metadata": {"name": "p"}}, "ns")


def test_a_lease_that_could_not_be_renewed_in_time_is_lost() -> None:
    leases = Leases()
    with contextlib.closing(taken(leases)) as lease:
        leases.lease = None  # it cannot be read any more
        _until_lost(lease)
