"""Every deadline of the harness: its name, its length in seconds, and the reason for it.

A deadline only bounds how long a *failure* takes to show: each is several times what a loaded two-core machine needs,
and no verdict depends on how close a wait came to it. The deadlines of candidates (bind, reaction, requeue, takeover,
freshness) are the defaults of `claims.timing`.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Deadline:
    """A bound on waiting: `seconds`, under a `name` that appears in the error."""

    name: str
    seconds: float
    reason: str

    def then(self, other: Deadline) -> Deadline:
        """Return a deadline for what has `other` of its own once this one is met. It keeps this one's name."""
        return dataclasses.replace(self, seconds=self.seconds + other.seconds)


SANDBOX_REPLY = Deadline("sandbox reply", 90, "forking from a small process takes milliseconds")
CONTROL_PLANE_READY = Deadline("control plane ready", 240, "kube-apiserver takes 3 s alone on two cores")
DAEMON_READY = Deadline("daemon ready", 120, "prometheus, kwok and exporters start in under a second")
NODE_READY = Deadline("node ready", 120, "kwok posts Ready within a second, kubelets in ten; on a busy machine in tens")
FIRST_SCRAPE = Deadline("first scrape", 90, "targets are scraped within one interval of being discovered")
CANDIDATE_READY = Deadline("candidate ready", 60, "an interpreter and its imports, cold, in a container, under load")
CANDIDATE_STOP = Deadline("candidate stop", 5, "SIGTERM, then SIGKILL: a scheduler keeps no state to save")
BIND = Deadline("bind", 20, "a feasible pod is bound in milliseconds; one back-off of 10 s must fit in")
REACTION = Deadline("reaction", 20, "a condition or an event follows a decision at once")
REQUEUE = Deadline("requeue", 30, "the change plus 10 s of back-off (core/requeue-*), on a busy machine")
TAKEOVER = Deadline("takeover", 60, "client-go's default lease is taken over within 19.4 s; three times that, as above")
UNHEALTHY = Deadline("unhealthy", 5, "a kubelet asks several times, seconds apart, before it ends a container")
FRESHNESS = Deadline("freshness", 2, "a watch delivers in milliseconds, on a busy machine in tenths of a second")
REPORTED = Deadline("told", 0.5, "a decision and its condition are milliseconds apart")
TOKEN_READ = Deadline("token read again", 300, "Kubernetes' docs: it is often good enough to do so every 5 minutes")
TOKEN_REFUSED = Deadline("token refused", 60, "the apiserver remembers for 10 s that a token is valid")
AGAIN = Deadline("again", 2, "a candidate that has never done this, and has missed a whole deadline for it before")
LATE = Deadline("late", 5, "after a missed deadline: tells a candidate that is late from one that never binds")
BUDGET_IN_FORCE = Deadline("budget in force", 60, "the disruption controller counts pods again within a second")
VOLUME_READY = Deadline("volume ready", 60, "the volume controller answers a change, or a claim, within a second")
CLAIM_RELEASED = Deadline("claim released", 60, "kube-controller-manager answers the end of a pod within a second")
OBJECT_SHOWN = Deadline("object shown", 60, "a watch delivers in milliseconds, on a busy machine in tenths of a second")
OBJECT_SERVED = Deadline("object served", 60, "the apiserver serves a new kind within a second of its definition")
OBJECT_GONE = Deadline("object gone", 60, "deletion with no grace period is one write")
POD_PHASE = Deadline("pod phase", 120, "a kubelet starts or ends a container in seconds, on a busy machine in tens")
LEASE_TAKEN = Deadline("lease taken", 90, "whether another holder still renews it shows within 15 s")
SWEPT = Deadline("swept", 180, "the namespace controller empties a namespace of every resource, one by one")
AUDIT_CAUGHT_UP = Deadline("audit log caught up", 60, "the apiserver writes a line when the response is done")
SCRAPED = Deadline("scrapes", 600, "a claimed window, at most minutes, without a failed scrape on a busy machine")
CALL_RECORDED = Deadline("call recorded", 1, "an extender responds to bind milliseconds after its Binding shows")
WEBHOOK_CALLED = Deadline("webhook called", 90, "the apiserver's watch of webhooks delivers in milliseconds")
POD_STARTED = Deadline("pod started", 120, "scheduling, a sandbox and a container take seconds, on a busy machine tens")
POD_GONE = Deadline("pod gone", 120, "a kubelet ends a container within its grace period, and then tells the apiserver")
RECONNECTED = Deadline("reconnected", 600, "a laptop that sleeps, or a network that changes, is back in minutes")
SUBMISSION_GONE = Deadline(
    "submission gone", 300, "a run that is ended removes what it created, within its grace period"
)
WORKER_GONE = Deadline("worker gone", 180, "a worker closes its cluster: seconds, or tens of them on kind")
LOG_COMPLETE = Deadline("log complete", 20, "a kubelet ends the stream of a log moments after its container")
CONTAINER_MADE = Deadline("container made", 120, "Docker copies some hundred MB for each node of a kind cluster")
CONTAINER_ANSWERS = Deadline("container answers", 90, "Docker starts one in a second, five on a busy machine in ten")
KIND_CREATED = Deadline("kind cluster created", 600, "half a minute on two idle cores; kubeadm has its own limits")
KIND_LOGS = Deadline("kind logs", 180, "some MB from every node; a kubeconfig takes no time")
IMAGE_LOADED = Deadline("image loaded", 300, "some hundred MB are unpacked on every node")
DOCKER_ANSWER = Deadline("docker answer", 120, "most commands take less than a second; a busy disk makes it tens")
IMAGE_PULLED = Deadline("image pulled", 900, "a node image is 400 MB")
PACKAGES_FETCHED = Deadline("packages fetched", 900, "60 MB from the machine's own Debian mirror")
STORE_FILLED = Deadline("containerd's store filled", 300, "200 MB are copied, on a busy disk")
CONTAINER_GONE = Deadline("container gone", 180, "Docker deletes some GB of a node")
OWN_METRICS = Deadline("own metrics", 5, "a binding is counted microseconds after the apiserver's answer")
IMAGE_BUILT = Deadline("image built", 600, "seconds for what the harness builds; a Dockerfile may do anything")
PACKAGES_INSTALLED = Deadline("packages installed", 600, "pip, a dozen wheels, over a slow network")
