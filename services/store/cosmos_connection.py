"""Requests to Azure Cosmos DB: one client per store, retries, errors, pace and cost. Knows no rules of the port.

Background work (services/deadline.py) waits before a request if its container has refused requests lately
(cosmos_pace.py), and tries a refused request again until its deadline is near. A request of a person does not wait
before it is sent, and is tried again for `seconds`; but it ends once the account has sent no response to it for
SILENCE_SECONDS. If the account was silent to everyone, the next requests of people fail at once: one call of the API
may make several.

All retries are made here: the SDK's own are switched off, except its three tries at reading the account when the client
opens, which only an environment variable turns off. The account has one region, so no other region is tried. Azure's
modules are imported when the first request is made, not at a cold start.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from models.errors import Unavailable
from models.version import USER_AGENT
from services import deadline, telemetry
from services.logs import log_event
from services.store.containers import CONTAINERS
from services.store.cosmos_items import Item, Sql
from services.store.cosmos_pace import Pace

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential
    from azure.core.exceptions import AzureError
    from azure.cosmos.aio import ContainerProxy, CosmosClient, DatabaseProxy

A = TypeVar("A")
B = TypeVar("B")

ACTIVITY_ID = "x-ms-activity-id"
"""The header by which Azure's support finds a request."""
EXPECTED = frozenset({404, 409, 412})
RETRIED = frozenset({408, 410, 429, 449, 502, 503, 504})
NOT_DONE = frozenset({429, 449})  # of RETRIED: a request with this status had no effect
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.1, 5.0
CONNECT_SECONDS, RESPONSE_SECONDS = 5, 10
SILENCE_SECONDS, FAILS_AT_ONCE_SECONDS = 4.0, 1.0

MAX_CONNECTIONS = 100  # of aiohttp's pool; the SDK does not change it
BULK_REQUESTS = 80  # in flight for bulk calls and background work, so that a person's request finds a connection
PARALLEL = 16  # of one bulk call
WAIT_WORTH_A_LINE_SECONDS = 0.1
ASKED_AGAIN_SECONDS = 1.0  # how soon a change of the pace is seen

log = logging.getLogger("toolpulse.store")

_CONTAINER_IN_URL = re.compile(r"/colls/([^/?]+)")

_in_bulk: ContextVar[bool] = ContextVar("in_bulk", default=False)

_limit: ContextVar[tuple[asyncio.Timeout, float] | None] = ContextVar("limit", default=None)
"""The limit of a person's request, which each response moves, and its end."""

_WEAK = {"consistencyLevel": "Eventual"}
"""The options of a read that may be stale, which costs half."""

ItemCall = Callable[["ContainerProxy"], Awaitable[Any]]


METRICS = {
    "operations": telemetry.REQUESTS,
    "retries": telemetry.RETRIES,
    "throttles": telemetry.THROTTLES,
    "request_units": telemetry.REQUEST_UNITS,
    "waited_seconds": telemetry.WAITED,
}
"""The metric of each counter."""


@dataclass(slots=True)
class Counters:
    """The requests for one container and their cost. `request_units` and `throttles` are counted by HTTP response.
    `waited_seconds` are those before requests and after refusals."""

    container: str | None = None
    operations: int = 0
    retries: int = 0
    throttles: int = 0
    request_units: float = 0.0
    waited_seconds: float = 0.0

    def add(self, counter: str, amount: float = 1) -> None:
        """Adds to a counter, and to the metric of the container."""
        setattr(self, counter, getattr(self, counter) + amount)
        if self.container is not None:
            telemetry.record(METRICS[counter], amount, container=self.container)


@dataclass(frozen=True, slots=True)
class Response:
    """The status is 200 or one of EXPECTED. `unsure`: an earlier try of the request may have had an effect."""

    status: int
    result: Any
    unsure: bool


