"""What a tool's figures of some time are made of, page by page, and what moved them since the time before.

The average of a time is compared with the average of another time of the same length. Each mention that is in one of
the two only has entered or left. What these mentions did is added up by story and by publisher:

    effect = (sum over entered of (polarity - previous average) - the same sum over left) / present mentions

The effects of all mentions add up to the difference of the two averages, so a list by story or by publisher explains
all of it. Mentions are passed in the order of their publication. `Evidence` reads, all other functions are pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from models.article import Article
from models.cache import SentimentCacheEntry, Window
from models.errors import InvalidInput
from models.feed import Feed
from models.mention import SentimentScore
from models.story import day_of
from models.tally import MILLIONTHS, Tally
from models.values import format_time
from services.figures.breadth import publisher_of, source_of
from services.figures.points import MENTIONS_KEPT
from services.figures.reader import changed_since
from services.figures.recount import NOT_REMOVED
from services.mentions.listing import mentions_page
from services.ports import Listed, Query, Store, Where, pages
from services.store.containers import ARTICLES, FEEDS, MENTIONS, STORIES

MAX_LISTED = 50
MAX_MENTIONS = 20_000
MAX_ARTICLES = 200
"""How many of the latest articles are looked at for their languages."""
Mention = Mapping[str, Any]


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
        try:
            return cls((format_time(start), format_time(end)), (format_time(start - shift), format_time(end - shift)))
        except OverflowError:
            raise InvalidInput("to", "nearer: the time before `from` is as long") from None

    def is_present(self, mention: Mention) -> bool:
        return self.present[0] <= str(mention["published_at"]) < self.present[1]

    def is_previous(self, mention: Mention) -> bool:
        return self.previous[0] <= str(mention["published_at"]) < self.previous[1]


@dataclass(slots=True)
class Part:
    """The mentions of one story, publisher or source, or all: those of each time, how many scored ones are in one of
    the times only, and what these `moved`."""

    key: str = ""
    present: Tally = field(default_factory=Tally)
    previous: Tally = field(default_factory=Tally)
    entered: int = 0
    left: int = 0
    moved: float = 0.0
    latest: Mention = field(default_factory=dict)

    @property
    def event_id(self) -> str | None:
        """None for a mention without a story."""
        return self.key if self.latest.get("event_id") == self.key else None

    @property
    def difference(self) -> float | None:
        """Of the two averages; None if one of the times has no scored mention."""
        now, then = average_of(self.present), average_of(self.previous)
        return None if now is None or then is None else round(now - then, 4)

    def add(self, mention: Mention, times: Times, average: float = 0.0) -> None:
        """`average` is that of the previous time; 0 if that had no scored mention."""
        polarity, self.latest = mention.get("polarity"), mention
        tally, is_now, was_then = tally_of(mention), times.is_present(mention), times.is_previous(mention)
        if is_now:
            self.present = self.present.plus(tally)
        if was_then:
            self.previous = self.previous.plus(tally)
        if polarity is not None and is_now != was_then:
            self.entered += is_now
            self.left += was_then
            self.moved += (polarity - average) if is_now else -(polarity - average)

    def shown(self, whole: Part) -> dict[str, Any]:
        """The part as one of `whole`."""
        figures, present = self.present.figures(), whole.present.total
        return {
            "mentions": figures.pop("total_mentions"),
            **figures,
            "share": round(self.present.total / present, 4) if present else None,
            "average_sentiment": self.present.average_sentiment if self.present.total else None,
            "entered": self.entered,
            "left": self.left,
            "effect": None if whole.difference is None else round(self.moved / present, 4),
        }


def tally_of(mention: Mention) -> Tally:
    return Tally.of(mention.get("sentiment"), mention.get("polarity"))


def story_of(mention: Mention) -> str:
    """A mention without a story is a story of its own."""
    return str(mention.get("event_id") or mention["source_id"])


def average_of(tally: Tally) -> float | None:
    """Not rounded, so that effects add up to the difference."""
    return tally.polarity_millionths / MILLIONTHS / tally.total if tally.total else None


@dataclass(frozen=True, slots=True)
class Movement:
    """What moved a figure: by story those that moved it most, by publisher and source those with the most mentions, at
    most MAX_LISTED of each."""

    whole: Part
    stories: list[Part]
    publishers: list[Part]
    sources: list[Part]


def movement_of(mentions: Sequence[Mention], times: Times) -> Movement:
    whole = Part()
    for mention in mentions:
        whole.add(mention, times)
    average = average_of(whole.previous) or 0.0

    def by(key: Callable[[Mention], str]) -> list[Part]:
        parts: dict[str, Part] = {}
        for mention in mentions:
            parts.setdefault(key(mention), Part(key(mention))).add(mention, times, average)
        return list(parts.values())

    stories = sorted(by(story_of), key=lambda part: (-abs(part.moved), -part.present.total, part.key))
    return Movement(whole, stories[:MAX_LISTED], largest(by(publisher_of)), largest(by(source_of)))


def largest(parts: Sequence[Part]) -> list[Part]:
    """Those with the most mentions now; last those that have none any more, whose effects count too."""
    return sorted(parts, key=lambda part: (-part.present.total, -part.present.unscored, part.key))[:MAX_LISTED]


def names_in(mentions: Iterable[Mention]) -> list[dict[str, Any]]:
    """The names that made the articles count: in how many mentions each was found, and where. Spellings that differ in
    case only are one name."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for mention in mentions:
        found = set()
        for match in mention.get("matches") or ():
            key = match["name"].casefold(), match["kind"]
            new = {"name": match["name"], "kind": match["kind"], "mentions": 0}
            row = rows.setdefault(key, {**new, "in_headline": 0, "in_text": 0, "in_tags": 0})
            row[f"in_{match['where'].lower()}"] += 1
            found.add(key)
        for key in found:
            rows[key]["mentions"] += 1
    return sorted(rows.values(), key=lambda row: (-row["mentions"], row["name"], row["kind"]))[:MAX_LISTED]


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
        own = {name: mention.get(name) for name in ("source_id", "headline", "verdict")}
        found.append({**own, "before": said.get("sentiment"), "after": mention.get("sentiment"), "effect": effect})
    return found[:MAX_LISTED]


