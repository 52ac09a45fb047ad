"""Which texts count for which tool, and how their judgements are combined."""

import pytest

from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement
from services.mentions.scoring import (
    MAX_SENTENCES,
    Questions,
    Score,
    Scores,
    Weighed,
    ask,
    combine,
    conclude,
    sentences_naming,
    split_sentences,
)
from services.tools.detector import Detected
from services.tools.matching import Span
from tests.steps import growth

GOOD = Judgement("positive", 0.9, 0.85)
BAD = Judgement("negative", 0.9, -0.85)
PLAIN = Judgement("neutral", 0.9, 0.0)
KNOWN = {"great": GOOD, "awful": BAD}


def spans(text: str, name: str) -> tuple[Span, ...]:
    places, start = [], text.find(name)
    while start >= 0:
        places.append(Span(start, start + len(name)))
        start = text.find(name, start + 1)
    return tuple(places)


def asked(headline: str, text: str, *tools: str) -> Questions:
    return ask(headline, text, {tool: Detected((), spans(headline, tool), spans(text, tool)) for tool in tools})


def answer(passage: Passage) -> PassageJudgement:
    return alike(passage, next((judgement for word, judgement in KNOWN.items() if word in passage.text), PLAIN))


def alike(passage: Passage, judgement: Judgement | NotJudged) -> PassageJudgement:
    return PassageJudgement(judgement, dict.fromkeys(passage.names, judgement))


def texts(questions: Questions) -> list[str]:
    return [each.text for each in questions.passages]


def scores(headline: str, text: str, *tools: str) -> Scores:
    questions = asked(headline, text, *tools)
    return conclude(questions, [answer(each) for each in questions.passages])


def sentiment(found: Score) -> str:
    assert isinstance(found, Judgement)
    return found.sentiment


def test_each_tool_is_judged_by_the_sentences_that_name_it() -> None:
    found = scores("Two tools", "Alpha is great. Beta is awful.", "Alpha", "Beta")
    assert sentiment(found.tools["Alpha"]) == "positive"
    assert sentiment(found.tools["Beta"]) == "negative"


def test_a_tool_that_no_sentence_names_is_judged_by_the_headline() -> None:
    found = scores("An awful week", "All is great.", "Alpha")
    assert sentiment(found.tools["Alpha"]) == "negative"


def test_a_tool_without_headline_or_text_is_not_judged_rather_than_neutral() -> None:
    assert scores("", "", "Alpha").tools["Alpha"] == NotJudged("nothing to judge")


def test_a_text_that_occurs_twice_is_judged_once() -> None:
    questions = asked("Alpha and Beta", "Alpha and Beta are great. Alpha and Beta are great.", "Alpha", "Beta")
    assert texts(questions) == ["Alpha and Beta", "Alpha and Beta are great."]


def test_a_passage_has_the_places_of_all_names_in_it() -> None:
    headline, first, second = asked("News of Beta", "Alpha and Beta, or Alpha. All is Beta.", "Alpha", "Beta").passages
    assert headline.names == {"Beta": (Span(8, 12),)}
    assert first.names == {"Alpha": (Span(0, 5), Span(19, 24)), "Beta": (Span(10, 14),)}
    assert second == Passage("All is Beta.", {"Beta": (Span(7, 11),)}, "en")


def test_a_tool_gets_what_a_passage_says_about_it_and_the_article_what_it_says_in_general() -> None:
    questions = asked("Alpha and Beta", "", "Alpha", "Beta", "Tagged")
    found = conclude(questions, [PassageJudgement(PLAIN, {"Alpha": GOOD, "Beta": BAD})])
    assert found == Scores(PLAIN, {"Alpha": GOOD, "Beta": BAD, "Tagged": PLAIN})


def test_only_some_tools_are_scored_as_all_would_be() -> None:
    detected = {tool: Detected((), spans("Alpha and Beta", tool), ()) for tool in ("Alpha", "Beta")}
    some, all_of_them = ask("Alpha and Beta", "", detected, {"Beta", "Gamma"}), ask("Alpha and Beta", "", detected)
    assert some.tools == {"Beta": all_of_them.tools["Beta"]}
    assert some.passages == all_of_them.passages


def test_of_many_sentences_the_first_twelve_are_judged() -> None:
    text = " ".join(f"Alpha {number} is fine." for number in range(100))
    assert len(asked("Alpha", text, "Alpha").tools["Alpha"]) == MAX_SENTENCES + 1


def test_a_text_that_could_not_be_judged_is_left_out() -> None:
    questions = asked("Alpha is great", "Alpha is awful.", "Alpha")
    found = conclude(questions, [alike(questions.passages[0], NotJudged("refused")), answer(questions.passages[1])])
    assert sentiment(found.tools["Alpha"]) == "negative"


def test_a_tool_of_which_nothing_could_be_judged_says_why() -> None:
    questions = asked("Alpha is great", "", "Alpha")
    found = conclude(questions, [alike(questions.passages[0], NotJudged("refused"))])
    assert found.tools["Alpha"] == found.article == NotJudged("refused")


@pytest.mark.parametrize(("sentences", "weight"), [(0, 2.0), (1, 2.0), (3, 2.0), (4, 4 * 0.4 / 0.6), (12, 8.0)])
def test_the_headline_counts_as_two_sentences_and_never_for_less_than_two_fifths(sentences: int, weight: float) -> None:
    text = " ".join(f"Alpha {number} is fine." for number in range(sentences))
    headline, *others = asked("Alpha", text, "Alpha").tools["Alpha"]
    assert headline.weight == pytest.approx(weight)
    assert [each.weight for each in others] == [1.0] * sentences
    assert headline.weight / (headline.weight + sentences) >= 0.4 - 1e-9


