"""The order in which the reference controller tries pods."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from .worlds import app, modules, pod, required

Change = modules.world.Change
Pod = modules.pods.Pod


class TestBacklog:
    def setup_method(self) -> None:
        self.backlog = modules.backlog.Backlog()

    def put(self, name: str, **more: Any) -> Any:
        result = Pod(pod(name, uid=name, **more))
        self.backlog.put(result)
        return result

    def taken(self, now: float = 0.0) -> list[str]:
        return [uid for uid, _ in iter(lambda: self.backlog.take(now), None)]

    def test_pods_are_taken_by_priority_and_then_by_age(self) -> None:
        for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", -1)):
            self.put(name, priority=priority)
        assert self.taken() == ["b", "d", "a", "c", "e"]

    def test_a_parked_pod_waits_for_a_change_and_is_then_tried_at_once(self) -> None:
        parked = self.put("a")
        assert self.taken(0) == ["a"]
        self.backlog.park(parked, 0)
        assert (self.taken(1000), self.backlog.sleeps_until()) == ([], None)
        self.backlog.wake(Change.NONE, 1000)
        assert self.taken(1000) == []
        self.backlog.wake(Change.ROOM, 1000)
        assert self.backlog.take(1000) == ("a", True)
        self.backlog.park(parked, 1000)
        self.backlog.wake(Change.ROOM, 1000.5)
        assert self.backlog.sleeps_until() == 0.0
        assert self.backlog.take(1000.5) == ("a", False), "its back-off is not over, but no other pod waits"

    def test_during_its_backoff_a_pod_is_tried_after_pods_of_its_priority_but_before_those_of_lower_priority(
        self,
    ) -> None:
        failed = self.put("failed", priority=1)
        self.taken(0)
        self.backlog.park(failed, 0)
        self.backlog.wake(Change.ROOM, 0.1)
        self.put("equal", priority=1)
        self.put("lesser", priority=0)
        assert self.taken(0.1) == ["equal", "failed", "lesser"]

    def test_after_its_backoff_a_pod_is_ordered_by_age_again(self) -> None:
        failed = self.put("failed")
        self.taken(0)
        self.backlog.park(failed, 0)
        self.backlog.wake(Change.ROOM, 0.1)
        self.put("younger")
        assert self.taken(1.0) == ["failed", "younger"]

    def test_a_change_of_other_pods_wakes_only_pods_with_rules_about_other_pods(self) -> None:
        near = {"podAffinity": required({"topologyKey": "zone", "labelSelector": app("web")})}
        self.taken()
        for parked in (self.put("alone"), self.put("social", affinity=near)):
            self.taken()
            self.backlog.park(parked, 0)
        self.backlog.wake(Change.COMPANY, 5)
        assert self.taken(5) == ["social"]

    def test_a_delayed_pod_waits_for_its_growing_backoff_whatever_changes(self) -> None:
        self.put("a")
        now, pauses = 0.0, []
        for _ in range(6):
            assert self.taken(now) == ["a"]
            self.backlog.delay("a", now)
            self.backlog.wake(Change.ROOM, now)
            until = self.backlog.sleeps_until()
            assert self.taken(until - 0.001) == []
            pauses.append(until - now)
            now = until
        assert pauses == [1, 2, 4, 8, 10, 10]

    def test_a_pod_parked_for_a_retry_is_tried_after_its_backoff_and_at_changes(self) -> None:
        parked = self.put("a")
        self.taken(0)
        self.backlog.park(parked, 0, again=True)
        assert self.backlog.sleeps_until() == 1.0
        self.backlog.wake(Change.ROOM, 0.5)
        assert self.taken(0.5) == ["a"]
        self.backlog.park(parked, 0.5, again=True)
        assert self.backlog.take(1.0) == ("a", True)

    def test_a_changed_pod_is_tried_anew_and_a_discarded_pod_is_removed(self) -> None:
        parked = self.put("a")
        self.taken(0)
        self.backlog.park(parked, 0)
        self.backlog.put(parked)
        assert self.backlog.take(0.1) == ("a", True)
        self.backlog.discard("a")
        self.backlog.wake(Change.ROOM, 1)
        assert (self.taken(1), len(self.backlog)) == ([], 0)
        self.backlog.park(parked, 1)
        self.backlog.delay("a", 1)
        assert self.taken(100) == []

    @settings(database=None, deadline=None)
    @given(st.data())
    def test_no_pod_is_lost_and_no_pod_is_taken_twice(self, data: st.DataObject) -> None:
        backlog, now, out, waiting = modules.backlog.Backlog(), 0.0, set(), set()
        pods = [Pod(pod(f"p{number}", uid=f"p{number}", priority=number % 2)) for number in range(4)]
        for _ in range(data.draw(st.integers(0, 40))):
            chosen = data.draw(st.sampled_from(pods))
            match data.draw(st.sampled_from(["put", "discard", "take", "park", "delay", "wake", "later"])):
                case "put":
                    backlog.put(chosen)
                    waiting.add(chosen.uid)
                    out.discard(chosen.uid)
                case "discard":
                    backlog.discard(chosen.uid)
                    waiting.discard(chosen.uid)
                    out.discard(chosen.uid)
                case "take":
                    if turn := backlog.take(now):
                        assert turn[0] in waiting - out
                        out.add(turn[0])
                case "park" if chosen.uid in out:
                    backlog.park(chosen, now)
                    out.discard(chosen.uid)
                case "delay" if chosen.uid in out:
                    backlog.delay(chosen.uid, now)
                    out.discard(chosen.uid)
                case "wake":
                    backlog.wake(Change.ROOM, now)
                case "later":
                    now += data.draw(st.sampled_from([0.1, 1.0, 20.0]))
        backlog.wake(Change.ROOM, now + 100)
        assert sorted(uid for uid, _ in iter(lambda: backlog.take(now + 100), None)) == sorted(waiting - out)


def test_the_longest_delay_holds_however_often_a_pod_has_failed() -> None:
    backlog, waiting, now = modules.backlog.Backlog(), Pod(pod("a", uid="a")), 0.0
    backlog.put(waiting)
    for _ in range(1100):
        assert backlog.take(now) == ("a", True)
        backlog.delay("a", now)
        now = backlog.sleeps_until()
    backlog.take(now)
    backlog.delay("a", now)
    assert backlog.sleeps_until() == now + 10
