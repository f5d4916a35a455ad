"""HTTP endpoints of a compiled scheduler: plugin/healthz-readyz and plugin/metrics."""

from __future__ import annotations

import pytest

from schedproof.history.observations import EndpointAnswer

from .histories import HistoryBuilder, told

HEALTH, METRICS = "plugin/healthz-readyz", "plugin/metrics"
PATHS = ("/healthz", "/livez", "/readyz")
COUNTER = "scheduler_schedule_attempts_total"


def asked(h: HistoryBuilder, path: str, status: int = 200, counted: float | None = None) -> None:
    answer = "ok" if status == 200 else "no"
    h.add(EndpointAnswer(case=h.case, path=path, status=status, answer=answer, counted=counted))


def schedules(h: HistoryBuilder, pods: int = 1, *, bound: bool = True) -> None:
    names = [f"probe-{number}" for number in range(pods)]
    for name in names:
        h.pod(name, cpu="50m")
        if bound:
            h.bind(name, "node-1")
    for name in names:
        h.expect(name, "bound")


def health(*after: tuple[str, int], binary: str | None = None) -> HistoryBuilder:
    """The scheduler is healthy before it binds a pod; `after`: its responses after that."""
    h = HistoryBuilder(HEALTH)
    h.records[0]["candidate"]["plugin"] = {"binary": binary}
    for path in PATHS:
        asked(h, path)
    schedules(h)
    for path, status in after:
        asked(h, path, status)
    return h


def test_scheduler_healthy_before_and_after_passes() -> None:
    told(health(*((path, 200) for path in PATHS)).verdict(), "passed", "", *PATHS)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", [0, 401, 403, 404, 500, 503])
def test_scheduler_that_does_not_report_its_health_fails(path: str, status: int) -> None:
    told(health((path, status)).verdict(), "failed", "not-healthy", path)


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_binary_of_an_older_minor_version_may_lack_livez_and_readyz(path: str) -> None:
    assert health((path, 404), binary="/usr/bin/my-scheduler").verdict().outcome == "passed"
    told(health((path, 403), binary="/usr/bin/my-scheduler").verdict(), "failed", "not-healthy", path, 403)


def test_binary_of_any_version_must_serve_healthz() -> None:
    told(health(("/healthz", 404), binary="/usr/bin/my-scheduler").verdict(), "failed", "not-healthy", "/healthz", 404)


def test_history_without_health_requests_is_invalid() -> None:
    h = HistoryBuilder(HEALTH)
    schedules(h)
    told(h.verdict(), "invalid", "not-tried")


def test_healthy_scheduler_that_does_not_bind_fails() -> None:
    h = HistoryBuilder(HEALTH)
    asked(h, "/healthz")
    schedules(h, bound=False)
    told(h.verdict(), "failed", "not-bound-in-time", "probe-0")


def metrics(before: float | None, after: float | None, *, pods: int = 3, status: int = 200) -> HistoryBuilder:
    """Values of the counter of scheduled pods before and after `pods` more pods."""
    h = HistoryBuilder(METRICS)
    asked(h, "/metrics", counted=before)
    schedules(h, pods)
    asked(h, "/metrics", status, counted=after)
    return h


@pytest.mark.parametrize(("before", "after"), [(None, 3), (0, 3), (4, 7), (4, 9)])
def test_metrics_that_count_all_pods_pass(before: float | None, after: float) -> None:
    told(metrics(before, after).verdict(), "passed", "", COUNTER)


@pytest.mark.parametrize(("before", "after"), [(None, None), (4, None), (4, 4), (4, 6), (4, 0)])
def test_metrics_that_do_not_count_all_pods_fail(before: float | None, after: float | None) -> None:
    told(metrics(before, after).verdict(), "failed", "pods-not-counted", COUNTER)


@pytest.mark.parametrize("status", [0, 401, 403, 404, 500])
def test_refused_metrics_fail(status: int) -> None:
    told(metrics(0, None, status=status).verdict(), "failed", "metrics-refused", "/metrics")


def test_metrics_read_only_once_are_invalid() -> None:
    h = HistoryBuilder(METRICS)
    asked(h, "/metrics")
    schedules(h)
    told(h.verdict(), "invalid", "not-tried")
