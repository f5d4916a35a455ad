"""The JSON Schema of candidate.yaml, whose texts are those of the reference page, docs/candidate.md."""

from __future__ import annotations

from schedproof.candidate.claims import (
    DIRECTIONS,
    ON_MISSING,
    ON_OUTAGE,
    OWN_PLACEMENTS,
    PREEMPTION_CHOICES,
    PRIORITIES,
    Claimable,
    Claims,
    NetworkClaims,
)
from schedproof.candidate.kinds import KINDS, ExtenderConfig
from schedproof.candidate.timing import Timing
from schedproof.documents.durations import format_duration
from schedproof.documents.json_schema import (
    Schema,
    anything,
    choice,
    document,
    duration,
    either,
    flag,
    integer,
    listed,
    mapping,
    named,
    number,
    relaxed,
    text,
)

_PATH, _FILE, _FOLDER = "HTTP path", "file", "folder"
_INT64 = 2**63 - 1


def candidate_schema(known: Claimable) -> Schema:
    """The schema, where it is `known` what there is to judge by."""
    whole = document(
        "Candidate", _spec(known),
        description="What is tested, how it is started, and what it promises. Paths start from the file's folder.",
        name=text("its name in reports; objects are named after it",
                  title="lower-case letters, digits, dashes; at most 53"),
    )  # fmt: skip
    extends = text(
        "another candidate.yaml that this one differs from: mappings are merged field by field, whatever else is "
        "written takes the place of what was inherited, and null removes a mapping or list",
        title="file, or the folder of one",
    )
    differing = {**relaxed(whole), "required": ["extends"]}
    differing["properties"] = {"extends": extends, **differing["properties"]}
    shared = {key: whole.pop(key) for key in ("$schema", "title", "description")}
    return {**shared, "if": {"required": ["extends"], "type": "object"}, "then": differing, "else": whole}


def _spec(known: Claimable) -> Schema:
    fields = {
        "schedulerName": text("the `schedulerName` of the pods that it is to schedule"),
        "extender": _extender(),
        "controller": mapping(
            _command(None), "a program that watches and binds by itself", required=("command",)
        ),
        "plugin": _plugin(),
        "attached": anything("it runs already, in an existing cluster", maxProperties=0),
        "schedulerConfig": either(
            text("", title=_FILE), anything("a KubeSchedulerConfiguration"),
            description="for extender and plugin: a KubeSchedulerConfiguration, taken as it is, of any apiVersion; "
            "one of its profiles must serve `schedulerName`. The harness writes one if it is absent",
        ),
        "files": _files(),
        "processes": listed(
            _process(), "what it needs beside its scheduler, such as a controller: started before it, in this order",
            default=[],
        ),
        "install": listed(
            text(title="file, or folder"),
            "manifests that the cluster has before it starts (definitions, namespaces, queues), in this order. A "
            "folder is taken file by file, or built by kustomize",
            default=[],
        ),
        "world": _world(),
        "rbac": _rbac(),
        "image": _image(),
        "scoring": mapping(
            {"python": text(
                "called with node to bytes per second (None: no sample), returns node to score; in the folder of the "
                "file that names it", title="module:function",
            )},
            "a bare function, to be property-tested", required=("python",),
        ),
        "claims": _claims(known),
        "exclusions": listed(_exclusion(known), "known failures", default=[], empty=True),
    }  # fmt: skip
    return mapping(fields, required=("schedulerName",), oneOf=[{"required": [kind]} for kind in KINDS])


def _command(ready: str | None) -> dict[str, Schema]:
    without = "a TCP connection is enough" if ready else "it is enough that it runs"
    return {
        "command": listed(text(empty=True), "program and arguments; no shell"),
        "ready": text(f"answers 2xx once it is ready. null: {without}", title=_PATH, default=ready),
        "port": integer(
            1, 65_535,
            "the port that it always takes. Else the harness chooses one, and the command or env must have `{port}`",
        ),
        "env": named(
            text(empty=True),
            "added to your own environment, less what would redirect it (proxies, CA bundles, `PYTHON*`); `KUBECONFIG` "
            "is set to its identity, and `TZ`, where neither has it, to a zone that is not UTC", default={},
        ),
        "workdir": text("where it is started; that of candidate.yaml if absent", title=_FOLDER),
    }  # fmt: skip


