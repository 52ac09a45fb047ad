"""How well near-duplicates are recognised: precision, recall and F1 of pairs, beside a simple rule on the same pairs.

The pairs are made from near_duplicates.txt (written for this project), from made news, and from headlines whose links
say that they are the same article. Every second topic and every second seed is held out: rules are tuned on the others.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.quality.made_news import CHANGES, HEADLINES, START, WALLS, Event, Made, Newsroom
from benchmarks.quality.names import Rates
from benchmarks.quality.real_headlines import pair_hash, real_pairs
from services.parse.text import words_of
from services.stories.signature import Signature, signature_of
from services.stories.similarity import compare

SLUG_PAIRS = "headline_groups_slug_pairs.tsv"
CONTAINMENT, TOKEN_SET = 0.54, 46
"""The simple rule: so much of the shorter lead's three-word sequences is in the other lead, and the headlines are so
much alike."""
HEADLINES_ALONE = 85
"""The token-set ratio asked of headlines without leads."""
LEAD_WORDS = 100
EVENTS = 150


@dataclass(frozen=True, slots=True)
class Pair:
    one: Made
    other: Made
    is_same: bool
    kind: str
    is_held_out: bool


def signed(made: Made) -> Signature:
    return signature_of(made.headline, made.text, made.at, made.publisher)


def similar(one: Made, other: Made) -> bool:
    return compare(signed(one), signed(other)).is_copy


def simple_rule(one: Made, other: Made) -> bool:
    return containment(one.text, other.text) >= CONTAINMENT and token_set(one.headline, other.headline) >= TOKEN_SET


def containment(one: str, other: str) -> float:
    """Of the three-word sequences of the shorter lead, the share that the other has."""
    first, second = ({*zip(*(words[at:] for at in range(3)), strict=False)} for words in map(_lead, (one, other)))
    return len(first & second) / max(1, min(len(first), len(second)))


def _lead(text: str) -> list[str]:
    return words_of(text)[:LEAD_WORDS]


def token_set(one: str, other: str) -> float:
    """The token-set ratio of two headlines, 0 to 100: the likeness of their sorted words, with and without those that
    are not in both."""
    first, second = set(words_of(one)), set(words_of(other))
    both = " ".join(sorted(first & second))
    whole = [" ".join([both, *sorted(words - (first & second))]).strip() for words in (first, second)]
    if both and both in whole:
        return 100.0
    return max(_ratio(*whole), _ratio(both, whole[0]), _ratio(both, whole[1]))


def _ratio(one: str, other: str) -> float:
    """Twice the length of the longest common subsequence, of the length of both."""
    if not one or not other:
        return 0.0
    before = [0] * (len(other) + 1)
    for letter in one:
        row = [0]
        for at, each in enumerate(other):
            row.append(before[at] + 1 if letter == each else max(before[at + 1], row[at]))
        before = row
    return 200 * before[-1] / (len(one) + len(other))


def written_pairs() -> list[Pair]:
    topics: dict[str, dict[str, Made]] = {}
    for block in Path(__file__).with_suffix(".txt").read_text("utf-8").split("\n== ")[1:]:
        head, headline, text = block.strip().split("\n")
        topic, kind = head.split(" ", 1)
        number = len(topics.setdefault(topic, {}))
        at = START + timedelta(hours=23, minutes=40) + number * timedelta(hours=2)  # both sides of midnight
        topics[topic][kind] = Made(headline, text, f"paper{number}.example", at)
    found: list[Pair] = []
    for number, (topic, articles) in enumerate(topics.items()):
        first, edited, own, (name, alike) = (
            articles["first"],
            articles["edited"],
            articles["own"],
            next((kind, each) for kind, each in articles.items() if kind.startswith("alike")),
        )
        kind, held_out = name.partition("/")[2], number % 2 == 1
        same_publisher = replace(alike, publisher=first.publisher, at=first.at + timedelta(hours=24))
        room = Newsroom(number)
        found += [
            Pair(first, edited, True, "edited by another publisher", held_out),
            Pair(first, own, False, "independent, one event", held_out),
            Pair(edited, own, False, "independent, one event", held_out),
            Pair(first, alike, False, kind, held_out),
            Pair(edited, alike, False, kind, held_out),
            Pair(first, same_publisher, False, f"{kind}, one publisher", held_out),
            *(Pair(first, room.copy(first, change), True, change, held_out) for change in CHANGES),
            *(Pair(edited, room.copy(first, change), True, f"edited; {change}", held_out) for change in CHANGES),
        ]
        assert topic
    return found


def made_pairs(seed: int) -> Iterator[Pair]:
    """Copies, independent articles about one event, and articles that look like copies."""
    room, chance, held_out = Newsroom(seed), random.Random(seed), seed % 2 == 1
    for number in range(EVENTS):
        event = room.event()
        one, other = _independent(room, event, chance)
        change = list(CHANGES)[number % len(CHANGES)]
        yield Pair(one, room.copy(one, change), True, change, held_out)
        yield Pair(one, other, False, "independent, one event", held_out)
        kind, alike = list(ALIKE.items())[number % len(ALIKE)]
        first, second = alike(room, event, chance)
        yield Pair(first, second, False, kind, held_out)


def _independent(room: Newsroom, event: Event, chance: random.Random) -> tuple[Made, Made]:
    forms = chance.sample(HEADLINES, 2)
    return room.article(event, forms=forms[:1]), room.article(event, timedelta(hours=3), forms[1:])


Alike = Callable[[Newsroom, Event, random.Random], tuple[Made, Made]]


def _template(change: Callable[[Event, Event], Event]) -> Alike:
    """The same words about another event, by another publisher."""

    def made(room: Newsroom, event: Event, chance: random.Random) -> tuple[Made, Made]:
        other = change(event, room.event())
        state = chance.randrange(10**6)
        forms = [each for each in HEADLINES if "{e.name}" in each and "{e.place}" in each]
        pair = [Newsroom(state).article(each, forms=forms) for each in (event, other)]
        return pair[0], replace(pair[1], publisher=room.publisher(besides=pair[0].publisher), at=other.at)

    return made


def _series(headline: str, numbers: tuple[str, str], hours: float, *, own: bool = False) -> Alike:
    def made(room: Newsroom, event: Event, chance: random.Random) -> tuple[Made, Made]:
        text = room.text(event)
        named = [headline.format(e=event, n=number) for number in numbers]
        publisher = room.publisher()
        other = publisher if own else room.publisher(besides=publisher)
        one = Made(named[0], text, publisher, event.at)
        return one, Made(named[1], text, other, event.at + timedelta(hours=hours))

    return made


def _behind_a_wall(wall: str) -> Alike:
    def made(room: Newsroom, event: Event, chance: random.Random) -> tuple[Made, Made]:
        one, other = room.article(event), room.article(room.event())
        return replace(one, text=wall), replace(other, text=wall)

    return made


def _quoting(room: Newsroom, event: Event, chance: random.Random) -> tuple[Made, Made]:
    """Independent articles with one sentence of an agency."""
    one, other = _independent(room, event, chance)
    sentence = room.sentence(event)
    return replace(one, text=f"{one.text} {sentence}"), replace(other, text=f"{sentence} {other.text}")


ALIKE: dict[str, Alike] = {
    "template, another company": _template(lambda event, other: replace(event, name=other.name, other=other.other)),
    "template, another place": _template(lambda event, other: replace(event, place=other.place, other=other.other)),
    "version": _series("{e.name} {n} adds a {e.thing}", ("1.2", "1.3"), 20),
    "quarter": _series("{e.name} {n} profit beats estimates on {e.thing}", ("Q1", "Q2"), 20),
    "part of a series": _series("How {e.name} got its {e.thing}, part {n}", ("1", "2"), 24, own=True),
    "daily post": _series("{e.place} briefing for {n}: what you need to know", ("Monday", "Tuesday"), 24, own=True),
    "market report": _series("{e.place} stocks close higher on {n}", ("Monday", "Tuesday"), 24),
    "the same weekly headline": _series("Weekly {e.place} roundup", ("", ""), 70, own=True),
    "paywall text": _behind_a_wall(WALLS[0]),
    "consent text": _behind_a_wall(WALLS[1]),
    "menu text": _behind_a_wall(WALLS[2]),
    "one quotation": _quoting,
}


def slug_pairs(data: Path) -> list[Pair]:
    found = []
    for line in (data / SLUG_PAIRS).read_text("utf-8").splitlines():
        _, *sides = line.split("\t")
        one, other = (
            Made(headline, "", host, datetime.fromisoformat(time)) for time, host, headline in (sides[:3], sides[3:])
        )
        found.append(Pair(one, other, True, "headlines of equal links", False))
    return found


def _once(pairs: Sequence[Pair]) -> list[Pair]:
    """One of the pairs with the same two headlines."""
    return list({pair_hash(each.one.headline.lower(), each.other.headline.lower()): each for each in pairs}.values())


def measure(pairs: Sequence[Pair], judge: Callable[[Made, Made], bool]) -> tuple[Rates, list[Pair], list[Pair]]:
    """The rates, the pairs that were put together wrongly, and those that were missed."""
    judged = [(each, judge(each.one, each.other)) for each in pairs]
    wrong = [each for each, found in judged if found and not each.is_same]
    missed = [each for each, found in judged if not found and each.is_same]
    return Rates(sum(found and each.is_same for each, found in judged), len(wrong), len(missed)), wrong, missed


def headlines_of(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs without texts; of those that differ in their texts only, none."""
    told = [each for each in pairs if not each.kind.startswith("edited;") and "text" not in each.kind]
    return [replace(each, one=replace(each.one, text=""), other=replace(each.other, text="")) for each in told]


