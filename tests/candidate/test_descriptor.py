"""candidate.yaml: what is accepted, and that each mistake is reported with its place and a fix."""

from __future__ import annotations

import copy
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedproof.candidate.claims import Claims, Exclusion, NetworkClaims
from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.candidate.descriptor.features import FEATURES
from schedproof.candidate.kinds import AttachedSpec, ControllerSpec, ExtenderSpec, PluginSpec
from schedproof.candidate.placeholders import PLACEHOLDERS, fill, placeholders_in
from schedproof.candidate.profiles import PROFILES
from schedproof.candidate.shipped import find_candidate, shipped_names
from schedproof.candidate.timing import TIMING_CLAIMS, Timing
from schedproof.documents.durations import format_duration, parse_duration
from schedproof.documents.problems import DescriptorError
from schedproof.documents.reading import adapter, dump
from schedproof.foundation.errors import UsageError
from schedproof.history.acts import RunCandidate
from schedproof.judge.claimable import CLAIMABLE

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "candidate.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
EXTENDER, CONTROLLER, PLUGIN, STOCK, ATTACHED, RELEASED = EXAMPLES

MINIMAL = """\
apiVersion: schedproof/v1
kind: Candidate
metadata: {name: demo}
spec:
  schedulerName: demo
  extender:
    command: [python3, "{port}"]
    config: {filterVerb: filter}
"""
HEAD = MINIMAL[: MINIMAL.index("  extender:")]


