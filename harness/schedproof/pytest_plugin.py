"""The pytest plugin: `pytest suites/ --sched-candidate FILE`. Thin: what it does is in `schedproof.session`.

A test of a suite bears `@pytest.mark.clause("profile/name")` and takes the fixture `case`. It drives the stimulus
and asserts nothing: when it returns, the record is judged, and the verdict is the test's outcome.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from schedproof.candidates.claims import CLAUSE_PROFILES
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.options import CANDIDATE_HELP, CLUSTER_OPTIONS, add_options, given

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from schedproof.candidates.descriptor import Candidate
    from schedproof.judge.verdict import Verdict
    from schedproof.report.result import RunResult
    from schedproof.session import Session
    from schedproof.stimulus.case import Case

__all__ = ["case", "replay"]

_OWN_IN_REPRODUCTION = frozenset({"clause", "profile", "seed", "report"})
_session_key = pytest.StashKey["Session"]()
_candidates_key = pytest.StashKey["list[Candidate]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("schedproof", "conformance of Kubernetes schedulers")
    text = f"{CANDIDATE_HELP}; may be repeated"
    group.addoption("--sched-candidate", action="append", default=[], metavar="FILE", help=text)
    add_options(group.addoption, prefix="sched-")
    from schedproof.pytest_bench import add_bench_options

    add_bench_options(group)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(id): the guarantee that this test tries; see `schedproof clauses`")
    config.addinivalue_line("markers", "bench(mode): a benchmark, and how pods are sent in it")
    if not config.getoption("--sched-candidate"):
        return
    if config.getoption("numprocesses", default=None):
        raise pytest.UsageError("--sched-candidate cannot run under xdist: all clauses share one cluster; leave out -n")
    from schedproof.binaries.resolve import explicit_binaries
    from schedproof.candidates.shipped import find_candidate
    from schedproof.foundation.progress import ConsoleProgress
    from schedproof.launch import Settings
    from schedproof.normalization.effort import Effort
    from schedproof.session import Session

    try:
        asked = [_from_ini(config, text) for text in config.getoption("--sched-candidate")]
        candidates = [find_candidate(text, clauses=CATALOGUE) for text in asked]
        _check_selection(config)
        names = [candidate.name for candidate in candidates]
        if len(set(names)) < len(names):
            raise UsageError(
                f"two candidates have the same name: {', '.join(sorted(names))}",
                remedy="metadata.name tells them apart in the report",
            )
        report = config.getoption("--sched-report")
        stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
        seed = config.getoption("--sched-seed")
        # What a failure says to type: the same options, but for what it names itself.
        repeat = given(lambda name: config.getoption(f"--sched-{name}"), prefix="", without=_OWN_IN_REPRODUCTION)
        settings = Settings(
            options=tuple(repeat),
            report=(report or config.invocation_params.dir / "schedproof-results" / stamp).absolute(),
            effort=Effort(
                config.getoption("--sched-cases") or Effort.profile,
                tuple(config.getoption("--sched-surface")),
                config.getoption("--sched-replay") or "",
            ),
            **{o.name.replace("-", "_"): config.getoption(f"--sched-{o.name}") for o in CLUSTER_OPTIONS},
            binaries=explicit_binaries(config.getoption("--sched-binary")),
            **({} if seed is None else {"seed": seed}),
        )
        config.stash[_session_key] = Session(settings, ConsoleProgress())
    except SchedproofError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_candidates_key] = candidates
    from schedproof.pytest_bench import BenchPlugin

    config.pluginmanager.register(BenchPlugin(config, asked, settings.report, settings.seed), "schedproof.bench")


def _from_ini(config: pytest.Config, text: str) -> str:
    """A path that is meant from pytest's ini file, where it is written, and not from wherever pytest was called."""
    if config.inipath is not None and not Path(text).exists():
        beside = config.inipath.parent / text
        return str(beside) if beside.exists() else text
    return text


def session_of(config: pytest.Config) -> Session | None:
    """The session of this pytest run; None where no candidate was given."""
    return config.stash.get(_session_key, None)


def result_of(config: pytest.Config) -> RunResult | None:
    """What this pytest run has found so far; None where no candidate was given."""
    session = session_of(config)
    return session.result if session is not None else None


