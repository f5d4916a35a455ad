"""Content codings are undone for the record: what the reader could read, and nothing else."""

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
def test_a_coding_is_undone(encoding: str, content: bytes) -> None:
    assert decoded(content, encoding, MOST) == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "unknown", "gzip, unknown"])
def test_what_cannot_be_decoded_stays_as_it_is(encoding: str) -> None:
    assert decoded(b"no such thing", encoding, MOST) == b"no such thing"


def test_a_reader_that_did_not_offer_a_coding_cannot_read_it() -> None:
    zipped = gzip.compress(TEXT)
    assert decoded(zipped, "gzip", MOST, accepted=offered("gzip, br")) == TEXT
    assert decoded(zipped, "gzip", MOST, accepted=offered("*")) == TEXT
    for refusing in ("", "identity", "br", "gzip;q=0", "gzip; q=0.0, br"):
        assert decoded(zipped, "gzip", MOST, accepted=offered(refusing)) == zipped


def test_what_grows_when_decoded_is_cut() -> None:
    for encoding, content in {"gzip": gzip.compress(bytes(1 << 20)), "deflate": zlib.compress(bytes(1 << 20))}.items():
        assert decoded(content, encoding, 1000) == bytes(1000)


def test_a_cut_content_gives_what_there_is() -> None:
    zipped = gzip.compress(TEXT, compresslevel=0)
    assert decoded(zipped[:200], "gzip", MOST) == TEXT[: len(decoded(zipped[:200], "gzip", MOST))] != b""
