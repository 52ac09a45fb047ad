"""Which articles repeat another one, and which only look like it."""

from datetime import UTC, datetime, timedelta

import pytest

from services.stories.signature import Signature, signature_of
from services.stories.similarity import compare, is_apart
from tests.unit.stories.headlines import PAIRS

NOW = datetime(2026, 2, 21, 23, 40, tzinfo=UTC)
LEAD = (
    "OSLO (AP) - The harbour authority said on Saturday that it had found cracks in eleven of the forty pillars which "
    "carry the northern quay, and that ferries would leave from the fish market until the repairs were finished, "
    "probably in late autumn. Engineers had warned of the damage in a letter two years ago, which nobody published."
)
OTHER_LEAD = (
    "Passengers were told to expect long queues after the closure of a quay, a spokeswoman announced. Buses will "
    "replace some of the boats, and tickets stay valid on both of them, she said, while divers look for the cause."
)


def article(headline: str, text: str = "", publisher: str = "one.example", hours: float = 0) -> Signature:
    return signature_of(headline, text, NOW + timedelta(hours=hours), publisher)


def rule(one: Signature, other: Signature) -> str | None:
    there, back = compare(one, other), compare(other, one)
    assert (there.score, there.rule) == (back.score, back.rule)
    return there.rule if there.is_copy else None


HEADLINE = "Cracks close northern quay of Oslo harbour until autumn"


@pytest.mark.parametrize(
    ("headline", "text", "hours", "expected"),
    [
        (HEADLINE, LEAD, 0, "same_lead"),
        (HEADLINE, LEAD, 30, "same_lead"),
        (HEADLINE, LEAD[:160] + "…", 1, "same_lead"),
        ("UPDATE 2-" + HEADLINE, LEAD, 5, "same_lead"),
        (HEADLINE + " - The Example Times", LEAD, 1, "same_lead"),
        ("Ferries move to the fish market", LEAD, 2, "same_lead"),
        ("Letter warned of damage two years ago", LEAD[:240], 2, "same_lead"),
        (HEADLINE, "", 1, "same_headline"),
        ("WRAPUP 1-" + HEADLINE, "", 1, "same_headline"),
        (HEADLINE, OTHER_LEAD, 1, "same_headline"),
        (HEADLINE, "To continue reading, subscribe now. Already a subscriber? Sign in.", 1, "same_headline"),
        ("Cracks close the northern quay of Oslo's harbour until late autumn", "", 1, "similar_headline"),
    ],
)
def test_a_repetition_at_another_publisher_is_found(headline: str, text: str, hours: float, expected: str) -> None:
    assert rule(article(HEADLINE, LEAD), article(headline, text, "two.example", hours)) == expected


def test_after_72_hours_nothing_is_a_repetition() -> None:
    assert rule(article(HEADLINE, LEAD), article(HEADLINE, LEAD, "two.example", 72)) == "same_lead"
    assert rule(article(HEADLINE, LEAD), article(HEADLINE, LEAD, "two.example", 72.1)) is None


@pytest.mark.parametrize(("one", "other"), PAIRS["series"])
@pytest.mark.parametrize("publisher", ["one.example", "two.example"])
def test_issues_of_a_series_and_uses_of_a_template_stay_apart(one: str, other: str, publisher: str) -> None:
    text = (
        "Here is what happened on the markets and elsewhere today, and what you should know about it before you start."
    )

    assert rule(article(one), article(other, "", publisher, 20)) is None
    assert rule(article(one, text), article(other, text, publisher, 20)) is None


@pytest.mark.parametrize("headline", ["Weekly security release notes now available", "News round-up", "Open thread"])
def test_a_headline_that_says_too_little_identifies_no_article(headline: str) -> None:
    assert rule(article(headline), article(headline, "", "two.example", 1)) is None
    assert rule(article(headline, LEAD), article(headline, OTHER_LEAD, "two.example", 1)) is None


def test_the_weekly_post_of_one_publisher_stays_apart_though_it_begins_alike() -> None:
    text = "A summary of the most interesting stories in the past 24 hours that challenge the prevailing opinion."

    assert rule(article("News round-up", text), article("News round-up", text, hours=24)) is None


def test_one_publishers_equal_lead_under_another_headline_is_its_own_phrase() -> None:
    text = (
        "The club holds its meeting every weekday at ten, and members may ask questions before and after it, as always."
    )
    assert rule(article("Two sleeper stocks wake up", text), article("A rollout may be closer", text, hours=2)) is None


def test_one_publishers_article_at_another_address_is_found_but_not_its_repetition_on_another_day() -> None:
    assert rule(article(HEADLINE), article(HEADLINE, hours=1)) == "same_headline"
    assert rule(article(HEADLINE), article(HEADLINE, hours=13)) is None
    assert rule(article(HEADLINE, LEAD), article(HEADLINE, LEAD, hours=13)) == "same_lead"


