"""A proxy in front of a Cosmos DB server that charges request units and refuses what exceeds a limit, as Azure does.

Every container may spend so many RU a second. A request is admitted while something is left, and what it costs too much
is missing afterwards. Above the limit the answer is 429 with `x-ms-retry-after-ms`; every second batch that is refused
gets it as 207 with the 429 in its first operation. Every answer has `x-ms-request-charge`. The account looks like one
with Strong consistency, which Azure has and the server behind has not.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson
from aiohttp import web

from tests.contract.charged_requests import Charges, Request, parsed
from tests.contract.proxy import Proxy

REFUSAL_UNITS = 0.38
"""What Azure says that a refused request has cost. It is not taken from what is left."""
MIN_WAIT_MS = 5


@dataclass
class Spent:
    """What was charged: by second and container; by container and kind; and how many requests were refused."""

    by_second: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    units: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, request: Request, units: float) -> None:
        self.by_second[int(time.time())][request.container] += units  # type: ignore[assignment]
        self.units[f"{request.container} {request.kind}"] += units  # type: ignore[assignment]
        self.requests[f"{request.container} {request.kind}"] += 1

    @property
    def total(self) -> float:
        return sum(self.units.values())

    def seconds(self) -> list[float]:
        """RU of every second from the first to the last with a request."""
        if not self.by_second:
            return []
        return [sum(self.by_second[at].values()) for at in range(min(self.by_second), max(self.by_second) + 1)]


@dataclass
class _Budget:
    """What a container may still spend: at most a second's units, negative after a costly request."""

    left: float
    at: float

    def refill(self, limit: float, now: float) -> None:
        self.left = min(limit, self.left + limit * (now - self.at))
        self.at = now


class LimitedProxy(Proxy):
    """`limit` is in RU/s of each container; None for no limit. `observe` is called with every request that was
    charged."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.limit: float | None = None
        self.spent = Spent()
        self.charges = Charges()
        self.observe: Callable[[Request, float], None] = lambda request, units: None
        self._budgets: dict[str, _Budget] = {}
        self._refused_batches = 0

    async def respond(self, request: web.BaseRequest, body: bytes) -> web.Response:
        charged = parsed(request.method, request.raw_path, request.headers, body)
        if charged is None:
            return await self._of_account(request, body)
        refusal = self._refusal(charged)
        if refusal is not None:
            self.spent.refused[charged.container] += 1
            return refusal
        response = await self.forward(request, body)
        answered = orjson.loads(response.body) if response.body else None  # type: ignore[arg-type]
        units = self.charges.of(charged, (response.status, answered))
        self.spent.add(charged, units)
        self.observe(charged, units)
        if charged.container in self._budgets:
            self._budgets[charged.container].left -= units
        response.headers["x-ms-request-charge"] = f"{units:.2f}"
        return response

    async def _of_account(self, request: web.BaseRequest, body: bytes) -> web.Response:
        response = await self.forward(request, body)
        response.headers["x-ms-request-charge"] = "0"
        if request.path == "/" and isinstance(response.body, bytes):
            session, strong = (f'"defaultConsistencyLevel":"{level}"'.encode() for level in ("Session", "Strong"))
            response.body = response.body.replace(session, strong)
        return response

    def _refusal(self, request: Request) -> web.Response | None:
        if self.limit is None:
            return None
        now = time.monotonic()
        budget = self._budgets.setdefault(request.container, _Budget(self.limit, now))
        budget.refill(self.limit, now)
        if budget.left > 0:
            return None
        wait = MIN_WAIT_MS + int(1000 * -budget.left / self.limit)
        headers = {"x-ms-request-charge": str(REFUSAL_UNITS)}
        if request.kind == "batch":
            self._refused_batches += 1
            if self._refused_batches % 2:
                first = {"statusCode": 429, "requestCharge": 0, "retryAfterMilliseconds": wait}
                others = [{"statusCode": 424, "requestCharge": 0}] * (len(orjson.loads(request.body)) - 1)
                return web.Response(status=207, headers=headers, body=orjson.dumps([first, *others]))
        headers |= {"x-ms-retry-after-ms": str(wait), "x-ms-substatus": "3200"}
        return web.Response(status=429, headers=headers, body=b'{"code":"TooManyRequests","message":"over the limit"}')
