"""A source whose priority was changed: what is stored of it is read as if it had always had the present one.

Articles keep a copy of their sources' priorities, so that choosing a reading reads nothing else. The copies of what is
taken in while the change is made are right too: whoever takes it in looks at the feed once more (intake.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from models.article import Article, ArticleDocument
from models.errors import Unavailable, UnreadableDocument
from models.feed import Feed
from models.run import JobRun
from services.articles import article_documents
from services.articles.article_documents import Moment
from services.mentions.settling import Settled, Settling
from services.mentions.works import fingerprint
from services.ports import Clock, Document, Query, Store, Where
from services.runs.workflows import Step
from services.store.containers import ARTICLES, FEEDS

PAGE = 200
ROUNDS = 20
"""Of writing articles that others write too; in each, somebody got on."""


async def priority_of(store: Store, feed_id: str) -> int | None:
    """Of a feed; None if it is gone."""
    feed = await store.read(FEEDS.name, feed_id, Feed.ID)
    return None if feed is None else Feed.from_document(feed).source_priority


class Priorities:
    """A workflow: `subject` is the feed. Pages are of its articles, by when they were published.

    It goes by the feed as it is, not as it was when the run was accepted: of two changes, the later one wins. A change
    within the run begins it anew.
    """

    def __init__(self, store: Store, settling: Settling, clock: Clock) -> None:
        self._store = store
        self._settling = settling
        self._clock = clock

    async def step(self, run: JobRun) -> Step:
        feed_id = run.subject or ""
        priority = await priority_of(self._store, feed_id)
        if priority is None:
            return Step(None)  # what it said stays as it was
        before = run.checkpoint or {}
        after = before.get("after") if before.get("priority") == priority else None
        where = (Where("sources", "contains", feed_id), Where("deleted_at", "missing"))
        query = Query(where, order="by_time", limit=PAGE, after=str(after) if after else None)
        page = await self._store.query(ARTICLES.name, query)
        articles, failed = await self._reordered(page.items, feed_id, priority)
        # Also those that a try before left rewritten, but not analysed.
        unlike = [each["source_id"] for each in articles if _reads_otherwise(each)]
        settled = await self._settling.settle(unlike) if unlike else Settled()
        counts = {"articles": len(page.items), "analyzed": len(settled.done)}
        following = page.next
        ended = following is None and await priority_of(self._store, feed_id) in (priority, None)
        checkpoint = None if ended else {"priority": priority, "after": following}
        return Step(checkpoint, len(page.items), counts, {**settled.failed, **failed})

    async def _reordered(
        self, articles: Sequence[Document], feed_id: str, priority: int
    ) -> tuple[list[Document], dict[str, str]]:
        """These articles as they are now, in the readings that count by this priority; and why some are not."""
        now = Moment(self._clock())
        done: list[Document] = []
        failed: dict[str, str] = {}
        waiting = list(articles)
        for _ in range(ROUNDS):
            changes: list[tuple[Document, str]] = []
            for article in waiting:
                try:
                    after = _prioritized(article, feed_id, priority, now)
                except (UnreadableDocument, KeyError) as error:
                    failed[article["source_id"]] = fingerprint(type(error).__name__)
                    continue
                if after is article:
                    done.append(article)
                else:
                    changes.append((await self._with_text(article, after), article["_etag"]))
            if not changes:
                return done, failed
            won = await self._store.replace_many(ARTICLES.name, changes)
            done += [after for (after, _), is_ours in zip(changes, won, strict=True) if is_ours]
            raced = [after["source_id"] for (after, _), is_ours in zip(changes, won, strict=True) if not is_ours]
            found = await self._store.read_many(ARTICLES.name, [(each, Article.ID) for each in raced])
            waiting = [each for each in found if each is not None]
        raise Unavailable(f"{len(waiting)} articles kept changing", retry_after=1.0)

    async def _with_text(self, article: Document, after: Document) -> Document:
        reading = after["canonical"]
        if reading["source"] == article["canonical"]["source"]:
            return after
        observed = await self._store.read(ARTICLES.name, article["source_id"], reading["observation_id"])
        # No figure is of it yet. That an earlier analysis was of the same reading says nothing: a try that died since
        # may have written mentions of another.
        return {
            **{name: value for name, value in after.items() if name != "analyzed_revision"},
            "text_for_analysis": observed.get("text") if observed else None,
        }


def _prioritized(article: Document, feed_id: str, priority: int, now: Moment) -> Document:
    """Itself if there is nothing to change. Raises UnreadableDocument, and KeyError where a source lacks what choosing
    among them takes."""
    read = Article.from_document(article)
    before = cast(ArticleDocument, article)
    if read.deleted_at is not None or article_documents.priority_in(before, feed_id) == priority:
        return article
    return cast(Document, article_documents.with_priority(before, feed_id, priority, now))


def _reads_otherwise(article: Document) -> bool:
    """Whether its figures are of another reading than the one that counts. What is pending has a message of its own."""
    is_analyzed = article["status"] == "analyzed" and not article.get("deleted_at")
    return is_analyzed and article.get("analyzed_revision") != article["canonical"]["revision"]
