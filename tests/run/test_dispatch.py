"""Which worker runs which test: no test is left out or repeated, and every instance ends with the tests that are judged
last.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedproof.run.dispatch import ATTACHING, Dispatcher, Task


def of(candidate: str, *seconds: float, begin: int = 0) -> list[Task]:
    """Tests of a candidate with these durations, and two tests that it ends with."""
    tests = [Task(begin + n, candidate, first=False, last=False, seconds=each) for n, each in enumerate(seconds)]
    return [*tests, *(Task(begin + len(seconds) + n, candidate, first=False, last=True, seconds=1) for n in range(2))]


def run(tests: list[Task], workers: int) -> dict[str, list[int]]:
    """The tests of each worker, if each asks when its test has ended, and holds none in reserve."""
    dispatcher, seconds = Dispatcher(tests), {test.index: test.seconds for test in tests}
    free = {f"gw{number}": 0.0 for number in range(workers)}
    given: dict[str, list[int]] = {worker: [] for worker in free}
    while free:
        worker = min(free, key=lambda name: (free[name], name))
        index = dispatcher.next_index(worker)
        if index is None:
            del free[worker]
        else:
            given[worker].append(index)
            free[worker] += seconds[index]
    return given


def test_the_longest_tests_run_first_and_those_judged_last_run_last() -> None:
    assert run(of("a", 1, 5, 3), workers=1) == {"gw0": [1, 2, 0, 3, 4]}


def test_every_instance_ends_with_the_tests_that_are_judged_last() -> None:
    given = run(of("a", *[ATTACHING] * 8), workers=2)
    assert [given[worker][-2:] for worker in given] == [[8, 9], [8, 9]]
    assert sorted(given["gw0"][:-2] + given["gw1"][:-2]) == list(range(8))


def test_no_cluster_is_started_for_tests_that_take_less_than_its_start() -> None:
    assert run(of("a", 1, 1), workers=2) == {"gw0": [0, 1, 2, 3], "gw1": []}


def test_candidates_run_in_parallel_before_their_tests_are_shared() -> None:
    tests = of("a", *[ATTACHING] * 4) + of("b", 1, begin=10)
    given = run(tests, workers=2)
    assert given["gw1"][:3] == [10, 11, 12]
    assert set(given["gw1"][3:]) & set(range(4)), "an idle worker takes tests of the longer candidate"


def test_other_tests_of_a_candidate_wait_until_its_first_test_has_ended() -> None:
    first = Task(20, "a", first=True, last=False, seconds=1)
    dispatcher = Dispatcher([*of("a", *[ATTACHING] * 6), first])
    assert dispatcher.next_index("gw0") == 20
    assert dispatcher.next_index("gw1") is None
    assert dispatcher.may_have_more("gw1")
    assert not dispatcher.may_have_more("gw0"), "it would wait for itself"
    dispatcher.ended(first, binds_nothing=False)
    assert dispatcher.next_index("gw1") in range(6)


def test_a_candidate_whose_first_test_failed_has_one_instance() -> None:
    first = Task(20, "a", first=True, last=False, seconds=1)
    dispatcher = Dispatcher([*of("a", *[ATTACHING] * 2), first])
    assert dispatcher.next_index("gw0") == 20
    dispatcher.ended(first, binds_nothing=True)
    assert dispatcher.next_index("gw1") is None
    assert not dispatcher.may_have_more("gw1")
    assert [dispatcher.next_index("gw0") for _ in range(5)] == [0, 1, 2, 3, None]


BASIC = Task(0, "a", first=False, last=False, seconds=1)
STEERED = [Task(n, "a", first=False, last=False, seconds=ATTACHING, stands_on=frozenset({0})) for n in range(1, 5)]


def test_dependent_tests_are_held_back_from_other_workers_until_the_basic_test_has_ended() -> None:
    dispatcher = Dispatcher([*STEERED, BASIC])
    assert [dispatcher.next_index("gw0") for _ in range(2)] == [0, 1], "its own worker may hold a test in reserve"
    assert dispatcher.next_index("gw1") is None
    assert dispatcher.may_have_more("gw1")
    assert not dispatcher.may_have_more("gw0")
    dispatcher.ended(BASIC, ignored=False)
    assert [dispatcher.next_index(worker) for worker in ("gw1", "gw0", "gw1")] == [2, 3, 4]


def test_dependents_of_an_ignored_rule_run_on_the_worker_that_found_it() -> None:
    free = [Task(9, "a", first=False, last=False, seconds=1)]
    dispatcher = Dispatcher([*STEERED, BASIC, *free, *of("a", begin=20)])
    assert dispatcher.next_index("gw0") == 0
    assert dispatcher.next_index("gw1") == 9, "it depends on no other test"
    dispatcher.ended(BASIC, ignored=True)
    assert [dispatcher.next_index("gw1") for _ in range(3)] == [20, 21, None]
    assert not dispatcher.may_have_more("gw1")
    assert [dispatcher.next_index("gw0") for _ in range(7)] == [1, 2, 3, 4, 20, 21, None]


def test_tests_without_a_clause_are_run_once() -> None:
    tests = [
        Task(0, "", first=False, last=False, seconds=0.0),
        Task(1, "", first=False, last=False, seconds=0.0),
        *of("a", 2, begin=2),
    ]
    given = run(tests, workers=3)
    assert sorted(index for indices in given.values() for index in indices) == [0, 1, 2, 3, 4]


@given(
    st.dictionaries(st.sampled_from("abcde"), st.lists(st.floats(0, 60), max_size=12), min_size=1),
    st.integers(1, 6),
)
def test_every_test_that_is_not_judged_last_runs_exactly_once(candidates: dict[str, list[float]], workers: int) -> None:
    tests: list[Task] = []
    for name, seconds in candidates.items():
        tests += of(name, *seconds, begin=len(tests))
    random.Random(0).shuffle(tests)
    given_out = run(tests, workers)
    once = {test.index for test in tests if not test.last}
    assert sorted(index for indices in given_out.values() for index in indices if index in once) == sorted(once)
    last = {name: {test.index for test in tests if test.last and test.candidate == name} for name in candidates}
    candidate_of = {test.index: test.candidate for test in tests}
    for indices in given_out.values():
        for name in {candidate_of[index] for index in indices}:
            mine = [index for index in indices if candidate_of[index] == name]
            assert set(mine[-2:]) == last[name], "every instance ends with them"
            assert sum(index in last[name] for index in mine) == len(last[name])
    assert {candidate_of[index] for indices in given_out.values() for index in indices} == set(candidates)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_work_is_balanced_between_workers(workers: int) -> None:
    seconds = [20.0, *[5.0] * 20]
    given = run(of("a", *seconds), workers)
    longest = max(sum(seconds[index] for index in indices if index < len(seconds)) for indices in given.values())
    assert longest <= max(20.0, sum(seconds) / workers + 5.0)


def test_after_a_stop_only_the_last_tests_of_existing_instances_run() -> None:
    dispatcher = Dispatcher([*of("a", 1, 5, 3), *of("b", 9, begin=5)])
    assert [dispatcher.next_index(worker) for worker in ("gw0", "gw1")] == [1, 5]
    dispatcher.stop()
    assert [dispatcher.next_index("gw0") for _ in range(3)] == [3, 4, None]
    assert [dispatcher.next_index("gw1") for _ in range(3)] == [6, 7, None]
    assert dispatcher.next_index("gw2") is None


def test_a_test_that_needs_a_fresh_cluster_is_the_first_of_a_new_worker() -> None:
    dispatcher = Dispatcher(
        [*of("a", 30, 30), *of("b", 5, begin=10), Task(20, "b", first=False, last=False, seconds=1, fresh=True)]
    )
    assert [dispatcher.next_index("w1") for _ in range(2)] == [20, 10]
    assert dispatcher.next_index("w2") == 0
