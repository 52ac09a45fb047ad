"""A tool's history in which each article counts once for each source that published it, with what that source says of
the tool in its own words (services/mentions/own_words.py). A source whose words do not name the tool does not count.

Reads every mention with its article, which has the sources; if the article has expired, the mention counts for the one
source that it names. A mention with its article takes 0.1 ms on the embedded store and up to 0.5 ms on Cosmos DB. More
than 100,000 mentions are refused, since Azure ends an HTTP request after 230 s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from models.article import Article
from models.errors import InvalidInput
from models.mention import SentimentScore, what_it_says
from models.tally import Tally
from models.values import format_time
from services.articles.observations import further_sources
from services.figures.history import History, ToolHistory
from services.figures.points import Point, oldest_counted
from services.figures.span import Span
from services.ports import Document, Query, Store, Where, listed, pages
from services.store.containers import ARTICLES, MENTIONS

UNKNOWN_SOURCE = "unknown"
MOST_RAW_MENTIONS = 100_000
_PAGE = 1000


class RawHistory:
    def __init__(self, store: Store, history: History, most_raw_mentions: int = MOST_RAW_MENTIONS) -> None:
        self._store = store
        self._history = history
        self._most_raw_mentions = most_raw_mentions

    async def raw(self, tool_id: str, span: Span, *, asked_for: str = "days") -> ToolHistory:
        """A point for each source and step with mentions, by step, then source.

        Raises InvalidInput if the span has too many mentions, or begins before the first that is kept. `asked_for` is
        the field of the request that gives the span.
        """
        oldest = oldest_counted(span.now)
        if span.start < oldest:
            reason = "the mentions of each source are kept no longer"
            raise InvalidInput(asked_for, f"at least {format_time(oldest)} with layer=raw: {reason}")
        history = await self._history.canonical(tool_id, span)
        refuse_too_many(history.points, self._most_raw_mentions, asked_for)
        where = (
            Where("removed_at", "missing"),
            Where("published_at", "ge", format_time(span.start)),
            Where("published_at", "lt", format_time(span.end)),
        )
        unreadable: list[str] = []
        counts: dict[tuple[str, str], Tally] = {}
        analyzers: dict[tuple[str, str], set[str]] = {}
        query = Query(where, partition=tool_id, order="by_published", limit=_PAGE)
        async for page in pages(self._store, MENTIONS.name, query):
            mentions = listed(page, SentimentScore.from_document, "source_id")
            unreadable += mentions.unreadable
            keys = [(mention.source_id, Article.ID) for mention in mentions.items]
            articles = await self._store.read_many(ARTICLES.name, keys) if keys else []
            further = await further_sources(self._store, (each for each in articles if each is not None))
            for mention, article in zip(mentions.items, articles, strict=True):
                step = span.step_of(format_time(mention.published_at))
                for source, revision in (*sources_of(mention, article), *further.get(mention.source_id, ())):
                    said = what_it_says(mention, revision)
                    if said is None:
                        continue
                    tally = Tally.of(said.sentiment, said.polarity)
                    counts[step, source] = counts.get((step, source), Tally()).plus(tally)
                    analyzers.setdefault((step, source), set()).add(mention.scored_by)
        points = [
            Point(span.step, step, {**tally.figures(), "analyzers": sorted(analyzers[step, source])}, source=source)
            for (step, source), tally in sorted(counts.items())
        ]
        return replace(history, points=points, unreadable=tuple(unreadable))


def refuse_too_many(points: Sequence[Point], most: int, asked_for: str = "days") -> None:
    """Raises InvalidInput, with the largest allowed number of steps, if the points have more than `most` mentions."""
    mentions, steps_that_fit = 0, 0
    for point in reversed(points):
        mentions += point.mentions
        steps_that_fit += mentions <= most
    if mentions <= most:
        return
    allowed = f"at most {steps_that_fit}" if steps_that_fit else "none"
    if asked_for != "days":
        allowed = f"at most {steps_that_fit} {points[0].step}s before `to`" if steps_that_fit else "none"
    reason = f"these {points[0].step}s have {mentions:,} mentions of this tool, and at most {most:,} are read"
    raise InvalidInput(asked_for, f"{allowed} with layer=raw, any with layer=canonical: {reason}")


def sources_of(mention: SentimentScore, article: Document | None) -> Iterable[tuple[str, str | None]]:
    """The sources that published the article of a mention, as far as the article lists them, with their revisions."""
    sources = article.get("sources") if article is not None else None
    if article is None or not sources or not isinstance(sources, list):
        return ((mention.source or UNKNOWN_SOURCE, None),)
    attributions = article.get("source_attribution")
    known = attributions if isinstance(attributions, dict) else {}
    return [(each, (known.get(each) or {}).get("revision")) for each in sources]
