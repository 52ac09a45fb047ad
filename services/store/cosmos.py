"""The store on Azure Cosmos DB.

Creates and replaces write a random `_write` into the item. If the response is lost, the retry finds that `_write` and
knows that the earlier try succeeded. cosmos_connection.py makes the retries, cosmos_batches.py does batches.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from models.errors import ChangedMeanwhile, Conflict, InvalidInput, Unavailable
from services.ports import BatchOutcome, Clock, Document, Operation, Page, Query, Where
from services.store import cosmos_batches, cosmos_items, plans, rules
from services.store.containers import CONTAINERS, DEFAULT_TTL, Container
from services.store.cosmos_connection import MAX_CONNECTIONS, Connection, Counters, Response, result_of

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

PING_SECONDS = 3.0
MANY = 16
"""So many documents are read with one request. It costs a query more than single reads, and nothing for a document that
does not exist; it takes a quarter of the CPU time."""
READ_AT_ONCE = 100
ROUNDS = 8  # tries of a write whose document changes before each try


class CosmosStore:
    """The store on Cosmos DB.

    See services.ports.Store. Needs either a key (emulators) or a credential, which the caller closes.

    `budget_seconds` bounds each request of an operation with all its retries.
    """

    connections = MAX_CONNECTIONS
    """The most HTTP connections that this store opens."""

    def __init__(
        self,
        endpoint: str,
        database: str,
        clock: Clock,
        *,
        key: str | None = None,
        credential: AsyncTokenCredential | None = None,
        budget_seconds: float = 20.0,
    ) -> None:
        if (key is None) == (credential is None):
            raise InvalidInput("credential", "give either a key or a credential")
        self._database = database
        self._clock = clock
        self._may_create = key is not None
        sign_in: Any = key if key is not None else credential
        self._connection = Connection(endpoint, database, sign_in, budget_seconds)

    @property
    def counters(self) -> dict[str, Counters]:
        """The counters since this store was made, by container."""
        return self._connection.counters

    def last_write(self) -> object:
        """See services.ports.LastWrite."""
        return self._connection.writes

    async def ensure_containers(self) -> list[str]:
        """With a key, creates the containers that are missing, and returns their names. With a credential it does
        nothing, since an identity may not create containers."""
        if not self._may_create:
            return []
        made = []
        await self._connection.request_account(self._create_database)
        for container in CONTAINERS.values():
            if await self.container_properties(container.name) is None:
                response = await self._create_container(container)
                if response.status == 200:  # any other status: another process created it first
                    made.append(container.name)
        return made

    async def container_properties(self, container: str) -> dict[str, Any] | None:
        """The account's definition of a container, or None if the container does not exist."""
        database = await self._connection.database()
        response = await self._connection.request_account(database.get_container_client(container).read)
        return dict(response.result) if response.status == 200 else None

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        rules.check_addresses(container, [(partition, id)])
        return await self._read(container, partition, id)

    async def _read(self, container: str, partition: str, id: str, *, may_be_stale: bool = False) -> Document | None:
        stored = await self._connection.read(container, partition, id, may_be_stale=may_be_stale)
        return None if stored is None or cosmos_items.expired(stored, self._now()) else cosmos_items.document(stored)

    async def read_many(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Document | None]:
        rules.check_addresses(container, keys)
        if len(keys) < MANY:
            return await self._connection.in_parallel(
                lambda key: self._read(container, *key, may_be_stale=may_be_stale), keys
            )
        wanted = list(dict.fromkeys(keys))
        portions = [wanted[start : start + READ_AT_ONCE] for start in range(0, len(wanted), READ_AT_ONCE)]
        found = await self._connection.in_parallel(
            lambda each: self._connection.read_items(container, each, may_be_stale=may_be_stale), portions
        )
        name, now = rules.container_named(container).partition_key, self._now()
        stored = {(each[name], each["id"]): each for portion in found for each in portion}
        alive = {key: each for key, each in stored.items() if not cosmos_items.expired(each, now)}
        return [cosmos_items.document(alive[key]) if key in alive else None for key in keys]

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        return await self._create(container, rules.prepare(rules.container_named(container), document))

    async def _create(self, container: str, prepared: rules.Prepared) -> Document:
        now, token = self._now(), uuid.uuid4().hex
        item = cosmos_items.item(prepared, now, token)
        for _ in range(ROUNDS):
            response = await self._connection.request(container, lambda proxy: proxy.create_item(item))
            if response.status == 200:
                return cosmos_items.document(response.result)
            stored = await self._connection.read(container, prepared.partition, prepared.id)
            if stored is None:
                continue
            if cosmos_items.was_written_by(stored, token):
                return cosmos_items.document(stored)
            if not cosmos_items.expired(stored, now):
                if response.unsure:
                    raise Unavailable(f"{container}: it is unknown whether an earlier try created {prepared.id}")
                raise rules.exists(container, prepared.partition, prepared.id)
            response = await self._connection.replace(container, prepared.id, item, stored["_etag"])
            if response.status == 200:
                return cosmos_items.document(response.result)
        raise _kept_changing(container, prepared.id)

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        item = cosmos_items.item(rules.prepare(rules.container_named(container), document), self._now())
        response = await self._connection.request(container, lambda proxy: proxy.upsert_item(item))
        return cosmos_items.document(result_of(response, container))

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        prepared = rules.prepare(rules.container_named(container), document)
        now, token = self._now(), uuid.uuid4().hex
        to_match = cosmos_items.etag_to_match(etag, now)
        if to_match is not None:
            item = cosmos_items.item(prepared, now, token)
            response = await self._connection.replace(container, prepared.id, item, to_match)
            if response.status == 200:
                return cosmos_items.document(response.result)
            if response.status == 412:
                stored = await self._connection.read(container, prepared.partition, prepared.id)
                if stored is not None and cosmos_items.was_written_by(stored, token):
                    return cosmos_items.document(stored)
            if response.unsure:
                raise Unavailable(f"{container}: it is unknown whether an earlier try changed {prepared.id}")
        raise rules.changed(container, prepared.partition, prepared.id)

    async def increment(self, container: str, seed: Mapping[str, Any], amounts: Mapping[str, int | float]) -> None:
        spec = rules.container_named(container)
        prepared = rules.prepare(spec, seed)
        rules.check_amounts(spec, amounts)
        first = prepared._replace(body=rules.counted(prepared, amounts))
        steps = [{"op": "incr", "path": f"/{field}", "value": amount} for field, amount in amounts.items()]
        where = f"FROM c\nWHERE {cosmos_items.alive(self._now())}"
        for _ in range(ROUNDS):
            response = await self._connection.request(
                container,
                lambda proxy: proxy.patch_item(
                    prepared.id, prepared.partition, steps, filter_predicate=where, no_response=True
                ),
                refused=rules.not_a_number(" or ".join(amounts)),
            )
            if response.status == 200:
                return
            with contextlib.suppress(Conflict):  # another process created the document first
                await self._create(container, first)
                return
        raise _kept_changing(container, prepared.id)

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        rules.check_addresses(container, [(partition, id)])
        now = self._now()
        to_match = None if etag is None else cosmos_items.etag_to_match(etag, now) or cosmos_batches.NO_VERSION
        stored = await self._connection.read(container, partition, id)
        if stored is None or cosmos_items.expired(stored, now):
            return False
        response = await self._connection.delete(container, partition, id, to_match)
        if response.status == 412:
            raise ChangedMeanwhile(f"{container}: {partition} / {id} has changed")
        return response.status == 200 or response.unsure

    async def query(self, container: str, query: Query) -> Page:
        plan = plans.plan(rules.container_named(container), query)
        sql = cosmos_items.select(plan, self._now())
        found = await self._connection.query(
            container, sql, query.partition, query.limit + 1, may_be_stale=query.may_be_stale
        )
        return plan.page([cosmos_items.document(each) for each in found])

    async def count(
        self,
        container: str,
        where: tuple[Where, ...] = (),
        partition: str | None = None,
        *,
        may_be_stale: bool = False,
    ) -> int:
        plan = plans.plan(rules.container_named(container), Query(where, partition))
        sql = cosmos_items.count(plan, self._now())
        return int(sum(await self._connection.query(container, sql, partition, 1, may_be_stale=may_be_stale)))

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        spec = rules.container_named(container)
        steps = rules.prepare_batch(spec, partition, operations)
        outcome = await cosmos_batches.run(self._connection, spec, partition, steps, self._now())
        if isinstance(outcome, list):
            return outcome
        raise outcome

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[BatchOutcome]:
        spec, now = rules.container_named(container), self._now()
        if not batches:
            return []

        def checked() -> list[tuple[str, list[rules.Step]]]:
            return [(partition, rules.prepare_batch(spec, partition, operations)) for partition, operations in batches]

        async def run(batch: tuple[str, list[rules.Step]]) -> BatchOutcome:
            return await cosmos_batches.run(self._connection, spec, *batch, now)

        return await self._connection.in_parallel(run, await asyncio.to_thread(checked))

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        async def create(prepared: rules.Prepared) -> bool:
            try:
                await self._create(container, prepared)
            except Conflict:
                return False
            return True

        return await self._connection.in_parallel(create, await _prepared(container, documents))

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        now = self._now()

        async def write(prepared: rules.Prepared) -> None:
            item = cosmos_items.item(prepared, now)
            response = await self._connection.request(
                container, lambda proxy: proxy.upsert_item(item, no_response=True)
            )
            result_of(response, container)

        await self._connection.in_parallel(write, await _prepared(container, documents))

    async def ping(self) -> None:
        # The item need not exist: a 404 shows that the account works too.
        await self._connection.request(
            "catalog", lambda proxy: proxy.read_item("ping", "ping"), budget_seconds=PING_SECONDS, tries=1
        )

    async def close(self) -> None:
        await self._connection.close()

    def _now(self) -> int:
        return int(self._clock().timestamp())

    async def _create_database(self) -> None:
        await (await self._connection.client()).create_database_if_not_exists(self._database)

    async def _create_container(self, container: Container) -> Response:
        from azure.cosmos import PartitionKey

        database = await self._connection.database()
        return await self._connection.request_account(
            lambda: database.create_container(
                container.name,
                PartitionKey(path=f"/{container.partition_key}"),
                indexing_policy=container.indexing_policy(),
                default_ttl=DEFAULT_TTL,
            )
        )


async def _prepared(container: str, documents: Sequence[Mapping[str, Any]]) -> list[rules.Prepared]:
    """Checks every document before one is written."""
    spec = rules.container_named(container)
    if not documents:
        return []
    return await asyncio.to_thread(lambda: [rules.prepare(spec, document) for document in documents])


def _kept_changing(container: str, id: str) -> Unavailable:
    return Unavailable(f"{container}: {id} kept changing", retry_after=1.0)
