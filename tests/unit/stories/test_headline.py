"""What a headline says without what others added to it, and what tells the issues of a series apart."""

import pytest

from services.stories.headline import headline_of, marks_of


@pytest.mark.parametrize(
    "headline",
    [
        "UPDATE 3-Brent rises back above the old mark",
        "WRAPUP 2-Brent rises back above the old mark",
        "GLOBAL MARKETS-Brent rises back above the old mark",
        "RPT-UPDATE 1-Brent rises back above the old mark",
        "1st LD: Brent rises back above the old mark",
        "BREAKING: Brent rises back above the old mark",
        "[Updated] Brent rises back above the old mark",
        "+++ Brent rises back above the old mark +++",
        "COMMODITIES: Brent rises back above the old mark",
        "Brent rises back above the old mark -- 2nd Update",
        "28/05/2014Brent rises back above the old mark",
        "Brent rises back above the old mark (w/video)",
        "Brent rises back above the old mark (Update 2)",
        "Brent rises back above the old mark - Reuters",
        "Brent rises back above the old mark | The Example",
        "Brent rises back above the old mark - WXYZ: News, Weather",
        "Brent rises back above the old mark - KTVX Channel 2 - Reno Tahoe  ...",
        "Brent rises back above the old mark - Fictional News",
    ],
)
def test_wire_prefixes_notes_and_publishers_names_are_not_words_of_the_headline(headline: str) -> None:
    assert headline_of(headline, "fictional.example").words == ("brent", "rises", "back", "above", "the", "old", "mark")


def test_the_publishers_own_name_is_removed() -> None:
    assert headline_of("Brent rises again - Nordkurier", "nordkurier.de").words == ("brent", "rises", "again")


@pytest.mark.parametrize(
    "headline", ["Follow-Up on brakes", "AC/DC: back on tour", "F-16 lands in Oslo", "WHO-backed plan"]
)
def test_the_first_words_of_other_headlines_stay(headline: str) -> None:
    assert headline_of(headline).words[0] == headline.lower().replace("/", "-").replace(":", "-").split("-")[0]


def test_a_headline_that_ends_in_dots_has_no_end() -> None:
    assert headline_of("Jury asks to hear the tapes again in the ...").is_cut
    assert not headline_of("Jury asks to hear the tapes again").is_cut


@pytest.mark.parametrize(
    ("headline", "marks"),
    [
        ("Frobnicator 1.2 released", {"number:1.2"}),
        ("Frobnicator v1.3 released", {"number:1.3"}),
        ("Acme earns $3bn in Q1 2026", {"number:3", "quarter:1", "number:2026"}),
        ("Acme earns less in the second quarter", {"quarter:2"}),
        ("Stock market news for May 28, 2014", {"month:5", "number:28", "number:2014"}),
        ("Kurse am 3. März", {"number:3", "month:3"}),
        ("He may march on Monday", {"day:0"}),
        ("Three dead, seven hurt", {"number:3", "number:7"}),
        ("Die Geschichte, Teil II", {"part:2"}),
        ("History of tea, part one", {"part:1"}),
        ("Shares at one-year high", {"number:1"}),
        ("Week 07 in review", {"number:7"}),
        ("Budget of 1,200 million", {"number:1.2"}),
        ("Acme has 40K users", {"number:40000"}),
        ("Acme has 40 thousand users", {"number:40000"}),
        ("Acme has 40,000 users", {"number:40000"}),
        ("Acme has 1,200,000 users", {"number:1.2"}),
        ("Acme has 1.2 million users", {"number:1.2"}),
        ("Morning briefing", {"time:morning"}),
    ],
)
def test_numbers_versions_quarters_dates_and_parts_are_marks(headline: str, marks: set[str]) -> None:
    assert set(marks_of(headline_of(headline).words)) == marks


def test_names_are_capitalised_words_that_are_no_common_words() -> None:
    assert headline_of("Shooting In Oslo Leaves People In Fear").names == ("oslo",)
