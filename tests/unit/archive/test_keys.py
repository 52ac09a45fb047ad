"""Names of folders and objects follow from the article and the bytes, and lead back to the article."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidInput
from models.values import LONGEST_ID
from services.archive.keys import (
    LONGEST_NAME,
    checked_folder,
    checked_key,
    folder_of,
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
