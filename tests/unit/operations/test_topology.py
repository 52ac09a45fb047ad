"""The names of timers and queues, which the infrastructure and running messages know."""

from datetime import timedelta

from services import topology
from services.topology import Timer


def test_timers_and_queues_have_these_names() -> None:
    assert Timer("clean_up", "10 */5 * * * *", timedelta(minutes=5)) == topology.CLEAN_UP
    assert Timer("ingest_due_feeds", "*/30 * * * * *", timedelta(seconds=30)) == topology.INGEST_DUE_FEEDS
    refresh = Timer("refresh_sentiment_cache", "20 */15 * * * *", timedelta(minutes=15))
    assert refresh == topology.REFRESH_SENTIMENT_CACHE
    assert (topology.INGEST_FEEDS, topology.ANALYZE_ARTICLES) == ("ingest-feeds", "analyze-articles")
    assert (topology.REANALYZE_TOOLS, topology.REANALYSIS_COMPLETED) == ("reanalyze-tools", "reanalysis-completed")
    assert (topology.REFRESH_TOOLS, topology.LAST_DELIVERY) == ("refresh-tools", 5)
    assert (topology.GROUP_HEADLINES, topology.GENERATE_IDEAS) == ("group-headlines", "generate-ideas")
