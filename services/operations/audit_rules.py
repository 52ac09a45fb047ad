"""What must agree in the stored documents: the rules of the audit. Pure.

A rule compares documents that were read, and returns differences. It passes over what is in flight (an analysis that is
due) and what cannot be known any more (documents that may have expired).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from models.article import ARTICLE_KEPT, Article
from models.cache import SentimentCacheEntry, percentages
from models.correction import Correction
from models.errors import UnreadableDocument
from models.tally import Tally
from models.timeline import HourRows
from models.values import format_time
from services.articles.sources import observation_id
from services.figures.breadth import UNKNOWN
from services.figures.counting import Count
from services.ports import Document

DifferenceKind = Literal[
    "unreadable",
    "article_missing",
    "observation_missing",
    "attribution_differs",
    "analysis_not_due",
    "mention_missing",
    "mention_unfounded",
    "correction_not_applied",
    "hour_differs",
    "entry_differs",
]

SURELY_KEPT = ARTICLE_KEPT - timedelta(days=1)
"""What is younger cannot have expired, nor can what was stored with it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two documents that do not agree. `subject` is the id of an article or tool, `about` the hour of an hour.
    `versions` are the ETags of the compared documents: a difference with other versions is another difference."""

    kind: DifferenceKind
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

    def differs(kind: DifferenceKind, detail: str, *more: Document) -> None:
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
    there = {each["source"] for each in observations if each.get("deleted_at") is None}
    for key in sorted(there - set(read.sources)):
        differs("attribution_differs", f"{key} has an observation, and is not listed")
    if is_unanalysed(read):
        differs("analysis_not_due", f"the article is {read.status}, as of {read.analyzed_revision}")
    return found


def is_unanalysed(article: Article) -> bool:
    """Whether no analysis of the present reading was made, given up or is due."""
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
    article: Document, mentions: Mapping[tuple[str, str], Document | None], active: Collection[str]
) -> list[Difference]:
    """The tools that an article at rest names, against its mentions by tool and article. Only tools in `active` have
    mentions."""
    found = []
    for tool_id in article.get("detected_tool_ids", ()):
        mention = mentions.get((tool_id, article["source_id"]))
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
    if article is None:
        # `published_at` is never later than the creation of the article.
        if mention["published_at"] <= format_time(now - SURELY_KEPT):
            return []
        why = "the article is gone"
    elif article.get("deleted_at") is not None:
        why = "the article is deleted"
    elif is_at_rest(article) and tool_id not in article.get("detected_tool_ids", ()):
        why = "the article does not name it"
    else:
        return []
    versions = _versions([mention, *([] if article is None else [article])])
    return [Difference("mention_unfounded", source_id, f"of the tool {tool_id}: {why}", tool_id, versions)]


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
    counted: Mapping[str, HourRows],
    in_timeline: Mapping[str, Tally],
    stored: Mapping[str, HourRows],
    version: str | None = None,
) -> list[Difference]:
    """The hours of a timeline, and the rows of the days, against a count of the mentions by hour."""
    found = []
    for hour in sorted({*counted, *in_timeline, *stored}):
        right, by_minute = Count(), Count()
        right.add_rows(counted.get(hour, {}))
        by_minute.add_rows(stored.get(hour, {}))
        tally = in_timeline.get(hour, Tally())
        if tally != right.tally or stored.get(hour, {}) != counted.get(hour, {}):
            detail = f"{right.mentions} counted, {tally.total + tally.unscored} in the timeline"
            detail = f"{hour}: {detail}, {by_minute.mentions} by minute"
            found.append(Difference("hour_differs", tool_id, detail, hour, (version,)))
    return found


def judge_entry(entry: SentimentCacheEntry, figures: Mapping[str, Any]) -> list[Difference]:
    """A cache entry against the figures of its window; one that has no verdict, without what follows from stories."""
    sentiments = ("positive", "negative", "neutral")
    shares = percentages(*(figures[f"{name}_count"] for name in sentiments))
    right = {**figures, **{f"{name}_percentage": share for name, share in zip(sentiments, shares, strict=True)}}
    stored = entry.to_document()
    wrong = [
        f"{name} is {stored.get(name)}, not {value}"
        for name, value in right.items()
        if stored.get(name) != value and (entry.verdict is not None or name not in UNKNOWN)
    ]
    if not wrong:
        return []
    return [Difference("entry_differs", entry.tool_id, f"{entry.period}: {'; '.join(wrong)}", "", (entry.stored_etag,))]


def _unlike(attribution: Mapping[str, Any], observed: Document) -> list[str]:
    known = {"headline": attribution.get("original_headline"), **attribution}
    return [name for name in ("revision", "url", "headline", "article_id") if known.get(name) != observed.get(name)]


def _versions(documents: Iterable[Document]) -> tuple[str | None, ...]:
    return tuple(each.get("_etag") for each in documents)
