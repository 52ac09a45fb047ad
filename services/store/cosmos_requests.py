"""Requests for items of Azure Cosmos DB, each with the retries of the connection. Knows no rules of the port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from models.errors import Unavailable
from services.store.cosmos_connection import Answer, Connection, ItemCall
from services.store.cosmos_items import Item

if TYPE_CHECKING:
    from azure.cosmos.aio import ContainerProxy

A = TypeVar("A")
B = TypeVar("B")

MOST_CONNECTIONS = 100  # of aiohttp's pool; the SDK does not change it
BULK_REQUESTS = 80  # in flight for bulk calls, so that single requests find a connection
PARALLEL = 16  # of one bulk call


class BatchRequest(NamedTuple):
    """An operation of a transactional batch. `kind` is Cosmos's name for it; the stored ETag must be `if_match`."""

    kind: str
    id: str
    item: Item | None
    if_match: str | None


class FailedBatch(NamedTuple):
    """The index of the operation that failed, and its status: 404, 409 or 412."""

    operation: int
    status: int


class Requests:
    """The requests of one store."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._bulk = asyncio.Semaphore(BULK_REQUESTS)

    async def ask(self, container: str, call: ItemCall, **options: Any) -> Answer:
        return await self._connection.items(container, call, **options)

    async def read(self, container: str, partition: str, id: str) -> dict[str, Any] | None:
        """The stored item, expired or not."""
        answer = await self.ask(container, lambda proxy: proxy.read_item(id, partition))
        return dict(answer.result) if answer.status == 200 else None

    async def replace(self, container: str, id: str, item: dict[str, Any], etag: str) -> Answer:
        from azure.core import MatchConditions

        condition = MatchConditions.IfNotModified
        return await self.ask(
            container, lambda proxy: proxy.replace_item(id, item, etag=etag, match_condition=condition)
        )

    async def delete(self, container: str, partition: str, id: str, etag: str | None) -> Answer:
        if etag is None:
            return await self.ask(container, lambda proxy: proxy.delete_item(id, partition))
        from azure.core import MatchConditions

        condition = MatchConditions.IfNotModified
        return await self.ask(
            container, lambda proxy: proxy.delete_item(id, partition, etag=etag, match_condition=condition)
        )

    async def query(
        self, container: str, text: str, parameters: list[dict[str, Any]], partition: str | None, page: int
    ) -> list[Any]:
        scope: dict[str, Any] = {} if partition is None else {"partition_key": partition}

        async def call(proxy: ContainerProxy) -> list[Any]:
            found = proxy.query_items(text, parameters=parameters, max_item_count=page, **scope)
            return [each async for each in found]

        return list(result_of(await self.ask(container, call), container))

    async def batch(self, container: str, partition: str, requests: Sequence[BatchRequest]) -> Answer:
        """The result is the list of stored items, None for a delete; or the FailedBatch."""
        from azure.cosmos.exceptions import CosmosBatchOperationError

        async def call(proxy: ContainerProxy) -> list[Any] | FailedBatch:
            # The operations are made anew for each try, since the SDK takes the conditions out of them.
            operations = [_operation(each) for each in requests]
            try:
                results = await proxy.execute_item_batch(operations, partition)
            except CosmosBatchOperationError as error:
                if error.status_code in (404, 409, 412):
                    return FailedBatch(error.error_index, error.status_code)
                raise
            return [each.get("resourceBody") for each in results]

        return await self.ask(container, call)

    async def in_parallel(self, call: Callable[[A], Awaitable[B]], given: Sequence[A]) -> list[B]:
        """The results of a bulk call, in the order of `given`. PARALLEL calls at a time."""
        pending = iter(enumerate(given))
        results: dict[int, B] = {}

        async def work() -> None:
            for place, each in pending:
                async with self._bulk:
                    results[place] = await call(each)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(PARALLEL, len(given))):
                    group.create_task(work())
        except ExceptionGroup as failures:
            # Not `except*`: Python 3.11.2 makes a group of what is raised in it, too.
            unavailable, others = failures.split(Unavailable)
            if unavailable is None or others is not None:
                raise
            raise unavailable.exceptions[0] from None
        return [results[place] for place in range(len(given))]


def _operation(request: BatchRequest) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    condition = {} if request.if_match is None else {"if_match_etag": request.if_match}
    if request.kind == "replace":
        return request.kind, (request.id, request.item), condition
    return request.kind, (request.id if request.item is None else request.item,), condition


def result_of(answer: Answer, container: str) -> Any:
    """The result of a request that has no other answer than 200."""
    if answer.status != 200:
        raise Unavailable(f"{container}: Cosmos DB answered {answer.status} where that means nothing")
    return answer.result
