"""`schedproof run` as users run it: which candidates pass, which clauses others fail, and what is printed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import site
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import schedproof
from schedproof.binaries.resolve import locate, setting
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.history.world import RESERVED
from schedproof.judge.catalogue import CATALOGUE
from schedproof.run.rejudge import rejudge

from .verdicts import others

if TYPE_CHECKING:
    from conftest import Ended, Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

SUITES = Path(__file__).parents[2] / "suites"
KEEPS = {"stock": {"core"}, "least-traffic-extender": {"core", "network", "extender", "normalize"}}
"""Candidates that keep all that they claim: the first parts of their clauses' ids."""
GANGS = {clause for clause in CATALOGUE if clause.startswith("core/gang")}
# What could be claimed beyond that, and is not, or does not concern it: their kube-scheduler uses a kubeconfig.
MORE = {
    "stock": {*GANGS, "core/leader", "core/token-rotated"},
    "least-traffic-extender": {
        "normalize/strict",
        "normalize/best-is-max",
        "normalize/worst-is-min",
        "normalize/documented",
        "network/herd",
        *GANGS,
        "core/leader",
        "core/token-rotated",
        "core/volume-node-affinity",
        "core/volume-limits",
        "core/volume-once",
        "extender/preempt",
        "extender/tls",
        # The extender has no business with the apiserver, and its filter leaves out no node.
        "extender/managed-resources",
        "extender/rbac-sufficient",
        "extender/rbac-minimal",
        "extender/ignorable-down",
        "extender/bind-binds",
        "extender/bind-error",
        "extender/bind-again",
        "extender/failed-reasons",
    },
}
NO_PREFERENCE = {
    "network/least-traffic", "network/flip", "network/ranking", "network/real-traffic", "network/missing-node",
    "network/large-counters", "network/prometheus-down", "network/prometheus-slow", "network/window",
    "network/rate-not-total", "network/counter-reset", "network/interface", "network/node-names",
    "network/direction", "network/joins", "network/some-without", "network/missing-all", "network/no-samples",
    "network/prometheus-error", "network/nan", "network/stale-series", "network/near-zero", "network/duplicate-series",
    "network/burst", "network/outlier", "network/waiting", "network/bind-refused", "network/before-capacity",
    "network/before-preferences", "network/many-nodes", "network/other-hosts",
}  # fmt: skip
"""What a candidate fails that has no preference, where all else must pass."""
NOBODY = 65_534
CORDON = ("--clause=core/cordon", "--clause=core/fit-cpu")


