"""The documents of grouped articles: what is stored of an article, and the story that its members make. A story is
counted from all of its members, so its figures are right whatever happened before.

A story has topics: what its headlines name of the few things that signals tell apart, such as an outage. A topic is a
word, or words that follow each other, of a list in words.txt; words that markets use too ("down", "to buy") are no
topic by themselves. Only headlines are looked at: a text names much in passing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import get_args

from models.article import LISTED_SOURCES, Article
from models.errors import UnreadableDocument
from models.story import RemovedStory, Story, StoryMember, Topic, day_of
from models.values import parse_time
from services.articles.reading import all_words
from services.mentions.understanding import published_at
from services.parse.publisher_id import counted_publisher
from services.parse.text import words_of
from services.ports import Create, Delete, Document, Operation, Replace, Store, Upsert, readable
from services.store.change import change_together
from services.store.containers import ARTICLES, STORIES
from services.stories.grouping import Decision, Known
from services.stories.signature import Signature, signature_of
from services.stories.terms import phrases

DECIDED = ("event_id", "opening", "story_reason", "near_duplicate_of", "near_duplicate_reason")
"""The fields of a Decision, as its member has them."""
MAX_LISTED = 100
"""The publishers, tools and sources that a story lists."""
MAX_WORDS = 1000
"""The words by which a story is found."""
TOPICS: tuple[Topic, ...] = get_args(Topic)
_STORED_ONLY = ("_etag", "_ts", "created_at", "updated_at")
_PHRASES = {topic: tuple(f" {each} " for each in phrases(f"topic {topic}")) for topic in TOPICS}


def day_of_time(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()


def signed(article: Article) -> Signature:
    reading = article.canonical
    attribution = article.source_attribution.get(reading.source)
    return signature_of(
        reading.headline,
        article.text_for_analysis or "",
        published_at(article),
        article.publisher_id or "",
        (reading.publisher, attribution.source_name if attribution else None),
    )


def known(document: Document) -> Known:
    """What the grouping needs of a stored member: its decision has no reasons. Raises UnreadableDocument."""
    try:
        event, opening, decision = document.get("event_id"), document.get("opening"), None
        if event is not None and opening is not None:
            day_of(event)
            decision = Decision(event, opening, near_duplicate_of=document.get("near_duplicate_of"))
        signature = Signature.from_document(document["signature"])
        return Known(document["source_id"], parse_time(document["published_at"]), signature, decision=decision)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        address = f"{document.get('day')} / {document.get('id')}"
        raise UnreadableDocument("StoryMember", address, str(error)) from error


def member_of(article: Article, after: Known, before: Document | None, now: datetime) -> Document:
    """The member of an article that was grouped: `after` is its decision."""
    assert after.decision is not None, "a member is stored once it was decided"
    member = StoryMember(
        created_at=created_at(before, now),
        updated_at=now,
        ttl_timestamp=article.ttl_timestamp,
        day=day_of_time(after.published_at),
        source_id=article.source_id,
        published_at=after.published_at,
        language=article.language,
        publisher_id=article.publisher_id,
        signature=after.signature.document(),
        detected_tool_ids=article.detected_tool_ids,
        article_sources=article.sources[:LISTED_SOURCES],
        words=all_words((article.headline, article.canonical.headline)),
        topics=topics_of(article.canonical.headline),
        **{name: getattr(after.decision, name) for name in DECIDED},
    )
    return member.to_document()


def created_at(before: Document | None, now: datetime) -> datetime:
    """When the document was created; now if there is none, or if it cannot be read."""
    try:
        return now if before is None else parse_time(before["created_at"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return now


def story_of(
    event: str, members: Sequence[StoryMember], headline: str, before: Document | None, now: datetime
) -> Story:
    """The story that these members make. `headline` is that of its first article."""
    ordered = sorted(members, key=lambda each: (each.published_at, each.source_id))
    expiries = [each.ttl_timestamp for each in members if each.ttl_timestamp is not None]
    publishers = _distinct([map(publisher_of_member, ordered)])
    return Story(
        created_at=created_at(before, now),
        updated_at=now,
        ttl_timestamp=min(expiries, default=None),
        day=day_of(event),
        event_id=event,
        headline=headline,
        published_at=ordered[0].published_at,
        timestamp=ordered[-1].published_at,
        language=ordered[0].language,
        article_count=len(ordered),
        near_duplicate_count=sum(each.near_duplicate_of is not None for each in ordered),
        publisher_ids=publishers[:MAX_LISTED],
        publisher_count=len(publishers),
        tool_ids=_distinct([each.detected_tool_ids for each in ordered])[:MAX_LISTED],
        sources=_distinct([each.article_sources for each in ordered])[:MAX_LISTED],
        topics=topics_of_story([each.topics for each in ordered]),
        words=_distinct([each.words for each in ordered])[:MAX_WORDS],
    )


def publisher_of_member(member: StoryMember) -> str:
    return counted_publisher(member.publisher_id, next(iter(member.article_sources), "unknown"))


def _distinct(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(lists)))


def topics_of(headline: str) -> tuple[Topic, ...]:
    """The topics of a headline, in the order of TOPICS."""
    text = f" {' '.join(words_of(headline))} "
    return tuple(topic for topic in TOPICS if any(phrase in text for phrase in _PHRASES[topic]))


def topics_of_story(of_articles: Sequence[Collection[str]]) -> tuple[Topic, ...]:
    """The topics of at least half of the articles."""
    counts = Counter(chain.from_iterable(of_articles))
    return tuple(topic for topic in TOPICS if counts[topic] and 2 * counts[topic] >= len(of_articles))


async def count_story(
    store: Store, event_id: str, members: Sequence[StoryMember], known: Document | None, now: datetime
) -> None:
    """Writes the story that these members make; a story of fewer than two has no document. `known` is the stored one,
    as the caller has read it."""
    headline = await _headline(store, members) if len(members) > 1 else None

    def decide(found: Sequence[Document | None]) -> Sequence[Operation]:
        before = found[0]
        if headline is None:
            gone = RemovedStory(created_at=now, day=day_of(event_id), event_id=event_id, removed_at=now)
            return [] if before is None else [Upsert(gone.to_document()), Delete(before["id"], before["_etag"])]
        after = story_of(event_id, members, headline, before, now).to_document()
        if before is None:
            return [Create(after)]
        return [] if is_same(before, after) else [Replace(after, before["_etag"])]

    await change_together(store, STORIES.name, day_of(event_id), [event_id], decide, known=[known])


async def _headline(store: Store, members: Sequence[StoryMember]) -> str | None:
    """The headline of the first article; null if it has expired, or if it was deleted a moment ago."""
    first = min(members, key=lambda each: (each.published_at, each.source_id))
    article = readable(await store.read(ARTICLES.name, first.source_id, Article.ID), Article.from_document)
    return None if article is None or article.deleted_at is not None else article.canonical.headline


def is_same(before: Document, after: Document) -> bool:
    """Whether both have the same content, whenever they were written."""
    return {k: v for k, v in before.items() if k not in _STORED_ONLY} == {
        k: v for k, v in after.items() if k not in _STORED_ONLY
    }
