"""The names and schedules of the timers, and the names of the queues. Triggers, health checks and Bicep use them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer function: its six-field NCRONTAB schedule in UTC, and the time between two ticks. No two timers fire in
    the same second, nor a timer when a batch of a refresh begins (services/figures/refresh.py)."""

    name: str
    schedule: str
    every: timedelta


CLEAN_UP = Timer("clean_up", "10 */5 * * * *", timedelta(minutes=5))

INGEST_DUE_FEEDS = Timer("ingest_due_feeds", "*/30 * * * * *", timedelta(seconds=30))

REFRESH_SENTIMENT_CACHE = Timer("refresh_sentiment_cache", "20 */15 * * * *", timedelta(minutes=15))

TIMERS = (CLEAN_UP, INGEST_DUE_FEEDS, REFRESH_SENTIMENT_CACHE)

INGEST_FEEDS = "ingest-feeds"
ACQUIRE_DOCUMENTS = "acquire-documents"
ANALYZE_ARTICLES = "analyze-articles"
REANALYZE_TOOLS = "reanalyze-tools"
REANALYSIS_COMPLETED = "reanalysis-completed"
REFRESH_TOOLS = "refresh-tools"

FUNCTION_TIMEOUT = timedelta(minutes=5)
"""The functionTimeout of host.json (a test compares them): the host ends an invocation after it."""
HTTP_TIMEOUT = timedelta(seconds=230)
"""Azure's load balancer answers an HTTP request after this time, whether or not the function has ended."""
LAST_DELIVERY = 5
"""The maxDequeueCount of host.json (a test compares them): after this delivery a message goes to the poison queue."""
GROUP_HEADLINES = "group-headlines"
GENERATE_IDEAS = "generate-ideas"

QUEUES = (
    INGEST_FEEDS,
    ACQUIRE_DOCUMENTS,
    ANALYZE_ARTICLES,
    REANALYZE_TOOLS,
    REANALYSIS_COMPLETED,
    REFRESH_TOOLS,
    GROUP_HEADLINES,
    GENERATE_IDEAS,
)

ARCHIVE_CONTAINER = "archive"
"""The blob container of full texts, in the storage account of the host."""