def _files() -> Schema:
    source = mapping({"from": text("a file, whose text is taken", title=_FILE)}, required=("from",))
    return named(
        either(text(empty=True), source),
        "files that its program is given, below the folder `{files}`: name to text, or to `{from: FILE}`; placeholders "
        "in it are filled in", default={},
    )  # fmt: skip


def _process() -> Schema:
    fields = {
        "name": text("its name in reports and logs", title="lower-case letters, digits, dashes"),
        **_command(None),
        "rbac": {**_rbac(), "description": "what its own identity may do; it acts as the candidate does if absent"},
        "files": _files(),
    }
    return mapping(fields, required=("name", "command"))


def _world() -> Schema:
    texts = named(text(empty=True))
    objects = listed(text(title="file, or folder"), "manifests that are in each such namespace, such as its queue")
    fields = {
        "nodes": mapping(
            {
                "labels": texts,
                "annotations": texts,
                "resources": named(
                    either(text(title="quantity"), integer(0, _INT64)), "extended resources: how much each node offers"
                ),
            },
            "what every node has besides its own",
        ),
        "pods": mapping(
            {
                "metadata": mapping({"labels": texts, "annotations": texts}),
                "spec": anything("fields of a pod's spec; of `containers`, the first is merged into every container"),
            },
            "what every pod has that it is to schedule; a pod's own fields come first",
        ),
        "namespace": mapping(
            {"labels": texts, "annotations": texts, "objects": objects}, "what every namespace has that holds its pods"
        ),
    }  # fmt: skip
    return mapping(fields, "what pods, nodes and namespaces must have so that the candidate takes effect")


def _extender() -> Schema:
    fields = {**_command("/healthz"), "config": _extender_config()}
    description = "an HTTP extender; the harness runs a kube-scheduler and wires it"
    return mapping(fields, description, required=("command", "config"))


def _extender_config() -> Schema:
    verbs = {
        name: text(f"the verb to {what}; not called if absent", title="text without leading slash", empty=True)
        for name, what in (
            ("filterVerb", "filter nodes"), ("prioritizeVerb", "score nodes"),
            ("bindVerb", "bind a pod"), ("preemptVerb", "choose victims"),
        )
    }  # fmt: skip
    resource = mapping(
        {
            "name": text(title="extended resource"),
            "ignoredByScheduler": flag("whether kube-scheduler leaves it to the extender"),
        },
        required=("name",),
    )
    fields = {
        **verbs,
        "weight": integer(
            1, _INT64, "multiplier of its scores, where `prioritizeVerb` is given", default=ExtenderConfig.weight
        ),
        "nodeCacheCapable": flag("kube-scheduler sends node names, not Node objects"),
        "ignorable": flag("kube-scheduler continues if the extender fails"),
        "httpTimeout": duration("a Go duration; upstream's default is 5s"),
        "enableHTTPS": flag("it serves HTTPS"),
        "tlsConfig": mapping(
            {
                "insecure": flag("its certificate is not verified"),
                "serverName": text("the name in its certificate, if not the host's", title="host name"),
                "certFile": text("the client's certificate", title=_FILE),
                "keyFile": text("the client's key", title=_FILE),
                "caFile": text("what its certificate is verified by", title=_FILE),
                **{f"{name}Data": text(f"in place of {name}File", title="base64") for name in ("cert", "key", "ca")},
            },
            "keyData is kept out of records. The line goes through a tap as others do: kube-scheduler is given an "
            "authority of the tap's, and the tap speaks to the extender by what is written here",
        ),
        "managedResources": listed(
            resource,
            "extended resources that it manages: the suites' pods ask for one of each, and the nodes offer them; "
            "without any, all pods are sent", empty=True,
        ),
        "pathPrefix": text("the path that upstream's `urlPrefix` would have, such as `/scheduler`", title=_PATH),
    }  # fmt: skip
    return mapping(
        fields,
        "the fields of the upstream v1 `Extender` but for `urlPrefix`, which the harness fills in; at least one verb "
        "is needed",
    )


def _plugin() -> Schema:
    sources = "folder (`./x`), or Go import path with its version (`example.com/x@v1.2.3`)"
    fields = {
        "package": text(
            "exactly one of package, main and binary. The plugin's sources: the harness generates main, pins the "
            "cluster's k8s.io modules and builds", title=sources,
        ),
        "main": text("the sources of a whole scheduler, built with the same pins", title=sources),
        "binary": text(
            "built already; the bare name is the stock scheduler of the cluster's version",
            title="file with a slash, or `kube-scheduler`",
        ),
        "constructor": text("with `package` only", title="exported Go function", default="New"),
        "name": text("required with `package`: what the plugin is registered as"),
        "args": anything("its typed arguments, for pluginConfig; needs `name`, and no `schedulerConfig`", default={}),
    }  # fmt: skip
    return mapping(fields, "a compiled kube-scheduler")


