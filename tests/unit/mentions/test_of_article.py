"""What an observation shows of its own words."""

from __future__ import annotations

from models.resources.mentions import MentionResource
from models.scored import WordsJudgement
from services.mentions.listing import NamedMention, observed
from tests.documents import TOOL_ID, article, mention, observation

BAD = WordsJudgement(sentiment="negative", score=0.9, polarity=-0.5)
JUDGED = article(
    status="analyzed", sentiment="positive", score=0.8, polarity=0.5, analyzed_revision="r1", other_words={"r2": BAD}
)
SAID = NamedMention(
    mention(sentiment="neutral", score=0.7, polarity=0.0, revision="r1", other_words={"r2": BAD}), "Quorvia"
)


def test_the_words_that_were_canonical_have_the_judgement_of_article_and_mentions() -> None:
    shown = observed(observation(revision="r1"), JUDGED, [SAID], "full").shown()
    assert (shown["sentiment"], shown["score"], shown["polarity"], shown["unscored_reason"]) == (
        *("positive", 0.8, 0.5),
        None,
    )
    assert shown["tools"] == [
        {
            **{"tool_id": TOOL_ID, "tool": "Quorvia", "sentiment": "neutral"},
            **{"score": 0.7, "polarity": 0.0, "unscored_reason": None},
        }
    ]
    assert shown["revision"] == "r1"


def test_other_words_have_their_own() -> None:
    shown = observed(observation(revision="r2"), JUDGED, [SAID]).shown()
    assert (shown["sentiment"], shown["polarity"]) == ("negative", -0.5)
    assert [(each["tool"], each["sentiment"]) for each in shown["tools"]] == [("Quorvia", "negative")]


def test_a_tool_that_the_words_do_not_name_or_that_was_not_judged_is_left_out() -> None:
    silent = NamedMention(mention(revision="r1", other_words={"r2": None}), "Quorvia")
    unjudged = NamedMention(mention(revision="r1"), "Tarnwick")
    assert observed(observation(revision="r2"), JUDGED, [silent, unjudged]).shown()["tools"] == []


def test_words_that_were_not_judged_have_null() -> None:
    shown = observed(observation(revision="r3"), JUDGED, [SAID]).shown()
    assert [shown[name] for name in ("sentiment", "score", "polarity", "unscored_reason", "tools")] == [None] * 5


def test_a_named_mention_shows_its_tool() -> None:
    assert SAID.resource().shown() == {**MentionResource.of(SAID.mention).shown(), "tool": "Quorvia"}
