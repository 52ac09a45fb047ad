"""Which ids, keys, documents and batches every store refuses, at the limits of each."""

import json
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Conflict, InvalidInput
from services.ports import Create, Delete, Document, Operation, Replace, Upsert
from services.store import rules
from services.store.containers import FEEDS, MENTIONS


def item(name: str = "a", tool: str = "t", **fields: Any) -> Document:
    return {"id": name, "tool_id": tool, **fields}


def of_size(size: int, name: str = "a") -> Document:
    return item(name, text="x" * (size - len(f'{{"id":"{name}","tool_id":"t","text":""}}')))


# Ids, keys and numbers


@pytest.mark.parametrize("name", ["a", "a b", " a", "...", "a.b", "é" * 511 + "x", "i" * 1023, "a:b", "\u200b"])
def test_an_id_may_be_any_other_text(name: str) -> None:
    rules.check_id(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a ",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "a\n",
        "\x00",
        "\x1f",
        "\x7f",
        "i" * 1024,
        "é" * 512,
        "\ud800",
        1,
        None,
    ],
)
def test_an_id_that_cosmos_or_a_url_would_not_keep_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match="id: must be text of 1 to 1023 bytes"):
        rules.check_id(name)


def test_a_key_is_text_of_1_to_2048_bytes() -> None:
    for key in ("k", "a/b#?", "k" * 2048, "é" * 1024):
        rules.check_key("tool_id", key)
    for wrong in ("", "k" * 2049, "é" * 1024 + "x", "k\0", 1, None, "\ud800"):
        with pytest.raises(InvalidInput, match="tool_id: must be text of 1 to 2048 bytes"):
            rules.check_key("tool_id", wrong)


def test_an_address_is_checked_whole() -> None:
    rules.check_addresses("mentions", [("t", "a")])
    for container, key, field in (("x", ("t", "a"), "container"), ("mentions", ("", "a"), "tool_id")):
        with pytest.raises(InvalidInput) as refused:
            rules.check_addresses(container, [key])
        assert refused.value.field == field
    with pytest.raises(InvalidInput, match="id"):
        rules.check_addresses("mentions", [("t", "a"), ("t", "a/b")])


def test_an_unknown_container_is_refused_with_the_known_ones() -> None:
    assert rules.container_named("mentions") is MENTIONS
    with pytest.raises(InvalidInput, match="one of articles, catalog, documents, feeds, "):
        rules.container_named("Mentions")


@pytest.mark.parametrize(
    ("name", "is_field"), [("a", True), ("aB_9", True), ("_a", False), ("9a", False), ("a\n", False)]
)
def test_a_field_is_a_plain_name(name: str, is_field: bool) -> None:
    assert rules.is_field(name) is is_field


# Documents


def test_a_document_is_prepared_without_the_names_of_the_store() -> None:
    given = MappingProxyType(item(n=1, _etag="x", _ts=1, ttl_timestamp=9))
    prepared = rules.prepare(MENTIONS, given)
    assert (prepared.partition, prepared.id, prepared.expires) == ("t", "a", 9)
    assert prepared.body == {"id": "a", "tool_id": "t", "n": 1, "ttl_timestamp": 9}
    assert json.loads(prepared.encoded) == prepared.body


def test_a_document_without_a_deadline_never_expires() -> None:
    assert rules.prepare(MENTIONS, item()).expires is None
    assert rules.prepare(MENTIONS, item(ttl_timestamp=None)).expires is None


def test_a_document_has_at_most_two_million_bytes() -> None:
    largest = 2_000_000
    assert len(rules.prepare(MENTIONS, of_size(largest)).encoded) == largest
    with pytest.raises(InvalidInput, match="at most 2000000 bytes"):
        rules.prepare(MENTIONS, of_size(largest + 1))


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (item(n=datetime(2026, 2, 21, tzinfo=UTC)), "document"),
        (item(n=b"x"), "document"),
        (item(n="\udc00"), "document"),
        (item(n=10**400), "document"),
        ({"id": "a", "tool_id": "t", 1: 2}, "document"),
        (item(ttl=60), "ttl"),
        (item(ttl_timestamp=1.5), "ttl_timestamp"),
        (item(ttl_timestamp=True), "ttl_timestamp"),
        (item(ttl_timestamp="2026-02-21T20:00:00Z"), "ttl_timestamp"),
        (item("a/b"), "id"),
        ({"tool_id": "t"}, "id"),
        ({"id": "a"}, "tool_id"),
    ],
)
def test_a_document_that_cosmos_would_refuse_or_change_is_refused(document: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rules.prepare(MENTIONS, document)
    assert refused.value.field == field


def test_etags_are_text() -> None:
    rules.check_etag("")
    with pytest.raises(InvalidInput, match="etag"):
        rules.check_etag(None)


# Batches


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


def test_the_partition_of_a_batch_is_a_key() -> None:
    with pytest.raises(InvalidInput):
        rules.prepare_batch(MENTIONS, "", [Delete("a")])


def test_a_document_that_expires_is_refused_where_none_does() -> None:
    document = {"id": "feed", "feed_id": "f", "ttl_timestamp": 9}
    with pytest.raises(InvalidInput, match="ttl_timestamp: must be null: no document of feeds expires"):
        rules.prepare(FEEDS, document)
    assert rules.prepare(FEEDS, {**document, "ttl_timestamp": None}).expires is None
