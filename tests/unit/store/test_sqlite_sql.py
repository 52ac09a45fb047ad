"""The SQL of the embedded store: where a later page begins, and its tables and indexes."""

from services.ports import Query, Where
from services.store import plans, sqlite_sql
from services.store.containers import CONTAINERS, MENTIONS, Container

NOW = 1_000


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
