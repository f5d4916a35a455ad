"""Objects that pods and their terms refer to: namespaces, classes, disruption budgets and owners."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from schedproof.clusters.api import ApiError
from schedproof.clusters.objects import wait_gone
from schedproof.foundation.deadlines import BUDGET_IN_FORCE, OBJECT_SHOWN
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import FILLER, owned_by, pod_manifest


class ObjectChanges:
    """Objects of a case except pods, nodes and storage. `undo` removes all but namespaces and their content."""

    def __init__(self, context: Context) -> None:
        self._trial, self._api = context.trial, context.api
        self._prefix, self._freshness = context.prefix, context.freshness
        self._classes: list[tuple[str, str]] = []
        """Resource and name of created RuntimeClasses and PriorityClasses."""
        self._budgets: list[tuple[str, str]] = []
        """Name and namespace of created PodDisruptionBudgets."""

    def namespaces(self, **labels: Mapping[str, str]) -> list[str]:
        """Create namespaces with these labels, which stay until the end of the run, and return their full names.

        No Binding shows that the candidate has seen them, so it gets the time that it claims to need for changes.
        """
        full_names = []
        for name, namespace_labels in labels.items():
            full_name = self._trial.surroundings.namespace_beside(self._trial.namespace, name)
            self._api.merge("namespaces", full_name, {"metadata": {"labels": dict(namespace_labels)}})
            full_names.append(full_name)
        self._trial.usable_time.let_pass(self._freshness)
        return full_names

    def namespace_again(self, full_name: str, labels: Mapping[str, str]) -> None:
        """Delete a namespace without pods, and create one of the same name with other labels."""
        self._api.delete("namespaces", full_name)
        wait_gone(self._api, "namespaces", full_name)
        self._trial.surroundings.namespace(full_name, labels)
        self._trial.usable_time.let_pass(self._freshness)

    def runtime_class(self, overhead: Mapping[str, str]) -> str:
        """Create a RuntimeClass whose pods have this overhead (resource to amount), and return its name."""
        name = self._class_name()
        made = {"metadata": {"name": name}, "handler": "runc", "overhead": {"podFixed": dict(overhead)}}
        self._api.create("runtimeclasses", made)
        self._classes.append(("runtimeclasses", name))
        return name

    def priority_class(self, value: int, *, preempts: bool = False) -> str:
        """Create a PriorityClass, and return its name. `preempts`: whether its pods may preempt others."""
        name = self._class_name()
        policy = "PreemptLowerPriority" if preempts else "Never"
        self._api.create("priorityclasses", {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy})
        self._classes.append(("priorityclasses", name))
        image = self._trial.cluster.workload_image
        pod = pod_manifest(f"{self._prefix}-of-class", FILLER, image=image, priorityClassName=name)

        def known() -> None:
            # The apiserver's admission plugin watches PriorityClasses, and refuses pods whose class it has not seen
            # yet.
            try:
                self._api.try_create("pods", pod, self._trial.namespace)
            except ApiError as error:
                if error.status != HTTPStatus.FORBIDDEN:
                    raise
                raise NotYet(str(error)) from error

        wait_for(known, OBJECT_SHOWN, what=f"the apiserver to have seen the PriorityClass {name}")
        return name

    def daemon_set(self) -> dict[str, Any]:
        """Create a DaemonSet until the end of the run, and return the metav1.OwnerReference for its pods.

        The harness creates these pods. Needs the capability `idle-daemon-sets`.
        """
        labels = {"schedproof.dev/daemons": self._prefix}
        containers = [{"name": "main", "image": self._trial.cluster.workload_image}]
        template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        document = {"metadata": {"generateName": f"{self._prefix}-daemons-"}, "spec": spec}
        made = self._api.create("daemonsets", document, self._trial.namespace)
        return owned_by("apps/v1", "DaemonSet", made)

    def disruption_budget(
        self, app: str, pods: int = 1, *, label: str = "app", allows: int = 0, namespace: str = ""
    ) -> None:
        """Create a PodDisruptionBudget that allows `allows` disruptions of the `pods` running pods with a label.

        `app`: the value of the label. `namespace`: default: that of the candidate's pods.
        """
        name, namespace = f"{self._prefix}-{label}-{app}", namespace or self._trial.namespace
        spec = {"minAvailable": pods - allows, "selector": {"matchLabels": {label: app}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        self._api.create("poddisruptionbudgets", budget, namespace)
        self._budgets.append((name, namespace))

        def in_force() -> None:
            status = self._api.get("poddisruptionbudgets", name, namespace).get("status") or {}
            if status.get("currentHealthy") != pods or status.get("disruptionsAllowed") != allows:
                raise NotYet(f"its status is {status}")

        wait_for(in_force, BUDGET_IN_FORCE, what=f"the PodDisruptionBudget {name} to be in force", poll=0.1)

    def _class_name(self) -> str:
        return f"{self._trial.namespace}-{self._prefix}-{len(self._classes)}"

    def undo(self) -> None:
        """Remove the budgets, then the classes."""
        while self._budgets:
            self._api.delete_if_there("poddisruptionbudgets", *self._budgets.pop())
        while self._classes:
            self._api.delete_if_there(*self._classes.pop())
