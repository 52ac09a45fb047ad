"""The rules: what a story suggests for a tool, and which signals follow. Pure.

Every rule looks at publication times only, so the same articles suggest the same, in whatever order they arrived and
however often they are looked at. What a rule found does not change when later articles are published, but for the
evidence of the day after.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from statistics import fmean
from typing import Any

from models.story import MAX_NAMED, NOBODY, Side, Signal, SignalKind, Topic, signal_id
from models.tally import Tally
from models.values import format_time

FEWEST_PUBLISHERS = 2
"""A story suggests something for a tool once so many publishers mention the tool in it."""
NEW_FOR = timedelta(hours=24)
"""The evidence of a new story is of this time."""
GROWN_WITHIN = timedelta(hours=6)
FEWEST_BEFORE = 2
FEWEST_ADDED = 3
GROWTH = 2
"""A story grows if, within GROWN_WITHIN, at least FEWEST_ADDED articles join FEWEST_BEFORE or more, and the number of
publishers is multiplied by GROWTH."""
FEWEST_SCORED = 3
"""A reversal needs so many scored articles on each side, of FEWEST_PUBLISHERS publishers."""
FEWEST_IN_WEEK = 5
CLEAR = 0.2
"""An average sentiment below this distance from 0 is on no side."""
TOLD_WITHIN = timedelta(hours=24)
"""A signal is made within this time of what it tells: a first import, or a new tool, makes none of old stories. A
signal that was made follows its story however old it gets, unless the story gets another id."""
FIRST_IN_DAYS = 30
"""A story is compared with those of so many days, as long as articles are kept."""

_TOPICS: dict[Topic, str] = {
    "OUTAGE": "an outage",
    "SECURITY": "a security flaw",
    "PRICING": "prices",
    "ACQUISITION": "an acquisition",
}

NO_MENTIONS = Tally()
Finding = dict[str, Any]
"""What a rule found: fields of a Signal."""


@dataclass(frozen=True, slots=True)
class Report:
    """An article of the story that mentions the tool. `polarity` is null if the mention could not be scored."""

    source_id: str
    published_at: datetime
    publisher: str
    polarity: float | None = None


@dataclass(frozen=True, slots=True)
class ToolStory:
    """A story as far as it mentions one tool.

    `began_at` and `articles` are the first article and the number of articles of the whole story. `week` counts the
    tool's mentions of the seven days before the first report. `days_known` is for how many days before the story
    articles have mentioned the tool. `earlier_topics`: another story of these days was about the tool and this topic.
    """

    tool_id: str
    event_id: str
    reports: tuple[Report, ...]
    articles: int
    began_at: datetime
    topics: tuple[Topic, ...] = ()
    week: Tally = NO_MENTIONS
    days_known: int = 0
    earlier_topics: frozenset[Topic] = frozenset()


def decide(stories: Collection[ToolStory], known: Collection[Signal], now: datetime) -> list[Signal]:
    """The signals of a story to write: made, updated, withdrawn or made anew. `stories` is the story as far as it
    mentions each tool, `known` are its signals. Those of a tool that the story does not mention any more go on at the
    others: that tool was merged."""
    before = {(each.tool_id, each.id): each for each in known}
    present = {story.tool_id for story in stories}
    of_merged = {each.id for each in known if each.tool_id not in present}
    written: list[Signal] = []
    found: set[tuple[str, str]] = set()
    for story in stories:
        for finding in findings(story):
            key = story.tool_id, signal_id(finding["kind"], finding.get("topic"), story.event_id)
            found.add(key)
            of_story = {"tool_id": story.tool_id, "event_id": story.event_id, "story_published_at": story.began_at}
            fields: Finding = {**finding, **of_story}
            if key in before:
                after = before[key].changed(now, **fields, withdrawn_at=None)
                if after.changed(before[key].updated_at) != before[key]:
                    written.append(after)
            elif now - finding["timestamp"] <= TOLD_WITHIN or key[1] in of_merged:
                written.append(Signal(created_at=now, updated_at=now, **fields))
    gone = [each for key, each in before.items() if key not in found and each.withdrawn_at is None]
    return [*written, *(each.changed(now, withdrawn_at=now) for each in gone)]


def findings(story: ToolStory) -> list[Finding]:
    """All that the rules find in the story."""
    rules: tuple[Callable[[ToolStory], Sequence[Finding]], ...] = (_new, _growing, _reversed, _first_of_its_kind)
    return [found for rule in rules for found in rule(story)]


def side_of(reports: Sequence[Report]) -> Side:
    polarities = [each.polarity for each in reports if each.polarity is not None]
    average = round(sum(polarities) / len(polarities), 4) if polarities else None
    return Side(articles=len(reports), publishers=len({each.publisher for each in reports}), average_sentiment=average)


def _publishers(reports: Sequence[Report]) -> list[int]:
    """The number of publishers up to each report."""
    seen: set[str] = set()
    counts = []
    for each in reports:
        seen.add(each.publisher)
        counts.append(len(seen))
    return counts


def _second_publisher(reports: Sequence[Report]) -> int:
    """How many reports it takes until there are two publishers; one more than there are reports if there are not."""
    return bisect_left(_publishers(reports), FEWEST_PUBLISHERS) + 1


def noticed_at(reports: Sequence[Report]) -> datetime | None:
    """When the second publisher mentioned the tool."""
    number = _second_publisher(reports)
    return reports[number - 1].published_at if number <= len(reports) else None


def is_about(story: ToolStory) -> bool:
    """Whether enough publishers, and at least half of the articles, mention the tool."""
    return noticed_at(story.reports) is not None and 2 * len(story.reports) >= story.articles


def _found(
    kind: SignalKind,
    timestamp: datetime,
    reason: str,
    before: Side,
    after: Side,
    reports: Sequence[Report],
    **more: Any,
) -> Finding:
    articles = tuple(each.source_id for each in reports[:MAX_NAMED])
    publishers = tuple(dict.fromkeys(each.publisher for each in reports))[:MAX_NAMED]
    named = {"articles": articles, "publishers": publishers}
    return {"kind": kind, "timestamp": timestamp, "reason": reason, "before": before, "after": after, **named, **more}


def _new(story: ToolStory) -> list[Finding]:
    moment = noticed_at(story.reports)
    if moment is None:
        return []
    found = _of_a_day(story.reports, moment)
    reason = f"A new story: {_counted(found)} since {format_time(found[0].published_at)}."
    return [_found("NEW", moment, reason, NOBODY, side_of(found), found)]


def _of_a_day(reports: Sequence[Report], moment: datetime) -> tuple[Report, ...]:
    return tuple(each for each in reports if each.published_at <= moment + NEW_FOR)


def _growing(story: ToolStory) -> list[Finding]:
    """The six hours in which most articles joined the story."""
    best: tuple[int, int, int] | None = None
    publishers = _publishers(story.reports)
    start = 0
    for end, report in enumerate(story.reports, 1):
        while story.reports[start].published_at <= report.published_at - GROWN_WITHIN:
            start += 1
        added = end - start
        if (
            start >= FEWEST_BEFORE
            and added >= FEWEST_ADDED
            and publishers[end - 1] >= GROWTH * publishers[start - 1]
            and (best is None or added > best[0])
        ):
            best = added, start, end
    if best is None:
        return []
    _, start, end = best
    before, after = story.reports[:start], story.reports[:end]
    hours = GROWN_WITHIN // timedelta(hours=1)
    reason = f"The story grew within {hours} hours: from {_counted(before)} to {_counted(after)}."
    moment, sides = after[-1].published_at, (side_of(before), side_of(after))
    return [_found("GROWING", moment, reason, *sides, story.reports[start:end])]


def _reversed(story: ToolStory) -> list[Finding]:
    scored = tuple(each for each in story.reports if each.polarity is not None)
    found = _turned_in_story(scored) or _turned_from_week(story, scored)
    return [] if found is None else [found]


def _turned_in_story(scored: tuple[Report, ...]) -> Finding | None:
    """The articles before and after the moment at which their averages differ most."""
    polarities = [each.polarity for each in scored if each.polarity is not None]
    earliest = max(FEWEST_SCORED, _second_publisher(scored))
    latest = len(scored) - max(FEWEST_SCORED, _second_publisher(scored[::-1]))
    sums = list(accumulate(polarities, initial=0.0))
    best: tuple[float, int] | None = None
    for at in range(earliest, latest + 1):
        one, other = sums[at] / at, (sums[-1] - sums[at]) / (len(scored) - at)
        if _is_turn(one, other) and (best is None or abs(one - other) > best[0]):
            best = abs(one - other), at
    if best is None:
        return None
    at = best[1]
    sides, after = (side_of(scored[:at]), side_of(scored[at:])), scored[at:]
    averages = [fmean(each) for each in (polarities[:at], polarities[at:])]
    reason = "Sentiment in the story turned from {:+.2f} to {:+.2f}.".format(*averages)
    return _found("REVERSED", after[0].published_at, reason, *sides, after, compared_with="STORY")


def _turned_from_week(story: ToolStory, scored: tuple[Report, ...]) -> Finding | None:
    if len(scored) < FEWEST_SCORED or story.week.total < FEWEST_IN_WEEK or noticed_at(scored) is None:
        return None
    after, average = side_of(scored), story.week.average_sentiment
    if after.average_sentiment is None or not _is_turn(average, after.average_sentiment):
        return None
    before = Side(articles=story.week.total, average_sentiment=average)
    reason = (
        f"Sentiment in the story is {after.average_sentiment:+.2f}; in the seven days before it was {average:+.2f}."
    )
    return _found(
        "REVERSED", scored[FEWEST_SCORED - 1].published_at, reason, before, after, scored, compared_with="WEEK"
    )


def _is_turn(before: float, after: float) -> bool:
    return min(before, after) <= -CLEAR and max(before, after) >= CLEAR


def _first_of_its_kind(story: ToolStory) -> list[Finding]:
    """Nobody can know it of a tool that was not known a day before."""
    days, moment = min(story.days_known, FIRST_IN_DAYS), noticed_at(story.reports)
    if moment is None or not is_about(story) or not days:
        return []
    found = _of_a_day(story.reports, moment)
    after = side_of(found)
    return [
        _found(
            "FIRST_OF_ITS_KIND",
            moment,
            f"The first story about {_TOPICS[topic]} in {_plural(days, 'day')}: {_counted(found)}.",
            NOBODY,
            after,
            found,
            topic=topic,
            days=days,
        )
        for topic in story.topics
        if topic not in story.earlier_topics
    ]


def _counted(reports: Sequence[Report]) -> str:
    publishers = len({each.publisher for each in reports})
    return f"{_plural(len(reports), 'article')} by {_plural(publishers, 'publisher')}"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
