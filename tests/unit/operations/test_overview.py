"""The specification's two monitoring queries."""

from datetime import timedelta

from services.feeds.registry import FeedRegistry
from services.operations.overview import Overview, SourceYield
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, feed, observation
from tests.unit.articles.test_reading import carried_by, named
from tests.unit.conftest import Put


def overview(store: SqliteStore, watch: Watch) -> Overview:
    return Overview(store, FeedRegistry(store, watch), watch)


async def test_feed_health_is_of_enabled_feeds_those_with_most_errors_first(
    store: SqliteStore, watch: Watch, put: Put
) -> None:
    await put(
        feed(feed_id="well", articles_per_hour=2.5, last_successful_fetch=NOW),
        feed(feed_id="ill", consecutive_errors=4),
        feed(feed_id="off", consecutive_errors=9, enabled=False, disabled_reason="410"),
    )
    health = await overview(store, watch).feed_health()
    assert [(each.feed_id, each.consecutive_errors) for each in health] == [("ill", 4), ("well", 0)]
    assert (health[1].last_successful_fetch, health[1].articles_per_hour) == (NOW, 2.5)


async def test_sources_are_counted_over_the_last_day_by_name_with_their_average_age(
    store: SqliteStore, watch: Watch, put: Put
) -> None:
    await put(
        feed(feed_id="a", source_name="Wire"),
        feed(feed_id="b", source_name="Wire"),
        named("Both carry this one", NOW - timedelta(hours=2), **carried_by("a", "b")),
        named("Only one has this", NOW - timedelta(hours=5), **carried_by("b")),
        named("An API had this", NOW - timedelta(minutes=30), **carried_by("tiingo")),
        named("Many carry this one", NOW - timedelta(hours=1), **carried_by("a"), has_further_sources=True),
        *(
            observation(
                source_id=named("Many carry this one", NOW - timedelta(hours=1)).source_id,
                source=each,
                article_timestamp=NOW - timedelta(hours=1),
            )
            for each in ("b", "finnhub")
        ),
        named("Too old to count", NOW - timedelta(hours=24), **carried_by("a")),
        named("Deleted since then", NOW, **carried_by("a")).changed(NOW, deleted_at=NOW),
    )
    assert await overview(store, watch).sources() == [
        SourceYield("Wire", 3, 2.67),
        SourceYield("finnhub", 1, 1.0),
        SourceYield("tiingo", 1, 0.5),
    ]
