"""Sentiment as it is answered over HTTP, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.cache import SentimentCacheEntry, entry_id
from models.tool import Tool
from services.container import Container
from services.mentions.due import RefreshMessage, mark_dirty
from services.store.containers import ARTICLES, CATALOG, MENTIONS, SENTIMENT_CACHE
from services.work.stage import MAX_TRIES
from tests.builders import existing
from tests.documents import article
from tests.functional.api.conftest import call
from tests.functional.figures.world import a_mention, a_tool, everything
from triggers.bindings import LONGEST_KEPT

NOW = datetime.now(UTC).replace(microsecond=0)
TOOL = a_tool(0, NOW - timedelta(days=40), primary_name="Visual Studio Code")


async def _say(app: Container, source_id: str, published_at: datetime, sentiment: Any, tool: Tool = TOOL) -> None:
    mention = a_mention(tool.tool_id, source_id, published_at, sentiment)
    await app.store.upsert(MENTIONS.name, mention.to_document())
    await mark_dirty(app.store, {tool.tool_id: [published_at]}, NOW)


@pytest.fixture
def environment(environment: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without memory, so that what the store says shows at once."""
    environment.setenv("CACHE_MEMORY_SECONDS", "0")
    return environment


@pytest.fixture
async def watched(app: Container) -> Container:
    await app.store.create(CATALOG.name, TOOL.to_document())
    await app.tools.claim(TOOL.primary_name, TOOL)
    await _say(app, "one", NOW - timedelta(hours=2), "positive")
    await _say(app, "two", NOW - timedelta(hours=3), "negative")
    await _say(app, "three", NOW - timedelta(days=3), "neutral")
    return app


async def test_an_aggregate_is_the_specifications_entry_with_additional_fields(watched: Container) -> None:
    missed = await call("get_tool_sentiment", tool="visual studio  code")
    assert (missed.status, missed.headers["X-Cache"], missed.mimetype) == (200, "MISS", "application/json")
    body = missed.json
    assert body["id"] == f"{TOOL.tool_id}:HOUR_24"
    assert (body["tool"], body["tool_id"], body["period"]) == (TOOL.primary_name, TOOL.tool_id, "HOUR_24")
    assert (body["total_mentions"], body["positive_count"], body["negative_count"], body["neutral_count"]) == (
        2,
        1,
        1,
        0,
    )
    assert (body["positive_percentage"], body["negative_percentage"], body["neutral_percentage"]) == (50.0, 50.0, 0.0)
    assert body["average_sentiment"] == 0.125
    assert body["period_end_ts"] - body["period_start_ts"] == 86400
    assert 0 < body["period_end_ts"] - body["last_updated_ts"] <= 60
    assert (body["is_stale"], body["coverage"]) == (False, None)
    hit = await call("get_tool_sentiment", "hours=24", tool=TOOL.tool_id)
    assert (hit.headers["X-Cache"], hit.json) == ("HIT", body)
    assert 0 <= int(hit.headers["Age"]) < 60
    assert missed.sent == hit.sent == []


async def test_evidence_and_the_articles_of_a_tool_are_filtered_by_sentiment(watched: Container) -> None:
    for number in range(2):
        await _say(watched, f"fremd-{number}", NOW - timedelta(hours=1 + 4 * number), "unscored")
    for sentiment, ids in (("unscored", ["fremd-0", "fremd-1"]), ("negative", ["two"]), ("neutral", [])):
        query = f"sentiment={sentiment}&hours=24"
        listed = (await call("list_tool_evidence", query, tool=TOOL.tool_id)).json["items"]
        assert [each["source_id"] for each in listed] == ids
    assert {each["sentiment"] for each in listed} <= {None}
    everything = (await call("list_tool_evidence", "hours=24", tool=TOOL.tool_id)).json["items"]
    assert [each["unscored_reason"] for each in everything] == ["LANGUAGE", None, None, "LANGUAGE"]
    unscored = article(status="analyzed", unscored_reason="LANGUAGE", created_at=NOW, timestamp=NOW)
    await watched.store.create(unscored.CONTAINER, unscored.to_document())
    await _say(watched, unscored.source_id, NOW - timedelta(hours=1), "unscored")
    for sentiment, ids in (("unscored", [unscored.source_id]), ("positive", [])):
        listed = (await call("list_tool_articles", f"sentiment={sentiment}", tool=TOOL.tool_id)).json["items"]
        assert [each["source_id"] for each in listed] == ids
        listed = (await call("list_articles", f"sentiment={sentiment}")).json["items"]
        assert [each["source_id"] for each in listed] == ids


