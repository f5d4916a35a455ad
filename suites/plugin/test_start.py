"""plugin: the start of a compiled scheduler, configuration that is easily ignored, and what it serves."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case
from schedproof.stimulus.pods import Pod
from schedproof.stimulus.traffic.load import opposed


@pytest.mark.clause("plugin/config-version")
def test_config_version(case: Case) -> None:
    """No stimulus of its own: the start of the candidate is judged."""


@pytest.mark.clause("plugin/registered-name")
def test_registered_name(case: Case) -> None:
    """No stimulus of its own: the start of the candidate is judged."""


@pytest.mark.clause("plugin/duplicate-name-rejected")
def test_duplicate_name_rejected(case: Case) -> None:
    """No stimulus of its own: the start of the candidate is judged."""


@pytest.mark.clause("plugin/args-typed")
def test_args_typed(case: Case) -> None:
    """For each of its args, a second instance is started with a value of another type."""
    case.plugin.try_ill_typed_args()


@pytest.mark.clause("plugin/args-unknown")
def test_args_unknown(case: Case) -> None:
    """A second instance is started with an additional arg."""
    case.plugin.try_unknown_args()


@pytest.mark.clause("plugin/args-defaults")
def test_args_defaults(case: Case) -> None:
    """Second instances are started, each without one of its args, or without any."""
    case.plugin.try_left_out_args()


@pytest.mark.clause("plugin/profiles")
def test_profiles(case: Case) -> None:
    """A pod for each schedulerName that its configuration serves."""
    case.plugin.try_profiles()


@pytest.mark.clause("plugin/profile-args")
def test_profile_args(case: Case) -> None:
    """Its profiles are in the opposite order. Other devices, and the other direction, carry the opposite load.

    Each probe comes right after pods of the other profiles, which may go anywhere.
    """
    if not case.plugin.has_several_profiles:
        return
    with case.candidate.profiles_reversed():
        for node in case.nodes.names[:2]:
            load = case.load.traffic(node)
            phase = case.load.script(
                load, devices=dict.fromkeys(case.load.other_devices, opposed(load)), other_way=opposed(load)
            )

            def probe(phase: int = phase) -> Pod:
                case.plugin.schedule_by_others()
                return case.preference.ask("probe", phase)

            case.preference.probe(phase, count=case.chance.probes(2), ask=probe)


@pytest.mark.clause("plugin/healthz-readyz")
def test_healthz_readyz(case: Case) -> None:
    """Its health is requested as a kubelet does, before and after it schedules a pod."""
    case.plugin.ask_health()
    case.expect_bound([case.pod()])
    case.plugin.ask_health()


@pytest.mark.clause("plugin/metrics")
def test_metrics(case: Case) -> None:
    """Its metrics are read as a Prometheus does, before and after it schedules three pods."""
    case.plugin.ask_metrics()
    pods = [case.pod() for _ in range(3)]
    case.expect_bound(pods)
    case.plugin.ask_metrics(after=pods)


@pytest.mark.clause("plugin/leader-election-off-on")
def test_leader_election_off_on(case: Case) -> None:
    """It schedules a pod, is restarted with leader election, and schedules another pod."""
    case.expect_bound([case.pod("off")])
    with case.candidate.electing():
        case.expect_bound([case.pod("on")])


@pytest.mark.clause("plugin/second-scheduler")
def test_second_scheduler(case: Case) -> None:
    """Pods for it and for the stock scheduler, which runs beside it, are created in turn."""
    if case.plugin.replaces_default:
        return
    with case.plugin.beside_the_stock_scheduler():
        pods, others = [], []
        for _ in range(3):
            pods.append(case.pod())
            others += case.plugin.others(1)
        case.expect_bound(pods)
        case.plugin.await_others(others)


@pytest.mark.clause("plugin/replaces-default")
def test_replaces_default(case: Case) -> None:
    """Two pods have no schedulerName: an ordinary one, and a DaemonSet's, whose node is cordoned."""
    if not case.plugin.replaces_default:
        return
    node, *_ = case.nodes.names
    case.expect_bound([case.pod(schedulerName=None)])
    case.nodes.change(node, unschedulable=True)
    case.settle()
    case.expect_bound([case.plugin.daemon(node)])


@pytest.mark.clause("plugin/rbac-sufficient")
def test_rbac_sufficient(case: Case) -> None:
    """No stimulus of its own: the requests of the whole run are judged."""


@pytest.mark.clause("plugin/rbac-dangerous")
def test_rbac_dangerous(case: Case) -> None:
    """Reads the declared RBAC rules, whether or not the candidate uses them."""


@pytest.mark.clause("plugin/rbac-minimal")
def test_rbac_minimal(case: Case) -> None:
    """No stimulus of its own: the requests of the whole run are judged."""