@pytest.mark.parametrize(
    ("headline", "other", "lead"),
    [
        (
            "Risse im Kai: Hafen von Kiel gesperrt",
            "Fähren legen nun am Fischmarkt ab",
            "Die Hafenbehörde hat am Samstag Risse in elf der vierzig Pfeiler gefunden, die den nördlichen Kai tragen, "
            "und die Fähren legen bis zum Ende der Arbeiten am Fischmarkt ab, wohl bis in den späten Herbst.",
        ),
        (
            "Трещины закрыли причал порта",
            "Паромы уйдут от рыбного рынка",
            "Администрация порта сообщила в субботу, что нашла трещины в одиннадцати из сорока опор северного "
            "причала, и паромы будут отходить от рыбного рынка до конца ремонта, вероятно до поздней осени этого года.",
        ),
        (
            "北埠頭の柱に亀裂、秋まで閉鎖",
            "フェリーは魚市場から出航へ",
            "港湾局は土曜日、北埠頭を支える四十本の柱のうち十一本に亀裂が見つかったと発表した。修理が終わるまでフェリーは魚市場から出航する。",
        ),
    ],
)
def test_other_languages_are_compared_likewise(headline: str, other: str, lead: str) -> None:
    one = article(headline, lead)

    assert rule(one, article(other, lead, "two.example", 3)) == "same_lead"
    assert rule(one, article(other, "", "two.example", 3)) is None


def test_a_reason_says_how_alike_lead_and_headline_are() -> None:
    reason = compare(article(HEADLINE, LEAD), article(HEADLINE, LEAD, "two.example", 1.5)).reason("dedup:a")

    assert reason.fields == {"lead": 1.0, "headline": 1.0, "hours": 1.5}
    assert reason.score == 1.0


@pytest.mark.parametrize(("one", "other"), PAIRS["no copies"])
def test_headlines_that_say_the_contrary_or_too_little_are_not_the_same(one: str, other: str) -> None:
    assert rule(article(one), article(other, "", "two.example", 3)) is None


@pytest.mark.parametrize(("one", "other"), PAIRS["copies"])
def test_headlines_of_which_one_only_adds_words_or_has_others_for_the_same_are_the_same(one: str, other: str) -> None:
    assert rule(article(one), article(other, "", "two.example", 3)) in ("same_headline", "similar_headline")


STANDING = (
    "Our evening show is anchored by two people whom everybody in the country knows, and it airs at half past six from "
    "Monday to Friday, with repeats at midnight, and clips of all parts are put online on the morning after."
)


@pytest.mark.parametrize("publisher", ["one.example", "two.example"])
def test_equal_leads_that_say_nothing_of_either_headline_are_a_standing_text(publisher: str) -> None:
    one, other = article("Plaza blast wounds seven", STANDING), article("Baker passes exam", STANDING, publisher, 5)
    assert is_apart(one, other)
    assert rule(one, other) is None
    assert not is_apart(one, article("Plaza blast wounds seven people", STANDING, publisher))
    assert not is_apart(article(HEADLINE, LEAD), article("Ferries move to the fish market", LEAD, "two.example"))


def test_the_reports_of_two_days_on_the_markets_stay_apart() -> None:
    text = (
        "U.S. stocks edged higher on {day} and the {index} ended at a record, as oil prices retreated {what} and {who}"
        " of the central bank. Trading was light before the holiday. Of the thirty companies in the Dow, {n} closed"
        " higher. The yield of ten-year bonds moved slightly."
    )
    first = text.format(
        day="Tuesday", index="Dow", what="from a peak", who="investors waited for minutes", n="nineteen"
    )
    second = text.format(day="Wednesday", index="Nasdaq", what="further", who="traders digested words", n="fourteen")
    one = article("Stocks edge higher as oil retreats, Dow ends at record", first)
    other = article("Stocks edge higher as oil retreats, Nasdaq ends at record", second, "two.example", 6)
    assert rule(one, other) is None
    assert rule(one, article("Stocks edge higher as oil retreats, Dow at record", first, "two.example", 6)) is not None


def test_what_no_publisher_is_known_of_counts_as_one_publishers() -> None:
    """A platform's videos: the description of each has one sentence of its own, and the channel's standing text."""
    videos = [
        article("Former minister Quuxa dies | UB", f"Quuxa died on Sunday, aged 68. {LEAD}", ""),
        article("All-civilian crew is back | UB", f"Four amateurs are back on Earth. {LEAD}", "", hours=1),
    ]
    assert rule(*videos) is None
    assert rule(article(HEADLINE, LEAD, ""), article("Ferries move to the fish market", LEAD, "")) is None
    assert rule(article(HEADLINE, LEAD, ""), article(HEADLINE, LEAD, "", hours=2)) == "same_lead"
    assert rule(article(HEADLINE, LEAD, ""), article("Ferries move to the fish market", LEAD)) == "same_lead"
