"""Decodes content codings (RFC 9110, 8.4) for the record; the bytes on the wire stay encoded."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import cramjam


def decoded(content: bytes, encoding: str, most: int, *, accepted: frozenset[str] | None = None) -> bytes:
    """Return `content` decoded, at most `most` bytes of it.

    It is returned unchanged if decoding fails, or if `encoding` (the value of Content-Encoding) names an unknown
    coding or one that is not `accepted`. `accepted=None` accepts all codings.
    """
    result = _decoded(content, encoding, most, accepted)
    return content if result is None else result


def is_encoded(content: bytes, encoding: str, *, accepted: frozenset[str] | None = None) -> bool:
    """Whether `content` decodes, at least to its first byte; True also for codings that `decoded` does not decode."""
    return _decoded(content, encoding, 1, accepted) is not None


def _decoded(content: bytes, encoding: str, most: int, accepted: frozenset[str] | None) -> bytes | None:
    """As `decoded`, but None if `content` is not valid in the codings of `encoding`."""
    codings = [coding for coding in (part.strip().lower() for part in encoding.split(",")) if coding]
    if any(coding not in _DECODERS or not _is_accepted(coding, accepted) for coding in codings):
        return content
    result = content
    try:
        for coding in reversed(codings):  # listed in the order in which they were applied
            result = _DECODERS[coding](result, most)
    except (zlib.error, cramjam.DecompressionError):
        return None
    return result


def offered(accept_encoding: str) -> frozenset[str]:
    """Return the codings that an Accept-Encoding header allows; `*` stands for any. Weight 0 refuses a coding."""
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
    """Concatenated members are one content (RFC 1952, 2.2). A truncated member yields what it contains."""
    result = b""
    while content and len(result) < most:
        member = zlib.decompressobj(wbits=31)
        result += member.decompress(content, most - len(result))
        content = member.unused_data
    return result


def _deflate(content: bytes, most: int) -> bytes:
    """Decode the zlib format, or the raw deflate stream that some servers send instead."""
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
