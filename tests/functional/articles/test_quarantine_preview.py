"""A preview says what each decision does to articles, ids and mentions, is right, and writes nothing."""

from datetime import timedelta
from typing import Any

import pytest

from services.ports import Document
from services.store.containers import CONTAINERS, MENTIONS
from tests.functional.articles.test_floods import quarantine, quarantined_batch
from tests.functional.articles.test_new_ids import approved
from tests.functional.articles.world import START, Item, World, item
from tests.functional.mentions.world import World as Analysing

MANY = 12


def entries(guid: str, days: int) -> list[Item]:
    """Of each three, one praises a widget, one blames it, and one names a gadget."""
    words = ("Widgetron is great and everybody loves it", "Widgetron fails badly and is terrible", "Gadgetron is out")
    at = START + timedelta(days=days)
    texts = [f"{words[number % 3]}, case {number}" for number in range(MANY)]
    return [item(n, title=text, guid=f"{guid}-{n}", published=at, text="") for n, text in enumerate(texts)]


async def previewed(world: World, analysis: Analysing) -> dict[str, Any]:
    batch = await quarantined_batch(world)
    found = await analysis.worker.services.workflows.previews.of_item(batch.quarantine_id)
    return found.model_dump(mode="json")


async def flooded(world: World) -> Analysing:
    analysis = Analysing(world.store, world.clock)
    for name in ("Widgetron", "Gadgetron"):
        await analysis.tool(name)
    await world.add_feed("a", entries("old", 0))
    await analysis.worker.writer.write(await world.poll("a"))
    world.clock.forward(hours=25)
    world.publish("a", [*entries("new", 1), item(99, title="Widgetron wins a prize, at last", guid="n", text="")])
    await world.poll("a")
    return analysis


async def everything(world: World) -> dict[tuple[str, str, str], Document]:
    found = {}
    for name, container in CONTAINERS.items():
        for document in await world.all(name):
            found[name, str(document[container.partition_key]), str(document["id"])] = document
    return found


async def test_a_preview_writes_nothing(world: World) -> None:
    analysis = await flooded(world)
    before = await everything(world)
    await previewed(world, analysis)
    assert await everything(world) == before


@pytest.mark.parametrize("decision", ["same_articles_new_ids", "new_articles"])
async def test_each_effect_is_what_the_decision_then_does(world: World, decision: str) -> None:
    analysis = await flooded(world)
    name = (await quarantined_batch(world)).quarantine_id
    shown = await previewed(world, analysis)
    assert (shown["entries"], shown["entries_looked_at"], shown["complete"]) == (MANY + 1, MANY + 1, True)
    assert list(shown["effects"]) == ["same_articles_new_ids", "new_articles", "drop"]
    same, new, drop = shown["effects"].values()
    assert (same["ids_added"], same["new_articles"], same["changed_articles"], same["left_out"]) == (MANY, 1, 0, 0)
    assert (new["ids_added"], new["new_articles"]) == (0, MANY + 1)
    assert (drop["new_articles"], drop["mentions_added"], drop["left_out"], drop["tools"]) == (0, 0, MANY + 1, [])
    assert [(each["tool"], each["mentions_added"]) for each in new["tools"]] == [("Widgetron", 9), ("Gadgetron", 4)]
    before = len(await world.all(MENTIONS.name))
    reviewed = await quarantine(world).review(name, decision, "Ann", "because")
    assert reviewed.run_id is not None
    announced = await world.worker.ingest(reviewed.run_id)
    assert len(announced) == shown["effects"][decision]["new_articles"]
    await analysis.worker.writer.write(announced)
    added = len(await world.all(MENTIONS.name)) - before
    assert added == shown["effects"][decision]["mentions_added"] == {"new_articles": MANY + 1}.get(decision, 1)


async def test_entries_of_stored_articles_are_changes(world: World) -> None:
    """Another feed has the articles: the feed would be a further source of them."""
    analysis = await flooded(world)
    await world.add_feed("b", entries("other", 1))
    await world.poll("b")
    new = (await previewed(world, analysis))["effects"]["new_articles"]
    assert (new["new_articles"], new["changed_articles"], new["mentions_added"]) == (1, MANY, 1)


async def test_ambiguous_entries_are_listed_with_the_articles_that_they_may_be_and_left_out(world: World) -> None:
    twins = [item(50, title="One and the same headline"), item(51, title="One and the same headline")]
    known = [item(number) for number in range(MANY)]
    await world.add_feed("a", [*known, *twins])
    await world.poll("a")
    world.clock.forward(days=1)
    moved = [item(number, guid=f"new-{number}", text="Edited.") for number in range(MANY)]
    unclear = item(50, title="One and the same headline", guid="new-50", link="https://new.example/x", published=None)
    world.publish("a", [*moved, unclear])
    await world.poll("a")
    shown = await previewed(world, Analysing(world.store, world.clock))
    (listed,) = shown["ambiguous"]
    both = [each["source_id"] for each in await world.articles() if each["headline"] == "One and the same headline"]
    assert listed == {
        "url": "https://new.example/x",
        "headline": "One and the same headline",
        "article_ids": sorted(both),
    }
    assert shown["effects"]["same_articles_new_ids"]["left_out"] == 1
    before = await world.articles()
    assert await world.worker.ingest(await approved(world)) == []
    assert await world.articles() == before
    assert (await quarantined_batch(world)).left_out == 1
    last = max(await world.attempts(), key=lambda each: str(each["started_at"]))
    assert last["articles_skipped"] == 1
