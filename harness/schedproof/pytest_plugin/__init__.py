"""The pytest plugin: `pytest suites/ --sched-candidate FILE`. Thin: what it does is in `schedproof.session.session`.

A test of a suite bears `@pytest.mark.clause("profile/name")` and takes the fixture `case`. It drives the stimulus
and asserts nothing: when it returns, the record is judged, and the verdict is the test's outcome.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from schedproof.candidate.claims import OWN
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.foundation.private import RESULTS
from schedproof.foundation.streams import steady_streams
from schedproof.judge.catalogue import BASICS, BINDS, CATALOGUE, find_clause
from schedproof.judge.claimable import CLAIMABLE
from schedproof.judge.judge import why_unclaimed
from schedproof.judge.own import is_own, own_clause
from schedproof.parallel.dispatch import IGNORED, SCHEDULES_NOTHING
from schedproof.parallel.plan import as_tried, is_selected
from schedproof.session.options import CANDIDATE_HELP, CLUSTER_OPTIONS, add_options, given

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from schedproof.candidate.descriptor.descriptor import Candidate
    from schedproof.judge.verdict import Verdict
    from schedproof.results.result import RunResult
    from schedproof.session.launch import KeptCluster, Settings
    from schedproof.session.session import Session
    from schedproof.stimulus.case import Case

__all__ = ["case", "replay"]

_OWN_IN_REPRODUCTION = frozenset({"clause", "profile", "seed", "report", "fail-fast"})
_session_key = pytest.StashKey["Session"]()
_candidates_key = pytest.StashKey["list[Candidate]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("schedproof", "conformance of Kubernetes schedulers")
    text = f"{CANDIDATE_HELP}; may be repeated"
    group.addoption("--sched-candidate", action="append", default=[], metavar="FILE", help=text)
    add_options(group.addoption, prefix="sched-")
    text = "-1 (quiet), 0 or 1 (verbose); default: as -q and -v say"
    group.addoption("--sched-verbosity", type=int, metavar="N", help=text)
    from schedproof.pytest_plugin.bench import add_bench_options

    add_bench_options(group)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "clause(id): the guarantee that this test tries; see `schedproof clauses`")
    config.addinivalue_line("markers", "bench(mode): a benchmark, and how pods are sent in it")
    if not config.getoption("--sched-candidate"):
        return
    from schedproof.binaries.resolve import explicit_binaries
    from schedproof.candidate.shipped import find_candidate
    from schedproof.foundation.progress import ConsoleProgress, SilentProgress
    from schedproof.normalization.effort import Effort
    from schedproof.pytest_plugin.parallel import Controller, Worker, is_controller, worker_settings
    from schedproof.session.launch import Settings
    from schedproof.session.session import Session, require_space

    try:
        asked = [_from_ini(config, text) for text in config.getoption("--sched-candidate")]
        candidates = as_tried(
            (find_candidate(text, known=CLAIMABLE) for text in asked), config.getoption("--sched-window")
        )
        _check_selection(config, candidates)
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
            report=(report or config.invocation_params.dir / RESULTS / stamp).absolute(),
            effort=Effort(
                config.getoption("--sched-cases") or Effort.profile,
                tuple(config.getoption("--sched-surface")),
                config.getoption("--sched-replay") or "",
                config.getoption("--sched-worlds"),
            ),
            **{o.name.replace("-", "_"): config.getoption(f"--sched-{o.name}") for o in CLUSTER_OPTIONS},
            binaries=explicit_binaries(config.getoption("--sched-binary")),
            allow_skipped=config.getoption("--sched-allow-skipped"),
            keep_going=config.getoption("--sched-keep-going"),
            fail_fast=config.getoption("--sched-fail-fast"),
            **({} if seed is None else {"seed": seed}),
        )
        if (of_run := worker_settings(config)) is not None:
            steady_streams()
            settings = dataclasses.replace(settings, **of_run)
        elif is_controller(config) and not config.option.collectonly:
            _check_parallel(settings)
            require_space(settings.report)
        quiet = _verbosity(config) < 0
        progress = SilentProgress() if quiet else ConsoleProgress(number=settings.cluster_number)
        session = Session(settings, progress, _kept_cluster(config))
        config.stash[_session_key] = session
    except SchedproofError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_candidates_key] = candidates
    if is_controller(config):
        config.pluginmanager.register(Controller(session, config.getoption("numprocesses")), "schedproof.controller")
    elif settings.cluster_number:
        config.pluginmanager.register(Worker(session), "schedproof.worker")
    from schedproof.pytest_plugin.bench import BenchPlugin

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
    from schedproof.pytest_plugin.bench import is_unasked

    return True if is_unasked(collection_path, config) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sched_candidate" in metafunc.fixturenames:
        candidates = metafunc.config.stash.get(_candidates_key, [])
        metafunc.parametrize("sched_candidate", candidates, ids=[candidate.name for candidate in candidates])


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test that takes `case` and names no clause is one of the user's own."""
    if session_of(item.config) is None or _clause(item) or "case" not in getattr(item, "fixturenames", ()):
        return
    params = getattr(getattr(item, "callspec", None), "params", {})
    if "sched_candidate" not in params or not isinstance(item, pytest.Function):
        return  # another fixture of that name
    clause = _own_id(item, [str(value) for name, value in params.items() if name != "sched_candidate"])
    item.add_marker(pytest.mark.clause(clause))
    guarantee = (inspect.getdoc(item.function) or "").partition("\n\n")[0].replace("\n", " ")
    CATALOGUE[clause] = own_clause(clause, guarantee)


