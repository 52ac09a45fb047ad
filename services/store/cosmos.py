"""The store on Azure Cosmos DB: every write is a transactional batch. cosmos_connection.py makes the retries.

A try whose response is lost may have succeeded. If the next one then fails, nobody knows which of the two changed the
documents, and the call raises Unavailable: its caller goes on as after a death behind the write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from models.errors import Contended, InvalidInput, Unavailable
from services.ports import BatchOutcome, Clock, Document, Page, Query, Where
from services.store import cosmos_items, plans, rules
from services.store.batched import BatchedStore
from services.store.containers import CONTAINERS, DEFAULT_TTL, Container
from services.store.cosmos_connection import (
    MAX_CONNECTIONS,
    BatchRequest,
    Connection,
    Counters,
    FailedBatch,
    Response,
    result_of,
)
from services.store.cosmos_items import Item

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

PING_SECONDS = 3.0
MANY = 16
"""So many documents are read with one request. It costs a query more than single reads, and nothing for a document that
does not exist; it takes a quarter of the CPU time."""
READ_AT_ONCE = 100
ROUNDS = 8  # tries of a batch, while documents expire or are deleted
NO_VERSION = "none"
"""An ETag that no item has: with it, an operation fails in Cosmos like any other whose ETag does not match."""


class CosmosStore(BatchedStore):
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

    async def write_batches(
        self, container: Container, batches: Sequence[tuple[str, Sequence[rules.Step]]]
    ) -> list[BatchOutcome]:
        async def write(batch: tuple[str, Sequence[rules.Step]]) -> BatchOutcome:
            return await self._write(container, *batch)

        if len(batches) == 1:
            return [await write(batches[0])]
        return await self._connection.in_parallel(write, batches)

    async def _write(self, container: Container, partition: str, steps: Sequence[rules.Step]) -> BatchOutcome:
        now = self._now()
        first = wanted = [_request(step, now) for step in steps]
        unsure = False
        for _ in range(ROUNDS):
            response = await self._connection.batch(container.name, partition, wanted)
            unsure = unsure or response.unsure
            result = result_of(response, container.name)
            if not isinstance(result, FailedBatch):
                return [None if item is None else cosmos_items.etag(item) for item in result]
            failed = steps[result.operation]
            if failed.kind == "create":
                created = [step.id for step in steps if step.kind == "create"]
                stored = await self._versions(container, partition, created)
                if not _is_alive(stored.get(failed.id), now):
                    wanted = [_over_expired(each, stored.get(each.id), now) for each in first]
                    continue
            if unsure:
                raise Unavailable(
                    f"{container.name}: it is unknown whether an earlier try changed {partition} / {failed.id}"
                )
            return rules.failed_batch(container.name, partition, steps, result.operation)
        raise Contended(f"{container.name}: {partition} kept changing", retry_after=1.0)

    async def _versions(self, container: Container, partition: str, names: Sequence[str]) -> dict[str, Item]:
        """The versions of the items that are stored, by id."""
        sql = cosmos_items.versions(container, partition, names)
        found = await self._connection.query(container.name, sql, partition, len(names))
        return {item["id"]: item for item in found}

    async def purge(self) -> None:
        """Nothing: Cosmos DB deletes what has expired by itself."""

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


def _request(step: rules.Step, now: int) -> BatchRequest:
    item = None if step.prepared is None else cosmos_items.item(step.prepared, now)
    if_match = None if step.etag is None else cosmos_items.etag_to_match(step.etag, now) or NO_VERSION
    return BatchRequest(step.kind, step.id, item, if_match)


def _is_alive(stored: Item | None, now: int) -> bool:
    return stored is not None and not cosmos_items.expired(stored, now)


def _over_expired(request: BatchRequest, stored: Item | None, now: int) -> BatchRequest:
    """A create replaces an expired item that Cosmos has not purged yet."""
    if request.kind == "create" and stored is not None and cosmos_items.expired(stored, now):
        return request._replace(kind="replace", if_match=stored["_etag"])
    return request
