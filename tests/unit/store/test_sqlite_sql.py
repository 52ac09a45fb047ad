"""The SQL of the embedded store: where a later page begins, its tables and indexes, and the index of searches."""

import hashlib

import pytest

from services.ports import Query, Where
from services.store import plans, sqlite_sql
from services.store.containers import CONTAINERS, MENTIONS, Container
from services.store.sqlite_sql import INDEXES, LONGEST_TERM, SCHEMA_VERSION, numbers

NOW = 1_000
INDEX = INDEXES["articles"]
ROW = 1 << 29


def test_keys_that_are_columns_are_compared_with_the_cursor_as_row_values() -> None:
    for reverse, sign in ((False, ">"), (True, "<")):
        first = plans.plan(MENTIONS, Query(reverse=reverse))
        later = Query(reverse=reverse, after=plans.encode_cursor(first.fingerprint, ["t", "h"]))
        statement, _ = sqlite_sql.select(plans.plan(MENTIONS, later), NOW)
        assert f" AND (pk, id) {sign} (:p1, :p2) ORDER BY pk" in statement


def test_a_condition_at_the_end_of_the_cursor_does_not_bound_the_scan() -> None:
    spec = CONTAINERS["feeds"]
    behind, ahead = ("lt", "le"), ("gt", "ge")  # the order is descending
    cases = [(op, reverse, (op in behind) is reverse) for op in (*behind, *ahead) for reverse in (False, True)]
    for op, reverse, is_bound in cases:
        query = Query((Where("priority_score", op, 1),), order="by_priority", reverse=reverse)  # type: ignore[arg-type]
        first = plans.plan(spec, query)
        cursor = plans.encode_cursor(first.fingerprint, [1, "2026", "f", "feed"])
        later = Query(query.where, order="by_priority", reverse=reverse, after=cursor)
        text, _ = sqlite_sql.select(plans.plan(spec, later), NOW)
        assert ("(json_extract(body, '$.priority_score') " in text.split(" AND ")[1]) is is_bound
        assert "(+json" not in sqlite_sql.select(first, NOW)[0]


def test_every_container_is_a_table_with_an_index_for_its_key_its_deadlines_and_each_order() -> None:
    container = Container("x", "pk", orders={"by_b": (("a", "ascending"), ("b", "descending"))}, crowded=True)
    a, b = "json_extract(body, '$.a')", "json_extract(body, '$.b')"
    present = f"WHERE {a} IS NOT NULL AND {b} IS NOT NULL"
    assert list(sqlite_sql.schema({"x": container}).items())[1:] == [
        ("x_key", "CREATE UNIQUE INDEX IF NOT EXISTS x_key ON x (pk, id)"),
        ("x_expires", "CREATE INDEX IF NOT EXISTS x_expires ON x (expires) WHERE expires IS NOT NULL"),
        (
            "x_a_b_desc_pk_desc_id_desc",
            "CREATE INDEX IF NOT EXISTS x_a_b_desc_pk_desc_id_desc ON x"
            f" ({a} ASC, {b} DESC, pk DESC, id DESC) {present}",
        ),
        (
            "x_a_b_desc_pk_desc_id_desc_within",
            "CREATE INDEX IF NOT EXISTS x_a_b_desc_pk_desc_id_desc_within ON x"
            f" (pk, {a} ASC, {b} DESC, id DESC) {present}",
        ),
    ]


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
