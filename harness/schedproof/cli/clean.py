"""`schedproof clean`: removes the leftovers of killed runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from schedproof.cli.output import say
from schedproof.foundation.counted import counted
from schedproof.foundation.errors import UsageError


def clean_up(arguments: argparse.Namespace) -> int:
    if arguments.context and arguments.kubeconfig is None:
        raise UsageError(
            "--context needs --kubeconfig, the file that has this context",
            remedy="add --kubeconfig FILE, or leave out --context",
        )
    removed = 0
    for leftover in _left(arguments):
        say(f"removed {leftover}")
        removed += 1
    say(f"{counted(removed, 'leftover')} removed" if removed else "nothing to remove")
    return 0


def _left(arguments: argparse.Namespace) -> Iterator[object]:
    """Remove leftovers, and yield a description of each."""
    from schedproof.clusters.kind import leftovers as containers
    from schedproof.foundation.processes.leftovers import remove_leftovers

    yield from remove_leftovers()
    if arguments.kubeconfig is not None:
        from schedproof.clusters.existing.cluster import clean_existing

        yield from clean_existing(arguments.kubeconfig, arguments.context or "")
    yield from containers.remove_leftovers([arguments.cluster_name] if arguments.cluster_name else [])
