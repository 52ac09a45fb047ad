"""The languages of texts by their n-grams."""

import pytest

from services.parse.language import _counts, _table, likelihoods

HEADLINES = {
    "en": "Microsoft confirms outage that affects Teams and Outlook users",
    "de": "Ausfall bei Microsoft: Teams und Outlook sind nicht erreichbar",
    "fr": "Panne chez Microsoft : Teams et Outlook ne répondent plus",
    "es": "Microsoft confirma una caída que afecta a los usuarios de Teams",
    "pl": "Awaria usług Microsoftu: Teams i Outlook nie działają",
    "ru": "Сбой в работе Microsoft: Teams и Outlook недоступны",
    "tr": "Microsoft yeni güvenlik güncellemelerini bugün duyurdu",
}


@pytest.mark.parametrize("language", HEADLINES)
def test_a_headline_is_most_likely_in_its_language(language: str) -> None:
    shares = likelihoods(HEADLINES[language])
    assert max(shares, key=lambda each: shares[each]) == language
    assert shares[language] > 0.8
    assert sum(shares.values()) == pytest.approx(1)


def test_capitals_alone_change_nothing() -> None:
    assert likelihoods(HEADLINES["de"].upper()) == likelihoods(HEADLINES["de"].lower())


@pytest.mark.parametrize("text", ["", "3", "4.7.1", "\ud800", "新機能"])
def test_a_text_without_a_known_n_gram_has_no_likely_language(text: str) -> None:
    assert likelihoods(text) == {}


def test_the_longest_known_n_gram_that_ends_at_a_byte_counts() -> None:
    rows = {b"ab": 0, b"abc": 1, b"bc": 2, b"cd": 3, b"abcde": 4, b"xabcde": 5}
    assert _counts(b"xabcdeab", rows) == {0: 2, 1: 1, 3: 1, 4: 1}


def test_the_table_is_whole() -> None:
    table = _table.__wrapped__()
    assert table.unit == 1 / 64, "sixteenths of a count, quarters of a weight"
    assert len(table.rows) == 40_000
    assert len(table.weights) == 4 * len(table.rows) * len(table.languages)
    assert {"en", "de", "fr", "es", "pt"} <= set(table.languages)
    assert {len(each) for each in table.rows} == {2, 3, 4, 5}


@pytest.mark.parametrize(
    ("text", "language", "share"),
    [
        ("Störung", "de", 0.263077162),
        ("Störung", "sv", 0.219235482),
        ("the the the the", "en", 0.885286871),
        ("Störung und die Störung und die Störung", "sv", 0.000223702541),
    ],
)
def test_the_shares_are_the_same_everywhere(text: str, language: str, share: float) -> None:
    assert likelihoods(text)[language] == pytest.approx(share, rel=1e-6)