class BatchRequest(NamedTuple):
    """An operation of a transactional batch. `kind` is Cosmos's name for it; the stored ETag must be `if_match`."""

    kind: str
    id: str
    item: Item | None
    if_match: str | None

    def operation(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """The operation as the SDK expects it."""
        subject = self.id if self.item is None else self.item
        arguments = (self.id, subject) if self.kind == "replace" else (subject,)
        return self.kind, arguments, {} if self.if_match is None else {"if_match_etag": self.if_match}


class FailedBatch(NamedTuple):
    """The index of the operation that failed, and its status: 404, 409 or 412."""

    operation: int
    status: int


class Connection:
    """The client of one account, with retries. `seconds` bounds a request with all its retries."""

    def __init__(self, endpoint: str, database: str, credential: str | AsyncTokenCredential, seconds: float) -> None:
        self.writes = 0
        self._heard_at = self._failed_at = -math.inf
        self._failure = ""
        self._endpoint = endpoint
        self._database = database
        self._credential = credential
        self._budget_seconds = seconds
        self._opening = asyncio.Lock()
        self._client: CosmosClient | None = None
        self._containers: dict[str, ContainerProxy] = {}
        self._closed = False
        self._many = asyncio.Semaphore(BULK_REQUESTS)
        self._paces = {name: Pace() for name in CONTAINERS}
        self._turns = {name: asyncio.Lock() for name in CONTAINERS}
        self.counters: dict[str, Counters] = {name: Counters(name) for name in CONTAINERS}

    async def read(
        self, container: str, partition: str, id: str, *, may_be_stale: bool = False
    ) -> dict[str, Any] | None:
        """The stored item, expired or not."""
        options: dict[str, Any] = {"request_options": dict(_WEAK)} if may_be_stale else {}
        response = await self.request(container, lambda proxy: proxy.read_item(id, partition, **options))
        return dict(response.result) if response.status == 200 else None

    async def read_items(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Item]:
        """The stored items of these partitions and ids, in any order, expired or not."""
        named: list[tuple[str, Any]] = [(name, partition) for partition, name in keys]
        options: dict[str, Any] = {"request_options": dict(_WEAK)} if may_be_stale else {}
        return list(
            result_of(await self.request(container, lambda proxy: proxy.read_items(named, **options)), container)
        )

    async def query(
        self, container: str, sql: Sql, partition: str | None, page: int, *, may_be_stale: bool = False
    ) -> list[Any]:
        text, parameters = sql
        options: dict[str, Any] = {} if partition is None else {"partition_key": partition}
        if may_be_stale:
            options["feed_options"] = dict(_WEAK)

        async def call(proxy: ContainerProxy) -> list[Any]:
            found = proxy.query_items(text, parameters=parameters, max_item_count=page, **options)
            return [each async for each in found]

        return list(result_of(await self.request(container, call), container))

    async def batch(self, container: str, partition: str, requests: Sequence[BatchRequest]) -> Response:
        """The result is the list of stored items, None for a delete; or the FailedBatch."""
        from azure.cosmos.exceptions import CosmosBatchOperationError

        async def call(proxy: ContainerProxy) -> list[Any] | FailedBatch:
            # New operations for each try, since the SDK removes their conditions.
            operations = [each.operation() for each in requests]
            try:
                results = await proxy.execute_item_batch(operations, partition)
            except CosmosBatchOperationError as error:
                if error.status_code in EXPECTED:
                    return FailedBatch(error.error_index, error.status_code)
                raise
            return [each.get("resourceBody") for each in results]

        return await self.request(container, call)

    async def in_parallel(self, call: Callable[[A], Awaitable[B]], given: Sequence[A]) -> list[B]:
        """The results of a bulk call, in the order of `given`. PARALLEL calls at a time."""
        if not given:
            return []
        pending = iter(enumerate(given))
        results: dict[int, B] = {}

        async def work() -> None:
            _in_bulk.set(True)
            for index, each in pending:
                results[index] = await call(each)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(PARALLEL, len(given))):
                    group.create_task(work())
        except ExceptionGroup as failures:
            # Not `except*`: Python 3.11.2 wraps an exception that is raised in it in a group.
            unavailable, others = failures.split(Unavailable)
            if unavailable is None or others is not None:
                raise
            raise unavailable.exceptions[0] from None
        return [results[index] for index in range(len(given))]

    async def request(self, container: str, call: ItemCall, **options: Any) -> Response:
        """Makes a request for a container's items; see `request_account`."""

        async def requested() -> Any:
            return await call(await self._container(container))

        return await self.request_account(requested, container=container, **options)

    async def request_account(
        self,
        call: Callable[[], Awaitable[Any]],
        *,
        container: str | None = None,
        budget_seconds: float | None = None,
        tries: int | None = None,
    ) -> Response:
        """Tries until a response arrives, the time is over or the error is final.

        Background work has until its deadline for being refused, which does not count against the budget.
        """
        import azure.cosmos.aio  # noqa: F401 - loading it may take longer than a person waits
        from azure.core.exceptions import AzureError

        counters = self.counters[container] if container else Counters()
        counters.add("operations")
        budget = self._budget_seconds if budget_seconds is None else budget_seconds
        clock = asyncio.get_running_loop().time
        ends, patience = clock() + budget, deadline.retry_seconds()
        patient_until = ends if patience is None else clock() + patience
        last_answer = clock() + deadline.answer_seconds()
        is_for_person, began = deadline.is_for_person(), clock()
        silent_at = began + SILENCE_SECONDS if is_for_person else math.inf
        if is_for_person and self._failed_at > max(self._heard_at, began - FAILS_AT_ONCE_SECONDS):
            raise Unavailable(self._failure)
        unsure = False
        for attempt in itertools.count(1):
            try:
                async with self._turn(container, patient_until) as waited:
                    ends += waited
                    async with asyncio.timeout_at(min(ends, last_answer, silent_at)) as limit, self._slot():
                        _limit.set((limit, ends) if is_for_person else None)
                        return Response(200, await call(), unsure)
            except TimeoutError as error:
                silent = Unavailable(f"Cosmos DB did not answer within {clock() - began:.0f} seconds")
                raise self._noted(silent, began) from error
            except AzureError as error:
                status, substatus = status_of(error)
                if status == 429 and of_batch(error):
                    counters.add("throttles")
                if status in EXPECTED and substatus == 0:
                    return Response(status, None, unsure)
                wait, activity = wait_after(error, attempt), _headers(error).get(ACTIVITY_ID)
                is_refused = status == 429
                if is_refused and container:
                    self._paces[container].lower(clock())
                if status:
                    silent_at = max(silent_at, clock() + wait + SILENCE_SECONDS)
                last = min(patient_until if is_refused else ends, silent_at)
                if attempt == tries or clock() + wait >= last or not passes(error, status, substatus):
                    raise self._noted(unavailable(error, status, substatus), began) from error
                unsure = unsure or status not in NOT_DONE
            counters.add("retries")
            counters.add("waited_seconds", wait)
            fields = {"container": container, "status": status, "attempt": attempt, "wait_ms": round(wait * 1000)}
            log_event(log, logging.DEBUG, "store_request_retried", **fields, activity_id=activity)
            if is_refused and patience is not None:
                ends += wait
            await asyncio.sleep(wait)
        raise AssertionError("counting does not end")

    def _noted(self, failure: Unavailable, began: float) -> Unavailable:
        if self._heard_at < began:
            self._failed_at, self._failure = asyncio.get_running_loop().time(), str(failure)
        return failure

    @asynccontextmanager
    async def _turn(self, container: str | None, until: float) -> AsyncIterator[float]:
        """Background work takes turns, and waits as long as the pace of the container asks. Yields how long it waited.
        Requests of people do not wait, but what they spend is missing for background work."""
        if container is None:
            yield 0.0
            return
        pace, turn, clock = self._paces[container], self._turns[container], asyncio.get_running_loop().time
        began, waited = clock(), 0.0
        if deadline.in_background() and (turn.locked() or pace.wait(began)):
            try:
                async with asyncio.timeout_at(until), turn:
                    while wait := pace.wait(clock()):  # noqa: ASYNC110 - time passes, nothing is signalled
                        await asyncio.sleep(min(wait, ASKED_AGAIN_SECONDS))
            except TimeoutError as error:
                raise Unavailable(f"{container}: Cosmos DB is busy until the deadline", retry_after=1.0) from error
            waited = clock() - began
            self.counters[container].add("waited_seconds", waited)
        if waited >= WAIT_WORTH_A_LINE_SECONDS:
            log_event(log, logging.DEBUG, "store_turn_awaited", container=container, wait_ms=round(waited * 1000))
        reserved = pace.reserve()
        try:
            yield waited
        finally:
            pace.release(reserved)

    def _slot(self) -> asyncio.Semaphore | nullcontext[None]:
        return self._many if _in_bulk.get() or deadline.in_background() else nullcontext()

    async def client(self) -> CosmosClient:
        async with self._opening:
            if self._closed:
                raise Unavailable("the store is closed")
            if self._client is None:
                client = self._new_client()
                try:
                    await client.__aenter__()
                except BaseException:
                    await client.close()
                    raise
                self._client = client
            return self._client

    async def database(self) -> DatabaseProxy:
        return (await self.client()).get_database_client(self._database)

    async def close(self) -> None:
        self._closed = True
        async with self._opening:
            client, self._client = self._client, None
            self._containers.clear()
            if client is not None:
                await client.close()

    async def _container(self, name: str) -> ContainerProxy:
        proxy = self._containers.get(name)
        if proxy is None:
            from azure.core.exceptions import ResourceNotFoundError

            proxy = (await self.database()).get_container_client(name)
            try:
                await proxy.read()  # the SDK does so before the first item: here, a 404 is that of the container
            except ResourceNotFoundError as error:
                raise Unavailable(
                    f"container {name} is not in the Cosmos DB database {self._database}: "
                    "run scripts/create_cache_container.py"
                ) from error
            self._containers[name] = proxy
        return proxy

    def _new_client(self) -> CosmosClient:
        from azure.core.pipeline.transport import AioHttpTransport
        from azure.cosmos.aio import CosmosClient
        from azure.cosmos.documents import ConnectionPolicy

        policy = ConnectionPolicy()
        policy.RetryOptions = type(policy.RetryOptions)(max_retry_attempt_count=0, max_wait_time_in_seconds=0)
        return CosmosClient(
            self._endpoint,
            self._credential,
            connection_policy=policy,
            transport=AioHttpTransport(use_env_settings=False),
            enable_endpoint_discovery=False,
            enable_compact_utf8_item_writes=True,
            connection_timeout=CONNECT_SECONDS,
            read_timeout=RESPONSE_SECONDS,
            retry_connect=0,
            retry_read=0,
            retry_status=0,
            raw_response_hook=self._count,
            user_agent_suffix=USER_AGENT,
        )

    def _count(self, response: Any) -> None:
        """Called for every HTTP response, also for those that the SDK raises as errors."""
        self._heard_at = asyncio.get_running_loop().time()
        if (found := _limit.get()) is not None:
            limit, ends = found
            with suppress(RuntimeError):  # the request has ended
                limit.reschedule(min(ends, self._heard_at + SILENCE_SECONDS))
        named = _CONTAINER_IN_URL.search(response.http_request.url)
        counters = self.counters.get(named[1]) if named else None
        if counters is None or named is None:
            return
        self.writes += _is_write(response.http_request)
        units = float(response.http_response.headers.get("x-ms-request-charge") or 0)
        is_refused = response.http_response.status_code == 429
        counters.add("request_units", units)
        if is_refused:
            counters.add("throttles")
        else:
            self._paces[named[1]].spend(units, asyncio.get_running_loop().time())


