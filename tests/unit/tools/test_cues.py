"""The evidence for and against a name at one place."""

from __future__ import annotations

import pytest

from models.tool import normalize_name
from services.tools.cues import BESIDE, MAX_CAPITALISED, MIN_FOREIGN, NEAR, Surroundings, cues
from services.tools.lexicon import sense_of
from services.tools.matching import Phrase, normalize


def found(name: str, text: str) -> set[str]:
    """The cues at the first place of the name."""
    plain = normalize_name(name)
    sense = sense_of(plain)
    assert sense is not None
    article = normalize(text)
    return set(cues(sense, name, article, *next(Phrase.of(plain).occurrences(article.text))))


@pytest.mark.parametrize(
    ("name", "text", "case"),
    [
        ("Kafka", "we like Kafka here", "seldom a word: capital within the sentence"),
        ("Kafka", "we like kafka here", "seldom a word: in lower case"),
        ("Slack", "we like Slack here", "a word in lower case: capital within the sentence"),
        ("Slack", "we like SLACK here", "a word in lower case: in capitals"),
        ("Slack", "SLACK DOWN AGAIN", "a word in lower case: in a text in capitals"),
        ("Next", "Next we meet", "often a word: begins the sentence"),
        ("Next", "The Day After Next Monday", "often a word: in headline case"),
        ("R", "we like R here", "a letter: capital within the sentence"),
        ("make", "we like make here", "often a word: in lower case"),
    ],
)
def test_the_case_of_a_name_counts_by_where_it_stands(name: str, text: str, case: str) -> None:
    assert case in found(name, text)
    assert sum(each.startswith(case.partition(":")[0] + ":") for each in found(name, text)) == 1


@pytest.mark.parametrize(
    ("name", "text", "cue"),
    [
        ("Swift", "Swift's types", "possessive"),
        ("Swift", "Swift-based apps", "thing after"),
        ("Swift", "Swift-tempered", "hyphen after"),
        ("Swift", "Swift 6 makes errors", "version after"),
        ("Swift", "Swift 3 times a day", "count after"),
        ("Swift", "Swift 2026 plans", "year after"),
        ("Swift", "we like Swift.", "ends a clause"),
        ("Swift", "a Swift compiler", "thing after"),
        ("Swift", "How Swift Compilers Became Popular", "thing after, headline"),
        ("Swift", "Swift adds macros", "does after"),
        ("Swift", "Swift buried it", "past tense after"),
        ("Swift", "Swift for iOS apps", "for, on or in another name"),
        ("Swift", "Swift to acquire Wonder", "to do after"),
        ("Swift", "Swift: a language", "heads the text"),
        ("Swift", "Swift to the rescue", "grammar after, begins"),
        ("Swift", "a Swift Boat there", "capital after"),
        ("Swift", "a Swift reply", "other word after"),
        ("Swift", "Swift reply there", "other word after, begins"),
        ("Swift", "a re-Swift thing", "hyphen before"),
        ("Swift", "it was written in Swift", "made or run with it"),
        ("Swift", "it was said in Swift", "made or run maybe with it"),
        ("Swift", "it went from Kotlin to Swift", "from one to the other"),
        ("Swift", "yes, the future of Swift", "subject of a text"),
        ("Swift", "we use Swift", "used, bought or compared"),
        ("Swift", "we can Swift", "verb before"),
        ("Swift", "here the Swift way", "determiner before"),
        ("Swift", "here the Swift compiler", "determiner before and thing after"),
        ("Swift", "here Apple's Swift", "owner before"),
        ("Swift", "such strange Swift", "quality before"),
        ("Swift", "so Wonder kills Swift", "somebody does it"),
        ("Swift", "yes, Mrs. Swift sang", "title before"),
        ("Swift", "yes, Taylor Swift sang", "first name before"),
        ("Swift", "yes, the Wonder Swift sang", "capital before"),
        ("Swift", "yes wonder swift", "other word before, lower case"),
        ("Julia", "yes, Julia said that she knew", "person near"),
        ("Julia", "yes, Julia and Peter met", "first name beside"),
        ("Julia", "yes, Julia, 23, sang", "age after"),
        ("Phoenix", "in Phoenix, Arizona", "region after"),
        ("Phoenix", "in Phoenix and Denver", "region beside"),
        ("Java", "the island Java", "place beside"),
        ("Swift", "they use SWIFT there", "another acronym"),
        ("Apple", "the big apple", "phrase of another meaning"),
        ("Apple", "it was the Big Apple there", "phrase of another meaning, capital within the sentence"),
        ("Next", "what\u2019s next", "phrase of another meaning"),
        ("Mercury", "Mercury is in retrograde", "another meaning near"),
    ],
)
def test_what_stands_beside_a_name_is_a_cue(name: str, text: str, cue: str) -> None:
    assert cue in found(name, text)


