"""What a headline names, and what a story is about."""

from __future__ import annotations

import pytest

from services.stories.members import TOPICS, topics_of, topics_of_story


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
