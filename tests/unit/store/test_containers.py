"""What the definitions of containers mean for orders, filters and Cosmos DB's indexing policy."""

from models.mention import SentimentScore
from services.store.containers import (
    ARTICLES,
    CONTAINERS,
    MENTIONS,
    SENTIMENT_CACHE,
    Container,
    Order,
)


def test_an_order_is_completed_by_partition_key_and_id_in_the_direction_of_its_last_field() -> None:
    order = (("a", "ascending"), ("b", "descending"))
    container = Container("x", "pk", orders={"by_a": order, "by_pk": (("pk", "ascending"),)})
    assert container.complete_order("by_a") == (*order, ("pk", "descending"), ("id", "descending"))
    assert container.complete_order("by_pk") == (("pk", "ascending"), ("id", "ascending"))


def test_ids_that_are_unique_order_a_whole_container() -> None:
    assert Container("x", "pk").key_order() == (("pk", "ascending"), ("id", "ascending"))
    assert Container("x", "pk", ids_unique=True).key_order() == (("id", "ascending"),)


def test_payload_cannot_be_filtered_by() -> None:
    assert ARTICLES.filterable("status")
    assert not ARTICLES.filterable("canonical")
    assert [name for name in ("period", "id", "total") if SENTIMENT_CACHE.filterable(name)] == ["period", "id"]


def test_every_container_stands_under_its_name() -> None:
    assert all(name == container.name for name, container in CONTAINERS.items())
    assert len(CONTAINERS) == 11


def test_the_policy_indexes_everything_but_payload_and_each_order() -> None:
    container = Container("x", "pk", orders={"by_b": (("b", "descending"),)}, unindexed=("payload",))
    assert container.indexing_policy() == {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": "/payload/*"}, {"path": '/"_etag"/?'}, {"path": "/ttl/?"}],
        "compositeIndexes": [
            [
                {"path": "/b", "order": "descending"},
                {"path": "/pk", "order": "descending"},
                {"path": "/id", "order": "descending"},
            ],
            [{"path": "/pk", "order": "ascending"}, {"path": "/id", "order": "ascending"}],
        ],
    }


def test_unique_ids_need_no_index_over_partition_key_and_id() -> None:
    assert Container("x", "pk", ids_unique=True).indexing_policy()["compositeIndexes"] == []


def test_the_policy_may_index_a_few_fields_only() -> None:
    """Besides the partition key, the elements of lists, and the fields of orders."""
    orders: dict[str, Order] = {"by_b": (("b", "descending"),)}
    container = Container("x", "pk", orders=orders, indexed_only=("a", "list/[]"))
    assert container.indexing_policy() == {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/pk/?"}, {"path": "/a/?"}, {"path": "/list/[]/?"}, {"path": "/b/?"}],
        "excludedPaths": [{"path": "/*"}],
        "compositeIndexes": Container("x", "pk", orders=orders).indexing_policy()["compositeIndexes"],
    }
    served = [name for name in ("pk", "a", "list", "b", "id", "_ts", "c") if container.filterable(name)]
    assert served == ["pk", "a", "list", "b", "id", "_ts"]


def test_of_a_mention_only_what_queries_need_is_indexed() -> None:
    fields = SentimentScore.model_fields.keys() | {"id"}
    assert {name for name in fields if MENTIONS.filterable(name)} == {"id", "tool_id", "published_at", "removed_at"}
