"""The base of the models of documents that schedproof writes: report.json, bench.json, soak.json."""

from __future__ import annotations

import pydantic


class Part(pydantic.BaseModel):
    """A part of a document. Fields that older documents lack have defaults; fields of newer documents are ignored."""

    model_config = pydantic.ConfigDict(
        frozen=True,
        defer_build=True,  # until the first is read or written: it takes half of an import's time
        ser_json_inf_nan="constants",
        use_attribute_docstrings=True,  # as descriptions in the schema
    )