def _rbac() -> Schema:
    texts = listed(text())
    rule = mapping(
        {
            "verbs": texts,
            "apiGroups": listed(text(empty=True)),
            "resources": texts,
            "resourceNames": texts,
            "nonResourceURLs": texts,
        },
        required=("verbs",),
    )
    fields = {
        "clusterRoles": listed(text(), "ClusterRoles that exist already", default=[], empty=True),
        "rules": listed(
            rule,
            "`verbs`, with `apiGroups`, `resources`, `resourceNames`, or with `nonResourceURLs`",
            default=[],
            empty=True,
        ),
    }
    return mapping(fields, "what the candidate's identity may do, and no more; nothing if it is absent")


def _image() -> Schema:
    fields = {
        "dockerfile": text("is built in `context`, and tagged `ref` if that is given", title=_FILE),
        "ref": text("alone: an image that this machine's Docker has, taken as it is", title="name of an image"),
        "context": text(
            "what the image is built from; the folder of the Dockerfile if absent, else `workdir`", title=_FOLDER
        ),
        "requirements": text(
            "Python packages, where the harness builds the image: pip installs them (wheels only)", title=_FILE
        ),
        "command": listed(
            text(), "the program in an image of your own; `command` if absent, of a plugin `[kube-scheduler]`"
        ),
    }
    return mapping(fields, "what its pods run; the harness builds an image if it is absent")


def _claims(known: Claimable) -> Schema:
    readings = named(number())
    fields = {
        "profiles": listed(
            choice(known.profiles),
            "extender, plugin and controller only for their own kind, or attached",
            default=["core"],
            empty=True,
        ),
        "features": listed(
            choice(tuple(known.features), title="features, see below"),
            "each adds the clauses that judge it",
            default=[],
            empty=True,
        ),
        "network": _network(),
        "timing": _timing(),
        "points": _points(),
        "gang": _gang(),
        "preemption": mapping(
            {
                "choice": choice(
                    PREEMPTION_CHOICES,
                    "which of several nodes' pods are evicted: by kube-scheduler's documented order, or by one of its "
                    "own, which is not judged",
                    default=Claims.preemption_choice,
                )
            },
            "allowed with the feature preemption",
        ),
        "examples": listed(
            mapping({"readings": readings, "scores": readings}, required=("readings", "scores")),
            "worked examples of its documentation, `{readings: {NODE: number}, scores: {NODE: number}}`, of the same "
            "nodes on both sides",
            default=[],
            empty=True,
        ),
    }
    return mapping(fields, "what it is judged by")


def _points() -> Schema:
    texts = named(text(empty=True))
    pod = mapping(
        {"metadata": mapping({"labels": texts, "annotations": texts}), "spec": anything("fields of a pod's spec")},
        "the fields that matter",
    )
    placed = mapping(
        {
            "pod": pod,
            "node-labels": {**texts, "description": "of one node; the pod is for that node alone"},
            "fits": {"type": "boolean", "description": "whether the pod is scheduled there"},
        },
        required=("fits",),
    )
    scored = mapping({"pod": pod, "better": texts, "worse": texts}, required=("better", "worse"))
    ordered = mapping({"first": pod, "then": pod}, required=("first", "then"))
    fields = {
        "filter": listed(
            placed,
            "whether its Filter plugins let a pod onto a node, `{pod: {metadata, spec}, node-labels: {NAME: text}, "
            "fits: false}`; what is left out does not matter. Where the same pod fits by another example, the node is "
            "changed into that one, and the pod must be scheduled then; likewise where another pod fits on that node, "
            "and differs in its labels and annotations alone",
        ),
        "prefilter": listed(placed, "the same of its PreFilter plugins"),
        "score": listed(
            scored,
            "to which nodes a pod goes by its Score plugins, of nodes that are alike but for these labels, `{pod: "
            "{metadata, spec}, better: {NAME: text}, worse: {NAME: text}}`",
        ),
        "queue-sort": listed(
            ordered,
            "of two pods that wait, the one that its QueueSort plugin has decided on first, `{first: {metadata, spec}, "
            "then: {metadata, spec}}`",
        ),
    }
    return mapping(
        fields,
        "worked examples of what its plugins decide at extension points (allowed with the profile plugin); not claimed "
        "where absent",
    )


