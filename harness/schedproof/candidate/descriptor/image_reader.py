"""Reads `spec.image`, the image of a candidate's pods."""

from __future__ import annotations

import os
from pathlib import Path

from schedproof.candidate.descriptor.kinds_reader import existing
from schedproof.candidate.kinds import CandidateKind, ImageSpec
from schedproof.documents.fields import Check, Field, Section, matching

_REF = matching(r"[\w./:@-]+", "expected the name of an image", "such as localhost/least-traffic:dev")


def read_image(field: Field, kind: CandidateKind | None, check: Check) -> ImageSpec:
    """Read `spec.image`; `check` finds invalid placeholders."""
    section = field.section("dockerfile", "context", "ref", "command", "requirements")
    image = ImageSpec(
        dockerfile=_path(section, "dockerfile", "Dockerfile"),
        context=_path(section, "context", ".", folder=True),
        ref=section["ref"].text("localhost/least-traffic:dev", _REF) if "ref" in section else None,
        command=section["command"].texts("[/extender, --verbose]", check) if "command" in section else (),
        requirements=_path(section, "requirements", "requirements.txt"),
    )
    if not section.sound:
        return image
    if image == ImageSpec():
        section.complain(
            "missing-field",
            "expected dockerfile or ref",
            "add dockerfile or ref, or remove image: the harness then builds an image",
        )
    if image.requirements is not None and image.own:
        section["requirements"].complain(
            "contradiction",
            "not used: requirements are only for an image that the harness builds",
            "install them in your own image, and remove this field",
        )
    if image.context is not None and image.ref is not None and image.dockerfile is None:
        section["context"].complain(
            "contradiction", "not used: with ref, no image is built", "leave it out, or add dockerfile"
        )
    if kind == "plugin" and not image.own:
        for name in ("context", "requirements", "command"):
            if name in section:
                section[name].complain(
                    "contradiction",
                    "the image that the harness builds for a plugin contains only its scheduler",
                    "leave it out",
                )
    return image


def _path(section: Section, name: str, example: str, *, folder: bool = False) -> Path | None:
    if name not in section:
        return None
    return Path(os.path.normpath(existing(section[name], section[name].text(example), folder=folder)))
