"""A ConformanceReport (`schedproof.conformance/v1`), as models: what a project publishes about its scheduler.

Whatever is in it follows from the evidence of the run, so that it can be verified. Later versions may add fields, which
change the meaning of no other.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import pydantic

from schedproof.candidate.reading import CandidateKind
from schedproof.documents.part import Part, optional
from schedproof.judge.verdict import Level

API_VERSION: Final = "schedproof.conformance/v1"


class Strict(Part):
    """A part of a document that is verified: what is not known is wrong."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)


class Harness(Strict):
    version: str
    """Of schedproof."""
    catalogue: str
    """The digest of the clauses: ids, levels, features and guarantees."""


class Kubernetes(Strict):
    version: str
    """With its patch, such as `v1.36.3`."""
    feature_gates: dict[str, bool] = pydantic.Field(default={}, alias="featureGates")
    """Those that differ from the defaults of the version."""
    cluster: str
    """The kind of cluster: `embedded`, `kind` or `existing`."""


class Scheduler(Strict):
    organization: str
    project: str
    url: str
    version: str
    """A tag, a commit, or a digest."""
    kind: CandidateKind
    configuration: str
    """The digest of its candidate.yaml, as it was read."""


class Failure(Strict):
    clause: str
    code: str
    level: Level = optional("required")


class Unproved(Strict):
    clause: str
    reason: str


class Excluded(Strict):
    clause: str
    reason: str
    link: str = optional("")
    until: str = optional("")
    """The day after which it no longer counts."""


class Features(Strict):
    claimed: list[str]
    unclaimed: list[str]


class Profile(Strict):
    name: str
    result: Literal["success", "partial", "failure"]
    """`success`: each required clause that is claimed passed. `failure`: one failed. `partial`: none failed, and one is
    not proved, is excluded, or was not tried.
    """
    statistics: dict[str, int]
    """How many clauses have each outcome; `not-claimed` are those that the scheduler does not claim."""
    features: Features
    failed: list[Failure] = optional([])
    unproved: list[Unproved] = optional([])
    untried: list[str] = optional([])
    """Claimed clauses that were left out, or not reached."""


class Evidence(Strict):
    digest: str
    """Of all records of the run: see `evidence_digest`."""
    reproduce: str
    """The command that makes a run of the same choices. It starts from the folder of candidate.yaml."""


class ConformanceReport(Strict):
    api_version: Literal["schedproof.conformance/v1"] = pydantic.Field(alias="apiVersion")
    kind: Literal["ConformanceReport"]
    date: str
    """When the run began, in UTC."""
    schedproof: Harness
    kubernetes: Kubernetes
    implementation: Scheduler
    profiles: list[Profile]
    exclusions: list[Excluded] = optional([])
    seed: int
    """The seed of all random choices."""
    machine: dict[str, str | int]
    evidence: Evidence

    def as_dict(self) -> dict[str, Any]:
        """The document as it is written."""
        return self.model_dump(by_alias=True)
