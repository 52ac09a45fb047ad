"""What must agree in the stored documents: the rules of the audit. Pure.

A rule compares documents that were read, and returns differences. It passes over what is in flight (an analysis that is
due) and what cannot be known any more (documents that may have expired).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from models.article import ARTICLE_KEPT, Article
from models.cache import SentimentCacheEntry, percentages
from models.correction import Correction
from models.errors import UnreadableDocument
from models.feed import Feed
from models.run import IngestionBatch
from models.tally import HOURS, ZEROS, MinutesOfAnalyzers, Table, Tally, TimelineHours, numbers_of, total
from models.timeline import HourRows
from models.values import format_time
from services.articles.attributions import observation_id
from services.figures.breadth import Breadth, shown
from services.figures.windows import Windows
from services.ports import Document

Kind = Literal[
    "unreadable",
    "observation_missing",
    "attribution_differs",
    "article_missing",
    "source_not_listed",
    "analysis_not_due",
    "mention_missing",
    "mention_without_article",
    "mention_of_deleted_article",
    "mention_not_detected",
    "correction_not_applied",
    "hour_differs",
    "windows_differ",
    "entry_differs",
    "feed_total_differs",
    "run_figures_differ",
    "dangling_alias",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
HARMLESS: frozenset[str] = frozenset({"dangling_alias"})
"""An alias outlives its article, or its worker died before it wrote the article: the next entry completes it."""

SURELY_KEPT = ARTICLE_KEPT - timedelta(days=1)
"""What is younger cannot have expired, nor can what was stored with it."""
WINDOWS_JUDGED = timedelta(days=1)
"""Windows and entries that are older may count hours that are no longer stored."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`subject` is the id of an article, tool, feed or run, `about` what else a repair must know. `versions` are the
    ETags of the compared documents: a difference with other versions is another difference."""

    kind: Kind
    subject: str
    detail: str
    about: str = ""
    versions: tuple[str | None, ...] = ()


def judge_article(
    source_id: str, article: Document | None, observations: Sequence[Document], now: datetime
) -> list[Difference]:
    """The article against its observations. Each source that it lists has an observation of its present revision."""
    by_id = {each["id"]: each for each in observations}
    if article is None:
        created = [each for each in observations if each.get("created_article")]
        if not created:
            return []  # the article expired before the later observations
        versions = _versions(observations)
        return [Difference("article_missing", source_id, f"{len(observations)} observations are left", "", versions)]
    try:
        read = Article.from_document(article)
    except UnreadableDocument as error:
        return [Difference("unreadable", source_id, str(error), "", (article["_etag"],))]
    if read.deleted_at is not None:
        return []
    found: list[Difference] = []

    def differs(kind: Kind, detail: str, *more: Document) -> None:
        found.append(Difference(kind, source_id, detail, "", _versions([article, *more])))

    for key, own in article["source_attribution"].items():
        scraped_at = own.get("scraped_at")
        if not own.get("revision") or not scraped_at or scraped_at <= format_time(now - SURELY_KEPT):
            continue
        observed = by_id.get(observation_id(key, scraped_at))
        if observed is None:
            differs("observation_missing", f"of the source {key}, first seen at {scraped_at}")
        elif observed.get("deleted_at") is None and (wrong := _unlike(own, observed)):
            differs("attribution_differs", f"of the source {key}: {', '.join(wrong)}", observed)
    canonical = article["canonical"]
    shown = article["source_attribution"].get(canonical["source"])
    if shown is not None and shown.get("revision") and canonical["revision"] != shown["revision"]:
        differs("attribution_differs", f"of the source {canonical['source']}: canonical.revision")
    if not read.has_further_sources:
        for key in sorted({each["source"] for each in observations} - set(read.sources)):
            differs("source_not_listed", f"{key} has an observation")
    if is_unanalysed(read):
        differs("analysis_not_due", f"the article is {read.status}, as of {read.analyzed_revision}")
    return found


def is_unanalysed(article: Article) -> bool:
    """Whether no analysis of the present reading was made, given up or is due. Earlier versions gave up the analysis of
    an edit without a trace in the status: such articles are found too."""
    if article.deleted_at is not None or article.analysis_due_since is not None:
        return False
    if article.status != "analyzed":
        return article.status == "pending"
    known = article.analyzed_revision
    return known is not None and known != article.canonical.revision


def is_at_rest(article: Document) -> bool:
    """Whether the article was analysed and its analysis is not due, so that its mentions are as they should be."""
    due = article.get("analysis_due_since") is not None
    return article.get("status") == "analyzed" and not due and article.get("deleted_at") is None


def judge_detected(
    article: Document, mentions: Mapping[str, Document | None], active: Collection[str]
) -> list[Difference]:
    """The tools that an article at rest names, against its mentions by tool. Only tools in `active` have mentions."""
    found = []
    for tool_id in article.get("detected_tool_ids", ()):
        mention = mentions.get(tool_id)
        if tool_id in active and (mention is None or mention.get("removed_at") is not None):
            versions = (article["_etag"], None if mention is None else mention["_etag"])
            found.append(
                Difference("mention_missing", article["source_id"], f"of the tool {tool_id}", tool_id, versions)
            )
    return found


def judge_mention(mention: Document, article: Document | None, now: datetime) -> list[Difference]:
    """A counting mention against its article."""
    tool_id, source_id = mention["tool_id"], mention["id"]
    if mention.get("removed_at") is not None:
        return []
    kind: Kind
    if article is None:
        # `published_at` is never later than the creation of the article.
        if mention["published_at"] <= format_time(now - SURELY_KEPT):
            return []
        kind = "mention_without_article"
    elif article.get("deleted_at") is not None:
        kind = "mention_of_deleted_article"
    elif is_at_rest(article) and tool_id not in article.get("detected_tool_ids", ()):
        kind = "mention_not_detected"
    else:
        return []
    versions = _versions([mention, *([] if article is None else [article])])
    return [Difference(kind, source_id, f"of the tool {tool_id}", tool_id, versions)]


def judge_correction(correction: Correction, mention: Document | None, article: Document | None) -> list[Difference]:
    """A verdict on a mention against the mention of an article at rest. A removed mention may be deleted already. What
    other words have outdated is no difference."""
    if article is None or mention is None or not is_at_rest(article) or mention.get("removed_at") is not None:
        return []
    applied, revision = mention.get("verdict"), article["canonical"].get("revision")
    if not correction.is_active:
        is_wrong = applied is not None
    elif correction.verdict == "not_this_tool":
        is_wrong = True
    else:
        is_wrong = applied != correction.verdict and correction.revision == mention.get("revision") == revision
    if not is_wrong:
        return []
    detail = f"of the tool {correction.tool_id}: {correction.verdict} by the correction, {applied} in the mention"
    versions = (correction.stored_etag, *_versions([mention, article]))
    return [Difference("correction_not_applied", correction.source_id or "", detail, correction.tool_id, versions)]


def judge_hours(
    tool_id: str,
    counted: Mapping[str, Table],
    in_timeline: Mapping[str, Sequence[int]],
    tables: Mapping[str, Table],
    versions: tuple[str | None, ...] = (),
) -> list[Difference]:
    """The timeline and the hour tables against a count of the mentions by hour and minute."""
    found = []
    for hour in sorted({*counted, *in_timeline, *tables}):
        minutes = {minute: list(each) for minute, each in counted.get(hour, {}).items() if any(each)}
        right = numbers_of(total(minutes.values()))
        stored = list(in_timeline.get(hour, ZEROS))
        table = {minute: list(each) for minute, each in tables.get(hour, {}).items() if any(each)}
        if stored != right or table != minutes:
            by_minute = _mentions(total(table.values())) if table else 0
            detail = f"{hour}: {_mentions(right)} counted, {_mentions(stored)} in the timeline, {by_minute} by minute"
            found.append(Difference("hour_differs", tool_id, detail, hour, versions))
    return found


def judge_analyzers(
    tool_id: str,
    counted: Mapping[str, MinutesOfAnalyzers],
    in_timeline: Mapping[str, Collection[str]],
    tables: Mapping[str, MinutesOfAnalyzers],
    versions: tuple[str | None, ...] = (),
) -> list[Difference]:
    """The analyzers in the timeline and the hour tables against those of the mentions by hour."""
    found = []
    for hour in sorted({*counted, *in_timeline, *tables}):
        right, stored = counted.get(hour, {}), sorted(in_timeline.get(hour, ()))
        if stored != sorted(right) or tables.get(hour, {}) != right:
            names = ", ".join(sorted(right)) or "none"
            detail = f"{hour}: judged by {names}, by {', '.join(stored) or 'none'} in the timeline"
            found.append(Difference("hour_differs", tool_id, detail, hour, versions))
    return found


def judge_rows(
    tool_id: str,
    counted: Mapping[str, HourRows | None],
    tables: Mapping[str, HourRows | None],
    versions: tuple[str | None, ...] = (),
) -> list[Difference]:
    """The rows of the hour tables against those of the mentions by hour."""
    wrong = [hour for hour in sorted({*counted, *tables}) if counted.get(hour, {}) != tables.get(hour, {})]
    detail = "stories, publishers or sources are not those of the mentions"
    return [Difference("hour_differs", tool_id, f"{hour}: {detail}", hour, versions) for hour in wrong]


def judge_stories(tool_id: str, differing: Sequence[str]) -> list[Difference]:
    """`differing` are the stories whose hours in the story tables are not those in the hour tables."""
    if not differing:
        return []
    detail = f"{len(differing)} stories differ from the hour tables: {', '.join(sorted(differing)[:3])}"
    return [Difference("windows_differ", tool_id, detail)]


def judge_days(
    tool_id: str, sums: Mapping[str, Tally], hours: TimelineHours, versions: tuple[str | None, ...] = ()
) -> list[Difference]:
    """The sums that a timeline stores of its days against their hours."""
    found = []
    for day, stored in sums.items():
        right = total([hours.numbers(f"{day}{hour:02}") for hour in range(HOURS)])
        if right != stored:
            detail = f"{day}: {_mentions(right)} counted, {_mentions(stored)} in the sum of the day"
            found.append(Difference("hour_differs", tool_id, detail, day, versions))
    return found


def judge_windows(tool_id: str, stored: Windows | None, right: Windows, etag: str | None) -> list[Difference]:
    """The stored windows against the same windows, summed from the timeline and the hour tables."""
    if stored is None:
        wrong = ["not readable"]
    else:
        names = ("whole_hours", "minutes", "recounts", "made_at")
        wrong = [name for name in names if _plain(getattr(stored, name)) != _plain(getattr(right, name))]
        wrong += [name for name in ("analyzers", "breadth") if getattr(stored, name) != getattr(right, name)]
    if not wrong:
        return []
    return [Difference("windows_differ", tool_id, ", ".join(wrong), "", (etag,))]


def judge_entry(
    entry: SentimentCacheEntry, right: Tally, breadth: Breadth | None, analyzers: tuple[str, ...]
) -> list[Difference]:
    """A cache entry against the counts, the breadth and the analyzers of its window. Entries that an earlier version
    stored have no breadth."""
    positive, negative, neutral = percentages(right.positive, right.negative, right.neutral)
    shares = {"positive_percentage": positive, "negative_percentage": negative, "neutral_percentage": neutral}
    broad = shown(right, breadth) if entry.verdict is not None else {}
    wrong = [
        f"{name} is {getattr(entry, name)}, not {value}"
        for name, value in {**right.figures(), **shares, **broad, "analyzers": analyzers}.items()
        if getattr(entry, name) != value
    ]
    if not wrong:
        return []
    return [Difference("entry_differs", entry.tool_id, f"{entry.period}: {'; '.join(wrong)}", "", (entry.stored_etag,))]


def judge_feed_total(feed: Feed, counted: int, now: datetime) -> list[Difference]:
    """The total of a feed against its observations that are stored. Those of an older feed may have expired."""
    total_, young = feed.total_articles_fetched, feed.created_at > now - SURELY_KEPT
    if counted == total_ or (counted < total_ and not young):
        return []
    detail = f"{counted} articles counted, {total_} in the feed"
    return [Difference("feed_total_differs", feed.feed_id, detail, str(counted), (feed.stored_etag,))]


def judge_run(run: IngestionBatch, created: int, joined: int) -> list[Difference]:
    """The figures of a run that has ended against the observations that its attempts added."""
    if run.metrics is None:
        return []
    stored = run.metrics.articles_stored, run.metrics.collisions_detected
    wrong = []
    if stored != (created, joined):
        wrong.append(f"{created} articles created and {joined} joined, {stored[0]} and {stored[1]} in the run")
    if run.attempts:
        attempts = tuple(
            sum(int(each.get(name) or 0) for each in run.attempts)
            for name in ("articles_stored", "collisions_detected")
        )
        if attempts != (created, joined):
            wrong.append(f"{attempts[0]} and {attempts[1]} in its attempts")
    if not wrong:
        return []
    return [Difference("run_figures_differ", run.run_id, "; ".join(wrong), "", (run.stored_etag,))]


def is_in_flight(feed: Document) -> bool:
    """Whether attempts at the feed have begun, and what they added may not be counted yet."""
    return feed.get("current_attempt") is not None or bool(feed.get("interrupted_attempts"))


def _unlike(attribution: Mapping[str, Any], observed: Document) -> list[str]:
    fields = {"revision": "revision", "url": "url", "original_headline": "headline", "article_id": "article_id"}
    return [name for name, other in fields.items() if attribution.get(name) != observed.get(other)]


def _versions(documents: Iterable[Document]) -> tuple[str | None, ...]:
    return tuple(each.get("_etag") for each in documents)


def _mentions(numbers: Sequence[int]) -> int:
    return sum(numbers[:3]) + sum(numbers[4:])


def _plain(value: Any) -> Any:
    """Counts without those that are 0, which may be stored or absent."""
    if not isinstance(value, Mapping):
        return value
    tables = {key: _plain(each) if isinstance(each, Mapping) else list(each) for key, each in value.items()}
    return {key: each for key, each in tables.items() if (any(each) if isinstance(each, list) else each)}
