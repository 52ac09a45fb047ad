"""The documents of grouped articles: what is stored of an article, and the story that its members make. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from models.article import Article
from models.story import Reason, Story, StoryMember, first_article
from models.values import parse_time
from services.articles.words import all_words
from services.mentions.understanding import published_at
from services.parse.publisher_id import counted_publisher
from services.ports import Document
from services.stories.grouping import Constraints, Decision, Known
from services.stories.signature import Signature, signature_of
from services.stories.topics import topics_of, topics_of_story

MOST_LISTED = 100
"""The publishers, tools and sources that a story lists."""
MOST_WORDS = 1000
"""The words by which a story is found."""
_SAID = ("apart_from", "together_with", "different_from", "same_as")
_TOLD_BY_WORDS = ("story_reason", "near_duplicate_reason", "words", "topics")


def day_of_time(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def signed(article: Article) -> Signature:
    reading = article.canonical
    attribution = article.source_attribution.get(reading.source)
    return signature_of(
        reading.headline,
        article.text_for_analysis or "",
        published_at(article),
        article.language or "",
        article.publisher_id or "",
        (reading.publisher, attribution.source_name if attribution else None),
    )


def known(document: Document) -> Known:
    """What the grouping needs of a stored member. Raises KeyError, TypeError or ValueError for another document."""
    said = {name: document[name] for name in _SAID if document.get(name)}
    return Known(
        document["source_id"],
        parse_time(document["published_at"]),
        Signature.from_document(document["signature"]),
        Constraints(**said),
        None if document.get("event_id") is None else _decision(document),
    )


def _decision(document: Document) -> Decision:
    event = document["event_id"]
    return Decision(
        event,
        document.get("opening") or first_article(event),
        _reason(document.get("story_reason")),
        document.get("near_duplicate_of"),
        _reason(document.get("near_duplicate_reason")),
    )


def _reason(document: Mapping[str, Any] | None) -> Reason | None:
    return None if document is None else Reason.model_validate(document)


def member_of(article: Article, after: Known, before: Document | None, now: datetime) -> Document:
    """The member of an article that was grouped: `after` is its decision."""
    member = StoryMember(
        created_at=created_at(before, now),
        updated_at=now,
        ttl_timestamp=article.ttl_timestamp,
        day=day_of_time(after.published_at),
        source_id=article.source_id,
        published_at=after.published_at,
        revision=article.canonical.revision,
        language=article.language,
        publisher_id=article.publisher_id,
        signature=after.signature.document(),
        detected_tool_ids=article.detected_tool_ids,
        article_sources=article.sources,
        words=all_words((article.headline, article.canonical.headline)),
        topics=topics_of(article.canonical.headline),
    )
    said = {name: dict(getattr(after.constraints, name)) for name in _SAID}
    return member.changed(now, **said, **decided_fields(after.decision)).to_document()


def created_at(before: Document | None, now: datetime) -> datetime:
    """When the document was created; now if there is none, or if it cannot be read."""
    try:
        return now if before is None else parse_time(before["created_at"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return now


def decided_fields(decision: Decision | None) -> dict[str, Any]:
    assert decision is not None, "a member is stored once it was decided"
    return {
        "event_id": decision.event_id,
        "opening": decision.opening,
        "story_reason": decision.story_reason,
        "near_duplicate_of": decision.near_duplicate_of,
        "near_duplicate_reason": decision.near_duplicate_reason,
    }


def without_words(document: Document, time: str) -> Document:
    """The member of a deleted article: where it stood, without any word of it."""
    signature = Signature.from_document(document["signature"])
    texts = [each.name for each in fields(Signature) if isinstance(getattr(signature, each.name), tuple)]
    empty: dict[str, Any] = {**dict.fromkeys(texts, ()), "keys": signature.keys}
    bare = replace(signature, **empty)
    left = {name: value for name, value in document.items() if name not in _TOLD_BY_WORDS}
    return {**left, "signature": bare.document(), "removed_at": time, "updated_at": time}


def story_of(event: str, members: Sequence[Document], headline: str, before: Document | None, now: datetime) -> Story:
    """The story that these members make, at least two of them. `headline` is that of its first article."""
    ordered = sorted(members, key=lambda each: (each["published_at"], each["source_id"]))
    expiries = [each["ttl_timestamp"] for each in members if each.get("ttl_timestamp") is not None]
    publishers = _distinct(map(publisher_of_member, ordered))
    return Story(
        created_at=created_at(before, now),
        updated_at=now,
        ttl_timestamp=min(expiries, default=None),
        day=ordered[0]["day"],
        event_id=event,
        headline=headline,
        published_at=ordered[0]["published_at"],
        timestamp=ordered[-1]["published_at"],
        language=ordered[0].get("language"),
        article_count=len(ordered),
        near_duplicate_count=sum(each.get("near_duplicate_of") is not None for each in ordered),
        publisher_ids=publishers[:MOST_LISTED],
        publisher_count=len(publishers),
        tool_ids=_distinct(tool for each in ordered for tool in each.get("detected_tool_ids", ()))[:MOST_LISTED],
        sources=_distinct(source for each in ordered for source in each.get("article_sources", ()))[:MOST_LISTED],
        topics=topics_of_story([each.get("topics", ()) for each in ordered]),
        words=_distinct(word for each in ordered for word in each.get("words", ()))[:MOST_WORDS],
    )


def publisher_of_member(member: Document) -> str:
    return counted_publisher(member.get("publisher_id"), next(iter(member.get("article_sources", ())), "unknown"))


def _distinct(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value is not None))
