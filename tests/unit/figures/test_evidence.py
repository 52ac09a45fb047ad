"""What moved a figure, and the cursor of its evidence."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.cache import Window
from models.errors import InvalidInput
from models.tally import Tally
from services.figures.evidence import MAX_LISTED, Part, Times, largest, movement_of, names_in, rescored_in, window_of
from tests.documents import cache_entry

TIMES = Times(("2026-02-21T00:00:00Z", "2026-02-22T00:00:00Z"), ("2026-02-20T00:00:00Z", "2026-02-21T00:00:00Z"))
NOW, THEN = "2026-02-21T08:00:00Z", "2026-02-20T08:00:00Z"


def mention(at: str, polarity: float | None, **more: Any) -> dict[str, Any]:
    sentiment = None if polarity is None else "positive" if polarity > 0 else "negative" if polarity < 0 else "neutral"
    own = {"source_id": f"dedup:{at}{polarity}", "published_at": at, "sentiment": sentiment, "polarity": polarity}
    return {**own, "source": "wire", "publisher_id": "wire.example", **more}


def test_what_entered_and_left_is_counted_by_story() -> None:
    mentions = [mention(THEN, -0.5, event_id="old"), mention(NOW, 0.5, event_id="new"), mention(NOW, 0.3)]
    found = movement_of(mentions, TIMES)
    assert (found.whole.entered, found.whole.left, found.whole.difference) == (2, 1, 0.9)
    stories = {part.key: (part.entered, part.left, part.shown(found.whole)["effect"]) for part in found.stories}
    assert stories == {"new": (1, 0, 0.5), mentions[2]["source_id"]: (1, 0, 0.4), "old": (0, 1, 0.0)}
    assert next(iter(stories)) == "new", "the one that moved the figure most"


def test_a_mention_in_both_times_neither_enters_nor_leaves() -> None:
    times = Times(("2026-02-20T00:00:00Z", "2026-02-22T00:00:00Z"), ("2026-02-19T00:00:00Z", "2026-02-21T00:00:00Z"))
    whole = movement_of([mention(THEN, 0.5), mention(NOW, -0.5)], times).whole
    assert (whole.entered, whole.left, whole.present.total, whole.previous.total) == (1, 0, 2, 1)
    assert whole.difference == -0.5


def test_without_mentions_in_one_time_there_is_no_difference_and_no_effect() -> None:
    found = movement_of([mention(NOW, 0.5)], TIMES)
    assert found.whole.difference is None
    assert [found.stories[0].shown(found.whole)[name] for name in ("effect", "share")] == [None, 1.0]
    assert Part("x").shown(movement_of([mention(THEN, 0.5)], TIMES).whole)["share"] is None


def test_an_unscored_mention_is_counted_apart_and_moves_nothing() -> None:
    found = movement_of([mention(THEN, 0.5), mention(NOW, 0.5), mention(NOW, None)], TIMES)
    (publisher,) = found.publishers
    assert (publisher.present.total, publisher.present.unscored, publisher.entered) == (1, 1, 1)
    assert found.whole.present.unscored == 1
    assert found.whole.difference == 0.0


def test_a_publisher_that_is_not_known_counts_by_its_source() -> None:
    found = movement_of([mention(NOW, 0.5, publisher_id=None)], TIMES)
    assert [part.key for part in found.publishers] == ["source:wire"]
    assert [part.key for part in found.sources] == ["wire"]


def test_a_part_counts_its_present_mentions_and_keeps_the_latest() -> None:
    mentions = [mention(NOW, each) for each in (0.5, 0.25, -0.5, None, None)]
    (part,) = movement_of([mention(THEN, -1.0), *mentions], TIMES).publishers
    assert part.present == Tally(2, 1, 0, 250_000, 2)
    assert part.latest is mentions[-1]


def test_a_time_has_its_beginning_and_not_its_end() -> None:
    for at, is_present, is_previous in (
        ("2026-02-19T23:59:59Z", False, False),
        ("2026-02-20T00:00:00Z", False, True),
        ("2026-02-21T00:00:00Z", True, False),
        ("2026-02-22T00:00:00Z", False, False),
    ):
        one = mention(at, 0.1)
        assert (TIMES.is_present(one), TIMES.is_previous(one)) == (is_present, is_previous)


def test_publishers_and_sources_are_listed_by_their_mentions() -> None:
    parts = [Part(f"p{number:03}", Tally(number)) for number in range(MAX_LISTED + 5)]
    assert len(largest(parts)) == MAX_LISTED
    assert [part.key for part in largest(parts[:3])] == ["p002", "p001", "p000"]


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([-1.0, -0.4, 0.0, 0.25, 1.0]), st.sampled_from("abc")), min_size=1
    )
)
def test_the_effects_of_all_stories_and_of_all_publishers_add_up(drawn: list[tuple[bool, float, str]]) -> None:
    mentions = [mention(NOW if now else THEN, each, event_id=name, publisher_id=name) for now, each, name in drawn]
    found = movement_of(mentions, TIMES)
    if found.whole.difference is not None:
        for parts in (found.stories, found.publishers):
            total = sum(part.moved for part in parts) / found.whole.present.total
            assert total == pytest.approx(found.whole.difference, abs=1e-4)


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


AT = datetime(2026, 2, 21, 20, 0, tzinfo=UTC)


def test_without_a_cursor_evidence_is_of_the_entrys_window() -> None:
    entry = cache_entry()
    assert window_of(entry, None) == (entry.window, None)


def test_a_cursor_of_the_evidence_keeps_the_window_of_the_first_page() -> None:
    end = AT - timedelta(hours=3)
    cursor = f"{int(end.timestamp())}-AbC_=-9"
    assert window_of(cache_entry(), cursor) == (Window.ending("HOUR_24", end), "AbC_=-9")


@pytest.mark.parametrize("cursor", ["", "x", "-a", "12-", "12", "12345678901-a", "12-a b", "12-a/b"])
def test_another_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor: must be the `next`"):
        window_of(cache_entry(), cursor)
