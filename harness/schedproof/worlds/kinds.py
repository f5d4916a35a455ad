"""What can happen in a world: each kind of step, and what may be special about one, with what is said of it.

This is the one list: drawing, words, shrinking and what a candidate has to support are read from it. What is done on a
cluster is in `stimulus.worlds.steps`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from schedproof.candidate.subjects import Subject


@dataclasses.dataclass(frozen=True)
class Happening:
    """A kind of step, named by the field that only its steps have; or a field of a step that makes it special.

    Attributes:
        words: what it says, with fields of the step in braces; "" if its words depend on a manifest.
        command: what does it on a command line, likewise; "" if no single command can.
        event: its name if it is more than a pod that comes, or a change of an object; "" otherwise.
        needs: what a scheduler has to support.
        about: whose name its field holds; "" if it holds something else.
        ends: whether it adds nothing that other pods' rules count: kube-scheduler need not try each pod again then.
    """

    name: str
    words: str = ""
    command: str = ""
    event: str = ""
    needs: Subject | None = None
    about: Literal["", "pod", "node"] = ""
    ends: bool = False


def _by_name(*happenings: Happening) -> Mapping[str, Happening]:
    return {happening.name: happening for happening in happenings}


_UNTIL = "until the next pod comes"
KINDS = _by_name(
    Happening("comes"),
    Happening("there"),
    Happening("changed"),
    Happening("deleted", "{deleted} is deleted", "kubectl delete pod {deleted}", about="pod", ends=True),
    Happening("ended", "{ended} ends as {phase}", needs=Subject.ENDED_PODS, about="pod", ends=True),
    Happening("labelled", "{labelled} now has labels {labels}", about="pod", ends=True),
    Happening(
        "ungated", "{ungated} loses its scheduling gate",
        """kubectl patch pod {ungated} --type=merge -p '{{"spec": {{"schedulingGates": null}}}}'""",
        event="a scheduling gate was removed", needs=Subject.GATES, about="pod",
    ),
    Happening("tolerant", "{tolerant} now also has {toleration}", needs=Subject.TOLERATIONS, about="pod"),
    Happening(
        "resized", "{resized} is resized in place to {requests} of its first container",
        event="a pod was resized in place", needs=Subject.IN_PLACE_RESIZE, about="pod",
    ),
    Happening(
        "recreated", "{recreated} is deleted, and created again under its name",
        event="a pod was created again", needs=Subject.RETRIES, about="pod", ends=True,
    ),
    Happening(
        "gone", "{gone} is deleted, without its pods", "kubectl delete node {gone}",
        event="a node was deleted", needs=Subject.RETURNING_NODES, about="node", ends=True,
    ),
    Happening(
        "back", "{back} registers again",
        event="a node registered again", needs=Subject.RETURNING_NODES, about="node",
    ),
    Happening("stopped", f"the scheduler is stopped {_UNTIL}", event="a restart", needs=Subject.RESTARTS),
    Happening(
        "cut_off", f"the scheduler is cut off from the apiserver {_UNTIL}",
        event="connections to the apiserver ended", needs=Subject.BROKEN_CONNECTIONS,
    ),
)  # fmt: skip
"""The kinds of steps."""
SPECIAL = _by_name(
    Happening("together", "at the same time", event="pods came at the same time", needs=Subject.RETRIES),
    Happening(
        "refused", "its first Binding is answered with {refused}",
        event="a Binding was refused", needs=Subject.REFUSED_BINDINGS,
    ),
    Happening("gated", "with a scheduling gate", needs=Subject.GATES),
    Happening("late", "bound after it was created"),
    Happening("unstarted", "never started"),
    Happening("lingers", "terminating once it is deleted", needs=Subject.ENDED_PODS),
)  # fmt: skip
"""What may be special about a pod that comes (the first three), or that is there."""
HAPPENINGS = {**SPECIAL, **KINDS}


def kind_of(step: Mapping[str, Any]) -> Happening:
    """Return the kind of a step.

    Raises:
        ValueError: it has none that is known, as it may be in a file of another version.
    """
    for name, kind in KINDS.items():
        if name in step:
            return kind
    raise ValueError(f"a step of no known kind: {', '.join(step)}")


def happenings(step: Mapping[str, Any]) -> list[Happening]:
    """Return the kind of a step, and what is special about it."""
    return [kind_of(step), *(special for name, special in SPECIAL.items() if step.get(name))]