def _own_id(item: pytest.Function, values: Sequence[str]) -> str:
    name = item.originalname.removeprefix("test_").replace("_", "-")
    return f"{OWN}/{name}" + (f"[{'-'.join(values)}]" if values else "")


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
    _require_own(config, ours)
    kept = [item for item in ours if _selected(config, _clause(item))]
    candidates = config.stash[_candidates_key]
    _refuse_twins(kept)
    order = {clause: number for number, clause in enumerate(CATALOGUE)}
    kept.sort(
        key=lambda item: (
            candidates.index(_candidate(item)),
            CATALOGUE[_clause(item)].last,
            # As little as possible has happened on the cluster then.
            not (_clause(item) == BINDS or CATALOGUE[_clause(item)].fresh),
            _clause(item) not in BASICS,
            order[_clause(item)],
        )
    )
    for candidate in candidates:
        session.select(candidate, [_clause(item) for item in kept if _candidate(item) is candidate])
    config.hook.pytest_deselected(items=[item for item in ours if item not in kept])
    items[:] = [item for item in items if not _clause(item)] + kept


def _require_own(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Whatever is asked for by name is there: of the catalogue's clauses that is known, of the user's own only here."""
    there = {_clause(item) for item in items}
    for clause in filter(is_own, config.getoption("--sched-clause")):
        if clause not in there:
            raise pytest.UsageError(f"no test of your own is {clause}\n  fix: `pytest --collect-only` lists the tests")


def _refuse_twins(items: Sequence[pytest.Item]) -> None:
    """Tests of the user's own go by their names in the record."""
    found: dict[tuple[str, str], str] = {}
    for item in items:
        clause = _clause(item)
        twin = found.setdefault((clause, _candidate(item).name), item.nodeid)
        if is_own(clause) and twin != item.nodeid:
            raise pytest.UsageError(f"{twin} and {item.nodeid} have one name, which is their clause's: rename one")


@pytest.fixture
def case(request: pytest.FixtureRequest, sched_candidate: Candidate) -> Iterator[Case]:
    """The stimulus of the test's clause against the candidate."""
    session = _require_session(request.config)
    clause = _clause(request.node)
    try:
        _skip_untried(session, request.node, clause)
        yield session.begin(sched_candidate, clause)
        session.clean_up()
        if session.schedules_nothing:
            request.node.user_properties.append((SCHEDULES_NOTHING, clause))
        if session.ignores(clause):
            request.node.user_properties.append((IGNORED, clause))
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
    from schedproof.foundation.disk import naming_full_disk
    from schedproof.stimulus.expectations import CaseOver

    if session.hopeless:
        pyfuncitem.obj = _nothing
    try:
        try:
            with naming_full_disk(session.settings.report):
                result = yield
        except CaseOver:
            result = True
        except AssertionError as error:
            if not is_own(clause):
                raise
            session.asserted(str(error))
            verdict = session.conclude(_candidate(pyfuncitem), clause)
            pyfuncitem.user_properties.append(("schedproof", verdict.as_json()))
            raise
        except SchedproofError as error:
            session.trouble(str(error))
            result = True
        verdict = session.conclude(_candidate(pyfuncitem), clause)
    except SchedproofError as error:
        session.result.error = session.result.error or error
        _give_up(session, error)
    pyfuncitem.user_properties.append(("schedproof", verdict.as_json()))
    result_so_far, candidate = session.result, _candidate(pyfuncitem)
    commands = result_so_far.reproduce(candidate, clause), result_so_far.reproduce_among(candidate, clause)
    _raise_outcome(verdict, *commands)
    return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Pytest's 0 says that no test failed. Ours says that all that is claimed was tried, and passed."""
    result = result_of(session.config)
    if session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return
    if result is not None and result.candidates and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = result.exit_code


def pytest_unconfigure(config: pytest.Config) -> None:
    """Also after Ctrl-C and internal errors: everything ends, and what was judged is written down."""
    session = session_of(config)
    if session is None:
        return
    from schedproof.parallel.durations import Durations
    from schedproof.report.run.files import write_files
    from schedproof.report.run.github import append_summary

    try:
        session.close()
    finally:
        if not (session.result.is_empty or session.settings.cluster_number):
            Durations(session.settings.effort).keep(session.result.durations)
            write_files(session.result)
            append_summary(session.result)
        _remove_what_is_empty(config, session)


def _remove_what_is_empty(config: pytest.Config, session: Session) -> None:
    """A report folder of which nothing came, and the folder that pytest-benchmark makes for what it may save."""
    from schedproof.foundation.private import remove_empty

    if not session.settings.cluster_number:
        remove_empty(session.settings.report)
        saved = getattr(getattr(config, "_benchmarksession", None), "storage", None)
        if isinstance(folder := getattr(saved, "path", None), Path):
            with contextlib.suppress(OSError):
                folder.rmdir()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    session = session_of(config)
    if session is not None and session.result.candidates and not config.option.collectonly:
        from schedproof.foundation.console import open_console
        from schedproof.report.run.conclusion import conclude
        from schedproof.report.run.files import REPORT
        from schedproof.report.run.terminal import print_conclusion, print_report

        result, console = session.result, open_console()
        terminalreporter.section("schedproof")
        print_report(result, console, evidence=False, verbosity=_verbosity(config))
        # It is written once everything has ended.
        print_conclusion(conclude(result, report=None if result.is_empty else result.folder / REPORT), console)


def _verbosity(config: pytest.Config) -> int:
    given = config.getoption("--sched-verbosity")
    return int(given if given is not None else config.getoption("verbose", default=0))


def _nothing(**_fixtures: Any) -> None:
    """In place of a stimulus, where there is no candidate to try it on."""


def _skip_untried(session: Session, item: pytest.Function, clause: str) -> None:
    if session.leaves_out(_candidate(item), clause):
        pytest.skip("not tried: an earlier clause did not pass (--fail-fast)")
    if (verdict := session.untried(_candidate(item), clause)) is not None:
        item.user_properties.append(("schedproof", verdict.as_json()))
        pytest.skip(f"{verdict.outcome}: {verdict.summary}")


def _give_up(session: Session, error: SchedproofError) -> NoReturn:
    """End the whole run where nothing else can be tried either, and this test alone elsewhere."""
    if session.result.error is not None:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
    pytest.fail(str(error), pytrace=False)


def _raise_outcome(verdict: Verdict, *commands: str) -> None:
    from schedproof.report.run.terminal import explain

    if verdict.did_not_pass:
        pytest.fail(explain(verdict, *commands), pytrace=False)
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


def _kept_cluster(config: pytest.Config) -> KeptCluster | None:
    from schedproof.session.launch import KeptCluster

    return next((plugin for plugin in config.pluginmanager.get_plugins() if isinstance(plugin, KeptCluster)), None)


def _selected(config: pytest.Config, clause: str) -> bool:
    """Whether the options ask for a clause."""
    kept = _kept_cluster(config)
    if kept is not None and kept.only:
        return clause in kept.only
    return is_selected(clause, config.getoption("--sched-clause"), config.getoption("--sched-profile"))


def _check_selection(config: pytest.Config, candidates: Sequence[Candidate]) -> None:
    """Refuse what cannot be judged, before anything is started: a run that tries nothing of it would look fine."""
    from schedproof.documents.suggestions import did_you_mean

    for clause in config.getoption("--sched-clause"):
        find_clause(clause)
    profiles = sorted(CLAIMABLE.profiles)
    for profile in config.getoption("--sched-profile"):
        if profile not in profiles:
            raise UsageError(f"no clauses of a profile {profile!r}", remedy=did_you_mean(profile, profiles))
    for candidate in candidates:
        for profile in config.getoption("--sched-profile"):
            if profile not in candidate.claims.profiles:
                raise UsageError(
                    f"{candidate.name} does not claim the profile {profile}, so nothing of it would be tried",
                    remedy=f"add {profile} to spec.claims.profiles in {candidate.path}, or ask for something else",
                )
        for clause in config.getoption("--sched-clause"):
            if why := why_unclaimed(CATALOGUE[clause], candidate.claims):
                raise UsageError(
                    f"{candidate.name} is not held to {clause}: {why}",
                    remedy=f"claim it in spec.claims of {candidate.path}, or ask for something else",
                )


def _check_parallel(settings: Settings) -> None:
    """Refuse several clusters where there can be but one."""
    if settings.cluster == "existing":
        raise UsageError("an existing cluster is one cluster: it cannot be shared", remedy="leave out -n (--jobs)")
    if settings.keep_cluster or settings.cluster_name:
        raise UsageError("several clusters cannot have one name", remedy="leave out -n (--jobs), or the cluster's name")
