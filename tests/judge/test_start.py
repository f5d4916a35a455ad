"""Start of a compiled scheduler, and configuration that does not take effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from schedproof.candidate.scheduler_config import SERVED_VERSION
from schedproof.candidate.start_errors import explain_start
from schedproof.foundation.errors import CandidateError
from schedproof.history.acts import Tried
from schedproof.history.observations import StartFailed

from .histories import HistoryBuilder, told
from .probing import flipped, loudest, quietest

VERSION, NAME, TYPED, PROFILES = (
    "plugin/config-version", "plugin/registered-name", "plugin/args-typed", "plugin/profiles",
)  # fmt: skip
UNKNOWN_ARGS, DEFAULTS, PROFILE_ARGS = "plugin/args-unknown", "plugin/args-defaults", "plugin/profile-args"
PLUGIN = "LeastTraffic"
ARGS = {PLUGIN: {"timeRange": "30s", "resolutionPercent": 10}}

# Last log lines of kube-scheduler v1.36.3.
COMMAND_FAILED = 'E1121 15:33:12.133172   23932 run.go:72] "command failed" err="{}"'
PROFILE = "initializing profiles: creating profile for scheduler name x: "
DIFFERENT_SORTS = COMMAND_FAILED.format(
    r"initializing profiles: different queue sort plugins for profile \"second\": \"mySort\", first: \"PrioritySort\""
)
TWO_SORTS = COMMAND_FAILED.format(
    PROFILE + r"only one queue sort plugin required for profile with scheduler name \"x\", but got 2"
)
UNKNOWN = COMMAND_FAILED.format(PROFILE + r"PreFilterPlugin \"least_traffic\" does not exist")
ILL_TYPED = COMMAND_FAILED.format(
    PROFILE + rf"initializing plugin \"{PLUGIN}\": args of {PLUGIN}: json: cannot unmarshal object into Go struct "
    "field Args.timeRange of type string"
)
OTHER = COMMAND_FAILED.format("failed to get delegated authentication kubeconfig")


def started(
    case: str,
    *,
    version: str = SERVED_VERSION,
    plugins: Sequence[str] = (PLUGIN,),
    args: Mapping[str, Mapping[str, Any]] = ARGS,
    output: str = "",
) -> HistoryBuilder:
    """Start a scheduler; with `output` it ended with that."""
    h = HistoryBuilder(case)
    h.configuration(version=version, plugins=plugins, args=args)
    if output:
        error = explain_start(output, CandidateError(f"scheduler-tested ended with code 1; it said last:\n{output}"))
        h.add(StartFailed(text=error.message, fix=error.remedy))
    return h


# -- plugin/config-version


def test_served_version_passes() -> None:
    told(started(VERSION).verdict(), "passed", "", SERVED_VERSION)


@pytest.mark.parametrize("version", ["v1beta3", "v1beta2", "v1alpha1", "v2"])
def test_version_that_is_not_served_fails_and_is_named(version: str) -> None:
    other = f"kubescheduler.config.k8s.io/{version}"
    verdict = started(VERSION, version=other, output=OTHER).verdict()
    told(verdict, "failed", "config-version-not-served", other, "v1.36.3", SERVED_VERSION)


def test_history_without_a_configuration_is_invalid() -> None:
    for case in (VERSION, NAME, TYPED, PROFILES):
        told(HistoryBuilder(case).verdict(), "invalid", "nothing-started")


# -- plugin/registered-name


@pytest.mark.parametrize(
    "args",
    [ARGS, {}, {**ARGS, "NodeResourcesFit": {"ignoredResources": ["example.com/a"]}}],
    ids=["own args", "no args", "args of Kubernetes' own"],
)
def test_args_of_enabled_plugins_pass(args: dict[str, Any]) -> None:
    told(started(NAME, args=args).verdict(), "passed")


def test_plugin_that_is_not_registered_fails_and_is_named() -> None:
    verdict = started(NAME, plugins=["least_traffic"], args={"least_traffic": {}}, output=UNKNOWN).verdict()
    told(verdict, "failed", "plugin-not-registered", "least_traffic")


@pytest.mark.parametrize("name", ["leastTraffic", "NodeResourcesFits"])
@pytest.mark.parametrize("output", ["", OTHER])
def test_args_of_a_plugin_that_is_not_enabled_fail_even_if_it_starts(name: str, output: str) -> None:
    verdict = started(NAME, args={name: {"timeRange": "30s"}}, output=output).verdict()
    told(verdict, "failed", "plugin-not-enabled", "pluginConfig", name, PLUGIN)


def test_args_without_an_enabled_plugin_fail() -> None:
    told(started(NAME, plugins=()).verdict(), "failed", "plugin-not-enabled", PLUGIN)


def test_registered_name_is_invalid_if_the_start_fails_for_another_reason() -> None:
    told(started(NAME, output=OTHER).verdict(), "invalid", "does-not-start")


# -- plugin/duplicate-name-rejected

TAKEN = "plugin/duplicate-name-rejected"
NAME_TAKEN = COMMAND_FAILED.format("a plugin named NodeAffinity already exists")


def test_unique_plugin_names_pass() -> None:
    assert started(TAKEN).verdict().outcome == "passed"


def test_plugin_name_already_in_use_fails_and_is_named() -> None:
    told(started(TAKEN, output=NAME_TAKEN).verdict(), "failed", "plugin-name-taken", "NodeAffinity")


def test_duplicate_name_is_invalid_if_the_start_fails_for_another_reason() -> None:
    told(started(TAKEN, output=OTHER).verdict(), "invalid", "does-not-start")
    told(HistoryBuilder(TAKEN).verdict(), "invalid", "nothing-started")


# -- plugin/args-typed

RANGE: dict[str, Any] = {"arg": "timeRange", "value": {"not": "of this type"}, "code": 1, "log": [ILL_TYPED]}
PERCENT: dict[str, Any] = {
    **RANGE, "arg": "resolutionPercent", "log": [ILL_TYPED.replace("timeRange", "resolutionPercent")],
}  # fmt: skip


def tried(*attempts: dict[str, Any], **changes: Any) -> HistoryBuilder:
    h = started(TYPED, **changes)
    for attempt in attempts:
        h.add(Tried(case=TYPED, **attempt))
    return h


def test_ill_typed_args_refused_by_name_pass() -> None:
    told(tried(RANGE, PERCENT).verdict(), "passed", "", "timeRange", "resolutionPercent")


def test_name_of_a_refused_arg_is_case_insensitive() -> None:
    assert tried({**RANGE, "log": ["E1121 bad value for TimeRange"]}).verdict().outcome == "passed"


def test_accepted_ill_typed_arg_fails() -> None:
    verdict = tried(RANGE, {**PERCENT, "code": None, "log": ["I1121 resolutionPercent taken", "ready"]}).verdict()
    told(verdict, "failed", "wrong-arg-accepted", "resolutionPercent")
    assert list(verdict.evidence.logs) == ["resolutionPercent: {'not': 'of this type'}"]


FLAGS = 'I1121 flags.go:64] FLAG: --resolutionPercent="5"'
LONGER = "E1121 bad value for resolutionPercentile"


@pytest.mark.parametrize("log", [[], ["panic: runtime error: invalid memory address"], [ILL_TYPED], [FLAGS], [LONGER]])
def test_exit_without_the_name_of_the_arg_fails(log: list[str]) -> None:
    verdict = tried(RANGE, {**PERCENT, "code": 2, "log": log}).verdict()
    told(verdict, "failed", "arg-not-named", "2", "resolutionPercent")


@pytest.mark.parametrize(
    ("attempt", "outcome"),
    [
        ({"code": 1, "log": ['E1124 unknown field "schedproofUnknown"']}, "passed"),
        ({"code": None, "log": ["ready"]}, "failed"),
        ({"code": 1, "log": ["panic: index out of range"]}, "failed"),
        (None, "invalid"),
    ],
)
def test_unknown_arg_must_be_refused_by_name(attempt: dict[str, Any] | None, outcome: str) -> None:
    h = started(UNKNOWN_ARGS)
    if attempt is not None:
        h.add(Tried(case=UNKNOWN_ARGS, arg="schedproofUnknown", value=1, **attempt))
    assert h.verdict().outcome == outcome
    assert started(UNKNOWN_ARGS, output=OTHER).verdict().outcome == "invalid"
    assert started(UNKNOWN_ARGS, args={PLUGIN: {}}).verdict().outcome == "not-claimed"


@pytest.mark.parametrize(
    ("attempt", "outcome"),
    [
        ({"code": 1, "log": ['E1124 plugin "NetworkTraffic": args are missing']}, "passed"),
        ({"code": None, "log": ["ready"]}, "passed"),
        ({"code": 2, "log": ["panic: interface conversion: interface is nil"]}, "failed"),
        ({"code": -11, "log": ["unexpected fault address"]}, "failed"),
        (None, "invalid"),
    ],
)
def test_scheduler_must_not_crash_without_an_arg(attempt: dict[str, Any] | None, outcome: str) -> None:
    h = started(DEFAULTS)
    for arg in ("", "timeRange") if attempt is not None else ():
        h.add(Tried(case=DEFAULTS, arg=arg, value=None, **(attempt or {})))
    assert h.verdict().outcome == outcome
    assert started(DEFAULTS, output=OTHER).verdict().outcome == "invalid"
    assert started(DEFAULTS, args={}).verdict().outcome == "not-claimed"


def test_scheduler_that_refuses_its_own_args_fails() -> None:
    told(tried(output=ILL_TYPED).verdict(), "failed", "args-refused")


@pytest.mark.parametrize("args", [{}, {PLUGIN: {}}, {"NodeResourcesFit": {"ignoredResources": []}}])
def test_typed_args_are_not_claimed_without_own_args(args: dict[str, Any]) -> None:
    told(tried(args=args).verdict(), "not-claimed", "not-applicable")


@pytest.mark.parametrize(
    ("output", "code"), [("", "not-tried"), (OTHER, "does-not-start"), (UNKNOWN, "does-not-start")]
)
def test_args_that_were_not_tried_are_invalid(output: str, code: str) -> None:
    told(tried(output=output).verdict(), "invalid", code)


# -- plugin/profiles

SECOND = "scheduler-tested-second"


def profiles(*, bound: bool = True, output: str = "") -> HistoryBuilder:
    """A scheduler with two profiles and a pod for each; `bound`: whether the second profile's pod is bound."""
    h = started(PROFILES, output=output)
    h.records[0]["scheduler_names"].append(SECOND)
    if output:
        return h
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    h.pod("probe-2", scheduler=SECOND)
    if bound:
        h.bind("probe-2", "node-2")
    h.expect("probe-2", "bound")
    return h


