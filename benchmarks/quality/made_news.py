"""Made news, for quality and cost: events, independent articles about each, and copies of these. The same seed gives
the same news.

Names, places and words follow Zipf's law, and few events have many articles, as in real news. made_news.txt has the
words.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

START = datetime(2026, 3, 2, tzinfo=UTC)


def _sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            section.append(line)
    return found


def _phrases(section: str) -> list[str]:
    return [phrase for line in _SECTIONS[section] for phrase in line.split("|")]


def _words(section: str) -> list[str]:
    return " ".join(_SECTIONS[section]).split()


def _named(middles: Sequence[str], ends: Sequence[str]) -> list[str]:
    return [f"{a}{b}{c}".title() for a in _words("heads") for b in middles for c in ends]


def _zipf(words: Sequence[str]) -> list[float]:
    return list(accumulate(1 / (rank + 3) ** 0.9 for rank in range(len(words))))


_SECTIONS = _sections()
NAMES = _named(_words("middles"), _words("ends"))
PLACES = _named(_words("middles")[:9], _words("towns"))
PAPERS = [f"{word}.example" for word in _words("papers")]
VERBS = dict(line.split("|") for line in _SECTIONS["verbs"])
THINGS, CAUSES, WHO, SAID, WHAT, WHEN, ADDED = map(
    _phrases, ("things", "causes", "who", "said", "what", "when", "added")
)
HEADLINES, OPENINGS, WALLS = _SECTIONS["headlines"], _SECTIONS["openings"], _SECTIONS["walls"]
_BY_NAME, _BY_PLACE = _zipf(NAMES), _zipf(PLACES)


@dataclass(frozen=True, slots=True)
class Event:
    number: int
    name: str
    other: str
    verb: str
    thing: str
    place: str
    cause: str
    amount: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Made:
    """One article. Articles of one `work` are the same article. `change` says what its publisher changed."""

    headline: str
    text: str
    publisher: str
    at: datetime
    event: int = 0
    work: int = 0
    change: str = "original"


class Newsroom:
    """Makes news from one seed. `now`: the time of the present event."""

    def __init__(self, seed: int, start: datetime = START) -> None:
        self._random = random.Random(seed)
        self.now = start
        self._works = 0
        self._events = 0

    def news(self, per_day: int) -> Iterator[Made]:
        """Articles without end, event by event, so many each day. A quarter of them are copies."""
        while True:
            size = min(60, int(self._random.paretovariate(1.3)))
            event = self.event()
            self.now += timedelta(days=1.35 * size / per_day)
            for number in range(size):
                hours = min(30.0, self._random.expovariate(0.2)) if number else 0.0
                article = self.article(event, timedelta(hours=hours))
                yield article
                if self._random.random() < 0.35:
                    yield self.copy(article)

    def event(self) -> Event:
        chance = self._random
        self._events += 1
        name, other = chance.choices(NAMES, cum_weights=_BY_NAME, k=2)
        place, cause, thing = self._place(), chance.choice(CAUSES), chance.choice(THINGS)
        verb, amount = chance.choice(list(VERBS)), chance.randint(2, 98)
        return Event(self._events, name, other, verb, thing, place, cause, amount, self.now)

    def article(self, event: Event, later: timedelta = timedelta(), forms: Sequence[str] = HEADLINES) -> Made:
        """Another article about the event, written independently. `forms`: of its headline."""
        self._works += 1
        verb = event.verb if self._random.random() < 0.6 else VERBS[event.verb]
        headline = self._random.choice(forms).format(e=event, verb=verb)
        headline = headline[0].upper() + headline[1:]
        return Made(headline, self.text(event), self.publisher(), event.at + later, event.number, self._works)

    def copy(self, article: Made, change: str | None = None) -> Made:
        """The article at another publisher."""
        change = change or self._random.choice(list(CHANGES))
        later = article.at + timedelta(minutes=self._random.randrange(5, 600))
        copied = replace(article, publisher=self.publisher(besides=article.publisher), at=later, change=change)
        headline, text = CHANGES[change](copied, self)
        return replace(copied, headline=headline, text=text)

    def text(self, event: Event) -> str:
        when = self._random.choice(WHEN).format(place=self._place())
        opening = self._random.choice(OPENINGS).format(e=event, verb=VERBS[event.verb], when=when)
        return " ".join([opening, *(self.sentence(event if self._random.random() < 0.5 else None) for _ in range(4))])

    def sentence(self, event: Event | None = None) -> str:
        """What somebody said, about the event or about anything."""
        chance = self._random
        first = chance.choice(ADDED) + " " if chance.random() < 0.4 else ""
        when = " " + chance.choice(WHEN) if chance.random() < 0.6 else ""
        words = f"{first}{chance.choice(WHO)} {chance.choice(SAID)}{when} that {chance.choice(WHAT)}"
        if chance.random() < 0.5:
            words += f", and that {chance.choice(WHAT)}"
        name = event.other if event else chance.choices(NAMES, cum_weights=_BY_NAME)[0]
        place = event.place if event else self._place()
        words = words.format(n=chance.randint(2, 98), name=name, place=place)
        return words[0].upper() + words[1:] + "."

    def publisher(self, besides: str = "") -> str:
        while True:
            town = self._random.choice(PLACES[:150]).lower()
            publisher = f"{town}-{self._random.choice(PAPERS)}"
            if publisher != besides:
                return publisher

    def reworded(self, headline: str) -> str:
        """Another headline of the same words, or nearly."""
        words = [VERBS.get(word, word) for word in headline.split()]
        at = self._random.randrange(1, len(words))
        return " ".join([*words[at:], "after", *words[:at]]) if self._random.random() < 0.3 else " ".join(words)

    def _place(self) -> str:
        return self._random.choices(PLACES, cum_weights=_BY_PLACE)[0]


def _inserted(text: str, sentence: str) -> str:
    first, _, rest = text.partition(". ")
    return f"{first}. {sentence} {rest}"


CHANGES: dict[str, Callable[[Made, Newsroom], tuple[str, str]]] = {
    "same": lambda made, room: (made.headline, made.text),
    "publisher suffix": lambda made, room: (f"{made.headline} - {made.publisher.split('.')[0].title()}", made.text),
    "UPDATE prefix": lambda made, room: (f"UPDATE 2-{made.headline}", _inserted(made.text, room.sentence())),
    "cut headline": lambda made, room: (" ".join(made.headline.split()[:6]) + " ...", made.text),
    "cut text": lambda made, room: (made.headline, made.text[:180] + "…"),
    "other headline": lambda made, room: (room.reworded(made.headline), made.text),
    "agency line": lambda made, room: (made.headline, f"{made.publisher[:6].upper()} (Reuters) - {made.text}"),
    "no text": lambda made, room: (made.headline, ""),
    "wall before text": lambda made, room: (made.headline, f"{WALLS[0]} {made.text}"),
    "wall instead of text": lambda made, room: (f"{made.headline} (video)", WALLS[1]),
    "menu before text": lambda made, room: (made.headline, f"{WALLS[2]} {made.text}"),
    "note of the editors": lambda made, room: (made.headline, f"This article first appeared elsewhere. {made.text}"),
}
