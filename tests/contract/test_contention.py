"""Many workers add their sources to one article at once. On every store."""

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from models.article import Article, Observation, attempt_key
from models.errors import Contended
from services import deadline
from services.articles.identity import Source, SourceAttempt, candidate_of, entry_of
from services.articles.matching import KnownEntries
from services.articles.sources import observations_of
from services.articles.writing import ArticleWriter, Asked, Writing
from services.feeds.outcome import Ingested
from services.ports import Store
from services.store import change
from services.store.containers import ARTICLES
from tests.unit.articles.builders import raw

SOURCES = 50
STORES = 4


class Sources:
    """Feeds that bring one article, the first at `now`. What they announce is in `announced`."""

    def __init__(self, *stores: Store) -> None:
        self.stores = stores
        self.processes = [Writing(store, self._announce, self._discover) for store in stores]
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.announced: set[str] = set()

    async def joined(self, number: int, priority: int = 999) -> Ingested:
        source = Source(f"feed-{number}", f"Feed {number}", priority)
        attempt = SourceAttempt(source, f"run-{number}", 1, self.now + timedelta(seconds=number % 7))
        item = raw(1, article_id=f"feed-{number}-1", url=f"https://feed-{number}.example/1", published=self.now)
        candidate = candidate_of(entry_of(source, item), source, self.now)
        writer = ArticleWriter(self.processes[number % len(self.processes)], attempt, KnownEntries())
        await writer.write([candidate])
        return writer.done

    async def _announce(self, source_ids: Iterable[str], feed_id: str | None = None, before: int = 0) -> None:
        self.announced.update(source_ids)

    async def _discover(self, asked: Sequence[Asked]) -> None:
        """These feeds ask for no full texts."""


@pytest.mark.parametrize("priorities", ["equal", "different"])
async def test_fifty_sources_join_one_article_at_once(
    store: Store, another: Callable[[], Store], priorities: str
) -> None:
    sources = Sources(store, *(another() for _ in range(STORES - 1)))
    chance = random.Random(1)
    priority = {n: 999 if priorities == "equal" else chance.randint(1, 999) for n in range(SOURCES)}
    written = await asyncio.gather(*(sources.joined(number, each) for number, each in priority.items()))
    (source_id,) = {name for each in written for name in each.due}
    assert sources.announced == {source_id}
    assert sum(each.created for each in written) == 1

    document = await store.read(ARTICLES.name, source_id, Article.ID)
    assert document is not None
    stored = Article.from_document(document)
    assert set(stored.sources) == {f"feed-{n}" for n in priority}
    observed = [Observation.from_document(each) for each in await observations_of(store, source_id)]
    assert sorted(each.source for each in observed) == sorted(f"feed-{n}" for n in priority)
    assert {each.added_by_attempt for each in observed} == {attempt_key(f"run-{n}", f"feed-{n}", 1) for n in priority}
    assert sum(each.created_article is True for each in observed) == 1

    best = max(observed, key=lambda each: (-each.source_priority, each.scraped_at, each.stored_ms or 0, each.id))
    assert (stored.canonical.source, stored.canonical.observation_id) == (best.source, best.id)


async def test_sources_of_one_process_join_in_turn(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change, "ROUNDS", 3)
    sources = Sources(store)
    await asyncio.gather(*(sources.joined(number) for number in range(SOURCES)))


async def test_no_source_waits_for_its_turn_beyond_the_deadline(store: Store) -> None:
    sources, seconds = Sources(store), 0.0
    async with sources.processes[0].in_turn:
        with deadline.within(10.0, clock=lambda: seconds):
            seconds = 8.0
            work = asyncio.gather(*(sources.joined(number) for number in range(9)), return_exceptions=True)
            ends = await asyncio.wait_for(work, 30)
    assert {type(each) for each in ends} == {Ingested, Contended}