CONFIGS = {
    "right": "kind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: demo}]",
    "other": "kind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: other}]",
    "no-yaml": "a: [",
    "text": "a",
    "placeholder": "{kind: KubeSchedulerConfiguration, a: '{prot}'}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return furnished(tmp_path)


def furnished(folder: Path) -> Path:
    """Write the files that the examples of the page refer to."""
    (folder / "networktraffic").mkdir()
    (folder / "Dockerfile").touch()
    (folder / "scheduler").touch()
    kinds = ("Namespace", "CustomResourceDefinition", "ClusterRole")
    manifests = [{"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}} for kind in kinds]
    maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        for name, data in (("conf", {"a.yaml": "{device}"}), ("two", {"c": "", "d": ""}), ("config", CONFIGS))
    ]
    (folder / "map.yaml").write_text(yaml.safe_dump_all(maps))
    for name in ("release.yaml", "queues.yaml"):
        (folder / name).write_text(yaml.safe_dump_all(manifests))
    return folder


def load(folder: Path, text: str) -> Candidate:
    (folder / "candidate.yaml").write_text(text)
    return load_candidate(folder, known=CLAIMABLE)


def problems(folder: Path, text: str) -> list[tuple[int, str, str, str]]:
    with pytest.raises(DescriptorError) as caught:
        load(folder, text)
    found = [(p.place.line, p.path, p.code, p.fix) for p in caught.value.problems]
    for problem in caught.value.problems:
        assert problem.fix
        assert str(problem) in str(caught.value)
        assert str(problem).startswith(f"{folder / 'candidate.yaml'}:{problem.place.line}:{problem.place.column}: ")
    return found


def plugin(text: str) -> str:
    """A descriptor with this plugin, on line 6."""
    return HEAD + f"  plugin: {text}\n"


def stock(more: str) -> str:
    """The stock scheduler with one more line in its spec, line 7."""
    return plugin("{binary: kube-scheduler}") + f"  {more}\n"


def spec(text: str) -> str:
    """The minimal candidate with more lines in its spec, from line 9 on."""
    return MINIMAL + "".join(f"  {line}\n" for line in text.splitlines())


def config(text: str) -> str:
    """The minimal candidate with another config of its extender, on line 8."""
    return MINIMAL.replace("{filterVerb: filter}", text)


def command(text: str) -> str:
    """The minimal candidate with another command, on line 7."""
    return MINIMAL.replace('[python3, "{port}"]', text)


def network(claim: str) -> str:
    """A network-aware candidate with one claim changed, added, or emptied, on line 11."""
    name, _, value = claim.partition(": ")
    claims = {"metric": "m", "direction": "receive", "window": "30s", "resolution": "10%"}
    claims[name.rstrip(":")] = value
    written = ", ".join(f"{name}: {value}" for name, value in claims.items() if value)
    return spec(f"claims:\n  profiles: [core, network-aware]\n  network: {{{written}}}")


# Each line: what is written, the path, the code, part of the fix. `where` says how it is written.
TABLES = r"""
## command: replaces the extender's command, line 7, spec.extender.command
["a\0"]                      | [0] | malformed           | remove that character
[!!int abc]                  | [0] | malformed           | quote
"python3 x.py --port {port}" |     | wrong-type          | ["python3", "x.py"
[]                           |     | wrong-type          | such as `command: [
null                         |     | empty-field         | such as `command: [
[a, "{port}", 8080]          | [2] | wrong-type          | quote it: "8080"
[a, "{port}", no]            | [2] | wrong-type          | quote it: "no"
[a, "{port}", 1.10]          | [2] | wrong-type          | quote it: "1.10"
[a, {port}]                  | [1] | wrong-type          | quote it: "{port}"
[a, [b]]                     | [1] | wrong-type          | such as
[" ", "{port}"]              |     | empty-field         | such as
[a, "{prot}"]                | [1] | malformed           | mean {port}?
[a, "{port}", "${HOME}"]     | [2] | malformed           | write {{HOME}}
[a, "{port}", "{window}"]    | [2] | malformed           | spec.claims.network
[python3, x.py]              |     | missing-placeholder | pass "{port}"
[a, --port={port}]           | !   | not-yaml            | quotes: "...{port}..."
## config: replaces the extender's config, line 8, spec.extender.config
{weight: 1} | . | missing-field       | filterVerb: filter
{filterVerb: /filter} | .filterVerb | malformed           | without a leading
{prioritiseVerb: p} | .prioritiseVerb | unknown-field       | prioritizeVerb?
{filterVerb: f, urlPrefix: "http://a:1/s"} | .urlPrefix | contradiction       | `pathPrefix: /s`
{filterVerb: f, urlPrefix: "http://a:1"}         | .urlPrefix              | contradiction       | leave it out
{filterVerb: f, urlPrefix: "http://[a"}          | .urlPrefix              | contradiction       | leave it out
{prioritizeVerb: p, weight: 0}                   | .weight                 | out-of-range        | such as 1
{prioritizeVerb: p, weight: 1.5}                 | .weight                 | wrong-type          | weight: 1
{filterVerb: f, ignorable: "yes"} | .ignorable | wrong-type          | ignorable: true
{filterVerb: f, httpTimeout: 5} | .httpTimeout | not-a-duration      | write the unit: 5s
{filterVerb: f, httpTimeout: 1d}                 | .httpTimeout            | not-a-duration      | 5s
{filterVerb: f, httpTimeout: 0s}                 | .httpTimeout            | out-of-range        | 5s
{filterVerb: f, managedResources: [{name: cpu}]} | .managedResources[0].name | malformed           | example.com
{bindVerb: f, managedResources: [{name: a.b/c}, {name: a.b/c}]} | .managedResources[1].name | duplicate | keep one
{filterVerb: f, tlsConfig: {insecur: true}}      | .tlsConfig.insecur      | unknown-field       | insecure?
{filterVerb: f, tlsConfig: {caData: "-----BEGIN"}} | .tlsConfig.caData     | malformed           | base64 -w0
## plugin: the plugin, line 6, spec.plugin
{name: A} | . | missing-field       | binary: kube-scheduler
{binary: kube-scheduler, main: ./networktraffic}       | .binary     | contradiction       | keep one
{package: ./networktraffic}                            | .name       | missing-field       | name: NetworkTraffic
{package: ./nowhere, name: A}                          | .package    | no-such-file        | relative
{package: networktraffic, name: A}                     | .package    | malformed           | ./networktraffic
{package: a.example/x, name: A}                        | .package    | missing-version     | a.example/x@v1.2.3
{main: a.example/x@main}                               | .main       | missing-version     | a.example/x@v1.2.3
{package: ./networktraffic, name: A, constructor: new} | .constructor | malformed           | such as New
{binary: kube-scheduler, constructor: New}             | .constructor | contradiction       | leave it out
{binary: kube-scheduler, args: {a: 1}}                 | .args       | missing-field       | name:
{binary: kube-scheduler, name: A, args: [1]}           | .args       | wrong-type          | args: {
{binary: kube-scheduler, name: A, args: {a: .inf}}     | .args.a     | out-of-range        | finite number
{binary: kube-scheduler, name: A, args: {a: ["{port}"]}} | .args.a[0] | malformed           | extender
{binary: kube-scheduler, flags: {v: "4"}}              | .flags.v    | contradiction       | leave it out
{binary: kube-scheduler, flags: {--a: "1"}}            | .flags["--a"] | malformed         | dashes
{binary: kube-scheduler, flags: {feature-gates: {A: 1}}} | .flags.feature-gates | wrong-type  | feature-gates: text
{binary: scheduler}                                    | .binary     | unknown-value       | ./scheduler
{binary: ./nowhere}                                    | .binary     | no-such-file        | relative
## stock: stands beside the stock scheduler, line 7, spec
claims: {points: {filter: [{fits: true}]}} | .claims.points | claim-without-clause | add plugin
claims: {profiles: [plugin], points: {queuesort: []}} | .claims.points.queuesort | unknown-field | mean queue-sort?
claims: {profiles: [plugin], points: {filter: []}} | .claims.points.filter | wrong-type | fits: false
claims: {profiles: [plugin], points: {filter: [{}]}} | .claims.points.filter[0].fits | missing-field | fits: true
claims: {profiles: [plugin], points: {filter: [{fits: 1}]}} | .claims.points.filter[0].fits | wrong-type | fits: true
schedulerConfig: {kind: Pod} | .schedulerConfig.kind | invalid-manifest    | kind: KubeSchedulerConfiguration
schedulerConfig: {a: 1} | .schedulerConfig | invalid-manifest    | kind: KubeSchedulerConfiguration
schedulerConfig: no.yaml         | .schedulerConfig   | no-such-file        | relative
schedulerConfig: 1               | .schedulerConfig   | wrong-type          | name of a file
claims: {features: [events, events]} | .claims.features[1] | duplicate           | keep one
image: {context: .}              | .image.context     | contradiction       | leave it out
image: {ref: a, command: ["{port}"]} | .image.command[0] | malformed           | extender
## spec: stands beside the extender, line 9, spec
rbac: {<<: {a: 1}}               | .rbac              | not-supported       | write the fields out
rbac: {1: a}                     | .rbac              | wrong-type          | quote it: "1"
rbac: {[a]: a}                   | .rbac              | wrong-type          | quotes
rbac: !mine {a: 1}               | .rbac              | not-supported       | without a tag
rbac: !!python/name:os.abort a   | .rbac              | not-supported       | without a tag
rbac: &a {rules: [*a]}           | .rbac.rules[0]     | endless             | by a value
schedulerName: b                 | .schedulerName     | duplicate           | keep one
attached: {}                     | .attached          | contradiction       | exactly one
  port: 99999                    | .extender.port     | out-of-range        | 8888
  port: "80"                     | .extender.port     | wrong-type          | 8888
  ready: healthz                 | .extender.ready    | malformed           | /healthz
  env: {DEBUG: 1}                | .extender.env.DEBUG | wrong-type          | quote it: "1"
  env: {"A=B": x}                | .extender.env["A=B"] | malformed           | letters
  env: [A=1]                     | .extender.env      | wrong-type          | LOG_LEVEL
  workdir: nowhere               | .extender.workdir  | no-such-file        | folder of candidate.yaml
schedulerConfig: {kind: KubeSchedulerConfiguration, x: ["{prot}"]} | .schedulerConfig.x[0] | malformed | {port}?
rbac: {rules: [{resources: [pods]}]} | .rbac.rules[0].verbs | missing-field       | verbs: [get
rbac: {rules: [{verbs: [get], resources: [pods]}]} | .rbac.rules[0] | missing-field       | apiGroups: [""]
rbac: {rules: [{verbs: [a], resources: [b], nonResourceURLs: [/c]}]} | .rbac.rules[0] | contradiction       | two
rbac: {rules: [{verb: [get]}]}   | .rbac.rules[0].verb | unknown-field       | mean verbs?
rbac: {roles: [{rules: [{verbs: [get], resources: [a],apiGroups: [b]}]}]} | .rbac.roles[0].namespace | missing-field | a
rbac: {roles: [{namespace: a}]} | .rbac.roles[0].rules | missing-field       | leases
rbac: {roles: [{namespace: a,rules: [{verbs: [b],nonResourceURLs: [/]}]}]} | .rbac.roles[0].rules[0] | contradiction | .
rbac: {clusterRoles: [1]}        | .rbac.clusterRoles[0] | wrong-type          | quote it: "1"
image: {}                        | .image             | missing-field       | dockerfile or ref
image: {ref: "a b"}              | .image.ref         | malformed           | localhost/
image: {ref: a, context: .}      | .image.context     | contradiction       | add dockerfile
image: {ref: a, requirements: Dockerfile} | .image.requirements | contradiction       | your own image
image: {context: nowhere}        | .image.context     | no-such-file        | relative
image: {command: ["{prot}"]}     | .image.command[0]  | malformed           | {port}?
image: {dockerfile: nowhere}     | .image.dockerfile  | no-such-file        | relative
scoring: {python: scores}        | .scoring.python    | malformed           | least_traffic.scoring:scores
claims: {profiles: [core, nework-aware]} | .claims.profiles[1] | unknown-value       | mean network-aware?
claims: {profiles: core}         | .claims.profiles   | wrong-type          | `profiles: ["core"]`
claims: {profiles: [core, core]} | .claims.profiles[1] | duplicate           | keep one
claims: {profiles: [plugin]}     | .claims.profiles[0] | contradiction       | leave it out
claims: {features: [scale-fre]}  | .claims.features[0] | unknown-feature     | mean scale-free?
claims: {features: [telepathy]}  | .claims.features[0] | unknown-feature     | clauses: both-cache-modes, decl
claims: {features: [strict]}     | .claims.features[0] | claim-without-clause | add normalization
claims: {examples: [{readings: {a: 1}, scores: {a: 1}}]} | .claims.examples | claim-without-clause | add
claims: {profiles: [network-aware]} | .claims.network | missing-field       | metric: node_network
claims: {timing: {bind: 30}}     | .claims.timing.bind | not-a-duration      | write the unit: 30s
claims: {features: [gang]}       | .claims.gang | missing-field            | add it, such as
claims: {gang: {pods: {a: "{group}"}, timeout: 1s}} | .claims.gang | claim-without-clause | add gang
claims: {features: [gang], gang: {pods: {a: b}, timeout: 1s}} | .claims.gang.pods | missing-placeholder | {group}
claims: {features: [gang], gang: {pods: {a: "{group} {sise}"}, timeout: 1s}} | .claims.gang.pods.a | malformed | {size}
claims: {preemption: {choice: any}} | .claims.preemption | claim-without-clause | add preemption
claims: {features: [preemption], preemption: {choice: own}} | .claims.preemption.choice | unknown-value | any
claims: {timing: {bind: 0s}}     | .claims.timing.bind | out-of-range        | such as 45s
claims: {timing: {requeu: 1m}}   | .claims.timing.requeu | unknown-field       | mean requeue?
claims: {profiles: [normalization],examples: [{readings: {b: 2}, scores: {}}]} | .claims.examples[0] | contradiction | e
claims: {profiles: [normalization], examples: [{readings: {}, scores: {}}]} | .claims.examples[0] | empty-field | nodes
exclusions: [{clause: core/binds}] | .exclusions[0].reason | missing-field       | reason: "what fails
exclusions: [{clause: core/binds, reason: " "}] | .exclusions[0].reason | wrong-type          | reason: "what fails
exclusions: [{clause: core/*, reason: r}] | .exclusions[0].clause | unknown-clause | its own id
exclusions: [{clause: binds, reason: r}] | .exclusions[0].clause | unknown-clause | network/counter-reset
exclusions: [{clause: netwrk/flip, reason: r}] | .exclusions[0].clause | unknown-clause | mean network/flip?
## spec: more lines in its spec, from line 9 on, spec; what it needs around it
files: {/etc/x.yaml: text, y: "{files}"} | .files["/etc/x.yaml"] | malformed           | {files}/config.yaml
files: {../x.yaml: text} | .files["../x.yaml"] | malformed           | {files}/config.yaml
files: {x.yaml: {from: nowhere.yaml}} | .files["x.yaml"].from | no-such-file        | relative to
files: {x.yaml: "{promtheus}"} | .files["x.yaml"] | malformed           | did you mean {prometheus}
files: {x.yaml: "{certFile}"} | .files["x.yaml"] | malformed           | enableHTTPS: true
files: {x.yaml: text} | .files | missing-placeholder | {files}/x.yaml
install: [nowhere] | .install[0] | no-such-file        | relative to
install: [] | .install | wrong-type          | such as
install: crds | .install | wrong-type          | ["crds"]
install: [1] | .install[0] | wrong-type          | - release.yaml
install: [{from: nowhere}] | .install[0].from | no-such-file        | relative to
install: {from: nowhere} | .install.from | no-such-file        | relative to
install: {kinds: [Namespace]} | .install.from | missing-field       | from: [release.yaml]
install: {form: nowhere} | .install.form | unknown-field       | did you mean from
install: {from: candidate.yaml, kinds: [Candidat]} | .install.kinds[0] | unknown-value       | did you mean Candidate
install: {from: candidate.yaml, kinds: Candidate} | .install.kinds | wrong-type          | ["Candidate"]
files: {x.yaml: {from: map.yaml, configMap: conf, key: b}} | .files["x.yaml"].key | unknown-value       | a.yaml
files: {x.yaml: {from: map.yaml, configMap: con}} | .files["x.yaml"].configMap | unknown-value       | mean conf
files: {x.yaml: {from: map.yaml, configMap: two}} | .files["x.yaml"] | missing-field       | add key, one of c, d
files: {x.yaml: {from: map.yaml, configMap: 1}} | .files["x.yaml"].configMap | wrong-type          | scheduler-config
files: {x.yaml: {from: map.yaml, configmap: a}} | .files["x.yaml"].configmap | unknown-field       | mean configMap
files: {x.yaml: {from: candidate.yaml, key: a}} | .files["x.yaml"].from | invalid-manifest    | another file
processes: [{name: a, command: [x], ports: [b]}] | .processes[0].ports[0] | missing-placeholder | pass it
processes: [{name: a, command: ["{b_port}"]}] | .processes[0].command[0] | malformed           | {{b_port}}
processes: [{name: a, command: [x], ports: [B]}] | .processes[0].ports[0] | malformed           | such as metrics
processes: [{name: a, command: [x], serves: {a: port}}] | .processes[0].serves.a | malformed           | NAMESPACE/NAME
processes: [{name: a, command: [x], serves: {a/b: w}}] | .processes[0].serves["a/b"] | unknown-value       | ports: [w]
processes: [{name: a, command: ["{certFile}"]}] | .processes[0].command[0] | malformed           | `serves` a Service
processes: [{command: [a]}] | .processes[0].name | missing-field       | such as `name:
processes: [{name: side}] | .processes[0].command | missing-field       | such as `command:
processes: [{name: Side, command: [a]}] | .processes[0].name | malformed           | such as
processes: [{name: a, command: [x]}, {name: a, command: [y]}] | .processes[1].name | duplicate           | different
processes: [{name: a, command: [x], ready: /up}] | .processes[0].command | missing-placeholder | pass "{port}"
processes: [{name: a, command: ["{b_address}"]}] | .processes[0].command[0] | malformed           | {{b_address}}
processes: [{name: a, command: [x], rbac: {rules: [{verbs: [get]}]}}] | .processes[0].rbac.rules[0] | missing-field | s
world: {node: {}} | .world.node | unknown-field       | did you mean nodes
world: {nodes: {resources: {example.com/gpu: lots}}} | .world.nodes.resources["example.com/gpu"] | malformed | such as
world: {pods: {spec: {nodeName: a}}} | .world.pods.spec | not-supported       | remove nodeName
world: {namespace: {objects: [nowhere.yaml]}} | .world.namespace.objects[0] | no-such-file        | relative to
world: {nodes: {labels: {a: 1}}} | .world.nodes.labels.a | wrong-type          | quote it

## network: changes or adds a claim about the network, line 11, spec.claims.network
metric: | .metric | missing-field       | node_network_receive_bytes_total
metric: "rate(m[1m])"            | .metric            | malformed           | such as node_network
direction: recieve               | .direction         | unknown-value       | mean receive?
metric: node_network_transmit_bytes_total | .direction | contradiction       | direction: transmit
window: 30                       | .window            | not-a-duration      | write the unit: 30s
window: 30 seconds               | .window            | not-a-duration      | such as 30s
window: 0s                       | .window            | out-of-range        | such as 30s
resolution: 0%                   | .resolution        | out-of-range        | such as 10%
resolution: 10                   | .resolution        | out-of-range        | write 10%
resolution: fine                 | .resolution        | out-of-range        | such as 10%
resolution:                      | .resolution        | missing-field       | 10%
refresh: -1s                     | .refresh           | not-a-duration      | such as 1s
on_missing: avoid                | .on_missing        | unknown-field       | mean on-missing?
on-missing: ignore | .on-missing | unknown-value       | one of: neutral, avoid, reject
device: "{dev}"                  | .device            | malformed           | {device}
device: {device}                 | .device            | wrong-type          | quote it: "{device}"
## line 1: replaces that line
apiVersion: schedprof/v1         | apiVersion         | unknown-value       | mean schedproof/v1?
## line 2: replaces that line
kid: Candidate                   | kid                | unknown-field       | mean kind?
## line 3: replaces that line
metadata: {name: My_Demo}        | metadata.name      | malformed           | such as
metadata: {nam: a}               | metadata.nam       | unknown-field       | mean name?
## line 5: replaces that line
  schedulerName: a b             | spec.schedulerName | malformed           | such as
  scheduler_name: a              | spec.scheduler_name | unknown-field       | mean schedulerName?
  schedulerName:                 | spec.schedulerName | empty-field         | schedulerName: least-traffic
## line 6: replaces that line
  extendr:                       | spec.extendr       | unknown-field       | mean extender?
## line 7: replaces that line
    comand: [a]                  | spec.extender.comand | unknown-field       | mean command?
## line 8: replaces that line
    config:                      | spec.extender.config | empty-field         | config: {filterVerb
    cfg: {filterVerb: filter}    | spec.extender.cfg  | unknown-field       | mean config?
"""

# What does not fit on a line: the document, then line, path, code and part of the fix.
MISTAKES: dict[str, tuple[str, int, str, str, str]] = {
    "a reading that is none": (
        spec("claims: {profiles: [normalization], examples: [{readings: {a: x}, scores: {a: 1}}]}"),
        9,
        "spec.claims.examples[0].readings.a",
        "wrong-type",
        "such as",
    ),
    "tabs": ("a:\n\tb: 1\n", 2, "", "not-yaml", "spaces, not with tabs"),
    "unclosed": ("spec: [1,\n  2\n", 3, "", "not-yaml", "brackets"),
    "colon in a value": ("a: b: c\n", 1, "", "not-yaml", "between quotes"),
    "reserved character": ("a: @b\n", 1, "", "not-yaml", "between quotes"),
    "asterisk": ("a: *.example\n", 1, "", "not-yaml", "begins with *"),
    "two documents": (MINIMAL + "---\n" + MINIMAL, 10, "", "wrong-number", "one document per file"),
    "a list": ("- a\n", 1, "", "wrong-type", "apiVersion"),
    "a text": ("hello\n", 1, "", "wrong-type", "apiVersion"),
    "deep": (
        spec(f"schedulerConfig: {{kind: KubeSchedulerConfiguration, a: {'[' * 60}{']' * 60}}}"),
        9,
        f"spec.schedulerConfig.a{'[0]' * 47}",
        "not-supported",
        "remove levels",
    ),
    "unknown at top": (MINIMAL + "status: {}\n", 9, "status", "unknown-field", "one of: apiVersion, kind"),
    "network unclaimed": (
        spec("claims: {network: {metric: m, direction: receive, window: 1s, resolution: 1%}}"),
        9,
        "spec.claims.network",
        "claim-without-clause",
        "add network-aware",
    ),
    "no spec": (HEAD[: HEAD.index("spec")], 1, "spec", "missing-field", "spec: {schedulerName"),
    "empty spec": (HEAD[: HEAD.index("  sch")], 4, "spec", "empty-field", "spec: {schedulerName"),
    "no kind of candidate": (HEAD, 4, "spec", "missing-field", "extender, controller, plugin"),
    "attached": (HEAD + "  attached: {a: 1}\n", 6, "spec.attached.a", "unknown-field", "one of: namespace"),
    "attached's two ways": (
        HEAD + "  attached:\n    workload: {kind: Deployment, name: a}\n    selector: {app: a}\n",
        8,
        "spec.attached.selector",
        "contradiction",
        "keep one of",
    ),
    "attached's container": (
        HEAD + "  attached: {container: a}\n",
        6,
        "spec.attached.container",
        "missing-field",
        "add workload or selector",
    ),
    "attached's workload": (
        HEAD + "  attached: {workload: {kind: Pod, name: a}}\n",
        6,
        "spec.attached.workload.kind",
        "unknown-value",
        "Deployment",
    ),
    "attached's files": (
        HEAD + "  attached: {}\n  files: {a: b}\n",
        7,
        "spec.files",
        "contradiction",
        "leave it out",
    ),
    "controller": (
        HEAD + "  controller:\n    command: [a]\n    ready: /ok\n",
        7,
        "spec.controller.command",
        "missing-placeholder",
        "{port}",
    ),
    "controller's config": (
        MINIMAL.replace("extender:", "controller:"),
        8,
        "spec.controller.config",
        "unknown-field",
        "one of: command",
    ),
    "schedulerConfig for attached": (
        HEAD + "  attached: {}\n  schedulerConfig: {kind: KubeSchedulerConfiguration}\n",
        7,
        "spec.schedulerConfig",
        "contradiction",
        "leave it out",
    ),
    "schedulerConfig and args": (
        plugin("{binary: kube-scheduler, name: A, args: {a: 1}}")
        + "  schedulerConfig: {kind: KubeSchedulerConfiguration}\n",
        7,
        "spec.schedulerConfig",
        "contradiction",
        "pluginConfig",
    ),
    "profile of another name": (
        stock("schedulerConfig: {kind: KubeSchedulerConfiguration, profiles: [{schedulerName: demos}]}"),
        5,
        "spec.schedulerName",
        "contradiction",
        "mean demos?",
    ),
    "nodes that do not differ": (
        stock("claims: {profiles: [plugin], points: {score: [{better: {}, worse: {}}]}}"),
        7,
        "spec.claims.points.score[0]",
        "contradiction",
        "differ",
    ),
    "pods that do not differ": (
        stock("claims: {profiles: [plugin], points: {queue-sort: [{first: {}, then: {}}]}}"),
        7,
        "spec.claims.points.queue-sort[0]",
        "contradiction",
        "before the second",
    ),
    "excluded twice": (
        spec("exclusions:\n  - {clause: core/binds, reason: r}\n  - {clause: core/binds, reason: s}"),
        11,
        "spec.exclusions[1].clause",
        "duplicate",
        "keep one",
    ),
}


def tabulated() -> Iterator[tuple[str, tuple[str, int, str, str, str]]]:
    for table in TABLES.split("\n## ")[1:]:
        title, *rows = table.rstrip().split("\n")
        where = title.partition(":")[0]
        write, line, outer = WRITERS[where] if where in WRITERS else (None, int(where.split()[1]), "")
        for row in rows:
            text, path, code, fix = (cell.strip() for cell in row.split(" | "))
            text = "  " + text if row.startswith("  ") else text
            if write is None:
                lines = MINIMAL.split("\n")
                lines[line - 1] = row.split(" | ")[0].rstrip()
                document = "\n".join(lines)
            else:
                document = write(text)
            path = "" if path == "!" else outer + path.rstrip(".")
            yield f"{where} {text}", (document, line, path, code, fix)


WRITERS = {
    "command": (command, 7, "spec.extender.command"),
    "config": (config, 8, "spec.extender.config"),
    "plugin": (plugin, 6, "spec.plugin"),
    "stock": (stock, 7, "spec"),
    "spec": (spec, 9, "spec"),
    "network": (network, 11, "spec.claims.network"),
}
MISTAKES |= tabulated()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_with_its_place_and_a_fix(folder: Path, mistake: str) -> None:
    text, line, path, code, fix = MISTAKES[mistake]
    found = problems(folder, text)
    matching = [p for p in found if p[0] == line and p[1] == path and p[2] == code and fix in p[3]]
    assert matching, found


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_single_mistake_is_reported_as_a_single_problem(folder: Path, mistake: str) -> None:
    found = problems(folder, MISTAKES[mistake][0])
    assert len(found) == 1, found


def test_all_problems_of_a_file_are_reported_together_in_the_order_of_lines(folder: Path) -> None:
    text = MINIMAL.replace("filterVerb", "filterverb").replace("demo\n", "a b\n") + "  claims: {profiles: [cor]}\n"
    found = problems(folder, text)
    assert [line for line, *_ in found] == [5, 8, 9]
    with pytest.raises(DescriptorError, match=r"^3 problems in .*candidate\.yaml\n"):
        load_candidate(folder)


def test_a_column_points_at_the_value_and_for_unknown_fields_at_the_name(folder: Path) -> None:
    (folder / "candidate.yaml").write_text(config("{filterVerb: /f, wieght: 1}"))
    with pytest.raises(DescriptorError) as caught:
        load_candidate(folder)
    assert [problem.place.column for problem in caught.value.problems] == [26, 30]


def test_a_clause_that_does_not_exist_cannot_be_excluded(folder: Path) -> None:
    text = spec("exclusions: [{clause: core/bind, reason: r}]")
    (found,) = problems(folder, text)
    assert found[1:] == (
        "spec.exclusions[0].clause",
        "unknown-clause",
        "did you mean core/binds?",
    )


def test_problems_in_a_scheduler_config_file_name_that_file(folder: Path) -> None:
    text = stock("schedulerConfig: sched.yaml")
    for content, expected in (
        ("kind: Pod\n", "sched.yaml:1:7: kind: expected a KubeSchedulerConfiguration"),
        ("kind: [\n", "sched.yaml:2:1: not valid YAML"),
        ("", "sched.yaml: the file is empty"),
        (
            "kind: KubeSchedulerConfiguration\na:\n  b: '{prot}'\n",
            "sched.yaml:3:6: a.b: unknown placeholder {prot}",
        ),
    ):
        (folder / "sched.yaml").write_text(content)
        with pytest.raises(DescriptorError, match=re.escape(expected)):
            load(folder, text)
    (folder / "sched.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration\n"
    )
    assert load(folder, text).scheduler_config == {
        "apiVersion": "kubescheduler.config.k8s.io/v1beta1",  # a clause says whether that works
        "kind": "KubeSchedulerConfiguration",
    }


LETTERS = "bcdefghijkl"
BOMB = (
    b"a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{letter}: &{letter} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, letter in zip("a" + LETTERS, LETTERS, strict=False)
    ).encode()
)

UNREADABLE: dict[str, tuple[bytes | None, str, str]] = {
    "missing": (None, "no-such-file", "its candidate.yaml, or the folder"),
    "empty": (b"", "empty-file", "docs/candidate.md"),
    "comments only": (b"# soon\n---\n", "empty-file", "docs/candidate.md"),
    "latin-1": (b"a: 1\nb: \xe9\n", "unreadable-file", "save it in UTF-8"),
    "control character": (b"a: \x01\n", "not-yaml", "plain text"),
    "huge escape": (b'a: "\\UFFFFFFFF"\n', "not-yaml", "plain text"),
    "surrogate": (b'"\\ud800": 1\n', "malformed", "plain value"),
    "brackets": (b"[" * 5_000, "not-supported", "remove levels"),
    "huge": (b"#" * (1 << 21), "unreadable-file", "written by hand"),
    "bomb": (BOMB, "endless", "use fewer aliases"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_that_cannot_be_read_is_reported_with_a_fix(tmp_path: Path, case: str) -> None:
    content, code, fix = UNREADABLE[case]
    if content is not None:
        (tmp_path / "candidate.yaml").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load_candidate(tmp_path)
    assert isinstance(caught.value, DescriptorError)
    assert code in [problem.code for problem in caught.value.problems]
    assert fix in str(caught.value)


def test_a_candidate_yml_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "candidate.yml").write_text(MINIMAL)
    with pytest.raises(DescriptorError, match=r"did you mean .*candidate\.yml\?"):
        load_candidate(tmp_path)


@pytest.mark.parametrize("name", ["nul\0", "x" * 5000, "candidate.yaml/inside"])
def test_an_impossible_path_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / "candidate.yaml").write_text(MINIMAL)
    with pytest.raises(DescriptorError):
        load_candidate(tmp_path / name)


def from_record(saved: dict[str, Any]) -> tuple[Claims, tuple[Exclusion, ...]]:
    """The claims and exclusions in the header of a history."""
    header = RunCandidate.model_validate(saved)
    exclusions = tuple(adapter(Exclusion).validate_python(exclusion) for exclusion in header.exclusions)
    return adapter(Claims).validate_python(header.claims), exclusions


@pytest.mark.parametrize("text", [*EXAMPLES, MINIMAL])
def test_good_examples_round_trip(folder: Path, text: str) -> None:
    candidate = load(folder, text)
    saved = json.loads(json.dumps(candidate.as_dict(), allow_nan=False))
    assert from_record(saved) == (candidate.claims, candidate.exclusions)
    assert load(folder, yaml.safe_dump(yaml.safe_load(text))) == candidate
    assert candidate.path == folder / "candidate.yaml"
    assert saved["kind"] == candidate.kind


def test_all_fields_of_an_extender_are_read(folder: Path) -> None:
    candidate = load(folder, EXTENDER)
    assert isinstance(candidate.spec, ExtenderSpec)
    assert candidate.spec.command[:2] == ("{python}", "extender.py")
    assert (candidate.spec.ready, candidate.spec.port, candidate.spec.workdir) == ("/healthz", None, folder)
    assert candidate.spec.config.verbs == ("filter", "prioritize", "bind")
    assert candidate.spec.config.document("http://127.0.0.1:8888/") == {
        "urlPrefix": "http://127.0.0.1:8888",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "bindVerb": "bind",
        "weight": 200,
        "nodeCacheCapable": True,
        "ignorable": True,
        "httpTimeout": "5s",
        "managedResources": [{"name": "example.com/bandwidth", "ignoredByScheduler": True}],
    }
    assert candidate.claims.network == NetworkClaims(
        metric="node_network_receive_bytes_total",
        direction="receive",
        window=30.0,
        resolution=0.1,
        device="{device}",
        refresh=1.0,
        on_missing="neutral",
        on_outage="schedule",
        recovers_within=15.0,
    )
    assert candidate.claims.examples[0].scores == {"node-a": 10, "node-b": 5, "node-c": 0}
    assert candidate.own_values()["window"] == "30s"
    assert candidate.own_values()["here"] == str(folder)


def test_with_window_changes_the_candidates_setting_and_keeps_the_claimed_window(folder: Path) -> None:
    candidate = load(folder, PLUGIN)
    tried = candidate.with_window(2.0)
    assert candidate.own_values()["window"] != tried.own_values()["window"] == "2s"
    assert candidate.claims.network is not None
    assert tried.claimed_window == candidate.claims.network.window


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        ('"{port}", "{files}/a"', "files: {a: 'window: {window}'}"),
        ('"{port}"', "processes: [{name: annotator, command: [annotate, '{window}']}]"),
        ('"{port}"', "processes: [{name: annotator, command: [annotate, '{files}/a'], files: {a: '{window}'}}]"),
    ],
    ids=["file", "process", "file of a process"],
)
def test_the_window_may_be_passed_on_in_a_file_or_to_a_process(folder: Path, arguments: str, more: str) -> None:
    text = network("window: 9s").replace('"{port}"', arguments) + f"  {more}\n"
    assert load(folder, text).with_window(2.0).own_values()["window"] == "2s"


