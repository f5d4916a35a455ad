"""How a compiled scheduler starts, and which parts of its configuration have no effect."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedproof.candidate.claims import Claims
from schedproof.candidate.scheduler_config import DEFAULT_PLUGINS, SERVED_VERSION, enabled_names, own_args
from schedproof.candidate.start_errors import NAME_TAKEN, QUEUE_SORTS, UNREGISTERED, refuses_args
from schedproof.history.acts import Tried
from schedproof.history.history import History
from schedproof.history.observations import StartFailed
from schedproof.judge.clause import AUDIT, SCRIPTED_METRICS, Clause
from schedproof.judge.clauses.core.conditions import judge_binds
from schedproof.judge.clauses.network.preference import judge_flip
from schedproof.judge.evidence import Evidence
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed

_ONE_PROFILE = "its configuration has one profile"
_PANIC = re.compile(r"panic: |fatal error: ")


def _names(log: Sequence[str], arg: str) -> bool:
    """Whether an error names an arg. That kube-scheduler lists its own flags at its start does not count."""
    errors = "\n".join(line for line in log if " FLAG: " not in line)
    return re.search(rf"(?<![\w-]){re.escape(arg)}(?![\w-])", errors, re.IGNORECASE) is not None


@gives("config-version-not-served", "nothing-started")
def judge_config_version(history: History, _case: str) -> Finding:
    """The configuration has an API version that this Kubernetes serves."""
    version = history.configuration.get("apiVersion", "")
    if not version:
        return invalid("nothing-started", "no scheduler was started")
    if version != SERVED_VERSION:
        return failed(
            "config-version-not-served",
            f"its configuration has the API version {version}, but Kubernetes "
            f"{history.run.versions.get('kubernetes', '')} serves {SERVED_VERSION} only; fix: `schedproof "
            "migrate-config FILE`",
        )
    return passed(f"its configuration has the API version {version}")


@gives("does-not-start", "nothing-started", "plugin-not-enabled", "plugin-not-registered")
def judge_registered_name(history: History, _case: str) -> Finding:
    """Every name in the configuration is that of a registered plugin, so that its args take effect.

    kube-scheduler refuses to enable a plugin that is not registered, but ignores pluginConfig for a name that is not
    enabled (pkg/scheduler/framework/runtime, NewFramework).
    """
    failure = next(history.of(StartFailed), None)
    if failure is not None and (found := UNREGISTERED.search(failure.text)):
        return failed(
            "plugin-not-registered",
            f"its configuration enables the plugin {found['name']}, but none is registered under that name; fix: "
            f"{failure.fix}",
        )
    for profile in history.configuration.get("profiles") or ():
        enabled = enabled_names(profile)
        for entry in profile.get("pluginConfig") or ():
            if entry.get("name") not in enabled | DEFAULT_PLUGINS:
                named = ", ".join(sorted(enabled - DEFAULT_PLUGINS)) or "none"
                return failed(
                    "plugin-not-enabled",
                    f"pluginConfig names {entry.get('name')}, which no profile enables (enabled: {named}): "
                    "kube-scheduler ignores it silently, and the plugin does not get these args; fix: use the name "
                    "under which the plugin is registered",
                )
    if failure is not None:
        return invalid("does-not-start", "the candidate does not start (see core/alive)")
    if not history.configuration:
        return invalid("nothing-started", "no scheduler was started")
    return passed("every name in its configuration is that of an enabled plugin")


@gives(
    "arg-not-named", "args-refused", "does-not-start", "not-applicable", "not-tried", "nothing-started",
    "wrong-arg-accepted",
)  # fmt: skip
def judge_args_typed(history: History, case: str) -> Finding:
    """Its own args are accepted; an arg of a wrong type fails the start, with a message that names it."""
    failure = next(history.of(StartFailed), None)
    if not history.configuration:
        return invalid("nothing-started", "no scheduler was started")
    if not any(args for _, _, args in own_args(history.configuration)):
        return not_claimed("its configuration has no args for a plugin of its own")
    if failure is not None:
        if not refuses_args(failure.text):
            return invalid("does-not-start", "the candidate does not start (see core/alive)")
        return failed("args-refused", f"it does not accept its own args: {failure.text}")
    tried = list(history.of(Tried, case))
    if not tried:
        return invalid("not-tried", "no arg was tried")
    for attempt in tried:
        arg, code, what = attempt.arg, attempt.code, f"{attempt.arg}: {attempt.value!r}"
        logs = Evidence(logs={what: attempt.log})
        if code is None:
            return failed(
                "wrong-arg-accepted", f"it starts with {what}, which has another type than the configured value", logs
            )
        if not _names(attempt.log, arg):
            return failed("arg-not-named", f"with {what} it exits with code {code} without naming {arg}", logs)
    return passed(f"{', '.join(attempt.arg for attempt in tried)}: a value of another type fails the start by name")


def _untried(history: History, case: str, untried: str, *, with_args: bool) -> Finding | None:
    """Why nothing can be said of starts with changed args; None where there were some.

    `untried`: the finding's summary where there were none. `with_args`: whether only plugins with args count.
    """
    if not history.configuration:
        return invalid("nothing-started", "no scheduler was started")
    if not any(args or not with_args for _, _, args in own_args(history.configuration)):
        return not_claimed("its configuration has no args for a plugin of its own")
    if any(history.of(StartFailed)):
        return invalid("does-not-start", "the candidate does not start (see core/alive)")
    return None if any(history.of(Tried, case)) else invalid("not-tried", untried)


@gives("arg-not-named", "does-not-start", "not-applicable", "not-tried", "nothing-started", "wrong-arg-accepted")
def judge_args_unknown(history: History, case: str) -> Finding:
    """An unknown arg of a plugin fails the start, with a message that names it."""
    if (finding := _untried(history, case, "no arg was tried", with_args=True)) is not None:
        return finding
    for attempt in history.of(Tried, case):
        arg, status = attempt.arg, attempt.code
        if status is None:
            code, text = (
                "wrong-arg-accepted",
                "it starts with an unknown arg: a misspelled arg would silently keep its default",
            )
        elif not _names(attempt.log, arg):
            code, text = (
                "arg-not-named",
                f"with the unknown arg {arg} it exits with code {status} without naming it",
            )
        else:
            continue
        return failed(code, text, Evidence(logs={arg: attempt.log}))
    return passed("an unknown arg fails the start by name")


@gives("crash-without-args", "does-not-start", "not-applicable", "not-tried", "nothing-started")
def judge_args_defaults(history: History, case: str) -> Finding:
    """Without an arg, or without any, it starts with defaults, or exits with an error: it does not panic.

    kube-scheduler reports which plugin's factory returned an error. A factory is called with nil if its plugin has no
    pluginConfig.
    """
    if (finding := _untried(history, case, "no arg was left out", with_args=False)) is not None:
        return finding
    tried = list(history.of(Tried, case))
    for attempt in tried:
        crash = next((line for line in attempt.log if _PANIC.match(line)), "")
        code = attempt.code or 0
        if crash or code < 0:
            without = attempt.arg or "a pluginConfig"
            end = crash or f"signal {-code}"
            return failed(
                "crash-without-args",
                f"without {without} it crashes: {end}",
                Evidence(logs={f"without {without}": attempt.log}),
            )
    return passed(f"started {len(tried)} times with something left out: it used defaults, or exited with an error")


@gives("does-not-start", "not-applicable", "nothing-started", "queue-sorts-differ", also=[judge_binds])
def judge_profiles(history: History, case: str) -> Finding:
    """All profiles of its configuration start in one process, and each schedules the pods that name it.

    They share one queue, and so its one queueSort plugin (pkg/scheduler/profile, NewMap).
    """
    failure = next(history.of(StartFailed), None)
    if not history.configuration:
        return invalid("nothing-started", "no scheduler was started")
    if failure is not None and QUEUE_SORTS.search(failure.text):
        return failed("queue-sorts-differ", f"{failure.text}; fix: {failure.fix}")
    if len(history.scheduler_names) < 2:
        return not_claimed(_ONE_PROFILE)
    if failure is not None:
        return invalid("does-not-start", "the candidate does not start (see core/alive)")
    return judge_binds(history, case)


@gives("not-applicable", "nothing-started", also=[judge_flip])
def judge_profile_args(history: History, case: str) -> Finding:
    """With its profiles in the opposite order, all probes went to the quietest node by its claims."""
    if not history.configuration:
        return invalid("nothing-started", "no scheduler was started")
    if len(history.scheduler_names) < 2:
        return not_claimed(_ONE_PROFILE)
    return judge_flip(history, case)


@gives("does-not-start", "nothing-started", "plugin-name-taken")
def judge_duplicate_name_rejected(history: History, _case: str) -> Finding:
    """No plugin of its own is registered under a taken name, which fails the start.

    No plugin replaces another by its name: registering a name twice is an error, whether or not a configuration enables
    it (pkg/scheduler/framework/runtime, Registry.Register).
    """
    failure = next(history.of(StartFailed), None)
    if failure is not None and (found := NAME_TAKEN.search(failure.text)):
        return failed(
            "plugin-name-taken",
            f"it registers a plugin as {found['name']}, but that name is taken: it does not start; fix: {failure.fix}",
        )
    if failure is not None:
        return invalid("does-not-start", "the candidate does not start (see core/alive)")
    if not history.configuration:
        return invalid("nothing-started", "no scheduler was started")
    return passed("it starts: none of its plugins has a taken name")


def _no_preference(claims: Claims) -> str:
    """Why nothing shows which profile's args a plugin has."""
    return "" if claims.network is not None else "claims.network is not given: nothing shows which args are used"


