"""What a tool's sentiment of some time is made of, and what moved it since the time before.

The average of a time is compared with the average of another time of the same length. Each mention that is in one of
the two only has entered or left. What these mentions did is added up by story and by publisher:

    effect = (sum over entered of (polarity - previous average) - the same sum over left) / present mentions

The effects of all mentions add up to the difference of the two averages, so a list by story or by publisher explains
all of it. `MovementReader` reads, all other functions are pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from models.article import Article
from models.errors import InvalidInput
from models.feed import Feed
from models.story import day_of
from models.tally import MILLIONTHS, Tally
from models.values import format_time
from services.figures.breadth import publisher_of, source_of
from services.figures.points import MENTIONS_KEPT
from services.ports import Document, Query, Store, Where, pages
from services.store.containers import ARTICLES, FEEDS, MENTIONS, STORIES

MAX_LISTED = 50
MAX_MENTIONS = 20_000
MAX_ARTICLES = 200
"""How many of the latest articles are looked at for their languages."""
_PAGE = 1000
_MINUTE = timedelta(minutes=1)
Mention = Mapping[str, Any]


@dataclass(slots=True)
class Part:
    """The mentions of one story, publisher or source: those of the present time, and what the others changed."""

    key: str
    entered: int = 0
    left: int = 0
    tally: Tally = field(default_factory=Tally)
    moved: float = 0.0
    latest: Mention | None = None

    @property
    def mentions(self) -> int:
        return self.tally.total

    @property
    def unscored(self) -> int:
        return self.tally.unscored

    @property
    def event_id(self) -> str | None:
        """None for a mention without a story."""
        return self.key if (self.latest or {}).get("event_id") == self.key else None

    def note(self, mention: Mention) -> None:
        if self.latest is None or mention["published_at"] > self.latest["published_at"]:
            self.latest = mention


@dataclass(frozen=True, slots=True)
class Times:
    """Two times that are compared. Both times as documents have them: from the first up to, but without, the second."""

    present: tuple[str, str]
    previous: tuple[str, str]

    @classmethod
    def of(cls, start: datetime, end: datetime, shift_hours: int | None, now: datetime) -> Times:
        """The previous time is so many hours earlier. Without `shift_hours`, it ends where the present one begins.
        Raises InvalidInput."""
        if start >= end:
            raise InvalidInput("from", f"before `to`, which is {format_time(end)}")
        shift = end - start if shift_hours is None else timedelta(hours=shift_hours)
        oldest = now - MENTIONS_KEPT
        if start < oldest:
            raise InvalidInput("from", f"at least {format_time(oldest)}: mentions are kept no longer")
        return cls((format_time(start), format_time(end)), (format_time(start - shift), format_time(end - shift)))

    def places(self, mention: Mention) -> tuple[bool, bool]:
        """Whether the mention is in the present time, and in the previous one."""
        at = mention["published_at"]
        return self.present[0] <= at < self.present[1], self.previous[0] <= at < self.previous[1]


def tally_of(mentions: Iterable[Mention]) -> Tally:
    total = Tally()
    for each in mentions:
        total = total.plus(Tally.of(each.get("sentiment"), each.get("polarity")))
    return total


def story_of(mention: Mention) -> str:
    """A mention without a story is a story of its own."""
    return str(mention.get("event_id") or mention["source_id"])


def average_of(tally: Tally) -> float | None:
    """Not rounded, so that effects add up to the difference."""
    return tally.polarity_millionths / MILLIONTHS / tally.total if tally.total else None


def parts_by(key: Callable[[Mention], str], mentions: Iterable[Mention], times: Times, previous: float) -> list[Part]:
    """`previous` is the average of the previous time; 0 if that had no scored mention."""
    parts: dict[str, Part] = {}
    for mention in mentions:
        is_now, was_then = times.places(mention)
        if not (is_now or was_then):
            continue
        name = key(mention)
        part = parts.setdefault(name, Part(name))
        part.note(mention)
        polarity = mention.get("polarity")
        if is_now:
            part.tally = part.tally.plus(Tally.of(mention.get("sentiment"), polarity))
        if polarity is None or is_now == was_then:
            continue
        part.entered += is_now
        part.left += was_then
        part.moved += (polarity - previous) if is_now else -(polarity - previous)
    return list(parts.values())


@dataclass(frozen=True, slots=True)
class Movement:
    """What moved a figure. `difference` is None if one of the two times has no scored mention."""

    present: Tally
    previous: Tally
    entered: int
    left: int
    stories: list[Part]
    publishers: list[Part]
    sources: list[Part]

    @property
    def difference(self) -> float | None:
        now, then = average_of(self.present), average_of(self.previous)
        return None if now is None or then is None else round(now - then, 4)

    def effect_of(self, part: Part) -> float | None:
        return round(part.moved / self.present.total, 4) if self.difference is not None else None

    def moving(self, parts: Sequence[Part]) -> list[Part]:
        """Those that moved the figure most, at most MAX_LISTED."""
        return sorted(parts, key=lambda part: (-abs(part.moved), -part.mentions, part.key))[:MAX_LISTED]

    def largest(self, parts: Sequence[Part]) -> list[Part]:
        """Those with the most mentions now, at most MAX_LISTED."""
        there = [part for part in parts if part.mentions or part.unscored]
        return sorted(there, key=lambda part: (-part.mentions, -part.unscored, part.key))[:MAX_LISTED]

    def share_of(self, part: Part) -> float | None:
        return round(part.mentions / self.present.total, 4) if self.present.total else None


def movement_of(mentions: Sequence[Mention], times: Times) -> Movement:
    now = tally_of(each for each in mentions if times.places(each)[0])
    then = tally_of(each for each in mentions if times.places(each)[1])
    previous = average_of(then) or 0.0
    publishers = parts_by(publisher_of, mentions, times, previous)
    return Movement(
        present=now,
        previous=then,
        entered=sum(part.entered for part in publishers),
        left=sum(part.left for part in publishers),
        stories=parts_by(story_of, mentions, times, previous),
        publishers=publishers,
        sources=parts_by(source_of, mentions, times, previous),
    )


def names_in(mentions: Iterable[Mention]) -> list[dict[str, Any]]:
    """The names that made the articles count: in how many mentions each was found, and where. Spellings that differ in
    case only are one name."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for mention in mentions:
        seen: set[tuple[str, str]] = set()
        for match in mention.get("matches") or ():
            key = (match["name"].casefold(), match["kind"])
            row = found.setdefault(
                key,
                {"name": match["name"], "kind": match["kind"], "mentions": 0, "HEADLINE": 0, "TEXT": 0, "TAGS": 0},
            )
            row["mentions"] += key not in seen
            row[match["where"]] += 1
            seen.add(key)
    rows = sorted(found.values(), key=lambda row: (-row["mentions"], row["name"], row["kind"]))
    return [
        {"name": row["name"], "kind": row["kind"], "mentions": row["mentions"]}
        | {"in_headline": row["HEADLINE"], "in_text": row["TEXT"], "in_tags": row["TAGS"]}
        for row in rows[:MAX_LISTED]
    ]


