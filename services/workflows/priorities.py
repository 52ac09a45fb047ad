"""Applies a feed's changed source priority to its stored articles, as if the feed had always had the present one.

Each article keeps a copy of the priorities of its sources, so that its canonical reading can be chosen without reading
feeds. Articles that are written while a priority changes get the present one from services/articles.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from models.article import Article, ArticleDocument
from models.errors import UnreadableDocument
from models.feed import Feed
from models.run import JobRun
from models.values import format_time
from services.articles.merge import with_analysis_due, with_attributions
from services.ports import Query, Replace, Where
from services.store.change import until_unchanged
from services.store.containers import ARTICLES, FEEDS
from services.work.driver import Counted, PageResult, page_after
from services.workflows import Services

PAGE = 200


async def prioritize(of: Services, run: JobRun) -> PageResult:
    """Applies a changed priority: `subject` is the feed. The pages are the observations of the feed, which name the
    articles of which it is a source.

    Each page reads the feed's present priority, so that of two changes the later one wins. If the priority changes
    during the run, the run begins again at the first article.
    """
    feed_id = run.subject or ""
    priority = await _priority_of(of, feed_id)
    if priority is None:
        return PageResult(None)  # the feed is gone; its articles keep the priority that it had
    where = (Where("entity_type", "eq", "Observation"), Where("source", "eq", feed_id), Where("deleted_at", "missing"))
    is_same = (run.checkpoint or {}).get("priority") == priority
    query = Query(where, limit=PAGE, after=page_after(run) if is_same else None)
    page = await of.store.query(ARTICLES.name, query)
    articles: dict[str, ArticleDocument] = {}
    failed: dict[str, str] = {}
    for source_id in dict.fromkeys(each["source_id"] for each in page.items):
        try:
            article = await until_unchanged(partial(_rewritten, of, source_id, feed_id, priority), source_id)
        except (UnreadableDocument, KeyError) as error:
            failed[source_id] = type(error).__name__
            continue
        if article is not None:
            articles[source_id] = article
    # Also those that an earlier try has rewritten before it died.
    outdated = [name for name, each in articles.items() if each.get("analysis_due_since")]
    report = await of.writer.write(outdated, invalidate=of.generations.raise_all)
    found = len(articles) + len(failed)
    counts: Counted = {"articles": found, "analyzed": len(report.done)}
    is_last = page.next is None and await _priority_of(of, feed_id) in (priority, None)
    following = {"priority": priority, "after": page.next}
    return PageResult(None if is_last else following, found, counts, {**report.failed, **failed})


async def _priority_of(of: Services, feed_id: str) -> int | None:
    """None if the feed is gone."""
    feed = await of.store.read(FEEDS.name, feed_id, Feed.ID)
    return None if feed is None else Feed.from_document(feed).source_priority


async def _rewritten(of: Services, source_id: str, feed_id: str, priority: int) -> ArticleDocument | None:
    """The article as stored with this priority; None if it is gone. Raises ChangedMeanwhile if another worker wrote
    it."""
    now = format_time(of.clock())
    article: Any = await of.store.read(ARTICLES.name, source_id, Article.ID)
    if article is None:
        return None
    after = with_present_priority(article, feed_id, priority, now)
    if after is not article:
        after = with_analysis_due(article, await _with_text(of, article, after), now)
        await of.store.batch(ARTICLES.name, source_id, [Replace(after, article["_etag"])])
    return after


async def _with_text(of: Services, article: ArticleDocument, after: ArticleDocument) -> ArticleDocument:
    """`after` with the text of its canonical reading, if its source is another than before."""
    reading = after["canonical"]
    if reading["source"] == article["canonical"]["source"]:
        return after
    observed = await of.store.read(ARTICLES.name, article["source_id"], reading["observation_id"])
    with_text: ArticleDocument = {**after, "text_for_analysis": observed.get("text") if observed else None}
    # Without `analyzed_revision` the article is analysed again even if its last analysis was of this reading: a
    # worker that has died since may have written mentions of another reading.
    with_text.pop("analyzed_revision", None)
    return with_text


def with_present_priority(article: ArticleDocument, feed_id: str, priority: int, now: str) -> ArticleDocument:
    """The article with this priority; the same object if nothing changes. Raises UnreadableDocument, and KeyError if a
    source lacks a field by which readings are chosen."""
    if Article.from_document(article).deleted_at is not None:
        return article
    own = article["source_attribution"][feed_id]
    if own["source_priority"] == priority:
        return article
    known = {**article["source_attribution"], feed_id: {**own, "source_priority": priority}}
    return with_attributions(article, known, now)
