"""Which tools an article names and what is judged, which mentions follow, and how the article is changed by its
analysis."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from models.article import Article, Observation
from models.mention import Match, SentimentScore, what_it_says
from models.stored import WordsJudgement
from models.tool import Tool
from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement
from services.mentions.corrections import judged_passages, passages_hash
from services.mentions.scoring import Scores, Unscored
from services.mentions.understanding import (
    ArticleAnalysis,
    detect,
    finished,
    judge,
    mention,
    no_longer_active,
    observations_of_other_words,
    published_at,
    publisher_of,
    role_of,
    understand,
    understand_own_words,
    wanted_mentions,
    with_first_articles,
    with_tools_listed,
)
from services.tools.detector import Detected, Detector, Reason
from services.tools.matching import Span
from tests import documents
from tests.documents import ARTICLE_ID, NOW, OTHER_TOOL_ID, TOOL_ID, attribution, reading

GOOD = Judgement("positive", 0.9, 0.6)
BAD = Judgement("negative", 0.8, -0.5)
LATER = NOW + timedelta(hours=1)
ANALYZER = ("words", "1")
IN_HEADLINE = Detected((Reason("Quorvia", "NAME", "HEADLINE"),), (Span(0, 7),))
IN_TAGS = Detected((Reason("quorvia", "SOURCE_TAG", "TAGS"),))


def article(**changes: Any) -> Article:
    return documents.article(**{"canonical": reading(headline="Quorvia is good", publisher="Wire"), **changes})


def tool(tool_id: str = TOOL_ID, name: str = "Quorvia", **changes: Any) -> Tool:
    return documents.tool(tool_id=tool_id, primary_name=name, aliases=(), name_rules={}, **changes)


DETECTOR = Detector([tool(tickers=("QRVA",)), tool(OTHER_TOOL_ID, "Tarnwick")])


@pytest.mark.parametrize(
    ("muted", "changes", "is_muted"),
    [
        (("tiingo",), {}, True),
        (("other",), {}, False),
        ((), {}, False),
    ],
)
def test_an_article_of_muted_sources_only_does_not_mention_the_tool(
    muted: tuple[str, ...], changes: dict[str, Any], is_muted: bool
) -> None:
    detector = Detector([tool(muted_sources=muted), tool(OTHER_TOOL_ID, "Tarnwick")])
    found = article(canonical=reading(headline="Quorvia and Tarnwick"), **changes)
    named = {OTHER_TOOL_ID} if is_muted else {TOOL_ID, OTHER_TOOL_ID}
    assert set(detect(found, detector)) == named
    made = understand(found, detector)
    assert (set(made.detected), set(made.muted)) == (named, {TOOL_ID} if is_muted else set())
    made.scores = Scores(GOOD, dict.fromkeys(made.detected, GOOD))
    assert finished(made, ANALYZER, NOW, whole=True).muted_tool_ids == ((TOOL_ID,) if is_muted else None)


def test_the_analysis_of_some_tools_leaves_what_others_have_muted() -> None:
    detector = Detector([tool(muted_sources=("tiingo",)), tool(OTHER_TOOL_ID, "Tarnwick", muted_sources=("tiingo",))])
    both = article(canonical=reading(headline="Quorvia and Tarnwick"), muted_tool_ids=(TOOL_ID,))
    assert understand(both, detector, frozenset({OTHER_TOOL_ID})).muted == {TOOL_ID, OTHER_TOOL_ID}
    assert understand(both, detector, frozenset({TOOL_ID})).muted == {TOOL_ID}
    unmuted = Detector([tool(), tool(OTHER_TOOL_ID, "Tarnwick")])
    assert understand(both, unmuted, frozenset({TOOL_ID})).muted == frozenset()
    assert understand(both, unmuted, frozenset({OTHER_TOOL_ID})).muted == {TOOL_ID}


def analysis(given: Article | None = None, **changes: Any) -> ArticleAnalysis:
    """Of an article that names one tool in its headline."""
    made = understand((given or article()), DETECTOR)
    made.scores = Scores(GOOD, dict.fromkeys(made.detected, GOOD))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def stored_mention(**changes: Any) -> SentimentScore:
    return documents.mention(**changes)


class TestUnderstanding:
    def test_an_article_names_tools_in_headline_text_tags_and_the_tickers_of_its_sources(self) -> None:
        assert set(detect(article(), DETECTOR)) == {TOOL_ID}
        assert set(detect(article(text_for_analysis="Tarnwick too"), DETECTOR)) == {TOOL_ID, OTHER_TOOL_ID}
        silent = {"canonical": reading(headline="Nothing")}
        assert set(detect(article(**silent, tags=("tarnwick",)), DETECTOR)) == {OTHER_TOOL_ID}
        assert set(detect(article(**silent, matched_tickers=("QRVA",)), DETECTOR)) == {TOOL_ID}

    def test_a_ticker_that_an_analysis_found_is_none_of_a_source(self) -> None:
        given = article(matched_tickers=("AAPL", "QRVA"), detected_tickers=("QRVA",))
        assert given.source_tickers == ("AAPL",)
        assert OTHER_TOOL_ID not in detect(given, DETECTOR)

    def test_tools_that_the_article_named_before_are_looked_at_too(self) -> None:
        made = understand(article(detected_tool_ids=("a",), tool_ids_ever_detected=("b",)), DETECTOR)
        assert made.tool_ids == {TOOL_ID, "a", "b"}
        assert made.detected.keys() == {TOOL_ID}

    def test_with_only_some_tools_nothing_else_is_looked_at(self) -> None:
        given = article(text_for_analysis="Tarnwick", tool_ids_ever_detected=("a", "b"))
        made = understand(given, DETECTOR, frozenset({OTHER_TOOL_ID, "b", "c"}))
        assert made.tool_ids == {OTHER_TOOL_ID, "b"}
        assert made.detected.keys() == {OTHER_TOOL_ID}
        assert made.questions.tools.keys() == {OTHER_TOOL_ID}
        assert [set(each.names) for each in made.questions.passages] == [{TOOL_ID}, {OTHER_TOOL_ID}]

    def test_a_deleted_article_names_nothing_and_is_not_judged(self) -> None:
        made = understand(article(deleted_at=NOW, tool_ids_ever_detected=("a",)), DETECTOR)
        assert (made.detected, made.questions.tools) == ({}, {})
        assert made.tool_ids == {"a"}

    def test_the_publication_time_is_not_later_than_the_first_sight(self) -> None:
        assert published_at(article(created_at=NOW, timestamp=NOW - timedelta(days=1))) == NOW - timedelta(days=1)
        assert published_at(article(created_at=NOW, timestamp=NOW + timedelta(days=1))) == NOW


def test_the_list_of_tools_gains_tools_and_loses_none() -> None:
    listed = with_tools_listed(analysis(article(tool_ids_ever_detected=("a",))))
    assert listed.tool_ids_ever_detected == (TOOL_ID, "a")
    assert listed.updated_at == NOW, "the list is no visible change"
    made = analysis(article(tool_ids_ever_detected=(TOOL_ID, "a")))
    assert with_tools_listed(made) is made.article


@pytest.mark.parametrize(
    ("tools", "outdated"),
    [
        ([tool(status="DEPRECATED")], {TOOL_ID}),
        ([tool(status="MERGED", merged_into=OTHER_TOOL_ID)], {TOOL_ID}),
        ([tool(), tool(OTHER_TOOL_ID, "Tarnwick", status="DEPRECATED")], set()),
        ([], set()),
    ],
)
def test_a_detected_tool_that_is_not_active_shows_that_the_detector_is_outdated(
    tools: list[Tool], outdated: set[str]
) -> None:
    assert no_longer_active([analysis()], {each.tool_id: each for each in tools}) == outdated


class TestFirstArticles:
    def test_a_tool_without_one_gets_the_earliest_article_that_names_it(self) -> None:
        later = analysis(article(timestamp=NOW))
        first = analysis(article(dedup_key="1" * 32, timestamp=NOW - timedelta(days=2)))
        silent = analysis(
            article(dedup_key="2" * 32, timestamp=NOW - timedelta(days=9), canonical=reading(headline="Nothing"))
        )
        known = with_first_articles([later, first, silent], {TOOL_ID: tool()}, "words/1", LATER)[TOOL_ID]
        assert (known.discovery_reference, known.discovery_date) == ("dedup:" + "1" * 32, "2026-02-19")
        assert (known.scored_by, known.updated_at) == ("words/1", LATER)

    def test_a_tool_that_has_one_or_that_no_article_names_stays_as_it_is(self) -> None:
        for known in (ARTICLE_ID, "another"):
            assert with_first_articles([analysis()], {TOOL_ID: tool(discovery_reference=known)}, "words/1", NOW) == {}
        other = tool(OTHER_TOOL_ID, "Tarnwick")
        assert with_first_articles([analysis()], {OTHER_TOOL_ID: other}, "words/1", NOW) == {}


class TestMention:
    def test_a_new_mention_has_the_judgement_of_its_tool_and_what_the_article_says(self) -> None:
        made = analysis(article(timestamp=NOW - timedelta(hours=3), event_id="event-1"))
        made.scores = Scores(BAD, {TOOL_ID: GOOD})
        said = mention(made, tool(), ANALYZER, LATER)
        assert (said.tool_id, said.source_id, said.role) == (TOOL_ID, ARTICLE_ID, "TIMELINE_SOURCE")
        assert (said.sentiment, said.score, said.polarity) == ("positive", 0.9, 0.6)
        assert (said.analyzer, said.analyzer_version, said.revision) == ("words", "1", "r1")
        assert said.matches == (Match(name="Quorvia", kind="NAME", where="HEADLINE", positions=((0, 7),)),)
        assert (said.source, said.publisher, said.headline) == ("tiingo", "Wire", "Quorvia is good")
        assert (said.url, said.event_id) == (documents.URL, "event-1")
        assert (said.published_at, said.created_at, said.removed_at) == (NOW - timedelta(hours=3), LATER, None)

    def test_a_tool_that_could_not_be_judged_has_the_judgement_of_its_article(self) -> None:
        made = analysis(scores=Scores(BAD, {TOOL_ID: NotJudged("refused")}))
        assert mention(made, tool(), ANALYZER, NOW).sentiment == "negative"

    def test_a_mention_that_is_right_stays_the_same(self) -> None:
        made = analysis()
        right = mention(made, tool(), ANALYZER, NOW)
        made.stored = {TOOL_ID: right}
        assert mention(made, tool(), ANALYZER, LATER) is right

    def test_mention_and_article_have_the_publisher_that_outlets_of_one_owner_share(self) -> None:
        wired = reading(
            headline="Quorvia is good", publisher="Wall Street Journal (blog)", url="https://news.google.com/1"
        )
        made = analysis(article(canonical=wired))
        assert mention(made, tool(), ANALYZER, NOW).publisher_id == "newscorp.com"
        assert finished(made, ANALYZER, NOW, whole=True).publisher_id == "newscorp.com"
        assert publisher_of(article(canonical=wired.model_copy(update={"publisher": None}))) is None

    @pytest.mark.parametrize(
        "wrong",
        [
            {"role": "OTHER"},
            {"sentiment": None, "score": None, "polarity": None, "unscored_reason": "LANGUAGE"},
            {"analyzer_version": "2"},
            {"event_id": "old", "removed_at": NOW},
        ],
    )
    def test_a_mention_with_one_wrong_field_is_corrected_and_keeps_its_publication_time(
        self, wrong: dict[str, Any]
    ) -> None:
        made = analysis(article(event_id="event-1"))
        right = mention(made, tool(), ANALYZER, NOW)
        before = right.changed(NOW, published_at=NOW - timedelta(days=1), **wrong)
        made.stored = {TOOL_ID: before}
        after = mention(made, tool(), ANALYZER, LATER)
        assert after == right.changed(LATER, published_at=NOW - timedelta(days=1))

    def test_the_role_says_whether_the_article_is_the_discovery_and_whether_its_words_name_the_tool(self) -> None:
        discovered = tool(discovery_reference=ARTICLE_ID)
        assert role_of(discovered, article(), IN_TAGS) == "DISCOVERY"
        assert role_of(tool(), article(), IN_HEADLINE) == "TIMELINE_SOURCE"
        assert role_of(tool(), article(), Detected((), (), (Span(0, 1),))) == "TIMELINE_SOURCE"
        assert role_of(tool(), article(), IN_TAGS) == "OTHER"
        in_text = Detected((), (), (Span(0, 1),))
        assert role_of(tool(), article(), in_text, "document") == "DOCUMENT_SOURCE"
        assert role_of(tool(), article(), IN_HEADLINE, "document") == "TIMELINE_SOURCE"
        assert role_of(tool(), article(), IN_TAGS, "document") == "OTHER"
        assert role_of(discovered, article(), in_text, "document") == "DISCOVERY"

    def test_a_removed_mention_becomes_a_tombstone_once(self) -> None:
        buried = stored_mention().removed(LATER)
        assert (buried.removed_at, buried.counts) == (LATER, False)
        assert (buried.headline, buried.url, buried.publisher, buried.source, buried.matches) == (None,) * 4 + ((),)
        assert buried.removed(LATER + timedelta(hours=1)) is buried


class TestWantedMentions:
    def test_a_detected_tool_gets_a_mention_and_a_tool_that_is_gone_from_the_text_loses_its_own(self) -> None:
        made = analysis(article(tool_ids_ever_detected=(OTHER_TOOL_ID,)))
        made.stored = {OTHER_TOOL_ID: stored_mention(tool_id=OTHER_TOOL_ID)}
        tools = {TOOL_ID: tool(), OTHER_TOOL_ID: tool(OTHER_TOOL_ID, "Tarnwick")}
        made.wanted = wanted_mentions(made, tools, ANALYZER, NOW)
        assert {tool_id: each.counts for tool_id, each in made.wanted.items()} == {TOOL_ID: True, OTHER_TOOL_ID: False}
        assert made.changes == list(made.wanted.values())

    @pytest.mark.parametrize(
        ("status", "deleted", "keeps"),
        [("DEPRECATED", False, True), ("DEPRECATED", True, False), ("ACTIVE", False, False)],
    )
    def test_a_deprecated_tool_keeps_the_mentions_of_articles_that_there_are(
        self, status: str, deleted: bool, keeps: bool
    ) -> None:
        given = article(tool_ids_ever_detected=(OTHER_TOOL_ID,), deleted_at=NOW if deleted else None)
        before = stored_mention(tool_id=OTHER_TOOL_ID)
        made = analysis(given, stored={OTHER_TOOL_ID: before})
        tools = {OTHER_TOOL_ID: tool(OTHER_TOOL_ID, "Tarnwick", status=status)}
        after = wanted_mentions(made, tools, ANALYZER, NOW)[OTHER_TOOL_ID]
        assert (after is before, after.counts) == (keeps, keeps)


class TestFinishing:
    def finish(self, given: Article, **changes: Any) -> Article:
        made = analysis(given, **changes)
        if made.detected:
            made.wanted = wanted_mentions(made, {TOOL_ID: tool()}, ANALYZER, NOW)
        return finished(made, ANALYZER, LATER, whole=True)

    def test_the_article_has_its_judgement_and_its_tools_and_its_analysis_is_no_longer_due(self) -> None:
        before = article(
            analysis_due_since=NOW,
            analysis_attempts=3,
            last_error_fingerprint="x:1",
            detected_tool_ids=(OTHER_TOOL_ID,),
        )
        after = self.finish(before)
        assert (after.status, after.sentiment, after.score, after.polarity) == ("analyzed", "positive", 0.9, 0.6)
        assert (after.analyzer, after.analyzer_version, after.analyzed_revision) == ("words", "1", "r1")
        assert (after.analyzed_at, after.updated_at, after.analysis_due_since) == (LATER, LATER, None)
        assert (after.analysis_attempts, after.last_error_fingerprint) == (0, None)
        assert after.detected_tool_ids == (TOOL_ID,)

    def test_an_article_that_was_finished_stays_the_same(self) -> None:
        after = self.finish(article())
        assert self.finish(after) == after
        made = analysis(after)
        made.wanted = wanted_mentions(made, {TOOL_ID: tool()}, ANALYZER, NOW)
        assert finished(made, ANALYZER, LATER + timedelta(hours=1), whole=True) is made.article

    def test_tickers_in_the_text_are_kept_apart_from_those_of_the_sources(self) -> None:
        given = article(text_for_analysis="$QRVA rises", matched_tickers=("AAPL", "OLD"), detected_tickers=("OLD",))
        after = self.finish(given)
        assert (after.matched_tickers, after.detected_tickers) == (("AAPL", "QRVA"), ("QRVA",))
        both = self.finish(article(text_for_analysis="$QRVA rises", matched_tickers=("QRVA",)))
        assert (both.matched_tickers, both.detected_tickers) == (("QRVA",), ())

    def test_of_some_tools_only_the_article_changes_in_those(self) -> None:
        given = article(analysis_due_since=NOW, detected_tool_ids=("a", OTHER_TOOL_ID))
        made = understand(given, DETECTOR, frozenset({TOOL_ID, OTHER_TOOL_ID}))
        made.scores = Scores(GOOD, {TOOL_ID: GOOD})
        made.wanted = wanted_mentions(made, {TOOL_ID: tool()}, ANALYZER, NOW)
        after = finished(made, ANALYZER, LATER, whole=False)
        assert after == given.changed(LATER, detected_tool_ids=(TOOL_ID, "a"))

    @pytest.mark.parametrize("status", ["analyzed", "error"])
    def test_an_analysis_of_some_tools_scores_an_analysed_article_again(self, status: str) -> None:
        given = self.finish(article()).changed(LATER, status=status, analysis_due_since=LATER, analyzed_revision="r0")
        made = understand(given, DETECTOR, frozenset({OTHER_TOOL_ID}))
        made.scores = Scores(BAD, {})
        after = finished(made, ("words", "2"), LATER + timedelta(hours=1), whole=False)
        assert (after.sentiment, after.score, after.polarity, after.analyzer_version) == ("negative", 0.8, -0.5, "2")
        assert (after.analyzed_at, after.scored_headline) == (LATER + timedelta(hours=1), "Quorvia is good")
        assert (after.status, after.analysis_due_since, after.analyzed_revision) == (status, LATER, "r0")

    def test_a_deleted_article_names_no_tool_and_is_not_due(self) -> None:
        given = article(deleted_at=NOW, detected_tool_ids=(TOOL_ID,), analysis_due_since=NOW)
        made = understand(given, DETECTOR)
        made.wanted = {TOOL_ID: stored_mention().removed(NOW)}
        after = finished(made, ANALYZER, LATER, whole=True)
        assert (after.detected_tool_ids, after.analysis_due_since, after.status) == ((), None, "pending")


class TestWhatTheGroupingMustSee:
    EVEN_LATER = LATER + timedelta(hours=1)

    def grouped(self, **changes: Any) -> Article:
        return self.after(article()).changed(LATER, event_id="event-1", grouping_due_since=None, **changes)

    def after(self, given: Article, now: datetime = LATER, only: frozenset[str] | None = None) -> Article:
        made = understand(given, DETECTOR, only)
        made.scores = Scores(GOOD, dict.fromkeys(made.detected, GOOD))
        tools = {TOOL_ID: tool(), OTHER_TOOL_ID: tool(OTHER_TOOL_ID, "Tarnwick")}
        made.wanted = wanted_mentions(made, tools, ANALYZER, now)
        return finished(made, ANALYZER, now, whole=only is None)

    def test_a_new_article(self) -> None:
        assert self.after(article()).grouping_due_since == LATER

    @pytest.mark.parametrize(
        "changes",
        [
            {"canonical": reading(headline="Quorvia is good", publisher="Wire", revision="r2")},
            {"canonical": reading(headline="Tarnwick and Quorvia", publisher="Wire")},
            {"language": None},
        ],
    )
    def test_another_revision_other_tools_and_another_language(self, changes: dict[str, Any]) -> None:
        after = self.after(self.grouped(**changes), self.EVEN_LATER)
        assert after.grouping_due_since == self.EVEN_LATER

    def test_not_an_analysis_that_gives_the_same_or_only_other_scores(self) -> None:
        given = self.grouped(analysis_due_since=LATER)
        assert self.after(given, self.EVEN_LATER).grouping_due_since is None
        rescored = self.grouped(score=0.5)
        assert self.after(rescored, self.EVEN_LATER).score == 0.9
        assert self.after(rescored, self.EVEN_LATER).grouping_due_since is None

    def test_a_tool_that_is_found_by_a_backfill(self) -> None:
        given = self.grouped(canonical=reading(headline="Tarnwick and Quorvia", publisher="Wire"))
        after = self.after(given, self.EVEN_LATER, frozenset({OTHER_TOOL_ID}))
        assert after.grouping_due_since == self.EVEN_LATER


def test_only_prose_names_tools_and_is_judged() -> None:
    given = article(
        canonical=reading(headline="Kubernetes is out - Tarnwick", publisher="Tarnwick"),
        text_for_analysis="``` Tarnwick({}); ``` Quorvia is good. Read more",
    )
    made = understand(given, DETECTOR)
    assert set(made.detected) == set(detect(given, DETECTOR)) == {TOOL_ID}
    (span,) = made.detected[TOOL_ID].text_spans
    assert given.text_for_analysis is not None
    assert given.text_for_analysis[span.start : span.end] == "Quorvia"
    assert [each.text.strip() for each in made.questions.passages] == ["Kubernetes is out", "Quorvia is good."]


def test_an_article_whose_language_nobody_decided_is_in_english() -> None:
    for stored, expected in ((None, "en"), ("und", "und")):
        given = analysis(article(language=stored))
        assert given.questions.language == expected
        assert finished(given, ANALYZER, LATER, whole=True).language == expected
        assert finished(given, ANALYZER, LATER, whole=False).language == stored


def test_a_verdict_of_a_person_is_applied_while_the_article_says_the_same_about_the_tool() -> None:
    made = analysis()
    says = passages_hash(judged_passages(made.questions, TOOL_ID))
    for changes, label in (
        ({"revision": "other", "passages_hash": says}, "negative"),
        ({"revision": "other", "passages_hash": "other"}, "positive"),
        ({"revision": made.article.canonical.revision}, "negative"),
    ):
        made.corrections = {TOOL_ID: documents.correction(**changes)}
        assert mention(made, tool(), ANALYZER, NOW).sentiment == label
    made.corrections = {TOOL_ID: documents.correction(verdict="not_this_tool", label=None, revision="other")}
    assert wanted_mentions(made, {TOOL_ID: tool()}, ANALYZER, NOW) == {}


def test_a_mention_of_a_deprecated_tool_that_is_about_something_else_is_removed() -> None:
    stored = documents.mention(revision="r1", sentiment="positive", score=0.9, polarity=0.5)
    kept = analysis(detected={}, tool_ids=frozenset({TOOL_ID}), stored={TOOL_ID: stored})
    tools = {TOOL_ID: tool(status="DEPRECATED")}
    kept.corrections = {TOOL_ID: documents.correction(verdict="not_this_tool", label=None)}
    assert wanted_mentions(kept, tools, ANALYZER, LATER)[TOOL_ID].removed_at == LATER


def test_each_revision_of_a_listed_source_that_is_not_canonical_has_an_observation() -> None:
    revisions = {"a": "r1", "b": "r2", "c": "r2", "d": None, "e": "r3"}
    sources = {key: attribution(revision=revision, scraped_at=NOW) for key, revision in revisions.items()}
    given = documents.article(sources=tuple(sources), source_attribution=sources, canonical=reading(source="a"))
    assert observations_of_other_words(given) == {"r2": "obs:b:20260221", "r3": "obs:e:20260221"}
    assert observations_of_other_words(given.changed(NOW, deleted_at=NOW)) == {}


class TestOwnWords:
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
    worse = WordsJudgement(sentiment="negative", score=0.9, polarity=-0.5)
    said = stored_mention(revision="r1", other_words={"r1": worse, "r2": worse, "r3": None})
    assert [what_it_says(said, each) for each in ("r1", None, "r4", "r2", "r3")] == [said, said, said, worse, None]
    assert what_it_says(stored_mention(revision="r1"), "r2") is not None


def by_length(text: str) -> Judgement:
    score = round(0.5 + len(text) / 1000, 4)
    return Judgement("positive", score, score)


class Polyglot:
    """Judges a text by its length. Remembers what it was asked."""

    name, version, languages = "polyglot", "1", frozenset({"en", "de"})

    def __init__(self) -> None:
        self.calls: list[list[Passage]] = []

    async def analyze(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        self.calls.append(list(passages))
        judgements = [by_length(each.text) for each in passages]
        return [
            PassageJudgement(judgement, dict.fromkeys(each.names, judgement))
            for each, judgement in zip(passages, judgements, strict=True)
        ]

    async def close(self) -> None:
        """Nothing to release."""


def in_language(headline: str, language: str | None = None, **fields: object) -> ArticleAnalysis:
    made = article(canonical=reading(headline=headline), text_for_analysis=None, language=language, **fields)
    return understand(made, DETECTOR)


async def test_the_passages_of_all_articles_are_judged_in_one_call_with_their_language() -> None:
    analyzer = Polyglot()
    analyses = [in_language("Quorvia"), in_language("Quorvia fehlt", "de"), in_language("Gone", "en", deleted_at=NOW)]
    await judge(analyzer, analyses)
    [asked] = analyzer.calls
    assert [(each.text, each.language) for each in asked] == [("Quorvia", "en"), ("Quorvia fehlt", "de")]
    first, second = by_length("Quorvia"), by_length("Quorvia fehlt")
    assert analyses[0].scores == Scores(first, {TOOL_ID: first})
    assert analyses[1].scores == Scores(second, {TOOL_ID: second})
    assert analyses[2].scores is None


async def test_an_article_in_a_language_that_the_analyzer_does_not_know_is_unscored() -> None:
    analyzer = Polyglot()
    analyses = [in_language("Quorvia est en panne", "fr"), in_language("Quorvia", "und")]
    await judge(analyzer, analyses)
    assert analyzer.calls == []
    expected = Scores(Unscored("LANGUAGE"), {TOOL_ID: Unscored("LANGUAGE")})
    assert [each.scores for each in analyses] == [expected, expected]
