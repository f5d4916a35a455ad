"""What of manifests needs pods, which do not run where kubelets are simulated: webhooks, APIs and Deployments."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from schedproof.candidate.installed import kinds_in
from schedproof.candidate.served import WEBHOOKS, Service, services_of
from schedproof.documents.manifests import Placed
from schedproof.documents.problems import Place

_RUNS_PODS = (
    "Pod", "ReplicaSet", "ReplicationController", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob",
)  # fmt: skip


class Unserved(NamedTuple):
    """A manifest that needs pods of its cluster.

    Attributes:
        effect: `refuses`: requests of others fail without them; `answers`: an API does not respond; `idle`: nothing
            happens.
        why: for people.
    """

    place: Place
    kind: str
    name: str
    effect: Literal["refuses", "answers", "idle"]
    why: str

    @property
    def harms(self) -> bool:
        """Whether a candidate, or the apiserver itself, waits for what does not respond."""
        return self.effect != "idle"

    def __str__(self) -> str:
        return f"{self.place}: {self.kind} {self.name} {self.why}"


def find_unserved(manifests: Sequence[Placed], served: Collection[Service] = ()) -> list[Unserved]:
    """What of the manifests needs pods, in their order; `served`: Services that processes are behind."""
    elsewhere = {
        (str(manifest["metadata"].get("namespace") or ""), str(manifest["metadata"]["name"]))
        for _, manifest in manifests
        if manifest["kind"] == "Service" and _spec(manifest).get("type") == "ExternalName"
    } | set(served)
    return [
        Unserved(place, manifest["kind"], manifest["metadata"]["name"], effect, why)
        for place, manifest in manifests
        for effect, why in _needs(manifest, elsewhere)
    ]


def _needs(
    manifest: Mapping[str, Any], elsewhere: set[Service]
) -> Iterator[tuple[Literal["refuses", "answers", "idle"], str]]:
    kind = manifest["kind"]
    if kind in WEBHOOKS:
        hooks = [hook for hook in manifest.get("webhooks") or () if hook.get("failurePolicy", "Fail") != "Ignore"]
        if services := set(services_of({**manifest, "webhooks": hooks})) - elsewhere:
            yield "refuses", f"has {_of(services)} asked about {_asked_about(hooks)}, which are refused without it"
    elif kind == "APIService":
        if services := set(services_of(manifest)) - elsewhere:
            yield "answers", f"leads to {_of(services)}"
    elif kind in _RUNS_PODS:
        yield "idle", "needs nodes that run its pods"


def _spec(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return manifest.get("spec") or {}


def _of(services: set[Service]) -> str:
    return f"the Service {', '.join(sorted('/'.join(filter(None, service)) for service in services))}"


def _asked_about(hooks: Sequence[Mapping[str, Any]]) -> str:
    """The resources of webhooks, such as `queues, pods`."""
    found = [one for hook in hooks for each in hook.get("rules") or () for one in each.get("resources") or ()]
    return ", ".join(list(dict.fromkeys(found))[:6]) or "requests"


def served_kinds(manifests: Sequence[Placed], unserved: Sequence[Unserved]) -> list[str]:
    """The kinds of the manifests that need no pods: what `kinds` may have. A Service without pods is of no use."""
    without = {one.kind for one in unserved} | {"Service"}
    return [kind for kind in kinds_in(manifest for _, manifest in manifests) if kind not in without]
