"""Two invented feeds that share one article, and a page that is no feed. Their entries are the same in every run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from xml.sax.saxutils import escape

from aiohttp import web
from aiohttp.test_utils import TestServer

TOOLS = ("Hexwharf", "Quorvia")
SHARED = "Quorvia wins praise for its superb new release"
WIRE = (
    "Hexwharf outage leaves thousands of customers furious",
    "Hexwharf loses data again, and users are angry",
    "Hexwharf ships an excellent update that users love",
    "Hexwharf publishes the dates of its spring conference",
    SHARED,
    "Weather stays mild in the north this weekend",
)
TICKER = (SHARED, "Quorvia fails badly in an independent benchmark", "Harbour reopens after long repairs")


def _feed(name: str, headlines: tuple[str, ...], base: str, now: datetime) -> str:
    items = "".join(
        f"<item><title>{escape(headline)}</title><link>{base}/{name}/{n}</link><guid>{name}-{n}</guid>"
        f"<description>{escape(headline)}, as {name} reports in detail today.</description>"
        f"<pubDate>{format_datetime(now)}</pubDate></item>"
        for n, headline in enumerate(headlines)
    )
    return f'<rss version="2.0"><channel><title>{name}</title><link>{base}</link>{items}</channel></rss>'


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """Yields the base URL: the feeds are below it as /wire and /ticker, the page as /page."""
    now = datetime.now(UTC) - timedelta(minutes=5)

    async def answer(request: web.Request) -> web.Response:
        base, name = f"http://{request.host}", request.path.strip("/")
        if name not in ("wire", "ticker"):
            return web.Response(text="<!doctype html><title>No feed</title><p>Hello", content_type="text/html")
        text = _feed(name, WIRE if name == "wire" else TICKER, base, now)
        return web.Response(text=text, content_type="application/rss+xml")

    application = web.Application()
    application.router.add_get("/{any:.*}", answer)
    async with TestServer(application) as server:
        yield f"http://127.0.0.1:{server.port}"