def _is_write(request: Any) -> bool:
    return bool(request.method != "GET" and request.headers.get("x-ms-documentdb-isquery", "").lower() != "true")


def result_of(response: Response, container: str) -> Any:
    """The result of a request for which 200 is the only valid response."""
    if response.status != 200:
        raise Unavailable(f"{container}: Cosmos DB returned {response.status}, which is not valid for this request")
    return response.result


def of_batch(error: AzureError) -> bool:
    """Whether an operation of a batch failed. The HTTP response is then a 200 or 207."""
    return hasattr(error, "operation_responses")


def status_of(error: AzureError) -> tuple[int, int]:
    return int(getattr(error, "status_code", None) or 0), int(getattr(error, "sub_status", None) or 0)


def passes(error: AzureError, status: int, substatus: int) -> bool:
    """Whether another try may succeed: Cosmos is busy, or the connection broke. 404/1002 is a replica that lags
    behind."""
    from azure.core.exceptions import DecodeError, ServiceRequestError, ServiceResponseError

    if isinstance(error, ServiceRequestError | ServiceResponseError | DecodeError):
        return True
    return status in RETRIED or (status, substatus) == (404, 1002)


def wait_after(error: AzureError, attempt: int) -> float:
    retry_after = _retry_after(error)
    if retry_after is not None:
        return retry_after * random.uniform(1.0, 1.25)  # noqa: S311 - jitter, not a secret
    longest = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret


