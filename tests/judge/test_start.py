"""How a compiled scheduler starts, and what of its configuration never arrives."""

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

# The last words of kube-scheduler v1.36.3.
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
    said: str = "",
) -> HistoryBuilder:
    """A scheduler is started; where it said something, that was the end of it."""
    h = HistoryBuilder(case)
    h.configuration(version=version, plugins=plugins, args=args)
    if said:
        error = explain_start(said, CandidateError(f"scheduler-tested ended with code 1; it said last:\n{said}"))
        h.add(StartFailed(text=error.message, fix=error.remedy))
    return h


# -- plugin/config-version


def test_the_version_that_is_served_passes() -> None:
    told(started(VERSION).verdict(), "passed", "", SERVED_VERSION)


@pytest.mark.parametrize("version", ["v1beta3", "v1beta2", "v1alpha1", "v2"])
def test_a_version_that_is_not_served_fails_and_is_named(version: str) -> None:
    other = f"kubescheduler.config.k8s.io/{version}"
    verdict = started(VERSION, version=other, said=OTHER).verdict()
    told(verdict, "failed", "config-version-not-served", other, "v1.36.3", SERVED_VERSION)


def test_without_a_configuration_nothing_is_shown_of_it() -> None:
    for case in (VERSION, NAME, TYPED, PROFILES):
        told(HistoryBuilder(case).verdict(), "invalid", "nothing-started")


# -- plugin/registered-name


@pytest.mark.parametrize(
    "args",
    [ARGS, {}, {**ARGS, "NodeResourcesFit": {"ignoredResources": ["example.com/a"]}}],
    ids=["own args", "no args", "args of Kubernetes' own"],
)
def test_names_that_are_enabled_pass(args: dict[str, Any]) -> None:
    told(started(NAME, args=args).verdict(), "passed")


def test_a_name_that_is_not_registered_fails_and_is_named() -> None:
    verdict = started(NAME, plugins=["least_traffic"], args={"least_traffic": {}}, said=UNKNOWN).verdict()
    told(verdict, "failed", "plugin-not-registered", "least_traffic")


@pytest.mark.parametrize("name", ["leastTraffic", "NodeResourcesFits"])
@pytest.mark.parametrize("said", ["", OTHER])
def test_args_for_a_name_that_is_not_enabled_fail_even_where_it_starts(name: str, said: str) -> None:
    verdict = started(NAME, args={name: {"timeRange": "30s"}}, said=said).verdict()
    told(verdict, "failed", "plugin-not-enabled", "pluginConfig", name, PLUGIN)


def test_args_where_nothing_is_enabled_never_arrive() -> None:
    told(started(NAME, plugins=()).verdict(), "failed", "plugin-not-enabled", PLUGIN)


def test_who_does_not_start_for_another_reason_shows_nothing() -> None:
    told(started(NAME, said=OTHER).verdict(), "invalid", "does-not-start")


# -- plugin/duplicate-name-rejected

TAKEN = "plugin/duplicate-name-rejected"
NAME_TAKEN = COMMAND_FAILED.format("a plugin named NodeAffinity already exists")


def test_names_of_their_own_pass() -> None:
    assert started(TAKEN).verdict().outcome == "passed"


def test_a_name_that_is_taken_fails_and_is_named() -> None:
    told(started(TAKEN, said=NAME_TAKEN).verdict(), "failed", "plugin-name-taken", "NodeAffinity")


def test_another_end_of_the_start_shows_nothing_of_names() -> None:
    told(started(TAKEN, said=OTHER).verdict(), "invalid", "does-not-start")
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


def test_ill_typed_args_that_fail_the_start_by_name_pass() -> None:
    told(tried(RANGE, PERCENT).verdict(), "passed", "", "timeRange", "resolutionPercent")


def test_case_does_not_matter_in_the_name_of_an_arg() -> None:
    assert tried({**RANGE, "log": ["E1121 bad value for TimeRange"]}).verdict().outcome == "passed"


def test_an_ill_typed_arg_that_it_starts_with_fails() -> None:
    verdict = tried(RANGE, {**PERCENT, "code": None, "log": ["I1121 resolutionPercent taken", "ready"]}).verdict()
    told(verdict, "failed", "wrong-arg-accepted", "resolutionPercent")
    assert list(verdict.evidence["logs"]) == ["resolutionPercent: {'not': 'of this type'}"]


