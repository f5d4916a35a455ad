"""A request and its response as a tap records them."""

from __future__ import annotations

import dataclasses

HARNESS = "Schedproof-By"
"""The header that marks the harness's own requests (case, verb, what); the tap does not forward it."""


NOT_PERMITTED = "tap: candidates may only query this server"
"""The response body to a request that the tap refuses to forward."""
KEPT = 16 << 20
"""Bytes of a body that are kept for the record; the forwarded body is not limited. 5,000 node names need 0.1 MB, and
1,000 whole nodes some 10 MB.
"""


@dataclasses.dataclass(frozen=True)
class Exchange:
    """One request and its response, as seen by the tap.

    `body` and `answer` are without transfer encoding, and without the content encodings that the request accepts. At
    most `KEPT` bytes of each are kept; `cut`: whether there were more. `body_size` and `answer_size` are the bytes
    of content on the wire (still encoded), None if equal to the length here. `status` is 0 without a response.
    `seconds` is from the end of the request to the end of the response. `by` is the marker of the harness's own
    requests. `fault` is the injected fault, "" if none. `error` is why the response is incomplete, "" if it is
    complete. `go_refuses` is why a Go client, such as kube-scheduler, cannot read the content nevertheless. `location`
    is where the client sends the same request again, "" if nowhere.
    """

    method: str
    path: str
    body: bytes
    status: int
    answer: bytes
    seconds: float
    by: str = ""
    fault: str = ""
    error: str = ""
    body_size: int | None = None
    answer_size: int | None = None
    cut: bool = False
    go_refuses: str = ""
    location: str = ""
