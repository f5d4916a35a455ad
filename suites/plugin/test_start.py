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
