"""Limits a persistent cluster to one run at a time: a Lease names the run that uses it."""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import threading
import time
from collections.abc import Callable

from schedproof.clusters.api import Api, Conflict, Manifest, NotFound
from schedproof.foundation.deadlines import LEASE_TAKEN
from schedproof.foundation.errors import HostError, SchedproofError, UsageError
from schedproof.foundation.waiting import NotYet, wait_for

_NAMESPACE, _NAME = "kube-system", "schedproof"
_DURATION = 15
"""Seconds after which a Lease that is not renewed is free."""
_RENEW = 2.0


class RunLease:
    """The exclusive use of a cluster, from construction to `close`.

    Another holder is alive if it renews its Lease while it is watched; clocks are not compared.

    Args:
        api: may write Leases.
        run: the id of this run.

    Raises:
        UsageError: another live run uses the cluster.
    """

    def __init__(self, api: Api, run: str) -> None:
        self._api = api
        self._identity = f"run {run} (process {os.getpid()} of user {os.getuid()} on {socket.gethostname()})"
        self._closing = threading.Event()
        self._lost = False
        self._take()
        self._renewed = time.monotonic()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._thread.start()

    def _take(self) -> None:
        seen, since = "", 0.0

        def probe() -> None:
            nonlocal seen, since
            try:
                lease = self._api.get("leases", _NAME, _NAMESPACE)
            except NotFound:
                self._attempt(lambda: self._api.create("leases", self._document(), _NAMESPACE))
                return
            spec, version = lease["spec"], lease["metadata"]["resourceVersion"]
            if seen and version != seen:
                raise UsageError(
                    f"the cluster is in use by {spec['holderIdentity']}, since {spec['acquireTime']}",
                    remedy="wait until it ends, or stop it: only one run at a time can use a cluster",
                )
            if not seen:
                seen, since = version, time.monotonic()
            if time.monotonic() - since < _DURATION:
                raise NotYet(f"held by {spec['holderIdentity']}, which has not renewed it so far")
            self._attempt(lambda: self._api.merge("leases", _NAME, self._document(version), _NAMESPACE))

        wait_for(probe, LEASE_TAKEN, what=f"the Lease {_NAMESPACE}/{_NAME}", poll=0.5)

    def _attempt(self, write: Callable[[], Manifest]) -> None:
        try:
            self._uid = write()["metadata"]["uid"]
        except Conflict as error:
            raise NotYet("another run acquired the lease first") from error

    def _document(self, version: str = "") -> Manifest:
        now = timestamp()
        return {
            "metadata": {"name": _NAME, **({"resourceVersion": version} if version else {})},
            "spec": {
                "holderIdentity": self._identity, "leaseDurationSeconds": _DURATION,
                "acquireTime": now, "renewTime": now,
            },
        }  # fmt: skip

    def _renew(self) -> None:
        while not self._closing.wait(_RENEW):
            # Retry if the apiserver is unavailable. Stop renewing if another run has taken over the Lease.
            with contextlib.suppress(SchedproofError):
                begin = time.monotonic()
                lease = self._api.get("leases", _NAME, _NAMESPACE)
                if lease["spec"]["holderIdentity"] != self._identity:
                    self._lost = True
                    return
                version = lease["metadata"]["resourceVersion"]
                patch = {"metadata": {"resourceVersion": version}, "spec": {"renewTime": timestamp()}}
                self._api.merge("leases", _NAME, patch, _NAMESPACE)
                self._renewed = begin

    @property
    def is_held(self) -> bool:
        """Whether no other run can have taken over; false for good once the Lease has not been renewed in time."""
        # A process that was suspended sees this before its thread has tried to renew.
        self._lost = self._lost or time.monotonic() - self._renewed >= _DURATION
        return not self._lost

    def require(self) -> None:
        """Check that the cluster is still this run's.

        Raises:
            HostError: the Lease is lost.
        """
        if not self.is_held:
            raise HostError(
                f"this run has lost the Lease {_NAMESPACE}/{_NAME}, so that another run may use the cluster by now",
                remedy="run it again; a Lease is lost if this process or its connection to the apiserver is suspended "
                f"for {_DURATION:g} s",
            )

    def close(self) -> None:
        """Release the Lease, so that the next run need not wait."""
        self._closing.set()
        self._thread.join()
        with contextlib.suppress(NotFound, Conflict):  # another run holds it by now
            self._api.delete("leases", _NAME, _NAMESPACE, uid=self._uid)


def timestamp() -> str:
    """Return the current time as a metav1.MicroTime."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
