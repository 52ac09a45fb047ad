"""Response headers say when to come back, and bodies are decoded within bounds."""

import gzip
import itertools
import random
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetch.response import (
    BoundedDecoder,
    Undecodable,
    max_age_seconds,
    retry_after_seconds,
    validator,
)

NOW = datetime(2026, 2, 18, 10, 0, tzinfo=UTC)
SERVERS_NOW = "Wed, 18 Feb 2026 12:00:00 GMT"  # two hours ahead


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "120"}, 120),
        ({"Retry-After": " 0 "}, 0),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "٣"}, None),
        ({"Retry-After": "9" * 400}, 10 * 365 * 86400),
        ({"Retry-After": "0000000001234"}, 123),
        ({"Retry-After": "Wed, 18 Feb 2026 10:02:00 -0000"}, 120),
        ({"Retry-After": "Wed, 18 Feb 2026 11:02:00 +0100"}, 120),
        ({"Retry-After": "Wed, 18 Feb 2026 10:02:00 GMT" + " " * 35 + "x"}, None),
        ({"Retry-After": "Wed, 18 Feb 2026 10:02:00 GMT", "Date": " " * 36 + SERVERS_NOW}, 120),
        ({"Retry-After": "Wed, 18 Feb 2026 12:02:00 GMT", "Date": " " * 35 + SERVERS_NOW}, 120),
        ({"Retry-After": "Wed, 18 Feb 2026 10:02:00 GMT"}, 120),
        ({"Retry-After": "Wed, 18 Feb 2026 12:02:00 GMT", "Date": SERVERS_NOW}, 120),
        ({"Retry-After": "Wed, 18 Feb 2026 11:02:00 GMT", "Date": SERVERS_NOW}, 0),
        ({"Retry-After": "Wednesday, 18-Feb-26 10:02:00 GMT"}, 120),
        ({"Retry-After": "Wed, 99 Feb 2026 10:02:00 GMT"}, None),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Cache-Control": "max-age=300"}, 300),
        ({"Cache-Control": 'private, MAX-AGE="300", x'}, 300),
        ({"Cache-Control": "s-maxage=300"}, None),
        ({"Cache-Control": "s-maxage=9,max-age=300", "Age": "100"}, 200),
        ({"Cache-Control": "max-age=300", "Age": "1000"}, 0),
        ({"Cache-Control": "max-age=300, no-cache"}, None),
        ({"Cache-Control": "no-store", "Expires": "Wed, 18 Feb 2026 11:00:00 GMT"}, None),
        ({"Cache-Control": "max-age=-1"}, None),
        ({"Cache-Control": "public", "Expires": "Wed, 18 Feb 2026 12:05:00 GMT", "Date": SERVERS_NOW}, 300),
        ({"Expires": "Wed, 18 Feb 2026 09:00:00 GMT"}, 0),
        ({"Expires": "0"}, None),
        ({"Expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
    ],
)
def test_freshness_from_max_age_or_expires(headers: dict[str, str], seconds: float | None) -> None:
    assert max_age_seconds(headers, NOW) == seconds


@pytest.mark.parametrize("value", [None, "", "  ", "a\nb", "\x00", "日", "x" * 1025])
def test_a_validator_that_cannot_be_sent_back_is_none(value: str | None) -> None:
    assert validator(value) is None


MOST = 3_000_000


def decoded(encoding: str, *chunks: bytes, most: int = MOST) -> bytes | str:
    try:
        decoder = BoundedDecoder(encoding, most)
        for chunk in chunks:
            for _ in decoder.feed(chunk):
                pass
        return decoder.finish()
    except Undecodable as error:
        return error.problem


def packed(encoding: str, body: bytes) -> bytes:
    if encoding == "gzip":
        return gzip.compress(body)
    return zlib.compress(body) if encoding == "deflate" else body