def show(data: Path, *, verbose: bool) -> None:
    print("Near-duplicates: pairs, and how they are judged by the similarity | by the simple rule")
    print(f"{'':44}{'same':>5}{'other':>6} {'precision':>9}{'recall':>8}{'F1':>8}{'wrong':>7} |")
    sets: dict[str, list[Pair]] = {"written": written_pairs(), "made": [*made_pairs(2), *made_pairs(3)]}
    wrong, missed = Counter[str](), Counter[str]()
    for name, pairs in sets.items():
        for held_out in (False, True):
            some = [each for each in pairs if each.is_held_out == held_out]
            half = "held out" if held_out else "tuned on"
            for title, shown, simple in (
                (f"{name}, with leads, {half}", some, simple_rule),
                (f"{name}, headlines alone, {half}", headlines_of(some), _headlines_alone),
            ):
                false, lost = _show_one(title, shown, simple, verbose=verbose)
                wrong.update(each.kind for each in false)
                missed.update(each.kind for each in lost)
    if (data / SLUG_PAIRS).exists():
        real = [Pair(one, other, same, "real headlines", held) for one, other, same, held in real_pairs(data)]
        for held_out, half in ((False, "tuned on"), (True, "held out")):
            some = [each for each in real if each.is_held_out == held_out]
            _show_one(f"real headlines alone, {half}", some, _headlines_alone, verbose=verbose)
            _show_one(f"  each wording once, {half}", _once(some), _headlines_alone, verbose=verbose)
        _show_one("headlines of equal links", slug_pairs(data), _headlines_alone, verbose=verbose)
    print("false merges by kind: " + (", ".join(f"{kind} {n}" for kind, n in wrong.most_common()) or "none"))
    print("misses by kind: " + (", ".join(f"{kind} {n}" for kind, n in missed.most_common()) or "none"))


def _show_one(
    title: str, pairs: Sequence[Pair], simple: Callable[[Made, Made], bool], *, verbose: bool
) -> tuple[list[Pair], list[Pair]]:
    ours, false, lost = measure(pairs, similar)
    same = sum(each.is_same for each in pairs)
    print(f"{title:44}{same:5}{len(pairs) - same:6}{ours} |{measure(pairs, simple)[0]}")
    for label, some in (("wrong", false), ("missed", lost)) if verbose else ():
        for each in some:
            print(f"    {label}: {each.kind}: {each.one.headline} | {each.other.headline}")
    return false, lost


def _headlines_alone(one: Made, other: Made) -> bool:
    return token_set(one.headline, other.headline) >= HEADLINES_ALONE
