"""An entry of a flood is a known article only if URL and headline leave no other."""

from datetime import timedelta

import pytest

from services.articles.identity import Candidate, Source, candidate_of, entry_of
from services.articles.quarantine import SortedOut, StoredEntry, sorted_out, stored_entry
from tests import documents
from tests.documents import NOW
from tests.unit.articles.builders import raw

SOURCE = Source("a", "Daily News", 1)
LONG = "Widget makers report record sales again"


def entry(url: str, headline: str = LONG, days: int = 0, article_id: str | None = None) -> Candidate:
    item = raw(url=url, headline=headline, article_id=article_id or f"new:{url}", published=NOW + timedelta(days=days))
    return candidate_of(entry_of(SOURCE, item), SOURCE, NOW)


def stored(source_id: str, url: str, headline: str = LONG, days: int = 0) -> StoredEntry:
    candidate = entry(url, headline)
    day = (NOW + timedelta(days=days)).date().isoformat()
    return StoredEntry(source_id, candidate.url, candidate.normalized_headline, day)


def shown(found: SortedOut) -> tuple[dict[str, str], set[str], dict[str, tuple[str, ...]]]:
    """Known, new and ambiguous entries by their URLs."""
    return (
        {each.candidate.entry.item.url: each.source_id for each in found.known},
        {each.entry.item.url for each in found.new},
        {each.candidate.entry.item.url: each.source_ids for each in found.ambiguous},
    )


ONE, TWO, NEW = "https://a.example/1", "https://a.example/2", "https://a.example/new"
OTHER = "Gadget prices fall for the third month"


@pytest.mark.parametrize(
    ("url", "headline", "article"),
    [
        (ONE, LONG, "A"),
        (ONE + "?utm_source=rss&fbclid=1", LONG, "A"),
        (ONE, "Widget makers report even better sales", "A"),
        (NEW, LONG, "A"),
        (NEW, LONG + " - Daily News", "A"),
        (NEW, LONG.upper() + "!", "A"),
        (NEW, "An entirely different piece of news", None),
    ],
)
def test_an_entry_is_known_by_its_url_without_tracking_or_by_its_headline(
    url: str, headline: str, article: str | None
) -> None:
    found = shown(sorted_out([entry(url, headline)], [stored("A", ONE), stored("B", TWO, OTHER)]))
    assert found == (({url: article}, set(), {}) if article else ({}, {url}, {}))


def test_a_known_headline_with_words_that_most_of_the_flood_share_is_that_article() -> None:
    known = [stored(str(number), f"{ONE}{number}", f"Number {number} is in the news") for number in range(12)]
    other = "Gadget prices fall on the F site"
    flood = [entry(f"{NEW}/{number}", f"Number {number} is in the news - F site") for number in range(10)]
    found = shown(sorted_out([*flood, entry(TWO, other)], known))
    assert found == ({f"{NEW}/{number}": str(number) for number in range(10)}, {TWO}, {})
    assert shown(sorted_out(flood[:9], known))[0] == {}


def test_the_day_does_not_matter_if_only_one_article_has_the_headline() -> None:
    assert shown(sorted_out([entry(NEW, LONG, -5)], [stored("A", ONE)])) == ({NEW: "A"}, set(), {})
    twice = [entry(NEW, LONG, -5, "1"), entry(NEW, LONG, -5, "2")]
    assert len(sorted_out(twice, [stored("A", ONE)]).known) == 2


def test_the_url_of_one_article_with_the_headline_of_another_is_ambiguous() -> None:
    found = sorted_out([entry(ONE, OTHER)], [stored("A", ONE), stored("B", TWO, OTHER)])
    assert shown(found) == ({}, set(), {ONE: ("A", "B")})


def test_a_headline_that_several_articles_have_decides_with_the_day_only() -> None:
    known = [stored("A", ONE, LONG, 0), stored("B", TWO, LONG, -1)]
    assert shown(sorted_out([entry(NEW, LONG, -1)], known)) == ({NEW: "B"}, set(), {})
    assert shown(sorted_out([entry(NEW, LONG, -2)], known)) == ({}, set(), {NEW: ("A", "B")})


