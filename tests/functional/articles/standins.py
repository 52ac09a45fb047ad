"""Stand-ins for the news APIs on this machine: what they answer is given, what they are asked is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from aiohttp import web
from aiohttp.test_utils import TestServer


class NewsStandIns:
    """`finnhub` has articles by symbol; an unknown one is answered with an empty list, as there."""

    def __init__(self, tiingo: Sequence[Any], finnhub: Mapping[str, Sequence[Any]]) -> None:
        self._tiingo = tiingo
        self._finnhub = finnhub
        self.tokens: set[str] = set()
        app = web.Application()
        app.router.add_get("/tiingo/news", self._news)
        app.router.add_get("/api/v1/company-news", self._company_news)
        self._server = TestServer(app)

    @property
    def url(self) -> str:
        return str(self._server.make_url("")).rstrip("/")

    async def __aenter__(self) -> Self:
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    async def _news(self, request: web.Request) -> web.Response:
        self.tokens.add(request.headers["Authorization"])
        wanted = set(request.query["tickers"].split(","))
        found = [each for each in self._tiingo if wanted & set(each["tickers"])]
        return web.Response(text=json.dumps(found), content_type="application/json")

    async def _company_news(self, request: web.Request) -> web.Response:
        self.tokens.add(request.headers["X-Finnhub-Token"])
        found = self._finnhub.get(request.query["symbol"], [])
        return web.Response(text=json.dumps(found), content_type="application/json")
