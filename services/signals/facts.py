"""What the rules of signals look at: the articles of a story that mention a tool, in the order of publication. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from models.mention import SentimentScore
from models.signal import Side
from models.story import StoryMember, Topic
from models.tally import Tally
from models.values import Day, Hour, hour_key, hour_start
from services.figures.breadth import publisher_of
from services.ports import Document
from services.stories.documents import topics_of_story

WEEK = timedelta(days=7)
NOTHING = Tally()


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
    week: Tally = NOTHING
    days_known: int = 0
    earlier_topics: frozenset[Topic] = frozenset()


def reports_by_tool(
    members: Sequence[StoryMember], mentions: Iterable[tuple[SentimentScore, Document]]
) -> dict[str, tuple[Report, ...]]:
    """The reports of each tool, from the members of a story and their mentions. Removed mentions do not count."""
    published = {each.source_id: each.published_at for each in members}
    found: dict[str, list[Report]] = {}
    for mention, document in mentions:
        if mention.counts and mention.source_id in published:
            report = Report(mention.source_id, published[mention.source_id], publisher_of(document), mention.polarity)
            found.setdefault(mention.tool_id, []).append(report)
    return {
        tool_id: tuple(sorted(reports, key=lambda each: (each.published_at, each.source_id)))
        for tool_id, reports in found.items()
    }


def topics_of_members(members: Sequence[StoryMember]) -> tuple[Topic, ...]:
    return topics_of_story([each.topics for each in members])


def side_of(reports: Sequence[Report]) -> Side:
    polarities = [each.polarity for each in reports if each.polarity is not None]
    average = round(sum(polarities) / len(polarities), 4) if polarities else None
    return Side(articles=len(reports), publishers=len({each.publisher for each in reports}), average_sentiment=average)


def week_before(hours: Mapping[Hour, Tally], moment: datetime) -> Tally:
    """The tool's mentions of the seven days before the hour of the moment."""
    until = hour_start(hour_key(moment))
    since, total = hour_key(until - WEEK), Tally()
    for hour, tally in hours.items():
        if since <= hour < hour_key(until):
            total = total.plus(tally)
    return total


def days_known(discovered: Day | None, moment: datetime) -> int:
    """For how many days before the moment articles have mentioned the tool."""
    return 0 if discovered is None else max(0, (moment.astimezone(UTC).date() - date.fromisoformat(discovered)).days)
