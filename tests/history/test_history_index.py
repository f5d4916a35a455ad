"""The index of a history gives the same results as a search, for any prefix of its records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schedproof.history.acts import CasePhase, PodCreated, RunEnd
from schedproof.history.index import Index
from schedproof.history.observations import NodeScore
from schedproof.history.record import Record

CASES, PODS = ("core/binds", "core/fit-cpu"), ("a", "b")
RECORDS = st.one_of(
    st.builds(RunEnd),
    st.builds(CasePhase, case=st.sampled_from(CASES), phase=st.sampled_from(("begin", "end"))),
    st.builds(PodCreated, case=st.sampled_from(CASES), pod=st.sampled_from(PODS), uid=st.just("u"), role=st.just("")),
    st.builds(NodeScore, pod=st.sampled_from(PODS), node=st.just("n"), scorer=st.just("s"), score=st.just(1.0)),
)
ASKED: list[tuple[type[Record], dict[str, str]]] = [
    (RunEnd, {}), (CasePhase, {}), (CasePhase, {"case": CASES[0]}), (PodCreated, {"case": CASES[1]}),
    (PodCreated, {"pod": PODS[0]}), (NodeScore, {"pod": PODS[1]}), (NodeScore, {}),
]  # fmt: skip


@given(st.lists(RECORDS, max_size=12), st.lists(st.tuples(st.integers(0, 12), st.sampled_from(ASKED)), max_size=12))
def test_index_gives_the_same_records_as_a_search(
    records: list[Record], questions: list[tuple[int, tuple[type[Record], dict[str, str]]]]
) -> None:
    growing: list[Record] = []
    index = Index(growing)
    for wanted, (kind, attributes) in questions:
        growing += records[len(growing) : max(len(growing), wanted)]
        end = min(wanted, len(growing))
        places = [
            place
            for place, record in enumerate(records[:end])
            if type(record) is kind and all(getattr(record, name) == value for name, value in attributes.items())
        ]
        assert list(index.places(kind, end, **attributes)) == places
        assert list(index.of(kind, end, **attributes)) == [records[place] for place in places]
        assert index.last(kind, end, **attributes) == (places[-1] if places else None)