@pytest.mark.parametrize("text", [MINIMAL, network("window: 9s")])
def test_a_window_that_is_not_passed_on_cannot_be_changed(folder: Path, text: str) -> None:
    with pytest.raises(UsageError, match="window"):
        load(folder, text).with_window(2.0)


def test_all_fields_of_the_other_kinds_are_read(folder: Path) -> None:
    controller, plugin_, stock, attached = (load(folder, text) for text in EXAMPLES[1:5])
    assert isinstance(controller.spec, ControllerSpec)
    assert controller.spec.ready == "/readyz"
    assert controller.rbac.rules[1].document() == {
        "verbs": ["create"],
        "apiGroups": [""],
        "resources": ["pods/binding"],
    }
    assert controller.image.dockerfile == folder / "Dockerfile"
    assert isinstance(plugin_.spec, PluginSpec)
    assert (plugin_.spec.folder, plugin_.spec.stock) == (folder / "networktraffic", False)
    assert placeholders_in(plugin_.spec.args) == {"prometheus", "device", "window"}
    assert isinstance(stock.spec, PluginSpec)
    assert stock.spec.stock
    assert isinstance(attached.spec, AttachedSpec)
    assert attached.kind == "attached"


def test_a_configuration_and_a_file_are_taken_out_of_a_config_map(folder: Path) -> None:
    files = "  files: {x.yaml: {from: map.yaml, configMap: conf}, y.yaml: {from: map.yaml, configMap: two, key: c}}\n"
    found = load(folder, stock("schedulerConfig: {from: map.yaml, configMap: config, key: right}"))
    assert found.scheduler_config == yaml.safe_load(CONFIGS["right"])
    found = load(folder, command('[a, "{port}", "{files}"]') + files)
    assert found.files == {"x.yaml": "{device}", "y.yaml": ""}


