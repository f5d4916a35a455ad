"""Explains known messages of a kube-scheduler that ended at its start, and how to fix the cause."""

from __future__ import annotations

import re

from schedproof.foundation.errors import CandidateError

REFUSED_VERSION = re.compile(
    r'no kind \\?"KubeSchedulerConfiguration\\?" is registered for version \\?"(?P<name>[^"\\]+)'
)
# pkg/scheduler/framework/runtime/framework.go: updatePluginList and expandMultiPointPlugins
UNREGISTERED = re.compile(r'(?:[A-Z]\w+ )\\?"(?P<name>[^"\\]+)\\?" does not exist')
# pkg/scheduler/framework/runtime/registry.go: Register
NAME_TAKEN = re.compile(r'a plugin named \\?"?(?P<name>[^"\\\s]+)\\?"? already exists')
# pkg/scheduler/profile, pkg/scheduler/framework/runtime, and pkg/scheduler/apis/config/validation
QUEUE_SORTS = re.compile(
    r"(?P<name>different queue sort plugins?.*|plugins\.queueSort: .*must be the same for all profiles"
    r"|only one queue sort plugin .*)"
)
_NOT_DECODED = re.compile(r"(?P<name>(?:strict decoding error|[Uu]nmarshal|decoding .*[Aa]rgs|[Aa]rgs .*type)[^\n]*)")

_KNOWN: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        REFUSED_VERSION,
        "this version of Kubernetes does not support KubeSchedulerConfiguration {name}",
        "write `apiVersion: kubescheduler.config.k8s.io/v1` (v1beta3, its predecessor, was removed in 1.29)",
    ),
    (
        UNREGISTERED,
        "the configuration enables the plugin {name}, but no plugin is registered under that name",
        "use the same name in the configuration and in app.WithPlugin(NAME, ...), including case and underscores",
    ),
    (
        NAME_TAKEN,
        "a plugin is registered as {name}, but a plugin of that name already exists",
        "register it once, under a name that differs from the names of Kubernetes' own plugins",
    ),
    (
        re.compile(r"unknown flag: (?P<name>--[\w-]+)"),
        "kube-scheduler has no flag {name}",
        "remove the flag; Kubernetes 1.23 removed --port and --address: --secure-port serves health and metrics",
    ),
    (
        # pkg/scheduler/apis/config/validation, which comes before NewFramework's "repeated config for plugin"
        re.compile(r'pluginConfig\[\d+\]: Duplicate value: \\?"(?P<name>[^"\\]+)'),
        "pluginConfig has two entries for the plugin {name}",
        "keep one entry of pluginConfig for each plugin",
    ),
    (
        QUEUE_SORTS,
        "all profiles must have the same single queueSort plugin: {name}",
        "enable the same queueSort plugin in every profile, and disable PrioritySort there",
    ),
    (
        # pkg/scheduler/framework/runtime/framework.go: NewFramework looks weights up by what plugins call themselves
        re.compile(r'score plugin \\?"(?P<name>[^"\\]+)\\?" is not configured with weight'),
        "a plugin's method Name() returns {name}, but the plugin is registered and enabled under another name",
        "set spec.plugin.name, or the name in app.WithPlugin(NAME, ...), to what Name() returns",
    ),
    (
        re.compile(r'unknown field \\?"(?P<name>[^"\\]+)'),
        "unknown field {name} in the plugin's args or the configuration",
        "check the spelling of the field",
    ),
    (
        _NOT_DECODED,
        "the plugin cannot decode its args: {name}",
        "compare the args with the names and types that the plugin decodes; it must decode into a pointer",
    ),
)


def refuses_args(log: str) -> bool:
    """Whether the log says that a plugin cannot decode its args, and nothing that is known to be another cause."""
    known = _first_known(log)
    return known is not None and known[0].re is _NOT_DECODED


def explain_start(log: str, error: CandidateError) -> CandidateError:
    """Prefix the error with an explanation, if the log has a known message; else return the error unchanged."""
    known = _first_known(log)
    if known is None:
        return error
    found, meaning, fix = known
    return CandidateError(f"{meaning.format(name=found['name'])}\n{error.message}", remedy=fix)


def _first_known(log: str) -> tuple[re.Match[str], str, str] | None:
    """Return the match of the first pattern of `_KNOWN` that the log contains, its meaning and its fix."""
    return next(((found, meaning, fix) for pattern, meaning, fix in _KNOWN if (found := pattern.search(log))), None)