@pytest.mark.parametrize(
    ("text", "cues_found"),
    [
        ("we like Swift, Kotlin", {"name after it in a list"}),
        ("we like Kotlin or Swift", {"name before it in a list"}),
        ("we like Kotlin, Wonder, and Swift", {"name before it in a list"}),
        ("we like Swift, Wonder and Kotlin", {"name after it in a list"}),
        ("we like Swift, Wonder, Other and Kotlin", set()),
        ("we like Swift, kotlin", set()),
        ("we like swift, kotlin", {"name after it in a list, lower case"}),
    ],
)
def test_another_name_in_a_list(text: str, cues_found: set[str]) -> None:
    assert {each for each in found("Swift", text) if "in a list" in each} == cues_found


@pytest.mark.parametrize(
    ("name", "text", "cues_found"),
    [
        ("Terraform", "run terraform apply, then wait", {"command", "command that is run"}),
        ("Node", "our node --watch is here", {"command"}),
        ("Node", "our node-watch is here", set()),
        ("Terraform", "run terraform wisely", set()),
        ("Go", "then go test it", {"command", "command that is run"}),
        ("Go", "we go test it", set()),
        ("Make", "`make -j8` ran", {"command", "in code"}),
        ("Redis", "redis-cli monitor", {"command"}),
        ("Go", "`type` go `now`", set()),
    ],
)
def test_commands_and_code(name: str, text: str, cues_found: set[str]) -> None:
    assert found(name, text) & {"command", "command that is run", "in code"} == cues_found


def test_a_sentence_in_another_language() -> None:
    assert "sentence in another language" in found("Swift", "Der Browser Swift ist neu")
    assert "sentence in another language, lower case" in found("Swift", "der Browser swift ist neu")
    assert "sentence in another language" not in found("Swift", "Der Browser Swift")
    assert "capital before" not in found("Swift", "so ist der Wonder Swift neu")
    assert "capital before" not in found("Swift", "用 Wonder Swift 重写")


@pytest.mark.parametrize("gap", [NEAR - 9, NEAR - 8, NEAR - 7, NEAR - 6])
def test_words_of_its_topic_within_200_characters(gap: int) -> None:
    assert NEAR == 200
    assert ("language topic near" in found("Go", f"Go{'.' * gap} golang")) == (gap <= NEAR - 7)
    assert ("product topic near" in found("Slack", f"Slack{'.' * gap} openai")) == (gap <= NEAR - 7)
    assert "language topic near, more than once" in found("Go", "Go, a compiler and a runtime")
    assert "money near" in found("Slack", "Slack, a share")
    assert "money near" not in found("Go", "Go, a share")


def of(text: str, name: str = "Go") -> Surroundings:
    start = text.index(name)
    return Surroundings.of(name, text, start, start + len(name))


def test_the_words_beside_a_name_are_those_of_its_sentence() -> None:
    place = of("It was late. We, too, like Go-based tools, e.g. this. And more")
    assert place.before == ("like", ",", "too", ",", "We")
    assert place.after[:3] == ("-", "based", "tools")
    assert "And" not in place.after
    assert (place.previous(), place.previous(2), place.previous(9)) == ("like", "too", "")
    assert (place.next(1), place.next(99)) == ("based", "")


def test_a_sentence_is_read_100_characters_before_and_after() -> None:
    assert BESIDE == 100
    assert of("x" * 99 + " Go").before == ("x" * 99,)
    assert of("x" * 100 + " Go").before == ("x" * 99,)
    assert of("Go " + "x" * 101).after == ("x" * 99,)


@pytest.mark.parametrize(
    ("text", "is_headline"),
    [
        ("Why They Rewrote Go Again", True),
        ("Why they rewrote Go Again", False),
        ("Rewrote Go again", False),
        ("We Like Tools, They like Go", True),
        ("A One Alpha, Gamma, delta Go", False),
        ("A One Alpha, Gamma, Delta, epsilon Go", True),
    ],
)
def test_headline_case_is_seven_of_ten_words_capitalised(text: str, is_headline: bool) -> None:
    assert MAX_CAPITALISED == 0.7
    assert of(text).is_headline_case == is_headline


def test_two_small_words_of_another_language_make_a_sentence_foreign() -> None:
    assert MIN_FOREIGN == 2
    assert of("Der Browser Go ist Neu").is_foreign
    assert not of("Der Browser Go hat Neues").is_foreign
    assert not of("Der Browser Go ist Neu").is_headline_case, "German capitalises nouns"
    assert of("Der Browser Go hat Neues").is_headline_case
    assert not of("用 Browser Go Neues").is_headline_case


def test_a_plain_capital_is_within_a_sentence_in_lower_case() -> None:
    assert of("they rewrote Go again").is_plain_capital
    assert not of("they rewrote go again", "go").is_plain_capital
    assert not of("Go again").is_plain_capital
    assert not of("They Rewrote Go Again").is_plain_capital
    assert not of("REWROTE Go AGAIN").is_plain_capital
