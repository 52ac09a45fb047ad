"""The truth about containers: names, partition keys, orders, indexing. Creation, Bicep and the embedded store follow.

Nothing here talks to a store. An order is a composite index: a query may only ask for an order that is listed, so what
would be a full scan in Azure is refused on a laptop too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ASCENDING, DESCENDING = "ascending", "descending"


@dataclass(frozen=True, slots=True)
class Container:
    """One Cosmos container.

    `orders` maps a name to (field, direction) pairs; the adapters append the partition key and id, in the direction of
    the last pair, to make each complete. `unindexed` is payload that no query filters on. `indexed_only` turns
    the policy round: just these paths are indexed. `ids_unique` says that an id occurs in one partition only, so that
    (id) alone orders the whole container. `numbers` are the order fields that hold numbers; the others hold text (a
    sort value of another type is refused, so that sorting and cursors mean the same in every store). `crowded` says
    that a partition holds many documents, so that the embedded store indexes the orders within each as well.
    """

    name: str
    partition_key: str
    orders: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    unindexed: tuple[str, ...] = ()
    indexed_only: tuple[str, ...] = ()
    ids_unique: bool = False
    numbers: tuple[str, ...] = ()
    crowded: bool = False

    def complete_order(self, name: str) -> tuple[tuple[str, str], ...]:
        """The order's fields with its tie-breakers, as the composite index has them."""
        pairs = self.orders[name]
        named = {path for path, _ in pairs}
        ties = tuple((path, pairs[-1][1]) for path in (self.partition_key, "id") if path not in named)
        return pairs + ties

    @property
    def sort_fields(self) -> frozenset[str]:
        """The fields that some order sorts by."""
        return frozenset(field for pairs in self.orders.values() for field, _ in pairs)

    def key_order(self) -> tuple[tuple[str, str], ...]:
        """The order across partitions when a query names none."""
        by_id = (("id", ASCENDING),)
        return by_id if self.ids_unique else ((self.partition_key, ASCENDING), *by_id)

    def filterable(self, path: str) -> bool:
        """Whether an index backs a filter on this top-level field."""
        if self.indexed_only:
            return path in (*self.indexed_only, "id")
        return path not in self.unindexed

    def indexing_policy(self) -> dict[str, Any]:
        """The policy in Cosmos's own JSON."""
        if self.indexed_only:
            return {
                "indexingMode": "consistent",
                "automatic": True,
                "includedPaths": [{"path": f"/{path}/?"} for path in self.indexed_only],
                "excludedPaths": [{"path": "/*"}],
            }
        composites = [self.complete_order(name) for name in sorted(self.orders)]
        if not self.ids_unique:
            composites.append(self.key_order())
        return {
            "indexingMode": "consistent",
            "automatic": True,
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": f"/{path}/*"} for path in self.unindexed] + [{"path": '/"_etag"/?'}],
            "compositeIndexes": [
                [{"path": f"/{path}", "order": direction} for path, direction in pairs] for pairs in composites
            ],
        }


DEFAULT_TTL = -1
"""On every container: items expire if, and only if, they say when."""

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
        "by_time": (("timestamp", ASCENDING),),
        "by_sentiment": (("sentiment", ASCENDING), ("timestamp", ASCENDING)),
        "by_status": (("status", ASCENDING), ("timestamp", ASCENDING)),
        "by_observed_day": (("observed_day", ASCENDING),),
        "by_attempt": (("added_by_attempt", ASCENDING),),
        "by_analysis_due": (("analysis_due_since", ASCENDING),),
    },
    unindexed=("text_for_analysis", "source_attribution", "canonical", "metadata"),
)
DOCUMENTS = Container(
    "documents",
    "source_id",
    orders={
        "by_eligibility": (
            ("eligibility", ASCENDING),
            ("product_type", ASCENDING),
            ("provider", ASCENDING),
            ("data_product_id", ASCENDING),
        ),
    },
    unindexed=("hints", "provenance", "profile_selection_inputs", "normalization_notes"),
)
LOCATORS = Container("locators", "locator")
MENTIONS = Container(
    "mentions",
    "tool_id",
    orders={"by_published": (("published_at", ASCENDING),)},
    crowded=True,
)
CATALOG = Container(
    "catalog",
    "pk",
    orders={
        "by_name": (("primary_name_normalized", ASCENDING),),
        "by_mark": (("marked_hour", ASCENDING),),
    },
    unindexed=("hours", "minutes"),
)
FEEDS = Container(
    "feeds",
    "feed_id",
    orders={
        "by_priority": (("priority_score", DESCENDING), ("next_fetch_time", ASCENDING)),
        "by_last_success": (("last_successful_fetch", ASCENDING),),
    },
    unindexed=("gap_articles", "gap_hours", "hashes", "hourly_distribution"),
    numbers=("priority_score",),
)
RUNS = Container(
    "runs",
    "run_id",
    orders={
        "by_start": (("started_at", ASCENDING),),
        "by_subject": (("subject", ASCENDING), ("started_at", ASCENDING)),
    },
    unindexed=("errors", "metrics"),
)
QUARANTINE = Container(
    "quarantine",
    "pk",
    orders={"by_created": (("created_at", ASCENDING),)},
    unindexed=("payload",),
)
STORIES = Container("stories", "day", orders={"by_time": (("timestamp", ASCENDING),)}, crowded=True)
SIGNALS = Container("signals", "tool_id", orders={"by_time": (("timestamp", ASCENDING),)}, crowded=True)

CONTAINERS: dict[str, Container] = {
    each.name: each
    for each in (
        SENTIMENT_CACHE,
        ARTICLES,
        DOCUMENTS,
        LOCATORS,
        MENTIONS,
        CATALOG,
        FEEDS,
        RUNS,
        QUARANTINE,
        STORIES,
        SIGNALS,
    )
}
