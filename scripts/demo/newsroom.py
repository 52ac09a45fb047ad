"""The entries that the demo's outlets have published: a function of a seed, the time at which the demo was opened, and
the clock, so a restart changes nothing.

A month of news precedes the opening, and goes on after it at the same pace, but faster in the first half hour. One
outlet is the first to publish a story; others follow, with other endings to the headline. Every other story has their
own headlines: it becomes several articles. Some stories are edited afterwards.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from scripts.demo.cast import PRODUCTS, PUBLISHING, Outlet, Product
from scripts.demo.episodes import SCENES, Scene
from scripts.demo.plots import told

SEED = 20260221
SHOWN_FOR = timedelta(days=30)
"""How long an entry stays in its feed document."""
RETOLD = ("Report: {}", "{}: what we know so far", "{}, say early reports")
"""The headlines of outlets that tell a story in words of their own."""
WEEKDAY, WEEKEND = 22, 8
"""Usual stories in a day."""
SOON, SOON_EVERY = 20, timedelta(seconds=90)
"""Stories in the first half hour, so that a newcomer sees news arrive."""
_EDITED_AFTER = timedelta(minutes=4)
_A_DAY = timedelta(days=1)
_HOURS = (1, 1, 1, 1, 1, 2, 4, 7, 10, 12, 12, 11, 9, 10, 12, 12, 11, 9, 7, 5, 4, 3, 2, 1)
"""How often a story breaks in each UTC hour."""


@dataclass(frozen=True, slots=True)
class Story:
    """`reports` are the outlets that carry it, first the one where it broke, with the delay of each."""

    key: str
    at: datetime
    product: Product
    tag: str
    headline: str
    summary: str
    reports: tuple[tuple[str, timedelta], ...]
    is_retold: bool = False
    is_edited: bool = False

    @property
    def slug(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", self.headline.lower()).strip("-")
        return f"{words[:60].rstrip('-')}-{self.key}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A story as one outlet has it at some moment. `is_renewed`: the outlet has given its entries new ids and URLs."""

    story: Story
    outlet: Outlet
    published: datetime
    updated: datetime
    headline: str
    summary: str
    is_renewed: bool = False


class Newsroom:
    """`opened` is the time at which the demo first ran with this data. A feed has at most `most` entries."""

    def __init__(self, opened: datetime, seed: int = SEED, most: int | None = None) -> None:
        self.opened = opened
        self._seed = seed
        self._most = most
        self._begin = opened - SHOWN_FOR + timedelta(hours=1)
        self._of_day = functools.lru_cache(maxsize=128)(self._usual_of_day)
        self._extra = (*self._scenes(), *self._soon())

    def stories(self, since: datetime, until: datetime) -> list[Story]:
        """The stories that broke in this time, oldest first."""
        found = [each for each in self._extra if since <= each.at <= until]
        day = since.replace(hour=0, minute=0, second=0, microsecond=0)
        while day <= until:
            found += [each for each in self._of_day(day) if max(since, self._begin) <= each.at <= until]
            day += _A_DAY
        return sorted(found, key=lambda each: (each.at, each.key))

    def entries(self, outlet: Outlet, now: datetime) -> list[Entry]:
        """The entries of the outlet at that moment, newest first."""
        stories = self.stories(now - SHOWN_FOR, now)
        found = [entry for each in stories if (entry := _entry(each, outlet, now)) is not None]
        return sorted(found, key=lambda each: (each.published, each.story.key), reverse=True)[: self._most]

    def entry_of(self, outlet: Outlet, slug: str, now: datetime) -> Entry | None:
        """The outlet's entry with that slug at that moment, if there is one."""
        return next((each for each in self.entries(outlet, now) if each.story.slug == slug), None)

    def _usual_of_day(self, day: datetime) -> tuple[Story, ...]:
        chance = random.Random(f"{self._seed}:{day:%Y%m%d}")  # noqa: S311
        usual = WEEKEND if day.weekday() >= 5 else WEEKDAY
        count = usual + chance.randint(-3, 3)
        hours = chance.choices(range(24), _HOURS, k=count)
        times = [day + timedelta(hours=hour, seconds=chance.randint(0, 3599)) for hour in sorted(hours)]
        return tuple(self._usual(f"{day:%y%m%d}{number:02}", at, chance) for number, at in enumerate(times))

    def _soon(self) -> Iterator[Story]:
        chance = random.Random(f"{self._seed}:soon")  # noqa: S311
        for number in range(SOON):
            yield self._usual(f"now{number:02}", self.opened + (number + 0.5) * SOON_EVERY, chance)

    def _usual(self, key: str, at: datetime, chance: random.Random) -> Story:
        progress = min(1.0, max(0.0, (at - self._begin) / (self.opened - self._begin)))
        weights = [_between(each.weight, progress) for each in PRODUCTS]
        product = chance.choices(PRODUCTS, weights)[0]
        text = told(chance, product, _between(product.mood, progress))
        covering = [each for each in PUBLISHING if each.covers(product)]
        first = chance.choice(covering)
        reports = [(first.id, timedelta())]
        for outlet in covering:
            if outlet is not first and chance.random() < outlet.repeats:
                reports.append((outlet.id, timedelta(seconds=chance.randint(20, 1500))))
        is_retold, is_edited = chance.random() < 0.5, chance.random() < 0.12
        return Story(key, at, product, text.tag, text.headline, text.summary, tuple(reports), is_retold, is_edited)

    def _scenes(self) -> Iterator[Story]:
        for number, scene in enumerate(SCENES):
            chance = random.Random(f"{self._seed}:scene:{number}")  # noqa: S311
            yield _staged(f"scene{number:02}", scene, self.opened - scene.before, chance)


def _staged(key: str, scene: Scene, at: datetime, chance: random.Random) -> Story:
    possible = [each for each in PUBLISHING if scene.verbatim or each.covers(scene.product)]
    telling = chance.sample(possible, min(scene.reports, len(possible)))
    reports = [
        (outlet.id, timedelta(minutes=place * scene.spread * chance.uniform(0.6, 1.4)))
        for place, outlet in enumerate(telling)
    ]
    retold = not scene.verbatim
    return Story(key, at, scene.product, scene.tag, scene.headline, scene.summary, tuple(reports), retold)


def _between(ends: tuple[float, float], progress: float) -> float:
    return ends[0] + (ends[1] - ends[0]) * progress


def _entry(story: Story, outlet: Outlet, now: datetime) -> Entry | None:
    place, delay = next(
        ((n, delay) for n, (outlet_id, delay) in enumerate(story.reports) if outlet_id == outlet.id), (0, None)
    )
    if delay is None or story.at + delay > now:
        return None
    published = (story.at + delay).replace(microsecond=0)
    retold = RETOLD[place % len(RETOLD)].format(story.headline) if place and story.is_retold else story.headline
    headline, summary, updated = retold + outlet.ending, story.summary, published
    if story.is_edited and published + _EDITED_AFTER <= now:
        updated = published + _EDITED_AFTER
        summary = f"{story.summary} Update: {story.product.maker} has confirmed the report."
    return Entry(story, outlet, published, updated, headline, summary)


def is_failing(opened: datetime, now: datetime) -> bool:
    """Whether the failing outlet fails at that moment: two minutes of every six, but not at first."""
    return (now - opened) // timedelta(minutes=2) % 3 == 1


def opening(now: datetime) -> datetime:
    """The time at which a demo that starts now opens: entries have no fractions of a second."""
    return now.astimezone(UTC).replace(microsecond=0)
