"""Fetches, builds and judges the schedulers of fixtures/field, and writes docs/field.md: `make field`.

Each code base has a folder in build/field, with its modules (from the Go module proxy, by their pinned versions), the
programs that are built of them, and what `schedproof run` reported. What is there is not made again: an interrupted
call goes on where it was, and an interrupted run too (`--resume`). What a proxy refuses is recorded and not worked
around.

Each run adds a line to fixtures/field/results.jsonl. The page is written from the lines of the versions that are
pinned now; a clause with several outcomes has all of them in it. A failure is published as a finding once field.yaml
says of it what happens, where the cause is, how it is reproduced with kubectl alone, and who is right. Until then the
page lists it as not yet understood.

    make field                                        all configurations, everything that each claims
    make field ARGS='tas --clause extender/prioritize-range --seed 1'
    make field ARGS=--table                           writes the page only
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import pydantic
import yaml
from pages import write_table

from schedproof.binaries.build import go_environment
from schedproof.binaries.goversion import GoVersion
from schedproof.binaries.lock import load
from schedproof.binaries.toolchain import obtain
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED, EXIT_PASSED, EXIT_UNPROVED
from schedproof.foundation.progress import ConsoleProgress
from schedproof.run.document import Report

ROOT = Path(__file__).resolve().parent.parent
FIELD = ROOT / "fixtures" / "field"
RESULTS = FIELD / "results.jsonl"
PAGE = ROOT / "docs" / "field.md"
WORK = ROOT / "build" / "field"
_OLDEST_GO = GoVersion.parse("1.21")
_FLAGS = ("-mod=mod", "-trimpath", "-buildvcs=false")
_ENDED = (EXIT_PASSED, EXIT_FAILED, EXIT_UNPROVED)
"""Exit codes of a run whose report counts: passed, failed, unproved."""


class Part(pydantic.BaseModel):
    """A mapping of field.yaml, whose fields have dashes."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, alias_generator=lambda name: name.replace("_", "-"))


Module = Annotated[str, pydantic.Field(pattern=r"^[^@\s]+@v\d[^@\s]*$")]


class Build(Part):
    """A program: the module that it is built of, by the name of its folder, and its package."""

    module: str
    package: str


class CodeBase(Part):
    """What is fetched and built for one or more configurations.

    Attributes:
        minor: the minor version of Kubernetes that its go.mod names.
        modules: by the name of the folder that each is copied to.
        builds: programs by their names.
        replaces: by module, further replacements in its go.mod.
        refused: modules that it needs and that the proxy does not serve.
    """

    name: str
    title: str
    minor: str
    modules: dict[str, Module]
    builds: dict[str, Build] = {}
    replaces: dict[str, dict[str, Module]] = {}
    refused: tuple[Module, ...] = ()

    @property
    def folder(self) -> Path:
        return WORK / self.name

    @property
    def pinned(self) -> str:
        """The module that it is named by, with its version."""
        return next(iter(self.modules.values()))


class Promise(Part):
    """What a project promises, where it does, and whether clauses judge it."""

    says: str
    source: pydantic.HttpUrl
    judged: bool


class Finding(Part):
    """A failure that is understood.

    Attributes:
        clause: that failed.
        says: what happens.
        cause: a link to the line of theirs.
        steps: how it is reproduced with kubectl alone.
        right: who is: `clause`, or `scheduler` if it is the harness that has to change.
    """

    clause: str
    says: str
    cause: pydantic.HttpUrl
    steps: str
    right: str


class Configuration(Part):
    """A candidate of a code base. `kubernetes`: what it is judged on, if the candidate does not say it by its pins."""

    name: str
    code_base: str
    kubernetes: str = ""
    promises: tuple[Promise, ...]
    findings: tuple[Finding, ...] = ()


class Field(Part):
    """fixtures/field/field.yaml."""

    code_bases: tuple[CodeBase, ...]
    configurations: tuple[Configuration, ...]

    def of(self, configuration: Configuration) -> CodeBase:
        return next(base for base in self.code_bases if base.name == configuration.code_base)


