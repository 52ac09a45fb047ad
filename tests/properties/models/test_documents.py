"""Whatever a document holds, it survives the store; whatever is broken in it, it does not pass as whole."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from models import values
from models.feed import HourlyDistribution, ShortHash
from models.stored import StoredDocument
from models.tally import CheckedTally, Tally
from models.timeline import Minute
from models.tool import ToolId
from tests.documents import EVERY_DOCUMENT

TEXT = st.text(max_size=20)
SOURCE = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,9}", fullmatch=True)
TIME = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.timezones())  # noqa: DTZ001
HOUR = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(values.hour_key)  # noqa: DTZ001
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
COUNT = st.integers(0, 10**12)
TALLY = st.builds(Tally, *[st.integers(0, 1000)] * 3, st.just(0))

STRATEGIES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (values.Time, TIME),
    (values.UnixSeconds, COUNT),
    (values.Count, COUNT),
    (values.Amount, st.floats(0, 1e9)),
    (values.Share, st.floats(0, 1)),
    (values.Percentage, st.floats(0, 100)),
    (values.Polarity, st.floats(-1, 1)),
    (values.Flag, st.booleans()),
    (values.Text, st.text(min_size=1, max_size=20)),
    (values.IdPart, st.from_regex(r"[^/\\?#\x00-\x1f\x7f\ud800-\udfff]{1,20}", fullmatch=True)),
    (values.SourceKey, SOURCE),
    (values.WebUrl, SOURCE.map(lambda name: f"https://example.com/{name}?q=ä#x")),
    (values.Day, st.dates().map(lambda day: day.isoformat())),
    (values.Hour, HOUR),
    (values.Hex32, st.from_regex(r"[0-9a-f]{32}", fullmatch=True)),
    (values.Sha256, st.from_regex(r"[0-9a-f]{64}", fullmatch=True)),
    (ShortHash, st.from_regex(r"[0-9a-f]{16}", fullmatch=True)),
    (ToolId, st.uuids().map(str)),
    (Minute, st.integers(0, 59).map("{:02d}".format)),
    (CheckedTally, TALLY),
    (Tally, TALLY),
    (HourlyDistribution, st.lists(st.floats(0, 1e6), min_size=24, max_size=24).map(tuple)),
    (JsonValue, JSON),
    (str, TEXT),
    (int, st.integers(-5, 10**6)),
    (float, st.floats(-5, 1e6)),
    (Any, JSON),
]


def strategy_for(hint: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 (one for each kind of hint)
    for known, strategy in STRATEGIES:
        if hint == known:
            return strategy
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return strategy_for(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([strategy_for(argument) for argument in arguments])
    if origin is tuple:
        return st.lists(strategy_for(arguments[0]), max_size=4).map(tuple)
    if origin is dict:
        return st.dictionaries(strategy_for(arguments[0]), strategy_for(arguments[1]), max_size=4)
    if hint is types.NoneType:
        return st.none()
    if isinstance(hint, type) and issubclass(hint, values.Value):
        hints = typing.get_type_hints(hint, include_extras=True)
        required = {name: strategy_for(hints[name]) for name in hint.model_fields}
        return st.fixed_dictionaries(required)
    raise AssertionError(f"no strategy for {hint}")


@st.composite
def documents(draw: st.DrawFn, build: Callable[..., StoredDocument]) -> StoredDocument:
    """The example with as many of its fields replaced as its rules allow."""
    example = build()
    hints = typing.get_type_hints(type(example), include_extras=True)
    changes: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(sorted(type(example).model_fields)), unique=True, max_size=6)):
        if name in ("schema_version", "entity_type"):
            continue
        trial = {**changes, name: draw(strategy_for(hints[name]))}
        try:
            build(**trial)
        except ValueError:
            continue
        changes = trial
    return build(**changes)


def through_a_store(document: dict[str, Any]) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(json.dumps(document))
    return stored | {"_etag": '"1"', "_ts": 1_771_704_000, "_rid": "x", "_self": "y", "_attachments": "z", "ttl": 60}


@pytest.mark.parametrize("build", EVERY_DOCUMENT)
@given(data=st.data())
@settings(max_examples=25)
def test_a_document_survives_the_store_exactly(build: Callable[..., StoredDocument], data: st.DataObject) -> None:
    document = data.draw(documents(build))
    read = type(document).from_document(through_a_store(document.to_document()))
    assert read == document
    assert read.to_document() == document.to_document()
    assert (read.id, read.partition, read.stored_etag) == (document.id, document.partition, '"1"')


@pytest.mark.parametrize("build", EVERY_DOCUMENT)
@given(fields=st.dictionaries(st.from_regex(r"later_[a-z]{1,8}", fullmatch=True), JSON.filter(lambda x: x is not None)))
@settings(max_examples=10)
def test_what_the_next_version_wrote_is_kept_and_written_back(
    build: Callable[..., StoredDocument], fields: dict[str, Any]
) -> None:
    document = {**build().to_document(), "schema_version": "2", **fields}
    read = type(build()).from_document(document)
    assert read.to_document() == document


@given(moment=TIME)
def test_times_are_written_so_that_text_order_is_time_order(moment: datetime) -> None:
    text = values.format_time(moment)
    assert len(text) == 20
    assert values.parse_time(text) == moment.astimezone(UTC).replace(microsecond=0)
    later = moment.astimezone(UTC) + timedelta(seconds=1)
    assert values.format_time(later) > text
    assert values.unix_seconds(later) == values.unix_seconds(moment) + 1


@given(moment=TIME)
def test_an_hour_key_leads_back_to_its_hour(moment: datetime) -> None:
    start = values.hour_start(values.hour_key(moment))
    assert timedelta() <= moment - start < timedelta(hours=1)


@given(junk=st.text(max_size=12))
def test_a_text_is_a_time_or_a_clear_refusal(junk: str) -> None:
    try:
        assert values.parse_time(junk).tzinfo is UTC
    except ValueError as error:
        assert "2026-02-21T20:00:00Z" in str(error)  # noqa: PT017