def _network() -> Schema:
    rule = mapping(
        {"record": text(), "expr": text(), "labels": anything()},
        required=("record", "expr"),
    )
    ratio = {"title": "ratio", "type": "number", "exclusiveMinimum": 0, "maximum": 1}
    fields = {
        "metric": text("the counter that its readings are made of", title="name of a counter"),
        "direction": choice(DIRECTIONS, "the direction of traffic that affects placement"),
        "device": text("the exporter's label `device`", default="{device}"),
        "window": duration(
            "traffic older than this does not affect placement. Within the window, the mean counts (recommended: "
            "network/burst)"
        ),
        "resolution": either(
            {"title": "percentage", "type": "string", "pattern": r"%\s*$"}, ratio,
            description="a percentage such as `10%`, or a ratio such as `0.1`: the smallest relative difference in "
            "load that it promises to see; scripted loads differ by that and a twentieth of it. That it sees so much "
            "also beside a node with a hundred times the load (min-max scores from 0 to 10 do not) is a promise of its "
            "own: the feature `strict`; without it, network/outlier recommends it",
        ),
        "refresh": duration(
            "the time from a reading to its effect, whichever way that takes (a cache, a file, annotations): nothing "
            "is judged earlier",
            default="0s",
        ),
        "on-missing": choice(
            ON_MISSING,
            "a node without readings competes as the median of the others (of two: between them), only where no known "
            "node fits, never; not claimed if absent",
        ),
        "on-outage": choice(
            ON_OUTAGE,
            "without Prometheus it goes on without the preference, or pods wait; the last readings may be used for as "
            "long as window plus refresh; not claimed if absent",
        ),
        "recovers-within": duration("after an outage has healed; not claimed if absent"),
        "own-placements": choice(
            OWN_PLACEMENTS,
            "whether pods that it has just placed count as load of their nodes, until readings can show them",
        ),
        "priority": choice(
            PRIORITIES,
            "`first`: the quietest node gets the pod also where it is the fullest, or the least preferred for its "
            "taints, labels, images and pods. `tie-breaker`: traffic decides among nodes that are alike otherwise, and "
            "no more",
            default=NetworkClaims.priority,
        ),
        "rules": either(
            text(title=_FILE), listed(rule, empty=True),
            description="recording rules whose results it asks for: a rules file of Prometheus, or a list of `{record, "
            "expr, labels}`", default=[],
        ),
    }  # fmt: skip
    return mapping(
        fields,
        "which traffic counts: required if and only if network-aware is claimed (allowed with normalization)",
        required=("metric", "direction", "window", "resolution"),
    )


_TIMING = {
    "bind": "from a pod's creation, where it fits, until it is bound",
    "requeue": "from the change that makes a pod fit until it is bound, back-off included",
    "takeover": "from a start until it binds pods, where a predecessor's lease must run out first",
    "freshness": "how old its view of nodes and pods may be when it decides",
    "reaction": "from a decision until the condition or event that reports it",
}


def _timing() -> Schema:
    defaults = Timing().as_dict()
    fields = {
        name: duration(description, default=format_duration(defaults[name])) for name, description in _TIMING.items()
    }
    return mapping(fields, "the deadlines that it is judged by")


def _gang() -> Schema:
    fields = {
        "pods": anything(
            "what the members of a group have besides their own: labels and annotations of `metadata`, and `spec`; "
            "`{group}` stands for a name that its members share, `{size}` for their number"
        ),
        "objects": listed(
            anything("a manifest; `{size}` alone is a number where it is not in the metadata"),
            "objects that are created before the first member of a group, such as its PodGroup",
            default=[],
        ),
        "timeout": duration(
            "for how long a member may be bound, or hold room that another group lacks, while its group is not"
        ),
    }
    return mapping(
        fields,
        "what makes pods a group: required if and only if the feature gang is claimed",
        required=("pods", "timeout"),
    )


def _exclusion(known: Claimable) -> Schema:
    fields = {
        "clause": choice(
            known.clauses,
            "a clause that is known to fail; if it passes, the exclusion is stale and the run fails",
            title="clause's id, no wildcards",
        ),
        "reason": text("what fails, and why it is accepted"),
        "link": text("where it is being worked on"),
    }
    return mapping(fields, required=("clause", "reason"))
