"""Bodies that are decoded piece by piece."""

import gzip
import itertools
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetch.decoding import STEP_BYTES, BoundedDecoder

MOST = 3_000_000


def decoded(encoding: str, *chunks: bytes, most: int = MOST) -> bytes | str:
    decoder = BoundedDecoder(encoding, most)
    for chunk in chunks:
        for _ in decoder.feed(chunk):
            pass
        if decoder.problem:
            break
    body = decoder.finish()
    return str(decoder.problem) if body is None else body


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


@pytest.mark.parametrize("size", [STEP_BYTES - 1, STEP_BYTES, STEP_BYTES + 1, 4 * STEP_BYTES])
def test_a_body_of_whole_steps_is_read_to_its_end(size: int) -> None:
    body = random.Random(1).randbytes(size // 64) * 64
    body += b"x" * (size - len(body))
    assert decoded("gzip", gzip.compress(body)) == body


def test_members_follow_each_other_across_chunks_and_padding_is_passed_over() -> None:
    one, two = gzip.compress(b"one"), gzip.compress(b"two")
    assert decoded("gzip", one, two, b"\0" * 100, b"\0" * 100) == b"onetwo"
    assert decoded("gzip", one + two[:7], two[7:]) == b"onetwo"


def test_endless_empty_members_are_no_body() -> None:
    assert decoded("gzip", gzip.compress(b"") * 1000) == "corrupt"


def test_the_cap_is_on_what_comes_out_and_on_what_goes_in() -> None:
    body = random.Random(1).randbytes(5000)
    assert decoded("", body, most=5000) == body
    assert decoded("", body, most=4999) == "too_large"
    assert decoded("gzip", gzip.compress(b"a" * 5001), most=5000) == "too_large"
    assert decoded("gzip", gzip.compress(b"a"), *[b"\0" * 100] * 60, most=5000) == "too_large"


def test_a_bomb_is_known_by_its_ratio_long_before_the_cap() -> None:
    assert decoded("gzip", gzip.compress(b"\0" * 5_000_000), most=10**9) == "too_large"
    assert decoded("gzip", gzip.compress(b"\0" * 900_000), most=10**9) == b"\0" * 900_000


@given(st.sampled_from(["gzip", "deflate", "br", "", "x, y"]), st.lists(st.binary(max_size=50)))
def test_any_bytes_are_a_body_or_a_problem(encoding: str, chunks: list[bytes]) -> None:
    assert isinstance(decoded(encoding, *chunks), bytes | str)


def test_nothing_at_all_is_an_empty_body() -> None:
    assert decoded("gzip") == b""
    assert decoded("gzip", b"\x1f") == b"\x1f"
