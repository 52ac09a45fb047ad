"""Which entries are known, which are a flood, and which article an entry matches."""

from datetime import timedelta
from typing import Any

import pytest

from models.article import ArticleDocument
from models.feed import ShortHash
from models.values import format_time
from services.articles.identity import Candidate, Entry, Source, entry_of, shared_url_hash
from services.articles.matching import (
    FEWEST_KEPT,
    FLOOD_MINIMUM,
    FLOOD_SHARE,
    GROUP,
    KEPT_PER_ENTRY,
    MAX_KEPT,
    DocumentCache,
    KnownEntries,
    candidates_of,
    flood_of,
    matches_of,
    separated,
    without_affix,
)
from tests.unit.articles.builders import NOW, article_after, attempt, candidate, match, raw, source


def group(number: int, form: int = 0) -> str:
    """The hashes of one entry in one form: form, identity, URL, headline. Another form has another URL."""
    return f"{number:012x}{form:04x}a{number:015x}b{form:03x}{number:012x}c{number:015x}"


def hashes(numbers: range) -> str:
    return "".join(group(number) for number in numbers)


def known_of(*candidates: Candidate) -> KnownEntries:
    return KnownEntries("".join("".join(each.hashes()) for each in candidates))


def test_an_entry_is_known_by_its_form_and_by_identity_url_and_headline() -> None:
    each = candidate()
    known = known_of(each)
    assert GROUP == len(group(1)) == 64
    assert each.entry.form_hash in known.groups
    assert all(known.has(short) for short in (each.id_hash, each.url_hash, each.headline_hash))
    assert not known.has(each.entry.form_hash)
    assert each.id_hash not in known.groups
    assert known.groups[each.entry.form_hash] == "".join(each.hashes())
    assert each.entry.form_hash not in KnownEntries().groups


def test_entries_that_have_left_the_feed_are_kept_up_to_four_for_each_that_is_in_it() -> None:
    assert (KEPT_PER_ENTRY, FEWEST_KEPT, MAX_KEPT) == (4, 100, 2_000)
    known = KnownEntries(hashes(range(1_000)))
    present = [group(number) for number in range(5_000, 5_030)]
    assert known.with_entries(present) == hashes(range(910, 1_000)) + "".join(present)


def test_at_most_two_thousand_entries_are_kept_unless_the_document_has_more() -> None:
    known = KnownEntries(hashes(range(2_000)))
    present = [group(number) for number in range(5_000, 5_600)]
    assert known.with_entries(present) == hashes(range(600, 2_000)) + "".join(present)
    large = [group(number) for number in range(5_000, 7_001)]
    assert known.with_entries(large) == "".join(large)


def test_an_older_form_of_a_present_entry_is_dropped() -> None:
    known = KnownEntries(group(1) + group(2))
    assert known.with_entries([group(1, form=7)]) == group(2) + group(1, form=7)
    assert KnownEntries().with_entries([group(1)]) == group(1)


def forms(*names: str) -> list[ShortHash]:
    return [ShortHash(each) for each in names]


def test_the_cache_has_a_feeds_last_document_only() -> None:
    cache = DocumentCache(10)
    cache.keep("a", "body 1", forms("x", "y"))
    assert cache.has_all("a", "body 1", forms("x"))
    assert not cache.has_all("a", "body 1", forms("x", "z"))
    assert not cache.has_all("a", "body 2", forms("x"))
    assert not cache.has_all("a", None, forms("x"))
    assert not cache.has_all("b", "body 1", forms("x"))
    cache.keep("a", "body 2", forms("z"))
    assert not cache.has_all("a", "body 1", forms("x"))


def test_a_full_cache_forgets_the_feed_that_was_saved_least_recently() -> None:
    cache = DocumentCache(4)
    cache.keep("a", "1", forms("x", "y"))
    cache.keep("b", "1", forms("x"))
    cache.keep("a", "2", forms("x", "y"))
    cache.keep("c", "1", forms("x"))
    assert all(cache.has_all(feed, body, forms("x")) for feed, body in (("a", "2"), ("b", "1"), ("c", "1")))
    cache.keep("d", "1", forms("x"))
    assert not cache.has_all("b", "1", forms("x"))
    assert cache.has_all("a", "2", forms("x"))


def entries(*numbers: int, **fields: Any) -> list[Entry]:
    return [entry_of(source(), raw(number, **fields)) for number in numbers]


def test_an_entry_whose_url_identifies_nothing_is_left_out() -> None:
    found = candidates_of([*entries(1, url="https:///x"), *entries(2)], source(), NOW, KnownEntries())
    assert [each.article_id for each in found] == ["guid-2"]


def test_an_entry_that_is_alone_with_a_url_that_was_shared_before_still_shares_it() -> None:
    plain = candidate(article_id=None)
    shared = f"{'0' * 32}{shared_url_hash(source(), plain.url)}{'0' * 16}"
    (found,) = candidates_of(entries(1, article_id=None), source(), NOW, KnownEntries(shared))
    assert found.locator != plain.locator
    assert found.entry.item.url_shared
    (with_id,) = candidates_of(entries(1), source(), NOW, KnownEntries(shared))
    assert not with_id.entry.item.url_shared


