"""An app that has taken in the feeds of a server on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from services import container
from services.container import Container
from services.mentions.due import ANALYSIS_STAGE
from services.ports import Query, query_all
from tests.functional.api.conftest import call, started


@asynccontextmanager
async def app_with_feeds(
    environment: Any,
    body_of: Callable[[str], str],
    feeds: Mapping[str, Mapping[str, Any]],
    pages: Mapping[str, str] | None = None,
) -> AsyncIterator[Container]:
    """`feeds` are the fields of each feed by its name, `body_of` its document, `pages` are web pages by their path.
    The tool Quorvia is watched."""
    environment.setenv("ALLOW_PRIVATE_ADDRESSES", "true")

    async def feed(request: web.Request) -> web.Response:
        body = body_of(request.match_info["name"]).replace("ORIGIN", f"http://{request.host}")
        return web.Response(text=body, content_type="application/rss+xml")

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=(pages or {})[request.match_info["name"]], content_type="text/html")

    site = web.Application()
    site.router.add_get("/{name}", feed)
    site.router.add_get("/p/{name}", page)
    async with TestServer(site) as server:
        app = await started()
        assert (await call("add_tool", body={"name": "Quorvia"})).status == 201
        for name, fields in feeds.items():
            said = {"url": f"http://127.0.0.1:{server.port}/{name}", "source_name": name, "feed_id": name}
            assert (await call("add_feed", body={**said, **fields})).status == 201
        yield app
        await container.close()


async def fetch_all(app: Container) -> None:
    """Fetches every feed, and analyses what they bring."""
    feeds = [each.feed_id for each in await app.feeds.registry.every()]
    for batch in (await app.feeds.claims.claim_some(feeds, app.clock())).runs:
        await app.fetching.ingestion.ingest(batch.run_id)
    of_stage = Query(ANALYSIS_STAGE.where, order=ANALYSIS_STAGE.order)
    due = await query_all(app.store, ANALYSIS_STAGE.container, of_stage)
    await app.mentions.analysis.handle([each[ANALYSIS_STAGE.key] for each in due])
