"""Which articles a feed asks the full text of, from the poll to the stored document and its message."""

from __future__ import annotations

from models.document import DocumentProduct
from models.feed import SHORT_TEXT
from services.documents.discovery import DOCUMENTS_STAGE
from services.topology import ACQUIRE_DOCUMENTS
from tests.functional.articles.world import World, item

LONG = "A sentence of a long text. " * (SHORT_TEXT // 20)


async def documents(world: World) -> list[DocumentProduct]:
    found = [DocumentProduct.from_document(each) for each in await world.all("documents")]
    return sorted(found, key=lambda each: each.locators[0].value)


def asked(world: World) -> list[list[str]]:
    return [DOCUMENTS_STAGE.keys_of(each) for each in world.worker.queues.sent.pop(ACQUIRE_DOCUMENTS, [])]


async def test_a_feed_may_ask_for_short_entries_or_all(world: World) -> None:
    await world.add_feed("short", [item(1), item(2, text=LONG)], full_text="short")
    await world.add_feed("always", [item(3), item(4, text=LONG)], full_text="always")
    await world.poll("short")
    [message] = asked(world)
    await world.poll("always")
    found = await documents(world)
    assert [each.locators[0].value for each in found] == [f"https://news.example/{number}" for number in (1, 3, 4)]
    assert message == [found[0].source_id]
    assert [each.provider for each in found] == ["short", "always", "always"]
    articles = {each["source_id"]: each for each in await world.articles()}
    for each in found:
        article = articles[each.source_id]
        assert (each.revision, each.ttl_timestamp) == (article["canonical"]["revision"], article["ttl_timestamp"])


async def test_known_entries_are_asked_for_once(world: World) -> None:
    await world.add_feed("a", [item(1)], full_text="always")
    await world.poll("a")
    assert len(asked(world)) == 1
    world.publish("a", [item(1), item(2)])
    await world.poll("a")
    [message] = asked(world)
    assert len(message) == 1
    assert len(await documents(world)) == 2


async def test_an_edited_entry_is_asked_for_again(world: World) -> None:
    await world.add_feed("a", [item(1)], full_text="always")
    await world.poll("a")
    [before] = await documents(world)
    asked(world)
    world.publish("a", [item(1, text="Edited meanwhile.")])
    await world.poll("a")
    [after] = await documents(world)
    assert after.revision == (await world.article())["canonical"]["revision"] != before.revision
    assert asked(world) == [[after.source_id]]