@pytest.mark.parametrize(
    ("key", "path", "code"),
    [
        ("other", "spec.schedulerName", "contradiction"),
        ("no-yaml", "spec.schedulerConfig.from", "not-yaml"),
        ("text", "spec.schedulerConfig.from", "wrong-type"),
        ("placeholder", "spec.schedulerConfig.from", "malformed"),
        ("none", "spec.schedulerConfig.key", "unknown-value"),
    ],
)
def test_what_is_wrong_with_a_configuration_in_a_config_map_is_told(
    folder: Path, key: str, path: str, code: str
) -> None:
    (found,) = problems(folder, stock(f"schedulerConfig: {{from: map.yaml, configMap: config, key: {key}}}"))
    assert found[1:3] == (path, code)


def test_a_configuration_that_is_a_config_map_is_told_how_to_name_its_text(folder: Path) -> None:
    (found,) = problems(folder, stock("schedulerConfig: {kind: ConfigMap}"))
    assert "{from: FILE, configMap: NAME, key: KEY}" in found[3]


def test_a_program_has_further_ports_and_its_processes_have_others(folder: Path) -> None:
    text = command('[a, "{port}", "{metrics_port}"]').replace("    config:", "    ports: [metrics]\n    config:")
    found = load(folder, text + "  processes: [{name: side, command: ['{web_hook_port}'], ports: [web-hook]}]\n")
    assert (found.spec.ports, found.processes[0].ports) == (("metrics",), ("web-hook",))  # type: ignore[union-attr]


