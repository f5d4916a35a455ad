"""What a candidate promises: the models of `spec.claims` and `spec.exclusions`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema

from schedproof.candidate.placeholders import placeholders_in
from schedproof.candidate.points import PointClaims
from schedproof.candidate.profiles import BOUND_TO_KIND, CLAUSE_PROFILES
from schedproof.candidate.reading import Reading, wrong_braces
from schedproof.candidate.recording_rules import Rules
from schedproof.candidate.timing import MILLISECOND, Timing
from schedproof.documents.model import (
    Anything,
    Duration,
    Listed,
    Mapped,
    Number,
    Such,
    Text,
    Wrong,
    checked,
    matching,
    refuse,
    rule,
    shown,
    texts_in,
)
from schedproof.documents.suggestions import did_you_mean

Profile = Literal["core", "network-aware", "normalization", "extender", "plugin", "controller"]
Direction = Literal["receive", "transmit"]
OnMissing = Literal["neutral", "avoid", "reject"]
OnOutage = Literal["schedule", "wait"]
OwnPlacements = Literal["ignored", "counted"]
PreemptionChoice = Literal["upstream", "any"]
Priority = Literal["first", "tie-breaker"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
ANY_CHOICE: PreemptionChoice = "any"
"""The claim of a scheduler that ranks the nodes on which it can preempt by rules of its own."""

LEADER_ELECTION = "leader-election"
"""The feature of a scheduler that runs with a standby replica."""

GANG = "gang"
"""The feature of a scheduler that binds all pods of a group, or none."""

PREEMPTION = "preemption"
"""The feature of a scheduler that evicts pods in favor of a pod with a higher priority."""

RULE_INTERVAL = 0.5
"""Seconds between two evaluations of a candidate's recording rules; the `interval` of their groups is ignored."""


def _ratio(value: Any, info: ValidationInfo) -> Any:
    """A percentage of a file as a ratio."""
    if info.context is None:
        return value
    if isinstance(value, str):
        text = value.strip()
        try:
            ratio = float(text.removesuffix("%")) / 100 if text.endswith("%") else -1.0
        except ValueError:
            ratio = -1.0
        if not 0 < ratio <= 10:
            message = f"expected a percentage above 0 % and up to 1000 %, found {shown(value)}"
            refuse([Wrong("out-of-range", message, "such as 10%")])
        return ratio
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not 0 < value <= 1:
        message = f"expected a ratio above 0 and up to 1, found {str(value)[:60]}"
        refuse([Wrong("out-of-range", message, "write 10%, or 0.1, for ten percent")])
    return value


