"""What a headline names of the few things that signals tell apart: an outage, a security flaw, a price, an acquisition.

Pure. A topic is a word, or words that follow each other, of a list. The lists are English; a headline in another
language has a topic if it uses the same words, such as CVE. Only headlines are looked at: a text names much in passing.
Words that markets use too ("down", "to buy") are no topic by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import get_args

from models.story import Topic
from services.parse.words import words_of

TOPICS: tuple[Topic, ...] = get_args(Topic)


def _spaced(words: Sequence[str]) -> str:
    """The words with a space on each side: a text of whole words is found in another one."""
    return f" {' '.join(words)} "


_WORDS: dict[Topic, str] = {
    "OUTAGE": """
        outage, outages, downtime, service disruption, service disruptions, knocked offline, goes offline, went offline,
        back online, restores service, service restored
    """,
    "SECURITY": """
        cve, vulnerability, vulnerabilities, zero day, zero days, exploit, exploited, actively exploited, data breach,
        data breaches, security breach, hacked, backdoor, malware, ransomware, supply chain attack, security flaw,
        security flaws, security hole, security patch, critical flaw, critical flaws, remote code execution
    """,
    "PRICING": """
        price hike, price hikes, price increase, price increases, price cut, price cuts, raises prices, raise prices,
        raised prices, cuts prices, cut prices, new prices, new pricing, pricing change, pricing changes, pricing model,
        free tier, free plan, paid plan, paid plans, subscription price, subscription prices, license fee, license fees
    """,
    "ACQUISITION": """
        acquire, acquires, acquired, acquisition, acquisitions, acquiring, takeover, buyout, merger, agrees to buy,
        in talks to buy, plans to buy, to buy rival, buys rival, merges with, to merge with
    """,
}
_PHRASES: dict[Topic, tuple[str, ...]] = {
    topic: tuple(_spaced(phrase.split()) for phrase in text.split(",")) for topic, text in _WORDS.items()
}


def topics_of(headline: str) -> tuple[Topic, ...]:
    """The topics of a headline, in the order of TOPICS."""
    text = _spaced(words_of(headline))
    return tuple(topic for topic in TOPICS if any(phrase in text for phrase in _PHRASES[topic]))


def topics_of_story(of_articles: Sequence[Collection[str]]) -> tuple[Topic, ...]:
    """The topics of at least half of the articles."""
    counts = {topic: sum(topic in each for each in of_articles) for topic in TOPICS}
    return tuple(topic for topic, count in counts.items() if count and 2 * count >= len(of_articles))
