"""A preview says what each decision does to articles, locators and figures, is right, and writes nothing."""

import itertools
from datetime import timedelta
from typing import Any

import pytest

from models.errors import Conflict, InvalidInput, NotFound
from services.figures.coverage import Coverage
from services.figures.entries import Entries, Generations
from services.figures.recount import Recount
from services.mentions.analyzers.choice import Analyzers
from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.mentions.announcing import RefreshAnnouncer
from services.mentions.writing import MentionWriter
from services.ports import Document
from services.store.containers import CONTAINERS
from services.tools.catalog import Catalog
from services.tools.form import new_tool
from services.tools.watchlist import Watchlist
from services.workflows import quarantine_preview
from services.workflows.quarantine_preview import QuarantinePreview
from tests import documents
from tests.builders import MemoryQueues
from tests.functional.articles.test_floods import quarantine, quarantined_batch
from tests.functional.articles.world import START, Item, World, item

MANY = 12


def entries(guid: str, days: int) -> list[Item]:
    """Of each three, one praises a widget, one blames it, and one names a gadget."""
    words = ("Widgetron is great and everybody loves it", "Widgetron fails badly and is terrible", "Gadgetron is out")
    at = START + timedelta(days=days)
    texts = [f"{words[number % 3]}, case {number}" for number in range(MANY)]
    return [item(n, title=text, guid=f"{guid}-{n}", published=at, text="") for n, text in enumerate(texts)]


class Figures:
    """The analysis and the figures of the world, as the app has them."""

    def __init__(self, world: World) -> None:
        ids = itertools.count(1)
        self.catalog = Catalog(world.store, world.clock, lambda: f"00000000-0000-4000-8000-{next(ids):012d}")
        self.watchlist = Watchlist(self.catalog, world.clock)
        self.analyzers = Analyzers("embedded", {"embedded": EmbeddedAnalyzer}, {})
        announcer = RefreshAnnouncer(world.store, MemoryQueues(), world.clock)
        self.writer = MentionWriter(
            world.store, self.catalog, self.watchlist, self.analyzers.present, announcer, world.clock
        )
        generations = Generations(world.store, world.clock)
        self.entries = Entries(world.store, Recount(world.store), generations, Coverage(world.store), world.clock)

    async def add_tools(self) -> None:
        for name in ("Widgetron", "Gadgetron"):
            await self.catalog.add(new_tool({"name": name}))

    async def of(self, name: str) -> dict[str, dict[str, float]]:
        computed = await self.entries.computed(await self.catalog.get(name))
        return {
            period: {each: getattr(entry, each) for each in quarantine_preview._FIGURES}
            for period, entry in computed.items()
        }

    def preview(self, world: World) -> QuarantinePreview:
        return QuarantinePreview(world.store, quarantine(world), self.watchlist, self.analyzers, world.clock)


async def flooded(world: World) -> Figures:
    figures = Figures(world)
    await figures.add_tools()
    await world.add_feed("a", entries("old", 0))
    outcome = await world.poll("a")
    await figures.writer.write(outcome.article_ids)
    world.clock.forward(hours=25)
    world.publish("a", [*entries("new", 1), item(99, title="Widgetron wins a prize, at last", guid="n", text="")])
    await world.poll("a")
    return figures


async def everything(world: World) -> dict[tuple[str, str, str], Document]:
    found = {}
    for name, container in CONTAINERS.items():
        for document in await world.all(name):
            found[name, str(document[container.partition_key]), str(document["id"])] = document
    return found


async def test_a_preview_writes_nothing(world: World) -> None:
    figures = await flooded(world)
    for tool in ("Widgetron", "Gadgetron"):
        await figures.of(tool)
    before = await everything(world)
    await figures.preview(world).of((await quarantined_batch(world)).quarantine_id)
    assert await everything(world) == before