BEHIND = "{metric: m, direction: receive, window: 1s, resolution: 1%}"
OPPOSED = "[{pod: {metadata: {labels: {a: b}}}, better: {x: y}, worse: {x: z}}, {better: {x: z}, worse: {x: y}}]"
FULFILLED = {
    "both-cache-modes": ("extender, filterVerb: filter", "extender, bindVerb: bind"),
    "ignorable": ("extender, filterVerb: f, ignorable: true", "extender, filterVerb: f"),
    "managed-resources": (
        "extender, filterVerb: f, managedResources: [{name: a.b/c}]", "extender, filterVerb: f, managedResources: []"
    ),
    "preempt": ("extender, preemptVerb: preempt", "extender, filterVerb: f"),
    "tls": ("extender, filterVerb: f, enableHTTPS: true", "extender, filterVerb: f, enableHTTPS: false"),
    "tls, mutual-tls": (
        "extender, filterVerb: f, enableHTTPS: true, tlsConfig: {certFile: a, keyFile: b, caFile: c}",
        "extender, filterVerb: f, enableHTTPS: true, tlsConfig: {caFile: c}",
    ),
    "signs-pods": (f"plugin, points: {{score: {OPPOSED}}}", "plugin, points: {filter: [{fits: true}]}"),
    "strict": (f"normalization, network: {BEHIND}", "normalization"),
    "full-scale": (f"normalization, network: {BEHIND}", "normalization"),
    "scale-free": (f"normalization, network: {BEHIND}", "normalization"),
}  # fmt: skip
"""Features: a profile with what fulfils them beside it in the configuration or the claims, and with something else."""


