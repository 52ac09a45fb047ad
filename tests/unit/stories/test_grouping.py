"""Which stories articles belong to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from models.article import source_id
from models.story import event_id
from services.stories.grouping import (
    MOST_CANDIDATES,
    MOST_UNDER_KEY,
    SILENCE_MINUTES,
    WITHOUT,
    Constraints,
    Known,
    around,
)
from services.stories.signature import signature_of
from services.stories.similarity import OPENING, similarity
from tests.unit.stories.grouped import grouped

START = datetime(2026, 3, 2, 8, tzinfo=UTC)


def article(number: int, headline: str, hour: float = 0, constraints: Constraints = WITHOUT) -> Known:
    published = START + timedelta(hours=hour)
    return Known(name(number), published, signature_of(headline, "", published, "en"), constraints)


def name(number: int) -> str:
    return source_id(f"{number:032x}")


async def test_an_article_like_an_earlier_one_joins_its_story() -> None:
    first = article(1, "Acme recalls printers over battery fires")
    memory = await grouped([article(2, "Acme recalls its printers over battery fires", 5), first])
    decision = memory.stored[name(2)].decision
    assert decision is not None
    assert decision.event_id == event_id(name(1), first.published_at)
    assert decision.opening == name(1)
    assert decision.story_reason is not None
    assert decision.story_reason.with_article == name(1)


async def test_an_article_after_the_silence_begins_a_story() -> None:
    alike = "Acme recalls printers over battery fires"
    for hours, stories in ((72, 1), (72.1, 2)):
        memory = await grouped([article(1, alike), article(2, alike, hours)])
        assert len(memory.stories()) == stories


async def test_what_people_said_comes_first_and_apart_wins() -> None:
    unlike = ("Acme recalls printers over battery fires", "Foobar opens an office in Berlin")
    for kinds, stories in ((["together_with"], 1), (["together_with", "apart_from"], 2)):
        constraints = [Constraints(**{kind: {name(3 - each): "c1"} for kind in kinds}) for each in (1, 2)]
        both = [article(each, unlike[each - 1], each, constraints[each - 1]) for each in (1, 2)]
        assert len((await grouped(both)).stories()) == stories


async def test_a_chain_of_articles_each_like_the_one_before_leads_no_story_away() -> None:
    """Each headline shares five of six words with the next one; the last has no word of the first."""
    words = [
        "Hexwharf",
        "Pebblegrid",
        "outage",
        "registry",
        "Quuxsoft",
        "lawsuit",
        "merger",
        "Zorkville",
        "recall",
        "Foobar",
        "battery",
        "Acme",
    ]
    chain = [article(number, " ".join(words[number : number + 6]), number) for number in range(7)]
    memory = await grouped(chain)
    first = memory.stored[name(0)]
    together = next(each for each in memory.stories() if name(0) in each)
    assert name(1) in together
    assert name(6) not in together
    for each in together - {name(0)}:
        assert similarity(first.signature, memory.stored[each].signature) >= OPENING


async def test_an_article_sees_the_latest_under_a_key_and_is_compared_with_those_that_share_most() -> None:
    many = {f"k{key}": [(minute, f"dedup:{key}{minute:03d}") for minute in range(100)] for key in range(3)}
    earlier, later = around(many, (50, "dedup:x"))
    assert (len(earlier), len(later)) == (MOST_CANDIDATES, 3 * 49) == (64, 147)
    shared = [(minute, f"dedup:{minute:03d}") for minute in range(200)]
    earlier, later = around({"a": shared, "b": shared[:130]}, (150, ""))
    both = [each for _, each in reversed(shared[86:130])]
    assert MOST_UNDER_KEY == 64
    assert earlier[: len(both)] == both
    assert earlier[len(both)] == shared[149][1]
    assert later == [each for _, each in shared[150:]][:MOST_UNDER_KEY]
    assert around({"a": shared}, (SILENCE_MINUTES + 190, ""))[0][-1] == shared[190][1]
    assert around({"a": [(SILENCE_MINUTES, "a"), (SILENCE_MINUTES + 1, "b")]}, (0, "")) == ([], ["a"])
