"""The bounds and forms of fields, each at its edge."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from models.values import (
    CLOCKS_DIFFER,
    Amount,
    Flag,
    IdPart,
    Percentage,
    Polarity,
    Share,
    UnixSeconds,
    Value,
    is_ahead,
    is_over,
    parse_time,
)

AWARE = "must be a time in ISO 8601 with its offset, such as 2026-02-21T20:00:00Z"


@pytest.mark.parametrize(
    "value", ["", "soon", "2026-02-21", "2026-02-21T20:00:00", "0001-01-01T00:00:00+23:59", 7, None]
)
def test_what_is_no_time_with_an_offset_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=f"^{AWARE}$"):
        parse_time(value)


def test_fractions_of_a_second_are_cut_off() -> None:
    whole = datetime(2026, 2, 21, 20, tzinfo=UTC)
    assert parse_time(whole.replace(microsecond=999_999)) == whole
    assert parse_time("2026-02-21T21:00:00.5+01:00") == whole
    assert parse_time(whole) is whole


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        (UnixSeconds, (0, 1), (-1, "1", 1.0)),
        (Flag, (True, False), (1, "true")),
        (Amount, (0.0, 1e9), (-0.001, "1")),
        (Share, (0.0, 1.0), (-0.001, 1.001, "1")),
        (Percentage, (0.0, 100.0), (-0.001, 100.001, "1")),
        (Polarity, (-1.0, 1.0), (-1.001, 1.001, "1")),
        (IdPart, ("x", "x" * 255, "é" * 127), ("", "x" * 256, "é" * 128, "a/b", "a#b", "a\x7f")),
    ],
)
def test_a_field_has_its_type_and_bounds(kind: Any, good: tuple[Any, ...], wrong: tuple[Any, ...]) -> None:
    adapter = TypeAdapter(kind)
    for value in good:
        assert adapter.validate_python(value) == value
    for value in wrong:
        with pytest.raises(ValidationError):
            adapter.validate_python(value)


class Sized(Value):
    size: float


def test_a_value_is_frozen_finite_and_keeps_unknown_fields() -> None:
    value = Sized.model_validate({"size": 1.0, "later": 7})
    assert value.model_dump() == {"size": 1.0, "later": 7}
    with pytest.raises(ValidationError, match="frozen"):
        value.size = 2.0
    for wrong in (float("inf"), float("nan")):
        with pytest.raises(ValidationError, match="finite"):
            Sized(size=wrong)


def test_a_recorded_time_may_be_ahead_by_as_much_as_clocks_differ() -> None:
    now = datetime(2026, 2, 21, 20, tzinfo=UTC)
    assert timedelta(minutes=1) == CLOCKS_DIFFER
    assert not is_ahead(now + timedelta(minutes=1), now)
    assert is_ahead(now + timedelta(minutes=1, seconds=1), now)


def test_an_end_has_passed_at_its_time_and_if_it_is_further_away_than_any_worker_sets_it() -> None:
    now, hour, second = datetime(2026, 2, 21, 20, tzinfo=UTC), timedelta(hours=1), timedelta(seconds=1)
    assert is_over(now, now, hour)
    assert not is_over(now + second, now, hour)
    assert not is_over(now + hour + CLOCKS_DIFFER, now, hour)
    assert is_over(now + hour + CLOCKS_DIFFER + second, now, hour)
