"""What a cluster has before a candidate starts: `spec.install`."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.installed import Installed, kinds_in, wrong_kind
from schedproof.candidate.placeholders import fill_manifest
from schedproof.candidate.unserved import Unserved, find_unserved, served_kinds
from schedproof.clusters.api import Manifest
from schedproof.clusters.objects import AppliedObjects
from schedproof.documents.manifests import Placed, is_kustomization, parse_placed, read_placed
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.foundation.deadlines import DAEMON_READY
from schedproof.foundation.errors import UsageError


def install(
    objects: AppliedObjects,
    installed: Iterable[Installed],
    namespace: str,
    values: Mapping[str, str],
    change: Callable[[Manifest], Iterable[Manifest]] = lambda manifest: [manifest],
) -> None:
    """Apply what a candidate has installed, in this order.

    Args:
        objects: what it is applied by, and removed.
        installed: files, folders, and folders of kustomizations.
        namespace: of objects that name none.
        values: of placeholders.
        change: returns what is applied of a manifest.

    Raises:
        UsageError: one cannot be built, or the apiserver refuses it.
    """
    for one in installed:
        for path in one.sources:
            manifests = [fill_manifest(placed.manifest, values) for placed in rendered(path) if one.selects(placed)]
            changed = [each for manifest in manifests for each in change(manifest)]
            objects.apply(changed, namespace, source=str(path))


def rendered(path: Path) -> list[Placed]:
    """The manifests of a file, a folder or a kustomization, with their places.

    Raises:
        DescriptorError: they are no manifests.
        UsageError: a kustomization cannot be built.
    """
    return parse_placed(_kustomized(path), path) if is_kustomization(path) else read_placed(path)


def _kustomized(folder: Path) -> str:
    kustomize, kubectl = shutil.which("kustomize"), shutil.which("kubectl")
    if kustomize is None and kubectl is None:
        raise UsageError(
            f"{folder} is a kustomization, and neither kustomize nor kubectl is on PATH",
            remedy=f"install one of them; or render it elsewhere, and name the file: `kubectl kustomize {folder}`",
        )
    command = [kustomize, "build", str(folder)] if kustomize else [str(kubectl), "kustomize", str(folder)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, timeout=DAEMON_READY.seconds, check=False)
    except subprocess.TimeoutExpired:
        raise UsageError(f"`{' '.join(command)}` takes more than {DAEMON_READY.seconds:g} s") from None
    if made.returncode:
        raise UsageError(f"`{' '.join(command)}` fails: {made.stderr.strip()[-2000:]}")
    return made.stdout


# -- before the start


class _Part(NamedTuple):
    """What one item of `install` has."""

    item: Installed
    names: Sequence[str]
    """Its files and folders, as candidate.yaml can name them."""
    every: Sequence[Placed]
    applied: Sequence[Placed]
    unserved: Sequence[Unserved]


def survey(candidate: Candidate) -> Iterator[str]:
    """Yield lines about what a candidate has installed: counts by kind, and what needs pods, with the fix.

    Raises:
        UsageError: as of `rendered`, or a kind that is to be applied is not there.
    """
    parts = _parts(candidate)
    for part in parts:
        counts = collections.Counter(manifest["kind"] for _, manifest in part.applied)
        left = len(part.every) - len(part.applied)
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
        yield f"installs of {', '.join(part.names)}: {kinds}{f'; not applied: {left}' if left else ''}"
    for part in parts:
        for each in part.unserved:
            yield f"warning: {each}; an embedded cluster runs no pods"
        if part.unserved:
            yield f"  fix: {_fix(part)}"


def require_served(candidate: Candidate) -> None:
    """Refuse what keeps a candidate waiting on a cluster that runs no pods.

    Raises:
        DescriptorError: a webhook or an API leads to pods.
        UsageError: as of `rendered`, or a kind that is to be applied is not there.
    """
    problems = [
        Problem(each.place, "spec.install", "not-supported", _harm(each), _fix(part))
        for part in _parts(candidate)
        for each in part.unserved
        if each.harms
    ]
    if problems:
        raise DescriptorError(problems)


def _parts(candidate: Candidate) -> list[_Part]:
    every = [[placed for path in item.sources for placed in rendered(path)] for item in candidate.install]
    applied = [
        [placed for placed in found if item.selects(placed)]
        for item, found in zip(candidate.install, every, strict=True)
    ]
    # A Service may be in another file than what leads to it.
    served = [service for process in candidate.processes for service in process.services]
    unserved = find_unserved([placed for found in applied for placed in found], served)
    parts = []
    for item, found, chosen in zip(candidate.install, every, applied, strict=True):
        names = [os.path.relpath(path, candidate.here) for path in item.sources]
        kinds = kinds_in(manifest for _, manifest in found)
        for wrong in (wrong for kind in item.kinds for wrong in wrong_kind(kind, kinds)):
            raise UsageError(f"{candidate.path}: spec.install: {', '.join(names)}: {wrong.message}", remedy=wrong.fix)
        places = {placed.place for placed in chosen}
        parts.append(_Part(item, names, found, chosen, [each for each in unserved if each.place in places]))
    return parts


def _harm(unserved: Unserved) -> str:
    return f"{unserved.kind} {unserved.name} {unserved.why}; this cluster runs no pods, so nothing responds"


def _fix(part: _Part) -> str:
    source = part.names[0] if len(part.names) == 1 else f"[{', '.join(part.names)}]"
    kinds = served_kinds(part.applied, part.unserved)
    if not kinds:
        return f"leave {source} out of spec.install, or run it with `--cluster kind`, whose nodes run pods"
    rest = f"`install: [{{from: {source}, kinds: [{', '.join(kinds)}]}}]`"
    return f"apply the rest only, {rest}, have a process that `serves` the Service, or use --cluster kind"
