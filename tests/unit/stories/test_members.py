"""What is stored of a grouped article, what its headline names, and the story that members make."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from models.article import Article
from models.resources.stories import StoryMemberResource
from models.story import StoryMember, event_id
from services.stories.grouping import Decision, Known
from services.stories.members import TOPICS, known, member_of, signed, story_of, topics_of, topics_of_story
from tests.documents import NOW, article, reading

EVENT = event_id(article().source_id, NOW)


def of(stored: Article, published: datetime = NOW, **changes: Any) -> Known:
    decision = Decision(EVENT, stored.source_id, near_duplicate_of="dedup:x")
    return Known(stored.source_id, published, signed(stored), **{"decision": decision, **changes})


def test_a_member_is_read_as_it_was_written() -> None:
    stored = article(canonical=reading(headline="Hexwharf outage stops deployments"))
    grouped = of(stored)
    document = member_of(stored, grouped, None, NOW)
    assert known(document) == grouped
    member = StoryMember.from_document(document)
    assert (member.detected_tool_ids, member.article_sources) == (stored.detected_tool_ids, stored.sources)
    assert member.ttl_timestamp == stored.ttl_timestamp
    assert len(str(document)) < 3_000


def test_a_member_names_the_first_sources_of_a_popular_article() -> None:
    popular = article().model_copy(update={"sources": tuple(f"source-{number}" for number in range(21))})
    member = StoryMember.from_document(member_of(popular, of(popular), None, NOW))
    assert member.article_sources == StoryMemberResource.of(member, popular, None).sources == popular.sources[:20]


def member(number: int, **changes: Any) -> StoryMember:
    stored = article(dedup_key=f"{number:032x}", detected_tool_ids=())
    grouped = member_of(stored, of(stored, NOW + timedelta(minutes=number)), None, NOW)
    return StoryMember.from_document({**grouped, **changes})


def test_a_story_is_counted_from_its_members() -> None:
    members = [
        member(2, publisher_id="b", detected_tool_ids=["t2", "t1"], near_duplicate_of=None),
        member(1, publisher_id="a", detected_tool_ids=["t1"], language="en", near_duplicate_of=None),
        member(3, publisher_id="a", ttl_timestamp=5),
    ]
    story = story_of(EVENT, members, "A headline", None, NOW)
    assert (story.article_count, story.near_duplicate_count, story.publisher_count) == (3, 1, 2)
    assert (story.publisher_ids, story.tool_ids) == (("a", "b"), ("t1", "t2"))
    assert (story.published_at, story.timestamp) == (NOW + timedelta(minutes=1), NOW + timedelta(minutes=3))
    assert (story.ttl_timestamp, story.language, story.headline) == (5, "en", "A headline")


def test_the_first_source_stands_for_an_unknown_publisher() -> None:
    members = [member(n, publisher_id=None, article_sources=[source, "z"]) for n, source in enumerate("aab")]
    story = story_of(EVENT, members, "A headline", None, NOW)
    assert (story.publisher_ids, story.publisher_count) == (("source:a", "source:b"), 2)


@pytest.mark.parametrize(
    ("headline", "topics"),
    [
        ("Hexwharf suffers 41-minute outage after a faulty rollout", ("OUTAGE",)),
        ("Nimbry restores service after an hour of errors", ("OUTAGE",)),
        ("Critical flaw in Quorvia 4.2 lets attackers read other tenants' data", ("SECURITY",)),
        ("CVE-2026-1234: patch Quorvia now", ("SECURITY",)),
        ("Zero-day in Velquist under attack", ("SECURITY",)),
        ("Quorvia raises prices by 20%", ("PRICING",)),
        ("Moorlight ends its free tier", ("PRICING",)),
        ("A price hike at Moorlight", ("PRICING",)),
        ("Ashmere would acquire Tarnwick", ("ACQUISITION",)),
        ("Who counts outage-free days?", ("OUTAGE",)),
        ("Ashmere agrees to buy Tarnwick for $2 billion", ("ACQUISITION",)),
        ("Outage at Nimbry after takeover by Ashmere", ("OUTAGE", "ACQUISITION")),
        ("Five stocks to buy while the market is down 3%", ()),
        ("Shares went down before the earnings call", ()),
        ("Prices of memory rise again", ()),
        ("Quorvia outages were rare, its breaches rarer", ("OUTAGE",)),
        ("", ()),
        ("停電", ()),
    ],
)
def test_the_topics_of_a_headline_are_words_of_the_lists(headline: str, topics: tuple[str, ...]) -> None:
    assert topics_of(headline) == topics


def test_a_story_has_the_topics_of_at_least_half_of_its_articles() -> None:
    assert topics_of_story([("OUTAGE",), ()]) == ("OUTAGE",)
    assert topics_of_story([("OUTAGE",), (), ("SECURITY", "PRICING")]) == ()
    assert topics_of_story([("SECURITY", "OUTAGE"), ("SECURITY",), ("OUTAGE",)]) == ("OUTAGE", "SECURITY")
    assert topics_of_story([]) == ()
    assert TOPICS == ("OUTAGE", "SECURITY", "PRICING", "ACQUISITION")
