"""How a compiled scheduler starts, and what of its configuration never arrives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from schedproof.candidates.deploy.scheduler_config import DEFAULT_PLUGINS, SERVED_VERSION, enabled_names, own_args
from schedproof.candidates.plugin_build.start_errors import QUEUE_SORTS, UNREGISTERED
from schedproof.judge.clause import AUDIT, Clause
from schedproof.judge.conditions import judge_binds
from schedproof.judge.evidence import log_tails
from schedproof.judge.verdict import Finding, failed, invalid, not_claimed, passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedproof.history.history import History

__all__ = [
    "CLAUSES",
    "judge_args_defaults",
    "judge_args_typed",
    "judge_args_unknown",
    "judge_config_version",
    "judge_profiles",
    "judge_registered_name",
]


_PANIC = re.compile(r"panic: |fatal error: ")


def _names(log: Sequence[str], arg: str) -> bool:
    """Whether an error names an arg. That kube-scheduler lists its own flags at its start says nothing."""
    said = "\n".join(line for line in log if " FLAG: " not in line)
    return re.search(rf"(?<![\w-]){re.escape(arg)}(?![\w-])", said, re.IGNORECASE) is not None


def judge_config_version(history: History, case: str) -> Finding:
    """Its configuration is of an API version that this Kubernetes serves."""
    version = history.configuration.get("apiVersion", "")
    if not version:
        return invalid("no scheduler was started")
    if version != SERVED_VERSION:
        return failed(
            f"its configuration is of {version}, and Kubernetes {history.run['versions'].get('kubernetes', '')} "
            f"serves {SERVED_VERSION} only; fix: write that, and see what its fields are there",
            logs=log_tails(history, case),
        )
    return passed(f"its configuration is of {version}")


def judge_registered_name(history: History, case: str) -> Finding:
    """Every name in its configuration is that of a registered plugin, so that its args arrive.

    kube-scheduler refuses to enable a plugin that is not registered, but ignores pluginConfig for a name that is not
    enabled (pkg/scheduler/framework/runtime, NewFramework).
    """
    failure = next(history.of("start-failed"), None)
    if failure is not None and (found := UNREGISTERED.search(failure["text"])):
        return failed(
            f"its configuration enables the plugin {found['name']}, and none is registered under that name; "
            f"fix: {failure['fix']}",
            logs=log_tails(history, case),
        )
    for profile in history.configuration.get("profiles") or ():
        enabled = enabled_names(profile)
        for entry in profile.get("pluginConfig") or ():
            if entry.get("name") not in enabled | DEFAULT_PLUGINS:
                named = ", ".join(sorted(enabled - DEFAULT_PLUGINS)) or "none"
                return failed(
                    f"pluginConfig names {entry.get('name')}, which no profile enables (enabled: {named}): "
                    "kube-scheduler ignores it without a word, and these args never arrive; "
                    "fix: use the name that the plugin is registered as",
                )
    if failure is not None:
        return invalid("the candidate does not start (see core/alive)")
    if not history.configuration:
        return invalid("no scheduler was started")
    return passed("every name in its configuration is that of an enabled plugin")


def judge_args_typed(history: History, case: str) -> Finding:
    """Its own args are taken; an arg of another type fails the start, with a message that names it."""
    failure = next(history.of("start-failed"), None)
    if not history.configuration:
        return invalid("no scheduler was started")
    if not any(args for _, _, args in own_args(history.configuration)):
        return not_claimed("its configuration has no args for a plugin of its own")
    if failure is not None:
        blame = "its own args" if "cannot read its args" in failure["text"] else ""
        if not blame:
            return invalid("the candidate does not start (see core/alive)")
        return failed(f"it does not take its own args: {failure['text']}", logs=log_tails(history, case))
    tried = list(history.of("tried", case))
    if not tried:
        return invalid("no arg was tried")
    for attempt in tried:
        arg, code, what = attempt["arg"], attempt["code"], f"{attempt['arg']}: {attempt['value']!r}"
        logs = {"logs": {what: attempt["log"]}}
        if code is None:
            return failed(f"it starts with {what}, which is of another type than its own value", **logs)
        if not _names(attempt["log"], arg):
            return failed(f"with {what} it ends with code {code}, but does not name {arg}", **logs)
    return passed(f"{', '.join(attempt['arg'] for attempt in tried)}: a value of another type fails the start by name")


def judge_args_unknown(history: History, case: str) -> Finding:
    """An arg that its plugin does not know fails the start, with a message that names it."""
    if not history.configuration:
        return invalid("no scheduler was started")
    if not any(args for _, _, args in own_args(history.configuration)):
        return not_claimed("its configuration has no args for a plugin of its own")
    if any(history.of("start-failed")):
        return invalid("the candidate does not start (see core/alive)")
    tried = list(history.of("tried", case))
    if not tried:
        return invalid("no arg was tried")
    for attempt in tried:
        arg, code = attempt["arg"], attempt["code"]
        if code is None:
            text = "it starts with an arg that it does not know: one that is misspelled is left at its default"
        elif not _names(attempt["log"], arg):
            text = f"with {arg}, which it does not know, it ends with code {code}, and does not name it"
        else:
            continue
        return failed(text, logs={arg: attempt["log"]})
    return passed("an arg that it does not know fails the start by name")


def judge_args_defaults(history: History, case: str) -> Finding:
    """Without an arg, or without any, it starts by defaults, or ends with an error: it does not crash.

    kube-scheduler tells which plugin's factory has returned an error. A factory is called with nil where there is no
    pluginConfig for its plugin.
    """
    if not history.configuration:
        return invalid("no scheduler was started")
    if not any(True for _ in own_args(history.configuration)):
        return not_claimed("its configuration has no args for a plugin of its own")
    if any(history.of("start-failed")):
        return invalid("the candidate does not start (see core/alive)")
    tried = list(history.of("tried", case))
    if not tried:
        return invalid("no arg was left out")
    for attempt in tried:
        crash = next((line for line in attempt["log"] if _PANIC.match(line)), "")
        signalled = attempt["code"] is not None and attempt["code"] < 0
        if crash or signalled:
            without = attempt["arg"] or "a pluginConfig"
            end = crash or f"signal {-attempt['code']}"
            return failed(f"without {without} it crashes: {end}", logs={f"without {without}": attempt["log"]})
    return passed(f"started {len(tried)} times with something left out: it does without, or ends with an error")


def judge_profiles(history: History, case: str) -> Finding:
    """All profiles of its configuration start in one process, and each schedules the pods that name it.

    They share one queue, and so its one queueSort plugin (pkg/scheduler/profile, NewMap).
    """
    failure = next(history.of("start-failed"), None)
    if not history.configuration:
        return invalid("no scheduler was started")
    if failure is not None and QUEUE_SORTS.search(failure["text"]):
        return failed(f"{failure['text']}; fix: {failure['fix']}", logs=log_tails(history, case))
    if len(history.scheduler_names) < 2:
        return not_claimed("its configuration has one profile")
    if failure is not None:
        return invalid("the candidate does not start (see core/alive)")
    return judge_binds(history, case)


CLAUSES = (
    Clause(
        "plugin/config-version", "Its configuration is of an API version that this Kubernetes serves.",
        "kubescheduler.config.k8s.io: v1 alone since 1.29", judge_config_version, at_start=True,
    ),
    Clause(
        "plugin/registered-name",
        "Every name in its configuration is that of a registered plugin, so that its args arrive.",
        "scheduler framework: NewFramework", judge_registered_name, at_start=True,
    ),
    Clause(
        "plugin/args-typed", "Ill-typed args fail at the start, with a message that names them.",
        "scheduler framework: PluginFactory", judge_args_typed, at_start=True,
    ),
    Clause(
        "plugin/args-unknown", "An arg that its plugin does not know fails the start, with a message that names it.",
        "scheduler framework: PluginFactory; frameworkruntime.DecodeInto is lenient", judge_args_unknown,
        level="recommended", at_start=True,
    ),
    Clause(
        "plugin/args-defaults", "Where args are left out, it starts by defaults, or ends with an error: no crash.",
        "scheduler framework: PluginFactory, whose configuration is nil without pluginConfig", judge_args_defaults,
        at_start=True,
    ),
    Clause(
        "plugin/profiles", "All profiles of its configuration start, and each schedules the pods that name it.",
        "scheduler framework: profiles share one queue; KubeSchedulerConfiguration.profiles", judge_profiles,
        needs=AUDIT, at_start=True,
    ),
)  # fmt: skip
