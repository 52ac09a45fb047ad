"""Batches as transactional batches of Azure Cosmos DB: what is sent, and what a failed or lost one means.

Every document of a batch carries one random `_write`. A failed try reads the documents again: where one carries that
`_write`, an earlier try of the same batch was done and its response was lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import ChangedMeanwhile, Conflict, Unavailable
from services.ports import Create, Delete, Replace
from services.store import batches, cosmos_items, cosmos_sql
from services.store.batches import Step
from services.store.containers import Container
from services.store.cosmos_requests import BatchRequest, FailedBatch, Requests, expected

ROUNDS = 8  # of a batch whose documents change between two tries
NO_VERSION = "none"
"""An ETag that no item has."""


async def run(
    requests: Requests, container: Container, partition: str, steps: Sequence[Step], now: int
) -> list[str | None] | Conflict | ChangedMeanwhile:
    """The new ETags, or the error of the operation that failed."""
    token = uuid.uuid4().hex
    wanted = [_request(step, token, now) for step in steps]
    wanted = await _without_expired_deletes(requests, container, partition, wanted, now)
    unsure = False
    for _ in range(ROUNDS):
        answer = await requests.batch(container.name, partition, wanted)
        unsure = unsure or answer.unsure
        result = expected(answer, container.name)
        if not isinstance(result, FailedBatch):
            return [item and cosmos_items.etag(item) for item in result]
        stored = await _stored(requests, container, partition, [step.id for step in steps])
        if any(item.get("_write") == token for item in stored.values()):
            return [None if each.item is None else _own_etag(stored.get(each.id), token) for each in wanted]
        failed = steps[result.operation]
        held = stored.get(failed.id)
        if isinstance(failed.operation, Create) and (held is None or cosmos_items.expired(held, now)):
            wanted = [_over_expired(each, stored.get(each.id), now) for each in wanted]
            continue
        if unsure:
            raise Unavailable(f"{container.name}: could not tell who changed {partition} / {failed.id}")
        return batches.failure(container, partition, steps, result.operation)
    raise Unavailable(f"{container.name}: {partition} kept changing", retry_after=1.0)


def _request(step: Step, token: str, now: int) -> BatchRequest:
    operation, name, prepared = step
    kind = type(operation).__name__.lower()
    item = None if prepared is None else {**cosmos_items.body(prepared, now), "_write": token}
    if not isinstance(operation, Replace | Delete) or operation.etag is None:
        return BatchRequest(kind, name, item, None)
    deadline, etag = cosmos_items.etag_parts(operation.etag)
    return BatchRequest(kind, name, item, NO_VERSION if etag is None or deadline <= now else etag)


async def _without_expired_deletes(
    requests: Requests, container: Container, partition: str, wanted: list[BatchRequest], now: int
) -> list[BatchRequest]:
    """A delete of any version would find an expired one: such a delete must fail, at its place among the others."""
    deletes = [each.id for each in wanted if each.kind == "delete" and each.if_match is None]
    if not deletes:
        return wanted
    stored = await _stored(requests, container, partition, deletes)
    expired = {name for name, item in stored.items() if cosmos_items.expired(item, now)}
    return [each._replace(if_match=NO_VERSION) if each.id in expired else each for each in wanted]


def _over_expired(request: BatchRequest, held: Mapping[str, Any] | None, now: int) -> BatchRequest:
    """A create takes the place of an expired item by replacing it."""
    if request.kind == "create" and held is not None and cosmos_items.expired(held, now):
        return request._replace(kind="replace", if_match=held["_etag"])
    return request


def _own_etag(held: Mapping[str, Any] | None, token: str) -> str:
    """The ETag of a document that the batch wrote, or one that matches nothing if it has been written since."""
    return cosmos_items.etag(held) if held is not None and held.get("_write") == token else f"|{NO_VERSION}"


async def _stored(
    requests: Requests, container: Container, partition: str, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """By id, of the items that are there: what tells their version, their writer and their deadline."""
    text, parameters = cosmos_sql.versions(container, partition, names)
    found = await requests.listed(container.name, text, parameters, partition, len(names))
    return {item["id"]: item for item in found}
