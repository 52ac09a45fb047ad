"""Which articles a feed asks the full text of, from the poll to the stored document and its message."""

from __future__ import annotations

from models.document import DocumentProduct
from services.documents.documents import DOCUMENTS_STAGE
from services.topology import ACQUIRE_DOCUMENTS
from tests.functional.articles.world import World, item


async def documents(world: World) -> list[DocumentProduct]:
    found = [DocumentProduct.from_document(each) for each in await world.all("documents")]
    return sorted(found, key=lambda each: each.locators[0].value)


def asked(world: World) -> list[list[str]]:
    return [DOCUMENTS_STAGE.keys_of(each) for each in world.worker.queues.sent.pop(ACQUIRE_DOCUMENTS, [])]


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
