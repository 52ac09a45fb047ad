"""The ladder of identity: hashes of an entry, locator, dedup key; and which publication time and text count."""

import hashlib
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from models.article import source_id
from models.locator import locator_key
from services.articles import identity
from services.articles.identity import (
    candidate_of,
    content_hash,
    dedup_key,
    entry_of,
    in_languages,
    is_weak,
    normalize_headline,
    publication_time,
    shared_url_hash,
    text_of,
)
from tests.documents import article
from tests.unit.articles.builders import NOW, candidate, raw, source

SECOND = timedelta(seconds=1)


def test_a_headline_is_normalized_to_words_in_lower_case() -> None:
    assert normalize_headline("  Apple   Reports\tQ4\nEarnings-Beat!  ") == "apple reports q4 earningsbeat"
    assert normalize_headline("Apple's “Q4” — beat…") == "apples q4 beat"
    assert normalize_headline("a_b é_c") == "ab éc"
    assert normalize_headline("Привет, мир!") == "привет мир"
    assert normalize_headline("日本語、見出し。") == "日本語見出し"
    assert normalize_headline("🚀🔥 ❤️") == ""


def test_marks_of_a_script_stay_with_their_letter() -> None:
    assert normalize_headline("हिन्दी की ख़बर") == "हिन्दी की ख़बर"
    assert normalize_headline("தமிழ் செய்தி!") == "தமிழ் செய்தி"


def test_a_mark_without_a_letter_and_a_variation_selector_are_dropped() -> None:
    assert normalize_headline("ไทย\u0301 \u0301ข่าว") == "ไทย\u0301 ข่าว"
    assert normalize_headline("日\ufe0f本\ufe00 語\ufe0e") == "日本 語"
    assert normalize_headline("日\ufe20") == "日\ufe20"


def test_the_dedup_key_is_the_hash_of_headline_and_day() -> None:
    expected = hashlib.sha256(b"apple reports q4 earnings beat|2025-12-21").hexdigest()[:32]
    assert dedup_key("apple reports q4 earnings beat", date(2025, 12, 21)) == expected
    assert source_id(expected) == f"dedup:{expected}" == article(dedup_key=expected).partition


def test_the_content_hash_is_the_specifications() -> None:
    assert content_hash("u", "t") == hashlib.sha256(b"u|t").hexdigest()
    entry = entry_of(source(), raw(url="https://x.example/1", published=NOW))
    assert entry.content_hash == content_hash("https://x.example/1", "2026-02-21T20:00:00Z")
    assert entry_of(source(), raw(published=None)).content_hash == content_hash("https://news.example/1", "")


@pytest.mark.parametrize(
    ("headline", "weak"),
    [
        ("", True),
        ("update", True),
        ("live blog", True),
        ("rates rise again", False),
        ("更", True),
        ("更新更", True),
        ("更新更新", False),
        ("live 更", True),
        ("live 更新", False),
        ("één update", True),
        ("één update meer", False),
    ],
)
def test_a_headline_of_fewer_than_three_words_is_weak(headline: str, weak: bool) -> None:
    """Two letters of a script without spaces count as one word more."""
    assert is_weak(headline) is weak


def test_a_weak_headline_takes_the_url_into_the_key() -> None:
    weak, strong = candidate(headline="Live blog"), candidate(headline="Rates rise again")
    day = (NOW - timedelta(hours=1)).date()
    assert weak.source_id() == source_id(dedup_key("live blog", day, "https://news.example/1"))
    assert strong.source_id() == source_id(dedup_key("rates rise again", day)) == source_id(strong.plain_key)
    assert strong.source_id(with_url=True) == source_id(dedup_key("rates rise again", day, "https://news.example/1"))


def test_a_publishers_name_at_the_end_of_a_headline_does_not_count() -> None:
    plain = candidate(headline="Rates rise again")
    named = [
        candidate(headline="Rates rise again - Example News", publisher="Example News"),
        candidate(headline="Rates rise again - Example News", of=source(name="Example News")),
        candidate(headline="Rates rise again - Example News", of=source(title="Example News")),
    ]
    assert {each.source_id() for each in named} == {plain.source_id()}


def test_an_entry_with_an_id_is_located_by_it_within_its_source() -> None:
    first, other = candidate(), candidate(of=source("b"))
    assert (first.locator, first.article_id) == ("provider_product_id:guid-1", "guid-1")
    assert first.locator_id == locator_key("a", first.locator)
    assert first.locator_id != other.locator_id
    assert first.has_own_id


def test_an_entry_without_an_id_is_located_by_its_url_at_every_source() -> None:
    first = candidate(article_id=None, url="http://News.example/1?utm_source=rss")
    other = candidate(article_id=None, of=source("b"))
    assert (first.locator, first.article_id) == ("url:https://news.example/1", "http://News.example/1?utm_source=rss")
    assert first.locator_id == other.locator_id
    assert not first.has_own_id


def test_an_entry_that_shares_its_url_is_located_by_url_and_headline() -> None:
    first = candidate(article_id=None, url_shared=True)
    suffix = hashlib.sha256(b"number 1 is in the news").hexdigest()[:16]
    assert first.article_id == f"https://news.example/1#{suffix}"
    assert first.locator == f"url:{first.article_id}"
    assert first.url_hash == shared_url_hash(source(), "https://news.example/1")
    assert first.url_hash != candidate(article_id=None).url_hash
    assert candidate(url_shared=True).locator == "provider_product_id:guid-1"


