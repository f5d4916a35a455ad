"""Which options can be combined with which clusters: other combinations are refused before anything is started."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.run.launch import Settings, check
from schedproof.run.options import CLUSTER_OPTIONS, add_options, given, rate

EXISTING = {"cluster": "existing", "kubeconfig": Path("k"), "prometheus": "http://192.0.2.1"}


def settings(**given: Any) -> Settings:
    return Settings(report=Path(), **given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"nodes": 3, "cluster_file": Path("mine.yaml"), "deploy": "process", "kubernetes": "1.35"},
        {"cluster": "kind", "nodes": 2, "deploy": "control-plane", "keep_cluster": True, "node_image": "mine:1"},
        {**EXISTING, "context": "c", "namespace_prefix": "mine", "allow_node_changes": True, "deploy": "process"},
        {**EXISTING, "callback_address": "127.0.0.1", "audit_log": Path(__file__)},
        {**EXISTING, "deploy": "pod", "registry": "r.example.com/me", "allow_load": 1e6, "python_image": "python:3"},
    ],
)
def test_valid_combinations_of_options_are_accepted(given: dict[str, Any]) -> None:
    check(settings(**given))


def test_whoever_asks_first_is_told_of_an_unknown_kind_of_cluster() -> None:
    with pytest.raises(UsageError, match="--cluster kwok: unknown kind"):
        _ = settings(cluster="kwok").kind


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cluster": "kwok"}, "--cluster kwok: unknown kind of cluster"),
        ({"keep_cluster": True}, "--keep-cluster is not supported with --cluster embedded"),
        ({"kubeconfig": Path("k")}, "--kubeconfig is not supported with --cluster embedded"),
        ({"cluster": "kind", "allow_node_changes": True}, "--allow-node-changes is not supported with --cluster kind"),
        ({"kubernetes": "1.12"}, "no binaries are pinned for Kubernetes '1.12'"),
        ({**EXISTING, "kubernetes": "1.36"}, "--kubernetes is not supported with --cluster existing"),
        ({**EXISTING, "nodes": 3}, "--nodes is not supported with --cluster existing"),
        ({"deploy": "somehow"}, "--deploy somehow: unknown deployment mode"),
        ({"deploy": "pod"}, "--deploy pod: on --cluster embedded candidates run as processes"),
        ({**EXISTING, "deploy": "control-plane"}, "--deploy control-plane: on --cluster existing"),
        ({"cluster": "existing", "prometheus": "http://192.0.2.1"}, "--cluster existing needs --kubeconfig"),
        ({**EXISTING, "callback_address": "192.0.2.1"}, "this machine cannot listen there"),
        ({**EXISTING, "callback_address": "localhost"}, "this machine cannot listen there"),
        ({**EXISTING, "audit_log": Path("/nowhere/audit.log")}, "the file does not exist"),
        *(
            ({**EXISTING, "namespace_prefix": prefix}, "not the beginning of a valid namespace name")
            for prefix in ("", "-a", "a-", "A", "a.b", "a" * 31)
        ),
    ],
)
def test_invalid_combinations_of_options_are_refused_with_a_fix(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        check(settings(**given))
    assert refused.value.remedy


def test_every_cluster_option_is_a_field_of_the_settings() -> None:
    fields = {field.name for field in dataclasses.fields(Settings)}
    assert {option.name.replace("-", "_") for option in CLUSTER_OPTIONS} <= fields


@pytest.mark.parametrize(("text", "expected"), [("10M", 1e7), ("1.5G", 1.5e9), ("100k", 1e5), ("2000000.0", 2e6)])
def test_a_rate_is_bytes_per_second(text: str, expected: float) -> None:
    assert rate(text) == expected


@pytest.mark.parametrize("text", ["", "0", "99k", "10m", "10MB", "-1M", "1e7", "nan", "10 M"])
def test_other_rates_are_refused_with_a_fix(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="fix: write one such as 10M"):
        rate(text)


def test_the_command_line_is_rebuilt_from_parsed_options() -> None:
    options = [
        "--cluster=existing",
        "--kubeconfig=k",
        "--allow-node-changes",
        "--allow-load=10000000.0",
        "--audit-log=a",
        "--clause=core/binds",
    ]
    parser = argparse.ArgumentParser()
    add_options(parser.add_argument, prefix="")
    parsed = parser.parse_args(options)
    assert given(lambda name: getattr(parsed, name.replace("-", "_")), prefix="") == options
    with_prefix = given(lambda name: getattr(parsed, name.replace("-", "_")), prefix="sched-", without=frozenset())
    assert "--sched-allow-node-changes" in with_prefix
