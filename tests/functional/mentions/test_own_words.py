"""Each source of an article is judged by what it wrote itself, also after crashes, races and corrections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from models.article import Article
from models.resources.articles import ObservationResource
from models.tool import Tool
from services.articles.reading import Articles
from services.figures.coverage import Coverage
from services.figures.history import History
from services.figures.points import span_of
from services.figures.recount import Recount
from services.mentions.listing import mentions_of_article
from services.ports import Upsert
from services.store.containers import ARTICLES
from tests.builders import existing
from tests.documents import attribution, observation, reading
from tests.functional.mentions.world import World

URL = "https://{source}.example/1"


@dataclass
class Newsroom:
    """An article that says good of Quorvia, and the sources that join it."""

    world: World
    quorvia: Tool
    article: str

    async def joined(self, source: str, text: str, revision: str | None = None, **fields: Any) -> None:
        """As ingestion stores that a source published the article in these words; its priority is worse."""
        before = await self.world.read(self.article)
        now, revision = self.world.watch.now, revision or f"r-{source}"
        headline = fields.pop("headline", before.headline)
        own = attribution(
            url=URL.format(source=source), crawl_timestamp=now, scraped_at=now, revision=revision, article_id=source
        )
        after = before.changed(
            now,
            sources=tuple(dict.fromkeys((*before.sources, source))),
            source_attribution={**before.source_attribution, source: own},
            analysis_due_since=now,
        )
        observed = observation(
            source_id=self.article,
            source=source,
            observed_day=f"{now:%Y-%m-%d}",
            scraped_at=now,
            url=URL.format(source=source),
            headline=headline,
            text=text,
            revision=revision,
            **fields,
        )
        batch = [Upsert(after.to_document()), Upsert(observed.to_document())]
        await self.world.store.batch(ARTICLES.name, self.article, batch)

    async def by_source(self) -> dict[str, tuple[str | None, list[tuple[str, str | None]] | None]]:
        """What each source says in general and of its tools, as the API shows it."""
        article = await self.world.read(self.article)
        mentions = await mentions_of_article(self.world.store, self.world.worker.catalog, article)
        observations = await Articles(self.world.store, self.world.watch).observations(article)
        shown = [ObservationResource.of(each, article, mentions.items).shown() for each in observations.items]
        return {
            each["source"]: (
                each["sentiment"],
                None if each["tools"] is None else [(tool["tool"], tool["sentiment"]) for tool in each["tools"]],
            )
            for each in shown
        }

    async def said(self) -> dict[str | None, tuple[int, ...]]:
        """Positive, negative, neutral and unscored mentions of Quorvia in the raw history, by source."""
        store, watch = self.world.store, self.world.watch
        raw = History(store, Recount(store), Coverage(store))
        found = await raw.raw(self.quorvia.tool_id, span_of({}, 1, "day", watch()))
        names = ("positive_count", "negative_count", "neutral_count", "unscored_mentions")
        return {each.source: tuple(each.figures[name] for name in names) for each in found.points}

    async def delivered(self) -> None:
        await self.world.delivered([self.article])


POSITIVE, NEGATIVE, NEUTRAL, UNSCORED = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)


@pytest.fixture
async def news(world: World) -> Newsroom:
    """Tiingo says good of Quorvia, and its article was analysed."""
    quorvia = await world.tool("Quorvia")
    article = await world.article(1, "Quorvia is out")
    news = Newsroom(world, quorvia, article)
    read = await world.read(article)
    canonical = reading(headline="Quorvia is out", revision="r-tiingo")
    changed = read.changed(world.watch.now, canonical=canonical, text_for_analysis="Quorvia is good.")
    await world.store.replace(ARTICLES.name, changed.to_document(), read.stored_etag or "")
    await news.joined("tiingo", "Quorvia is good.")
    await news.delivered()
    return news


async def test_each_source_is_judged_by_its_own_words(news: Newsroom) -> None:
    await news.joined("bad", "Quorvia is bad.")
    await news.joined("same", "Quorvia is good.", revision="r-tiingo")
    await news.joined("silent", "Others are bad.", headline="A release is out")
    await news.joined("german", "Quorvia ist bad.", language="de")
    await news.delivered()
    assert await news.said() == {"tiingo": POSITIVE, "bad": NEGATIVE, "same": POSITIVE, "german": UNSCORED}
    assert await news.by_source() == {
        "tiingo": ("positive", [("Quorvia", "positive")]),
        "bad": ("negative", [("Quorvia", "negative")]),
        "same": ("positive", [("Quorvia", "positive")]),
        "silent": ("negative", []),
        "german": (None, [("Quorvia", None)]),
    }
    mention = (await news.world.mentions(news.quorvia))[news.article]
    assert (mention.sentiment, set(mention.other_words or ())) == ("positive", {"r-bad", "r-silent", "r-german"})
    article = await news.world.read(news.article)
    assert article.sentiment == "positive"
    assert "other_words" not in article.shown()
    await news.world.is_counted(news.quorvia)


async def test_a_source_that_edits_its_words_is_judged_anew(news: Newsroom) -> None:
    await news.joined("other", "Quorvia is bad.")
    await news.delivered()
    await news.joined("other", "Quorvia is there.", revision="r-edited")
    await news.delivered()
    assert await news.said() == {"tiingo": POSITIVE, "other": NEUTRAL}
    assert set((await news.world.read(news.article)).other_words or ()) == {"r-edited"}


async def test_a_reanalysis_judges_the_own_words_of_all_sources_again(news: Newsroom) -> None:
    await news.joined("bad", "Quorvia is bad.")
    await news.delivered()
    news.world.analyzer.turned, news.world.analyzer.version = True, "2"
    await news.world.run(await news.world.worker.changes.reanalyze("Quorvia"))
    assert await news.said() == {"tiingo": NEGATIVE, "bad": POSITIVE}
    assert await news.by_source() == {
        "tiingo": ("negative", [("Quorvia", "negative")]),
        "bad": ("positive", [("Quorvia", "positive")]),
    }


async def test_a_correction_holds_for_sources_that_say_the_same_of_the_tool(news: Newsroom) -> None:
    await news.joined("longer", "Quorvia is good. Nothing else is said.")
    await news.joined("bad", "Quorvia is bad.")
    await news.delivered()
    await news.world.worker.correct(news.quorvia, news.article, "neutral")
    assert await news.said() == {"tiingo": NEUTRAL, "longer": NEUTRAL, "bad": NEGATIVE}
    await news.world.worker.correct(news.quorvia, news.article, "not_this_tool")
    assert await news.said() == {}


async def test_a_deletion_leaves_nothing_of_what_sources_said(news: Newsroom) -> None:
    await news.joined("bad", "Quorvia is bad.")
    await news.delivered()
    await news.world.worker.delete(news.article)
    assert await news.said() == {}
    document = await existing(news.world.store, ARTICLES.name, news.article, Article.ID)
    assert "other_words" not in document
