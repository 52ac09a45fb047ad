"""What is refused over HTTP names the parameter or field that is wrong, and does nothing."""

from __future__ import annotations

from typing import Any

from services.container import Container
from tests.functional.api.conftest import call

IDS = {
    **{"article_id": "dedup:" + "1" * 32, "event_id": "story", "correction_id": "correction:x"},
    **{"quarantine_id": "BATCH:x", "name": "ingest-feeds"},
}
ADA = {"author": "Ada"}
FEED = {"url": "https://example.com/rss", "source_name": "Example"}
ENABLED = {"filter": {"enabled": True}}

QUERIES: tuple[tuple[str, str, str], ...] = (
    ("get_tool_sentiment", "hours=2", "hours"),
    ("get_tool_sentiment", "hours=", "hours"),
    ("get_tool_sentiment", "period=HOUR_24&hours=1", "period"),
    ("get_tool_sentiment", "days=1", "days"),
    ("list_tool_evidence", "cursor=9999999999-abc", "cursor"),
    ("list_tool_evidence", "limit=0", "limit"),
    ("list_latest_sentiment", "cursor=abc", "cursor"),
    ("get_tool_history", "days=31", "days"),
    ("get_tool_history", "from=2026-02-01&to=2026-01-01", "from"),
    ("get_tool_history", "from=2026-02-01&days=3", "days"),
    ("get_tool_history", "to=2026-02-01", "from"),
    ("get_tool_history", "from=1999-01-01", "from"),
    ("get_tool_history", "from=2025-12-01&to=2025-12-02&layer=raw", "from"),
    ("list_histories", "", "tools"),
    ("list_histories", "tools=Quorvia,,", "tools"),
    ("list_histories", "tools=Quorvia,nobody", "tools"),
    ("get_movement", "from=2026-02-21T00:00:00Z", "to"),
    ("get_movement", "from=2026-02-22T00:00:00Z&to=2026-02-21T00:00:00Z", "from"),
    ("get_movement", "from=2020-02-20T00:00:00Z&to=2020-02-21T00:00:00Z", "from"),
    ("list_articles", "text=...", "text"),
    ("list_articles", "tag=a&tag=b", "tag"),
    ("list_stories", "min_articles=1", "min_articles"),
    ("list_stories", "since=yesterday", "since"),
    ("list_stories", "language=EN", "language"),
    ("list_signals", "kind=BIG", "kind"),
    ("list_signals", "state=gone", "state"),
    ("list_signals", "tool=x", "tool"),
    ("list_articles", "language=German", "language"),
    ("list_runs", "cursor=abc", "cursor"),
    ("list_quarantine", "status=x", "status"),
    ("list_feeds", "verdict=ill", "verdict"),
    ("list_feeds", "sort=age", "sort"),
    ("list_tools", "status=GONE", "status"),
    ("list_tool_references", "role=first", "role"),
    ("export_articles", "cursor=abc", "cursor"),
    ("get_metrics", "format=json", "format"),
    ("redrive_queue", "limit=5", "limit"),
)
"""Endpoint, query, and the parameter that is named."""

BODIES: tuple[tuple[str, Any, str], ...] = (
    ("add_feed", {}, "url"),
    ("add_feed", FEED | {"url": "nonsense"}, "url"),
    ("add_feed", FEED | {"colour": "red"}, "colour"),
    ("add_feed", {"preset": "pypi-releases", "values": {}}, "values.package"),
    ("add_feed", b"{", "body"),
    ("import_feeds", b"<!DOCTYPE opml []><opml/>", "body"),
    ("bulk_feeds", {"action": "delete", **ENABLED}, "action"),
    ("bulk_feeds", {"action": "enable", "filter": {}}, "filter"),
    ("bulk_feeds", {"action": "enable", "filter": {"colour": "red"}}, "colour"),
    ("bulk_feeds", {"action": "tag", **ENABLED}, "tags"),
    ("bulk_feeds", {"action": "fetch", **ENABLED, "tags": ["a"]}, "tags"),
    ("bulk_feeds", {"action": "enable", **ENABLED, "cursor": "abc"}, "cursor"),
    ("add_tool", {"aliases": ["A"]}, "name"),
    ("change_tool", {"status": "MERGED"}, "status"),
    ("merge_tool", {}, "into"),
    ("preview_tool", {"name_rules": {"A": {}}}, "name_rules"),
    ("reanalyze_tool", {"apply": True, "analyzer": "embedded"}, "analyzer"),
    ("reanalyze_tool", {"apply": False, "analyzer": "vader"}, "analyzer"),
    ("reanalyze_tool", {"apply": False, "analyzer": "azure-language"}, "analyzer"),
    ("make_correction", {**ADA, "verdict": "right"}, "article"),
    ("make_correction", {**ADA, "article": "dedup:1", "verdict": "wrong"}, "verdict"),
    ("make_correction", {"author": "", "article": "dedup:1", "verdict": "right"}, "author"),
    ("acquire_document", {"force": True}, "force"),
    ("review_quarantine", {"reason": "x", "decision": "drop"}, "author"),
    ("review_quarantine", {**ADA, "decision": "drop"}, "reason"),
    ("split_article", {"source": "b"}, "author"),
    ("split_article", {**ADA, "source": "b", "reason": "x" * 1001}, "reason"),
    ("split_story", {**ADA, "articles": ["dedup:1", 2]}, "articles"),
    ("join_stories", {**ADA, "story": "x"}, "event_id"),
    ("undo_grouping_correction", {}, "author"),
    ("redrive_queue", {"limit": 0}, "limit"),
    ("redrive_queue", {"most": 5}, "most"),
)
"""Endpoint, body, and the field that is named."""


async def test_what_is_wrong_is_400_with_its_name_and_nothing_is_sent(app: Container) -> None:
    await call("add_tool", body={"name": "Quorvia"})
    for name, given, field in (*QUERIES, *BODIES):
        query, body = (given, None) if (name, given, field) in QUERIES else ("", given)
        answer = await call(name, query, body, tool="Quorvia", **IDS)
        assert (answer.status, answer.mimetype) == (400, "application/problem+json"), (name, given, answer.body)
        assert (answer.json["field"], answer.sent) == (field, []), (name, given)
    assert (await call("list_feeds")).json["items"] == []


async def test_what_is_not_there_is_404(app: Container) -> None:
    for name in (
        "get_tool_sentiment",
        "list_tool_evidence",
        "get_tool_history",
        "delete_tool_cache",
        "list_tool_stories",
    ):
        assert (await call(name, tool="nobody")).status == 404, name
    await call("add_tool", body={"name": "Quorvia"})
    for body in ({"article": "dedup:0", "verdict": "right"}, {"source": "nowhere"}):
        assert (await call("make_correction", body={**ADA, **body}, tool="Quorvia")).status == 404, body
