"""The documents of a key."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from models.story import KEY_KEPT, GroupingKey
from models.values import unix_seconds
from services.ports import Create, Delete, Document, Operation, Replace
from services.stories.keys import (
    MOST_IN_PART,
    Entry,
    changed,
    entries_of,
    ids_of,
    is_split,
    key_id,
    minute_of,
    place,
    splits_of,
)
from tests.documents import NOW

KEY = "h:1"
ONE, OTHER = "1" * 32, "2" * 32
NOON = minute_of(NOW)


def stored(articles: dict[str, int]) -> dict[str, Document | None]:
    key = GroupingKey(created_at=NOW, updated_at=NOW, key=KEY, articles=articles)
    return {key.id: {**key.to_document(), "_etag": "etag"}}


def after(documents: dict[str, Document | None], operations: Sequence[Operation]) -> dict[str, Document | None]:
    """The documents after the batch, as a store would have them."""
    found = dict(documents)
    assert len({_id(each) for each in operations}) == len(operations)
    for each in operations:
        assert not isinstance(each, Delete)
        before = found.get(each.document["id"])
        if isinstance(each, Replace):
            assert before is not None
            assert before["_etag"] == each.etag
        assert not (isinstance(each, Create) and before)
        GroupingKey.from_document(dict(each.document))
        found[each.document["id"]] = {**each.document, "_etag": f"{before['_etag'] if before else ''}+"}
    return found


def _id(operation: Operation) -> str:
    return operation.id if isinstance(operation, Delete) else str(operation.document["id"])


def listed(documents: dict[str, Document | None]) -> list[Entry]:
    """What the documents name, one after the other."""
    ids = ids_of(KEY, splits_of(documents.get(key_id(KEY))))
    assert set(documents) <= set(ids)
    return [entry for each in ids for entry in entries_of(documents.get(each))]


def name(number: int) -> str:
    return f"{number * 7919 % 1000:032x}"


def test_a_new_key_is_created_and_lives_longer_than_its_articles() -> None:
    (write,) = changed(KEY, {}, [(5, ONE)], (), NOW)
    assert isinstance(write, Create)
    assert write.document["articles"] == {ONE: 5}
    assert (write.document["id"], write.document["locator"]) == ("group:h:1", "group:h:1")
    assert write.document["ttl_timestamp"] == unix_seconds(NOW + KEY_KEPT)
    assert timedelta(days=33) == KEY_KEPT


def test_articles_are_added_and_removed_by_etag_and_the_key_is_renewed() -> None:
    later = NOW + timedelta(days=1)
    (write,) = changed(KEY, stored({ONE: 5}), [(6, OTHER)], [(5, ONE)], later)
    assert isinstance(write, Replace)
    assert (write.etag, write.document["articles"]) == ("etag", {OTHER: 6})
    assert write.document["ttl_timestamp"] == unix_seconds(later + KEY_KEPT)


def test_a_key_that_names_the_article_already_is_not_written() -> None:
    assert changed(KEY, stored({ONE: 5}), [(5, ONE)], [(6, OTHER)], NOW) == []


def test_an_article_at_another_time_is_named_once() -> None:
    assert listed(after(stored({ONE: 5}), changed(KEY, stored({ONE: 5}), [(6, ONE)], [(5, ONE)], NOW))) == [(6, ONE)]


def test_a_document_with_too_many_articles_is_halved() -> None:
    many = {name(number): NOON + number for number in range(MOST_IN_PART)}
    documents = after(stored(many), changed(KEY, stored(many), [(NOON - 1, ONE)], (), NOW))
    assert MOST_IN_PART == 256
    assert len(documents) == 2
    assert listed(documents) == sorted([(NOON - 1, ONE), *((minute, each) for each, minute in many.items())])
    assert sorted(len(entries_of(each)) for each in documents.values()) == [128, 129]


@pytest.mark.parametrize("span", [3, 100_000])
@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_added_and_removed_the_documents_name_each_article_once_in_order(seed: int, span: int) -> None:
    """Also if thousands of articles of one minute have the key."""
    chance = random.Random(seed)
    documents: dict[str, Document | None] = {}
    expected: set[Entry] = set()
    names = iter(chance.sample(range(10**6), 6000))
    for _ in range(40):
        added = {(NOON + chance.randrange(span), f"{next(names):032x}") for _ in range(150)}
        removed = set(chance.sample(sorted(expected), min(len(expected), chance.randrange(60)))) - added
        documents = after(documents, changed(KEY, documents, added, removed, NOW))
        expected = (expected | added) - removed
        assert changed(KEY, documents, added, removed, NOW) == []
    assert listed(documents) == sorted(expected)
    assert len(documents) > 10
    assert max(len(entries_of(each)) for each in documents.values()) <= MOST_IN_PART
    splits = splits_of(documents[key_id(KEY)])
    for number, each in enumerate(ids_of(KEY, splits)):
        assert all(place(splits, entry) == number for entry in entries_of(documents[each]))


def test_only_the_documents_in_which_articles_change_are_needed_and_written() -> None:
    documents = after({}, changed(KEY, {}, [(NOON + number, name(number)) for number in range(1000)], (), NOW))
    splits = splits_of(documents[key_id(KEY)])
    ids = ids_of(KEY, splits)
    entry = NOON + 300, ONE
    needed = {each: documents[each] for each in (key_id(KEY), ids[place(splits, entry)])}
    (write,) = changed(KEY, needed, [entry], (), NOW)
    assert _id(write) == ids[place(splits, entry)] != key_id(KEY)


def test_expired_articles_leave_a_document_that_grows_too_large_and_their_splits_the_latest() -> None:
    old = [(NOON + number, name(number)) for number in range(1000)]
    documents = after({}, changed(KEY, {}, old, (), NOW))
    later = NOW + 3 * KEY_KEPT
    new = [(minute_of(later) + number, f"{number + 10_000:032x}") for number in range(MOST_IN_PART)]
    latest: dict[str, Any] = {key_id(KEY): documents[key_id(KEY)]}
    documents = latest | after(latest, changed(KEY, latest, new, (), later))
    assert entries_of(documents[key_id(KEY)]) == new
    assert len(splits_of(documents[key_id(KEY)])) == 1


def test_a_part_that_has_expired_is_created_again() -> None:
    documents = after({}, changed(KEY, {}, [(NOON + number, name(number)) for number in range(1000)], (), NOW))
    latest: dict[str, Any] = {key_id(KEY): documents[key_id(KEY)]}
    (write,) = changed(KEY, latest, [(NOON - 5, ONE)], (), NOW)
    assert isinstance(write, Create)
    assert write.document["part"] == ""
    assert (write.document["id"], write.document["articles"]) == ("group:h:1:", {ONE: NOON - 5})


def test_a_split_is_a_minute_and_an_article() -> None:
    assert is_split(f"0000000005:{ONE}")
    assert not any(map(is_split, (5, None, "x:5", "", ":" + ONE)))


def test_a_document_may_have_exactly_so_many_articles() -> None:
    documents = after({}, changed(KEY, {}, [(NOON + number, name(number)) for number in range(MOST_IN_PART)], (), NOW))
    assert len(documents) == 1


def test_articles_stay_for_twice_the_life_of_a_key() -> None:
    oldest = minute_of(NOW - 2 * KEY_KEPT)
    many = [(NOON + number, name(number)) for number in range(MOST_IN_PART)]
    documents = after({}, changed(KEY, {}, [(oldest, ONE), (oldest - 1, OTHER), *many], (), NOW))
    assert listed(documents) == [(oldest, ONE), *many]


def test_a_write_says_when() -> None:
    (write,) = changed(KEY, stored({ONE: 5}), [(6, OTHER)], (), NOW + timedelta(days=1))
    assert isinstance(write, Replace)
    assert write.document["updated_at"] == "2026-02-22T20:00:00Z"