async def test_each_effect_is_what_the_decision_then_does(world: World) -> None:
    figures = await flooded(world)
    name = (await quarantined_batch(world)).quarantine_id
    shown = await figures.preview(world).of(name)
    assert (shown["entries"], shown["entries_looked_at"], shown["complete"]) == (MANY + 1, MANY + 1, True)
    assert list(shown["effects"]) == ["same_articles_new_ids", "new_articles", "drop"]
    same, new, drop = shown["effects"].values()
    assert (same["ids_added"], same["new_articles"], same["changed_articles"], same["left_out"]) == (MANY, 1, 0, 0)
    assert (same["mentions_added"], new["mentions_added"]) == (1, MANY + 1)
    assert (new["ids_added"], new["new_articles"]) == (0, MANY + 1)
    assert (drop["new_articles"], drop["mentions_added"], drop["left_out"], drop["tools"]) == (0, 0, MANY + 1, [])
    assert [(each["tool"], each["mentions_added"]) for each in new["tools"]] == [("Widgetron", 9), ("Gadgetron", 4)]
    before = {tool: await figures.of(tool) for tool in ("Widgetron", "Gadgetron")}
    reviewed = await quarantine(world).review(name, "new_articles", "Ann", "because")
    assert reviewed.batch is not None
    outcome = await world.worker.ingestion.ingest(reviewed.batch)
    await figures.writer.write(outcome.article_ids)
    for each in new["tools"]:
        after = await figures.of(each["tool"])
        for period, both in each["figures"].items():
            assert both["before"] == before[each["tool"]][period]
            assert both["after"] == after[period]
        assert after["DAY_7"]["total_mentions"] > before[each["tool"]]["DAY_7"]["total_mentions"]


async def test_the_same_articles_are_previewed_as_they_are_ingested(world: World) -> None:
    figures = await flooded(world)
    name = (await quarantined_batch(world)).quarantine_id
    same = (await figures.preview(world).of(name))["effects"]["same_articles_new_ids"]
    reviewed = await quarantine(world).review(name, "same_articles_new_ids", "Ann", "because")
    assert reviewed.batch is not None
    outcome = await world.worker.ingestion.ingest(reviewed.batch)
    assert len(outcome.article_ids) == same["new_articles"] == 1
    await figures.writer.write(outcome.article_ids)
    (widget,) = same["tools"]
    assert {period: both["after"] for period, both in widget["figures"].items()} == await figures.of("Widgetron")


async def test_ambiguous_entries_are_listed_with_the_articles_that_they_may_be(world: World) -> None:
    twins = [item(50, title="One and the same headline"), item(51, title="One and the same headline")]
    known = [item(number) for number in range(MANY)]
    await world.add_feed("a", [*known, *twins])
    await world.poll("a")
    world.clock.forward(days=1)
    moved = [item(number, guid=f"new-{number}", text="Edited.") for number in range(MANY)]
    unclear = item(50, title="One and the same headline", guid="new-50", link="https://new.example/x", published=None)
    world.publish("a", [*moved, unclear])
    await world.poll("a")
    shown = await Figures(world).preview(world).of((await quarantined_batch(world)).quarantine_id)
    (listed,) = shown["ambiguous"]
    both = [each["source_id"] for each in await world.articles() if each["headline"] == "One and the same headline"]
    assert listed == {
        "url": "https://new.example/x",
        "headline": "One and the same headline",
        "article_ids": sorted(both),
    }
    assert shown["effects"]["same_articles_new_ids"]["left_out"] == 1


async def test_a_large_batch_is_previewed_in_part(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = await flooded(world)
    monkeypatch.setattr(quarantine_preview, "MOST_PREVIEWED", 5)
    shown = await figures.preview(world).of((await quarantined_batch(world)).quarantine_id)
    assert (shown["entries"], shown["entries_looked_at"], shown["complete"]) == (MANY + 1, 5, False)
    assert shown["effects"]["new_articles"]["new_articles"] == 5


async def test_only_a_batch_that_waits_has_a_preview(world: World) -> None:
    figures = await flooded(world)
    preview, name = figures.preview(world), (await quarantined_batch(world)).quarantine_id
    with pytest.raises(NotFound):
        await preview.of("nobody")
    await quarantine(world).review(name, "drop", "Ann", "because")
    with pytest.raises(Conflict, match="was reviewed already: drop"):
        await preview.of(name)
    document: Any = documents.quarantined(quarantine_id="DOCUMENT:x", kind="DOCUMENT", reason_code="OTHER")
    await world.store.create("quarantine", document.to_document())
    with pytest.raises(InvalidInput):
        await preview.of("DOCUMENT:x")


async def test_the_batch_of_a_removed_feed_has_no_effect(world: World) -> None:
    figures = await flooded(world)
    await world.store.delete("feeds", "a", "feed")
    shown = await figures.preview(world).of((await quarantined_batch(world)).quarantine_id)
    assert {each["new_articles"] + each["ids_added"] for each in shown["effects"].values()} == {0}
