"""The commands that need no cluster: help, explain, check, candidates, clauses."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.binaries.resolve import Origin, Resolved
from schedproof.candidate.shipped import find_candidate, shipped_names
from schedproof.cli import prefetch as prefetching
from schedproof.cli.main import _COMMANDS, command_line, main
from schedproof.clusters.kinds import KINDS
from schedproof.documents.suggestions import did_you_mean_one_of
from schedproof.foundation.content import content
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import why_unclaimed

EXAMPLES = [example for group in _COMMANDS.values() for _, example in group.values()]


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Run a command; return its output, standard output and standard error together."""
    capsys.readouterr()
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert not code or "\n  fix: " in err
    return out + err


# -- help


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_in_the_help_is_a_valid_command(example: str) -> None:
    program, *arguments = shlex.split(example)
    assert program == "schedproof"
    assert callable(command_line().parse_args(arguments).run)


def test_every_command_is_in_a_group_and_shows_its_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line().parse_args(["--help"])
    out = capsys.readouterr().out
    assert all(example in out for example in EXAMPLES)
    for group in _COMMANDS.values():
        for name, (_, example) in group.items():
            with pytest.raises(SystemExit):
                command_line().parse_args([name, "--help"])
            assert f"example: {example}" in capsys.readouterr().out


# -- completion

COMPLETED = [
    ("schedproof pref", {"prefetch "}),
    ("schedproof run sto", {"stock "}),
    ("schedproof run stock --clause network/fl", {"network/flip "}),
    ("schedproof explain core/bin", {clause for clause in CATALOGUE if clause.startswith("core/bin")}),
    ("schedproof init e", {"extender "}),
]


