"""Names of folders and objects follow from the article and the bytes, and lead back to the article."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidInput
from models.values import LONGEST_ID
from services.archive.keys import (
    LARGEST_OBJECT,
    LONGEST_NAME,
    checked_folder,
    checked_key,
    day_of,
    folder_of,
    is_object,
    key_of,
    source_of,
)

DAY = "2026-02-21"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_an_object_is_named_by_day_article_and_checksum() -> None:
    folder = folder_of("dedup:0123456789abcdef0123456789abcdef", DAY)
    assert folder == "2026-02-21/dedup%3A0123456789abcdef0123456789abcdef"
    assert key_of(folder, b"") == f"{folder}/{EMPTY}"
    assert checked_key(key_of(folder, b"")) == f"{folder}/{EMPTY}"


def test_the_day_is_that_of_utc() -> None:
    assert day_of(datetime(2026, 2, 21, 23, 30, tzinfo=timezone(timedelta(hours=-2)))) == "2026-02-22"


@pytest.mark.parametrize("day", ["", "2026-2-21", "../../etc", "2026-02-21/x"])
def test_a_day_of_another_form_is_refused(day: str) -> None:
    with pytest.raises(InvalidInput):
        folder_of("a", day)


@given(st.text(min_size=1, max_size=LONGEST_NAME // 12))
def test_every_article_has_its_folder_and_the_folder_names_the_article(source_id: str) -> None:
    folder = checked_folder(folder_of(source_id, DAY))
    assert source_of(folder) == source_id
    assert folder.casefold().upper() == folder.upper()
    assert {".", " ", "\\", ":"}.isdisjoint(folder)
    assert folder.count("/") == 1


def test_articles_that_differ_in_case_have_folders_that_differ_on_every_file_system() -> None:
    assert folder_of("A", DAY).casefold() != folder_of("a", DAY).casefold()


@pytest.mark.parametrize(("source_id", "fits"), [("a" * 200, True), ("a" * 201, False), ("A" * 67, False), ("", False)])
def test_an_article_whose_name_is_too_long_for_a_file_system_is_refused(source_id: str, fits: bool) -> None:
    assert (LONGEST_NAME, LONGEST_ID) == (200, 255)
    if fits:
        folder_of(source_id, DAY)
    else:
        with pytest.raises(InvalidInput) as caught:
            folder_of(source_id, DAY)
        assert caught.value.field == "source_id"


def test_an_object_has_at_most_32_megabytes() -> None:
    assert LARGEST_OBJECT == 32 * 1024 * 1024
    key_of("2026-02-21/a", bytes(LARGEST_OBJECT))
    with pytest.raises(InvalidInput):
        key_of("2026-02-21/a", bytes(LARGEST_OBJECT + 1))


@pytest.mark.parametrize("key", ["", "2026-02-21/a", f"2026-02-21/{EMPTY}", f"2026-02-21/../{EMPTY}", f"a/{EMPTY}"])
def test_a_key_of_another_form_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput):
        checked_key(key)


@pytest.mark.parametrize(
    "folder", ["2026-02-21/a.b", "2026-02-21/a:b", "2026-2-21/a", "2026-02-21/a\n", "x2026-02-21/a"]
)
def test_a_folder_of_another_form_is_refused(folder: str) -> None:
    with pytest.raises(InvalidInput):
        checked_folder(folder)


def test_an_object_is_a_checksum_in_lower_case() -> None:
    assert is_object(EMPTY)
    assert not any(is_object(name) for name in (EMPTY[1:], EMPTY + "0", EMPTY.upper(), f".{EMPTY[1:]}", EMPTY + "\n"))
