"""Documents in Azure Cosmos DB.

Creates and replaces carry a random `_write`, by which a write whose answer was lost is recognised as our own. What a
document is there is in cosmos_items.py, connection and retries are in cosmos_connection.py.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from models.errors import ChangedMeanwhile, Conflict, InvalidInput, Unavailable
from services.ports import Clock, Document, Page, Query, Where
from services.store import cosmos_items, cosmos_sql, rules
from services.store.containers import CONTAINERS, DEFAULT_TTL, Container
from services.store.cosmos_connection import Answer, Connection, Counters, ItemCall

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential
    from azure.cosmos.aio import ContainerProxy

A = TypeVar("A")
B = TypeVar("B")

PING_SECONDS = 3.0
PARALLEL = 16
MOST_CONNECTIONS = 100  # of aiohttp's pool, which the SDK leaves as it is
ROUNDS = 8  # of a write that finds the document changed under its hands


class CosmosStore:
    """See services.ports.Store. Takes either a key (emulators) or a credential, which stays the caller's to close.

    `budget_seconds` bounds each request of an operation with all its retries.
    """

    def __init__(
        self,
        endpoint: str,
        database: str,
        clock: Clock,
        *,
        key: str | None = None,
        credential: AsyncTokenCredential | None = None,
        use_proxy_environment: bool = False,
        budget_seconds: float = 20.0,
    ) -> None:
        if (key is None) == (credential is None):
            raise InvalidInput("credential", "give either a key or a credential")
        self._database = database
        self._clock = clock
        self._may_create = key is not None
        signing_in: Any = key if key is not None else credential
        self._connection = Connection(
            endpoint,
            database,
            signing_in,
            use_proxy_environment=use_proxy_environment,
            budget_seconds=budget_seconds,
        )

    @property
    def counters(self) -> dict[str, Counters]:
        """By container, since this store was made."""
        return self._connection.counters

    @property
    def connections(self) -> int:
        """At most, over HTTP."""
        return MOST_CONNECTIONS

    async def ensure_containers(self) -> list[str]:
        """With a key, makes what is missing, and says which; an identity may not, so with one it does nothing."""
        if not self._may_create:
            return []
        made = []
        await self._connection.ask(self._create_database)
        for container in CONTAINERS.values():
            if await self.container_properties(container.name) is None:
                answer = await self._create_container(container)
                if answer.status == 200:  # else somebody was quicker
                    made.append(container.name)
        return made

    async def container_properties(self, container: str) -> dict[str, Any] | None:
        """How a container is defined in the account, or None if it is not there."""
        database = await self._connection.database()
        answer = await self._connection.ask(database.get_container_client(container).read)
        return dict(answer.result) if answer.status == 200 else None

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        rules.addressed(container, [(partition, id)])
        held = await self._held(container, partition, id)
        return None if held is None or cosmos_items.expired(held, self._now()) else cosmos_items.document(held)

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        rules.addressed(container, keys)
        return await _in_parallel(lambda key: self.read(container, *key), keys)

    async def create(self, container: str, document: Document) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        return await self._create(container, prepared)

    async def _create(self, container: str, prepared: rules.Prepared) -> Document:
        now, token = self._now(), uuid.uuid4().hex
        body = {**cosmos_items.body(prepared, now), "_write": token}
        for _ in range(ROUNDS):
            answer = await self._ask(container, lambda proxy: proxy.create_item(body))
            if answer.status == 200:
                return cosmos_items.document(answer.result)
            held = await self._held(container, prepared.partition, prepared.id)
            if held is None:
                continue
            if held.get("_write") == token:
                return cosmos_items.document(held)  # the answer to our own success was lost
            if not cosmos_items.expired(held, now):
                if answer.unsure:
                    raise Unavailable(f"{container}: could not tell who created {prepared.id}")
                raise Conflict(f"{container}: {prepared.partition} / {prepared.id} is there already")
            answer = await self._replace(container, prepared.id, body, held["_etag"])
            if answer.status == 200:
                return cosmos_items.document(answer.result)
        raise _restless(container, prepared.id)

    async def upsert(self, container: str, document: Document) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        body = cosmos_items.body(prepared, self._now())
        answer = await self._ask(container, lambda proxy: proxy.upsert_item(body))
        return cosmos_items.document(_expected(answer, container))

    async def replace(self, container: str, document: Document, etag: str) -> Document:
        return await self._replace_as(container, rules.prepare(rules.container_named(container), document), etag)

    async def _replace_as(self, container: str, prepared: rules.Prepared, etag: str) -> Document:
        now, token = self._now(), uuid.uuid4().hex
        changed = ChangedMeanwhile(f"{container}: {prepared.partition} / {prepared.id} has changed or is gone")
        deadline, stored_etag = cosmos_items.etag_parts(etag)
        if stored_etag is None or deadline <= now:
            raise changed
        body = {**cosmos_items.body(prepared, now), "_write": token}
        answer = await self._replace(container, prepared.id, body, stored_etag)
        if answer.status == 200:
            return cosmos_items.document(answer.result)
        if answer.status == 412:
            held = await self._held(container, prepared.partition, prepared.id)
            if held is not None and held.get("_write") == token:
                return cosmos_items.document(held)  # the answer to our own success was lost
        if answer.unsure:
            raise Unavailable(f"{container}: could not tell who changed {prepared.id}")
        raise changed

    async def increment(self, container: str, seed: Document, amounts: Mapping[str, int | float]) -> None:
        spec = rules.container_named(container)
        prepared = rules.prepare(spec, seed)
        rules.check_amounts(spec, amounts)
        now = self._now()
        first = {**cosmos_items.body(prepared, now), **rules.counted(prepared, amounts)}
        steps = [{"op": "incr", "path": f"/{field}", "value": amount} for field, amount in amounts.items()]
        where, name, key = cosmos_sql.alive(now), prepared.id, prepared.partition
        for _ in range(ROUNDS):
            answer = await self._ask(
                container,
                lambda proxy: proxy.patch_item(name, key, steps, filter_predicate=where, no_response=True),
                refused=rules.not_a_number(" or ".join(amounts)),
            )
            if answer.status == 200:
                return
            held = None if answer.status == 404 else await self._held(container, key, name)
            if held is None:
                answer = await self._ask(container, lambda proxy: proxy.create_item(first))
            elif cosmos_items.expired(held, now):
                answer = await self._replace(container, name, first, held["_etag"])
            if answer.status == 200:
                return
        raise _restless(container, name)

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        rules.addressed(container, [(partition, id)])
        held = await self._held(container, partition, id)
        if held is None or cosmos_items.expired(held, self._now()):
            return False
        stored_etag = None if etag is None else cosmos_items.etag_parts(etag)[1] or "none"
        answer = await self._delete(container, partition, id, stored_etag)
        if answer.status == 412:
            raise ChangedMeanwhile(f"{container}: {partition} / {id} has changed")
        return answer.status == 200 or answer.unsure

    async def query(self, container: str, query: Query) -> Page:
        plan = rules.plan(rules.container_named(container), query)
        text, parameters = cosmos_sql.select(plan, self._now())
        found = await self._listed(container, text, parameters, query.partition, query.limit + 1)
        return plan.page([cosmos_items.document(each) for each in found])

    async def count(self, container: str, where: tuple[Where, ...] = (), partition: str | None = None) -> int:
        spec = rules.container_named(container)
        rules.plan(spec, Query(where=where, partition=partition))
        text, parameters = cosmos_sql.count(spec, where, partition, self._now())
        return int(sum(await self._listed(container, text, parameters, partition, 1)))

    async def create_many(self, container: str, documents: Sequence[Document]) -> list[bool]:
        async def create(prepared: rules.Prepared) -> bool:
            try:
                await self._create(container, prepared)
            except Conflict:
                return False
            return True

        return await _in_parallel(create, await _prepared(container, documents))

    async def write_many(self, container: str, documents: Sequence[Document]) -> None:
        now = self._now()

        async def write(prepared: rules.Prepared) -> None:
            body = cosmos_items.body(prepared, now)
            answer = await self._ask(container, lambda proxy: proxy.upsert_item(body, no_response=True))
            _expected(answer, container)

        await _in_parallel(write, await _prepared(container, documents))

    async def replace_many(self, container: str, changes: Sequence[tuple[Document, str]]) -> list[bool]:
        async def replace(change: tuple[rules.Prepared, str]) -> bool:
            try:
                await self._replace_as(container, *change)
            except ChangedMeanwhile:
                return False
            return True

        prepared = await _prepared(container, [document for document, _ in changes])
        etags = [etag for _, etag in changes]
        return await _in_parallel(replace, list(zip(prepared, etags, strict=True)))

    async def delete_many(self, container: str, deletions: Sequence[tuple[str, str, str]]) -> list[bool]:
        rules.addressed(container, [(partition, name) for partition, name, _ in deletions])

        async def delete(deletion: tuple[str, str, str]) -> bool:
            try:
                return await self.delete(container, *deletion)
            except ChangedMeanwhile:
                return False

        return await _in_parallel(delete, deletions)

    async def ping(self) -> None:
        # Any item will do: that it is not there is an answer too.
        await self._ask("catalog", lambda proxy: proxy.read_item("ping", "ping"), budget_seconds=PING_SECONDS, tries=1)

    async def close(self) -> None:
        await self._connection.close()

    def _now(self) -> int:
        return int(self._clock().timestamp())

    async def _create_database(self) -> None:
        await (await self._connection.client()).create_database_if_not_exists(self._database)

    async def _create_container(self, container: Container) -> Answer:
        from azure.cosmos import PartitionKey

        database = await self._connection.database()
        return await self._connection.ask(
            lambda: database.create_container(
                container.name,
                PartitionKey(path=f"/{container.partition_key}"),
                indexing_policy=container.indexing_policy(),
                default_ttl=DEFAULT_TTL,
            )
        )

    async def _held(self, container: str, partition: str, id: str) -> dict[str, Any] | None:
        """The stored item with the store's own fields, expired or not."""
        answer = await self._ask(container, lambda proxy: proxy.read_item(id, partition))
        return dict(answer.result) if answer.status == 200 else None

    async def _replace(self, container: str, id: str, body: Document, etag: str) -> Answer:
        from azure.core import MatchConditions

        condition = MatchConditions.IfNotModified
        return await self._ask(
            container, lambda proxy: proxy.replace_item(id, body, etag=etag, match_condition=condition)
        )

    async def _delete(self, container: str, partition: str, id: str, etag: str | None) -> Answer:
        if etag is None:
            return await self._ask(container, lambda proxy: proxy.delete_item(id, partition))
        from azure.core import MatchConditions

        condition = MatchConditions.IfNotModified
        return await self._ask(
            container, lambda proxy: proxy.delete_item(id, partition, etag=etag, match_condition=condition)
        )

    async def _listed(
        self, container: str, text: str, parameters: list[dict[str, Any]], partition: str | None, page: int
    ) -> list[Any]:
        scope: dict[str, Any] = {} if partition is None else {"partition_key": partition}

        async def call(proxy: ContainerProxy) -> list[Any]:
            found = proxy.query_items(text, parameters=parameters, max_item_count=page, **scope)
            return [each async for each in found]

        return list(_expected(await self._ask(container, call), container))

    async def _ask(self, container: str, call: ItemCall, **options: Any) -> Answer:
        return await self._connection.items(container, call, **options)


async def _prepared(container: str, documents: Sequence[Document]) -> list[rules.Prepared]:
    """Nothing is written before every document has been checked."""
    spec = rules.container_named(container)
    return await asyncio.to_thread(lambda: [rules.prepare(spec, document) for document in documents])


async def _in_parallel(call: Callable[[A], Awaitable[B]], given: Sequence[A]) -> list[B]:
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


def _expected(answer: Answer, container: str) -> Any:
    if answer.status != 200:
        raise Unavailable(f"{container}: Cosmos DB answered {answer.status} where that means nothing")
    return answer.result


def _restless(container: str, id: str) -> Unavailable:
    return Unavailable(f"{container}: {id} kept changing", retry_after=1.0)