def flood(count: int, over: int) -> tuple[list[Candidate], KnownEntries]:
    """So many entries with new ids, and what is known: the pages or headlines of `over` of them."""
    new = [candidate(number, article_id=f"new-{number}") for number in range(count)]
    by_url = [candidate(number, headline=f"An old headline {number}") for number in range(0, over, 2)]
    by_headline = [candidate(number, url=f"https://old.example/{number}") for number in range(1, over, 2)]
    return new, known_of(*by_url, *by_headline)


@pytest.mark.parametrize(
    ("count", "over", "is_flood"),
    [(10, 10, True), (9, 9, False), (10, 5, True), (10, 4, False), (40, 20, True), (40, 19, False), (0, 0, False)],
)
def test_ten_new_ids_half_of_them_over_known_pages_are_a_flood(count: int, over: int, is_flood: bool) -> None:
    assert (FLOOD_MINIMUM, FLOOD_SHARE) == (10, 0.5)
    new, known = flood(count, over)
    assert flood_of(new, known, source()) == (new if is_flood else [])


def test_entries_without_ids_and_known_ids_are_no_flood() -> None:
    new, known = flood(10, 10)
    assert flood_of([*new[:9], candidate(9, article_id=None)], known, source()) == []
    assert flood_of([*new[:9], candidate(9)], known_of(*(candidate(number) for number in range(10))), source()) == []
    assert flood_of([*new, candidate(50, article_id=None)], known, source()) == new


WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@pytest.mark.parametrize(
    ("changed", "before", "is_flood"),
    [
        ("{} wins the prize again - F site", "{} wins the prize again", True),
        ("F site: {} wins the prize again", "{} wins the prize again", True),
        ("Breaking {} wins", "{} wins", True),
        ("{}勝利新聞網站", "{}勝利", True),
        ("{} wins - F site", "{} loses", False),
        ("Release {}.0", "Release {}", False),
    ],
)
def test_new_ids_and_urls_are_a_flood_if_headlines_are_known_without_shared_words(
    changed: str, before: str, is_flood: bool
) -> None:
    known = known_of(*(candidate(number, headline=before.format(word)) for number, word in enumerate(WORDS[:5])))
    new = [candidate(number, headline=changed.format(word)) for number, word in enumerate(WORDS, start=100)]
    assert flood_of(new, known, source()) == (new if is_flood else [])
    others = [candidate(number, headline=f"{number} is another matter") for number in range(200, 202)]
    assert flood_of([*new, *others], known, source()) == []
    assert flood_of(new[:9], known, source()) == []


def test_headlines_without_shared_words_are_found_by_headline() -> None:
    headlines = {f"{word} wins f site" for word in WORDS} | {"something else"}
    known = {f"{word} wins" for word in WORDS[:8]}
    assert without_affix(headlines, known.__contains__) == {f"{word} wins f site": f"{word} wins" for word in WORDS[:8]}
    assert without_affix(headlines, {f"{word} wins" for word in WORDS[:5]}.__contains__) == {}
    assert without_affix(set(), known.__contains__) == {}
    longest = {f"{word} {'x' * 40}" for word in WORDS}
    assert without_affix(longest, WORDS.__contains__) == {each: each.split()[0] for each in longest}
    assert without_affix({f"{each}x" for each in longest}, WORDS.__contains__) == {}


def alias(each: Candidate, source_id: str = "dedup:other", age: timedelta = timedelta()) -> dict[str, dict[str, Any]]:
    return {each.locator_id: {"source_id": source_id, "provider": "b", "created_at": format_time(NOW - age)}}


def test_an_entry_that_no_locator_knows_matches_the_article_with_its_key() -> None:
    each = candidate()
    (found,) = matches_of([each], {}, source(), NOW)
    assert found == match(each)
    assert (found.certain, found.claimed, found.outlived) == (False, False, False)


def test_an_alias_names_the_article() -> None:
    each = candidate()
    (found,) = matches_of([each], alias(each), source(), NOW)
    assert found == match(each, "dedup:other", certain=True, claimed=True, claimed_by="b")


@pytest.mark.parametrize(
    ("age", "outlived"),
    [(timedelta(days=30, hours=-1), False), (timedelta(days=30, hours=-1, seconds=1), True)],
)
def test_an_article_has_expired_an_hour_before_its_aliass_thirty_days_are_over(age: timedelta, outlived: bool) -> None:
    each = candidate()
    (found,) = matches_of([each], alias(each, age=age), source(), NOW)
    assert found.outlived is outlived


