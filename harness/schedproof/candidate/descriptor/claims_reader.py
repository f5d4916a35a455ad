"""Reads `spec.claims` and `spec.exclusions`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from schedproof.candidate.claims import (
    BOUND_TO_KIND,
    CLAUSE_PROFILES,
    DIRECTIONS,
    GANG,
    ON_MISSING,
    ON_OUTAGE,
    OWN_PLACEMENTS,
    PREEMPTION,
    PREEMPTION_CHOICES,
    PRIORITIES,
    PROFILES,
    Claimable,
    Claims,
    Example,
    Exclusion,
    GangClaims,
    NetworkClaims,
    profile_of,
)
from schedproof.candidate.descriptor.features import FEATURES, contradictions, suits
from schedproof.candidate.descriptor.points_reader import read_points
from schedproof.candidate.descriptor.recording_rules import read_rules
from schedproof.candidate.kinds import Spec
from schedproof.candidate.placeholders import complaints, placeholders_in
from schedproof.candidate.points import PointClaims
from schedproof.candidate.timing import TIMING_CLAIMS, Timing
from schedproof.documents.fields import Field, matching, shown
from schedproof.documents.suggestions import did_you_mean, nearest

_MILLISECOND = 0.001  # the resolution of Prometheus' timestamps
_METRIC = matching(
    r"[A-Za-z_:][A-Za-z0-9_:]*",
    "expected the name of a counter, not a query",
    "such as node_network_receive_bytes_total",
)


def read_claims(claims: Field, kind: str | None, known: Claimable | None) -> Claims:
    """Read the claims of a candidate of this kind (None: the kind is unclear).

    Features must be in `known`; if that is None, all are accepted.
    """
    section = claims.section("profiles", "features", "network", "examples", "timing", "points", "gang", "preemption")
    profiles: tuple[str, ...] = Claims.profiles
    if "profiles" in section:
        profiles = _profiles(section["profiles"], known.profiles if known else PROFILES, kind)
    network = _network(section["network"]) if "network" in section else None
    features = _features(section["features"], profiles, kind, known) if "features" in section else ()
    examples = _examples(section["examples"]) if "examples" in section else ()
    if examples and "normalization" not in profiles:
        section["examples"].complain(
            "claim-without-clause",
            "given, but only the profile normalization has a clause that judges them",
            "add normalization to spec.claims.profiles, or remove the examples",
        )
    points = read_points(section["points"]) if "points" in section else PointClaims()
    if "points" in section and "plugin" not in profiles:
        section["points"].complain(
            "claim-without-clause",
            "given, but only the profile plugin has clauses that judge them",
            "add plugin to spec.claims.profiles, or remove the examples",
        )
    if "network-aware" in profiles and network is None:
        section["network"].complain(
            "missing-field",
            "missing: the profile network-aware needs the metric that placement depends on",
            "add it, such as `network: {metric: node_network_receive_bytes_total, direction: receive, "
            "window: 30s, resolution: 10%}`",
        )
    elif network is not None and section.sound and not {"network-aware", "normalization"} & set(profiles):
        section["network"].complain(
            "claim-without-clause",
            "given, but no claimed profile uses it",
            "add network-aware to spec.claims.profiles",
        )
    timing = _timing(section["timing"]) if "timing" in section else Timing()
    gang = _gang(section["gang"]) if "gang" in section else None
    if GANG in features and gang is None:
        section["gang"].complain(
            "missing-field",
            "missing: the feature gang needs to know what makes pods a group",
            'add it, such as `gang: {pods: {metadata: {labels: {pod-group: "{group}"}}}, timeout: 30s}`',
        )
    elif gang is not None and section.sound and GANG not in features:
        section["gang"].complain(
            "claim-without-clause",
            "given, but the feature gang is not claimed",
            "add gang to spec.claims.features",
        )
    choice = (
        section["preemption"].section("choice")["choice"].choice(PREEMPTION_CHOICES)
        if "preemption" in section
        else None
    )
    if choice is not None and section.sound and PREEMPTION not in features:
        section["preemption"].complain(
            "claim-without-clause",
            "given, but the feature preemption is not claimed",
            "add preemption to spec.claims.features",
        )
    return Claims(
        profiles=profiles, features=features, network=network, examples=examples, timing=timing, points=points,
        gang=gang, preemption_choice=choice or Claims.preemption_choice,
    )  # fmt: skip


def _profiles(field: Field, options: tuple[str, ...], kind: str | None) -> tuple[str, ...]:
    chosen = field.choices(options)
    for item, option in chosen:
        needed = BOUND_TO_KIND.get(option, kind)
        if kind not in (needed, "attached", None):
            item.complain(
                "contradiction",
                f"{option} is a claim of kind {needed}, and this candidate is of kind {kind}",
                "leave it out",
            )
    return tuple(option for _, option in chosen)


def _features(field: Field, profiles: Collection[str], kind: str | None, known: Claimable | None) -> tuple[str, ...]:
    """Read the features. A feature that no clause of a claimed profile judges is refused: it would never be tested."""
    features: list[str] = []
    for item in field.items("[events]", empty=True):
        feature = item.text("events")
        if feature in features:
            item.complain("duplicate", f"{feature} is listed twice", "keep one of the two")
        elif feature:
            features.append(feature)
            if not suits(feature, kind):
                item.complain(
                    "contradiction",
                    f"{feature} is a feature of kind {FEATURES[feature].kind}, and this candidate is of kind {kind}",
                    "leave it out",
                )
            elif known is not None:
                _require_judge(item, feature, profiles, known)
    return tuple(features)


def check_features(field: Field, spec: Spec, files: Mapping[str, str], claims: Claims) -> None:
    """Check that `spec.claims.features` does not contradict the rest of the descriptor."""
    for item in field.items("[events]", empty=True):
        for code, message, fix in contradictions(item.text("events"), spec, files, claims):
            item.complain(code, message, fix)


def _require_judge(item: Field, feature: str, profiles: Collection[str], known: Claimable) -> None:
    clauses = known.features.get(feature, ())
    judging = list(dict.fromkeys(profile_of(clause) for clause in clauses))
    if not clauses:
        near = nearest(feature, known.features)
        fix = f"did you mean {near}?" if near else "remove it."
        item.complain(
            "unknown-feature",
            f"no clause judges the feature {shown(feature)}",
            f"{fix} Features with clauses: {', '.join(known.features)}",
        )
    elif not set(judging) & set(profiles):
        item.complain(
            "claim-without-clause",
            f"only {', '.join(clauses)} judges {feature}, but the profile {' or '.join(judging)} is not claimed",
            f"add {judging[0]} to spec.claims.profiles, or remove {feature}",
        )


def _network(field: Field) -> NetworkClaims:
    section = field.section(
        "metric",
        "direction",
        "device",
        "window",
        "resolution",
        "refresh",
        "on-missing",
        "on-outage",
        "recovers-within",
        "rules",
        "own-placements",
        "priority",
    )
    metric = section["metric"].text("node_network_receive_bytes_total", _METRIC)
    direction = section["direction"].choice(DIRECTIONS)
    other = DIRECTIONS[1 - DIRECTIONS.index(direction)]
    if section.sound and metric.startswith(f"node_network_{other}_"):
        section["direction"].complain(
            "contradiction", f"{direction} contradicts the metric, {metric}", f"direction: {other}"
        )
    return NetworkClaims(
        metric=metric,
        direction=direction,
        device=section["device"].text('"{device}"', _device) if "device" in section else NetworkClaims.device,
        window=section["window"].duration("30s", minimum=_MILLISECOND),
        resolution=_resolution(section["resolution"]),
        refresh=section["refresh"].duration("1s") if "refresh" in section else NetworkClaims.refresh,
        on_missing=section["on-missing"].choice(ON_MISSING) if "on-missing" in section else None,
        on_outage=section["on-outage"].choice(ON_OUTAGE) if "on-outage" in section else None,
        own_placements=section["own-placements"].choice(OWN_PLACEMENTS) if "own-placements" in section else None,
        priority=section["priority"].choice(PRIORITIES) if "priority" in section else NetworkClaims.priority,
        recovers_within=section["recovers-within"].duration("15s", minimum=_MILLISECOND)
        if "recovers-within" in section
        else None,
        rules=read_rules(section["rules"]) if "rules" in section else (),
    )


def _gang(field: Field) -> GangClaims:
    section = field.section("pods", "objects", "timeout")
    pods = section["pods"].plain_mapping('{metadata: {labels: {pod-group: "{group}"}}}', _of_group)
    objects = section["objects"].items("[{apiVersion: ..., kind: PodGroup, ...}]") if "objects" in section else []
    if section.sound and "group" not in placeholders_in(pods):
        section["pods"].complain(
            "missing-placeholder",
            "no field contains {group}, so all groups would be the same",
            'write "{group}" as the value of a label, for example',
        )
    return GangClaims(
        pods=pods,
        timeout=section["timeout"].duration("30s"),
        objects=tuple(_group_object(item) for item in objects),
    )


def _group_object(field: Field) -> dict[str, Any]:
    manifest = field.plain_mapping('{apiVersion: ..., kind: PodGroup, metadata: {name: "{group}"}}', _of_group)
    named = isinstance(manifest.get("metadata"), dict) and manifest["metadata"].get("name")
    if not (manifest.get("apiVersion") and manifest.get("kind") and named):
        field.complain(
            "invalid-manifest",
            "apiVersion, kind or metadata.name is missing",
            "write it as for kubectl apply",
        )
    return manifest


def _of_group(text: str) -> Iterator[tuple[str, str]]:
    return complaints(text, unavailable={}, known=("group", "size"))


def _timing(field: Field) -> Timing:
    section = field.section(*TIMING_CLAIMS)
    return Timing(
        **{name: section[name].duration("45s", minimum=_MILLISECOND) for name in TIMING_CLAIMS if name in section}
    )


def _device(text: str) -> Iterator[tuple[str, str]]:
    return complaints(text, unavailable={}, known=("device",))


def _resolution(field: Field) -> float:
    data = field.value.data
    if isinstance(data, str):
        text = data.strip()
        percent = text.removesuffix("%")
        try:
            ratio = float(percent) / 100 if text.endswith("%") else -1.0
        except ValueError:
            ratio = -1.0
        if 0 < ratio <= 10:
            return ratio
        field.complain(
            "out-of-range", f"expected a percentage above 0 % and up to 1000 %, found {shown(data)}", "such as 10%"
        )
    else:
        ratio = field.number("10%")
        if ratio != 0 and 0 < ratio <= 1:
            return ratio
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            found = field.value.written[:60]
            field.complain(
                "out-of-range",
                f"expected a ratio above 0 and up to 1, found {found}",
                "write 10%, or 0.1, for ten percent",
            )
    return 1.0


def _examples(field: Field) -> tuple[Example, ...]:
    return tuple(_example(item) for item in field.items("{readings: {a: 1}, scores: {a: 100}}", empty=True))


def _example(field: Field) -> Example:
    section = field.section("readings", "scores")
    example = Example(
        readings={name: value.number("1000000") for name, value in section["readings"].entries("{a: 1000}").items()},
        scores={name: value.number("100") for name, value in section["scores"].entries("{a: 100}").items()},
    )
    if section.sound and example.readings.keys() != example.scores.keys():
        odd = sorted(example.readings.keys() ^ example.scores.keys())
        section.complain(
            "contradiction",
            f"readings and scores name different nodes: {', '.join(odd)[:80]}",
            "give both for every node",
        )
    elif section.sound and not example.readings:
        section.complain("empty-field", "the example has no nodes", "give the readings and scores of some nodes")
    return example


def read_exclusions(field: Field, known: Claimable | None) -> tuple[Exclusion, ...]:
    """Read the known failures. Their clauses must be in `known`; if that is None, all are accepted."""
    clauses = known.clauses if known is not None else ()
    exclusions: list[Exclusion] = []
    lines: dict[str, int] = {}
    for item in field.items("{clause: network/counter-reset, reason: why}", empty=True):
        section = item.section("clause", "reason", "link")
        named = section["clause"]
        clause = named.text("network/counter-reset", lambda text: _clause(text, clauses), code="unknown-clause")
        if clause and clause in lines:
            named.complain(
                "duplicate", f"{clause} is excluded twice, first on line {lines[clause]}", "keep one of the two"
            )
        lines.setdefault(clause, named.value.place.line)
        exclusions.append(
            Exclusion(
                clause=clause,
                reason=section["reason"].text('"what fails, and why it is accepted"'),
                link=section["link"].text("https://example.com/issues/1") if "link" in section else None,
            )
        )
    return tuple(exclusions)


def _clause(text: str, clauses: Collection[str]) -> Iterator[tuple[str, str]]:
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