def test_profiles_that_bind_their_pods_pass() -> None:
    told(profiles().verdict(), "passed")


def test_profile_that_does_not_bind_its_pods_fails() -> None:
    told(profiles(bound=False).verdict(), "failed", "not-bound-in-time", "probe-2")


@pytest.mark.parametrize("output", [DIFFERENT_SORTS, TWO_SORTS])
def test_profiles_with_different_queue_sort_plugins_fail(output: str) -> None:
    told(profiles(output=output).verdict(), "failed", "queue-sorts-differ", "queueSort")


def test_profiles_are_invalid_if_the_start_fails_for_another_reason() -> None:
    told(profiles(output=OTHER).verdict(), "invalid", "does-not-start")


def test_profiles_are_not_claimed_for_one_profile() -> None:
    told(started(PROFILES).verdict(), "not-claimed", "not-applicable")


def test_profile_args_need_a_second_profile_and_the_quietest_nodes() -> None:
    for names, choose, outcome in (
        ([], quietest, "not-claimed"), ([SECOND], quietest, "passed"), ([SECOND], loudest, "failed"),
    ):  # fmt: skip
        h = flipped(case=PROFILE_ARGS, choose=choose)
        h.configuration()
        h.records[0]["scheduler_names"] += names
        assert h.verdict().outcome == outcome


# -- core/alive


@pytest.mark.parametrize("output", [UNKNOWN, ILL_TYPED, OTHER])
def test_scheduler_that_does_not_start_is_not_alive(output: str) -> None:
    told(started(NAME, output=output).verdict("core/alive"), "failed", "does-not-start")