def claiming(features: str, beside: str) -> str:
    profile, _, fields = beside.partition(", ")
    head = plugin("{binary: kube-scheduler}") if profile == "plugin" else config(f"{{{fields}}}")
    if profile == "normalization":
        head = MINIMAL
    more = "" if profile == "extender" or not fields else f", {fields}"
    return head + f"  claims: {{profiles: [core, {profile}], features: [{features}]{more}}}\n"


def test_the_needs_of_every_feature_are_listed_and_tested() -> None:
    assert set(FEATURES) == set(CLAIMABLE.features)
    needy = {feature for feature, needs in FEATURES.items() if needs.config or needs.claims}
    assert needy == {feature.split(", ")[-1] for feature in FULFILLED}


@pytest.mark.parametrize("features", FULFILLED)
def test_a_feature_that_contradicts_the_rest_of_the_descriptor_is_refused(folder: Path, features: str) -> None:
    right, wrong = FULFILLED[features]
    assert load(folder, claiming(features, right)).claims.features == tuple(features.split(", "))
    text = claiming(features, wrong)
    [(line, path, code, fix)] = problems(folder, text)
    assert (line, path) == (text.count("\n"), f"spec.claims.features[{features.count(',')}]")
    assert code in ("contradiction", "claim-without-clause")
    assert f"or remove {features.rsplit(', ', maxsplit=1)[-1]}" in fix