# The cursor has the end of the first page's window: later pages have the same window even if the entry was refreshed.
_CURSOR = re.compile(r"([0-9]{1,10})-([A-Za-z0-9_=-]+)")


@dataclass(slots=True)
class Evidence:
    """Reads the mentions that an aggregate counts, and what moved it."""

    store: Store

    async def page(
        self, entry: SentimentCacheEntry, limit: int, cursor: str | None, said: str | None = None
    ) -> tuple[Listed[SentimentScore], dict[str, int | bool | None]]:
        """A page of the mentions, and its window. With `said`, the mentions with this sentiment, or the unscored ones.

        `figures_updated_ts` is when the figures of that window were computed, None if the entry is of a later window
        now.
        """
        window, after = window_of(entry, cursor)
        page = await mentions_page(self.store, entry.tool_id, limit, after, said, since=window.start, until=window.end)
        start_ts, end_ts = window.seconds
        facts = {
            "period_start_ts": start_ts,
            "period_end_ts": end_ts,
            "figures_updated_ts": entry.last_updated_ts if end_ts == entry.period_end_ts else None,
            # Last: whatever changed while the page was read is a change.
            "changed_since": bool(await changed_since(self.store, {entry.tool_id: entry.recounts})),
        }
        return replace(page, next=page.next and f"{end_ts}-{page.next}"), facts

    async def movement(self, tool_id: str, times: Times) -> dict[str, Any]:
        """What moved a figure. Raises InvalidInput if the two times have too many mentions."""
        mentions = await self._mentions(tool_id, times)
        found, present = movement_of(mentions, times), list(filter(times.is_present, mentions))
        whole = found.whole
        headlines, names = await self._headlines(found.stories), await self._source_names(found.sources)
        languages = await self._languages(present[-MAX_ARTICLES:])
        return {
            "from": times.present[0],
            "to": times.present[1],
            "previous_from": times.previous[0],
            "previous_to": times.previous[1],
            "present": whole.present.figures(),
            "previous": whole.previous.figures(),
            "difference": whole.difference,
            "entered": whole.entered,
            "left": whole.left,
            "stories": [
                {"event_id": part.event_id, "headline": headlines.get(part.key) or part.latest.get("headline")}
                | part.shown(whole)
                for part in found.stories
            ],
            "publishers": [{"publisher": part.key} | part.shown(whole) for part in found.publishers],
            "sources": [
                {"source": part.key, "source_name": names.get(part.key)} | part.shown(whole) for part in found.sources
            ],
            "names": names_in(present),
            "rescored": rescored_in(present, whole.present.total),
            "languages": [
                {"language": name, "articles": count}
                for name, count in sorted(languages.items(), key=lambda each: (-each[1], each[0]))
            ],
            "languages_of": languages.total(),
        }

    async def _mentions(self, tool_id: str, times: Times) -> list[Mention]:
        spans = sorted((times.previous, times.present))
        if spans[0][1] >= spans[1][0]:  # they meet or overlap: one query, so that no mention is read twice
            spans = [(spans[0][0], max(spans[0][1], spans[1][1]))]
        found: list[Mention] = []
        for start, end in spans:
            where = NOT_REMOVED, Where("published_at", "ge", start), Where("published_at", "lt", end)
            query = Query(where, partition=tool_id, order="by_published")
            async for page in pages(self.store, MENTIONS.name, query):
                found += page.items
                if len(found) > MAX_MENTIONS:
                    raise InvalidInput("from", f"a shorter time: this one has over {MAX_MENTIONS:,} mentions")
        return found

    async def _headlines(self, stories: Sequence[Part]) -> dict[str, str]:
        """Of the stories of several articles that are there."""
        keys = [(day_of(part.key), part.key) for part in stories if part.event_id is not None]
        found = await self.store.read_many(STORIES.name, keys)
        return {key: str(story.get("headline") or "") for (_, key), story in zip(keys, found, strict=True) if story}

    async def _source_names(self, sources: Sequence[Part]) -> dict[str, str | None]:
        """What people call the sources that are there."""
        feeds = await self.store.read_many(FEEDS.name, [(part.key, Feed.ID) for part in sources])
        return {feed["feed_id"]: feed.get("source_name") for feed in feeds if feed is not None}

    async def _languages(self, mentions: Sequence[Mention]) -> Counter[str]:
        """How many of their articles are in each language."""
        articles = await self.store.read_many(ARTICLES.name, [(each["source_id"], Article.ID) for each in mentions])
        return Counter(each.get("language") or "und" for each in articles if each is not None)


def window_of(entry: SentimentCacheEntry, cursor: str | None) -> tuple[Window, str | None]:
    """The window that the cursor continues, and the store's cursor in it."""
    if cursor is None:
        return entry.window, None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput("cursor", "must be the `next` of a page of the same query")
    return Window.ending(entry.period, datetime.fromtimestamp(int(found[1]), UTC)), found[2]
