"""After any sequence of changes of articles and tools, and any crashes, once every message was delivered again,
the mentions that count are those that detection finds in the articles, the timelines count them, and searches find the
articles by their words."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from models.errors import ToolpulseError
from models.resources.tools import ToolFields
from models.tool import Tool
from services.articles.reading import Articles, article_filter, article_words
from services.mentions.understanding import published_at
from services.store.sqlite import SqliteStore
from services.tools.catalog import IN_USE_FOR, tool_change
from services.tools.detector import Detector
from services.work.driver import WORKFLOWS_STAGE
from services.work.runs import LEASE
from tests.builders import Watch, overdue_keys
from tests.documents import NOW
from tests.failing_stores import Crash, mortal
from tests.functional.mentions.world import Worker, World

WORDS = ("Quorvia", "Tarnwick", "Lumenfold", "Corvane", "QV", "good", "bad", "news")
NAMES = ("Quorvia", "Tarnwick", "Lumenfold")
ALIASES = ("Corvane", "QV", "news")
text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
deaths = st.none() | st.integers(0, 14)


class Newsroom(RuleBasedStateMachine):
    articles = Bundle("articles")

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.watch = Watch(NOW)
        self.store = SqliteStore(Path(self.folder.name) / "toolpulse.db", self.watch)
        self.world = World(self.store, self.watch)
        self.undelivered: list[list[str]] = []
        self.count = 0
        for name in NAMES:
            self.do(self.world.tool(name))

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    def attempt(self, death: int | None, work: Any) -> bool:
        """Does `work` in a worker that may die after some writes. Whether it neither died nor raised our error."""
        worker = self.world.worker if death is None else self.world.new_worker(mortal(self.store, death))
        with contextlib.suppress(Crash, ToolpulseError):
            self.do(work(worker))
            return True
        return False

    @rule(target=articles, headline=text, body=text)
    def appear(self, headline: str, body: str) -> str:
        self.count += 1
        source_id: str = self.do(self.world.article(self.count, headline, body))
        self.undelivered.append([source_id])
        return source_id

    @rule(source_id=articles, headline=text)
    def edit(self, source_id: str, headline: str) -> None:
        if self.do(self.world.read(source_id)).deleted_at is None:
            self.do(self.world.edit(source_id, headline))
            self.undelivered.append([source_id])

    @rule(source_id=articles, death=deaths)
    def delete(self, source_id: str, death: int | None) -> None:
        """The caller repeats the request until it succeeds."""
        self.attempt(death, lambda worker: worker.delete(source_id))
        self.do(self.world.worker.delete(source_id))

    @rule(death=deaths, data=st.data())
    def analyse(self, death: int | None, data: st.DataObject) -> None:
        """A message that was handled is not delivered again; one whose worker died is."""
        if not self.undelivered:
            return
        ids = data.draw(st.sampled_from(self.undelivered))
        if self.attempt(death, lambda worker: worker.analysis.handle(ids)):
            self.undelivered.remove(ids)

    @rule(name=st.sampled_from((*NAMES, *ALIASES)), aliases=st.sets(st.sampled_from(ALIASES)), death=deaths)
    def rename(self, name: str, aliases: set[str], death: int | None) -> None:
        change = tool_change({"aliases": sorted(aliases)})
        self.attempt(death, lambda worker: self.changed(worker, name, change))

    async def changed(self, worker: Worker, name: str, change: ToolFields) -> None:
        _, run = await worker.changes.change_tool(name, change)
        if run is not None:
            await worker.workflows.advance(run.run_id)

    @rule(source=st.sampled_from(NAMES), into=st.sampled_from(NAMES), death=deaths)
    def merge(self, source: str, into: str, death: int | None) -> None:
        async def merged(worker: Worker) -> None:
            run = await worker.changes.merge(source, into)
            await worker.workflows.advance(run.run_id)

        self.attempt(death, merged)

    @rule(name=st.sampled_from(NAMES), version=st.sampled_from("12"), death=deaths)
    def reanalyse(self, name: str, version: str, death: int | None) -> None:
        self.world.analyzer.version = version

        async def reanalysed(worker: Worker) -> None:
            run = await worker.changes.reanalyze(name)
            await worker.workflows.advance(run.run_id)

        self.attempt(death, reanalysed)

    @rule(minutes=st.integers(0, 90))
    def wait(self, minutes: int) -> None:
        self.watch.advance(minutes=minutes)

    @rule(name=st.sampled_from(NAMES), death=deaths)
    def recount(self, name: str, death: int | None) -> None:
        async def recounted(worker: Worker) -> None:
            tool = await worker.catalog.get(name)
            await worker.recount.recount_tool(tool.tool_id, self.watch.now)

        self.attempt(death, recounted)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            try:
                self.do(self.check_mentions())
            finally:
                self.do(self.store.close())
                self.runner.close()
                self.folder.cleanup()

    async def check_mentions(self) -> None:
        """Delivers every message and sends lost runs again; then checks the mentions and the timelines."""
        worker = self.world.worker
        self.watch.advance(seconds=max(IN_USE_FOR, LEASE).total_seconds() + 60)
        for run_id in await overdue_keys(self.store, WORKFLOWS_STAGE, self.watch):
            await worker.workflows.advance(run_id)
        for ids in self.undelivered:
            await self.world.delivered(ids)
        found = await self.store.query("catalog", self.world.every_tool)
        tools = [Tool.from_document(document) for document in found.items]
        detector = Detector(tool for tool in tools if tool.status == "ACTIVE")
        expected: dict[str, dict[str, Any]] = {tool.tool_id: {} for tool in tools}
        containing: dict[str, set[str]] = {word: set() for word in WORDS}
        for number in range(1, self.count + 1):
            article = await self.world.read(f"dedup:{number:032x}")
            if article.deleted_at is not None:
                assert article.words is None
                continue
            for word in WORDS:
                if word.casefold() in article_words(article):
                    containing[word].add(article.source_id)
            headline, body = article.canonical.headline, article.text_for_analysis or ""
            detected = detector.find(headline, body, article.tags, article.source_tickers)
            assert set(article.detected_tool_ids) == set(detected)
            for tool_id in detected:
                expected[tool_id][article.source_id] = published_at(article)
        for word, having in containing.items():
            page = await Articles(self.store, self.watch).page(article_filter({"text": word}), 500, None)
            assert {each.source_id for each in page.items} == having
        for tool in tools:
            mentions = await self.world.mentions(tool)
            assert {key: each.published_at for key, each in mentions.items()} == expected[tool.tool_id]
            await self.world.is_counted(tool)


TestNewsroom = pytest.mark.slow(Newsroom.TestCase)
TestNewsroom.settings = settings(max_examples=50, stateful_step_count=25)
