"""The detector in memory knows every change of the catalog that was announced before it was asked for."""

from collections.abc import Callable

from services.ports import Store
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog
from services.tools.form import new_tool, tool_change
from services.tools.watchlist import REBUILT_AFTER, Watchlist
from tests.builders import Watch
from tests.documents import tool


async def test_a_change_elsewhere_is_known_at_the_next_call_and_nothing_is_built_without_one(
    store: SqliteStore, catalog_on: Callable[[Store], Catalog], watch: Watch
) -> None:
    ours, theirs = Watchlist(catalog_on(store), watch), catalog_on(store)
    assert (await ours.detector()).tools == {}
    added = await theirs.add(new_tool({"name": "Quorvia", "tickers": ["QRVA", "AQ"]}))
    detector = await ours.detector()
    assert list(detector.tools) == [added.tool_id]
    assert await ours.detector() is detector
    assert await ours.tickers() == ("AQ", "QRVA")
    await theirs.change("Quorvia", tool_change({"status": "DEPRECATED"}))
    assert (await ours.detector()).tools == {}


async def test_a_change_that_was_never_announced_is_known_after_a_minute_or_when_asked_anew(
    store: SqliteStore, catalog: Catalog, watch: Watch
) -> None:
    watchlist = Watchlist(catalog, watch)
    await watchlist.detector()
    await store.create("catalog", tool(tool_id="00000000-0000-4000-8000-000000000777").to_document())
    assert (await watchlist.detector()).tools == {}
    assert (await watchlist.detector(anew=True)).tools
    other = Watchlist(catalog, watch)
    await other.detector()
    await store.create("catalog", tool(tool_id="00000000-0000-4000-8000-000000000778").to_document())
    watch.advance(seconds=REBUILT_AFTER.total_seconds())
    assert len((await other.detector()).tools) == 2
