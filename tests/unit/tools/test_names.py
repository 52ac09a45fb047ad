"""Which tool owns a name: normalized names, and claims that are found, renewed, moved, taken over and released."""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.errors import Conflict
from models.tool import name_key, normalize_name
from services.store.sqlite import SqliteStore
from services.tools.names import ABANDONED_AFTER, NameClaims, owns
from tests.builders import Watch
from tests.documents import OTHER_TOOL_ID, TOOL_ID, tool


@pytest.fixture
def names(store: SqliteStore, watch: Watch) -> NameClaims:
    return NameClaims(store, watch)


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("  Visual\tStudio  CODE ", "visual studio code"),
        ("C#", "c#"),
        ("C++", "c++"),
        (".NET", ".net"),
        ("Straße", "strasse"),
        ("\uff23\uff2f\uff24\uff25", "code"),
        ("ﬁne", "fine"),
        ("Cafe\u0301", "café"),
        ("\u0345\u0391", "\u03b9\u03b1"),
        ("  ", ""),
    ],
)
def test_names_are_alike_in_case_form_and_space_and_keep_their_punctuation(name: str, normalized: str) -> None:
    assert normalize_name(name) == normalized
    assert normalize_name(normalized) == normalized


def test_the_key_of_a_name_is_its_hash() -> None:
    assert name_key("c#") == "NAME:951a4d36e0a9018b7b895a76402a7b6b"


def test_a_tool_owns_the_names_that_it_lists_in_any_spelling() -> None:
    assert owns(tool(), "visual STUDIO code")
    assert owns(tool(), "c#")
    assert not owns(tool(), "C")
    assert not owns(None, "C#")


async def test_the_first_claim_of_a_name_counts(names: NameClaims) -> None:
    first = await names.find_or_create("C#", "ALIAS", TOOL_ID)
    second = await names.find_or_create("c#", "PRIMARY", OTHER_TOOL_ID)
    assert (second.tool_id, second.name_kind, second.stored_etag) == (TOOL_ID, "ALIAS", first.stored_etag)


async def test_a_claim_that_a_tool_has_is_renewed(names: NameClaims, watch: Watch) -> None:
    first = await names.find_or_create("C#", "ALIAS", TOOL_ID)
    watch.advance(hours=1)
    await names.claim("C#", "PRIMARY", TOOL_ID)
    renewed = await names.find("c#")
    assert renewed is not None
    assert (renewed.tool_id, renewed.name_kind, renewed.updated_at) == (TOOL_ID, "PRIMARY", watch.now)
    assert renewed.stored_etag != first.stored_etag


async def test_a_name_that_a_tool_lists_is_never_taken_over(
    names: NameClaims, store: SqliteStore, watch: Watch
) -> None:
    await store.create("catalog", tool().to_document())
    await names.find_or_create("C#", "ALIAS", TOOL_ID)
    watch.advance(days=1)
    with pytest.raises(Conflict, match=TOOL_ID):
        await names.claim("C#", "ALIAS", OTHER_TOOL_ID)


@pytest.mark.parametrize("has_tool", [False, True])
async def test_a_claim_whose_tool_does_not_list_the_name_is_taken_over_after_a_minute(
    names: NameClaims, store: SqliteStore, watch: Watch, has_tool: bool
) -> None:
    if has_tool:
        await store.create("catalog", tool().to_document())
    await names.find_or_create("Free", "ALIAS", TOOL_ID)
    watch.advance(seconds=59)
    with pytest.raises(Conflict, match="just now"):
        await names.claim("Free", "ALIAS", OTHER_TOOL_ID)
    watch.advance(seconds=1)
    before = await names.tool(TOOL_ID)
    await names.claim("Free", "ALIAS", OTHER_TOOL_ID)
    claim, after = await names.find("free"), await names.tool(TOOL_ID)
    assert claim is not None
    assert claim.tool_id == OTHER_TOOL_ID
    if before is not None and after is not None:
        assert before.stored_etag != after.stored_etag, "a change of the tool that is under way fails"
    assert timedelta(minutes=1) == ABANDONED_AFTER


async def test_a_name_moves_from_its_tool_only(names: NameClaims) -> None:
    await names.find_or_create("C#", "PRIMARY", TOOL_ID)
    await names.move("C#", "ALIAS", OTHER_TOOL_ID, "another")
    await names.move("Unknown", "ALIAS", TOOL_ID, OTHER_TOOL_ID)
    assert await names.find("Unknown") is None
    await names.move("c#", "ALIAS", TOOL_ID, OTHER_TOOL_ID)
    moved = await names.find("C#")
    assert moved is not None
    assert (moved.tool_id, moved.name_kind, moved.name_raw) == (OTHER_TOOL_ID, "ALIAS", "C#")


async def test_a_name_is_released_unless_it_is_of_another_tool_or_still_listed(
    names: NameClaims, store: SqliteStore
) -> None:
    await store.create("catalog", tool().to_document())
    for name in ("C#", "Free", "Other"):
        await names.find_or_create(name, "ALIAS", OTHER_TOOL_ID if name == "Other" else TOOL_ID)
    for name in ("C#", "Free", "Other", "Unknown"):
        await names.release(name, TOOL_ID)
    assert await names.find("Free") is None
    assert None not in (await names.find("C#"), await names.find("Other"))


async def test_a_name_that_was_claimed_again_meanwhile_is_not_released(names: NameClaims, store: SqliteStore) -> None:
    await names.find_or_create("Free", "ALIAS", TOOL_ID)

    class Renewing:
        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def delete(self, container: str, partition: str, id: str, etag: str) -> bool:
            await names.claim("Free", "ALIAS", TOOL_ID)
            return await store.delete(container, partition, id, etag)

    await NameClaims(Renewing(), Watch()).release("Free", TOOL_ID)  # type: ignore[arg-type]
    assert await names.find("Free") is not None


async def test_a_claim_of_a_clock_that_was_ahead_is_abandoned(names: NameClaims, watch: Watch) -> None:
    watch.advance(days=1)
    await names.claim("Quorvia", "PRIMARY", TOOL_ID)
    watch.advance(days=-1)
    await names.claim("Quorvia", "PRIMARY", OTHER_TOOL_ID)
