"""However articles arrive, are edited, deleted and corrected: their stories are those of grouping the final articles
once, from scratch."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.article import source_id
from services.stories.grouping import MOST_UNDER_KEY, WITHOUT, Change, Constraints, Known
from services.stories.signature import signature_of
from tests.unit.stories.grouped import Memory, grouped

START = datetime(2026, 3, 2, tzinfo=UTC)
NAMES = [source_id(f"{number:032x}") for number in range(12)]
WORDS = ["Acme", "Foobar", "Quux", "recalls", "printers", "overheating", "battery", "lawsuit", "Berlin", "merger"]
KINDS = ["apart_from", "together_with", "different_from", "same_as"]

HEADLINES = st.lists(st.sampled_from(WORDS), min_size=3, max_size=6, unique=True).map(" ".join)
HOURS = st.integers(0, 200)


@dataclass(frozen=True)
class Step:
    """What happens to one article: a headline and time (new, or an edit), a deletion, or a constraint with another."""

    name: str
    headline: str = ""
    hour: int = 0
    kind: str = ""
    other: str = ""


PUT = st.builds(Step, st.sampled_from(NAMES), HEADLINES, HOURS)
DELETE = st.builds(Step, st.sampled_from(NAMES))
CORRECT = st.builds(Step, st.sampled_from(NAMES), kind=st.sampled_from(KINDS), other=st.sampled_from(NAMES))
STEPS = st.lists(st.one_of(PUT, PUT, PUT, DELETE, CORRECT), max_size=40)


def apply(step: Step, known: Mapping[str, Known]) -> list[Known | str]:
    """The articles after the step; the name of one that is deleted."""
    if step.headline:
        published = START + timedelta(hours=step.hour)
        before = known.get(step.name)
        signature = signature_of(step.headline, "", published, "en")
        constraints = before.constraints if before else WITHOUT
        decision = before.decision if before else None
        return [Known(step.name, published, signature, constraints, decision)]
    if not step.kind:
        gone = known.get(step.name)
        if gone is None:
            return []
        return [step.name, *(without(known[each], step.name) for each in gone.constraints.partners if each in known)]
    if step.name == step.other or step.name not in known or step.other not in known:
        return []
    return [with_or_without(known[a], step.kind, b) for a, b in ((step.name, step.other), (step.other, step.name))]


def with_or_without(article: Known, kind: str, other: str) -> Known:
    """A second correction of the same kind undoes the first."""
    said = dict(getattr(article.constraints, kind))
    if said.pop(other, None) is None:
        said[other] = f"{kind}:{min(article.source_id, other)}:{max(article.source_id, other)}"
    return replace(article, constraints=replace(article.constraints, **{kind: said}))


def without(article: Known, other: str) -> Known:
    kept = {kind: {k: v for k, v in getattr(article.constraints, kind).items() if k != other} for kind in KINDS}
    return replace(article, constraints=Constraints(**kept))


async def play(steps: list[Step], batches: list[int], limit: int | None, twice: bool) -> Memory:
    """Applies the steps; after each batch of them, what changed is replayed."""
    memory = Memory()
    known: dict[str, Known] = {}
    waiting: dict[str, Known | None] = {}
    for number, step in enumerate(steps):
        for after in apply(step, known):
            name = after if isinstance(after, str) else after.source_id
            waiting.setdefault(name, memory.stored.get(name))
            if isinstance(after, str):
                known.pop(name)
            else:
                known[name] = after
        if number % 5 in batches or number == len(steps) - 1:
            changes = [Change(before, known.get(name)) for name, before in waiting.items() if before or name in known]
            await memory.put(changes, limit)
            if twice:
                again = [
                    Change(memory.stored[each.source_id], memory.stored[each.source_id])
                    for each in changes
                    if each.after
                ]
                assert await memory.put(again) == []
            waiting, known = {}, dict(memory.stored)
    return memory


@settings(max_examples=300, deadline=None)
@given(STEPS, st.lists(st.integers(0, 4)), st.sampled_from([None, 1, 3]), st.booleans())
def test_a_history_of_articles_leads_to_the_stories_of_its_final_articles(
    steps: list[Step], batches: list[int], limit: int | None, twice: bool
) -> None:
    memory = asyncio.run(play(steps, batches, limit, twice))
    final = asyncio.run(grouped(list(memory.stored.values())))
    assert memory.decisions() == final.decisions()


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), st.tuples(HEADLINES, HOURS)), st.randoms())
def test_stories_do_not_depend_on_the_order_of_arrival(articles: dict[str, tuple[str, int]], random) -> None:  # type: ignore[no-untyped-def]
    steps = [Step(name, headline, hour) for name, (headline, hour) in articles.items()]
    random.shuffle(steps)
    one_by_one = asyncio.run(play(steps, [0, 1, 2, 3, 4], None, False))
    final = asyncio.run(grouped(list(one_by_one.stored.values())))
    assert one_by_one.stories() == final.stories()


def busy(count: int, chance: random.Random) -> list[Known]:
    """So many articles about a handful of events within three days, all of which share a key."""
    articles = []
    for number in range(count):
        event = chance.sample(WORDS[1:], 3)
        published = START + timedelta(minutes=chance.randrange(3 * 24 * 60))
        headline = " ".join(["Acme", *event, *chance.sample(WORDS[1:], 2)])
        articles.append(Known(source_id(f"{number:032x}"), published, signature_of(headline, "", published, "en")))
    return articles


@pytest.mark.parametrize("seed", range(4))
def test_stories_do_not_depend_on_the_order_of_arrival_if_hundreds_of_articles_share_a_key(seed: int) -> None:
    """More articles than one sees under a key: arriving in portions, edited, deleted, and brought again."""
    chance = random.Random(seed)
    articles = busy(4 * MOST_UNDER_KEY, chance)
    known = {each.source_id: each for each in articles}
    waiting: list[tuple[str, Known | None]] = [(each.source_id, each) for each in articles]
    edited = chance.sample(articles, 40)
    for each, other in zip(edited, busy(40, chance), strict=True):
        waiting.append((each.source_id, replace(other, source_id=each.source_id)))
    waiting += [(each.source_id, None) for each in chance.sample(articles, 40)]
    waiting += [(each.source_id, each) for each in chance.sample(articles, 20)]
    chance.shuffle(waiting)
    memory = Memory()
    while waiting:
        portion = dict(waiting[: chance.randrange(1, 40)])
        waiting = waiting[len(portion) :]
        changes = []
        for name, after in portion.items():
            before = memory.stored.get(name)
            if before is not None or after is not None:
                decision = before.decision if before else None
                changes.append(Change(before, after and replace(after, decision=decision)))
        asyncio.run(memory.put(changes, chance.choice([None, 50])))
    assert known.keys() != memory.stored.keys()
    assert (
        max(Counter(key for each in memory.stored.values() for key in each.signature.keys).values())
        > 2 * MOST_UNDER_KEY
    )
    final = asyncio.run(grouped(list(memory.stored.values())))
    assert memory.decisions() == final.decisions()
