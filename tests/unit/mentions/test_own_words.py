"""Which words of sources are judged for themselves, and what a source says of a tool."""

from __future__ import annotations

from typing import Any

from models.article import Observation
from models.mention import what_it_says
from models.stored import WordsJudgement
from services.mentions.understanding import (
    observations_of_other_words,
    understand_own_words,
)
from services.tools.detector import Detector
from tests import documents
from tests.documents import NOW, OTHER_TOOL_ID, TOOL_ID, article, attribution, mention, reading

BAD = WordsJudgement(sentiment="negative", score=0.9, polarity=-0.5)


def tool(tool_id: str, name: str) -> Any:
    return documents.tool(tool_id=tool_id, primary_name=name, aliases=(), name_rules={}, tickers=("QRVA",))


DETECTOR = Detector([tool(TOOL_ID, "Quorvia"), documents.tool(tool_id=OTHER_TOOL_ID, primary_name="Tarnwick")])


def test_each_revision_of_a_listed_source_that_is_not_canonical_has_an_observation() -> None:
    revisions = {"a": "r1", "b": "r2", "c": "r2", "d": None, "e": "r3"}
    sources = {key: attribution(revision=revision, scraped_at=NOW) for key, revision in revisions.items()}
    given = article(sources=tuple(sources), source_attribution=sources, canonical=reading(source="a"))
    assert observations_of_other_words(given) == {"r2": "obs:b:20260221", "r3": "obs:e:20260221"}
    assert observations_of_other_words(given.changed(NOW, deleted_at=NOW)) == {}


class TestUnderstanding:
    def words(self, **changes: Any) -> Observation:
        return documents.observation(**{"headline": "Quorvia and Tarnwick", "revision": "r2", **changes})

    def test_the_tools_of_the_article_are_found_in_the_sources_own_words(self) -> None:
        own = understand_own_words(article(), self.words(), DETECTOR, {TOOL_ID})
        assert (own.revision, set(own.detected), set(own.questions.tools)) == ("r2", {TOOL_ID}, {TOOL_ID})
        for changes in ({"tags": ("Quorvia",)}, {"tickers": ("QRVA",)}, {"text": "Quorvia is out."}):
            named = understand_own_words(article(), self.words(headline="News", **changes), DETECTOR, {TOOL_ID})
            assert set(named.detected) == {TOOL_ID}
        assert not understand_own_words(article(), self.words(headline="News"), DETECTOR, {TOOL_ID}).detected

    def test_with_only_some_tools_the_others_are_named_and_not_asked_about(self) -> None:
        own = understand_own_words(article(), self.words(), DETECTOR, {TOOL_ID, OTHER_TOOL_ID}, {TOOL_ID})
        assert (set(own.detected), set(own.questions.tools)) == ({TOOL_ID, OTHER_TOOL_ID}, {TOOL_ID})

    def test_names_of_publishers_are_none_of_its_words(self) -> None:
        wire = article(source_attribution={"tiingo": attribution(source_name="Quorvia")})
        own = understand_own_words(wire, self.words(headline="News of the day - Quorvia"), DETECTOR, {TOOL_ID})
        assert not own.detected

    def test_the_language_is_its_own(self) -> None:
        english = article(language="en")
        assert understand_own_words(english, self.words(language="de"), DETECTOR, ()).questions.language == "de"
        assert understand_own_words(english, self.words(), DETECTOR, ()).questions.language == "en"


def test_a_source_says_what_the_mention_says_unless_its_words_are_others() -> None:
    said = mention(revision="r1", other_words={"r1": BAD, "r2": BAD, "r3": None})
    assert what_it_says(said, "r1") is said
    assert what_it_says(said, None) is said
    assert what_it_says(said, "r4") is said
    assert what_it_says(said, "r2") == BAD
    assert what_it_says(said, "r3") is None
    assert what_it_says(mention(revision="r1"), "r2") is not None
