"""How documents and queries become items and SQL of Azure Cosmos DB, without a server."""

import pytest

from services.ports import Query, Where
from services.store import cosmos_items, plans, rules
from services.store.containers import FEEDS, MENTIONS

NOW = 1_000


def prepared(**fields: object) -> rules.Prepared:
    return rules.prepare(MENTIONS, {"id": "a", "tool_id": "t", **fields})


@pytest.mark.parametrize(
    ("deadline", "ttl"), [(NOW + 60, 60), (NOW + 1, 1), (NOW, 1), (NOW - 60, 1), (NOW + 2**31, 2**31 - 1)]
)
def test_cosmos_purges_an_item_at_its_deadline(deadline: int, ttl: int) -> None:
    assert cosmos_items.item(prepared(ttl_timestamp=deadline), NOW)["ttl"] == ttl


def test_an_item_without_a_deadline_has_no_ttl() -> None:
    assert cosmos_items.item(prepared(n=1), NOW) == {"id": "a", "tool_id": "t", "n": 1}


def test_a_document_has_none_of_the_fields_that_cosmos_adds() -> None:
    added = {"_rid": "r", "_self": "s", "_attachments": "a", "ttl": 60, "_etag": '"e"', "_ts": 5}
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
