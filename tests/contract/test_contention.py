"""Many workers add their sources to one article at once. On every store."""

import asyncio
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from models.article import LISTED_SOURCES, Article, Observation, attempt_key
from services.articles.entry_documents import SourceAttempt
from services.articles.identity import Source, candidate_of, entry_of
from services.articles.matching import KnownEntries
from services.articles.reading import Articles
from services.articles.sources import observations_of, sources_of
from services.articles.writing import ArticleWriter, Written
from services.ports import Store
from services.store.containers import ARTICLES
from tests.unit.articles.builders import raw

SOURCES = 200
STORES = 4


@pytest.mark.parametrize("priorities", ["equal", "different"])
async def test_two_hundred_sources_join_one_article_at_once(
    store: Store, another: Callable[[], Store], priorities: str
) -> None:
    stores = [store, *(another() for _ in range(STORES - 1))]
    chance = random.Random(1)
    now = datetime.now(UTC).replace(microsecond=0)
    attempts = []
    for number in range(SOURCES):
        priority = 999 if priorities == "equal" else chance.randint(1, 999)
        source = Source(f"feed-{number}", f"Feed {number}", priority)
        attempts.append(SourceAttempt(source, f"run-{number}", 1, now + timedelta(seconds=number % 7)))

    announced: list[str] = []

    async def announce(source_ids: Iterable[str], feed_id: str | None = None) -> None:
        announced.extend(source_ids)

    async def joined(number: int, attempt: SourceAttempt) -> Written:
        item = raw(1, article_id=f"feed-{number}-1", url=f"https://feed-{number}.example/1", published=now)
        candidate = candidate_of(entry_of(attempt.source, item), attempt.source, now)
        writer = ArticleWriter(stores[number % STORES], attempt, 86_400, announce, KnownEntries())
        return await writer.write([candidate])

    written = await asyncio.gather(*(joined(number, attempt) for number, attempt in enumerate(attempts)))
    (source_id,) = {name for each in written for name in each.due}
    assert set(announced) == {source_id}
    assert sum(each.created for each in written) == 1

    document = await store.read(ARTICLES.name, source_id, Article.ID)
    assert document is not None
    assert len(orjson.dumps(document)) < 12_000
    assert len(document["sources"]) == LISTED_SOURCES
    stored = Article.from_document(document)
    whole = await sources_of(store, stored)
    assert (set(whole.sources), whole.source_count) == ({each.source.key for each in attempts}, SOURCES)
    observed = [Observation.from_document(each) for each in await observations_of(store, source_id)]
    assert sorted(each.source for each in observed) == sorted(each.source.key for each in attempts)
    assert {each.added_by_attempt for each in observed} == {
        attempt_key(each.run_id, each.source.key, 1) for each in attempts
    }
    assert sum(each.created_article is True for each in observed) == 1

    best = max(observed, key=lambda each: (-each.source_priority, each.scraped_at, each.id))
    assert (stored.canonical.source, stored.canonical.observation_id) == (best.source, best.id)


async def test_an_article_is_deleted_while_many_sources_join_it(store: Store, another: Callable[[], Store]) -> None:
    stores = [store, another()]
    now = datetime.now(UTC).replace(microsecond=0)

    async def announce(source_ids: Iterable[str], feed_id: str | None = None) -> None:
        pass

    async def joined(number: int) -> Written:
        source = Source(f"feed-{number}", f"Feed {number}", 999)
        attempt = SourceAttempt(source, f"run-{number}", 1, now + timedelta(seconds=number % 7))
        item = raw(1, article_id=f"feed-{number}-1", url=f"https://feed-{number}.example/1", published=now)
        candidate = candidate_of(entry_of(source, item), source, now)
        writer = ArticleWriter(stores[number % 2], attempt, 86_400, announce, KnownEntries())
        return await writer.write([candidate])

    first = [await joined(number) for number in range(30)]
    (source_id,) = {name for each in first for name in each.due}
    articles = Articles(stores[1], lambda: now)
    await asyncio.gather(*(joined(number) for number in range(30, 90)), articles.delete(source_id))
    document = await store.read(ARTICLES.name, source_id, Article.ID)
    assert document is not None
    assert Article.from_document(document).deleted_at == now
    assert await observations_of(store, source_id) == []
