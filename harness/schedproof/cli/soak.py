"""`schedproof soak`: generated worlds on one running candidate for some minutes, and what it holds meanwhile."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from schedproof.cli.run import run_request
from schedproof.run.options import OPTIONS

_CLAUSE = "core/random-worlds"
_DEFAULTS: dict[str, Any] = {option.name: [] if option.repeated else option.default for option in OPTIONS}


def soak(arguments: argparse.Namespace) -> int:
    """Run the clause of generated worlds as `run` does, but for so many minutes, and return the exit code.

    Raises:
        UsageError: the candidate or an option is wrong, or the candidate is not judged by that clause.
    """
    from schedproof.run.request import RunRequest

    values = {**_DEFAULTS, **{name.replace("_", "-"): value for name, value in vars(arguments).items()}}
    values["clause"] = [_CLAUSE]
    request = RunRequest.from_options(values.__getitem__, [arguments.candidate], Path.cwd())
    effort = dataclasses.replace(request.settings.effort, soak=arguments.minutes * 60)
    request = dataclasses.replace(request, settings=dataclasses.replace(request.settings, effort=effort))
    code, _ = run_request(request, verbosity=arguments.verbosity)
    return code