async def test_a_figure_names_its_analyzers_and_offers_a_reanalysis_if_one_is_not_the_present_one(
    watched: Container,
) -> None:
    present = watched.figures.analyzer()
    body = (await call("get_tool_sentiment", tool=TOOL.tool_id)).json
    assert (body["analyzers"], body["reanalysis_offered"]) == (["embedded/1"], True)
    assert (await call("get_tool", tool=TOOL.tool_id)).json["reanalysis_offered"] is True
    history = (await call("get_tool_history", "days=7", tool=TOOL.tool_id)).json
    assert history["reanalysis_offered"] is True
    for each in await everything(watched.store, MENTIONS.name):
        name, _, version = present.partition("/")
        await watched.store.upsert(MENTIONS.name, {**each, "analyzer": name, "analyzer_version": version})
    await watched.figures.recount.rebuild_tool(TOOL.tool_id, NOW)
    await watched.figures.generations.raise_(TOOL.tool_id)
    body = (await call("get_tool_sentiment", tool=TOOL.tool_id)).json
    assert (body["analyzers"], body["reanalysis_offered"]) == ([present], False)
    assert (await call("get_tool", tool=TOOL.tool_id)).json["reanalysis_offered"] is False
    history = (await call("get_tool_history", "days=7", tool=TOOL.tool_id)).json
    assert history["reanalysis_offered"] is False
    assert {name for point in history["items"] for name in point["analyzers"]} == {present}


async def test_every_figure_says_whether_it_counts_all_articles_also_after_an_analysis_has_failed(
    watched: Container,
) -> None:
    async def served() -> list[tuple[int | None, int | None, bool]]:
        bodies = [(await call(name, tool=TOOL.tool_id)).json for name in ("get_tool_sentiment", "list_tool_evidence")]
        bodies += [(await call("get_tool_history", query, tool=TOOL.tool_id)).json for query in ("", "layer=raw")]
        bodies += (await call("list_latest_sentiment")).json["items"]
        bodies.append((await call("get_cache_health")).json)
        return [(each["pending_articles"], each["failed_articles"], each["complete"]) for each in bodies]

    assert await served() == [(0, 0, True)] * 6
    tag = (await call("get_tool_sentiment", tool=TOOL.tool_id)).headers["ETag"]
    stored = article(created_at=NOW, timestamp=NOW, analysis_due_since=NOW)
    await watched.store.create(ARTICLES.name, stored.to_document())
    assert await served() == [(1, 0, False)] * 6
    assert (await call("get_tool_sentiment", if_none_match=tag, tool=TOOL.tool_id)).status == 200
    broken = {**stored.to_document(), "headline": None}
    await watched.store.upsert(ARTICLES.name, broken)
    await watched.mentions.analysis.handle([stored.source_id])
    assert await served() == [(1, 0, False)] * 6
    await watched.store.upsert(ARTICLES.name, {**broken, "analysis_attempts": MAX_TRIES - 1})
    await watched.mentions.analysis.handle([stored.source_id])
    assert await served() == [(0, 1, False)] * 6
    await watched.store.upsert(ARTICLES.name, stored.to_document())
    await watched.mentions.analysis.handle([stored.source_id])
    assert await served() == [(0, 0, True)] * 6


