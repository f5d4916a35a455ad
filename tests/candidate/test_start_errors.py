"""Why a compiled scheduler ended at its start: the last lines of kube-scheduler v1.36.3, as it printed them."""

from __future__ import annotations

import re

import pytest

from schedproof.candidate.start_errors import REFUSED_VERSION, UNREGISTERED, explain_start, refuses_args
from schedproof.foundation.errors import CandidateError

BEFORE = """\
I1121 15:32:33.234588   23219 flags.go:64] FLAG: --write-config-to=""
I1121 15:32:33.394661   23219 serving.go:405] Generated self-signed cert (/tmp/certs/kube-scheduler.crt, /tmp/key)
E1121 15:32:33.443640   23230 options.go:205] The manifest file is empty, ignoring.
"""
ERROR = CandidateError("scheduler-tested ended with code 1", remedy="see its log")


def log_of(error: str) -> str:
    """A log that ends with this error, as klog quotes it."""
    quoted = error.replace('"', '\\"')
    return f'{BEFORE}E1121 15:32:33.394779   23219 run.go:72] "command failed" err="{quoted}"\n'


PROFILE = "initializing profiles: creating profile for scheduler name x: "
# Each is what that version printed, but for those that name the source of the words instead.
KNOWN = {
    "version": (
        log_of(
            'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3" '
            'in scheme "pkg/runtime/scheme.go:111"'
        ),
        "this version of Kubernetes does not support KubeSchedulerConfiguration kubescheduler.config.k8s.io/v1beta3",
        "kubescheduler.config.k8s.io/v1`",
    ),
    "not registered, everywhere": (
        log_of(PROFILE + 'PreFilterPlugin "Quiet_Nodes" does not exist'),
        "the configuration enables the plugin Quiet_Nodes, but no plugin is registered under that name",
        "app.WithPlugin",
    ),
    "not registered, at a point": (
        log_of(PROFILE + 'ScorePlugin "quietNodes" does not exist'),
        "the configuration enables the plugin quietNodes, but no plugin is registered under that name",
        "app.WithPlugin",
    ),
    "a flag": (
        "      --version version[=true]   prints version information and quits\n\nError: unknown flag: --port\n",
        "kube-scheduler has no flag --port",
        "--secure-port",
    ),
    "another name than its own": (
        log_of(PROFILE + 'score plugin "NetworkTraffic" is not configured with weight'),
        "a plugin's method Name() returns NetworkTraffic",
        "Name() returns",
    ),
    "args twice": (
        log_of('profiles[0].pluginConfig[1]: Duplicate value: "Foo"'),
        "Foo",
        "keep one entry of pluginConfig for each plugin",
    ),
    "another queue sort plugin": (
        log_of(
            'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Own","Weight":0}],'
            '"Disabled":[{"Name":"*","Weight":0}]}: must be the same for all profiles'
        ),
        "all profiles must have the same single queueSort plugin",
        "enable the same queueSort plugin in every profile",
    ),
    # pkg/scheduler/profile/profile.go, where it comes by multiPoint
    "another queue sort plugin by multiPoint": (
        log_of('initializing profiles: different queue sort plugins for profile "y": "Own", first: "PrioritySort"'),
        "all profiles must have the same single queueSort plugin",
        "enable the same queueSort plugin in every profile",
    ),
    # pkg/scheduler/framework/runtime/framework.go
    "a queue sort plugin beside PrioritySort": (
        log_of('creating profile: only one queue sort plugin required for profile with scheduler name "x", but got 2'),
        "all profiles must have the same single queueSort plugin",
        "disable PrioritySort",
    ),
    "other args for the queue sort plugin": (
        log_of('initializing profiles: different queue sort plugin args for profile "y"'),
        "different queue sort plugin args for profile",
        "enable the same queueSort plugin in every profile",
    ),
    "an unknown arg of Kubernetes' own": (
        log_of(
            "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for "
            'plugin NodeResourcesFit: strict decoding error: unknown field "scoringStrategi"'
        ),
        "unknown field scoringStrategi in the plugin's args or the configuration",
        "check the spelling",
    ),
    "an ill-typed arg of Kubernetes' own": (
        log_of(
            "decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: json: cannot unmarshal "
            "string into Go struct field InterPodAffinityArgs.hardPodAffinityWeight of type int32"
        ),
        "the plugin cannot decode its args: decoding .profiles[0].pluginConfig[0]",
        "compare the args",
    ),
    # The plugin's own words are its own; json's are Go's.
    "an ill-typed arg": (
        log_of(
            f'{PROFILE}initializing plugin "NetworkTraffic": args of NetworkTraffic: json: cannot unmarshal object '
            "into Go struct field Args.timeRange of type string"
        ),
        "the plugin cannot decode its args: args of NetworkTraffic: json: cannot unmarshal object into Go struct",
        "compare the args",
    ),
    # pkg/scheduler/framework/runtime/registry.go, DecodeInto, whose error a plugin passes on as it is
    "an ill-typed arg, barely told": (
        log_of(PROFILE + 'initializing plugin "Quiet": json: cannot unmarshal string into Go value of type quiet.Args'),
        "the plugin cannot decode its args: unmarshal string into Go value",
        "compare the args",
    ),
}


@pytest.mark.parametrize(("log", "meaning", "fix"), KNOWN.values(), ids=KNOWN)
def test_a_known_message_is_explained(log: str, meaning: str, fix: str) -> None:
    explained = explain_start(log, ERROR)
    first, *rest = explained.message.splitlines()
    assert meaning in first
    assert rest == [ERROR.message]
    assert fix in explained.remedy


@pytest.mark.parametrize(
    "log",
    [
        "",
        BEFORE,
        log_of("failed to get delegated authentication kubeconfig: stat /none: no such file or directory"),
        BEFORE + "panic: runtime error: invalid memory address or nil pointer dereference\n",
    ],
)
def test_an_unknown_message_is_unchanged(log: str) -> None:
    assert explain_start(log, ERROR) is ERROR


@pytest.mark.parametrize(
    ("pattern", "key", "name"),
    [
        (REFUSED_VERSION, "version", "kubescheduler.config.k8s.io/v1beta3"),
        (UNREGISTERED, "not registered, everywhere", "Quiet_Nodes"),
        (UNREGISTERED, "not registered, at a point", "quietNodes"),
    ],
)
def test_patterns_of_start_errors_match_a_log_and_an_explained_error(
    pattern: re.Pattern[str], key: str, name: str
) -> None:
    log, *_ = KNOWN[key]
    for text in (log, log.replace('\\"', '"'), explain_start(log, CandidateError(log)).message):
        found = pattern.search(text)
        assert found is not None
        assert found["name"] == name
    others = [text for other, (text, *_) in KNOWN.items() if not other.startswith(key.partition(",")[0])]
    assert not any(pattern.search(text) for text in others)


@pytest.mark.parametrize(
    ("log", "refused"),
    [
        ("strict decoding error: yaml: line 3", True),
        ('strict decoding error: unknown field "profiles[0].plugin"', False),
        ("failed to get delegated authentication kubeconfig", False),
    ],
)
def test_refused_args_are_distinguished_from_other_errors(log: str, refused: bool) -> None:
    assert refuses_args(log) is refused
