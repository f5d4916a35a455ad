"""Content codings are decoded for the record, as far as the reader could decode them."""

from __future__ import annotations

import gzip
import zlib

import cramjam
import pytest

from schedproof.proxies.codings import decoded, offered

TEXT = b'[{"Host": "a", "Score": 1}]' * 20
MOST = 1 << 20
RAW = zlib.compressobj(wbits=-15)
BARE = RAW.compress(TEXT) + RAW.flush()


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("X-GZIP", gzip.compress(TEXT, mtime=0)),
        ("gzip", gzip.compress(TEXT[:50], mtime=0) + gzip.compress(TEXT[50:], mtime=0)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", BARE),
        ("br", bytes(cramjam.brotli.compress(TEXT))),
        ("zstd", bytes(cramjam.zstd.compress(TEXT))),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT), mtime=0)),
        ("identity", TEXT),
        ("", TEXT),
    ],
)
def test_coded_content_is_decoded(encoding: str, content: bytes) -> None:
    assert decoded(content, encoding, MOST) == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "unknown", "gzip, unknown"])
def test_content_that_cannot_be_decoded_is_unchanged(encoding: str) -> None:
    assert decoded(b"no such thing", encoding, MOST) == b"no such thing"


def test_content_in_a_coding_that_the_client_did_not_accept_is_not_decoded() -> None:
    zipped = gzip.compress(TEXT)
    assert decoded(zipped, "gzip", MOST, accepted=offered("gzip, br")) == TEXT
    assert decoded(zipped, "gzip", MOST, accepted=offered("*")) == TEXT
    for refusing in ("", "identity", "br", "gzip;q=0", "gzip; q=0.0, br"):
        assert decoded(zipped, "gzip", MOST, accepted=offered(refusing)) == zipped


def test_decoded_content_is_truncated_at_the_limit() -> None:
    for encoding, content in {"gzip": gzip.compress(bytes(1 << 20)), "deflate": zlib.compress(bytes(1 << 20))}.items():
        assert decoded(content, encoding, 1000) == bytes(1000)


def test_truncated_content_is_decoded_as_far_as_possible() -> None:
    zipped = gzip.compress(TEXT, compresslevel=0)
    assert decoded(zipped[:200], "gzip", MOST) == TEXT[: len(decoded(zipped[:200], "gzip", MOST))] != b""
