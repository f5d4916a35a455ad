"""`schedproof submit`: a run in the cluster that it judges, followed from here."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec, PluginSpec
from schedproof.clusters.api import Api
from schedproof.clusters.existing.access import read_access
from schedproof.clusters.existing.survey import explaining_refusals
from schedproof.foundation.console import tell
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_PASSED
from schedproof.foundation.private import new_results, remove_empty
from schedproof.foundation.processes.sandbox import Sandbox
from schedproof.run.folders import require_space
from schedproof.run.launch import check
from schedproof.run.options import OPTIONS, given
from schedproof.run.request import RunRequest
from schedproof.submission.files import candidate_files
from schedproof.submission.options import RUN_OPTIONS
from schedproof.submission.submission import Submission


def submit(arguments: argparse.Namespace, say: Callable[[str], object]) -> int:
    """Submit a run or come back to one, follow it, fetch its report, and remove it; return its exit code.

    Raises:
        UsageError: an option or the candidate is wrong; nothing is left.
        SchedproofError: the cluster is out of reach, or has ended the run.
    """
    if (arguments.candidate is None) == (arguments.attach is None):
        raise UsageError("submit needs a candidate, or --attach NAME", remedy="name the one or the other, and not both")
    if arguments.cancel and arguments.attach is None:
        raise UsageError("--cancel needs --attach NAME, the run to end", remedy="add it, or leave out --cancel")
    if arguments.kubeconfig is None:
        raise UsageError("submit needs --kubeconfig", remedy="--kubeconfig FILE: that of the cluster")
    report = (arguments.report or new_results()).absolute()
    with _connected(arguments) as api:
        submission = Submission.find(api, arguments.attach) if arguments.attach else _created(arguments, api, report)
        back = f"schedproof submit --attach {submission.name} --kubeconfig {arguments.kubeconfig}"
        back += f" --context {arguments.context}" if arguments.context else ""
        if arguments.cancel:
            submission.remove()
            say(f"{submission.name} has ended, and all of it is removed")
            return EXIT_PASSED
        if not arguments.attach:
            say(f"submitted as {submission.name}; to come back: {back}")
        try:
            return _concluded(submission, report, say, remove=not arguments.attach)
        except KeyboardInterrupt:
            tell(f"{submission.name} goes on in the cluster; to come back: {back} (with --cancel: to end it)")
            return EXIT_INTERRUPTED


@contextlib.contextmanager
def _connected(arguments: argparse.Namespace) -> Iterator[Api]:
    # Its scratch directory, for credentials, goes also after SIGKILL.
    with contextlib.closing(Sandbox(namespaces=False)) as sandbox:
        access = read_access(arguments.kubeconfig, arguments.context or "", sandbox.scratch)
        with explaining_refusals(access):
            yield access.api()


def _created(arguments: argparse.Namespace, api: Api, report: Path) -> Submission:
    defaults = {option.name: option.default if not option.repeated else [] for option in OPTIONS}

    def value_of(name: str) -> Any:
        return getattr(arguments, name.replace("-", "_"), defaults[name])

    wanted = {"cluster": "existing", "deploy": "pod"}
    request = RunRequest.from_options(lambda name: wanted.get(name, value_of(name)), [arguments.candidate], Path.cwd())
    (candidate,) = request.candidates
    check(request.settings)
    if arguments.image is None:
        raise UsageError(
            "submit needs --image, the image of the harness",
            remedy="`make image` in a checkout builds it; push it to where nodes pull from, and name it: --image REF",
        )
    _require_image(candidate)
    files = candidate_files(candidate)
    require_space(report)
    # `$(POD_IP)` is filled in by the kubelet.
    callback = () if arguments.no_callback else ("--callback-address=$(POD_IP)",)
    return Submission.create(
        api, candidate, files, image=arguments.image, seconds=arguments.hours * 3600,
        callbacks=not arguments.no_callback,
        options=(*given(value_of, prefix="", options=RUN_OPTIONS), *callback),
    )  # fmt: skip


def _require_image(candidate: Candidate) -> None:
    spec = candidate.spec
    stock = isinstance(spec, PluginSpec) and spec.stock
    if isinstance(spec, AttachedSpec) or stock or candidate.image.ref is not None:
        return
    raise UsageError(
        f"{candidate.path}: in the cluster no image of {candidate.name} is built",
        remedy="spec.image.ref names an image that nodes have or can pull",
    )


def _concluded(submission: Submission, report: Path, say: Callable[[str], object], *, remove: bool) -> int:
    """Follow a run, and fetch its report. A run that could not start is removed if it is new."""
    try:
        code = submission.follow(say)
    except UsageError:
        if remove:
            submission.remove()
        remove_empty(report)
        raise
    except HostError as error:
        tell(str(error))
        code = EXIT_ERROR
    try:
        submission.fetch(report)
    except HostError as error:
        # Its evidence stays where it is, if it is anywhere.
        tell(
            f"the report of {submission.name} is not fetched: {error}\n"
            f"  `schedproof submit --attach {submission.name} --cancel` with the same cluster removes what is left"
        )
        return EXIT_ERROR
    say(f"report: {report}")
    submission.remove()
    return code
