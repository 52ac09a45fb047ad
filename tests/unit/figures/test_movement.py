"""What moved a figure: effects of what entered and left, by story and by publisher, which add up to the difference."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tally import Tally
from services.figures.movement import (
    MAX_LISTED,
    Movement,
    Part,
    Times,
    movement_of,
    names_in,
    parts_by,
    rescored_in,
    story_of,
    tally_of,
)

TIMES = Times(("2026-02-21T00:00:00Z", "2026-02-22T00:00:00Z"), ("2026-02-20T00:00:00Z", "2026-02-21T00:00:00Z"))
NOW, THEN = "2026-02-21T08:00:00Z", "2026-02-20T08:00:00Z"


def mention(at: str, polarity: float | None, **more: Any) -> dict[str, Any]:
    sentiment = None if polarity is None else "positive" if polarity > 0 else "negative" if polarity < 0 else "neutral"
    own = {"source_id": f"dedup:{at}{polarity}", "published_at": at, "sentiment": sentiment, "polarity": polarity}
    return {**own, "source": "wire", "publisher_id": "wire.example", **more}


def by_key(parts: list[Part]) -> dict[str, Part]:
    return {part.key: part for part in parts}


def test_what_entered_and_left_is_counted_by_story() -> None:
    mentions = [mention(THEN, -0.5, event_id="old"), mention(NOW, 0.5, event_id="new"), mention(NOW, 0.3)]
    found = movement_of(mentions, TIMES)
    stories = by_key(found.stories)
    assert (found.entered, found.left, found.difference) == (2, 1, 0.9)
    assert (stories["new"].entered, stories["new"].left, found.effect_of(stories["new"])) == (1, 0, 0.5)
    assert (stories["old"].entered, stories["old"].left, found.effect_of(stories["old"])) == (0, 1, 0.0)
    assert found.effect_of(stories[story_of(mentions[2])]) == 0.4


def test_a_mention_in_both_times_neither_enters_nor_leaves() -> None:
    times = Times(("2026-02-20T00:00:00Z", "2026-02-22T00:00:00Z"), ("2026-02-19T00:00:00Z", "2026-02-21T00:00:00Z"))
    found = movement_of([mention(THEN, 0.5), mention(NOW, -0.5), mention("2026-02-18T00:00:00Z", 1.0)], times)
    assert (found.entered, found.left, found.present.total, found.previous.total) == (1, 0, 2, 1)
    assert found.difference == -0.5


def test_without_mentions_in_one_time_there_is_no_difference_and_no_effect() -> None:
    found = movement_of([mention(NOW, 0.5)], TIMES)
    assert found.difference is None
    assert found.effect_of(found.stories[0]) is None
    assert found.share_of(found.stories[0]) == 1.0
    assert movement_of([mention(THEN, 0.5)], TIMES).share_of(Part("x")) is None


def test_an_unscored_mention_is_counted_apart_and_moves_nothing() -> None:
    found = movement_of([mention(THEN, 0.5), mention(NOW, 0.5), mention(NOW, None)], TIMES)
    (publisher,) = found.publishers
    assert (publisher.mentions, publisher.unscored, publisher.entered) == (1, 1, 1)
    assert found.present.unscored == 1
    assert found.difference == 0.0


def test_a_publisher_that_is_not_known_counts_by_its_source() -> None:
    found = movement_of([mention(NOW, 0.5, publisher_id=None)], TIMES)
    assert [part.key for part in found.publishers] == ["source:wire"]
    assert [part.key for part in found.sources] == ["wire"]


def test_the_latest_mention_of_a_part_is_kept() -> None:
    late = mention("2026-02-21T09:00:00Z", 0.1, headline="late")
    (part,) = parts_by(lambda _: "one", [mention(NOW, 0.5), late, mention(THEN, 0.2)], TIMES, 0.0)
    assert part.latest is late


def test_a_time_has_its_beginning_and_not_its_end() -> None:
    assert TIMES.places(mention("2026-02-19T23:59:59Z", 0.1)) == (False, False)
    assert TIMES.places(mention("2026-02-20T00:00:00Z", 0.1)) == (False, True)
    assert TIMES.places(mention("2026-02-21T00:00:00Z", 0.1)) == (True, False)
    assert TIMES.places(mention("2026-02-22T00:00:00Z", 0.1)) == (False, False)


def test_a_part_counts_its_present_mentions_by_sentiment() -> None:
    mentions = [mention(NOW, each) for each in (0.5, 0.25, -0.5, None, None)]
    (part,) = parts_by(lambda _: "one", [*mentions, mention(THEN, -1.0)], TIMES, 0.0)
    assert (part.mentions, part.unscored) == (3, 2)
    assert part.tally == tally_of(mentions)


def test_lists_have_those_that_moved_most_or_have_most() -> None:
    parts = [Part(f"p{number:03}", tally=Tally(number), moved=-number / 100) for number in range(MAX_LISTED + 5)]
    found = Movement(tally_of([]), tally_of([]), 0, 0, parts, parts, parts)
    assert [part.key for part in found.moving(parts)][:2] == ["p054", "p053"]
    assert len(found.largest(parts)) == MAX_LISTED
    assert [part.key for part in found.largest(parts[:3])] == ["p002", "p001"]


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([-1.0, -0.4, 0.0, 0.25, 1.0]), st.sampled_from("abc")), min_size=1
    )
)
def test_the_effects_of_all_stories_add_up_to_the_difference(drawn: list[tuple[bool, float, str]]) -> None:
    found = movement_of([mention(NOW if now else THEN, each, event_id=story) for now, each, story in drawn], TIMES)
    if found.difference is not None:
        total = sum(part.moved for part in found.stories) / found.present.total
        assert total == pytest.approx(found.difference, abs=1e-4)


def test_names_are_counted_once_for_a_mention_whatever_their_case() -> None:
    def match(name: str, where: str) -> dict[str, str]:
        return {"name": name, "kind": "NAME", "where": where}

    first = mention(NOW, 0.1, matches=[match("Go", "HEADLINE"), match("go", "TEXT")])
    assert names_in([first, mention(NOW, 0.2, matches=[match("GO", "TAGS")]), mention(NOW, 0.3)]) == [
        {"name": "Go", "kind": "NAME", "mentions": 2, "in_headline": 1, "in_text": 1, "in_tags": 1}
    ]


def test_what_people_corrected_is_listed_with_its_effect() -> None:
    said = {"sentiment": "negative", "polarity": -0.5}
    corrected = mention(NOW, 1.0, corrected=True, verdict="positive", analyzer_judgement=said, headline="h")
    unknown = mention(NOW, 1.0, corrected=True, verdict="positive", analyzer_judgement={"polarity": None})
    rows = rescored_in([corrected, mention(NOW, 0.2), unknown], 3)
    assert rows[0] == {
        "source_id": corrected["source_id"],
        "headline": "h",
        "verdict": "positive",
        "before": "negative",
        "after": "positive",
        "effect": 0.5,
    }
    assert rescored_in([corrected], 7)[0]["effect"] == 0.2143
    assert [(row["before"], row["after"], row["effect"]) for row in rows] == [
        ("negative", "positive", 0.5),
        (None, "positive", None),
    ]
