"""The definition of every container: name, partition key, orders, indexing. Azure and the embedded store follow it.

An order is a composite index. A query may only ask for an order that is listed here, so a query that would scan a whole
container in Azure is refused by the embedded store too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ASCENDING, DESCENDING = "ascending", "descending"

Order = tuple[tuple[str, str], ...]
"""(field, direction) pairs."""


@dataclass(frozen=True, slots=True)
class Search:
    """Which filters an index serves together, in any combination, for queries in one order.

    `order` sorts by one time first. `fields` are those that a filter compares with a text: `name/[]` by `contains`, any
    other by `eq`. Cosmos combines its indexes by itself; the embedded store has one for all of them.
    """

    order: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """One Cosmos container.

    orders         by name; `complete_order` adds the tie-breakers
    unindexed      large fields, which no query filters by
    indexed_only   if set, only these fields are indexed, besides the partition key and the fields of orders: each
                   indexed value costs request units at every write. `name/[]` is a field with a list
    ids_unique     an id occurs in one partition only, so that the id alone orders the whole container
    numbers        the fields of orders that are numbers; the others are text, so that sorting and cursors mean the
                   same in every store
    search         the filters that an index serves in any combination
    crowded        a partition has many documents, so the embedded store indexes the orders within each partition too
    lasting        no document expires, and one that would is refused: so queries need no condition on `ttl_timestamp`,
                   for which Cosmos would load each document, as no index has it
    """

    name: str
    partition_key: str
    orders: dict[str, Order] = field(default_factory=dict)
    unindexed: tuple[str, ...] = ()
    indexed_only: tuple[str, ...] = ()
    ids_unique: bool = False
    numbers: tuple[str, ...] = ()
    search: Search | None = None
    crowded: bool = False
    lasting: bool = False

    def complete_order(self, name: str) -> Order:
        """The order as the composite index has it: with partition key and id, in the direction of its last field."""
        pairs = self.orders[name]
        named = {path for path, _ in pairs}
        ties = tuple((path, pairs[-1][1]) for path in (self.partition_key, "id") if path not in named)
        return pairs + ties

    @property
    def sort_fields(self) -> frozenset[str]:
        """The fields that some order sorts by."""
        return frozenset(field for pairs in self.orders.values() for field, _ in pairs)

    @property
    def search_time(self) -> str | None:
        """The field by which the documents of a search are sorted first: a time."""
        return None if self.search is None else self.orders[self.search.order][0][0]

    def key_order(self) -> Order:
        """The order across partitions of a query that names none."""
        return _ascending("id") if self.ids_unique else _ascending(self.partition_key, "id")

    def filterable(self, path: str) -> bool:
        """Whether an index serves a filter by this top-level field."""
        if self.indexed_only:
            return path in (*self._indexed(), "id", "_ts") or f"{path}/[]" in self.indexed_only
        return path not in self.unindexed

    def _indexed(self) -> tuple[str, ...]:
        sorted_by = sorted(self.sort_fields - {"id"})
        return tuple(dict.fromkeys((self.partition_key, *self.indexed_only, *sorted_by)))

    def indexing_policy(self) -> dict[str, Any]:
        """The policy in Cosmos's own JSON. Cosmos indexes `id` and `_ts` in any case."""
        composites = [self.complete_order(name) for name in sorted(self.orders)]
        if not self.ids_unique:
            composites.append(self.key_order())
        if self.indexed_only:
            paths = [f"/{path}/?" for path in self._indexed()]
            included, excluded = [{"path": path} for path in paths], [{"path": "/*"}]
        else:
            paths = [f"/{path}/*" for path in self.unindexed] + ['/"_etag"/?', "/ttl/?"]
            included, excluded = [{"path": "/*"}], [{"path": path} for path in paths]
        policy: dict[str, Any] = {
            "indexingMode": "consistent",
            "automatic": True,
            "includedPaths": included,
            "excludedPaths": excluded,
        }
        if composites or not self.indexed_only:
            policy["compositeIndexes"] = [
                [{"path": f"/{path}", "order": direction} for path, direction in pairs] for pairs in composites
            ]
        return policy


def _ascending(*fields: str) -> Order:
    return tuple((field, ASCENDING) for field in fields)


DEFAULT_TTL = -1
"""The setting of every container: an item expires only if it has a `ttl`."""

