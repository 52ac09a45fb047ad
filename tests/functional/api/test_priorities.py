"""A source's priority is changed: everything that is read by priorities follows, also what was taken in before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.errors import Unavailable
from models.run import JobRun
from services.articles.sources import observations_of
from services.container import Container
from services.feeds.lists import apply_yaml
from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.ports import Store
from tests.builders import existing
from tests.failing_stores import Crash, mortal, unheard
from tests.functional.api.conftest import Answer, call
from tests.functional.api.world import app_with_feeds, fetch_all
from tests.functional.articles.world import item, rss
from tests.functional.mentions.world import World as Analysing

NOW = datetime.now(UTC) - timedelta(hours=1)
TEXTS = {
    "good": "A great success, excellent and wonderful.",
    "bad": "Users hate Quorvia. Quorvia crashes and loses data.",
}


@pytest.fixture
async def ingested(environment: pytest.MonkeyPatch) -> AsyncIterator[Container]:
    """An article of two sources, the first of which says good things and counts, and one of the first alone."""
    environment.setenv("CACHE_MEMORY_SECONDS", "0")

    def document(name: str) -> str:
        headlines = ["Quorvia publishes its planner", "Quorvia opens its new offices"][: 2 if name == "good" else 1]
        more: dict[str, Any] = {"text": f"Quorvia: {TEXTS[name]}", "published": NOW, "guid": None}
        entries = [item(n, title=each, link=f"https://{name}.example/{n}", **more) for n, each in enumerate(headlines)]
        return rss(entries).decode()

    feeds = {"good": {"source_priority": 5}, "bad": {"source_priority": 6}}
    async with app_with_feeds(environment, document, feeds) as app:
        await fetch_all(app)
        yield app


def worker(app: Container, store: Store) -> Container:
    """Another worker of the app, with this store."""
    analysing = Analysing(app.store, app.clock)
    analysing.other_analyzers["words"] = EmbeddedAnalyzer
    return analysing.new_worker(store).services


async def shared(view: str = "default") -> Mapping[str, Any]:
    items = (await call("list_articles", f"source=bad&view={view}")).json["items"]
    (article,) = items
    return dict(article)


async def patched(app: Container, **fields: Any) -> Answer:
    """The answer to a change of `bad`, whose run, if there is one, was carried out."""
    answer = await call("change_feed", body=fields, feed_id="bad")
    assert answer.status == 200
    for message in answer.sent:
        await app.workflows.driver.advance(message["run_id"])
    return answer


async def mentions(app: Container) -> set[str]:
    return {each["mention"]["sentiment"] for each in (await call("list_tool_articles", tool="Quorvia")).json["items"]}


async def negative_mentions() -> int:
    """As an aggregate serves them, from the cache if it can."""
    served: int = (await call("get_tool_sentiment", "period=DAY_30", tool="Quorvia")).json["negative_count"]
    return served


async def test_the_best_source_is_read_and_scored_as_soon_as_it_is_the_best(ingested: Container) -> None:
    assert ((await shared())["canonical"]["source"], await mentions(ingested)) == ("good", {"positive"})
    assert await negative_mentions() == 0
    answer = await patched(ingested, source_priority=1)
    assert await negative_mentions() == 1
    article = await shared()
    assert (article["canonical"]["source"], article["canonical"]["source_priority"]) == ("bad", 1)
    assert {key: each["source_priority"] for key, each in article["source_attribution"].items()} == {
        "good": 5,
        "bad": 1,
    }
    assert TEXTS["bad"] in article["text_for_analysis"]
    assert (article["sentiment"], await mentions(ingested)) == ("negative", {"positive", "negative"})
    assert article["headline"] == "Quorvia publishes its planner"
    run = (await call("get_run", run_id=answer.json["run_id"])).json
    assert (run["workflow_name"], run["status"], run["subject"]) == ("apply_source_priority", "SUCCEEDED", "bad")
    assert run["metrics"] == {"articles": 1, "analyzed": 1, "failed": 0}

    await patched(ingested, source_priority=999)
    article = await shared()
    assert (article["canonical"]["source"], article["sentiment"]) == ("good", "positive")
    assert TEXTS["good"] in article["text_for_analysis"]


async def test_only_another_priority_has_a_run(ingested: Container) -> None:
    for change in ({"source_priority": 6}, {"source_name": "Bad"}, {}):
        answer = await patched(ingested, **change)
        assert (answer.sent, "run_id" in answer.json) == ([], False)
    runs = (await call("list_runs")).json["items"]
    assert {each["workflow_name"] for each in runs} == {"ingest_feeds", "backfill_tools"}


@pytest.mark.parametrize("writes", [2, 3, 5, 7])
async def test_what_died_on_the_way_is_finished_by_the_run_that_was_stored_first(
    ingested: Container, writes: int
) -> None:
    dying = worker(ingested, mortal(ingested.store, writes)).workflows

    async def changed() -> None:
        _, run = await dying.changes.change_feed("bad", {"source_priority": 1})
        await dying.driver.advance(run.run_id if run else "")

    assert await negative_mentions() == 0
    with pytest.raises(Crash):
        await changed()
    for each in (await call("list_runs")).json["items"]:  # as clean_up does
        await ingested.workflows.driver.advance(each["run_id"])
    assert (await call("get_feed", feed_id="bad")).json["source_priority"] == 1
    article = await shared("full")
    assert article["canonical"]["source"] == "bad"
    assert article["analyzed_revision"] == article["canonical"]["revision"]
    assert TEXTS["bad"] in article["text_for_analysis"]
    assert await negative_mentions() == 1


async def test_a_change_whose_answer_was_lost_is_followed_by_its_run(ingested: Container) -> None:
    """Asked for again, as the answer says, it is so already, and there is nothing to do."""
    unlucky = worker(ingested, unheard(ingested.store, 1))
    with pytest.raises(Unavailable):
        await unlucky.workflows.changes.change_feed("bad", {"source_priority": 1})
    assert (await call("get_feed", feed_id="bad")).json["source_priority"] == 1
    for each in (await call("list_runs")).json["items"]:  # as clean_up does
        await ingested.workflows.driver.advance(each["run_id"])
    assert (await shared())["canonical"]["source"] == "bad"


async def test_an_article_that_cannot_be_read_does_not_hold_up_the_others(ingested: Container) -> None:
    broken = await existing(ingested.store, "articles", (await shared())["source_id"], "article")
    other = {**broken, "source_id": "dedup:" + "0" * 32, "dedup_key": "0" * 32, "timestamp": "2026-01-01T00:00:00Z"}
    await ingested.store.upsert("articles", {**other, "headline": ""})
    other |= {"source_id": "dedup:" + "1" * 32, "dedup_key": "1" * 32}
    bare = {**broken["source_attribution"]["bad"]}
    del bare["revision"]
    await ingested.store.upsert(
        "articles", {**other, "source_attribution": {**other["source_attribution"], "bad": bare}}
    )
    observed = next(
        each for each in await observations_of(ingested.store, broken["source_id"]) if each["source"] == "bad"
    )
    for name in ("0" * 32, "1" * 32):
        await ingested.store.upsert("articles", {**observed, "source_id": f"dedup:{name}"})
    answer = await patched(ingested, source_priority=1)
    run = (await call("get_run", run_id=answer.json["run_id"])).json
    assert (run["status"], run["metrics"]) == ("PARTIAL", {"articles": 3, "analyzed": 1, "failed": 2})
    article = await call("get_article", article_id=broken["source_id"])
    assert article.json["canonical"]["source"] == "bad"


async def test_a_list_of_feeds_that_says_another_priority_has_a_run_for_each(ingested: Container) -> None:
    url = (await call("get_feed", feed_id="bad")).json["url"]
    runs: list[JobRun] = []

    async def change(feed_id: str, said: Mapping[str, Any]) -> Any:
        feed, run = await ingested.workflows.changes.change_feed(feed_id, said)
        runs.extend([run] if run else [])
        return feed

    document = f"feeds: [{{url: '{url}', source_name: bad, source_priority: 2}}]".encode()
    report = await apply_yaml(ingested.feeds.registry, document, ingested.clock(), change)
    assert ([each.feed_id for each in report.changed], [each.subject for each in runs]) == (["bad"], ["bad"])
    report = await apply_yaml(ingested.feeds.registry, document, ingested.clock(), change)
    assert [each.feed_id for each in report.known] == ["bad"]
    assert len(runs) == 1
