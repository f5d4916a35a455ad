"""What each feature requires of the rest of candidate.yaml. Contradicting features are refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from schedproof.candidate.claims import GANG, LEADER_ELECTION, PREEMPTION, Claims
from schedproof.candidate.kinds import ExtenderSpec, Spec
from schedproof.candidate.placeholders import CERTIFICATES, placeholders_in
from schedproof.candidate.profiles import Claimable, profile_of
from schedproof.candidate.reading import CandidateKind, Reading
from schedproof.documents.model import Wrong, shown
from schedproof.documents.suggestions import nearest


@dataclasses.dataclass(frozen=True)
class Needs:
    """Requirements of a feature: the kind of candidate (unknown if attached), its configuration, and other claims.

    `config` and `claims` each have a description of what is required, and a test for it; None: no requirement.
    """

    kind: CandidateKind | None = None
    config: tuple[str, Callable[[ExtenderSpec, Mapping[str, str]], bool]] | None = None
    claims: tuple[str, Callable[[Claims], bool]] | None = None


def _presents_certificate(spec: ExtenderSpec, files: Mapping[str, str]) -> bool:
    """Whether kube-scheduler presents a client certificate to the extender, from tlsConfig or from the harness.

    The harness issues it if the extender's own certificate is from the harness and tlsConfig does not exclude it.
    `files` are the candidate's.
    """
    tls = spec.config.tls_config.document() if spec.config.tls_config else {}
    if tls.get("certFile") or tls.get("certData"):
        return True
    made = placeholders_in([*spec.command, *spec.env.values(), *files.values(), *tls.values()])
    return not made.isdisjoint(CERTIFICATES) and not any(name.startswith(("ca", "key", "insecure")) for name in tls)


_NETWORK = (
    "spec.claims.network, which states the readings that scores depend on",
    lambda claims: claims.network is not None,
)
_SCORED = Needs(claims=_NETWORK)
_NOTHING = Needs()

FEATURES: Mapping[str, Needs] = MappingProxyType(
    {
        "both-cache-modes": Needs(
            "extender",
            (
                "a filterVerb or a prioritizeVerb",
                lambda spec, _: bool(spec.config.filter_verb or spec.config.prioritize_verb),
            ),
        ),
        "declared-features": _NOTHING,
        "dra": _NOTHING,
        "dra-extended": _NOTHING,
        "events": _NOTHING,
        "full-scale": _SCORED,
        GANG: _NOTHING,  # a rule of Claims checks it
        # Missing scores are always ignored (prioritizeNodes in pkg/scheduler/schedule_one.go).
        "ignorable": Needs(
            "extender",
            (
                "`ignorable: true`",
                lambda spec, _: spec.config.ignorable or not (spec.config.filter_verb or spec.config.bind_verb),
            ),
        ),
        "in-place-resize": _NOTHING,
        LEADER_ELECTION: Needs("controller"),  # for other kinds, kube-scheduler elects the leader
        "managed-resources": Needs(
            "extender", ("managedResources", lambda spec, _: bool(spec.config.managed_resources))
        ),
        "mutual-tls": Needs(
            "extender",
            ("tlsConfig.certFile or tlsConfig.certData", _presents_certificate),
            ("the feature tls, whose clause judges it", lambda claims: "tls" in claims.features),
        ),
        "pod-affinity": _NOTHING,
        "pod-level-resources": _NOTHING,
        "preempt": Needs("extender", ("a preemptVerb", lambda spec, _: bool(spec.config.preempt_verb))),
        PREEMPTION: _NOTHING,
        "priority": _NOTHING,
        "scale-free": _SCORED,
        "scoring": _NOTHING,
        "signs-pods": Needs(
            "plugin",
            claims=(
                "two examples in spec.claims.points.score in which two pods have opposite preferences",
                lambda claims: claims.points.opposed is not None,
            ),
        ),
        "strict": _SCORED,
        "tie-spread": _NOTHING,
        "tls": Needs("extender", ("`enableHTTPS: true`", lambda spec, _: spec.config.enable_https)),
        "topology-spread": _NOTHING,
        "volumes": _NOTHING,
    }
)
"""The requirements of each feature of the catalogue. A test checks that it is complete."""


def suits(feature: str, kind: str | None) -> bool:
    """Whether candidates of this kind (None: unclear) can have the feature."""
    return kind in (None, "attached") or FEATURES.get(feature, _NOTHING).kind in (None, kind)


def wrong_features(spec: Spec, files: Mapping[str, str], claims: Claims, context: Reading) -> Iterator[Wrong]:
    """Yield what is wrong with the claimed features, by their numbers.

    A feature that no clause of a claimed profile judges is refused: it would never be tested.
    """
    for number, feature in enumerate(claims.features):
        if suits(feature, context.kind):
            found = [*_unjudged(feature, claims, context.known)] or [*contradictions(feature, spec, files, claims)]
        else:
            kind = FEATURES[feature].kind
            message = f"{feature} is a feature of kind {kind}, and this candidate is of kind {context.kind}"
            found = [Wrong("contradiction", message, "leave it out")]
        yield from (wrong._replace(at=(number,)) for wrong in found)


def _unjudged(feature: str, claims: Claims, known: Claimable | None) -> Iterator[Wrong]:
    if known is None:
        return
    clauses = known.features.get(feature, ())
    judging = list(dict.fromkeys(profile_of(clause) for clause in clauses))
    if not clauses:
        near = nearest(feature, known.features)
        fix = f"did you mean {near}?" if near else "remove it."
        message = f"no clause judges the feature {shown(feature)}"
        yield Wrong("unknown-feature", message, f"{fix} Features with clauses: {', '.join(known.features)}")
    elif not set(judging) & set(claims.profiles):
        message = f"only {', '.join(clauses)} judges {feature}, but the profile {' or '.join(judging)} is not claimed"
        fix = f"add {judging[0]} to spec.claims.profiles, or remove {feature}"
        yield Wrong("claim-without-clause", message, fix)


def contradictions(feature: str, spec: Spec, files: Mapping[str, str], claims: Claims) -> Iterator[Wrong]:
    """Yield what a feature needs of the rest of the descriptor, and what is not there."""
    needs = FEATURES.get(feature, _NOTHING)
    fix = f"add that, or remove {feature}"
    if isinstance(spec, ExtenderSpec) and needs.config is not None and not needs.config[1](spec, files):
        message = f"{feature} is claimed without {needs.config[0]} in spec.extender.config"
        yield Wrong("contradiction", message, fix)
    if needs.claims is not None and not needs.claims[1](claims):
        yield Wrong("claim-without-clause", f"{feature} is claimed without {needs.claims[0]}", fix)