@pytest.mark.parametrize("feature", [feature for feature, needs in FEATURES.items() if needs.kind])
@pytest.mark.parametrize("kind", ["extender", "controller", "plugin", "attached"])
def test_a_feature_of_one_kind_is_not_claimed_by_another(folder: Path, feature: str, kind: str) -> None:
    spec = {
        "extender": "{command: [python3, '{port}'], config: {filterVerb: f}}",
        "controller": "{command: [python3]}", "plugin": "{binary: kube-scheduler}", "attached": "{}",
    }[kind]  # fmt: skip
    profiles = {"extender": "core, extender", "attached": "core, extender, plugin"}.get(kind, "core")
    (folder / "candidate.yaml").write_text(
        HEAD + f"  {kind}: {spec}\n  claims: {{profiles: [{profiles}], features: [{feature}]}}\n"
    )
    found = []
    try:
        load_candidate(folder, known=CLAIMABLE)
    except DescriptorError as error:
        found = [problem.message for problem in error.problems if "is a feature of kind" in problem.message]
    assert bool(found) == (kind not in ("attached", FEATURES[feature].kind))


def test_certificates_that_the_harness_makes_serve_as_client_certificates_too(folder: Path) -> None:
    text = claiming("tls, mutual-tls", "extender, filterVerb: f, enableHTTPS: true")
    assert problems(folder, text)
    load(folder, text.replace('"{port}"]', '"{port}", "{certFile}", "{keyFile}", "{caFile}"]'))


def test_the_claim_of_a_gang_is_read_and_saved(folder: Path) -> None:
    text = 'features: [gang], gang: {pods: {metadata: {labels: {group: "{group}"}}}, timeout: 10s}'
    claims = load(folder, spec(f"claims: {{{text}}}")).claims
    assert claims.gang is not None
    assert (claims.gang.timeout, claims.gang.objects) == (10.0, ())
    assert adapter(Claims).validate_python(json.loads(json.dumps(dump(claims)))) == claims


def test_the_claimed_choice_of_a_node_for_preemption_is_read_and_saved(folder: Path) -> None:
    assert load(folder, spec("claims: {features: [preemption]}")).claims.preemption_choice == "upstream"
    claims = load(folder, spec("claims: {features: [preemption], preemption: {choice: any}}")).claims
    assert claims.preemption_choice == "any"
    saved = json.loads(json.dumps(dump(claims)))
    assert adapter(Claims).validate_python(saved) == claims
    del saved["preemption"]  # as older histories have it
    assert adapter(Claims).validate_python(saved).preemption_choice == "upstream"


def test_an_object_of_a_gang_must_be_a_manifest(folder: Path) -> None:
    text = 'features: [gang], gang: {pods: {a: "{group}"}, timeout: 10s, objects: [{kind: PodGroup}]}'
    with pytest.raises(DescriptorError, match=r"claims\.gang\.objects\[0\]"):
        load(folder, spec(f"claims: {{{text}}}"))


def test_timing_is_claimed_field_by_field(folder: Path) -> None:
    timing = load(folder, spec("claims: {timing: {requeue: 1m30s, freshness: 500ms}}")).claims.timing
    assert timing == Timing(requeue=90.0, freshness=0.5)
    assert (timing.is_default("requeue"), timing.is_default("bind")) == (False, True)


def test_defaults(folder: Path) -> None:
    candidate = load(folder, MINIMAL)
    assert isinstance(candidate.spec, ExtenderSpec)
    assert candidate.spec.ready == "/healthz"
    assert candidate.claims == Claims(profiles=("core",))
    assert "window" not in candidate.own_values()
    claims = load(folder, network("window: 30s")).claims.network
    assert claims is not None
    assert (claims.device, claims.refresh) == ("{device}", 0.0)
    assert (claims.on_missing, claims.on_outage, claims.recovers_within) == (None, None, None)