class Result(pydantic.BaseModel):
    """One run, a line of results.jsonl.

    Attributes:
        module: what was judged, with its version.
        versions: of Kubernetes, and of the candidate as far as it is known.
        outcomes: by clause.
        codes: by clause, why it did not pass.
        recommended: clauses that did not pass, and that fail no run.
        selection: the options that selected clauses; all that are claimed if there are none.
        build_seconds: of its programs, on this machine.
        judge_seconds: of the run.
        error: why nothing could be judged.
    """

    configuration: str
    module: str
    seed: int = 0
    versions: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    codes: dict[str, str] = {}
    recommended: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    build_seconds: float = 0
    judge_seconds: float = 0
    error: str = ""


def read_field() -> Field:
    return Field.model_validate(yaml.safe_load((FIELD / "field.yaml").read_text()))


def read_results() -> list[Result]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [Result.model_validate_json(line) for line in lines]


def keep(result: Result) -> None:
    """Add a line to results.jsonl, which replaces that of the same run."""
    same = ("configuration", "module", "seed", "selection")
    others = [one for one in read_results() if any(getattr(one, name) != getattr(result, name) for name in same)]
    lines = [one.model_dump_json(exclude_defaults=True) for one in (*others, result)]
    RESULTS.write_text("".join(f"{line}\n" for line in lines))


# -- fetch and build


class RefusedError(Exception):
    """A module cannot be fetched, or a program cannot be built."""


