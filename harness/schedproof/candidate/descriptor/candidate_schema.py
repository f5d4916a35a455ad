"""The JSON Schema of candidate.yaml, whose texts are those of the reference page, docs/candidate.md."""

from __future__ import annotations

from schedproof.candidate.descriptor.descriptor import CandidateFile
from schedproof.candidate.profiles import Claimable
from schedproof.candidate.reading import KINDS
from schedproof.documents.json_schema import DRAFT, Schema, relaxed, schema_of

_EXTENDS: Schema = {
    "title": "file, or the folder of one",
    "type": "string",
    "pattern": r"\S",
    "description": "another candidate.yaml that this one differs from: mappings are merged field by field, whatever "
    "else is written takes the place of what was inherited, and null removes a mapping or list",
}


def candidate_schema(known: Claimable) -> Schema:
    """The schema, where it is `known` what there is to judge by."""
    whole = schema_of(CandidateFile)
    spec = whole["properties"]["spec"]
    spec["oneOf"] = [{"required": [kind]} for kind in KINDS]
    claims = spec["properties"]["claims"]["properties"]
    claims["features"]["items"] = {"title": "features, see below", "enum": list(known.features)}
    clause = spec["properties"]["exclusions"]["items"]["properties"]["clause"]
    del clause["type"], clause["pattern"]
    clause["enum"] = list(known.clauses)
    differing = {**relaxed({key: whole[key] for key in ("type", "properties", "additionalProperties")})}
    differing["properties"] = {"extends": _EXTENDS, **differing["properties"]}
    complete = {key: value for key, value in whole.items() if key not in ("title", "description")}
    return {
        "$schema": DRAFT, "title": "Candidate (schedproof/v1)", "description": whole["description"],
        "if": {"required": ["extends"], "type": "object"}, "then": {**differing, "required": ["extends"]},
        "else": complete,
    }  # fmt: skip
