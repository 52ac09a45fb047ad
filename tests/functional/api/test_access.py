"""What changes things takes the management key besides the function key; what reads does not."""

import pytest

from services.container import Container
from tests.functional.api.conftest import FUNCTIONS, call

MANAGEMENT = (
    "add_feed",
    "add_tool",
    "change_feed",
    "change_tool",
    "delete_article",
    "delete_feed",
    "delete_tool_cache",
    "fetch_feed",
    "import_feeds",
    "list_quarantine",
    "merge_tool",
    "preview_tool",
    "reanalyze_tool",
    "refresh_cache",
    "review_quarantine",
    "export_corrections",
    "get_correction",
    "list_corrections",
    "make_correction",
    "undo_correction",
)
READING = (
    "export_articles",
    "export_feeds",
    "get_article",
    "get_cache_health",
    "get_feed",
    "get_metrics",
    "get_run",
    "get_tool",
    "get_tool_history",
    "get_tool_sentiment",
    "list_articles",
    "list_feed_history",
    "list_feeds",
    "list_latest_sentiment",
    "list_tool_articles",
    "list_tool_evidence",
    "list_tools",
)
IDS = {
    "feed_id": "nobody",
    "article_id": "nobody",
    "run_id": "nobody",
    "quarantine_id": "nobody",
    "tool": "nobody",
    "correction_id": "nobody",
}
ENDINGS = (
    *("feed", "feeds", "article", "articles", "quarantine", "tool", "tools", "aliases"),
    *("correction", "corrections"),
    *("sentiment", "evidence", "history", "cache", "cache_health", "metrics"),
)
NO_HTTP = {
    *("ingest_feeds", "ingest_due_feeds", "analyze_articles", "reanalyze_tools", "refresh_tools"),
    *("refresh_sentiment_cache", "invalidate_tool_cache"),
}


@pytest.mark.parametrize("name", MANAGEMENT)
async def test_management_without_the_key_or_with_a_wrong_one_is_401(locked: None, name: str) -> None:
    for key in (None, "", "sesamo"):
        answer = await call(name, key=key, **IDS)
        assert (answer.status, answer.mimetype, answer.sent) == (401, "application/problem+json", [])
    assert (await call(name, key="sesame", **IDS)).status != 401


@pytest.mark.parametrize("name", READING)
async def test_reading_takes_no_management_key(locked: None, name: str) -> None:
    assert (await call(name, **IDS)).status != 401


def test_every_function_of_the_api_is_in_one_of_the_lists() -> None:
    ours = {name for name in FUNCTIONS if name.endswith(ENDINGS)}
    assert ours - NO_HTTP == {*MANAGEMENT, *READING} - {"get_run"}


async def test_a_body_of_a_type_that_any_page_can_send_changes_nothing(app: Container) -> None:
    body = b'{"url": "https://example.com/feed", "source_name": "Example"}'
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = await call("add_feed", body=body, content_type=content_type)
        assert (answer.status, answer.mimetype) == (415, "application/problem+json")
    assert (await call("list_feeds")).json["items"] == []
    assert (await call("add_feed", body=body)).status == 201
