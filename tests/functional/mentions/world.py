"""Articles, tools and workers. A worker may die at any write, and its message is then delivered again."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from models.article import Article
from models.correction import Correction
from models.errors import Unavailable
from models.mention import SentimentScore
from models.request import SignedBody
from models.resources.corrections import NewCorrectionBody
from models.run import JobRun
from models.tally import Tally
from models.timeline import Timeline
from models.tool import Tool
from models.values import hour_key
from services.archive.folder import FolderArchive
from services.container import Container
from services.fetch.outcome import credentials_in
from services.figures.recount import Recount
from services.mentions.analyzers.port import Analyzer, Analyzers, Judgement, NotJudged, Passage, PassageJudgement
from services.mentions.due import ANALYSIS_STAGE
from services.mentions.writing import Analysis
from services.operations.traffic import StoreTraffic
from services.ports import Archive, Query, Store, Where
from services.settings import Settings
from services.store.containers import ARTICLES, MENTIONS, RUNS
from services.tools.catalog import new_tool
from services.work.announcing import Announcer
from services.work.handling import Handler
from services.work.stage import MAX_TRIES
from tests.builders import MemoryQueues, existing, forgetful
from tests.documents import article, by_hour, reading
from tests.failing_stores import Crash, mortal


class Words:
    """An analyzer: a text with "good" is positive, with "bad" negative; the other way round if it is `turned`. One with
    the `curse` cannot be judged, one with `down_for` makes it fail, and one with "deadly" kills the worker."""

    name = "words"

    def __init__(self, version: str = "1", languages: frozenset[str] = frozenset({"en"})) -> None:
        self.version = version
        self.languages = languages
        self.is_down = False
        self.down_for = ""
        self.outage = Unavailable("the analyzer did not answer")
        self.turned = False
        self.curse = "cursed"

    async def analyze(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        if self.is_down or (self.down_for and any(self.down_for in each.text for each in passages)):
            raise self.outage
        return [judged_alike(each, self.judged(each.text)) for each in passages]

    def judged(self, text: str) -> Judgement | NotJudged:
        if "deadly" in text:
            raise Crash
        if self.curse in text:
            return NotJudged("cursed text")
        polarity = (("good" in text) - ("bad" in text)) * (-1 if self.turned else 1)
        return Judgement(("neutral", "positive", "negative")[polarity], 0.9, polarity * 0.5)

    async def close(self) -> None:
        """Nothing to release."""


def judged_alike(passage: Passage, judgement: Judgement | NotJudged) -> PassageJudgement:
    """Every tool as the whole passage."""
    return PassageJudgement(judgement, dict.fromkeys(passage.names, judgement))


class Worker:
    """The services of one process, as the app has them."""

    def __init__(self, services: Container) -> None:
        self.services = services
        mentions, workflows, figures = services.mentions, services.workflows, services.figures
        self.catalog, self.articles = services.tools, services.articles
        self.watchlist, self.writer, self.corrections = mentions.watchlist, mentions.writer, mentions.corrections
        work = Analysis(self.writer, services.clock).work
        self.analysis = Handler(ANALYSIS_STAGE, work, services.store, Announcer(services.queues), services.clock)
        self.workflows, self.changes = workflows.driver, workflows.changes
        self.correcting = workflows.correction_changes
        self.grouping, self.grouper = workflows.grouping_changes, services.stories.grouping
        self.recount, self.generations = figures.recount, figures.generations

    async def delete(self, source_id: str) -> None:
        await self.changes.delete_article(source_id)

    async def correct(self, tool: Tool, source_id: str, verdict: str, author: str = "Ada") -> Correction:
        fields = {"article": source_id, "verdict": verdict, "author": author}
        return (await self.correcting.make(tool.tool_id, NewCorrectionBody.checked(fields)))[1]

    async def undo(self, tool: Tool, correction_id: str, author: str = "Ada") -> Correction:
        return (await self.correcting.undo(tool.tool_id, correction_id, SignedBody(author=author, reason="a mistake")))[
            1
        ]


class World:
    everything = Query(limit=1000)
    every_tool = Query((Where("entity_type", "eq", "Tool"),), limit=1000)
    SETTINGS = MappingProxyType({"CACHE_MEMORY_SECONDS": "0"})

    def __init__(self, store: Store, watch: Any, archive: Archive | None = None) -> None:
        """Without `archive` there are no full texts. `watch` is a settable clock with `now`."""
        self.store = store
        self.watch = watch
        self.analyzer = Words()
        self.other_analyzers: dict[str, Callable[[], Analyzer]] = {}
        self.queues = MemoryQueues()
        self.archive = archive or FolderArchive(Path(tempfile.gettempdir()) / "toolpulse-no-archive")
        self._ids = itertools.count(1)
        self.worker = self.new_worker()

    def new_worker(self, store: Store | None = None, archive: Archive | None = None) -> Worker:
        services = Container(
            settings=Settings.load(dict(self.SETTINGS), ()),
            clock=self.watch,
            store=store or self.store,
            queues=self.queues,
            archive=archive or self.archive,
            analyzers=Analyzers("words", {"words": lambda: self.analyzer, **self.other_analyzers}),
            apis={},
            apis_off=(),
            credentials=credentials_in({}),
            traffic=StoreTraffic(self.store, self.watch),
            last_write=object,
            connections=1,
            started=self.watch(),
            resources=contextlib.AsyncExitStack(),
        )
        services.announcer = forgetful(self.queues)
        return Worker(services)

    async def tool(self, name: str, *aliases: str, **fields: Any) -> Tool:
        return await self.worker.catalog.add(new_tool({"name": name, "aliases": list(aliases), **fields}))

    async def article(self, number: int, headline: str, text: str = "", **fields: Any) -> str:
        """Stores an article as ingestion stores a new one."""
        now = self.watch.now
        stored = article(
            dedup_key=f"{number:032x}",
            created_at=now,
            headline=headline,
            matched_tickers=(),
            text_for_analysis=text or None,
            **{
                "timestamp": now - timedelta(minutes=number),
                "analysis_due_since": now,
                "canonical": reading(headline=headline, revision=f"r{next(self._ids)}"),
                **fields,
            },
        )
        await self.store.create(ARTICLES.name, stored.to_document())
        return stored.source_id

    async def given_up(self, source_ids: Sequence[str]) -> None:
        """Analyses articles until they are errors."""
        for _ in range(MAX_TRIES):
            await self.delivered(source_ids)
            self.watch.advance(minutes=10)

    async def edit(self, source_id: str, headline: str) -> None:
        """Changes an article as ingestion stores an edit."""
        before = await self.read(source_id)
        canonical = reading(headline=headline, revision=f"r{next(self._ids)}")
        after = before.changed(self.watch.now, canonical=canonical, analysis_due_since=self.watch.now)
        await self.store.replace(ARTICLES.name, after.to_document(), before.stored_etag or "")

    async def read(self, source_id: str) -> Article:
        document = await existing(self.store, ARTICLES.name, source_id, Article.ID)
        return Article.from_document(document)

    async def run(self, run: JobRun) -> JobRun:
        """Advances the run to its end, as the queue does."""
        while await self.worker.workflows.advance(run.run_id) is None:
            pass
        document = await existing(self.store, RUNS.name, run.run_id, JobRun.ID)
        return JobRun.from_document(document)

    async def dying(self, writes: int, work: Any) -> bool:
        """Does `work` in a worker that dies after so many writes. Whether it survived."""
        with contextlib.suppress(Crash):
            await work(self.new_worker(mortal(self.store, writes)))
            return True
        return False

    async def delivered(self, source_ids: Sequence[str]) -> None:
        """Delivers their message."""
        await self.worker.analysis.handle(source_ids)

    async def mentions(self, tool: Tool) -> dict[str, SentimentScore]:
        """The tool's mentions that count, by article."""
        page = await self.store.query(MENTIONS.name, Query(partition=tool.tool_id, limit=1000))
        found = [SentimentScore.from_document(document) for document in page.items]
        return {each.source_id: each for each in found if each.counts}

    async def is_counted(self, tool: Tool) -> None:
        """The timeline equals the mentions after a recount of the dirty hours."""
        await Recount(self.store).recount_tool(tool.tool_id, self.watch.now)
        document = await self.store.read("catalog", tool.tool_id, Timeline.ID)
        counted = by_hour(Timeline.from_document(document).hours) if document is not None else {}
        expected: dict[str, Tally] = {}
        for each in (await self.mentions(tool)).values():
            hour = hour_key(each.published_at)
            expected[hour] = expected.get(hour, Tally()).plus(Tally.of(each.sentiment, each.polarity))
        assert counted == expected
