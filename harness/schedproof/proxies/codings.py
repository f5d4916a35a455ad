"""Content codings (RFC 9110, 8.4) undone, for the record: the wire keeps them."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import cramjam


def decoded(content: bytes, encoding: str, most: int, *, accepted: frozenset[str] | None = None) -> bytes:
    """What was meant by `content`, at most `most` bytes of it.

    As it is where it cannot be decoded, and where its reader could not have done so: `encoding` (the value of
    Content-Encoding) names what is unknown, or what is not among the `accepted` codings. None accepts all.
    """
    meant = _decoded(content, encoding, most, accepted)
    return content if meant is None else meant


def is_encoded(content: bytes, encoding: str, *, accepted: frozenset[str] | None = None) -> bool:
    """Whether `content` is what `encoding` says, as far as its reader looks: see `decoded`."""
    return _decoded(content, encoding, 1, accepted) is not None


def _decoded(content: bytes, encoding: str, most: int, accepted: frozenset[str] | None) -> bytes | None:
    """None where it is not what `encoding` says."""
    codings = [coding for coding in (part.strip().lower() for part in encoding.split(",")) if coding]
    if any(coding not in _DECODERS or not _is_accepted(coding, accepted) for coding in codings):
        return content
    meant = content
    try:
        for coding in reversed(codings):  # listed in the order in which they were applied
            meant = _DECODERS[coding](meant, most)
    except (zlib.error, cramjam.DecompressionError):
        return None
    return meant


def offered(accept_encoding: str) -> frozenset[str]:
    """The codings that a request takes in its answer; `*` among them: any. Weight 0 is a refusal."""
    codings = set()
    for part in accept_encoding.lower().split(","):
        coding, _, weight = part.partition(";")
        if not weight.strip().removeprefix("q=").strip("0. ") and weight.strip():
            continue
        codings.add(coding.strip())
    return frozenset(codings - {""})


def _is_accepted(coding: str, accepted: frozenset[str] | None) -> bool:
    return accepted is None or "*" in accepted or bool(accepted & _SAME.get(coding, {coding}))


def _gzip(content: bytes, most: int) -> bytes:
    """Members one after the other are one content (RFC 1952, 2.2). A cut one gives what there is."""
    meant = b""
    while content and len(meant) < most:
        member = zlib.decompressobj(wbits=31)
        meant += member.decompress(content, most - len(meant))
        content = member.unused_data
    return meant


def _deflate(content: bytes, most: int) -> bytes:
    """The zlib format; some servers send the bare stream instead."""
    try:
        return zlib.decompressobj().decompress(content, most)
    except zlib.error:
        return zlib.decompressobj(wbits=-15).decompress(content, most)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "identity": lambda content, _: content,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": lambda content, most: bytes(cramjam.brotli.decompress(content))[:most],
    "zstd": lambda content, most: bytes(cramjam.zstd.decompress(content))[:most],
}
_SAME = {"gzip": {"gzip", "x-gzip"}, "x-gzip": {"gzip", "x-gzip"}, "identity": {"identity", ""}}