def by_candidate(report: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Candidate to clause to outcome."""
    return {
        candidate["name"]: {c["id"]: c["outcome"] for c in candidate["clauses"]} for candidate in report["candidates"]
    }


# -- a run of candidates that keep their promises, and one of those that have no preference


@pytest.mark.parametrize("candidate", KEEPS)
def test_a_correct_candidate_passes_all_that_it_claims(kept: tuple[Shell, Ended], candidate: str) -> None:
    shell, ended = kept
    (clauses,) = (entry["clauses"] for entry in shell.report()["candidates"] if entry["name"] == candidate)
    verdicts = {entry["id"]: entry for entry in clauses}
    # On a cluster that has judged several candidates the next digit may be too far.
    wrong = others([verdicts.pop("core/watch-versions")], "passed", "not-claimed")
    assert not wrong, wrong
    kept_ones = [verdict for clause, verdict in verdicts.items() if _keeps(candidate, clause)]
    unclaimed = [verdict for clause, verdict in verdicts.items() if not _keeps(candidate, clause)]
    wrong = others(kept_ones, "passed") + others(unclaimed, "not-claimed")
    assert not wrong, f"{wrong}\n{ended.printed}"
    assert len(verdicts) >= 47


def _keeps(candidate: str, clause: str) -> bool:
    return clause.partition("/")[0] in KEEPS[candidate] and clause not in MORE[candidate]


@pytest.mark.parametrize("candidate", ["stock-claims-network", "constant-scores"])
def test_a_candidate_without_a_preference_fails_only_clauses_on_preferences(
    broken: tuple[Shell, Ended], candidate: str
) -> None:
    shell, ended = broken
    outcomes = by_candidate(shell.report())[candidate]
    # Of one that asks Prometheus nothing there are no queries to count, nor has it read that there is no traffic.
    unproved = {"network/query-cost", "network/zero-traffic"} if candidate == "stock-claims-network" else set()
    assert {clause for clause, outcome in outcomes.items() if outcome == "failed"} == NO_PREFERENCE, ended.printed
    assert {clause for clause, outcome in outcomes.items() if outcome == "invalid"} == unproved, ended.printed


def test_a_run_with_failures_exits_1_and_leaves_nothing(broken: tuple[Shell, Ended]) -> None:
    shell, ended = broken
    assert ended.code == 1, ended.printed
    assert ended.out.splitlines()[-1].startswith("FAILED: ")
    assert ended.out.splitlines()[-1].endswith("; open report/report.html")
    shell.expect_nothing_left()


def test_report_json_has_the_documented_form(kept: tuple[Shell, Ended], broken: tuple[Shell, Ended]) -> None:
    report = kept[0].report()
    assert report["schema"] == "schedproof.report/v1"
    assert report["run"]["cluster"] == "embedded"
    assert isinstance(report["run"]["seed"], int)
    assert report["run"]["versions"]["kubernetes"].startswith("v1.")
    kinds = {candidate["name"]: candidate["kind"] for candidate in report["candidates"]}
    assert kinds["stock"] == "plugin"
    assert kinds["least-traffic-extender"] == "extender"
    candidates = [*report["candidates"], *broken[0].report()["candidates"]]
    for candidate in candidates:
        assert set(candidate["profiles"]) <= {"core", "network-aware", "extender", "normalization"}
        for clause in candidate["clauses"]:
            assert {"id", "level", "outcome", "summary", "evidence"} <= set(clause)
            assert clause["level"] in ("required", "recommended")
        for profile in candidate["profiles"].values():
            assert sum(profile["statistics"].values()) > 0
    results = {
        candidate["name"]: {p: r["result"] for p, r in candidate["profiles"].items()} for candidate in candidates
    }
    assert results["stock"] == {"core": "success"}
    assert set(results["least-traffic-extender"].values()) == {"success"}
    assert results["constant-scores"]["network-aware"] == "failure"
    assert results["constant-scores"]["core"] == "success"


def test_junit_xml_has_the_clauses_and_failures_of_report_json(broken: tuple[Shell, Ended]) -> None:
    shell, _ = broken
    suites = {suite.get("name"): suite for suite in ET.parse(shell.work / "report" / "junit.xml").getroot()}
    for candidate in shell.report()["candidates"]:
        suite = suites[candidate["name"]]
        cases = {case.get("name"): case for case in suite}
        assert set(cases) == {clause["id"] for clause in candidate["clauses"]}
        failed = {clause for clause, case in cases.items() if case.find("failure") is not None}
        # A recommended clause that fails does not fail the run.
        assert failed == {c["id"] for c in candidate["clauses"] if (c["level"], c["outcome"]) == ("required", "failed")}
        assert suite.get("failures") == str(len(failed))


def test_a_failure_quotes_the_guarantee_and_shows_the_nodes(broken: tuple[Shell, Ended]) -> None:
    out = broken[1].out
    shown, _, _ = out.partition("constant-scores  network/least-traffic ")[2].partition("\nreproduce: schedproof run ")
    assert f"guarantee: {CATALOGUE['network/least-traffic'].guarantee}" in " ".join(shown.split())
    for column in ("node", "feasible", "traffic B/s", "score", "expected", "chosen", "node-1", "node-4"):
        assert column in shown
    assert "timeline:" in shown
    assert "last log lines of candidate constant-scores" in shown


def test_the_printed_command_reproduces_a_failure(broken: tuple[Shell, Ended], shell: Shell) -> None:
    lines = [line for line in broken[1].out.splitlines() if line.startswith("reproduce: schedproof ")]
    (line,) = [line for line in lines if "stock-claims-network" in line and "network/least-traffic" in line]
    ended = shell.schedproof(*line.removeprefix("reproduce: schedproof ").split(), "--report", "report")
    assert ended.code == 1, ended.printed
    assert by_candidate(shell.report())["stock-claims-network"]["network/least-traffic"] == "failed"


def test_judging_a_saved_run_gives_the_same_verdicts(kept: tuple[Shell, Ended], broken: tuple[Shell, Ended]) -> None:
    for (shell, _), code in ((kept, 0), (broken, 1)):
        saved = {candidate["name"]: _verdicts(candidate) for candidate in shell.report()["candidates"]}
        again = {
            candidate["name"]: _verdicts(candidate)
            for candidate in rejudge(shell.work / "report").document().as_dict()["candidates"]
        }
        assert again == saved
        for folder in ("report", *(f"report/candidates/{name}" for name in saved)):
            ended = shell.schedproof("judge", folder)
            assert ended.code == code, ended.printed


def _verdicts(candidate: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(c["id"], c["outcome"], c["summary"]) for c in candidate["clauses"]]


# -- runs of their own


def test_no_prometheus_is_started_if_no_candidate_queries_it(shell: Shell) -> None:
    ended = shell.schedproof(
        "run", "stock", "--clause=core/binds", "--clause=core/requeue-node-added", "--report=report"
    )
    assert ended.code == 0, ended.printed
    logs = {path.stem for path in (shell.work / "report" / "cluster").glob("*.log")}
    assert "kwok" in logs
    assert not {"prometheus", "node_exporter"} & {log.partition("-")[0] for log in logs}


def test_two_concurrent_runs_do_not_disturb_each_other(shells: Any) -> None:
    """Also: a candidate without defects gives exit code 0."""
    commands = []
    for candidate in ("stock", "least-traffic-extender"):
        shell = shells()
        options = ("--clause=core/binds", "--clause=core/restart", "--report=report")
        commands.append((shell, shell.start("schedproof", "run", candidate, *options)))
    for shell, command in commands:
        ended = command.ends()
        assert ended.code == 0, ended.printed
        shell.expect_nothing_left()


def test_pytest_settings_of_the_environment_deselect_nothing(shell: Shell) -> None:
    shell.env |= {"PYTEST_ADDOPTS": "-k nothing --collect-only", "PYTEST_PLUGINS": "no_such_plugin"}
    (shell.work / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    (shell.work / "conftest.py").write_text("def pytest_collection_modifyitems(items):\n    items.clear()\n")
    ended = shell.schedproof("run", "stock", "--clause=core/binds", "--report=report")
    assert ended.code == 0, ended.printed
    assert by_candidate(shell.report())["stock"]["core/binds"] == "passed"


def test_clauses_that_the_cluster_cannot_try_are_unproved_unless_they_may_be_skipped(shells: Any) -> None:
    """`judge` gives the saved run the same verdicts, as does report.json."""
    commands = [
        (shell, shell.start("schedproof", "run", "stock", "--nodes=1", *CORDON, *more, "--report=report"))
        for shell, more in ((shells(), ()), (shells(), ("--allow-skipped",)))
    ]
    for (where, command), code in zip(commands, (3, 0), strict=True):
        ended = command.ends()
        assert ended.code == code, ended.printed
        *_, gap, verdict = ended.out.splitlines()
        assert "lacks the capability several-nodes: core/cordon" in gap
        assert verdict.startswith("UNPROVED: " if code else "PASSED: ")
        assert where.report()["run"]["exit_code"] == code
        assert where.schedproof("judge", "report").code == code
        where.expect_nothing_left()


def test_with_fail_fast_nothing_is_tried_after_the_first_failure(shells: Any) -> None:
    """On one cluster and on two. Clauses on the whole run are judged all the same."""
    clauses = ("--clause=core/fit-memory", "--clause=core/fit-pods")
    commands = []
    for jobs in ("1", "2"):
        shell = shells()
        options = (*clauses, "--fail-fast", "--jobs", jobs, "--report", "report")
        commands.append((shell, shell.start("schedproof", "run", "defects/ignores-memory", *options)))
    for shell, command in commands:
        ended = command.ends()
        assert ended.code == 1, ended.printed
        outcomes = by_candidate(shell.report())["ignores-memory"]
        assert outcomes["core/fit-memory"] == "failed"
        assert outcomes["core/alive"] == "passed"
        assert "core/fit-pods" not in outcomes or command is commands[1][1]
        shell.expect_nothing_left()


def test_an_exclusion_excuses_a_failure_and_is_stale_if_its_clause_passes(shells: Any) -> None:
    """A declared failure does not fail the run. A declaration for a clause that holds does."""
    commands = []
    for clause in ("network/least-traffic", "core/binds"):
        shell = shells()
        folder = shell.work / "candidate"
        _copy_candidate("defects/stock-claims-network", folder, exclusions=[{"clause": clause, "reason": "known"}])
        options = ("--clause", clause, "--report", "report")
        commands.append((shell, clause, shell.start("schedproof", "run", "candidate", *options)))
    codes, outcomes = {}, {}
    for shell, clause, command in commands:
        ended = command.ends()
        codes[clause] = ended.code
        outcomes[clause] = by_candidate(shell.report())["stock-claims-network"][clause]
        if clause == "core/binds":
            assert "STALE" in ended.out
            assert "remove the exclusion" in ended.out
    assert outcomes == {"network/least-traffic": "excluded", "core/binds": "passed"}
    assert codes == {"network/least-traffic": 0, "core/binds": 1}


def _copy_candidate(name: str, folder: Path, **fields: Any) -> None:
    import yaml

    source = Path(__file__).parents[2] / "fixtures" / "candidates" / name / "candidate.yaml"
    document = yaml.safe_load(source.read_text())
    if "extends" in document:
        document["extends"] = str((source.parent / document["extends"]).resolve())
    document["spec"] |= fields
    folder.mkdir()
    (folder / "candidate.yaml").write_text(yaml.safe_dump(document))


def test_pytest_judges_a_candidate_from_any_folder_with_its_own_exit_codes(shells: Any) -> None:
    commands = []
    for candidate, clauses in (("stock", ["core/binds"]), ("stock-claims-network", ["core/binds", "network/flip"])):
        shell = shells()
        _copy_candidate("stock" if candidate == "stock" else f"defects/{candidate}", shell.work / "mine")
        options = ("--sched-candidate=mine/candidate.yaml", "--sched-report=report", "-rA")
        options += tuple(f"--sched-clause={clause}" for clause in clauses)
        commands.append((shell, shell.start("pytest", str(SUITES), *options)))
    passing, failing = [(shell, command.ends()) for shell, command in commands]
    assert passing[1].code == pytest.ExitCode.OK, passing[1].printed
    assert failing[1].code == pytest.ExitCode.TESTS_FAILED, failing[1].printed
    assert "1 failed" in failing[1].out
    assert f"guarantee: {CATALOGUE['network/flip'].guarantee}" in " ".join(failing[1].out.split())
    assert "\nreproduce: schedproof run " in failing[1].out
    for (shell, _), expected in ((passing, {"core/binds": "passed"}), (failing, {"network/flip": "failed"})):
        (outcomes,) = by_candidate(shell.report()).values()
        assert outcomes.items() >= {"core/binds": "passed", **expected}.items()
        shell.expect_nothing_left()


def test_candidates_pass_on_clusters_of_1_of_16_and_of_different_nodes(shells: Any) -> None:
    listed = [
        {"name": "small", "capacity": {"cpu": "2", "memory": "4Gi"}},
        {"name": "fast-disk", "labels": {"example.com/disk": "ssd"}},
        {"name": "reserved", "taints": [{"key": "example.com/for", "value": "others", "effect": "NoSchedule"}]},
    ]
    document = {
        "apiVersion": "schedproof/v1",
        "kind": "Cluster",
        "metadata": {"name": "mine"},
        "spec": {"nodes": listed},
    }
    clusters = {1: ("--nodes", "1"), 16: ("--nodes", "16"), 3: ("--cluster-file", "mine.yaml")}
    commands = {}
    for count, options in clusters.items():
        shell = shells()
        (shell.work / "mine.yaml").write_text(json.dumps(document))
        run = ("run", "least-traffic-extender", "--clause", "core/unschedulable-condition", "--report", "report")
        commands[count] = (shell, shell.start("schedproof", *run, *options))
    nodes: dict[int, dict[str, Any]] = {}
    for count, (shell, command) in commands.items():
        ended = command.ends()
        assert ended.code == 0, ended.printed
        history = shell.work / "report" / "candidates" / "least-traffic-extender" / "history.jsonl"
        records = [json.loads(line) for line in history.read_text().splitlines()]
        nodes[count] = {
            record["object"]["metadata"]["name"]: record["object"]
            for record in records
            if record["kind"] == "object" and record["resource"] == "nodes" and record["type"] == "LISTED"
        }
        assert len(nodes[count].keys() - {RESERVED}) == count
        shell.expect_nothing_left()
    small, disk, reserved = (nodes[3][node["name"]] for node in listed)
    assert small["status"]["allocatable"]["cpu"] == "2"
    assert disk["status"]["allocatable"]["cpu"] != "2"
    assert disk["metadata"]["labels"]["example.com/disk"] == "ssd"
    assert reserved["spec"]["taints"] == listed[2]["taints"]


# -- without privileges


@pytest.fixture
def ordinary(shells: Any) -> Iterator[Shell]:
    """A shell of an unprivileged user: the current user, or `nobody` if that is root."""
    shell = shells()
    if os.geteuid() != 0:
        yield shell
        return
    if shutil.which("setpriv") is None:
        pytest.skip("root needs setpriv (util-linux) to become another user")
    # pytest's own folders are for root's eyes only.
    home = Path(tempfile.mkdtemp(prefix="ordinary-user-"))
    try:
        home.chmod(0o755)
        shell = type(shell)(home)
        for folder in (home, shell.scratch, shell.work):
            os.chown(folder, NOBODY, NOBODY)
        binaries = home / "binaries"
        binaries.mkdir()
        for name, found in locate(EMBEDDED.binaries).items():
            assert found is not None, f"{name} is missing: schedproof run least-traffic-extender gets it"
            _link_or_copy(found.path, binaries / name)
            shell.env[setting(name)] = str(binaries / name)
        shell.env["HOME"] = str(home)
        shell.prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
        _readable_interpreter(shell)
        yield shell
        shell.close()
        shell.expect_nothing_left()
    finally:
        shutil.rmtree(home)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # another file system
        shutil.copy(source, target)


def _readable_interpreter(shell: Shell) -> None:
    """Use this interpreter, unless it is in root's home; else the system's of that version, with these packages."""
    packages = [str(Path(schedproof.__file__).parents[1]), *site.getsitepackages()]
    system = shutil.which(f"python3.{sys.version_info.minor}", path=os.defpath)
    probe = "import sys, schedproof.run.session, kubernetes, pytest; open(sys.executable).close()"
    errors = []
    for python, env in ((sys.executable, {}), (system, {"PYTHONPATH": os.pathsep.join(packages)})):
        if python is not None:
            shell.python = python
            shell.env |= env
            (shell.work / "probe.py").write_text(probe)
            ended = shell.start("probe").ends()
            if ended.code == 0:
                return
            errors.append(f"{python}: {ended.err.splitlines()[-1]}")
    pytest.skip(f"no interpreter that an ordinary user can read: {'; '.join(errors)}")


def test_an_ordinary_user_needs_no_privileges(ordinary: Shell) -> None:
    options = ("--clause", "core/binds", "--clause", "network/real-traffic", "--report", "report")
    command = ordinary.start("schedproof", "run", "least-traffic-extender", *options)
    command.says("attaching")
    ordinary.watch()
    uids = set()
    for entry in ordinary.processes():
        with contextlib.suppress(OSError):  # it has ended
            uids.add((entry / "status").read_text().partition("\nUid:\t")[2].split()[0])
    ended = command.ends()
    assert ended.code == 0, ended.printed
    assert uids == {str(os.geteuid() or NOBODY)}
    ordinary.expect_nothing_left()


def test_a_report_folder_that_is_not_writable_is_a_usage_error(ordinary: Shell) -> None:
    locked = ordinary.work / "locked"
    locked.mkdir(mode=0o555)
    ended = ordinary.schedproof("run", "stock", "--report", str(locked / "report"))
    assert ended.code == 2, ended.printed
    assert f"cannot keep evidence in {locked}/report: Permission denied" in ended.err
    assert "fix: choose another folder with --report" in ended.err