@pytest.mark.parametrize(("line", "expected"), COMPLETED)
def test_the_shell_completes_commands_options_and_names(line: str, expected: set[str], tmp_path: Path) -> None:
    found = tmp_path / "found"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_STDOUT_FILENAME": str(found)}
    asked |= {"_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    subprocess.run((sys.executable, "-m", "schedproof"), env=os.environ | asked, check=True, timeout=60)
    assert set(found.read_text().split("\n")) == expected


# -- prefetch


def test_prefetch_gets_all_binaries_of_a_cluster_and_compiles_plugins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def resolved(names: list[str], *, kubernetes: str, **_: object) -> dict[str, Resolved]:
        return {name: Resolved(name, tmp_path / name, f"1 of {kubernetes}", Origin.BUILT) for name in names}

    monkeypatch.setattr(prefetching, "resolve", resolved)
    monkeypatch.setattr(prefetching, "scheduler_binary", lambda *_, name, **__: f"compiled {name}")
    monkeypatch.setattr(prefetching, "build_probe", lambda *_, name, **__: f"probe of {name}")
    of_kind = dataclasses.replace(KINDS["kind"], fetch=lambda *_: iter(["node image: the image"]))
    monkeypatch.setattr(prefetching, "KINDS", {**KINDS, "kind": of_kind})
    lines = output_of(
        capsys, "prefetch", "least-traffic-plugin", "least-traffic-extender", "--cluster=kind"
    ).splitlines()
    assert {f"{name} 1 of {DEFAULT_KUBERNETES}:" for name in ("kind", "kube-scheduler", "driver")} <= {
        line.rpartition(" ")[0] for line in lines
    }
    assert "node image: the image" in lines
    assert lines[-2:] == [
        "least-traffic-plugin: compiled least-traffic-plugin",
        "least-traffic-plugin, for its scores: probe of least-traffic-plugin",
    ]
    embedded = output_of(capsys, "prefetch", "--kubernetes=1.35")
    assert "etcd 1 of 1.35: " in embedded
    assert "node image" not in embedded


# -- explain


@pytest.mark.parametrize("clause", CATALOGUE.values(), ids=lambda clause: clause.id)
def test_every_clause_is_explained(clause: Any, capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(output_of(capsys, "explain", clause.id).split())
    assert clause.hint
    for part in (clause.guarantee, clause.source, clause.hint, f"--clause {clause.id}"):
        assert " ".join(part.split()) in words
    file, test = words.partition("by: ")[2].split()[0].split("::")
    assert f"def {test}(" in (content("suites").parent / file).read_text()


def test_an_explanation_names_a_planted_defect_that_fails_the_clause(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of(capsys, "explain", "network/zero-traffic")
    command = next(line for line in out.splitlines() if line.startswith("see it fail: "))
    _, _, candidate, option, clause = shlex.split(command.removeprefix("see it fail: "))
    assert (option, clause) == ("--clause", "network/zero-traffic")
    rows = yaml.safe_load(content("fixtures", "defects.yaml").read_text())
    assert any(row["candidate"] == candidate and clause in row["fails"] for row in rows)


def test_several_clauses_are_explained_in_the_given_order(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of(capsys, "explain", "core/binds", "core/cordon")
    assert out.index("core/binds (required") < out.index("core/cordon (required")


# -- names that do not exist


def test_unknown_names_have_up_to_three_suggestions(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean network/flip, " in output_of(capsys, "explain", "network/flap", code=2)
    assert "did you mean defects/hot-loop?" in output_of(capsys, "check", "hot-lop", code=2)
    assert "schedproof candidates" in output_of(capsys, "check", "nothing-like-it-at-all", code=2)


@pytest.mark.parametrize("option", ["--seed=0", "--clause=core/binds", "--repeat=2", "--report=x", "--watch"])
def test_a_resumed_run_is_the_one_that_was_interrupted(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = option.partition("=")[0]
    assert f"{name} cannot change that" in output_of(capsys, "run", "stock", "--resume=x", option, code=2)


def test_shards_have_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--shard needs --seed" in output_of(capsys, "run", "stock", "--shard=1/2", code=2)


def test_what_is_no_shard_is_not_merged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = output_of(capsys, "merge", str(tmp_path), f"--report={tmp_path / 'merged'}", code=2)
    assert "is not the report of a shard" in out
    assert not (tmp_path / "merged").exists()


def test_run_refuses_an_own_test_and_names_the_pytest_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "pytest --sched-candidate=CANDIDATE --sched-clause=own/mine" in output_of(
        capsys, "run", "stock", "--clause", "own/mine", code=2
    )


@pytest.mark.parametrize(
    ("word", "fix"),
    [
        ("core/bnds", "did you mean core/binds?"),
        ("extender", "did you mean my-extender, a/extender or b/extender?"),
        ("zzzz", "`list` lists them"),
    ],
)
def test_a_misspelt_name_has_suggestions(word: str, fix: str) -> None:
    options = ("core/binds", "a/extender", "b/extender", "c/the-extender", "my-extender", "other")
    assert did_you_mean_one_of(word, options, listed_by="list").startswith(fix)


# -- candidates, clauses


def test_every_shipped_candidate_is_listed_with_its_kind_and_description(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output_of(capsys, "candidates").splitlines()
    listed = {line.split()[0]: line.split(maxsplit=2)[1:] for line in lines}
    assert set(listed) == set(shipped_names())
    assert listed["stock"][0] == "plugin"
    assert all(kind in ("plugin", "extender", "controller") and about for kind, about in listed.values())
    assert lines[0].split()[0] == "least-traffic-controller"
    assert all(line.startswith("defects/") for line in output_of(capsys, "candidates", "defects/").splitlines())
    output_of(capsys, "candidates", "no such thing", code=2)


def test_clauses_shows_which_clauses_a_candidate_claims(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(output_of(capsys, "clauses").splitlines()) == len(CATALOGUE)
    claims = find_candidate("stock").claims
    out = output_of(capsys, "clauses", "--candidate", "stock")
    assert f"stock claims {sum(not why_unclaimed(clause, claims) for clause in CATALOGUE.values())} of" in out
    assert "network/flip: the profile network-aware is not claimed" in out


def test_clauses_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--candidate", "stock", "--candidate", "least-traffic-extender", "--json")
    document = json.loads(output_of(capsys, "clauses", *options))
    assert [clause["id"] for clause in document] == list(CATALOGUE)
    flip = next(clause for clause in document if clause["id"] == "network/flip")
    assert flip["candidates"]["stock"] == {"claimed": False, "why": "the profile network-aware is not claimed"}
    assert flip["candidates"]["least-traffic-extender"] == {"claimed": True, "why": ""}
    assert flip["profile"] == "network-aware"
    assert all(clause["candidates"] == {} for clause in json.loads(output_of(capsys, "clauses", "--json")))


# -- check


def write(folder: Path, command: list[str], **spec: Any) -> str:
    extender = {"command": command, "port": 8888, "config": {"filterVerb": "filter"}}
    document = {
        "apiVersion": "schedproof/v1", "kind": "Candidate", "metadata": {"name": "mine"},
        "spec": {"schedulerName": "mine", "extender": extender, **spec},
    }  # fmt: skip
    file = folder / "candidate.yaml"
    file.write_text(json.dumps(document))
    return str(file)


def program(folder: Path, name: str, text: str, mode: int = 0o755) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(mode)


def test_check_describes_a_valid_candidate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(tmp_path, "mine.py", "#!/usr/bin/env python3\n")
    exclusions = [{"clause": "core/cordon", "reason": "not yet"}]
    file = write(tmp_path, ["./mine.py"], claims={"profiles": ["core"]}, exclusions=exclusions)
    out = output_of(capsys, "check", file)
    assert f"{file}: mine, extender, schedulerName mine" in out
    assert "excluded: core/cordon (not yet)" in out
    features = (
        "declared-features, dra, dra-extended, events, gang, in-place-resize, pod-affinity, pod-level-resources, "
        "preemption, priority, scoring, topology-spread, volumes"
    )
    assert f"could also be claimed: {features}\n" in out
    assert "expected to take about" in out


def test_all_shipped_references_and_templates_pass_check(capsys: pytest.CaptureFixture[str]) -> None:
    output_of(capsys, "check", *(name for name in shipped_names() if "/" not in name))
    output_of(capsys, "check", *map(str, sorted(content("fixtures", "templates").glob("*/candidate.yaml"))))


@pytest.mark.parametrize(
    ("election", "name", "warned"),
    [
        ({"leaderElect": True}, "mine", True),
        ({}, "mine", True),
        ({"resourceName": "kube-scheduler"}, "mine", True),
        ({"leaderElect": False}, "mine", False),
        ({"leaderElect": True, "resourceName": "mine"}, "mine", False),
        ({"leaderElect": True, "resourceNamespace": "mine"}, "mine", False),
        ({"leaderElect": True}, "default-scheduler", False),
    ],
)
def test_check_warns_of_the_lease_of_the_clusters_own_scheduler(
    election: dict[str, Any], name: str, warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path, "mine.py", "#!/usr/bin/env python3\n")
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "leaderElection": election, "profiles": [{"schedulerName": name}],
    }  # fmt: skip
    file = write(tmp_path, ["./mine.py"], schedulerName=name, schedulerConfig=configuration)
    assert ("kube-system/kube-scheduler" in output_of(capsys, "check", file)) == warned


@pytest.mark.parametrize(("weight", "warned"), [(92233720368547758, False), (92233720368547759, True)])
def test_check_warns_of_an_extender_weight_that_overflows_scores(
    weight: int, warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path, "mine.py", "#!/usr/bin/env python3\n")
    config = {"prioritizeVerb": "prioritize", "weight": weight}
    file = write(tmp_path, ["./mine.py"], extender={"command": ["./mine.py"], "port": 8888, "config": config})
    assert ("overflows int64" in output_of(capsys, "check", file)) == warned


NETWORK = {"metric": "m", "direction": "receive", "window": "2s", "resolution": "10%"}


@pytest.mark.parametrize(
    ("weight", "priority", "disabled", "warning"),
    [
        (None, "first", [], "is 1: a difference of 1 between its scores counts 10 points, the largest 100"),
        (15, "first", [], "traffic only breaks ties"),
        (16, "first", [], "traffic decides only where its scores differ by 10 or more"),
        (150, "first", [], "fix: a weight of 151 or more, or network.priority: tie-breaker"),
        (151, "first", [], ""),
        (1, "tie-breaker", [], ""),
        (1, "first", [{"name": "*"}], ""),
        (1, "first", [{"name": "TaintToleration"}], "all other scores up to 1200 (NodeAffinity 200, "),
    ],
)
def test_check_warns_of_an_extender_weight_that_is_too_small_for_traffic_to_come_first(
    weight: int | None,
    priority: str,
    disabled: list[dict[str, str]],
    warning: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program(tmp_path, "mine.py", "#!/usr/bin/env python3\n")
    profile = {"schedulerName": "mine", "plugins": {"score": {"disabled": disabled}}}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile],
        "leaderElection": {"leaderElect": False},
    }  # fmt: skip
    config = {"prioritizeVerb": "prioritize", "weight": weight}
    file = write(
        tmp_path, ["./mine.py"], extender={"command": ["./mine.py"], "port": 8888, "config": config},
        schedulerConfig=configuration,
        claims={"profiles": ["network-aware"], "network": {**NETWORK, "priority": priority}},
    )  # fmt: skip
    out = output_of(capsys, "check", file)
    assert warning in out
    assert ("network.priority is first" in out) == bool(warning)


def test_check_warns_of_a_plugin_that_other_score_plugins_outweigh(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = output_of(capsys, "check", "defects/plugin-outweighed-by-preferences", "defects/plugin-outweighed-by-room")
    assert "the weight of NetworkTraffic in schedulerConfig is 7: " in out
    assert "NodeResourcesFit 500000" in out
    assert "warning" not in output_of(capsys, "check", "least-traffic-plugin", "least-traffic-extender")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["./none"], "there is no program './none' in "),
        (["no-such-program-at-all"], "there is no program 'no-such-program-at-all' on PATH"),
        (["./plain"], "plain is not executable"),
        (["./folder"], "folder is a folder"),
        (["./lost"], "/no/such/python, does not exist"),
        (["python3", "none.py"], "the file 'none.py' does not exist in "),
        (["{python}", "-u", "{here}/none.py"], "none.py' does not exist in "),
    ],
)
def test_a_command_that_cannot_start_is_refused(
    command: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path, "plain", "", 0o644)
    program(tmp_path, "lost", "#!/no/such/python -u\n")
    (tmp_path / "folder").mkdir()
    file = write(tmp_path, command)
    out = output_of(capsys, "check", file, code=2)
    assert f"{file}: spec.extender.command: " in out
    assert message in out


def test_check_requires_the_module_of_a_scoring_function_and_does_not_import_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, ["true"], scoring={"python": "scores_of_mine:scores"})
    assert "the module scores_of_mine does not exist" in output_of(capsys, "check", file, code=2)
    (tmp_path / "scores_of_mine.py").write_text("raise SystemExit('imported')\n")
    output_of(capsys, "check", file)


def test_all_candidates_are_checked_and_any_invalid_candidate_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "candidate.yaml").write_text("kind: Candidat\n")
    out = output_of(capsys, "check", str(tmp_path), "stock", code=2)
    assert "did you mean Candidate?" in out
    assert "stock, plugin" in out


def test_problems_are_printed_as_json_with_their_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "candidate.yaml"
    file.write_text("kind: Candidat\n")
    assert main(["check", "--json", str(file), "stock", "no-such-candidate"]) == 2
    *problems, last = json.loads(capsys.readouterr().out)
    assert ("kind", 1, 7, "unknown-value") in [(p["path"], p["line"], p["column"], p["code"]) for p in problems]
    assert all(problem["file"] == str(file) and problem["message"] and problem["fix"] for problem in problems)
    assert (last["file"], last["code"]) == ("no-such-candidate", "unknown-candidate")
    assert json.loads(output_of(capsys, "check", "--json", "stock")) == []


def test_all_problems_that_prevent_a_start_are_reported_together_with_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def problems(file: str) -> list[tuple[str, str]]:
        assert main(["check", "--json", file]) == 2
        return [(problem["path"], problem["code"]) for problem in json.loads(capsys.readouterr().out)]

    file = write(tmp_path, ["python3", "none.py"], scoring={"python": "scores_of_mine:scores"})
    command, python = ("spec.extender.command", "no-such-file"), ("spec.scoring.python", "no-such-module")
    assert problems(file) == [command, python]
    assert problems(write(tmp_path, ["./none"])) == [("spec.extender.command", "no-such-program")]


# -- options that do not exist, or cannot mean that


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("run", "stock", "--cluster-config", "x"),
            "run: error: unrecognized arguments: --cluster-config x\n  fix: did",
        ),
        (("doctor", "--nodes=3"), "schedproof doctor: error: unrecognized arguments: --nodes=3\n  fix: `schedproof"),
        (
            ("cluster", "up", "--cluster", "x"),
            "up: error: unrecognized arguments: --cluster x\n  fix: did you mean --c",
        ),
        (("run", "stock", "--jobs", "0"), "argument --jobs: expected a whole number from 1, found 0\n  fix: "),
        (("soak", "stock"), "the following arguments are required: --minutes"),
        (
            ("soak", "stock", "--minutes", "ten"),
            "argument --minutes: expected a number of minutes above 0 and up to 10080 (a week), found ten\n  fix: ",
        ),
        (("soak", "stock", "--minutes", "-1"), "found -1\n  fix: "),
        (("soak", "stock", "--minutes", "nan"), "found nan\n  fix: "),
        (("soak", "stock", "--minutes", "10", "--worlds", "3"), "unrecognized arguments: --worlds 3\n  fix: "),
        (("bench", "stock", "--nodes", "x"), "argument --nodes: expected a whole number from 1, found x\n  fix: "),
    ],
)
def test_options_that_a_command_does_not_accept_are_refused_by_that_command(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_clean_refuses_a_context_without_a_kubeconfig(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--context needs --kubeconfig" in output_of(capsys, "clean", "--context", "mine", code=2)


def test_a_soak_of_an_unknown_candidate_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    text = output_of(capsys, "soak", "least-trafic-controller", "--minutes", "1", code=2)
    assert "candidate 'least-trafic-controller' not found" in text
    assert "did you mean least-traffic-controller" in text


def test_a_soak_needs_a_candidate_that_is_held_to_core(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "candidate.yaml"
    file.write_text(
        "apiVersion: schedproof/v1\nkind: Candidate\nmetadata: {name: mine}\n"
        "spec:\n  schedulerName: mine\n  controller: {command: [./it]}\n  claims: {profiles: [controller]}\n"
    )
    text = output_of(capsys, "soak", str(file), "--minutes", "1", code=2)
    assert "mine is not judged by core/random-worlds: " in text
    assert "\n  fix: claim it in spec.claims of " in text