def rescored_in(mentions: Iterable[Mention], scored: int) -> list[dict[str, Any]]:
    """The mentions to which a person gave another sentiment than the analyzer, and what each changed in the average of
    `scored` mentions. Where the analyzer had given none, the effect is not known."""
    found = []
    for mention in mentions:
        if not mention.get("corrected"):
            continue
        said = mention.get("analyzer_judgement") or {}
        before, after = said.get("polarity"), mention.get("polarity")
        effect = None if before is None or after is None or not scored else round((after - before) / scored, 4)
        found.append(
            {
                "source_id": mention["source_id"],
                "headline": mention.get("headline"),
                "verdict": mention.get("verdict"),
                "before": said.get("sentiment"),
                "after": mention.get("sentiment"),
                "effect": effect,
            }
        )
    return found[:MAX_LISTED]


@dataclass(frozen=True, slots=True)
class MovementReader:
    """Reads what moved a figure."""

    store: Store

    async def of(self, tool_id: str, times: Times) -> dict[str, Any]:
        """Raises InvalidInput if the two times have too many mentions."""
        mentions = await self._mentions(tool_id, times)
        found = movement_of(mentions, times)
        present = [each for each in mentions if times.places(each)[0]]
        stories, names = found.moving(found.stories), await self._source_names(found)
        headlines = await self._headlines(stories)
        languages, looked_at = await self._languages(present)
        return {
            "from": times.present[0],
            "to": times.present[1],
            "previous_from": times.previous[0],
            "previous_to": times.previous[1],
            "present": found.present.figures(),
            "previous": found.previous.figures(),
            "difference": found.difference,
            "entered": found.entered,
            "left": found.left,
            "stories": [
                {"event_id": part.event_id, "headline": headlines.get(part.key) or (part.latest or {}).get("headline")}
                | _shown(found, part)
                for part in stories
            ],
            "publishers": [{"publisher": part.key} | _shown(found, part) for part in found.largest(found.publishers)],
            "sources": [
                {"source": part.key, "source_name": names.get(part.key)} | _shown(found, part)
                for part in found.largest(found.sources)
            ],
            "names": names_in(present),
            "rescored": rescored_in(present, found.present.total),
            "languages": languages,
            "languages_of": looked_at,
        }

    async def _mentions(self, tool_id: str, times: Times) -> list[Mention]:
        spans = sorted((times.previous, times.present))
        if spans[0][1] >= spans[1][0]:  # they meet or overlap: one query, so that no mention is read twice
            spans = [(spans[0][0], max(spans[0][1], spans[1][1]))]
        found: list[Mention] = []
        for start, end in spans:
            where = (
                Where("removed_at", "missing"),
                Where("published_at", "ge", start),
                Where("published_at", "lt", end),
            )
            query = Query(where, partition=tool_id, order="by_published", limit=_PAGE)
            async for page in pages(self.store, MENTIONS.name, query):
                found += page.items
                if len(found) > MAX_MENTIONS:
                    raise InvalidInput("from", f"a shorter time: this one has over {MAX_MENTIONS:,} mentions")
        return found

    async def _headlines(self, stories: Sequence[Part]) -> dict[str, str]:
        """Of the stories of several articles that are there."""
        events = [part.key for part in stories if part.event_id is not None]
        found = await self.store.read_many(STORIES.name, [(day_of(each), each) for each in events]) if events else []
        stored = zip(events, found, strict=True)
        return {each: str(story["headline"]) for each, story in stored if story is not None and story.get("headline")}

    async def _source_names(self, found: Movement) -> dict[str, str]:
        """What people call the sources that are there."""
        keys = [(part.key, Feed.ID) for part in found.largest(found.sources)]
        feeds = await self.store.read_many(FEEDS.name, keys) if keys else []
        return {feed["feed_id"]: feed["source_name"] for feed in feeds if feed is not None and feed.get("source_name")}

    async def _languages(self, present: Sequence[Mention]) -> tuple[list[dict[str, Any]], int]:
        """The languages of the latest articles, and how many articles these are."""
        articles = await self._articles(present[-MAX_ARTICLES:])
        counts = Counter(each.get("language") or "und" for each in articles if each is not None)
        ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        return [{"language": name, "articles": count} for name, count in ordered], sum(counts.values())

    async def _articles(self, mentions: Sequence[Mention]) -> Sequence[Document | None]:
        keys = [(each["source_id"], Article.ID) for each in mentions]
        return await self.store.read_many(ARTICLES.name, keys) if keys else []


def _shown(found: Movement, part: Part) -> dict[str, Any]:
    return {
        "mentions": part.mentions,
        "unscored_mentions": part.unscored,
        "share": found.share_of(part),
        "positive_count": part.tally.positive,
        "negative_count": part.tally.negative,
        "neutral_count": part.tally.neutral,
        "average_sentiment": part.tally.average_sentiment if part.tally.total else None,
        "entered": part.entered,
        "left": part.left,
        "effect": found.effect_of(part),
    }
