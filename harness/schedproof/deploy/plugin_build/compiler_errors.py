"""Errors of a scheduler that does not compile: Go's output, and a remedy for the plugin's author."""

from __future__ import annotations

import re

from schedproof.binaries.build import host_remedy
from schedproof.candidate.kinds import PluginSpec
from schedproof.deploy.plugin_build.plugin_module import GENERATED
from schedproof.deploy.plugin_build.plugin_sources import Sources
from schedproof.documents.suggestions import did_you_mean
from schedproof.foundation.errors import CandidateError, HostError, SchedproofError

_MOST_LINES = 20
_NO_NEWS = re.compile(r"# |go: (downloading|finding module|found|added|upgraded|downgraded|trying) ")
_GENERATED = re.compile(rf"\S*{GENERATED}\.go:\d+:\d+")
_POSITION = re.compile(r"\S+\.go:\d+:\d+: ")
_FUNCTION = re.compile(r"func ([A-Z]\w*)[(\[]")

_SIGNATURE = "func {constructor}(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error)"
_FRAMEWORK = 'fwk "k8s.io/kube-scheduler/framework"'

# Patterns of the compiler's output, and remedies; the first match counts.
_REMEDIES = (
    (r"undefined: plugin\.", "spec.plugin.constructor is the exported function that makes the plugin: {functions}"),
    (
        r"cannot use plugin\.\w+ .*PluginFactory",
        (
            f"write `{_SIGNATURE}`, with {_FRAMEWORK}: the context comes first, and what is returned is the interface "
            "fwk.Plugin, not a type of yours"
        ),
    ),
    (
        r"undefined: fwk\.",
        (
            f"Kubernetes {{kubernetes}} has no such name in {_FRAMEWORK}: before 1.36 MaxScore and MinScore were "
            "MaxNodeScore and MinNodeScore, which later versions have as well; before 1.35 Handle, Plugin, ScorePlugin "
            "and their like were in k8s.io/kubernetes/pkg/scheduler/framework"
        ),
    ),
    (
        r"undefined: (framework|frameworkruntime)\.",
        (
            "the scheduling framework's interfaces have moved (CycleState, NodeInfo and Status in Kubernetes 1.34, "
            f"Handle, Plugin, ScorePlugin and their like in 1.35): import {_FRAMEWORK}, and take them from there"
        ),
    ),
    (
        r"does not implement|pointer to interface|wrong type for method|(too many|not enough) arguments in call",
        (
            "follow the `want` of Kubernetes {kubernetes}: since 1.34 Score takes a NodeInfo (no longer the node's "
            f"name), and CycleState and NodeInfo are interfaces (no longer pointers), of {_FRAMEWORK}"
        ),
    ),
    (
        r"is a program, not an importable package",
        "it has a func main, so describe it as `plugin: {{main: FOLDER}}`; `package` is for a plugin alone",
    ),
    (
        r"is not in std",
        "write import paths with the module's name from go.mod in front, such as example.com/scheduler/traffic",
    ),
    (
        r"cannot find module providing package|no required module provides package",
        (
            "run `go mod tidy` in {root}, so that its go.mod and go.sum name what it imports; what only a go.work "
            "knows needs a `replace` in go.mod"
        ),
    ),
    (
        r"build constraints exclude all|is not a package",
        "spec.plugin.package (or main) must name the folder whose Go files are the package itself",
    ),
    (
        r"errors parsing \S*go\.mod|go\.mod:\d+:",
        "correct go.mod in {root}; `go mod edit -json` there reports the same error",
    ),
    (
        r"unknown revision|no matching versions|invalid version|reading \S+: 4\d\d|repository .* not found",
        "name modules and versions that exist (PATH@v1.2.3) and that GOPROXY serves; private ones need GOPRIVATE",
    ),
)
_ANY_REMEDY = (
    "correct the sources; where go.mod in {root} names Kubernetes {kubernetes}, `go vet ./...` reports the same errors"
)


def explain(output: str, *, title: str, spec: PluginSpec, sources: Sources | None, kubernetes: str) -> SchedproofError:
    """Return the error of a failed build.

    Args:
        output: all that Go has printed.
        title: the problem, in a few words.
        spec: of the candidate.
        sources: None if they are not on this disk.
        kubernetes: the cluster's version.

    Returns:
        A HostError if this machine is the cause, else a CandidateError. Both quote Go's output, with the names of the
        user's files.
    """
    quoted = "\n".join([f"{title} (in {sources.root}):" if sources else f"{title}:", *_quoted(output)])
    # A compiler's diagnosis is about the sources, even if its words match a problem of this machine.
    others = [line for line in output.splitlines() if not _POSITION.match(line) or "module" in line]
    if remedy := host_remedy("\n".join(others)):
        return HostError(quoted, remedy=remedy)
    found = next((text for pattern, text in _REMEDIES if re.search(pattern, output)), _ANY_REMEDY)
    functions = _exported_functions(sources) if sources else {}
    if spec.constructor_name in functions and _GENERATED.search(output):
        quoted += f"\n    {functions[spec.constructor_name]}"
    return CandidateError(
        quoted,
        remedy=found.format(
            constructor=spec.constructor_name, kubernetes=kubernetes, root=sources.root if sources else "its module",
            functions=did_you_mean(spec.constructor_name, functions) if functions else "the package exports none",
        ),
    )  # fmt: skip


def _quoted(output: str) -> list[str]:
    """Return Go's output without progress, headings with the package's name, and names of generated files."""
    lines = [line for line in output.splitlines() if line.strip() and not _NO_NEWS.match(line)]
    kept = [_GENERATED.sub("(generated main)", line)[:600] for line in lines[:_MOST_LINES]]
    if len(lines) > len(kept):
        kept.append(f"... and {len(lines) - len(kept)} lines more")
    return [f"    {line}" for line in kept]


def _exported_functions(sources: Sources) -> dict[str, str]:
    """Map each exported function of the package to its declaration, in a compiler's format."""
    found = {}
    for file in sorted(sources.folder.glob("*.go")):
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            if (function := _FUNCTION.match(line)) and not file.name.endswith("_test.go"):
                found[function[1]] = f"{file.relative_to(sources.root)}:{number}: {line.rstrip(' {')}"
    return found
