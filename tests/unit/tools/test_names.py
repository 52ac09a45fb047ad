"""Which tool owns a name: normalized names, and claims that are renewed, taken over and released."""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.errors import Conflict
from models.tool import name_key, normalize_name
from services.store.sqlite import SqliteStore
from services.tools.names import IN_USE_FOR, NameClaims, owns
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


async def claimed_by(names: NameClaims, name: str) -> str | None:
    claim = await names.find(name)
    return None if claim is None else claim.tool_id


async def test_a_name_that_a_tool_lists_is_never_taken_over(
    names: NameClaims, store: SqliteStore, watch: Watch
) -> None:
    await store.create("catalog", tool().to_document())
    await names.claim("C#", "ALIAS", TOOL_ID)
    await names.release("C#", TOOL_ID)
    watch.advance(days=1)
    with pytest.raises(Conflict, match=TOOL_ID):
        await names.claim("C#", "ALIAS", OTHER_TOOL_ID)
    await names.claim("C#", "ALIAS", OTHER_TOOL_ID, instead_of=TOOL_ID)
    assert await claimed_by(names, "c#") == OTHER_TOOL_ID


@pytest.mark.parametrize("has_tool", [False, True])
async def test_a_claim_whose_tool_does_not_list_the_name_is_taken_over_after_a_minute(
    names: NameClaims, store: SqliteStore, watch: Watch, has_tool: bool
) -> None:
    if has_tool:
        await store.create("catalog", tool().to_document())
    await names.claim("Free", "ALIAS", TOOL_ID)
    watch.advance(hours=1)
    await names.claim("free", "PRIMARY", TOOL_ID)  # renews the claim
    watch.advance(seconds=59)
    with pytest.raises(Conflict, match="just now"):
        await names.claim("Free", "ALIAS", OTHER_TOOL_ID)
    watch.advance(seconds=1)
    await names.claim("Free", "ALIAS", OTHER_TOOL_ID)
    assert await claimed_by(names, "Free") == OTHER_TOOL_ID
    assert timedelta(minutes=1) == IN_USE_FOR


async def test_a_name_that_is_released_is_taken_over_at_once(names: NameClaims) -> None:
    for name in ("Free", "Other"):
        await names.claim(name, "ALIAS", OTHER_TOOL_ID if name == "Other" else TOOL_ID)
        await names.release(name, TOOL_ID)
    await names.release("Unknown", TOOL_ID)
    await names.claim("Free", "ALIAS", OTHER_TOOL_ID)
    with pytest.raises(Conflict, match="just now"):
        await names.claim("Other", "ALIAS", TOOL_ID)
    assert await claimed_by(names, "Unknown") is None


async def test_a_claim_of_a_clock_that_was_ahead_is_taken_over(names: NameClaims, watch: Watch) -> None:
    watch.advance(days=1)
    await names.claim("Quorvia", "PRIMARY", TOOL_ID)
    watch.advance(days=-1)
    await names.claim("Quorvia", "PRIMARY", OTHER_TOOL_ID)
