"""plugin: the start of a compiled scheduler, where what is wrong is easily ignored."""

import pytest


@pytest.mark.clause("plugin/config-version")
def test_config_version(case):
    """Its own start is the stimulus."""


@pytest.mark.clause("plugin/registered-name")
def test_registered_name(case):
    """Its own start is the stimulus."""


@pytest.mark.clause("plugin/args-typed")
def test_args_typed(case):
    """It is started beside itself, each time with one of its args of another type."""
    case.try_ill_typed_args()


@pytest.mark.clause("plugin/args-unknown")
def test_args_unknown(case):
    """It is started beside itself, with one more among its args."""
    case.try_unknown_args()


@pytest.mark.clause("plugin/args-defaults")
def test_args_defaults(case):
    """It is started beside itself without one of its args, then without any."""
    case.try_left_out_args()


@pytest.mark.clause("plugin/profiles")
def test_profiles(case):
    """A pod for each schedulerName that its configuration serves."""
    case.try_profiles()


@pytest.mark.clause("plugin/rbac-sufficient")
def test_rbac_sufficient(case):
    """All that was done to it in this run is the stimulus."""


@pytest.mark.clause("plugin/rbac-dangerous")
def test_rbac_dangerous(case):
    """Its declared rights are looked at, whatever it did with them."""


@pytest.mark.clause("plugin/rbac-minimal")
def test_rbac_minimal(case):
    """All that was done to it in this run is the stimulus."""
