"""The index of searches of the embedded store: its terms, its numbers and its version."""

import hashlib

import pytest

from services.ports import Where
from services.store.sqlite_search import INDEXES, LONGEST_TERM, numbers
from services.store.sqlite_sql import SCHEMA_VERSION

INDEX = INDEXES["articles"]
ROW = 1 << 29


@pytest.mark.parametrize(
    ("where", "term"),
    [
        (Where("words", "contains", "fed"), "g666564"),
        (Where("words", "contains", ""), "g"),
        (Where("detected_tool_ids", "contains", "ü"), "hc3bc"),
        (Where("status", "eq", "pending"), "n70656e64696e67"),
        (Where("words", "eq", "fed"), None),
        (Where("status", "contains", "pending"), None),
        (Where("words", "contains", 1), None),
        (Where("words", "contains", "a\0b"), None),
        (Where("words", "contains", "x" * LONGEST_TERM), "g" + "78" * LONGEST_TERM),
        (Where("words", "contains", "x" * (LONGEST_TERM + 1)), None),
        (Where("status", "missing"), None),
        (Where("headline", "eq", "fed"), None),
    ],
)
def test_a_condition_is_a_term_if_the_index_serves_it(where: Where, term: str | None) -> None:
    assert INDEX.term(where) == term


@pytest.mark.parametrize(
    ("conditions", "low", "high"),
    [
        ((), 0, (1 << 62) - 1),
        ((Where("timestamp", "ge", "1970-01-01T00:00:02Z"),), 2 * ROW, (1 << 62) - 1),
        ((Where("timestamp", "lt", "1970-01-01T00:00:02Z"),), 0, 3 * ROW - 1),
        ((Where("timestamp", "eq", "1970-01-01T00:00:02Z"),), 2 * ROW, 3 * ROW - 1),
        ((Where("timestamp", "ge", "1969-01-01T00:00:00Z"),), 0, (1 << 62) - 1),
        ((Where("timestamp", "le", "9999-01-01T00:00:00Z"),), 0, (1 << 62) - 1),
        ((Where("timestamp", "le", "yesterday"), Where("timestamp", "missing")), 0, (1 << 62) - 1),
        ((Where("updated_at", "le", "1970-01-01T00:00:02Z"),), 0, (1 << 62) - 1),
    ],
)
def test_times_bound_the_numbers(conditions: tuple[Where, ...], low: int, high: int) -> None:
    assert numbers(INDEX, conditions) == (low, high)


def test_another_definition_of_a_search_needs_a_new_schema_version() -> None:
    """A file of the old version is refused: its index has other terms."""
    statements = [each for index in INDEXES.values() for each in index.objects.values()]
    assert (SCHEMA_VERSION, hashlib.sha256("".join(statements).encode()).hexdigest()[:8]) == (2, "05a28fc2")