def pytest_report_header(config: pytest.Config) -> list[str]:
    session = session_of(config)
    if session is None:
        return []
    settings = session.settings
    return [f"schedproof: cluster {settings.cluster}, seed {settings.seed}, evidence in {settings.report}"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    from schedproof.pytest_bench import is_unasked

    return True if is_unasked(collection_path, config) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sched_candidate" in metafunc.fixturenames:
        candidates = metafunc.config.stash.get(_candidates_key, [])
        metafunc.parametrize("sched_candidate", candidates, ids=[candidate.name for candidate in candidates])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what was selected; candidate by candidate, and what is judged over all of a run at its end."""
    session = session_of(config)
    ours = [item for item in items if _clause(item)]
    if session is None or not ours:
        return
    for item in ours:
        if _clause(item) not in CATALOGUE:
            raise pytest.UsageError(f"{item.nodeid}: no clause {_clause(item)!r} in the catalogue")
    kept = [item for item in ours if _selected(config, _clause(item))]
    candidates = config.stash[_candidates_key]
    order = {clause: number for number, clause in enumerate(CATALOGUE)}
    kept.sort(
        key=lambda item: (
            candidates.index(_candidate(item)),
            CATALOGUE[_clause(item)].last,
            order[_clause(item)],
        )
    )
    for candidate in candidates:
        session.select(candidate, [_clause(item) for item in kept if _candidate(item) is candidate])
    config.hook.pytest_deselected(items=[item for item in ours if item not in kept])
    items[:] = [item for item in items if not _clause(item)] + kept


@pytest.fixture
def case(request: pytest.FixtureRequest, sched_candidate: Candidate) -> Iterator[Case]:
    """The stimulus of the test's clause against the candidate."""
    session = _require_session(request.config)
    clause = _clause(request.node)
    try:
        _skip_untried(session, sched_candidate, clause)
        yield session.begin(sched_candidate, clause)
        session.clean_up()
    except SchedproofError as error:
        _give_up(session, error)


@pytest.fixture
def replay() -> NoReturn:
    """Of a benchmark; `BenchPlugin` has the real one."""
    pytest.skip("no --sched-candidate was given")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    session = session_of(pyfuncitem.config)
    clause = _clause(pyfuncitem)
    if session is None or not clause:
        return (yield)
    from schedproof.stimulus.case import CaseOver

    if session.hopeless:
        pyfuncitem.obj = _nothing
    try:
        try:
            result = yield
        except CaseOver:
            result = True
        except SchedproofError as error:
            session.trouble(str(error))
            result = True
        verdict = session.conclude(_candidate(pyfuncitem), clause)
    except SchedproofError as error:
        session.result.error = session.result.error or error
        _give_up(session, error)
    pyfuncitem.user_properties.append(("schedproof", verdict))
    _raise_outcome(verdict)
    return result


def pytest_unconfigure(config: pytest.Config) -> None:
    """Also after Ctrl-C and internal errors: everything ends, and what was judged is written down."""
    session = session_of(config)
    if session is None:
        return
    from schedproof.report.files import write_files

    try:
        session.close()
    finally:
        if any(result.verdicts or result.error for result in session.result.candidates.values()):
            write_files(session.result)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    session = session_of(config)
    if session is not None and session.result.candidates:
        from rich.console import Console

        from schedproof.report.terminal import print_report

        terminalreporter.section("schedproof")
        print_report(session.result, Console(), evidence=False)


def _nothing(**_fixtures: Any) -> None:
    """In place of a stimulus, where there is nobody to try it on."""


def _skip_untried(session: Session, candidate: Candidate, clause: str) -> None:
    if (verdict := session.untried(candidate, clause)) is not None:
        pytest.skip(f"{verdict.outcome}: {verdict.summary}")


def _give_up(session: Session, error: SchedproofError) -> NoReturn:
    """End the whole run where nothing else can be tried either, and this test alone elsewhere."""
    if session.result.error is not None:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
    pytest.fail(str(error), pytrace=False)


def _raise_outcome(verdict: Verdict) -> None:
    from schedproof.report.terminal import explain

    if verdict.fails_run or verdict.unproved:
        pytest.fail(explain(verdict), pytrace=False)
    if verdict.outcome != "passed":
        # Declared, and still so; or merely recommended.
        pytest.xfail(verdict.summary)


def _require_session(config: pytest.Config) -> Session:
    session = session_of(config)
    if session is None:
        pytest.skip("no --sched-candidate was given")
    return session


def _clause(item: Any) -> str:
    marker = item.get_closest_marker("clause")
    return str(marker.args[0]) if marker is not None else ""


def _candidate(item: Any) -> Candidate:
    candidate: Candidate = item.callspec.params["sched_candidate"]
    return candidate


def _selected(config: pytest.Config, clause: str) -> bool:
    """Whether the options ask for a clause. What holds in every run is always asked for."""
    wanted, profiles = config.getoption("--sched-clause"), config.getoption("--sched-profile")
    if CATALOGUE[clause].always or not (wanted or profiles):
        return True
    return clause in wanted or CLAUSE_PROFILES[clause.partition("/")[0]] in profiles


def _check_selection(config: pytest.Config) -> None:
    from schedproof.candidates.suggestions import did_you_mean

    for clause in config.getoption("--sched-clause"):
        if clause not in CATALOGUE:
            raise UsageError(f"no clause {clause!r}", remedy=did_you_mean(clause, CATALOGUE))
    profiles = sorted({CLAUSE_PROFILES[clause.partition("/")[0]] for clause in CATALOGUE})
    for profile in config.getoption("--sched-profile"):
        if profile not in profiles:
            raise UsageError(f"no clauses of a profile {profile!r}", remedy=did_you_mean(profile, profiles))
