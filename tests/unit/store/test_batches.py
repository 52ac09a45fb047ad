"""Which batches services/store/rules.py refuses, and the error of a batch that failed."""

from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Conflict, InvalidInput
from services.ports import Create, Delete, Document, Operation, Replace, Upsert
from services.store import rules
from services.store.containers import MENTIONS


def item(name: str = "a", tool: str = "t", **fields: Any) -> Document:
    return {"id": name, "tool_id": tool, **fields}


def of_size(size: int, name: str = "a") -> Document:
    return item(name, text="x" * (size - len(f'{{"id":"{name}","tool_id":"t","text":""}}')))


def test_a_batch_has_1_to_100_operations() -> None:
    assert len(rules.prepare_batch(MENTIONS, "t", [Delete(f"{n}") for n in range(100)])) == 100
    for count in (0, 101):
        with pytest.raises(InvalidInput, match="1 to 100"):
            rules.prepare_batch(MENTIONS, "t", [Delete(f"{n}") for n in range(count)])


def test_a_batch_has_at_most_two_million_bytes_of_documents() -> None:
    half = Create(of_size(1_000_000, "a"))
    rules.prepare_batch(MENTIONS, "t", [half, Upsert(of_size(1_000_000, "b")), Delete("c")])
    with pytest.raises(InvalidInput, match="2000000 bytes"):
        rules.prepare_batch(MENTIONS, "t", [half, Upsert(of_size(1_000_001, "b")), Delete("c")])


@pytest.mark.parametrize(
    ("operations", "field"),
    [
        ([Create(item(tool="another"))], "tool_id"),
        ([Delete("b"), Replace(item(tool="another"), "etag")], "tool_id"),
        ([Create(item()), Delete("a")], "operations"),
        ([Upsert(item()), Replace(item(), "etag")], "operations"),
        ([Delete("a"), Delete("a", "etag")], "operations"),
        ([Replace(item(), None)], "etag"),  # type: ignore[arg-type]
        ([Delete("a", b"etag")], "etag"),  # type: ignore[arg-type]
        ([Delete("a/b")], "id"),
        ([Upsert(item("a/b"))], "id"),
        ([("create", item())], "operations"),
    ],
)
def test_what_azure_would_refuse_names_its_field(operations: list[Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rules.prepare_batch(MENTIONS, "t", operations)
    assert refused.value.field == field


def test_a_step_knows_the_version_that_its_operation_asks_for() -> None:
    operations: list[Operation] = [
        Create(item("a")),
        Upsert(item("b")),
        Replace(item("c"), "1"),
        Delete("d", "2"),
        Delete("e"),
    ]
    steps = rules.prepare_batch(MENTIONS, "t", operations)
    assert [step.etag for step in steps] == [None, None, "1", "2", None]
    assert [step.kind for step in steps] == ["create", "upsert", "replace", "delete", "delete"]
    assert [step.id for step in steps] == ["a", "b", "c", "d", "e"]
    assert [step.prepared is None for step in steps] == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("operation", "error"),
    [(Create(item("b")), Conflict), (Replace(item("b"), "1"), ChangedMeanwhile), (Delete("b"), ChangedMeanwhile)],
)
def test_a_failure_names_the_operation_and_the_document(operation: Operation, error: type[Exception]) -> None:
    steps = rules.prepare_batch(MENTIONS, "t", [Upsert(item("a")), operation])
    failure = rules.failed_batch("mentions", "t", steps, 1)
    assert type(failure) is error
    assert failure.operation == 1
    assert "mentions: t / b" in str(failure)
