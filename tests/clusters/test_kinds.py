"""What each registration of a kind of cluster has to keep, and that no kind needs to be known elsewhere."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

import schedproof
from schedproof.binaries import lock
from schedproof.clusters.kinds import KINDS
from schedproof.clusters.registration import ClusterKind, ClusterOptions, Starter, definition
from schedproof.deploy.deployer import DEPLOY_MODES
from schedproof.foundation.errors import UsageError
from schedproof.run.options import CLUSTER_OPTIONS

PACKAGE = Path(schedproof.__file__).parent
OPTIONS = {field.name for field in dataclasses.fields(ClusterOptions)} - {"cluster", "binaries"}
NAME = f"""["']({"|".join(KINDS)})["']"""
COMPARED = re.compile(rf"[!=]=\s*{NAME}|{NAME}\s*[!=]=")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> ClusterKind:
    return KINDS[request.param]


def refused(kind: ClusterKind) -> UsageError | None:
    try:
        kind.check(ClusterOptions(cluster=kind.name))
    except UsageError as error:
        return error
    return None


def test_a_kind_starts_with_the_arguments_of_every_kind(kind: ClusterKind) -> None:
    expected = [name for name in inspect.signature(Starter.__call__).parameters if name != "self"]
    assert list(inspect.signature(kind.start).parameters) == expected


def test_options_of_a_kind_are_known_and_its_check_accepts_or_explains(kind: ClusterKind) -> None:
    assert set(kind.options) <= OPTIONS
    assert len(set(kind.options)) == len(kind.options)
    refusal = refused(kind)
    assert refusal is None or (f"--cluster {kind.name}" in refusal.message and refusal.remedy)


def test_every_option_of_a_cluster_is_of_some_kind_and_on_the_command_line() -> None:
    assert {option for kind in KINDS.values() for option in kind.options} == OPTIONS
    offered = {option.name.replace("-", "_") for option in CLUSTER_OPTIONS}
    assert offered - {"cluster", "deploy"} == OPTIONS


def test_candidates_can_be_deployed_in_every_kind(kind: ClusterKind) -> None:
    assert kind.deploys
    assert set(kind.deploys) <= set(DEPLOY_MODES)


def test_binaries_of_a_kind_are_pinned(kind: ClusterKind) -> None:
    needed = {*kind.binaries, *(kind.minimal.binaries if kind.minimal is not None else ())}
    for version in lock.load().kubernetes:
        assert needed <= lock.load().builds(version).keys()


def test_a_kind_with_a_definition_ships_one(kind: ClusterKind) -> None:
    if "cluster_file" in kind.options:
        assert definition(ClusterOptions(cluster=kind.name)).is_file()


def test_no_module_compares_the_name_of_a_kind() -> None:
    """A registration says what differs, or a capability."""
    modules = [path for path in PACKAGE.rglob("*.py") if COMPARED.search(path.read_text())]
    assert [str(path.relative_to(PACKAGE)) for path in modules] == []