async def test_a_matching_etag_is_304(watched: Container) -> None:
    first = await call("get_tool_sentiment", tool=TOOL.tool_id)
    tag = first.headers["ETag"]
    for said in (tag, f'"other", W/{tag}', "*"):
        again = await call("get_tool_sentiment", if_none_match=said, tool=TOOL.tool_id)
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
        assert (again.headers["X-Cache"], again.headers["Cache-Control"]) == ("HIT", "no-cache")
        assert "Age" in again.headers
    other = await call("get_tool_sentiment", "hours=168", if_none_match=tag, tool=TOOL.tool_id)
    assert (other.status, other.json["total_mentions"]) == (200, 3)


async def test_a_long_if_none_match_is_not_kept_with_its_answer(watched: Container) -> None:
    recent = watched.figures.reader.recent
    recent.seconds = 60.0
    tag = (await call("get_tool_sentiment", tool=TOOL.tool_id)).headers["ETag"]
    for said, known in ((tag, [tag]), (f'{tag}, "{"x" * LONGEST_KEPT}"', [])):
        assert (await call("get_tool_sentiment", if_none_match=said, tool=TOOL.tool_id)).status == 304
        *_, aggregate = recent.kept[TOOL.tool_id, "HOUR_24"]
        assert [each for _, each, _ in aggregate.answers] == known


async def test_evidence_lists_the_mentions_behind_the_figure_page_by_page(watched: Container) -> None:
    figure = (await call("get_tool_sentiment", "hours=168", tool=TOOL.tool_id)).json
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await call(
            "list_tool_evidence", "hours=168&limit=1" + (f"&cursor={cursor}" if cursor else ""), tool=TOOL.tool_id
        )
        assert page.status == 200
        found += page.json["items"]
        cursor = page.json["next"]
        if cursor is None:
            break
        # The window of the first page stays, though what is said later is in the next entry.
        await _say(watched, "later", NOW, "positive")
        await watched.figures.generations.raise_(TOOL.tool_id)
    assert [each["source_id"] for each in found] == ["one", "two", "three"]
    assert len(found) == figure["total_mentions"]
    assert found[0]["sentiment"] == "positive"


async def test_evidence_says_which_figures_it_is_behind_and_whether_anything_has_changed_since(
    watched: Container,
) -> None:
    async def evidence(cursor: str = "") -> dict[str, Any]:
        answer = await call("list_tool_evidence", f"hours=168&limit=1{cursor}", tool=TOOL.tool_id)
        body: dict[str, Any] = answer.json
        return body

    figure = (await call("get_tool_sentiment", "hours=168", tool=TOOL.tool_id)).json
    first = await evidence()
    assert {name: first[name] for name in ("period_start_ts", "period_end_ts", "figures_updated_ts")} == {
        "period_start_ts": figure["period_start_ts"],
        "period_end_ts": figure["period_end_ts"],
        "figures_updated_ts": figure["last_updated_ts"],
    }
    assert first["changed_since"] is False
    await _say(watched, "four", NOW - timedelta(hours=5), "negative")
    assert (await evidence())["changed_since"] is True, "said, and not yet counted"
    entry = await existing(watched.store, SENTIMENT_CACHE.name, TOOL.tool_id, entry_id(TOOL.tool_id, "DAY_7"))
    moved = {name: entry[name] - 120 for name in ("period_start_ts", "period_end_ts", "last_updated_ts")}
    aged = SentimentCacheEntry.from_document({**entry, **moved}).changed(NOW - timedelta(seconds=120))
    await watched.figures.recount.recount_tool(TOOL.tool_id, NOW)
    await watched.store.upsert(SENTIMENT_CACHE.name, aged.to_document())
    assert (await evidence())["changed_since"] is True, "counted after these figures were"
    later = await evidence(f"&cursor={first['next']}")
    assert (later["period_end_ts"], later["figures_updated_ts"]) == (figure["period_end_ts"], None)


async def test_latest_has_one_row_for_each_tool(watched: Container) -> None:
    other = a_tool(1, NOW - timedelta(days=40), primary_name="A quiet tool")
    await watched.store.create(CATALOG.name, other.to_document())
    first = (await call("list_latest_sentiment", "period=DAY_7&limit=1")).json
    second = (await call("list_latest_sentiment", f"period=DAY_7&limit=1&cursor={first['next']}")).json
    rows = [*first["items"], *second["items"]]
    assert [(row["tool"], row["period"], row["total_mentions"]) for row in rows] == [
        ("A quiet tool", "DAY_7", 0),
        ("Visual Studio Code", "DAY_7", 3),
    ]
    assert second["next"] is None