@given(st.sampled_from(["gzip", "deflate", ""]), st.binary(max_size=2000), st.lists(st.integers(0, 400), max_size=8))
def test_a_body_is_the_same_however_it_is_cut(encoding: str, body: bytes, cuts: list[int]) -> None:
    if encoding == "" and body.startswith(b"\x1f\x8b"):
        return
    whole = packed(encoding, body)
    edges = [0, *sorted(cuts), len(whole)]
    assert decoded(encoding, *(whole[a:b] for a, b in itertools.pairwise(edges))) == body


def test_members_follow_each_other_across_chunks_and_padding_is_passed_over() -> None:
    one, two = gzip.compress(b"one"), gzip.compress(b"two")
    assert decoded("gzip", one, two, b"\0" * 100, b"\0" * 100) == b"onetwo"
    assert decoded("gzip", one + two[:7], two[7:]) == b"onetwo"


def test_the_cap_is_on_what_comes_out_and_on_what_goes_in() -> None:
    body = random.Random(1).randbytes(5000)
    assert decoded("", body, most=5000) == body
    assert decoded("", body, most=4999) == "too_large"
    assert decoded("gzip", gzip.compress(b"a" * 5001), most=5000) == "too_large"
    assert decoded("gzip", gzip.compress(b"a"), *[b"\0" * 100] * 60, most=5000) == "too_large"


@given(st.sampled_from(["gzip", "deflate", "br", "", "x, y"]), st.lists(st.binary(max_size=50)))
def test_any_bytes_are_a_body_or_a_problem(encoding: str, chunks: list[bytes]) -> None:
    assert isinstance(decoded(encoding, *chunks), bytes | str)


def test_other_encodings_are_a_problem_whatever_follows() -> None:
    assert decoded("br") == decoded("br", b"x") == "unknown_encoding"


def test_a_damaged_or_truncated_body_is_corrupt() -> None:
    whole = gzip.compress(random.Random(1).randbytes(1000))
    assert decoded("gzip", whole[:-1]) == "corrupt"
    assert decoded("gzip", whole[:20] + b"\xff" * 50 + whole[70:]) == "corrupt"
    assert decoded("deflate", zlib.compress(b"x" * 100)[:-1]) == "corrupt"


def test_deflate_is_zlibs_format_or_the_bare_stream() -> None:
    body = b"a body of some length"
    assert decoded("deflate", zlib.compress(body)) == body
    bare = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    assert decoded("deflate", bare.compress(body) + bare.flush()) == body
    for level in range(10):
        for window in range(9, 16):
            packing = zlib.compressobj(level, wbits=window)
            assert decoded("deflate", packing.compress(body) + packing.flush()) == body
    # Bare streams whose first bytes look like half of zlib's header.
    for first in (b"\x08\x00", b"\x78\x00", b"\x00\x1f"):
        assert decoded("deflate", first) == "corrupt"
    text = b"twenty-three bytes here"
    assert decoded("deflate", b"\x01\x05\x00\xfa\xffhello") == b"hello"
    assert decoded("deflate", b"\x08\x05\x00\xfa\xffhello\x01\x00\x00\xff\xff") == b"hello"
    assert decoded("deflate", b"\x01\x17\x00\xe8\xff" + text) == text
    assert decoded("deflate", b"\x09\x15\x00\xea\xff" + text[:21]) == text[:21]


def test_a_body_has_at_most_65_members() -> None:
    member = gzip.compress(b"x")
    assert decoded("gzip", member * 65) == b"x" * 65
    assert decoded("gzip", member * 66) == "corrupt"
    assert decoded("gzip", gzip.compress(b"x") + b"padding") == b"x"


def test_beyond_the_first_mebibyte_a_body_has_at_most_a_hundred_times_what_was_received() -> None:
    free = 1_048_576
    assert decoded("gzip", gzip.compress(b"\0" * free), most=10**9) == b"\0" * free
    assert decoded("gzip", gzip.compress(b"\0" * (free + 1)), most=10**9) == "too_large"
    zeros = gzip.compress(b"\0" * 2_000_000)
    assert decoded("gzip", zeros + b"\0" * (20_000 - len(zeros)), most=10**9) == b"\0" * 2_000_000
    assert decoded("gzip", zeros + b"\0" * (19_999 - len(zeros)), most=10**9) == "too_large"