CLAUSES = (
    Clause(
        "plugin/config-version", "The configuration has an API version that this Kubernetes serves.",
        "kubescheduler.config.k8s.io: v1 alone since 1.29", judge_config_version, at_start=True,
        hint="Write apiVersion kubescheduler.config.k8s.io/v1.",
    ),
    Clause(
        "plugin/registered-name",
        "Every plugin name in the configuration is registered, so that the plugin's args take effect.",
        "scheduler framework: NewFramework", judge_registered_name, at_start=True,
        hint="The name in plugins and pluginConfig must be what the plugin's Name() returns.",
    ),
    Clause(
        "plugin/args-typed", "Args of a wrong type fail the start, with a message that names them.",
        "scheduler framework: PluginFactory", judge_args_typed, at_start=True,
        hint="Decode args into a pointer of your args type, and return the error of that from New.",
    ),
    Clause(
        "plugin/args-unknown", "An unknown arg of a plugin fails the start, with a message that names it.",
        "scheduler framework: PluginFactory; frameworkruntime.DecodeInto is lenient", judge_args_unknown,
        level="recommended", at_start=True,
        hint="Decode args strictly (sigs.k8s.io/json UnmarshalStrict), and return the error from New.",
    ),
    Clause(
        "plugin/args-defaults",
        "Without args, the scheduler starts with defaults or exits with an error, and does not panic.",
        "scheduler framework: PluginFactory, whose configuration is nil without pluginConfig", judge_args_defaults,
        at_start=True,
        hint="The configuration is nil without pluginConfig: check for that first.",
    ),
    Clause(
        "plugin/duplicate-name-rejected", "No plugin of the candidate is registered under a name that is taken.",
        "scheduler framework: Registry.Register, Registry.Merge", judge_duplicate_name_rejected, at_start=True,
        hint="Copy a plugin of Kubernetes under a name of your own; disable the original in the profile.",
    ),
    Clause(
        "plugin/profiles", "All profiles of the configuration start, and each schedules the pods that name it.",
        "scheduler framework: profiles share one queue; KubeSchedulerConfiguration.profiles", judge_profiles,
        needs=AUDIT, at_start=True,
        hint="All profiles share one queueSort plugin; registrations per process must not assume a single profile.",
    ),
    Clause(
        "plugin/profile-args", "The plugins of a profile have that profile's args, whatever the order of the profiles.",
        "scheduler framework: NewFramework makes the plugins of each profile", judge_profile_args,
        needs=SCRIPTED_METRICS, unclaimed=_no_preference,
        hint="Keep args in the plugin that the factory returns: a variable of its package is shared by all profiles.",
    ),
)  # fmt: skip