_RATIO = {"title": "ratio", "type": "number", "exclusiveMinimum": 0, "maximum": 1}
_PERCENTAGE = {"title": "percentage", "type": "string", "pattern": r"%\s*$"}
Resolution = Annotated[
    Number, BeforeValidator(_ratio), WithJsonSchema({"anyOf": [_PERCENTAGE, _RATIO]}), Such("10%", "a number")
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class NetworkClaims(Mapped):
    """Which traffic counts, at which resolution, and what happens without readings.

    Durations are in seconds. A policy that is None is not claimed, and neither are its clauses.
    """

    metric: Annotated[
        Text,
        matching(
            r"[A-Za-z_:][A-Za-z0-9_:]*",
            "expected the name of a counter, not a query",
            "such as node_network_receive_bytes_total",
        ),
        Such("node_network_receive_bytes_total"),
        Field(title="name of a counter"),
    ]
    """the counter that its readings are made of"""
    direction: Direction
    """the direction of traffic that affects placement"""
    window: Annotated[float, Duration("30s", minimum=MILLISECOND)]
    """traffic older than this does not affect placement. Within the window, the mean counts (recommended:
    network/burst)
    """
    resolution: Resolution
    """a percentage such as `10%`, or a ratio such as `0.1`: the smallest relative difference in load that it promises
    to see; scripted loads differ by that and a twentieth of it. That it sees so much also beside a node with a hundred
    times the load (min-max scores from 0 to 10 do not) is a promise of its own: the feature `strict`; without it,
    network/outlier recommends it
    """
    device: Annotated[Text, checked(lambda text: wrong_braces(text, ("device",))), Such('"{device}"')] = "{device}"
    """the exporter's label `device`"""
    refresh: Annotated[float, Duration("1s")] = 0.0
    """the time from a reading to its effect, whichever way that takes (a cache, a file, annotations): nothing is judged
    earlier
    """
    on_missing: OnMissing | None = None
    """a node without readings competes as the median of the others (of two: between them), only where no known node
    fits, never; not claimed if absent
    """
    on_outage: OnOutage | None = None
    """without Prometheus it goes on without the preference, or pods wait; the last readings may be used for as long as
    window plus refresh; not claimed if absent
    """
    recovers_within: Annotated[float, Duration("15s", minimum=MILLISECOND)] | None = None
    """after an outage has healed; not claimed if absent"""
    own_placements: OwnPlacements | None = None
    """whether pods that it has just placed count as load of their nodes, until readings can show them"""
    priority: Priority = "first"
    """`first`: the quietest node gets the pod also where it is the fullest, or the least preferred for its taints,
    labels, images and pods. `tie-breaker`: traffic decides among nodes that are alike otherwise, and no more
    """
    rules: Rules = ()
    """recording rules whose results it asks for: a rules file of Prometheus, or a list of `{record, expr, labels}`"""

    @property
    def without_readings(self) -> OnOutage | None:
        """The claimed policy while Prometheus answers, but has no reading of any node, which is an outage as well.

        None: no policy is claimed, or the two claims conflict: `on_outage: schedule` allows every node,
        `on_missing: reject` none.
        """
        return None if (self.on_outage, self.on_missing) == ("schedule", "reject") else self.on_outage

    @property
    def look_back(self) -> float:
        """Seconds after a change of the load from which only the new load counts: window plus refresh."""
        return self.window + self.staleness

    @property
    def counting(self) -> float:
        """Seconds after which a placement no longer counts as load, for a candidate that counts its own placements.

        The time starts when the candidate sees the pod bound; a second is added for a slow watch.
        """
        return self.look_back + 1.0

    @property
    def staleness(self) -> float:
        """The greatest age in seconds of the readings that the candidate uses, derived from the claimed `refresh`.

        Half a period and 0.5 s are added, because polling is late on a busy machine: how closely a candidate keeps
        its period is not judged.
        """
        polled = 1.5 * self.refresh + 0.5 if self.refresh else 0.0
        return polled + (2 * RULE_INTERVAL if self.rules else 0.0)

    @rule
    def _of_one_direction(self, _: Reading) -> Iterator[Wrong]:
        other = DIRECTIONS[1 - DIRECTIONS.index(self.direction)]
        if self.metric.startswith(f"node_network_{other}_"):
            message = f"{self.direction} contradicts the metric, {self.metric}"
            yield Wrong("contradiction", message, f"direction: {other}", ("direction",))


@dataclasses.dataclass(frozen=True)
class Example(Mapped):
    """A worked example from the candidate's documentation: node to reading, and node to the score that it must get."""

    readings: Annotated[Mapping[str, Annotated[Number, Such("1000000")]], Such("{a: 1000}")]
    scores: Annotated[Mapping[str, Annotated[Number, Such("100")]], Such("{a: 100}")]

    @rule
    def _of_the_same_nodes(self, _: Reading) -> Iterator[Wrong]:
        if odd := sorted(self.readings.keys() ^ self.scores.keys()):
            message = f"readings and scores name different nodes: {', '.join(odd)[:80]}"
            yield Wrong("contradiction", message, "give both for every node")
        elif not self.readings:
            yield Wrong("empty-field", "the example has no nodes", "give the readings and scores of some nodes")


def _wrong_in_group(value: Any) -> Iterator[Wrong]:
    for at, text in texts_in(value):
        yield from (wrong._replace(at=at) for wrong in wrong_braces(text, ("group", "size", "priorityClass")))


def _wrong_manifest(value: Mapping[str, Any]) -> Iterator[Wrong]:
    named = isinstance(value.get("metadata"), dict) and value["metadata"].get("name")
    if not (value.get("apiVersion") and value.get("kind") and named):
        message, fix = "apiVersion, kind or metadata.name is missing", "write it as for kubectl apply"
        yield Wrong("invalid-manifest", message, fix)


def is_pod_group(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest is a PodGroup of Kubernetes' own API, other than in the experiments before 1.37."""
    group, _, version = str(manifest.get("apiVersion")).partition("/")
    return manifest.get("kind") == "PodGroup" and group == "scheduling.k8s.io" and "alpha" not in version


@dataclasses.dataclass(frozen=True)
class GangClaims(Mapped):
    """What makes pods a group, in texts with the placeholders {group}, {size} and {priorityClass}. `timeout` is in
    seconds.
    """

    pods: Annotated[Anything, checked(_wrong_in_group), Such('{metadata: {labels: {pod-group: "{group}"}}}')]
    """what the members of a group have besides their own: labels and annotations of `metadata`, and `spec`; `{group}`
    stands for a name that its members share, `{size}` for their number
    """
    timeout: Annotated[float, Duration("30s")]
    """for how long a member may be bound, or hold room that another group lacks, while its group is not"""
    objects: Annotated[
        Listed[
            Annotated[
                Anything,
                checked(_wrong_manifest),
                checked(_wrong_in_group),
                Such('{apiVersion: ..., kind: PodGroup, metadata: {name: "{group}"}}'),
                Field(description="a manifest; `{size}` alone is a number where it is not in the metadata"),
            ]
        ],
        Such("[{apiVersion: ..., kind: PodGroup, ...}]"),
    ] = ()
    """objects that are created before the first member of a group, such as its PodGroup; `{priorityClass}` stands for
    the name of the PriorityClass that its members have
    """

    @property
    def by_pod_groups(self) -> bool:
        """Whether groups are those of Kubernetes' own API: PodGroups of scheduling.k8s.io."""
        return any(map(is_pod_group, self.objects)) and "schedulingGroup" in (self.pods.get("spec") or {})

    @rule
    def _named_by_group(self, _: Reading) -> Iterator[Wrong]:
        if "group" not in placeholders_in(self.pods):
            message = "no field contains {group}, so all groups would be the same"
            fix = 'write "{group}" as the value of a label, for example'
            yield Wrong("missing-placeholder", message, fix, ("pods",))


@dataclasses.dataclass(frozen=True)
class PreemptionClaims(Mapped):
    choice: PreemptionChoice = "upstream"
    """which of several nodes' pods are evicted: by kube-scheduler's documented order, or by one of its own, which is
    not judged
    """


@dataclasses.dataclass(frozen=True)
class Claims(Mapped):
    """The claims by which a candidate is judged."""

    profiles: Annotated[tuple[Profile, ...], Such("[core]")] = ("core",)
    """extender, plugin and controller only for their own kind, or attached"""
    features: Annotated[tuple[Text, ...], Such("[events]")] = ()
    """each adds the clauses that judge it"""
    network: NetworkClaims | None = None
    """which traffic counts: required if and only if network-aware is claimed (allowed with normalization)"""
    timing: Timing = dataclasses.field(default_factory=Timing)
    """the deadlines that it is judged by"""
    points: PointClaims = dataclasses.field(default_factory=PointClaims)
    """worked examples of what its plugins decide at extension points (allowed with the profile plugin); not claimed
    where absent
    """
    gang: GangClaims | None = None
    """what makes pods a group: required if and only if the feature gang is claimed"""
    preemption: PreemptionClaims | None = None
    """allowed with the feature preemption"""
    examples: Annotated[tuple[Example, ...], Such("{readings: {a: 1}, scores: {a: 100}}")] = ()
    """worked examples of its documentation, `{readings: {NODE: number}, scores: {NODE: number}}`, of the same nodes on
    both sides
    """

    @property
    def preemption_choice(self) -> PreemptionChoice:
        """How it chooses among nodes on which it can preempt: `upstream` is kube-scheduler's documented order."""
        return self.preemption.choice if self.preemption else "upstream"

    @rule
    def _each_once(self, context: Reading) -> Iterator[Wrong]:
        for name, values in (("profiles", self.profiles), ("features", self.features)):
            for number, value in enumerate(values):
                if value in values[:number]:
                    yield Wrong("duplicate", f"{value} is listed twice", "keep one of the two", (name, number))
        for number, profile in enumerate(self.profiles):
            needed = BOUND_TO_KIND.get(profile, context.kind)
            if context.kind not in (needed, "attached", None):
                message = f"{profile} is a claim of kind {needed}, and this candidate is of kind {context.kind}"
                yield Wrong("contradiction", message, "leave it out", ("profiles", number))

    @rule
    def _judged(self, _: Reading) -> Iterator[Wrong]:
        """What is claimed beyond the profiles and features must belong to one of them."""
        unjudged, add = "claim-without-clause", "to spec.claims.profiles"
        if self.examples and "normalization" not in self.profiles:
            message = "given, but only the profile normalization has a clause that judges them"
            yield Wrong(unjudged, message, f"add normalization {add}, or remove the examples", ("examples",))
        if self.points != PointClaims() and "plugin" not in self.profiles:
            message = "given, but only the profile plugin has clauses that judge them"
            yield Wrong(unjudged, message, f"add plugin {add}, or remove the examples", ("points",))
        if "network-aware" in self.profiles and self.network is None:
            message = "missing: the profile network-aware needs the metric that placement depends on"
            yield Wrong("missing-field", message, _NETWORK, ("network",))
        if self.network is not None and {"network-aware", "normalization"}.isdisjoint(self.profiles):
            yield Wrong(unjudged, "given, but no claimed profile uses it", f"add network-aware {add}", ("network",))
        if GANG in self.features and self.gang is None:
            message = "missing: the feature gang needs to know what makes pods a group"
            yield Wrong("missing-field", message, _GANG, ("gang",))
        for feature, claim in ((GANG, self.gang), (PREEMPTION, self.preemption)):
            if claim is not None and feature not in self.features:
                message = f"given, but the feature {feature} is not claimed"
                yield Wrong(unjudged, message, f"add {feature} to spec.claims.features", (feature,))


_NETWORK = (
    "add it, such as `network: {metric: node_network_receive_bytes_total, direction: receive, window: 30s, "
    "resolution: 10%}`"
)
_GANG = 'add it, such as `gang: {pods: {metadata: {labels: {pod-group: "{group}"}}}, timeout: 30s}`'


def _clause_id(value: Any, info: ValidationInfo) -> Any:
    if info.context is not None and isinstance(value, str) and value.strip():
        clauses = info.context.known.clauses if info.context.known else ()
        refuse(Wrong("unknown-clause", message, fix) for message, fix in _wrong_clause(value, clauses))
    return value


def _wrong_clause(text: str, clauses: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    group, slash, name = text.partition("/")
    if "*" in text or "?" in text:
        yield f"wildcards are not allowed, found {shown(text)}", "exclude each clause by its own id"
    elif not slash or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        yield f"expected a clause's id, found {shown(text)}", "such as network/counter-reset"
    elif group not in CLAUSE_PROFILES:
        yield (
            f"no clause begins with {shown(group)}",
            did_you_mean(group, CLAUSE_PROFILES, shown=lambda g: f"{g}/{name}"),
        )
    elif clauses and text not in clauses:
        yield f"there is no clause {shown(text)}", did_you_mean(text, clauses)


@dataclasses.dataclass(frozen=True)
class Exclusion(Mapped):
    """A clause that is known to fail. If the clause passes, the exclusion is stale, and the run fails."""

    clause: Annotated[
        Text,
        BeforeValidator(_clause_id),
        Such("network/counter-reset"),
        Field(title="clause's id, no wildcards"),
    ]
    """a clause that is known to fail; if it passes, the exclusion is stale and the run fails"""
    reason: Annotated[Text, Such('"what fails, and why it is accepted"')]
    """what fails, and why it is accepted"""
    link: Annotated[Text, Such("https://example.com/issues/1")] | None = None
    """where it is being worked on"""
    until: (
        Annotated[
            Text,
            matching(
                r"20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
                "expected a day",
                "write year, month and day, such as 2027-06-30",
            ),
            Such("2027-06-30"),
        ]
        | None
    ) = None
    """the last day on which it counts: in later runs, the clause fails"""
