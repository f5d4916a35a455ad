"""Evidence of a verdict: every node of the decision, the timeline, and the last log lines of ended processes."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.history.observations import ExtenderCall, LogTail, PrometheusQuery
from schedproof.history.world import RESERVED
from schedproof.judge.evidence import Decision, Evidence
from schedproof.judge.rulings.decisions import decision_table
from schedproof.judge.rulings.ruling import rule_binding
from schedproof.judge.rulings.timeline import log_tails, timeline
from schedproof.oracle.reason import Reason

from .histories import CONTROL, CONTROL_USER, NODES, HistoryBuilder
from .verdicts import explained, verdict_of

CASE = "network/least-traffic"
PER_NODE = {
    "node-1": (),
    "node-2": (
        Reason("cpu: needs 2000m, 1000m free of 8000m", rule="resources"),
        Reason("taint a:NoSchedule is not tolerated", rule="taints"),
    ),
}


def decided(chosen: str = "node-1") -> HistoryBuilder:
    h = HistoryBuilder(CASE)
    h.pod("probe-1", cpu="2")
    for node in ("node-1", "node-2"):
        h.score("probe-1", node, 100, scorer="NodeResourcesFit")
    h.score("probe-1", "node-1", 300)
    h.score("probe-2", "node-1", 17)
    if chosen:
        h.bind("probe-1", chosen)
    h.reading("probe-1", {"node-1": 100.0})
    return h


def table(h: HistoryBuilder, **more: Any) -> Decision:
    history = h.history()
    return decision_table(history, history.bindings.get(h.uid("probe-1")), PER_NODE, **more)


# -- the decision


def test_decision_has_a_row_with_all_known_facts_for_each_node() -> None:
    assert table(decided(), expected="node-2").model_dump() == {
        "pod": "sp-tested/probe-1",
        "requests": [{"cpu": "2"}],
        "init": [],
        "needed": {"cpu": "2000m"},
        "varied": [],
        "expected": "node-2",
        "chosen": "node-1",
        "query": "rate(x[2s])",
        "nodes": [
            {
                "node": "node-1", "feasible": True, "reasons": [], "rules": [], "traffic": 100.0,
                "scores": {"NodeResourcesFit": 100, "total": 300}, "expected": False, "chosen": True,
            },
            {
                "node": "node-2", "feasible": False, "reasons": list(PER_NODE["node-2"]),
                "rules": ["resources", "taints"], "traffic": None,
                "scores": {"NodeResourcesFit": 100}, "expected": True, "chosen": False,
            },
        ],
    }  # fmt: skip


def test_chosen_node_that_does_not_exist_has_a_row() -> None:
    ghost = next(row for row in table(decided("ghost")).nodes if row.node == "ghost")
    assert (ghost.chosen, ghost.feasible, ghost.reasons) == (True, False, ["does not exist"])


def test_unbound_pod_is_shown_with_its_requests() -> None:
    h = decided(chosen="")
    shown = table(h, manifest=h.history().manifests[h.uid("probe-1")])
    assert (shown.pod, shown.chosen, shown.requests) == ("sp-tested/probe-1", "", [{"cpu": "2"}])
    assert not any(row.chosen for row in shown.nodes)


def test_decision_has_all_that_adds_up_to_what_the_pod_needs_and_what_is_free() -> None:
    h = HistoryBuilder("core/fit-sidecar")
    h.node("node-1", cpu="4")
    h.seen()
    h.pod("probe-1", cpu="300m", init=[{"cpu": "600m"}, {"cpu": "700m", "restartPolicy": "Always"}])
    h.expect("probe-1", "bound")
    (decision,) = h.verdict().evidence.decisions
    assert decision.requests == [{"cpu": "300m"}]
    assert [(container.requests, container.sidecar) for container in decision.init] == [
        ({"cpu": "600m"}, False), ({"cpu": "700m"}, True),
    ]  # fmt: skip
    assert decision.needed == {"cpu": "1000m"}
    text = " ".join(explained(verdict_of(CASE, "required", "failed", "", {"decisions": [decision]})).split())
    assert "requests cpu 300m; init container cpu 600m; sidecar cpu 700m; in all cpu 1000m" in text
    assert "yes: cpu 4000m free of 4000m" in text


def test_decision_has_what_was_varied_on_its_pod() -> None:
    h = decided()
    h.pod("probe-1", cpu="2")
    h.records[-2]["varied"] = ["3 containers", "limits (higher)"]
    h.bind("probe-1", "node-1")
    assert table(h).varied == ["3 containers", "limits (higher)"]
    text = explained(verdict_of(CASE, "required", "failed", "", {"decisions": [table(h)]}))
    assert "requests cpu 2; varied: 3 containers, limits (higher)" in " ".join(text.split())


# -- the timeline


def lines(h: HistoryBuilder, pod: str = "") -> list[str]:
    """Lines of the timeline without their times."""
    return [line.partition("s  ")[2] for line in timeline(h.history(), CASE, pod)]


def test_timeline_is_in_chronological_order() -> None:
    h = HistoryBuilder(CASE)
    h.load(0, {"node-2": 1500.0, "node-1": 100.0})
    h.pod("probe-1", cpu="100m")
    h.add(PrometheusQuery(path="/api/v1/query", request="rate(x[2s])", status=200, answer="{}", seconds=0.0049))
    h.add(ExtenderCall(request="filter", pod="sp-tested/probe-1", status=200, answer="{}", seconds=0.003))
    h.attempt("probe-1", "node-2", code=409)
    h.bind("probe-1", "node-1")
    h.request("patch", "pods/status", "probe-1")  # not worth a line
    h.expect("probe-1", "bound")
    h.seen()
    h.unseen("no pod was probed")
    h.fence()
    h.process("candidate", "exited", code=-9, log=["bye"])
    h.end()
    assert lines(h) == [
        "load (scripted, B/s): node-1 100, node-2 1,500",
        "harness creates probe pod sp-tested/probe-1",
        "candidate queries Prometheus: rate(x[2s]) -> 200 in 5 ms",
        "extender filter for sp-tested/probe-1 -> 200 in 3 ms {}",
        "candidate-tested binds probe-1 to node-2: 409",
        "candidate-tested binds probe-1 to node-1: 201",
        "waited for sp-tested/probe-1 to be bound (at most 20 s)",
        f"candidate has seen revision {h.rv - 2} (shown by settle-1)",
        "not shown: no pod was probed",
        "harness creates sentinel pod sp-tested/sentinel-1",
        "candidate-tested binds sentinel-1 to node-4: 201",
        "waited for sp-tested/sentinel-1 to be bound (at most 20 s)",
        "fence: sentinel sp-tested/sentinel-1 is bound",
        "process candidate exited, code -9",
    ]


def test_only_403_is_reported_as_missing_rights() -> None:
    h = HistoryBuilder(CASE)
    for code in (403, 404, 409):
        h.request("patch", "pods/status", "probe-1", code=code)
    h.end()
    assert lines(h) == [
        "candidate-tested may not patch pods/status probe-1: 403",
        "candidate-tested: patch pods/status probe-1: 404",
        "candidate-tested: patch pods/status probe-1: 409",
    ]


def test_late_record_is_placed_by_its_time() -> None:
    """Lines of the audit log are read at the end of a case."""
    h = HistoryBuilder(CASE)
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    h.end()
    request = next(record for record in h.records if record["kind"] == "request")
    h.records.remove(request)
    h.records.append(request)
    assert [line.split()[0] for line in lines(h)] == ["harness", "candidate-tested", "waited"]


def test_times_count_from_the_start_of_the_case_and_other_cases_are_omitted() -> None:
    h = HistoryBuilder("core/binds")
    h.pod("before")
    h.end()
    h.begin(CASE)
    h.pod("probe-1")
    h.end()
    h.begin("core/fit-cpu")
    h.pod("after")
    assert timeline(h.history(), CASE) == ["  +0.010s  harness creates probe pod sp-tested/probe-1"]


def test_timeline_of_a_pod_ends_with_its_binding_and_omits_other_pods() -> None:
    h = HistoryBuilder(CASE)
    h.load(0, dict.fromkeys(NODES, 1.0))
    for pod in ("probe-1", "probe-2"):
        h.pod(pod)
        h.bind(pod, "node-1")
    h.pod("control-1", role="control", scheduler=CONTROL)
    h.bind("control-1", "node-2", by=CONTROL_USER)
    h.load(1, dict.fromkeys(NODES, 2.0))
    h.end()
    assert lines(h, "sp-tested/probe-2")[1:] == [
        "harness creates probe pod sp-tested/probe-2",
        "candidate-tested binds probe-2 to node-1: 201",
    ]


def test_change_of_node_capacity_is_shown_with_the_previous_value() -> None:
    h = HistoryBuilder(CASE)
    h.node("node-1", cpu="2")
    h.end()
    assert lines(h) == ["node node-1: cpu 2000m (was 8000m)"]


def test_on_missing_claim_is_shown_if_a_node_has_no_reading() -> None:
    for traffic, shown in (({"node-1": 1.0}, True), (dict.fromkeys(NODES, 1.0), False)):
        h = HistoryBuilder(CASE)
        h.pod("probe-1")
        h.reading("probe-1", traffic)
        h.end()
        assert ("the candidate claims on-missing: neutral" in lines(h)) is shown


@pytest.mark.parametrize(("count", "cut"), [(60, 0), (61, 1), (100, 40)])
def test_middle_of_a_long_timeline_is_cut(count: int, cut: int) -> None:
    h = HistoryBuilder(CASE)
    for number in range(count):
        h.pod(f"probe-{number}")
    h.end()
    entries = timeline(h.history(), CASE)
    assert len(entries) == 60 + bool(cut)
    assert [line.strip() for line in entries if "lines" in line] == ([f"... {cut} lines ..."] if cut else [])
    assert entries[0].endswith("probe-0")
    assert entries[-1].endswith(f"probe-{count - 1}")


# -- logs


def test_logs_are_those_of_the_case_and_of_ended_processes() -> None:
    h = HistoryBuilder("core/binds")
    h.add(LogTail(case="core/binds", name="scheduler", lines=["an earlier case"]))
    h.end()
    h.begin(CASE)
    h.add(LogTail(case=CASE, name="scheduler", lines=["this case"]))
    h.process("candidate", "exited", code=1, log=["panic: no nodes"])
    assert log_tails(h.history(), CASE) == {"scheduler": ["this case"], "candidate": ["panic: no nodes"]}


# -- for people


def test_explanation_has_the_guarantee_the_finding_and_the_evidence() -> None:
    evidence = {
        "decisions": [table(decided(), expected="node-2"), table(decided())],
        "measured": {"probes": 12, "chance_of_a_random_chooser": 6e-8},
        "timeline": ["+0.010s  it began"],
        "logs": {"candidate": ["panic: no nodes"]},
    }
    text = explained(verdict_of(CASE, "required", "failed", "1 of 12 probes was wrong", evidence))
    for part in (
        "network/least-traffic: failed",
        "guarantee: Among the feasible nodes, the node with the least traffic gets the pod, whichever node that is.",
        "finding:   1 of 12 probes was wrong",
        "sp-tested/probe-1 (requests cpu 2) -> node-1",
        "no: cpu: needs 2000m, 1000m free of 8000m; taint a:NoSchedule is not tolerated",
        "traffic: rate(x[2s]) at the decision",
        "(1 more decisions are in the report)",
        "probes 12, chance_of_a_random_chooser 6e-08",
        "+0.010s  it began",
        "last log lines of candidate:",
        "panic: no nodes",
        "reproduce: schedproof run ",
    ):
        assert part in text


def test_scores_equal_for_all_nodes_are_omitted() -> None:
    text = explained(verdict_of(CASE, "required", "failed", "", {"decisions": [table(decided())]}))
    assert "score total" in text
    assert "NodeResourcesFit" not in text


@pytest.mark.parametrize("text", ["zone In [a, b]", "[bold]x[/bold]", "closes [/nothing]", "[/]", ":smile: [link=x]"])
def test_shown_text_is_not_interpreted_as_markup(text: str) -> None:
    decision = table(decided("[/]")).model_dump()
    for row in decision["nodes"]:
        row |= {"reasons": [text], "feasible": False}
    evidence = {"decisions": [decision], "timeline": [text], "logs": {text: [text]}}
    shown = explained(verdict_of(CASE, "required", "failed", text, evidence))
    assert f"finding:   {text}\n" in shown
    assert f"no: {text}" in shown
    assert f"  {text}\n" in shown
    assert "sp-tested/probe-1 (requests cpu 2) -> [/]" in shown


# -- the harness's own node


def with_own_node(chosen: str) -> HistoryBuilder:
    h = HistoryBuilder(CASE)
    h.node(RESERVED, taints=[{"key": "schedproof.dev/schedproof-reserved", "effect": "NoSchedule"}])
    h.seen()
    h.pod("probe-1")
    h.bind("probe-1", chosen)
    h.expect("probe-1", "bound")
    return h


@pytest.mark.parametrize("chosen", ["node-1", RESERVED])
def test_reserved_node_is_shown_only_if_a_pod_was_bound_to_it(chosen: str) -> None:
    h = with_own_node(chosen)
    history = h.history()
    ruling = rule_binding(history, history.bindings[h.uid("probe-1")])
    rows = {row.node: row for row in decision_table(history, ruling.binding, ruling.per_node).nodes}
    assert set(rows) == {*NODES, chosen}
    assert not any(RESERVED in line for line in lines(h) if line.startswith("node "))
    if chosen == RESERVED:
        assert rows[RESERVED].reasons[0] == "reserved by the harness"


# -- what a verdict has of it


def test_events_are_told_only_of_what_did_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for name in ("timeline", "lanes"):
        monkeypatch.setattr(f"schedproof.judge.judge.{name}", lambda *_, name=name: told.append(name))
    h = HistoryBuilder("core/fit-cpu")
    h.pod("probe-1", cpu="1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    assert (verdict.outcome, verdict.evidence.model_fields_set, told) == ("passed", {"logs"}, [])


def test_parts_of_evidence_are_joined_and_the_later_one_counts() -> None:
    joined = Evidence(logs={"a": ["old"]}, rules=["taints"]) | Evidence(logs={"a": ["new"]}, timeline=[])
    assert joined.model_dump(exclude_unset=True) == {"logs": {"a": ["new"]}, "rules": ["taints"], "timeline": []}


def test_evidence_of_an_earlier_version_lacks_parts_and_fields() -> None:
    row = {
        "node": "a",
        "feasible": True,
        "reasons": [],
        "traffic": None,
        "scores": {},
        "expected": False,
        "chosen": True,
    }
    decision = {"pod": "p", "requests": [], "expected": "", "chosen": "a", "query": "", "nodes": [row], "gone": 1}
    evidence = Evidence.model_validate({"decisions": [decision], "of another version": {}})
    assert (evidence.decisions[0].init, evidence.decisions[0].nodes[0].room, evidence.world) == ([], None, None)


def test_a_chosen_node_is_right_if_it_is_feasible_and_expected() -> None:
    def is_right(*rows: tuple[bool, bool, bool]) -> bool:
        nodes = [{"node": "", "reasons": [], "chosen": c, "feasible": f, "expected": e} for c, f, e in rows]
        fields = {"pod": "", "requests": [], "expected": "", "chosen": "", "query": ""}
        return Decision.model_validate({**fields, "nodes": nodes}).is_right

    assert is_right((True, True, False), (False, True, False)), "no node is expected"
    assert is_right((True, True, True), (False, True, False))
    assert not is_right((True, True, False), (False, True, True)), "another node is expected"
    assert not is_right((True, False, True))
    assert not is_right((False, True, True))