def test_short_hashes_are_eight_bytes_and_differ_by_kind_and_source() -> None:
    first, other = candidate(), candidate(of=source("b"))
    assert all(len(each) == 16 for each in first.hashes())
    assert len({*first.hashes(), *other.hashes()}) == 8


@pytest.mark.parametrize(
    "changed",
    [
        {"headline": "Another headline"},
        {"summary_html": "Another text"},
        {"content_html": "More"},
        {"publisher": "Somebody"},
        {"tags": ("x",)},
        {"tickers": ("X",)},
        {"url": "https://news.example/2"},
        {"published": NOW},
    ],
)
def test_the_form_hash_changes_with_everything_that_a_source_can_change(changed: dict[str, Any]) -> None:
    assert entry_of(source(), raw(**changed)).form_hash != entry_of(source(), raw()).form_hash


def test_the_revision_changes_with_what_is_shown_and_scored_only() -> None:
    plain = candidate()
    shown = hashlib.sha256("\0".join(("Number 1 is in the news", "Something has happened.", "")).encode())
    assert plain.revision == shown.hexdigest()[:16]
    assert candidate(summary_html="<p>Something <b>has</b> happened.</p>").revision == plain.revision
    assert candidate(publisher="Somebody", published=NOW).revision == plain.revision
    assert candidate(summary_html="Nothing").revision != plain.revision
    assert candidate(headline="Other").revision != plain.revision


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        entry_of(source(), raw(headline="\ud800"))


def test_a_url_without_a_host_is_refused() -> None:
    with pytest.raises(ValueError, match="host"):
        candidate(url="https:///x")


def test_the_text_is_the_contents_else_the_summarys() -> None:
    assert text_of(raw(content_html="<p>Content</p>", summary_html="Summary")) == "Content"
    assert text_of(raw(content_html="<p> </p>", summary_html="Summary")) == "Summary"
    assert text_of(raw(content_html="", summary_html="")) == ""


def test_text_and_markup_are_cut() -> None:
    assert len(text_of(raw(content_html="x" * 5_000))) == identity.MAX_TEXT == 4_000
    assert identity.MAX_MARKUP == 16_384
    assert text_of(raw(content_html=" " * 16_383 + "ab", summary_html="")) == "a"
    assert text_of(raw(content_html="x" * 3_999 + " y", summary_html="")) == "x" * 3_999


def test_a_date_is_taken_up_to_ten_minutes_ahead() -> None:
    ten = timedelta(minutes=10)
    assert publication_time(raw(published=NOW + ten), NOW) == (NOW + ten, None)
    assert publication_time(raw(published=NOW + ten + SECOND), NOW) == (NOW, "future")


def test_a_date_before_1970_is_none() -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert publication_time(raw(published=epoch), NOW) == (epoch, None)
    assert publication_time(raw(published=epoch - SECOND), NOW) == (NOW, "unparsable")


def test_an_entry_without_a_date_was_published_when_it_was_first_seen() -> None:
    assert publication_time(raw(published=None), NOW) == (NOW, "missing")
    assert publication_time(raw(published=None, published_flag="unparsable"), NOW) == (NOW, "unparsable")
    first_seen = candidate_of(entry_of(source(), raw(published=None)), source(), NOW - timedelta(days=2))
    assert (first_seen.published_at, first_seen.flag) == ("2026-02-19T20:00:00Z", "missing")
    assert first_seen.plain_key == dedup_key("number 1 is in the news", date(2026, 2, 19))


GERMAN = [
    "Ausfall bei Microsoft: Teams und Outlook sind nicht erreichbar",
    "Neue Funktionen für das Programm sind jetzt für alle verfügbar",
]


def languages(*headlines: str, declared: str = "", history: dict[str, int] | None = None) -> list[str]:
    candidates = [
        candidate(number, headline=each, summary_html="", language=declared) for number, each in enumerate(headlines)
    ]
    found, _ = in_languages(candidates, history or {})
    assert [each._replace(language="") for each in found] == candidates
    return [each.language for each in found]


def test_clear_texts_of_the_same_document_tell() -> None:
    assert languages("0.2.0") == ["und"]
    assert languages("0.2.0", *GERMAN) == languages("0.2.0", *GERMAN, declared="en") == ["de", "de", "de"]


def test_the_history_tells() -> None:
    assert languages("0.2.0", history={"fr": 3}) == ["fr"]
    assert languages("0.2.0", *GERMAN, history={"fr": 3}) == ["fr", "de", "de"]


def test_clear_texts_are_counted() -> None:
    headlines = ["0.2.0", *GERMAN, "Microsoft confirms outage that affects Teams and Outlook users"]
    _, clear = in_languages([candidate(n, headline=each, summary_html="") for n, each in enumerate(headlines)], {})
    assert clear == {"de": 2, "en": 1}


def test_the_text_counts_too() -> None:
    text = "<p>Die neue Version behebt einen Fehler, durch den sich das Programm beim Start beendete.</p>"
    (found,), _ = in_languages([candidate(headline="0.2.0", summary_html=text)], {})
    assert found.language == "de"
