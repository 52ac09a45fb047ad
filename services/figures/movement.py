"""What a tool's sentiment of some time is made of, and what moved it since the time before. Pure.

The average of a time is compared with the average of another time of the same length. Each mention that is in one of
the two only has entered or left. What these mentions did is added up by story and by publisher:

    effect = (sum over entered of (polarity - previous average) - the same sum over left) / present mentions

The effects of all mentions add up to the difference of the two averages, so a list by story or by publisher explains
all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.tally import MILLIONTHS, Tally
from models.values import agreeing_polarity
from services.figures.breadth import publisher_of, source_of

MOST_LISTED = 50
Mention = Mapping[str, Any]


@dataclass(slots=True)
class Part:
    """The mentions of one story, publisher or source: those of the present time, and what the others changed."""

    key: str
    mentions: int = 0
    unscored: int = 0
    entered: int = 0
    left: int = 0
    tally: Tally = field(default_factory=Tally)
    moved: float = 0.0
    latest: Mention | None = None

    def note(self, mention: Mention) -> None:
        if self.latest is None or mention["published_at"] > self.latest["published_at"]:
            self.latest = mention


@dataclass(frozen=True, slots=True)
class Times:
    """Both times as documents have them: from the first up to, but without, the second."""

    present: tuple[str, str]
    previous: tuple[str, str]

    def places(self, mention: Mention) -> tuple[bool, bool]:
        """Whether the mention is in the present time, and in the previous one."""
        at = mention["published_at"]
        return self.present[0] <= at < self.present[1], self.previous[0] <= at < self.previous[1]


def polarity_of(mention: Mention) -> float | None:
    """None for a mention that could not be scored."""
    if mention.get("polarity") is None or mention.get("sentiment") is None:
        return None
    return agreeing_polarity(mention["sentiment"], mention["polarity"])


def tally_of(mentions: Iterable[Mention]) -> Tally:
    total = Tally()
    for each in mentions:
        total = total.plus(Tally.of(each.get("sentiment"), polarity_of(each)))
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
        polarity = polarity_of(mention)
        if is_now:
            part.mentions += polarity is not None
            part.unscored += polarity is None
            part.tally = part.tally.plus(Tally.of(mention.get("sentiment"), polarity))
        if polarity is None or is_now == was_then:
            continue
        part.entered += is_now
        part.left += was_then
        part.moved += (polarity - previous) if is_now else -(polarity - previous)
    return list(parts.values())


@dataclass(frozen=True, slots=True)
class Movement:
    """`difference` is None if one of the two times has no scored mention."""

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
        """Those that moved the figure most, at most MOST_LISTED."""
        return sorted(parts, key=lambda part: (-abs(part.moved), -part.mentions, part.key))[:MOST_LISTED]

    def largest(self, parts: Sequence[Part]) -> list[Part]:
        """Those with the most mentions now, at most MOST_LISTED."""
        there = [part for part in parts if part.mentions or part.unscored]
        return sorted(there, key=lambda part: (-part.mentions, -part.unscored, part.key))[:MOST_LISTED]

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
        for row in rows[:MOST_LISTED]
    ]


def rescored_in(mentions: Iterable[Mention], scored: int) -> list[dict[str, Any]]:
    """The mentions to which a person gave another sentiment than the analyzer, and what each changed in the average of
    `scored` mentions. Where the analyzer had given none, the effect is not known."""
    found = []
    for mention in mentions:
        if not mention.get("corrected"):
            continue
        said = mention.get("analyzer_judgement") or {}
        before, after = said.get("polarity"), polarity_of(mention)
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
    return found[:MOST_LISTED]
