"""How documents and queries become items and SQL of Azure Cosmos DB, without a server."""

import pytest

from models.errors import InvalidInput
from services.ports import Query, Where
from services.store import cosmos_items, plans, rules
from services.store.containers import FEEDS, MENTIONS, QUARANTINE, Container

NOW = 1_000


def prepared(**fields: object) -> rules.Prepared:
    return rules.prepare(MENTIONS, {"id": "a", "tool_id": "t", **fields})


@pytest.mark.parametrize(
    ("deadline", "ttl"), [(NOW + 60, 60), (NOW + 1, 1), (NOW, 1), (NOW - 60, 1), (NOW + 2**31, 2**31 - 1)]
)
def test_cosmos_purges_an_item_at_its_deadline(deadline: int, ttl: int) -> None:
    assert cosmos_items.item(prepared(ttl_timestamp=deadline), NOW, "token")["ttl"] == ttl


def test_an_item_without_a_deadline_has_no_ttl() -> None:
    assert cosmos_items.item(prepared(n=1), NOW, "") == {"id": "a", "tool_id": "t", "n": 1}
    assert cosmos_items.item(prepared(n=1), NOW, "token") == {"id": "a", "tool_id": "t", "n": 1, "_write": "token"}


def test_a_retry_recognises_its_own_write() -> None:
    assert cosmos_items.was_written_by({"_write": "token"}, "token")
    assert not cosmos_items.was_written_by({"_write": "other"}, "token")
    assert not cosmos_items.was_written_by({}, "token")
    assert not cosmos_items.was_written_by(None, "token")


@pytest.mark.parametrize(("deadline", "expired"), [(NOW + 1, False), (NOW, True), (NOW - 1, True), (None, False)])
def test_an_item_is_expired_from_its_deadline_on(deadline: int | None, expired: bool) -> None:
    assert cosmos_items.expired({"ttl_timestamp": deadline}, NOW) is expired
    assert not cosmos_items.expired({}, NOW)


def test_a_document_has_none_of_the_fields_that_cosmos_adds() -> None:
    added = {"_rid": "r", "_self": "s", "_attachments": "a", "_write": "w", "ttl": 60, "_etag": '"e"', "_ts": 5}
    assert cosmos_items.document({"id": "a", **added}) == {"id": "a", "_etag": '|"e"', "_ts": 5}


def test_an_etag_has_the_deadline_of_its_version() -> None:
    etag = cosmos_items.etag({"_etag": '"e"', "ttl_timestamp": NOW})
    assert etag == f'{NOW}|"e"'
    assert cosmos_items.etag_to_match(etag, NOW - 1) == '"e"'
    assert cosmos_items.etag_to_match(etag, NOW) is None
    assert cosmos_items.etag_to_match('|"e"', NOW) == '"e"'


@pytest.mark.parametrize("etag", ["", "e", "|", "x|e", "-1|e", "|é", "|a\r\nb"])
def test_a_text_that_is_no_etag_of_this_store_matches_nothing(etag: str) -> None:
    assert cosmos_items.etag_to_match(etag, NOW) is None


def test_an_etag_is_text() -> None:
    with pytest.raises(InvalidInput):
        cosmos_items.etag_to_match(None, NOW)  # type: ignore[arg-type]


ALIVE = '(NOT IS_DEFINED(c["ttl_timestamp"]) OR IS_NULL(c["ttl_timestamp"]) OR c["ttl_timestamp"] > '


def test_a_query_names_its_partition_first_and_its_whole_order() -> None:
    query = Query((Where("priority_score", "ge", 1),), partition="f", order="by_priority", limit=2)
    text, parameters = cosmos_items.select(plans.plan(FEEDS, query), NOW)
    assert text == (
        'SELECT TOP 3 * FROM c WHERE c["feed_id"] = @p0 AND c["priority_score"] >= @p1'
        ' AND IS_NUMBER(c["priority_score"]) AND IS_STRING(c["next_fetch_time"])'
        ' ORDER BY c["priority_score"] DESC, c["next_fetch_time"] ASC, c["feed_id"] ASC, c["id"] ASC'
    )
    assert parameters == [
        {"name": "@p0", "value": "f"},
        {"name": "@p1", "value": 1},
    ]


def test_documents_of_a_lasting_container_are_counted_by_an_index_alone() -> None:
    text, _ = cosmos_items.count(plans.plan(FEEDS, Query((Where("enabled", "eq", True),))), NOW)
    assert text == 'SELECT VALUE COUNT(1) FROM c WHERE c["enabled"] = @p0'
    text, parameters = cosmos_items.count(plans.plan(FEEDS, Query()), NOW)
    assert (text, parameters) == ("SELECT VALUE COUNT(1) FROM c WHERE true", [])
    assert "ttl_timestamp" in cosmos_items.count(plans.plan(MENTIONS, Query()), NOW)[0]


def test_a_later_page_begins_behind_its_cursor() -> None:
    query = Query(partition="t", reverse=True)
    cursor = plans.encode_cursor(plans.plan(MENTIONS, query).fingerprint, ["b"])
    text, parameters = cosmos_items.select(plans.plan(MENTIONS, Query(partition="t", reverse=True, after=cursor)), NOW)
    assert text.endswith('AND c["id"] <= @p2 AND ((c["id"] < @p2)) ORDER BY c["id"] DESC')
    assert parameters[2]["value"] == "b"


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        (Where("n", "eq", 1), 'c["n"] = @p0'),
        (Where("n", "lt", 1), 'c["n"] < @p0'),
        (Where("n", "le", 1), 'c["n"] <= @p0'),
        (Where("n", "gt", 1), 'c["n"] > @p0'),
        (Where("n", "ge", 1), 'c["n"] >= @p0'),
        (Where("n", "in", [1, 2]), 'c["n"] IN (@p0, @p1)'),
        (Where("n", "contains", 1), 'ARRAY_CONTAINS(c["n"], @p0)'),
        (Where("n", "missing"), '(NOT IS_DEFINED(c["n"]) OR IS_NULL(c["n"]))'),
    ],
)
def test_a_condition_is_text_without_values(where: Where, condition: str) -> None:
    text, _ = cosmos_items.count(plans.plan(QUARANTINE, Query((where,))), NOW)
    assert text.startswith(f"SELECT VALUE COUNT(1) FROM c WHERE {condition} AND {ALIVE}")


def test_the_condition_of_a_patch_takes_no_parameters() -> None:
    assert cosmos_items.alive(NOW) == f"{ALIVE}{NOW})"


def test_versions_are_read_of_expired_items_too() -> None:
    text, parameters = cosmos_items.versions(Container("x", "pk"), "p", ["a", "b"])
    assert text == (
        'SELECT c["id"], c["_etag"], c["_ts"], c["_write"], c["ttl_timestamp"] FROM c'
        ' WHERE c["pk"] = @p0 AND c["id"] IN (@p1, @p2)'
    )
    assert [each["value"] for each in parameters] == ["p", "a", "b"]