class Go:
    """Go in the folder of a code base; what it prints is in a log there."""

    def __init__(self, base: CodeBase) -> None:
        base.folder.mkdir(parents=True, exist_ok=True)
        self._go = obtain(_OLDEST_GO, load().go, ConsoleProgress())
        self._folder = base.folder

    def run(self, *arguments: str, cwd: Path) -> str:
        temporary = self._folder / "tmp"
        temporary.mkdir(exist_ok=True)
        env = go_environment(self._go, cwd=cwd, temporary=temporary)
        done = subprocess.run(
            [str(self._go.path), *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False
        )
        (self._folder / "go.log").write_text(f"{' '.join(arguments)}\n{done.stdout}{done.stderr}")
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip()
            raise RefusedError(f"go {' '.join(arguments[:2])} failed in {self._folder.name}: {said[-600:]}")
        return done.stdout


def fetch(base: CodeBase, go: Go) -> None:
    """Copy the modules of a code base to sources/NAME, where they can be changed."""
    for name, module in base.modules.items():
        target, done = base.folder / "sources" / name, base.folder / "sources" / f"{name}.fetched"
        if done.exists() and done.read_text() == module:
            continue
        shutil.rmtree(target, ignore_errors=True)
        # Outside of any module, so that no go.mod has a say.
        found = json.loads(go.run("mod", "download", "-json", module, cwd=base.folder))
        shutil.copytree(found["Dir"], target, copy_function=shutil.copyfile)
        for old, new in base.replaces.get(name, {}).items():
            go.run("mod", "edit", f"-replace={old}={new}", cwd=target)
        done.write_text(module)


def build(base: CodeBase, go: Go, names: Collection[str]) -> float:
    """Build the programs of these names that are not there yet; return the seconds that all of them took."""
    if base.refused and base.builds and not _replaced(base):
        raise RefusedError(f"the module proxy does not serve {', '.join(base.refused)}")
    took: dict[str, float] = {}
    for name, program in base.builds.items():
        if name not in names:
            continue
        recipe = hashlib.sha256(json.dumps([program.model_dump(), base.modules, base.replaces, _FLAGS]).encode())
        made, record = base.folder / "bin" / name, base.folder / "bin" / f"{name}.json"
        known = json.loads(record.read_text()) if record.exists() and made.exists() else {}
        if known.get("recipe") != recipe.hexdigest():
            begin = time.monotonic()
            with ConsoleProgress().step(f"build {name} of {base.pinned}"):
                go.run("build", *_FLAGS, "-o", str(made), program.package, cwd=base.folder / "sources" / program.module)
            known = {"recipe": recipe.hexdigest(), "seconds": round(time.monotonic() - begin, 1)}
            record.write_text(json.dumps(known))
        took[name] = known["seconds"]
    return sum(took.values())


def _replaced(base: CodeBase) -> bool:
    """Whether each module that is refused is replaced by another version."""
    known = {old for module in base.replaces.values() for old in module}
    return all(module.partition("@")[0] in known for module in base.refused)


def lay_out(configuration: Configuration, base: CodeBase) -> Path:
    """The folder of a candidate, beside which its sources and programs are."""
    folder = base.folder / "candidates" / configuration.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(FIELD / configuration.name, folder)
    for name in ("sources", "bin"):
        (base.folder / name).mkdir(exist_ok=True)
        (folder / name).symlink_to(Path("..") / ".." / name, target_is_directory=True)
    return folder


# -- judge


def judge(configuration: Configuration, base: CodeBase, options: argparse.Namespace) -> Result:
    """Fetch, build and run a configuration, or go on with the run of its seed."""
    head = Result(configuration=configuration.name, module=base.pinned, seed=options.seed)
    try:
        go = Go(base)
        fetch(base, go)
        text = (FIELD / configuration.name / "candidate.yaml").read_text()
        seconds = build(base, go, re.findall(r"\bbin/([-\w]+)", text))
    except RefusedError as error:
        return head.model_copy(update={"error": str(error)})
    candidate = lay_out(configuration, base)
    selection = [f"--{name}={value}" for name in ("clause", "profile") for value in getattr(options, name)]
    key = hashlib.sha256(json.dumps(sorted(selection)).encode()).hexdigest()[:8]
    report = base.folder / "reports" / f"{configuration.name}-{options.seed}-{key}"
    minor = [f"--kubernetes={configuration.kubernetes}"] if configuration.kubernetes else []
    always = [str(candidate), "--jobs=1", *minor]
    code = _run(report, always, [f"--report={report}", f"--seed={options.seed}", *selection])
    head = head.model_copy(update={"selection": tuple(selection), "build_seconds": round(seconds, 1)})
    found = _report(report)
    if code not in _ENDED or found is None:
        return head.model_copy(update={"error": f"`schedproof run` ended with {code}"})
    return result_of(head, found)


def _run(report: Path, always: Sequence[str], begin: Sequence[str]) -> int:
    """Run what is left of a run, or all of it; return its exit code. A run that has ended is not repeated.

    Args:
        report: the folder of its report.
        always: its candidate and options.
        begin: further options, which an interrupted run has already.
    """
    ended = report.with_name(f"{report.name}.ended")
    if ended.exists():
        return int(ended.read_text())
    code = _schedproof("run", *always, f"--resume={report}") if report.exists() else EXIT_ERROR
    if code == EXIT_ERROR:  # there is nothing to go on with
        shutil.rmtree(report, ignore_errors=True)
        code = _schedproof("run", *always, *begin)
    if code in _ENDED:
        ended.write_text(str(code))
    return code


def _schedproof(*arguments: str) -> int:
    program = Path(sys.executable).with_name("schedproof")
    return subprocess.run([str(program), *arguments], check=False).returncode


def _report(folder: Path) -> Report | None:
    file = folder / "report.json"
    return Report.model_validate_json(file.read_bytes()) if file.exists() else None


def result_of(head: Result, report: Report) -> Result:
    """The result of a run, of which `head` says what was judged and how."""
    run, (candidate,) = report.run, report.candidates
    built = head.build_seconds + run.timings.get(f"build {candidate.name}", 0)
    tried = [one for one in candidate.clauses if one.outcome not in ("not-claimed", "skipped")]
    return head.model_copy(
        update={
            "versions": {name: text for name, text in run.versions.items() if name in ("kubernetes", candidate.name)},
            "outcomes": {one.clause: one.outcome for one in tried},
            "codes": {one.clause: one.code for one in tried if one.outcome != "passed"},
            "recommended": tuple(one.clause for one in tried if one.level == "recommended" and one.outcome != "passed"),
            "build_seconds": round(built, 1),
            "judge_seconds": round(run.seconds or 0, 1),
            "error": candidate.error,
        }
    )


# -- the page


def table(field: Field, results: Sequence[Result]) -> str:
    """The part of docs/field.md that is written: what was judged, what was promised, and what did not pass."""
    current = {
        one.name: [each for each in results if (each.configuration, each.module) == (one.name, field.of(one).pinned)]
        for one in field.configurations
    }
    return "\n".join(
        [
            *_judged(field, current), "", "### Promises", "", *_promised(field), "", "### What did not pass", "",
            *_failures(field, current), "",
        ]
    )  # fmt: skip


def _judged(field: Field, current: dict[str, list[Result]]) -> Iterator[str]:
    yield (
        "| configuration | code base | Kubernetes of its go.mod | judged on | tried | passed | failed | invalid "
        "| build, min | judge, min | seeds |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for one in field.configurations:
        base, runs = field.of(one), [run for run in current[one.name] if run.outcomes]
        count = collections.Counter(outcome for outcomes in _outcomes(runs).values() for outcome in outcomes)
        cells = [f"`{one.name}`", f"{base.title}, `{base.pinned}`", base.minor]
        if runs:
            last = runs[-1]
            cells += [last.versions.get("kubernetes", ""), str(len(_outcomes(runs)))]
            cells += [str(count[outcome]) for outcome in ("passed", "failed", "invalid")]
            cells += [
                _minutes(max(run.build_seconds for run in runs)),
                _minutes(sum(run.judge_seconds for run in runs)),
            ]
            cells.append(", ".join(str(run.seed) for run in runs))
        else:
            why = f"not served: `{', '.join(base.refused)}`" if base.refused and not _replaced(base) else "not yet"
            cells += [why, *[""] * 7]
        yield f"| {' | '.join(cells)} |"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f}"


def _outcomes(runs: Sequence[Result]) -> dict[str, list[str]]:
    """By clause, the different outcomes that it had."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for clause, outcome in run.outcomes.items():
            if outcome not in found.setdefault(clause, []):
                found[clause].append(outcome)
    return found


def _promised(field: Field) -> Iterator[str]:
    yield "| configuration | promise | judged |"
    yield "|---|---|---|"
    for one in field.configurations:
        for promise in one.promises:
            yield f"| `{one.name}` | [{promise.says}]({promise.source}) | {'yes' if promise.judged else 'not yet'} |"


def _failures(field: Field, current: dict[str, list[Result]]) -> Iterator[str]:
    yield "| configuration | clause | outcome | reason | finding |"
    yield "|---|---|---|---|---|"
    for one in field.configurations:
        understood = {finding.clause: finding for finding in one.findings}
        codes = {clause: code for run in current[one.name] for clause, code in run.codes.items()}
        for clause, outcomes in sorted(_outcomes(current[one.name]).items()):
            if outcomes != ["passed"]:
                told = _finding(understood[clause]) if clause in understood else "not yet understood"
                code = f"`{codes[clause]}`" if codes.get(clause) else ""
                if any(clause in run.recommended for run in current[one.name]):
                    code += " (recommended only)"
                yield f"| `{one.name}` | `{clause}` | {', then '.join(outcomes)} | {code} | {told} |"


def _finding(finding: Finding) -> str:
    return f"{finding.says} ([cause]({finding.cause})). Steps: {finding.steps}. Right: the {finding.right}"


def main() -> None:
    field = read_field()
    names = [one.name for one in field.configurations]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="CONFIGURATION", help=f"of {', '.join(names)}; all if none is named"
    )
    parser.add_argument("--clause", action="append", default=[], help="try only these clauses")
    parser.add_argument("--profile", action="append", default=[], help="try only these profiles")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="write the page only")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"unknown configuration {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    for one in field.configurations:
        if options.table or (options.names and one.name not in options.names):
            continue
        result = judge(one, field.of(one), options)
        said = result.error or ", ".join(f"{n} {of}" for of, n in collections.Counter(result.outcomes.values()).items())
        sys.stdout.write(f"{one.name}: {said}\n")
        keep(result)
    write_table(PAGE, "make field", table(field, read_results()))


if __name__ == "__main__":
    main()