SENTIMENT_CACHE = Container(
    "sentiment_cache",
    "tool_id",
    indexed_only=("tool_id", "period", "last_updated_ts", "_ts"),
    ids_unique=True,
)
ARTICLES = Container(
    "articles",
    "source_id",
    orders={
        "by_time": _ascending("timestamp"),
        "by_sentiment": _ascending("sentiment", "timestamp"),
        "by_status": _ascending("status", "timestamp"),
        "by_analysis_due": _ascending("analysis_due_since"),
        "by_grouping_due": _ascending("grouping_due_since"),
        "by_change": _ascending("_ts"),
    },
    indexed_only=(
        "entity_type",
        "status",
        "deleted_at",
        "ttl_timestamp",  # so that articles that wait for their analysis are counted without being loaded
        "source",
        "language",
        "publisher_id",
        "sources/[]",
        "tags/[]",
        "detected_tool_ids/[]",
        "words/[]",
    ),
    numbers=("_ts",),
    search=Search(
        "by_time",
        (
            *("words/[]", "detected_tool_ids/[]", "sources/[]", "tags/[]"),
            *("publisher_id", "language", "sentiment", "status"),
        ),
    ),
)
DOCUMENTS = Container(
    "documents",
    "source_id",
    orders={
        "by_due": _ascending("eligibility", "next_eligible_attempt_at"),
        "by_created": _ascending("created_at"),
    },
    indexed_only=("eligibility", "acquisition_status", "validation_status"),
)
LOCATORS = Container("locators", "locator", indexed_only=("locator",))
MENTIONS = Container(
    "mentions",
    "tool_id",
    orders={"by_published": _ascending("published_at"), "by_change": _ascending("_ts")},
    numbers=("_ts",),
    indexed_only=("removed_at",),
    crowded=True,
)
CATALOG = Container(
    "catalog",
    "pk",
    orders={
        "by_name": _ascending("primary_name_normalized"),
        "by_dirty_hour": _ascending("marked_at"),
    },
    indexed_only=("entity_type", "status"),
)
FEEDS = Container(
    "feeds",
    "feed_id",
    orders={
        "by_priority": (("priority_score", DESCENDING), ("next_fetch_time", ASCENDING)),
        "by_last_success": _ascending("last_successful_fetch"),
        "by_velocity": (("articles_per_hour", DESCENDING),),
        "by_name": _ascending("name_key"),
        "by_next_fetch": _ascending("next_fetch_time"),
        "by_verdict": _ascending("verdict"),
        "by_host": _ascending("host"),
        "by_errors": (("consecutive_errors", DESCENDING),),
    },
    # A feed is written at each poll.
    indexed_only=(
        "entity_type",
        "enabled",
        "address",
        "redirect_url",
        "verdict",
        "tags/[]",
        "disabled_by",
        "disabled_cause",
        "probe_at",
        "words/[]",
    ),
    numbers=("priority_score", "articles_per_hour", "consecutive_errors"),
    lasting=True,
)
RUNS = Container(
    "runs",
    "run_id",
    orders={
        "by_due": _ascending("due_at"),
        "by_start": _ascending("started_at"),
        "by_subject": _ascending("subject", "started_at"),
    },
    indexed_only=("entity_type", "task_name", "workflow_name", "status", "feeds/[]", "is_quiet"),
)
QUARANTINE = Container(
    "quarantine",
    "pk",
    orders={"by_created": _ascending("created_at")},
    unindexed=("payload",),
)
STORIES = Container(
    "stories",
    "day",
    orders={
        "by_time": _ascending("timestamp"),
        "by_story": _ascending("event_id", "published_at"),
        "by_change": _ascending("_ts"),
        "by_signals_due": _ascending("signals_due_at"),
    },
    numbers=("_ts",),
    indexed_only=(
        "entity_type",
        "language",
        "published_at",
        "article_count",
        "tool_ids/[]",
        "publisher_ids/[]",
        "sources/[]",
        "topics/[]",
        "words/[]",
    ),
    search=Search("by_time", ("words/[]", "tool_ids/[]", "publisher_ids/[]", "sources/[]", "topics/[]", "language")),
    crowded=True,
)
SIGNALS = Container(
    "signals",
    "tool_id",
    orders={"by_time": _ascending("timestamp"), "by_story": _ascending("event_id", "timestamp")},
    indexed_only=("entity_type", "kind", "topic", "story_published_at", "withdrawn_at", "articles/[]"),
    crowded=True,
)

_ALL = (SENTIMENT_CACHE, ARTICLES, DOCUMENTS, LOCATORS, MENTIONS, CATALOG, FEEDS, RUNS, QUARANTINE, STORIES, SIGNALS)
CONTAINERS: dict[str, Container] = {container.name: container for container in _ALL}
