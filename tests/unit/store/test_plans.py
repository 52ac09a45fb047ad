"""Which queries every store refuses, the complete order of a query, and cursors."""

import base64
import json
from typing import Any

import pytest

from models.errors import InvalidInput
from services.ports import Query, Where
from services.store import plans
from services.store.containers import ARTICLES, FEEDS, MENTIONS, QUARANTINE, RUNS, SENTIMENT_CACHE, Container
from services.store.plans import Bound, plan


def refusal(container: Container, query: Query) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        plan(container, query)
    return refused.value


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_limit_is_1_to_1000(limit: int) -> None:
    assert str(refusal(MENTIONS, Query(limit=limit))) == "limit: must be 1 to 1000"
    for allowed in (1, 1000):
        plan(MENTIONS, Query(limit=allowed))


@pytest.mark.parametrize(
    ("where", "refusal_text"),
    [
        (Where("n", "in", []), "n: must be compared with 1 to 100 values"),
        (Where("n", "in", "abc"), "n: must be compared with 1 to 100 values"),
        (Where("n", "in", tuple(range(101))), "n: must be compared with 1 to 100 values"),
        (Where("a b", "eq", 1), "a b: is not indexed in quarantine, so no query can filter by it"),
        (Where("_etag", "missing"), "_etag: is not indexed in quarantine, so no query can filter by it"),
    ],
)
def test_a_condition_that_no_store_serves_is_refused(where: Where, refusal_text: str) -> None:
    assert str(refusal(QUARANTINE, Query((where,)))) == refusal_text
    plan(QUARANTINE, Query((Where("n", "in", tuple(range(100))), Where("_ts", "ge", 1))))


def test_a_field_without_an_index_is_refused() -> None:
    assert refusal(ARTICLES, Query((Where("canonical", "missing"),))).field == "canonical"
    assert refusal(SENTIMENT_CACHE, Query((Where("total", "eq", 1),))).field == "total"
    plan(SENTIMENT_CACHE, Query((Where("period", "eq", "DAY_7"), Where("id", "eq", "x"))))


def test_a_partition_is_a_key() -> None:
    assert refusal(MENTIONS, Query(partition="")).field == "tool_id"


def test_without_an_order_documents_sort_by_key() -> None:
    assert plan(MENTIONS, Query()).keys == (("tool_id", False), ("id", False))
    assert plan(MENTIONS, Query(partition="t")).keys == (("id", False),)
    assert plan(SENTIMENT_CACHE, Query()).keys == (("id", False),)
    assert plan(MENTIONS, Query(reverse=True)).keys == (("tool_id", True), ("id", True))


def test_an_order_is_complete_and_lists_only_documents_that_have_its_fields() -> None:
    ordered = plan(FEEDS, Query(order="by_priority"))
    assert ordered.keys == (("priority_score", True), ("next_fetch_time", False), ("feed_id", False), ("id", False))
    assert ordered.present == ("priority_score", "next_fetch_time")
    reversed_keys = plan(FEEDS, Query(order="by_priority", reverse=True)).keys
    assert reversed_keys == tuple((field, not down) for field, down in ordered.keys)


def test_an_unknown_order_is_refused_with_the_known_ones() -> None:
    assert str(refusal(RUNS, Query(order="by_name"))) == "order: must be one of by_due, by_start, by_subject"
    assert "must be one of none: this container has no orders" in str(refusal(SENTIMENT_CACHE, Query(order="by_name")))


def test_keys_that_an_equality_fixes_do_not_move() -> None:
    assert plan(ARTICLES, Query(order="by_status")).moving() == [0, 1, 2, 3]
    fixed = (Where("status", "eq", "error"), Where("timestamp", "ge", "2026"))
    assert plan(ARTICLES, Query(fixed, order="by_status")).moving() == [1, 2, 3]
    assert plan(ARTICLES, Query(fixed, order="by_status", partition="s")).moving() == [1, 3]
    assert plan(MENTIONS, Query((Where("id", "eq", "a"),), partition="t")).moving() == [0]


# Pages and cursors


