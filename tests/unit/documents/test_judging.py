"""What a page is, by what is on it; and how its text is cleaned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.judging import (
    MAX_CHARACTERS,
    NotRead,
    PageContent,
    Text,
    Unknown,
    Wanted,
    Withheld,
    forbids_archiving,
    judge,
    normalized,
    other_address,
    signature_of,
)
from services.documents.profiles import GENERAL, Profile

WANTED = Wanted("Ferry 4.2 halves the time of cold starts", (), 10, "https://news.example/a/1")
PROSE = "\n".join(f"This is sentence number {number} of a text that is long enough." for number in range(10))
PAGE = PageContent(
    encoding="utf-8",
    title="Ferry 4.2 halves the time of cold starts | News",
    headings=(),
    base="",
    canonical="",
    amphtml="",
    meta={},
    shape="article",
    free=True,
    paywall=False,
    consent=False,
    main_found=True,
    text=PROSE,
)


def verdict(profile: Profile = GENERAL, wanted: Wanted = WANTED, robots_tag: str = "", **changes: Any) -> Any:
    return judge(replace(PAGE, **changes), wanted, profile, robots_tag, ("toolpulse",))


def test_a_page_with_headline_and_text_is_the_article() -> None:
    found = verdict(wanted=replace(WANTED, known={"provider": "news", "hints": {"language": "en"}}))
    assert isinstance(found, Text)
    assert found.text == PROSE
    assert found.extracted == {
        "extraction_profile_id": "general@1",
        "header_signature_hash": signature_of("article"),
        "profile_selection_inputs": {
            "provider": "news",
            "hints": {"language": "en"},
            "host": "news.example",
            "header_signature_hash": signature_of("article"),
        },
        "normalization_notes": (),
        "characters": len(PROSE),
    }


@pytest.mark.parametrize(
    "where",
    [
        {"title": "News", "headings": ("Cold starts", "Ferry 4.2 halves time of cold starts")},
        {"title": "", "meta": {"og:title": "FERRY 4.2 HALVES THE TIME OF COLD STARTS"}},
        {"title": "", "meta": {"twitter:title": "Ferry 4.2 halves the time of starts"}},
    ],
)
def test_the_headline_may_be_in_the_title_a_heading_or_the_metadata(where: dict[str, Any]) -> None:
    assert isinstance(verdict(**where), Text)


def test_the_name_of_the_publisher_is_no_part_of_the_headline() -> None:
    wanted = replace(
        WANTED, headline="Ferry is out - The Daily Build of Rotterdam", publishers=("The Daily Build of Rotterdam",)
    )
    assert isinstance(verdict(wanted=wanted, title="Ferry is out"), Text)


@pytest.mark.parametrize(
    ("changes", "reason", "fingerprint"),
    [
        ({"title": "Welcome"}, "MISSING_CRITICAL_METADATA", "NO_HEADLINE"),
        ({"text": "This is one short sentence of some text."}, "MISSING_CRITICAL_METADATA", "TOO_LITTLE_TEXT"),
        ({"main_found": False, "text": ""}, "UNKNOWN_PROFILE", "NO_MAIN"),
    ],
)
def test_a_page_that_lacks_something_waits_for_a_person(changes: dict[str, Any], reason: str, fingerprint: str) -> None:
    found = verdict(**changes)
    assert isinstance(found, Unknown)
    assert (found.reason, found.fingerprint) == (reason, fingerprint)


def test_a_page_that_could_not_be_read_waits_for_a_person() -> None:
    found = judge(NotRead("EXTRACTION_TOO_SLOW"), WANTED, GENERAL, "", ())
    assert isinstance(found, Unknown)
    assert (found.reason, found.fingerprint) == ("UNKNOWN_PROFILE", "EXTRACTION_TOO_SLOW")


def profile(least_characters: int) -> Profile:
    return Profile(id="p", version=1, hosts=("a.example",), least_characters=least_characters)


def test_a_profile_may_ask_for_more_text() -> None:
    assert isinstance(verdict(profile(len(PROSE))), Text)
    assert isinstance(verdict(profile(len(PROSE) + 1)), Unknown)


OFFER = "This is the first sentence of the text, and a good one.\n{}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"free": False}, "PAYWALL"),
        ({"text": OFFER.format("Subscribe now to keep reading")}, "PAYWALL"),
        ({"text": OFFER.format("Already a subscriber? Log in")}, "PAYWALL"),
        ({"text": OFFER.format("This article is for our members.")}, "PAYWALL"),
        ({"text": "A teaser.", "paywall": True}, "PAYWALL"),
        ({"text": "", "consent": True}, "CONSENT"),
        ({"title": "Before you continue to News", "text": "Accept all"}, "CONSENT"),
        ({"title": "Page not found", "text": "Sorry."}, "GONE"),
        ({"title": "News", "headings": ("Error 404",)}, "GONE"),
    ],
)
def test_a_page_that_withholds_the_text_is_recognised(changes: dict[str, Any], reason: str) -> None:
    assert verdict(**changes) == Withheld(reason)  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [{"paywall": True}, {"consent": True}])
def test_marks_alone_do_not_withhold_a_text_that_is_there(changes: dict[str, Any]) -> None:
    assert isinstance(verdict(**changes), Text)


def test_an_article_about_a_missing_page_is_an_article() -> None:
    wanted = replace(WANTED, headline="Why 404 means page not found")
    assert isinstance(verdict(wanted=wanted, title="Why 404 means page not found"), Text)


def test_a_page_must_have_a_fifth_more_text_than_the_feed() -> None:
    assert isinstance(verdict(wanted=replace(WANTED, feed_characters=int(len(PROSE) / 1.2))), Text)
    assert verdict(wanted=replace(WANTED, feed_characters=len(PROSE))) == Withheld("NOTHING_MORE")


@pytest.mark.parametrize(
    ("meta", "header", "forbidden"),
    [
        ({"robots": "noindex, NoArchive"}, "", True),
        ({"robots": "noindex,nofollow"}, "", False),
        ({"toolpulse": "noarchive"}, "", True),
        ({"otherbot": "noarchive"}, "", False),
        ({}, "noarchive", True),
        ({}, "noindex, noarchive", True),
        ({}, "toolpulse: noindex, noarchive", True),
        ({}, "otherbot: noarchive", False),
        ({}, "otherbot: noindex, toolpulse: noarchive", True),
        ({}, "unavailable_after: 25 Jun 2030 15:00:00 PST, noarchive", True),
        ({}, "max-snippet: 10, noarchive", True),
        ({}, "", False),
    ],
)
def test_noarchive_is_obeyed_if_it_means_us(meta: dict[str, str], header: str, forbidden: bool) -> None:
    assert forbids_archiving(replace(PAGE, meta=meta), header, ("Toolpulse",)) is forbidden
    assert (verdict(meta=meta, robots_tag=header) == Withheld("NOARCHIVE")) is forbidden


OTHER_ADDRESSES: tuple[tuple[dict[str, str], str | None], ...] = (
    ({"canonical": "/b"}, "https://news.example/b"),
    ({"canonical": "https://news.example/a/1?utm_source=x", "amphtml": "2"}, "https://news.example/a/2"),
    ({"canonical": "b", "base": "https://other.example/x/"}, "https://other.example/x/b"),
    ({"canonical": "javascript:alert(1)"}, None),
    ({"canonical": "https://["}, None),
    ({}, None),
)


def test_the_other_address_of_a_page() -> None:
    for changes, found in OTHER_ADDRESSES:
        assert other_address(replace(PAGE, **changes), WANTED.url) == found  # type: ignore[arg-type]


def test_lines_around_the_sentences_and_the_headline_are_removed() -> None:
    text = f"{WANTED.headline}\nBy Jo Field\n{PROSE}\nShare\nRead next: ten keyboards"
    found, notes = normalized(text, WANTED.headline)
    assert found == PROSE
    assert notes == ["the headline was removed from the text", "3 lines around the text were removed"]


def test_a_text_is_cut_at_a_paragraph() -> None:
    found, notes = normalized("\n".join(["A sentence that is as long as any other sentence."] * 3000), "x")
    assert MAX_CHARACTERS - 60 < len(found) <= MAX_CHARACTERS
    assert found.endswith("sentence.")
    assert notes == ["the text was cut at 100,000 characters"]


@given(st.text(st.characters(codec="utf-8"), max_size=300), st.text(st.characters(codec="utf-8"), max_size=30))
def test_normalising_again_changes_nothing(text: str, headline: str) -> None:
    once, _ = normalized(text, headline)
    assert normalized(once, headline)[0] == once