def test_a_url_that_several_articles_have_identifies_none_of_them() -> None:
    known = [stored("A", ONE, LONG), stored("B", ONE, OTHER)]
    found = sorted_out(
        [entry(ONE, OTHER, article_id="1"), entry(ONE, "Something new altogether", article_id="2")], known
    )
    assert [each.source_id for each in found.known] == ["B"]
    assert [each.article_id for each in found.new] == ["2"]


def test_a_weak_headline_alone_identifies_nothing_and_with_its_url_it_does() -> None:
    known = [stored("A", ONE, "Podcast")]
    assert shown(sorted_out([entry(NEW, "Podcast"), entry(ONE, "Podcast")], known)) == ({ONE: "A"}, {NEW}, {})


def test_of_entries_with_one_headline_at_most_one_is_the_known_article() -> None:
    known = [stored("A", ONE)]
    by_url = sorted_out([entry(ONE), entry(NEW)], known)
    assert shown(by_url) == ({ONE: "A"}, set(), {NEW: ("A",)})
    by_nothing = sorted_out([entry(TWO), entry(NEW)], known)
    assert shown(by_nothing) == ({}, set(), {TWO: ("A",), NEW: ("A",)})


def test_one_entry_under_several_ids_is_one_article() -> None:
    twice = [entry(NEW, article_id="1"), entry(NEW, article_id="2")]
    assert [each.source_id for each in sorted_out(twice, [stored("A", ONE)]).known] == ["A", "A"]
    twice = [entry(ONE, article_id="1"), entry(ONE, article_id="2")]
    assert [each.source_id for each in sorted_out(twice, [stored("A", ONE)]).known] == ["A", "A"]


def test_entries_that_all_have_the_url_of_one_article_and_other_headlines_are_not_that_article() -> None:
    home = [
        entry(ONE, "The first of many pieces", article_id="1"),
        entry(ONE, "The second of many pieces", article_id="2"),
    ]
    assert shown(sorted_out(home, [stored("A", ONE)]))[0] == {}
    with_right = [*home, entry(ONE, LONG, article_id="3")]
    found = sorted_out(with_right, [stored("A", ONE)])
    assert [each.candidate.article_id for each in found.known] == ["3"]
    assert [each.article_id for each in found.new] == ["1", "2"]


def test_an_article_is_found_by_any_url_or_headline_that_the_feed_gave_it() -> None:
    edited = [stored("A", ONE, LONG), stored("A", TWO, OTHER)]
    assert shown(sorted_out([entry(ONE, "A third wording of the news")], edited))[0] == {ONE: "A"}
    assert shown(sorted_out([entry(NEW, LONG)], edited))[0] == {NEW: "A"}


def test_a_deleted_article_is_known_by_its_url_only() -> None:
    observation = documents.observation(url=ONE, headline="[deleted]").to_document()
    entry_of_deleted = stored_entry({**observation, "deleted_at": "2026-02-21T20:00:00Z"}, SOURCE)
    assert entry_of_deleted.headline == ""
    assert shown(sorted_out([entry(ONE)], [entry_of_deleted]))[0] == {ONE: observation["source_id"]}
    assert shown(sorted_out([entry(NEW, "[deleted] [deleted] [deleted]")], [entry_of_deleted]))[1] == {NEW}


def test_a_stored_entry_has_the_normalized_url_and_headline_of_its_observation() -> None:
    observation = documents.observation(url=ONE + "?utm_source=x", headline=LONG + " - Daily News").to_document()
    found = stored_entry(observation, SOURCE)
    assert (found.url, found.headline) == (entry(ONE).url, entry(ONE).normalized_headline)
    assert (found.source_id, found.day) == (observation["source_id"], observation["published_at"][:10])
    assert len(found.day) == 10