def test_a_page_that_is_not_the_last_has_a_cursor() -> None:
    query = Query(partition="t", limit=2)
    documents = [{"id": name, "tool_id": "t"} for name in "abc"]
    last = plan(MENTIONS, query).page(documents[:2])
    assert ([each["id"] for each in last.items], last.next) == (["a", "b"], None)
    page = plan(MENTIONS, query).page(documents)
    assert [each["id"] for each in page.items] == ["a", "b"]
    assert plan(MENTIONS, Query(partition="t", limit=1, after=page.next)).after == ("b",)


def test_a_cursor_is_text_for_a_url_and_keeps_every_value() -> None:
    values: list[plans.SortValue] = ["é/+\n", 1, -0.5]
    cursor = plans.encode_cursor("f", values)
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert plans.decode_cursor("f", cursor, [False, True, True]) == tuple(values)


@pytest.mark.parametrize(
    "other",
    [
        Query(partition="u"),
        Query(),
        Query(partition="t", order="by_published"),
        Query(partition="t", reverse=True),
        Query((Where("removed_at", "eq", "1"),), partition="t"),
        Query((Where("removed_at", "in", ["1"]),), partition="t"),
    ],
)
def test_a_cursor_of_another_query_is_refused(other: Query) -> None:
    cursor = plan(MENTIONS, Query(partition="t", limit=1)).page([{"id": "a"}, {"id": "b"}]).next
    with pytest.raises(InvalidInput, match="of a page of the same query"):
        plan(MENTIONS, Query(other.where, other.partition, other.order, other.reverse, after=cursor))


def test_conditions_of_lists_and_tuples_are_one_query() -> None:
    first = plan(QUARANTINE, Query((Where("n", "in", [1, 2]),)))
    assert plan(QUARANTINE, Query((Where("n", "in", (1, 2)),))).fingerprint == first.fingerprint


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "!",
        "x",
        "A" * 16_385,
        encoded(["f", "a", 1])[:4] + "!!!!" + encoded(["f", "a", 1])[4:],
        encoded({"f": "a"}),
        encoded(["f"]),
        encoded(["g", "a", 1]),
        encoded(["f", "a", 1, 2]),
        encoded(["f", 1, 1]),
        encoded(["f", "a", "1"]),
        encoded(["f", "a", True]),
        encoded(["f", None, 1]),
    ],
)
def test_a_text_that_is_no_cursor_of_the_query_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match=r"^cursor: must be the `next` of a page of the same query$"):
        plans.decode_cursor("f", cursor, [False, True])


def test_a_cursor_may_be_long() -> None:
    longest = plans.encode_cursor("f", ["x" * 12_000])
    assert plans.decode_cursor("f", longest, [False]) == ("x" * 12_000,)
    at_most = plans.encode_cursor("f", ["x" * 12_280])
    assert len(at_most) == plans.MAX_CURSOR == 16_384
    assert plans.decode_cursor("f", at_most, [False]) == ("x" * 12_280,)


def test_a_cursor_is_good_after_a_deployment() -> None:
    assert plan(MENTIONS, Query(partition="t é", order="by_published")).fingerprint == "9fea5d83b51da3d9"
    assert plans.encode_cursor("f", ["é", 1]) == "WyJmIiwiw6kiLDFd"


def test_behind_a_cursor_means_greater_in_the_first_key_that_differs() -> None:
    start = plan(FEEDS, Query(order="by_priority"))
    after = plans.encode_cursor(start.fingerprint, [2.5, "2026", "f", "feed"])
    bound = Bound(":")
    text = plan(FEEDS, Query(order="by_priority", after=after)).behind_cursor(str.upper, bound)
    assert text == (
        "PRIORITY_SCORE <= :p0 AND ((PRIORITY_SCORE < :p0)"
        " OR (PRIORITY_SCORE = :p0 AND NEXT_FETCH_TIME > :p1)"
        " OR (PRIORITY_SCORE = :p0 AND NEXT_FETCH_TIME = :p1 AND FEED_ID > :p2)"
        " OR (PRIORITY_SCORE = :p0 AND NEXT_FETCH_TIME = :p1 AND FEED_ID = :p2 AND ID > :p3))"
    )
    assert bound.values == {"p0": 2.5, "p1": "2026", "p2": "f", "p3": "feed"}
