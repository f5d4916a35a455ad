"""The options of `schedproof submit`."""

from __future__ import annotations

from pathlib import Path

from schedproof.run.options import OPTIONS, Option, count, folder_name

_OF_RUN = (
    "prometheus", "namespace-prefix", "allow-restart", "allow-load", "python-image", "profile", "clause", "cases",
    "worlds", "window", "keep-going", "fail-fast", "allow-skipped", "seed",
)  # fmt: skip
RUN_OPTIONS = tuple(option for option in OPTIONS if option.name in _OF_RUN)
"""Those of `schedproof run` that the run in the cluster gets."""

SUBMIT_OPTIONS = (
    Option("kubeconfig", "FILE", "the kubeconfig of the cluster", Path),
    Option("context", "NAME", "a context of the kubeconfig (default: the current one)"),
    Option("image", "REF", "the image of the harness, which nodes have or can pull (`make image` builds it)"),
    Option("hours", "N", "the hours after which the Job ends, fetched or not (default: 4)", count, default=4),
    Option(
        "no-callback", "",
        "the apiserver and pods cannot connect to the pod of the harness: what needs that is skipped",
        flag=True, default=False,
    ),
    Option("report", "DIR", "folder for report and evidence (default: schedproof-results/TIME)", folder_name),
    Option("attach", "NAME", "come back to a run that was submitted, by the name that was printed"),
    Option("cancel", "", "with --attach: end the run, and remove all of it", flag=True, default=False),
)  # fmt: skip
