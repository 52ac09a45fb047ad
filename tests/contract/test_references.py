"""References are kept and listed alike on both stores."""

from __future__ import annotations

from datetime import timedelta

from models.reference import ReferenceDay
from services.mentions.references import keep_references
from services.mentions.tool_references import Asked, ToolReferences
from services.ports import Query, Store, Where, query_all
from services.store.containers import CATALOG, MENTIONS
from services.tools.catalog import Catalog
from tests.contract.conftest import SettableClock
from tests.functional.figures.world import a_mention, a_tool

DAY = timedelta(days=1)


async def test_references_are_kept_and_paged_over_mentions_and_kept_days(store: Store, clock: SettableClock) -> None:
    now = clock.now
    tool = a_tool(0, now)
    await store.create(CATALOG.name, tool.to_document())
    written = []
    for days in (44, 43, 40, 33, 31, 20, 1):
        for number in range(3):
            at = now - days * DAY - timedelta(hours=number // 2)
            made = a_mention(tool.tool_id, f"article-{days}-{number}", at, created_at=now, updated_at=now)
            await store.create(MENTIONS.name, made.to_document())
            written.append(made)
    for day in {each.published_at.date() for each in written}:
        said = [each.to_document() for each in written if each.published_at.date() == day]
        await keep_references(store, tool.tool_id, day, said, now)
    where = (Where("id", "ge", "REFS:"), Where("id", "lt", "REFS;"))
    found = await query_all(store, CATALOG.name, Query(where, partition=tool.tool_id))
    kept = [one.source_id for each in found for one in ReferenceDay.from_document(each).references]
    expected = sorted(written, key=lambda each: (each.published_at, each.source_id), reverse=True)
    old = [each.source_id for each in expected if each.published_at.date() < (now - 30 * DAY).date()]
    assert sorted(kept) == sorted(old)
    # Of the oldest days nothing but the kept references is left, and one mention was removed since.
    gone = [each for each in written if each.published_at < now - 42 * DAY]
    for each in gone:
        await store.delete(MENTIONS.name, tool.tool_id, each.source_id)
    removed = next(each for each in written if each.source_id == "article-33-1").changed(now, removed_at=now)
    await store.upsert(MENTIONS.name, removed.to_document())
    reader = ToolReferences(store, Catalog(store, clock, lambda: "new"))
    wanted = [each.source_id for each in expected if each.source_id != removed.source_id]
    for limit in (1, 4, 50):
        listed, cursor = [], None
        while True:
            page = await reader.page(tool, Asked(), limit, cursor)
            listed += [each["source_id"] for each in page.items]
            cursor = page.next
            if cursor is None:
                break
        assert listed == wanted, limit
