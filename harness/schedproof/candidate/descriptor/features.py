"""What each feature requires of the rest of candidate.yaml. Contradicting features are refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from schedproof.candidate.claims import GANG, LEADER_ELECTION, PREEMPTION, Claims
from schedproof.candidate.kinds import CandidateKind, ExtenderSpec, Spec
from schedproof.candidate.placeholders import CERTIFICATES, placeholders_in


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
    tls = dict(spec.config.tls_config or {})
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
        "dra": _NOTHING,
        "dra-extended": _NOTHING,
        "events": _NOTHING,
        "full-scale": _SCORED,
        GANG: _NOTHING,  # the reader of claims.gang checks it
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


def contradictions(
    feature: str, spec: Spec, files: Mapping[str, str], claims: Claims
) -> Iterator[tuple[str, str, str]]:
    """Yield code, message and fix for each contradiction between a feature and the rest of the descriptor."""
    if not suits(feature, spec.kind):
        return  # reported already
    needs = FEATURES.get(feature, _NOTHING)
    fix = f"add that, or remove {feature}"
    if isinstance(spec, ExtenderSpec) and needs.config is not None and not needs.config[1](spec, files):
        yield "contradiction", f"{feature} is claimed without {needs.config[0]} in spec.extender.config", fix
    if needs.claims is not None and not needs.claims[1](claims):
        yield "claim-without-clause", f"{feature} is claimed without {needs.claims[0]}", fix
