"""What people may enter for a correction, and what a verdict means for its mention, for the measured precision, and for
the verdicts before and after it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.correction import (
    MAX_PAST,
    Correction,
    JudgedPassage,
    after_undoing,
    after_verdict,
    carried,
    review,
    time_of_verdict,
    with_reviews,
)
from models.errors import InvalidInput
from models.resources.corrections import NewCorrectionBody, labelled, state_of
from models.resources.tools import Precision
from models.stored import WordsJudgement
from models.tool import Reviews
from services.mentions.analyzers.port import Passage
from services.mentions.corrections import (
    MAX_JUDGED_CHARACTERS,
    holds,
    judged_passages,
    kept_passages,
    passages_hash,
    removes,
    with_verdict,
)
from services.mentions.scoring import Questions, Weighed
from services.tools.matching import Span
from tests.documents import NOW, OTHER_TOOL_ID, TOOL_ID, correction, mention, tool

LATER = NOW + timedelta(hours=1)
OWN = {"sentiment": "positive", "score": 0.8, "polarity": 0.6, "unscored_reason": None}
SAYS = (JudgedPassage(text="Quorvia is good"),)
NOTHING_APPLIED = {"verdict": None, "corrected": None, "analyzer_judgement": None}


def verdict(name: str, **changes: Any) -> Correction:
    label = name if name in ("positive", "negative", "neutral") else None
    return correction(**{"verdict": name, "label": label, "passages_hash": passages_hash(SAYS), **changes})


def undone(given: Correction) -> Correction:
    return given.changed(LATER, undone_at=LATER, undone_by="Ada")


@pytest.mark.parametrize(
    ("label", "polarity"),
    [("positive", 1.0), ("negative", -1.0), ("neutral", 0.0)],
)
@pytest.mark.parametrize(
    "own", [OWN, {"sentiment": None, "score": None, "polarity": None, "unscored_reason": "LANGUAGE"}]
)
def test_a_sentiment_of_a_person_is_certain_and_the_analyzers_is_kept_beside_it(
    label: str, polarity: float, own: dict[str, Any]
) -> None:
    assert with_verdict(own, verdict(label), "r1", ()) == {
        "sentiment": label,
        "score": 1.0,
        "polarity": polarity,
        "unscored_reason": None,
        "verdict": label,
        "corrected": True,
        "analyzer_judgement": WordsJudgement(**own),
    }


def test_a_confirmed_sentiment_counts_as_the_persons_only_once_the_analyzer_gives_another() -> None:
    right = verdict("right", label="positive")
    assert with_verdict(OWN, right, "r1", ()) == {**OWN, **NOTHING_APPLIED, "verdict": "right"}
    after = with_verdict({**OWN, "sentiment": "neutral"}, right, "r1", ())
    assert (after["sentiment"], after["polarity"], after["corrected"]) == ("positive", 1.0, True)
    assert with_verdict(OWN, verdict("right"), "r1", ())["corrected"] is None, "nothing was confirmed but the tool"


def test_a_verdict_holds_for_its_revision_and_for_the_same_words_about_the_tool() -> None:
    negative = verdict("negative")
    assert holds(negative, "r1", ())
    assert holds(negative, "r2", SAYS)
    assert holds(negative, "r2", [JudgedPassage(text="Quorvia  is good\n", names=((0, 7),))]), "space does not count"
    assert not holds(negative, "r2", [*SAYS, JudgedPassage(text="Quorvia is late")])
    assert not holds(undone(negative), "r1", SAYS)
    assert with_verdict(OWN, negative, "r2", ()) == {**OWN, **NOTHING_APPLIED}
    assert with_verdict(OWN, None, "r1", SAYS) == {**OWN, **NOTHING_APPLIED}


def test_only_not_this_tool_removes_a_mention() -> None:
    assert removes(verdict("not_this_tool"))
    assert not any(map(removes, (None, verdict("right"), verdict("neutral"), undone(verdict("not_this_tool")))))


def test_what_is_judged_are_the_passages_that_count_for_the_tool() -> None:
    first = Passage("Quorvia beats Tarnwick", {TOOL_ID: (Span(0, 7),), OTHER_TOOL_ID: (Span(14, 22),)})
    questions = Questions((first, Passage("It rains.")), (), {TOOL_ID: (Weighed(0, 2.0),)}, "en")
    assert judged_passages(questions, TOOL_ID) == (
        JudgedPassage(text="Quorvia beats Tarnwick", names=((0, 7),), other_names=((14, 22),)),
    )
    assert judged_passages(questions, OTHER_TOOL_ID) == ()


def test_a_correction_keeps_the_first_passages_only() -> None:
    most = JudgedPassage(text="x" * (MAX_JUDGED_CHARACTERS - 1))
    one = JudgedPassage(text="y")
    assert kept_passages([most, one, one]) == (most, one)
    assert (MAX_JUDGED_CHARACTERS, MAX_PAST) == (8000, 50)


def test_a_new_verdict_replaces_the_one_before_which_goes_into_the_history() -> None:
    first = verdict("negative", author="Ada", reason="why")
    second = verdict("neutral", author="Grace", made_at=LATER, made_by_run="run-2")
    assert after_verdict(None, first, NOW) is first
    after = after_verdict(first, second, LATER)
    assert (after.verdict, after.author, after.made_by_run, after.reason) == ("neutral", "Grace", "run-2", None)
    (before,) = after.history
    assert (before.verdict, before.author, before.made_by_run, before.reason) == ("negative", "Ada", "run-1", "why")
    for run in (first, second):
        assert after_verdict(after, run, LATER) is after, "its run was made before"


def test_the_same_verdict_by_the_same_person_again_changes_nothing() -> None:
    first = verdict("negative")
    for changes, is_same in (({}, True), ({"author": "Grace"}, False), ({"reason": "x"}, False)):
        again = verdict("negative", made_by_run="run-2", made_at=LATER, **changes)
        assert (after_verdict(first, again, LATER) is first) == is_same
    assert after_verdict(undone(first), verdict("negative", made_by_run="run-2", made_at=LATER), LATER).is_active


def test_a_verdict_that_was_asked_for_before_the_present_one_goes_into_the_history() -> None:
    present = verdict("negative", made_at=LATER, made_by_run="run-2")
    at_once = verdict("neutral", made_at=LATER, made_by_run="run-1")
    assert after_verdict(present, at_once, LATER).verdict == "neutral"
    after = after_verdict(present, verdict("neutral", made_at=NOW, made_by_run="run-1"), LATER)
    assert (after.verdict, [each.verdict for each in after.history]) == ("negative", ["neutral"])


def test_a_clock_that_is_behind_does_not_make_a_verdict_an_older_one() -> None:
    present = verdict("negative", made_at=LATER)
    assert [time_of_verdict(each, NOW) for each in (None, present, undone(verdict("negative")))] == [NOW, LATER, LATER]
    assert time_of_verdict(verdict("negative", made_at=NOW), LATER) == LATER


def test_undoing_ends_the_verdict_that_was_seen_and_no_later_one() -> None:
    present = verdict("negative")
    after = after_undoing(present, "run-1", "Grace", "a mistake", LATER)
    assert (after.undone_at, after.undone_by, after.undone_reason) == (LATER, "Grace", "a mistake")
    assert after_undoing(after, "run-1", "Ada", None, LATER) is after
    assert after_undoing(present, "run-0", "Grace", None, LATER) is present


def test_a_correction_is_carried_over_unless_the_target_has_a_verdict_of_its_own() -> None:
    of_source = verdict("negative", tool_id=OTHER_TOOL_ID, author="Ada", made_by_run="run-s")
    own = verdict("neutral", author="Grace", made_by_run="run-t")
    moved = carried(None, of_source, TOOL_ID, LATER)
    assert (moved.tool_id, moved.verdict, moved.author, moved.stored_etag) == (TOOL_ID, "negative", "Ada", None)
    assert (moved.made_at, moved.updated_at) == (of_source.made_at, LATER)
    assert carried(moved, of_source, TOOL_ID, LATER) is moved

    kept = carried(own, of_source, TOOL_ID, LATER)
    assert (kept.verdict, [(each.author, each.tool_id) for each in kept.history]) == (
        "neutral",
        [("Ada", OTHER_TOOL_ID)],
    )
    assert carried(kept, of_source, TOOL_ID, LATER) is kept

    taken = carried(undone(own), of_source, TOOL_ID, LATER)
    assert (taken.verdict, taken.is_active, [each.author for each in taken.history]) == ("negative", True, ["Grace"])
    assert carried(undone(own), undone(of_source), TOOL_ID, LATER).author == "Grace"


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        (verdict("not_this_tool"), (1, 0, 0, 0)),
        (verdict("positive"), (1, 1, 1, 1)),
        (verdict("negative"), (1, 1, 1, 0)),
        (verdict("right", label="positive"), (1, 1, 1, 1)),
        (verdict("right"), (1, 1, 0, 0)),
        (verdict("negative", said={"analyzer": "words", "analyzer_version": "1"}), (1, 1, 0, 0)),
        (undone(verdict("negative")), None),
        (verdict("negative", said=None), None),
        (None, None),
    ],
)
def test_a_verdict_is_a_review_of_the_version_that_scored_the_mention(
    given: Correction | None, counts: tuple[int, ...] | None
) -> None:
    found = review(given)
    if counts is None:
        assert found is None
    else:
        assert found == ("words/1", Reviews(**dict(zip(Reviews.model_fields, counts, strict=True))))


def test_the_counts_of_a_tool_follow_its_corrections() -> None:
    first, second = verdict("negative"), verdict("not_this_tool", made_by_run="run-2")
    one = with_reviews(tool(), [(None, first)], NOW)
    assert (one.corrections, one.reviews["words/1"].sentiment_right) == (1, 0)
    several = with_reviews(one, [(None, first), (None, second)], NOW)
    assert several.reviews["words/1"] == Reviews(reviewed=3, about_tool=2, scored=2)
    assert with_reviews(several, [(first, undone(first))], NOW).reviews["words/1"].reviewed == 2
    two = with_reviews(one, [(first, second)], NOW)
    assert (two.corrections, two.reviews) == (2, {"words/1": Reviews(reviewed=1)})
    none = with_reviews(two, [(second, undone(second))], NOW)
    assert (none.corrections, none.reviews) == (3, {})
    assert Precision.of(none.reviews).shown() == {**Reviews().shown(), "by_analyzer": {}}


@pytest.mark.parametrize(
    ("given", "shown", "state"),
    [
        (verdict("negative"), mention(verdict="negative", corrected=True), "active"),
        (verdict("negative"), mention(), "outdated"),
        (verdict("negative"), mention(removed_at=NOW), "outdated"),
        (verdict("negative"), None, "outdated"),
        (undone(verdict("negative")), None, "undone"),
        (verdict("not_this_tool"), mention(removed_at=NOW), "active"),
    ],
)
def test_a_verdict_that_its_mention_does_not_show_is_outdated(given: Correction, shown: Any, state: str) -> None:
    assert state_of(given, tool(), shown) == state


def test_a_verdict_whose_article_has_expired_is_not_outdated() -> None:
    assert state_of(verdict("negative"), tool(), None, has_article=False) == "active"


def test_a_source_or_phrase_that_the_tool_no_longer_lists_is_outdated() -> None:
    nothing = dict.fromkeys(("source_id", "label", "said"))
    source = correction(**nothing, subject="SOURCE", feed_id="alpha", verdict="mute")
    phrase = correction(**nothing, subject="PHRASE", phrase="Big Quorvia", verdict="exclude")
    listing = tool(muted_sources=("alpha",), excluded=("big  quorvia",))
    assert [state_of(each, listing, None) for each in (source, phrase)] == ["active", "active"]
    assert [state_of(each, tool(), None) for each in (source, phrase)] == ["outdated", "outdated"]
    assert [review(each) for each in (source, phrase)] == [None, None]
    assert [labelled(each) for each in (source, phrase)] == [None, None]


def test_labelled_data_joins_the_passages_and_moves_their_names() -> None:
    passages = (
        JudgedPassage(text="Quorvia beats Tarnwick", names=((0, 7),), other_names=((14, 22),)),
        JudgedPassage(text="So Quorvia wins.", names=((3, 10),)),
    )
    line = labelled(verdict("not_this_tool", passages=passages))
    assert line is not None
    assert (line["label"], line["text"]) == ("not_this_tool", "Quorvia beats Tarnwick\nSo Quorvia wins.")
    assert [line["text"][start:end] for start, end in line["names"]] == ["Quorvia", "Quorvia"]
    assert [line["text"][start:end] for start, end in line["other_names"]] == ["Tarnwick"]
    assert line["analyzer"] == {
        "sentiment": "positive",
        "score": 0.9,
        "polarity": 0.5,
        "unscored_reason": None,
        "analyzer": "words",
        "analyzer_version": "1",
    }
    assert (labelled(verdict("negative", said=None)) or {})["analyzer"] is None
    assert labelled(verdict("right")) is None, "it labels no sentiment"
    assert labelled(undone(verdict("negative"))) is None
    assert (labelled(verdict("negative", passages=())) or {})["text"] == correction().headline


GOOD = {"article": "dedup:1", "verdict": "right", "author": "Ada"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"author": "Ada"}, "article: one of article, source, phrase is needed"),
        ({**GOOD, "source": "b"}, "article: one of article, source, phrase is needed, and no other of them"),
        ({**GOOD, "article": " "}, "article: must be text of 1 to 2,000"),
        ({**GOOD, "verdict": None}, "verdict: must be one of right, not_this_tool, positive, negative, neutral with"),
        ({**GOOD, "verdict": "mute"}, "verdict: must be one of right"),
        ({"source": "a", "verdict": "exclude", "author": "A"}, "verdict: must be one of mute with source"),
        ({"source": "a b", "author": "A"}, "source: must be 1 to 64 letters"),
        ({"phrase": "", "author": "A"}, "phrase: must be text of 1 to 120"),
        ({**GOOD, "author": None}, "author: must be text of 1 to 100 characters"),
    ],
)
def test_an_error_names_the_field_and_what_is_allowed(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        NewCorrectionBody.checked(fields)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({"source": "a", "author": " Ada "}, ("SOURCE", "a", "mute", "Ada", None)),
        (
            {"phrase": "Big  Q", "author": "Ada", "reason": " a place "},
            ("PHRASE", "Big Q", "exclude", "Ada", "a place"),
        ),
        (GOOD, ("MENTION", "dedup:1", "right", "Ada", None)),
    ],
)
def test_a_form_is_read_with_its_one_verdict_and_without_the_space_around_it(
    fields: dict[str, Any], read: tuple[str | None, ...]
) -> None:
    made = NewCorrectionBody.checked(fields)
    assert (made.subject, made.named, made.chosen_verdict, made.author, made.reason) == read
