"""Batches of the port as transactional batches of Azure Cosmos DB.

Every item of a batch has the batch's random `_write`. After a failure the items are read: if an item has that `_write`,
an earlier try succeeded and its response was lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from models.errors import Unavailable
from services.ports import BatchOutcome
from services.store import cosmos_items
from services.store.containers import Container
from services.store.cosmos_connection import BatchRequest, Connection, FailedBatch, result_of
from services.store.cosmos_items import Item
from services.store.rules import Step, failed_batch

ROUNDS = 8  # tries, while documents expire or are deleted
NO_VERSION = "none"
"""An ETag that no item has: with it, an operation fails in Cosmos like any other whose ETag does not match."""


async def run(
    connection: Connection, container: Container, partition: str, steps: Sequence[Step], now: int
) -> BatchOutcome:
    token = uuid.uuid4().hex
    first = [_request(step, now, token) for step in steps]
    first = await _failing_expired_deletes(connection, container, partition, first, now)
    wanted, unsure = first, False
    for _ in range(ROUNDS):
        response = await connection.batch(container.name, partition, wanted)
        unsure = unsure or response.unsure
        result = result_of(response, container.name)
        if not isinstance(result, FailedBatch):
            return [item and cosmos_items.etag(item) for item in result]
        stored = await _stored(connection, container, partition, [step.id for step in steps])
        if any(cosmos_items.was_written_by(item, token) for item in stored.values()):
            return [None if each.item is None else _own_etag(stored.get(each.id), token) for each in first]
        failed = steps[result.operation]
        if failed.kind == "create" and not _exists(stored.get(failed.id), now):
            wanted = [_over_expired(each, stored.get(each.id), now) for each in first]
        elif unsure:
            raise Unavailable(
                f"{container.name}: it is unknown whether an earlier try changed {partition} / {failed.id}"
            )
        else:
            return failed_batch(container.name, partition, steps, result.operation)
    raise Unavailable(f"{container.name}: {partition} kept changing", retry_after=1.0)


def _request(step: Step, now: int, token: str) -> BatchRequest:
    item = None if step.prepared is None else cosmos_items.item(step.prepared, now, token)
    if_match = None if step.etag is None else cosmos_items.etag_to_match(step.etag, now) or NO_VERSION
    return BatchRequest(step.kind, step.id, item, if_match)


async def _failing_expired_deletes(
    connection: Connection, container: Container, partition: str, wanted: list[BatchRequest], now: int
) -> list[BatchRequest]:
    """Makes a delete without an ETag fail if its item has expired, even if Cosmos has not purged the item yet."""
    names = [each.id for each in wanted if each.kind == "delete" and each.if_match is None]
    if not names:
        return wanted
    stored = await _stored(connection, container, partition, names)
    expired = {name for name, item in stored.items() if cosmos_items.expired(item, now)}
    return [each._replace(if_match=NO_VERSION) if each.id in expired else each for each in wanted]


def _exists(stored: Item | None, now: int) -> bool:
    return stored is not None and not cosmos_items.expired(stored, now)


def _over_expired(request: BatchRequest, stored: Item | None, now: int) -> BatchRequest:
    """A create replaces an expired item that Cosmos has not purged yet."""
    if request.kind == "create" and stored is not None and cosmos_items.expired(stored, now):
        return request._replace(kind="replace", if_match=stored["_etag"])
    return request


async def _stored(
    connection: Connection, container: Container, partition: str, names: Sequence[str]
) -> dict[str, Item]:
    """The versions of the items that are stored, by id."""
    sql = cosmos_items.versions(container, partition, names)
    found = await connection.query(container.name, sql, partition, len(names))
    return {item["id"]: item for item in found}


def _own_etag(stored: Item | None, token: str) -> str:
    """The ETag of an item that this batch wrote, or one that matches nothing if another write followed."""
    return cosmos_items.etag(stored) if stored and cosmos_items.was_written_by(stored, token) else f"|{NO_VERSION}"