ACCEPTED = {
    "a null ready": spec("  ready: null"),
    "a fixed port": command("[python3]") + "    port: 8888\n",
    "the port in env": command("[python3]") + '    env: {PORT: "{port}"}\n',
    "an empty argument": command('[python3, "", "{port}"]'),
    "JSON, PromQL and templates": command(
        """[a, "{port}", '{"a": {"b": 1}}', 'rate(m{device="x"}[1m])', "{{.Node}}", "{{HOME}}", "{ x }"]"""
    ),
    "a date as text": command('[python3, "{port}", 2026-11-20, 10:30, 1_000, 007]'),
    "an anchor": command('&c [python3, "{port}"]') + "  image: {ref: &r a}\n  scoring: {python: a.b:c}\n",
    "a byte order mark": "\ufeff" + MINIMAL,
    "document marks": "---\n" + MINIMAL + "---\n",
    "nothing after a name": spec("claims:\nexclusions:\nrbac:"),
    "Go's empty verb": config('{filterVerb: "", bindVerb: api/bind}'),
    "a path prefix": config("{filterVerb: f, pathPrefix: /scheduler/}"),
    "attached: null": HEAD + "  attached:\n  claims: {profiles: [plugin, core]}\n",
    "a Go import path": plugin("{package: example.com/x/networktraffic@v1.2.3, name: A}"),
    "a binary file": plugin("{binary: ./scheduler}"),
    "a large reading": spec(
        f"claims: {{profiles: [normalization], examples: [{{readings: {{a.b: {2**60}}}, scores: {{a.b: 10}}}}]}}"
    ),
    "half a percent": network("resolution: 0.5%"),
    "its own extenders": spec('schedulerConfig: {kind: KubeSchedulerConfiguration, x: "http://127.0.0.1:{port}"}'),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_every_accepted_variant_loads(folder: Path, case: str) -> None:
    json.dumps(load(folder, ACCEPTED[case]).as_dict(), allow_nan=False)


def test_accepted_variants_are_read_with_the_right_values(folder: Path) -> None:
    assert load(folder, ACCEPTED["a null ready"]).as_dict()["extender"]["ready"] is None
    extender = load(folder, ACCEPTED["a path prefix"]).spec
    assert isinstance(extender, ExtenderSpec)
    assert extender.config.document("http://h:1") == {"urlPrefix": "http://h:1/scheduler", "filterVerb": "f"}
    dates = load(folder, ACCEPTED["a date as text"]).spec
    assert isinstance(dates, ExtenderSpec)
    assert dates.command[2:] == ("2026-11-20", "10:30", "1_000", "007")
    reading = load(folder, ACCEPTED["a large reading"]).claims.examples[0].readings["a.b"]
    assert json.dumps(reading) == str(2**60)


def test_a_private_key_stays_out_of_records(folder: Path) -> None:
    candidate = load(folder, config("{filterVerb: f, tlsConfig: {keyData: c2VjcmV0}}"))
    assert "c2VjcmV0" not in json.dumps(candidate.as_dict())
    assert isinstance(candidate.spec, ExtenderSpec)
    assert candidate.spec.config.document("")["tlsConfig"]["keyData"] == "c2VjcmV0"


def test_the_documented_table_of_features_matches_the_catalogue() -> None:
    _, _, table = PAGE.partition("| feature | judged by |")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", table.partition("\n\n")[0], re.MULTILINE))
    found = {feature: tuple(re.findall(r"[a-z]+/[\w-]+", clauses)) for feature, clauses in rows.items()}
    assert found == dict(CLAIMABLE.features)


def test_every_profile_has_clauses_that_judge_it() -> None:
    assert CLAIMABLE.profiles == PROFILES


@pytest.mark.parametrize("name", shipped_names())
def test_every_shipped_candidate_claims_only_what_is_judged(name: str) -> None:
    find_candidate(name, known=CLAIMABLE)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        (MINIMAL, False),
        (command('["./extender", "{port}", "{prometheus}"]'), True),
        (plugin("{binary: kube-scheduler, name: N, args: {prometheus: http://192.0.2.1}}"), False),
        (plugin("{binary: kube-scheduler, name: N, args: {servers: ['{prometheus}']}}"), True),
        (stock("schedulerConfig: {kind: KubeSchedulerConfiguration, url: '{prometheus}'}"), True),
        (network("window: 5s"), True),
    ],
)
def test_readings_are_needed_by_candidates_that_query_prometheus_or_claim_traffic(
    folder: Path, text: str, needed: bool
) -> None:
    assert load(folder, text).needs_readings is needed


def test_the_documentation_names_every_profile_timing_claim_and_placeholder() -> None:
    for name in (*PROFILES, *TIMING_CLAIMS, *(f"{{{name}}}" for name in PLACEHOLDERS)):
        assert f"`{name}`" in PAGE or f"`timing.{name}`" in PAGE, name


# placeholders


def test_fill_reaches_into_lists_and_mappings() -> None:
    value = {"{port}": ["--p={port}", ("{port}{port}", 1)], "b": {"c": None}}
    assert fill(value, {"port": "80"}) == {"{port}": ["--p=80", ("8080", 1)], "b": {"c": None}}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ('{"a": {port}}', '{"a": 80}'),
        ("{{port}}", "{port}"),
        ("{{unknown}}", "{unknown}"),
        ("{ port }", "{ port }"),
        ("{{.port}}", "{{.port}}"),
        ("{0} {} {a-b}", "{0} {} {a-b}"),
    ],
)
def test_only_identifiers_in_braces_are_filled(text: str, filled: str) -> None:
    assert fill(text, {"port": "80"}) == filled


def test_a_filled_value_is_not_filled_again() -> None:
    assert fill("{a}", {"a": "{b}", "b": "x"}) == "{b}"


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"\{device\} has no value on this cluster; available placeholders: \{port\}"):
        fill(["{device}"], {"port": "80"})


# durations


@pytest.mark.parametrize(
    ("text", "seconds", "formatted"),
    [
        ("250ms", 0.25, "250ms"),
        ("30s", 30, "30s"),
        ("1m30s", 90, "1m30s"),
        ("1.5h", 5400, "1h30m"),
        ("90s", 90, "1m30s"),
        ("1d", 86400, "24h"),
        (".5s", 0.5, "500ms"),
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("10us", 1e-5, "10us"),
    ],
)
def test_durations_are_parsed_and_formatted(text: str, seconds: float, formatted: str) -> None:
    assert parse_duration(text) == pytest.approx(seconds)
    assert format_duration(parse_duration(text)) == formatted


@pytest.mark.parametrize("text", ["", " ", "5", "5 s", "s", "-5s", "1y", "1e3s", "5S", "٣s", "9" * 400 + "s"])
def test_text_that_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_duration(text)


# whatever is written


def paths(value: object, prefix: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    inner = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [prefix, *(path for key, item in inner for path in paths(item, (*prefix, key)))]


GOOD = [yaml.safe_load(text) for text in EXAMPLES]
SPOTS = [(index, path) for index, document in enumerate(GOOD) for path in paths(document)]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**300, max_value=10**400),
    st.floats(),
    st.text(max_size=30),
    st.binary(max_size=10),
    st.dates(),
    st.datetimes(),
    st.sampled_from(
        [
            "{port}",
            "{x}",
            "",
            "/",
            "./",
            "..",
            "*",
            "{",
            "core",
            "10%",
            "-1s",
            "nan%",
            "\0",
            "a" * 5000,
            "core/x",
        ]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(SCALARS.filter(lambda key: key == key), inner, max_size=4)
    ),
    max_leaves=8,
)


def answered(error: DescriptorError) -> None:
    assert error.problems
    assert all(problem.fix and problem.message for problem in error.problems)
    str(error).encode(errors="surrogatepass")


def survives(text: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = furnished(Path(name))
        (folder / "candidate.yaml").write_text(text, errors="surrogatepass")
        try:
            candidate = load_candidate(folder, known=CLAIMABLE)
        except DescriptorError as error:
            answered(error)
        else:
            saved = json.loads(json.dumps(candidate.as_dict(), allow_nan=False))
            assert from_record(saved) == (candidate.claims, candidate.exclusions)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SPOTS), VALUES)
def test_any_value_in_any_field_is_accepted_or_reported(spot: tuple[int, tuple[object, ...]], value: object) -> None:
    index, path = spot
    document = copy.deepcopy(GOOD[index])
    if path:
        target = document
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
    else:
        document = value
    survives(yaml.safe_dump(document))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([*EXAMPLES, MINIMAL]), st.integers(0, 3000), st.integers(0, 20), st.text(max_size=12))
def test_any_text_is_accepted_or_reported(text: str, start: int, length: int, inserted: str) -> None:
    start = min(start, len(text))
    survives(text[:start] + inserted + text[start + length :])
