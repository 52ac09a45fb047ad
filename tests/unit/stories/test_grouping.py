"""Which stories articles belong to, and what they repeat."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.quality.stories import Memory as GroupingMemory
from models.article import source_id
from models.story import event_id
from services.stories.candidates import MAX_COMPARED, MAX_UNDER_KEY, latest, nearest
from services.stories.grouping import Decision, Known, copies_before
from services.stories.pins import WITHOUT, Constraints
from services.stories.signature import signature_of
from services.stories.similarity import OPENING, WITHIN_MINUTES, compare

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
ALIKE = "Acme recalls printers over battery fires"
CHAIN = "Hexwharf Pebblegrid outage registry Quuxsoft lawsuit merger Zorkville recall Foobar battery Acme"
UNLIKE = ("Acme recalls printers over battery fires", "Foobar opens an office in Berlin")


def article(number: int, headline: str, hour: float = 0, constraints: Constraints = WITHOUT, **more: str) -> Known:
    published = START + timedelta(hours=hour)
    return Known(name(number), published, signature_of(headline, "", published, **more), constraints)


def name(number: int) -> str:
    return source_id(f"{number:032x}")


class Memory(GroupingMemory):
    def decision(self, number: int) -> Decision:
        decision = self.decided[name(number)].decision
        assert decision is not None
        return decision

    def stories(self) -> set[frozenset[str]]:
        found: dict[str, set[str]] = {}
        for each in self.decided.values():
            found.setdefault(each.decision.event_id if each.decision else "", set()).add(each.source_id)
        return {frozenset(each) for each in found.values()}


def grouped(*portions: Sequence[Known]) -> Memory:
    memory = Memory()
    for each in portions:
        memory.add(each)
    return memory


def test_an_article_like_an_earlier_one_joins_its_story() -> None:
    first = article(1, ALIKE)
    decision = grouped([article(2, "Acme recalls its printers over battery fires", 5), first]).decision(2)
    assert decision.event_id == event_id(name(1), first.published_at)
    assert decision.opening == name(1)
    assert decision.story_reason is not None
    assert decision.story_reason.with_article == name(1)


def test_an_article_that_is_found_later_joins_the_story_though_it_was_published_earlier() -> None:
    memory = grouped([article(1, ALIKE, 5)], [article(2, ALIKE, publisher="b.example")])
    assert memory.decision(2).event_id == memory.decision(1).event_id == event_id(name(1), START + timedelta(hours=5))
    assert (memory.decision(1).near_duplicate_of, memory.decision(2).near_duplicate_of) == (None, None)
    late = memory.decided[name(2)]
    assert copies_before(late, memory.decided.values()) == [name(1)], "the first one repeats the late one"
    memory.add([memory.decided[name(1)]])
    assert memory.decision(1).near_duplicate_of == name(2)
    assert copies_before(late, memory.decided.values()) == []


def test_an_article_after_the_silence_begins_a_story() -> None:
    for hours, stories in ((72, 1), (72.1, 2)):
        assert len(grouped([article(1, ALIKE), article(2, ALIKE, hours)]).stories()) == stories


@pytest.mark.parametrize(("kinds", "stories"), [(["together_with"], 1), (["together_with", "apart_from"], 2)])
def test_what_people_said_comes_first_and_apart_wins(kinds: list[str], stories: int) -> None:
    said = [Constraints(**{kind: {name(3 - each): "c1"} for kind in kinds}) for each in (1, 2)]
    both = [article(each, UNLIKE[each - 1], each, said[each - 1]) for each in (1, 2)]
    assert len(grouped(both).stories()) == stories
    assert len(grouped(*([each] for each in both)).stories()) == stories


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_articles_that_must_be_apart_leave_their_common_story_in_any_order(order: tuple[int, int]) -> None:
    together = grouped([article(1, ALIKE), article(2, ALIKE, 1, publisher="b.example")])
    assert len(together.stories()) == 1
    for number in order:
        before = together.decided[name(number)]
        together.add([replace(before, constraints=Constraints(apart_from={name(3 - number): "c1"}))])
    assert len(together.stories()) == 2
    assert together.decision(1).event_id == event_id(name(1), START), "the story stays with the article that began it"


def test_articles_that_a_person_split_are_no_near_duplicates() -> None:
    said = [Constraints(different_from={name(3 - each): "c1"}) for each in (1, 2)]
    memory = grouped([article(each, ALIKE, each, said[each - 1], publisher=f"{each}.example") for each in (1, 2)])
    assert memory.decision(2).near_duplicate_of is None


def test_nobody_joins_a_story_whose_opening_article_has_left_it() -> None:
    memory = grouped([article(1, ALIKE), article(2, "Acme recalls its printers over battery fires", 1)])
    memory.add([article(1, UNLIKE[1])])
    memory.add([article(3, "Acme recalls all printers over battery fires", 2)])
    assert memory.decision(3).event_id != memory.decision(2).event_id
    memory.add([replace(memory.decided[name(2)])])
    assert memory.decision(2).event_id == memory.decision(3).event_id


def test_a_chain_of_articles_each_like_the_one_before_leads_no_story_away() -> None:
    """Each headline shares five of six words with the next one; the last has no word of the first."""
    words = CHAIN.split()
    chain = [article(number, " ".join(words[number : number + 6]), number) for number in range(7)]
    memory = grouped(chain)
    first = memory.decided[name(0)]
    together = next(each for each in memory.stories() if name(0) in each)
    assert name(1) in together
    assert name(6) not in together
    for each in together - {name(0)}:
        assert compare(first.signature, memory.decided[each].signature).score >= OPENING


def test_an_article_is_compared_with_a_bounded_number_of_others_that_share_most_keys() -> None:
    asked = article(1, ALIKE)
    one, other = asked.signature.keys[:2]
    minute = asked.signature.minute
    under = {one: {f"n{at}": minute - at for at in range(90)}, other: {f"n{at}": minute - at for at in range(80, 90)}}
    found = nearest(asked, under)
    assert found[:10] == [f"n{at}" for at in range(80, 90)], "those with two keys in common first"
    assert found[10:] == [f"n{at}" for at in range(MAX_COMPARED - 10)], "then the nearest in time"
    assert nearest(asked, {one: {name(1): minute, "n": minute + WITHIN_MINUTES + 1}}) == []


def test_a_key_names_the_latest_articles() -> None:
    found = latest({f"n{at:03d}": at for at in range(MAX_UNDER_KEY + 5)})
    assert (len(found), min(found)) == (MAX_UNDER_KEY, "n005")
    assert (MAX_UNDER_KEY, MAX_COMPARED) == (100, 20)


@pytest.mark.parametrize("seed", range(4))
def test_articles_of_one_portion_are_grouped_alike_in_any_order(seed: int) -> None:
    chance = random.Random(seed)
    words = ["recalls", "printers", "overheating", "battery", "lawsuit", "Berlin", "merger", "Foobar", "Quux"]
    due = [article(n, " ".join(["Acme", *chance.sample(words, 4)]), chance.randrange(72)) for n in range(60)]
    expected = grouped(due).decided
    chance.shuffle(due)
    assert grouped(due).decided == expected
    again = grouped(due)
    again.add(due)
    assert again.decided == expected, "grouping again changes nothing"