FLAGS = 'I1121 flags.go:64] FLAG: --resolutionPercent="5"'
LONGER = "E1121 bad value for resolutionPercentile"


@pytest.mark.parametrize("log", [[], ["panic: runtime error: invalid memory address"], [ILL_TYPED], [FLAGS], [LONGER]])
def test_an_end_that_does_not_name_the_arg_fails(log: list[str]) -> None:
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
def test_an_unknown_arg_is_to_fail_the_start_by_name(attempt: dict[str, Any] | None, outcome: str) -> None:
    h = started(UNKNOWN_ARGS)
    if attempt is not None:
        h.add(Tried(case=UNKNOWN_ARGS, arg="schedproofUnknown", value=1, **attempt))
    assert h.verdict().outcome == outcome
    assert started(UNKNOWN_ARGS, said=OTHER).verdict().outcome == "invalid"
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
def test_without_an_arg_it_is_not_to_crash(attempt: dict[str, Any] | None, outcome: str) -> None:
    h = started(DEFAULTS)
    for arg in ("", "timeRange") if attempt is not None else ():
        h.add(Tried(case=DEFAULTS, arg=arg, value=None, **(attempt or {})))
    assert h.verdict().outcome == outcome
    assert started(DEFAULTS, said=OTHER).verdict().outcome == "invalid"
    assert started(DEFAULTS, args={}).verdict().outcome == "not-claimed"


def test_who_does_not_take_its_own_args_fails() -> None:
    told(tried(said=ILL_TYPED).verdict(), "failed", "args-refused")


@pytest.mark.parametrize("args", [{}, {PLUGIN: {}}, {"NodeResourcesFit": {"ignoredResources": []}}])
def test_who_has_no_args_of_its_own_claims_nothing_about_them(args: dict[str, Any]) -> None:
    told(tried(args=args).verdict(), "not-claimed", "not-applicable")


@pytest.mark.parametrize(("said", "code"), [("", "not-tried"), (OTHER, "does-not-start"), (UNKNOWN, "does-not-start")])
def test_args_that_were_not_tried_show_nothing(said: str, code: str) -> None:
    told(tried(said=said).verdict(), "invalid", code)


# -- plugin/profiles

SECOND = "scheduler-tested-second"


def profiles(*, bound: bool = True, said: str = "") -> HistoryBuilder:
    """A scheduler of two profiles, and a pod for each; `bound`: that of the second is scheduled."""
    h = started(PROFILES, said=said)
    h.records[0]["scheduler_names"].append(SECOND)
    if said:
        return h
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    h.pod("probe-2", scheduler=SECOND)
    if bound:
        h.bind("probe-2", "node-2")
    h.expect("probe-2", "bound")
    return h


def test_profiles_that_schedule_their_pods_pass() -> None:
    told(profiles().verdict(), "passed")


def test_a_profile_that_leaves_its_pods_fails() -> None:
    told(profiles(bound=False).verdict(), "failed", "not-bound-in-time", "probe-2")


@pytest.mark.parametrize("said", [DIFFERENT_SORTS, TWO_SORTS])
def test_profiles_that_cannot_share_a_queue_fail(said: str) -> None:
    told(profiles(said=said).verdict(), "failed", "queue-sorts-differ", "queueSort")


def test_profiles_of_a_scheduler_that_does_not_start_for_another_reason_show_nothing() -> None:
    told(profiles(said=OTHER).verdict(), "invalid", "does-not-start")


def test_one_profile_claims_nothing_about_others() -> None:
    told(started(PROFILES).verdict(), "not-claimed", "not-applicable")


def test_args_of_a_profile_are_its_own_in_the_other_order_too() -> None:
    for names, choose, outcome in (
        ([], quietest, "not-claimed"), ([SECOND], quietest, "passed"), ([SECOND], loudest, "failed"),
    ):  # fmt: skip
        h = flipped(case=PROFILE_ARGS, choose=choose)
        h.configuration()
        h.records[0]["scheduler_names"] += names
        assert h.verdict().outcome == outcome


# -- core/alive


@pytest.mark.parametrize("said", [UNKNOWN, ILL_TYPED, OTHER])
def test_who_does_not_start_does_not_live(said: str) -> None:
    told(started(NAME, said=said).verdict("core/alive"), "failed", "does-not-start")