def test_the_score_is_the_weighted_mean_of_the_probabilities() -> None:
    # positive 0.9 / 0.05 / 0.05 with weight 2, negative 0.05 / 0.05 / 0.9 with weight 1
    found = combine([Weighed(0, 2.0), Weighed(1, 1.0)], [GOOD, BAD])
    assert found == Judgement("positive", round((2 * 0.9 + 0.05) / 3, 4), round(0.85 / 3, 4))


def test_a_neutral_text_counts_for_half() -> None:
    # positive 0.9 / 0.05 / 0.05 with weight 1, neutral 0.05 / 0.9 / 0.05 with weight 0.5
    found = combine([Weighed(0, 1.0), Weighed(1, 1.0)], [GOOD, PLAIN])
    assert found == Judgement("positive", round((0.9 + 0.5 * 0.05) / 1.5, 4), round(0.85 / 1.5, 4))


@pytest.mark.parametrize(
    "judgement",
    [
        GOOD,
        BAD,
        PLAIN,
        Judgement("neutral", 0.5, 0.0),
        Judgement("positive", 0.5, 0.2),
        Judgement("negative", 0.7, -0.6),
        Judgement("positive", 0.3, 0.29),
        Judgement("neutral", 0.2, 0.0),
    ],
)
def test_one_text_alone_gives_its_own_judgement(judgement: Judgement) -> None:
    assert combine([Weighed(0, 1.0)], [judgement]) == judgement


def test_positive_and_negative_texts_without_a_clear_balance_are_neutral() -> None:
    assert combine([Weighed(0, 1.0), Weighed(1, 1.0)], [GOOD, BAD]) == Judgement("neutral", 1.0, 0.0)
    # polarity (weight - 1) * 0.85 / (weight + 1)
    assert combine([Weighed(0, 1.26), Weighed(1, 1.0)], [GOOD, BAD]) == Judgement("neutral", 0.9022, 0.0)
    assert combine([Weighed(0, 1.28), Weighed(1, 1.0)], [GOOD, BAD]) == Judgement("positive", 0.5272, 0.1044)
    clear = [Judgement("positive", 0.5, 0.5), Judgement("negative", 0.7, -0.7)]
    # exactly a tenth is clear; neutral is more probable than either
    assert combine([Weighed(0, 2.0), Weighed(1, 1.0)], clear) == Judgement("neutral", 0.4333, 0.0)
    weak = Judgement("positive", 0.4, 0.05)
    assert combine([Weighed(0, 1.0), Weighed(1, 1.0)], [weak, weak]) == weak


def test_the_article_is_judged_by_its_headline_and_first_sentences() -> None:
    questions = asked("Alpha beats Beta", "Alpha beats Beta again. More.", "Alpha", "Beta")
    named = [texts(questions)[each.passage] for each in questions.article]
    assert named == ["Alpha beats Beta", "Alpha beats Beta again.", "More."]


def parts(text: str, *whole: str) -> list[str]:
    spans = [Span(text.index(name), text.index(name) + len(name)) for name in whole]
    return [text[start:end] for start, end in split_sentences(text, spans)]


def test_a_name_with_a_stop_in_it_is_never_cut() -> None:
    text = "We love Who! Where it counts. It is slow."
    assert parts(text, "Who! Where") == ["We love Who! Where it counts.", "It is slow."]
    assert parts("We use Yahoo! It works.", "Yahoo!") == ["We use Yahoo!", "It works."]


def test_only_the_sentences_in_which_a_name_begins_name_it() -> None:
    text = "Alpha is fast. Beta is slow. Alpha wins."
    sentences = split_sentences(text)
    spans = [Span(0, 5), Span(text.rindex("Alpha"), text.rindex("Alpha") + 5)]
    assert [text[start:end] for start, end in sentences_naming(sentences, spans)] == ["Alpha is fast.", "Alpha wins."]


@pytest.mark.parametrize("unit", [".", "\n", "\n ", 'a."', ". a"])
def test_hostile_texts_take_steps_in_proportion_to_their_length(unit: str) -> None:
    assert growth(lambda size: split_sentences(unit * size + "x"), 1000) < 2.2
    split_sentences(unit * 300_000 + "x")  # no expression is quadratic: see steps.py


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It works. It fails! Why? Who knows…  ", 4),
        ("Mr. Smith uses it", 1),
        ("Acme Inc. Released it", 1),
        ("Prof. Smith uses it", 1),
        ("The U.S. Army uses it", 1),
        ("It is fast, e.g. on Linux", 1),
        ("Node.js 22.1 is out", 1),
        ("The J. Geils build is broken", 1),
        ("", 0),
        ("  \n ", 0),
        ("...", 1),
        ("The firm grew... And fell", 2),
        ("The firm grew. and fell", 1),
        ("The end.", 1),
        ("Made by J. Smith", 1),
        ("Made by them. Sold", 2),
        ("Is it? yes", 2),
        ("a.b. C", 1),
        ("A price of 3.5", 1),
        ("One\nTwo", 1),
        ("One\n \nTwo", 2),
        ("One\n* Two\n• Three", 3),
        ('He wrote "no." then left', 1),
        ('He wrote "no." Then he left', 2),
    ],
)
def test_where_a_sentence_ends(text: str, count: int) -> None:
    assert len(parts(text)) == count
