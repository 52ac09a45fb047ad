"""Which batches both stores take: the limits of a transactional batch of Cosmos DB, and what each operation needs.

Pure: prepares operations for a store, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from models.errors import ChangedMeanwhile, Conflict, InvalidInput
from services.ports import Create, Delete, Operation, Replace, Upsert
from services.store import rules
from services.store.containers import Container

MAXIMUM_OPERATIONS = 100
MAXIMUM_BYTES = 2_000_000
"""Of documents. Cosmos takes requests of 2 MiB: each operation may spend almost a kilobyte on its id and ETag."""


class Step(NamedTuple):
    """An operation that has been checked; `prepared` is None for a Delete."""

    operation: Operation
    id: str
    prepared: rules.Prepared | None

    @property
    def etag(self) -> str | None:
        """The version that the operation asks for."""
        return self.operation.etag if isinstance(self.operation, Replace | Delete) else None


def prepare(container: Container, partition: str, operations: Sequence[Operation]) -> list[Step]:
    """Raises InvalidInput for a batch that Cosmos would refuse."""
    rules.check_key(container.partition_key, partition)
    if not 1 <= len(operations) <= MAXIMUM_OPERATIONS:
        raise InvalidInput("operations", f"must be 1 to {MAXIMUM_OPERATIONS} of one batch")
    steps = [_step(container, operation) for operation in operations]
    size = 0
    for _, _, prepared in steps:
        if prepared is not None:
            size += len(prepared.encoded)
            if prepared.partition != partition:
                raise InvalidInput(container.partition_key, f"must be {partition!r} in every document of the batch")
    if size > MAXIMUM_BYTES:
        raise InvalidInput("operations", f"must hold at most {MAXIMUM_BYTES} bytes of documents in one batch")
    if len({step.id for step in steps}) < len(steps):
        raise InvalidInput("operations", "must be about different ids in one batch")
    return steps


def _step(container: Container, operation: Operation) -> Step:
    if isinstance(operation, Delete):
        rules.check_id(operation.id)
        if operation.etag is not None:
            rules.check_etag(operation.etag)
        return Step(operation, operation.id, None)
    if not isinstance(operation, Create | Upsert | Replace):
        raise InvalidInput("operations", "must be Create, Upsert, Replace or Delete")
    if isinstance(operation, Replace):
        rules.check_etag(operation.etag)
    prepared = rules.prepare(container, operation.document)
    return Step(operation, prepared.id, prepared)


def failure(container: Container, partition: str, steps: Sequence[Step], index: int) -> Conflict | ChangedMeanwhile:
    """The error of a batch whose operation at `index` failed."""
    step = steps[index]
    name = f"{container.name}: {partition} / {step.id}"
    if isinstance(step.operation, Create):
        return Conflict(f"{name} is there already", index)
    return ChangedMeanwhile(f"{name} has changed or is gone", index)