async def test_deleting_a_cache_is_204_and_the_next_read_computes(watched: Container) -> None:
    await call("get_tool_sentiment", tool=TOOL.tool_id)
    for _ in range(2):
        gone = await call("delete_tool_cache", tool=TOOL.primary_name)
        assert (gone.status, gone.body) == (204, b"")
    await _say(watched, "four", NOW - timedelta(hours=4), "positive")
    again = await call("get_tool_sentiment", "view=full", tool=TOOL.tool_id)
    assert (again.headers["X-Cache"], again.json["total_mentions"], again.json["generation"]) == ("MISS", 3, 2)


async def test_a_refresh_is_a_run_whose_messages_do_it(watched: Container) -> None:
    accepted = await call("refresh_cache")
    assert accepted.status == 202
    run_id = accepted.json["run_id"]
    assert accepted.headers["Location"] == f"/api/v1/runs/{run_id}"
    assert (await call("get_run", "view=full", run_id=run_id)).json["invocation_id"] == "invocation of refresh_cache"
    assert accepted.sent == [{"tool_ids": [TOOL.tool_id], "run_id": run_id, "batch": "0001", "may_end": True}]
    for message in accepted.sent:
        await watched.figures.refresh.work(_message(message))
    run = (await call("get_run", run_id=run_id)).json
    assert (run["status"], run["progress"], run["metrics"]["entries_written"]) == ("SUCCEEDED", 1, 4)
    assert (await call("get_tool_sentiment", tool=TOOL.tool_id)).headers["X-Cache"] == "HIT"
    assert (await call("refresh_cache", body={"force": True})).status == 400


async def test_cache_health_lists_its_figures_and_the_stale_and_missing_entries(watched: Container) -> None:
    before = (await call("get_cache_health")).json
    assert (before["status"], before["last_refresh_ts"], before["missing_count"]) == ("healthy", None, 4)
    await watched.figures.refresh.tick()
    await call("get_tool_sentiment", tool=TOOL.tool_id)
    well = (await call("get_cache_health")).json
    assert (well["id"], well["tool_id"], well["status"], well["lacking"]) == ("metadata", "metadata", "healthy", [])
    assert (well["total_entries"], well["cache_hits_24h"], well["cache_misses_24h"]) == (4, 1, 0)
    assert (well["cache_hit_rate"], well["error_count_24h"], well["tools_refreshed"]) == (1.0, 0, [TOOL.tool_id])
    assert well["last_refresh_duration_ms"] >= 0
    hours = [each["hour"] for each in well["reads_by_hour"]]
    assert {hour[13:] for hour in hours} == {":00:00Z"}
    assert hours == sorted(set(hours))


async def test_metrics_are_prometheus_text_of_stored_counters(watched: Container) -> None:
    for _ in range(3):
        await call("get_tool_sentiment", tool=TOOL.tool_id)
    await watched.figures.counters.writer.flush()
    answer = await call("get_metrics")
    assert (answer.status, answer.mimetype) == (200, "text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    assert "toolpulse_cache_hits_total 2" in lines
    assert "toolpulse_cache_misses_total 1" in lines
    assert "toolpulse_cache_read_duration_seconds_count 3" in lines
    full = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    names = {name.removeprefix("toolpulse_") for name in full}
    assert full.isdisjoint(names), "every name has the prefix"
    assert names >= {
        "feed_fetch_duration_seconds",
        "articles_parsed_total",
        "articles_deduplicated_total",
        "articles_inserted_total",
        "feed_fetch_errors_total",
        "queue_size",
        "feed_velocity_articles_per_hour",
        "average_refresh_interval_seconds",
        "database_connection_pool_size",
        "memory_usage_bytes",
    }


def _message(said: dict[str, Any]) -> Any:
    return RefreshMessage(tuple(said["tool_ids"]), said.get("run_id"), said.get("batch"))