def _headers(error: AzureError) -> Mapping[str, str]:
    return getattr(getattr(error, "response", None) or error, "headers", None) or {}


def _retry_after(error: AzureError) -> float | None:
    of_operations = [
        each.get("retryAfterMilliseconds", 0) for each in getattr(error, "operation_responses", None) or ()
    ]
    try:
        return (
            max(0.0, float(_headers(error).get("x-ms-retry-after-ms") or max(of_operations, default=0) or "none"))
            / 1000
        )
    except ValueError:
        return None


def unavailable(error: AzureError, status: int, substatus: int) -> Unavailable:
    from azure.core.exceptions import ClientAuthenticationError

    if status in (401, 403) or isinstance(error, ClientAuthenticationError):
        return Unavailable(
            f"Cosmos DB refused the sign-in ({status or 'no token'}): give this identity the role Cosmos DB Built-in "
            "Data Contributor and let its network in, or correct COSMOS_KEY"
        )
    if (status, substatus) == (404, 1003):
        return Unavailable("Cosmos DB knows no such database or container: run scripts/create_cache_container.py")
    if status:
        code = f"{status}/{substatus}" if substatus else f"{status}"
        activity = _headers(error).get(ACTIVITY_ID)
        support = f" (activity id {activity})" if activity else ""
        return Unavailable(f"Cosmos DB returned {code}{support}", retry_after=_retry_after(error))
    return Unavailable(f"Cosmos DB could not be reached ({type(error).__name__}): check COSMOS_ENDPOINT")
