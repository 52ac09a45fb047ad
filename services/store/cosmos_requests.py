"""Requests for items of Azure Cosmos DB, each with the retries of its connection. What they mean is not known here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from models.errors import Unavailable
from services.ports import Document
from services.store.cosmos_connection import Answer, Connection, ItemCall

if TYPE_CHECKING:
    from azure.cosmos.aio import ContainerProxy

A = TypeVar("A")
B = TypeVar("B")

PARALLEL = 16


class BatchRequest(NamedTuple):
    """An operation of a transactional batch, by the name that Cosmos has for it. `if_match` must be stored."""

    kind: str
    id: str
    item: Mapping[str, Any] | None
    if_match: str | None


class FailedBatch(NamedTuple):
    """The operation that a batch failed at, and its status: 404, 409 or 412."""

    operation: int
    status: int


class Requests:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def ask(self, container: str, call: ItemCall, **options: Any) -> Answer:
        return await self._connection.items(container, call, **options)

    async def read(self, container: str, partition: str, id: str) -> dict[str, Any] | None:
        """The stored item with the store's own fields, expired or not."""
        answer = await self.ask(container, lambda proxy: proxy.read_item(id, partition))
        return dict(answer.result) if answer.status == 200 else None

    async def replace(self, container: str, id: str, body: Document, etag: str) -> Answer:
        from azure.core import MatchConditions

        condition = MatchConditions.IfNotModified
        return await self.ask(
            container, lambda proxy: proxy.replace_item(id, body, etag=etag, match_condition=condition)
        )

    async def delete(self, container: str, partition: str, id: str, etag: str | None) -> Answer:
        if etag is None:
            return await self.ask(container, lambda proxy: proxy.delete_item(id, partition))
        from azure.core import MatchConditions

        condition = MatchConditions.IfNotModified
        return await self.ask(
            container, lambda proxy: proxy.delete_item(id, partition, etag=etag, match_condition=condition)
        )

    async def listed(
        self, container: str, text: str, parameters: list[dict[str, Any]], partition: str | None, page: int
    ) -> list[Any]:
        scope: dict[str, Any] = {} if partition is None else {"partition_key": partition}

        async def call(proxy: ContainerProxy) -> list[Any]:
            found = proxy.query_items(text, parameters=parameters, max_item_count=page, **scope)
            return [each async for each in found]

        return list(expected(await self.ask(container, call), container))

    async def batch(self, container: str, partition: str, requests: Sequence[BatchRequest]) -> Answer:
        """The answer's result is the list of stored items, None for a deletion, or the FailedBatch."""
        from azure.cosmos.exceptions import CosmosBatchOperationError

        async def call(proxy: ContainerProxy) -> list[Any] | FailedBatch:
            try:
                # The operations are made for each try: the SDK takes the conditions out of them.
                found = await proxy.execute_item_batch([_operation(each) for each in requests], partition)
            except CosmosBatchOperationError as error:
                if error.status_code in (404, 409, 412):
                    return FailedBatch(error.error_index, error.status_code)
                raise
            return [each.get("resourceBody") for each in found]

        return await self.ask(container, call)


def _operation(request: BatchRequest) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    condition = {} if request.if_match is None else {"if_match_etag": request.if_match}
    if request.kind == "replace":
        return request.kind, (request.id, request.item), condition
    return request.kind, (request.id if request.item is None else request.item,), condition


def expected(answer: Answer, container: str) -> Any:
    if answer.status != 200:
        raise Unavailable(f"{container}: Cosmos DB answered {answer.status} where that means nothing")
    return answer.result


async def in_parallel(call: Callable[[A], Awaitable[B]], given: Sequence[A]) -> list[B]:
    """The results in the order of what was given; a few at a time, so that one caller leaves connections to others."""
    pending = iter(enumerate(given))
    results: dict[int, B] = {}

    async def work() -> None:
        for place, each in pending:
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