def test_an_entry_without_a_date_was_first_seen_when_its_alias_was_created() -> None:
    each = candidate(published=None)
    (found,) = matches_of([each], alias(each, age=timedelta(days=2)), source(), NOW)
    assert found.candidate.published == NOW - timedelta(days=2)
    (later,) = matches_of([each], alias(each, age=timedelta(days=-2)), source(), NOW)
    assert later.candidate.published == NOW
    early = candidate(published=NOW + timedelta(days=3))
    (still_early,) = matches_of([early], alias(early, age=timedelta(days=1)), source(), NOW)
    assert still_early.candidate.published == NOW - timedelta(days=1)
    (right,) = matches_of([early], alias(early, age=timedelta(days=-4)), source(), NOW)
    assert (right.candidate.published, right.candidate.flag) == (NOW + timedelta(days=3), None)
    dated = candidate()
    (as_it_is,) = matches_of([dated], alias(dated, age=timedelta(days=2)), source(), NOW)
    assert as_it_is.candidate is dated


def test_of_entries_with_one_locator_the_later_ones_match_the_article_of_the_first() -> None:
    first = candidate(article_id=None)
    later = candidate(article_id=None, headline="The same page under another headline")
    found = matches_of([first, later, candidate(2)], {}, source(), NOW)
    assert found == [match(first), match(later, first.source_id(), certain=True, claimed=True), match(candidate(2))]


def stored(*candidates: Candidate, of: Source | None = None) -> ArticleDocument:
    return article_after(attempt(of), *candidates)


SAME = "One headline for everything"


def titled(number: int, **fields: Any) -> Candidate:
    return candidate(number, headline=SAME, **fields)


def separate(article: ArticleDocument | None, *candidates: Candidate, **fields: bool) -> dict[str, list[str]]:
    """The articles in which the candidates end up, by the ids of the entries."""
    key = titled(1).source_id()
    groups = {key: [match(each, key, **fields) for each in candidates]}
    after = separated(groups, {key: article}, source().key)
    return {name: [each.candidate.article_id for each in group] for name, group in after.items()}


def test_a_second_entry_under_another_id_and_url_is_an_article_of_its_own() -> None:
    key, own = titled(1).source_id(), titled(2).source_id(with_url=True)
    assert separate(None, titled(1), titled(2)) == {key: ["guid-1"], own: ["guid-2"]}
    assert separate(stored(titled(1)), titled(2)) == {own: ["guid-2"]}


def test_the_same_id_or_the_same_url_is_the_same_article() -> None:
    key = titled(1).source_id()
    assert separate(None, titled(1)) == {key: ["guid-1"]}
    assert separate(stored(titled(1)), titled(1, url="https://news.example/moved")) == {key: ["guid-1"]}
    assert separate(stored(titled(1)), titled(1, article_id="guid-9")) == {key: ["guid-9"]}
    tracked = stored(titled(1, url="http://news.example/1?utm_source=rss"))
    assert separate(tracked, titled(1, article_id="guid-9")) == {key: ["guid-9"]}


def test_nothing_leaves_a_deleted_article() -> None:
    article = stored(titled(1))
    article["deleted_at"] = format_time(NOW)
    assert separate(article, titled(2), titled(3)) == {titled(1).source_id(): ["guid-2", "guid-3"]}


def moved(number: int, **fields: Any) -> Candidate:
    url = f"https://news.example/1?token={number}"
    return candidate(1, **{"article_id": None, "url": url, "headline": SAME, **fields})


def moving(article: ArticleDocument, *candidates: Candidate, present: tuple[str, ...] = ()) -> list[int]:
    """How many candidates end up in each article."""
    key = titled(1).source_id()
    groups = {key: [match(each, key) for each in candidates]}
    return [len(each) for each in separated(groups, {key: article}, "a", present).values()]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"summary_html": "Another text"}),
        ({}, {"headline": "One headline for EVERYTHING"}),
        ({}, {"published": NOW - timedelta(minutes=61)}),
        ({}, {"article_id": "guid-2"}),
        ({"article_id": "guid-1"}, {}),
        ({"summary_html": ""}, {"summary_html": ""}),
        ({"published": None}, {"published": None}),
    ],
)
def test_an_entry_that_differs_in_more_than_its_url_is_an_article_of_its_own(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    key = titled(1).source_id()
    article = stored(moved(1, **before))
    (found,) = separated({key: [match(moved(2, **after), key)]}, {key: article}, "a")
    assert found != key


def test_the_same_entry_without_an_id_at_another_url_is_the_same_article_once_in_a_document() -> None:
    assert moving(stored(moved(1)), moved(2)) == [1]
    assert moving(stored(moved(1)), moved(2), moved(3)) == [1, 1]
    assert moving(stored(moved(1)), moved(2, summary_html="Another text"), moved(3)) == [1, 1]
    key = titled(1).source_id()
    present = (moved(1).entry.item.url, moved(2).entry.item.url)
    assert list(separated({key: [match(moved(2), key)]}, {key: stored(moved(1))}, "a", present)) != [key]
