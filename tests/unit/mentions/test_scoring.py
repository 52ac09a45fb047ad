"""Which texts bear on which tool, and what their judgements add up to."""

import pytest

from services.mentions.analyzers.port import Judgement, NotJudged
from services.mentions.scoring import MOST_SENTENCES, Names, Questions, Scores, ask, conclude
from services.mentions.sentences import Span

GOOD = Judgement("positive", 0.9, 0.85)
BAD = Judgement("negative", 0.9, -0.85)
PLAIN = Judgement("neutral", 0.9, 0.0)
KNOWN = {"great": GOOD, "awful": BAD, "beats": GOOD, "loses": BAD, "faster": GOOD, "slower": BAD}


def spans(text: str, name: str) -> tuple[Span, ...]:
    places, start = [], text.find(name)
    while start >= 0:
        places.append(Span(start, start + len(name)))
        start = text.find(name, start + 1)
    return tuple(places)


def asked(headline: str, text: str, *tools: str) -> Questions:
    return ask(headline, text, {tool: Names(spans(headline, tool), spans(text, tool)) for tool in tools})


def answer(text: str) -> Judgement | NotJudged:
    return next((judgement for word, judgement in KNOWN.items() if word in text), PLAIN)


def scores(headline: str, text: str, *tools: str) -> Scores:
    questions = asked(headline, text, *tools)
    return conclude(questions, [answer(each) for each in questions.texts])


def sentiment(found: Judgement | NotJudged) -> str:
    assert isinstance(found, Judgement)
    return found.sentiment


def test_each_tool_is_judged_by_the_sentences_that_name_it() -> None:
    found = scores("Two tools", "Alpha is great. Beta is awful.", "Alpha", "Beta")
    assert sentiment(found.tools["Alpha"]) == "positive"
    assert sentiment(found.tools["Beta"]) == "negative"


def test_the_headline_weighs_more_than_a_sentence() -> None:
    found = scores("Alpha is great", "Alpha is awful.", "Alpha")
    assert sentiment(found.tools["Alpha"]) == "positive"


def test_many_sentences_outweigh_the_headline_but_never_silence_it() -> None:
    text = " ".join(f"Alpha is awful {number}." for number in range(50))
    found = scores("Alpha is great", text, "Alpha").tools["Alpha"]
    assert isinstance(found, Judgement)
    assert found.sentiment == "negative"
    assert -0.3 < found.polarity < 0


def test_a_headline_about_another_tool_does_not_bear_on_this_one() -> None:
    found = scores("Beta is awful", "Alpha is great.", "Alpha", "Beta")
    assert sentiment(found.tools["Alpha"]) == "positive"


def test_a_tool_that_no_sentence_names_is_judged_by_the_headline() -> None:
    found = scores("An awful week", "All is great.", "Alpha")
    assert sentiment(found.tools["Alpha"]) == "negative"


def test_a_tool_without_headline_or_text_is_not_judged_rather_than_neutral() -> None:
    assert scores("", "", "Alpha").tools["Alpha"] == NotJudged("nothing to judge")


def test_neutral_sentences_do_not_drown_what_is_said() -> None:
    found = scores("About Alpha", "Alpha is here. Alpha is awful. Alpha is awful, really.", "Alpha")
    assert sentiment(found.tools["Alpha"]) == "negative"


def test_the_same_text_is_asked_about_once() -> None:
    questions = asked("Alpha and Beta", "Alpha and Beta are great. Alpha and Beta are great.", "Alpha", "Beta")
    assert questions.texts == ("Alpha and Beta", "Alpha and Beta are great.")


def test_no_tool_asks_about_more_than_a_bounded_number_of_sentences() -> None:
    text = " ".join(f"Alpha {number} is fine." for number in range(100))
    assert len(asked("Alpha", text, "Alpha").tools["Alpha"]) == MOST_SENTENCES + 1


def test_a_text_that_could_not_be_judged_is_left_out() -> None:
    questions = asked("Alpha is great", "Alpha is awful.", "Alpha")
    found = conclude(questions, [NotJudged("refused"), BAD])
    assert sentiment(found.tools["Alpha"]) == "negative"


def test_a_tool_of_which_nothing_could_be_judged_says_why() -> None:
    questions = asked("Alpha is great", "", "Alpha")
    found = conclude(questions, [NotJudged("refused")])
    assert found.tools["Alpha"] == found.article == NotJudged("refused")


@pytest.mark.parametrize(
    ("headline", "winner", "loser"),
    [
        ("Alpha beats Beta", "Alpha", "Beta"),
        ("Alpha loses to Beta", "Beta", "Alpha"),
        ("Alpha is much faster than Beta", "Alpha", "Beta"),
        ("Alpha is slower than Beta", "Beta", "Alpha"),
    ],
)
def test_who_wins_and_who_loses_in_one_sentence_are_told_apart(headline: str, winner: str, loser: str) -> None:
    found = scores(headline, "", "Alpha", "Beta")
    assert sentiment(found.tools[winner]) == "positive"
    assert sentiment(found.tools[loser]) == "negative"


@pytest.mark.parametrize(
    "headline", ["Alpha beats Beta's estimates", "Alpha beats estimates, Beta follows", "great: Alpha and Beta"]
)
def test_a_win_over_something_else_is_no_loss(headline: str) -> None:
    found = scores(headline, "", "Alpha", "Beta")
    assert sentiment(found.tools["Beta"]) == "positive"


def test_names_beyond_what_is_read_fall_back_to_the_headline() -> None:
    text = "x" * 60_000 + " Alpha is great."
    assert sentiment(scores("An awful week", text, "Alpha").tools["Alpha"]) == "negative"
