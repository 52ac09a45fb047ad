"""Splits a link off an article, and takes it back.

The article keeps the pin (`split_links`): entries with such a link go to the article that it names, and no further
source joins by headline and day alone. First the observations are in the article that they go to, then they leave the
other one: doing it again after a crash, or after another worker wrote to one of the two, has the same result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from models.article import Article, ArticleDocument, AttributionDocument, ObservationDocument, source_id
from models.errors import ChangedMeanwhile, Conflict, NotFound
from models.locator import locator_key
from models.values import format_time, parse_time
from services.articles.identity import Source, SourceAttempt, dedup_key, locator_identities
from services.articles.matching import split_links
from services.articles.merge import in_place_of, new_article, observation_tombstone, tombstone, union, with_attributions
from services.articles.sources import attribution_of, observations_of
from services.parse.urls import link_of
from services.ports import Clock, Create, Document, Operation, Replace, Store, Upsert
from services.store.change import Key, change_many, until_unchanged
from services.store.containers import ARTICLES, LOCATORS

_KEPT = ("source_priority", "joined_by")
"""What the article itself knows better of a source than the observations: a priority that was changed since, and that
a person made the source an article of its own."""

Attributions = dict[str, AttributionDocument]
Observations = Sequence[ObservationDocument]


@dataclass(frozen=True, slots=True)
class Parts:
    """An article with its observations, by source and day."""

    article: ArticleDocument
    observations: Observations

    def attributions(self) -> Attributions:
        found: Attributions = {}
        for key, own in groupby(self.observations, key=lambda each: each["source"]):
            listed = self.article["source_attribution"].get(key, {})
            kept = {name: value for name, value in listed.items() if name in _KEPT}
            found[key] = {**attribution_of(list(own)), **kept}
        return found


def with_link(known: Mapping[str, AttributionDocument], link: str) -> set[str]:
    """The sources whose entry has the link."""
    return {key for key, each in known.items() if link_of(each["url"]) == link}


def id_with_link(article: ArticleDocument, link: str) -> str:
    """The article that entries with this headline, day and link are."""
    return source_id(dedup_key(article["normalized_headline"], date.fromisoformat(article["timestamp"][:10]), link))


def moved(
    left: Parts, joined: Parts | None, to: str, leaving: Collection[str], time: str, *, is_split: bool
) -> tuple[Parts, Parts]:
    """Both articles after the sources `leaving` went from `left` to the article with the id `to`: that article, and
    `left`, which is a tombstone if none of its sources stayed. `is_split`: a person made them an article of their own,
    else they return."""
    own = left.attributions()
    moving = {key: _as_moved(each, key, left, is_split=is_split) for key, each in own.items() if key in leaving}
    links = {link_of(each["url"]): to for each in moving.values()}
    observations = [each for each in left.observations if each["source"] in leaving]
    there: Attributions = {}
    if joined is None or joined.article.get("deleted_at"):
        (key, first), *_ = moving.items()  # the article of the link, as if this source had created it
        at, source = parse_time(first["crawl_timestamp"]), Source(key, key, first["source_priority"])
        article = new_article(to, first, SourceAttempt(source, first["added_by_run"], 1, at))
        article |= {"normalized_headline": left.article["normalized_headline"], "url_in_key": True}
        article["analysis_due_since"] = time
        if "published_flag" in observations[0]:
            article["published_flag"] = observations[0]["published_flag"]
        if joined is not None:
            article["tool_ids_ever_detected"] = joined.article.get("tool_ids_ever_detected", [])
            article["grouping_corrections"] = joined.article.get("grouping_corrections", [])
    else:
        article = _with_pins(joined.article, {}, gone=links)
        observations = _with_those(joined.observations, observations, to)
        there = Parts(article, observations).attributions()
        moving = {key: {**there[key], **{name: each[name] for name in _KEPT}} for key, each in moving.items()}
    staying = [each for each in left.observations if each["source"] not in leaving]
    present = Parts(_with_pins(left.article, links), staying)
    return (
        _rebuilt(Parts(article, observations), {**there, **moving}, time),
        _rebuilt(present, {key: each for key, each in own.items() if key not in leaving}, time),
    )


def _as_moved(own: AttributionDocument, key: str, left: Parts, *, is_split: bool) -> AttributionDocument:
    """A source that returns has the rule by which it was in the article before."""
    observed = next((each.get("joined_by") for each in left.observations if each["source"] == key), None)
    return {**own, "joined_by": "person" if is_split else observed}


def _with_pins(article: ArticleDocument, links: Mapping[str, str], gone: Iterable[str] = ()) -> ArticleDocument:
    """The article with pins for these links, and without those in `gone`."""
    pins = {link: to for link, to in split_links(article).items() if link not in gone} | dict(links)
    after = article.copy()
    after.pop("split_links", None)
    if pins:
        after["split_links"] = pins
    return after


def _with_those(there: Observations, coming: Observations, to: str) -> list[ObservationDocument]:
    """The observations of an article with those that come to it. Of two of one source and day, the later one: an entry
    may have been ingested while the split was under way."""
    found = {each["id"]: each for each in there}
    for each in coming:
        known = found.get(each["id"], each)
        found[each["id"]] = in_place_of(each, known if known["scraped_at"] > each["scraped_at"] else each)
    return [found[name] for name in sorted(found)]


def _rebuilt(stored: Parts, known: Attributions, time: str) -> Parts:
    """The article with these sources, and what follows from their observations; its analysis and grouping are due. Its
    time and first headline stay."""
    if not known:
        emptied = tombstone(Article.from_document(stored.article), parse_time(time))
        return Parts(emptied.to_document(), ())
    article = with_attributions(stored.article, known, time)
    shown = article["canonical"]["observation_id"]
    article["text_for_analysis"] = next((each.get("text") for each in stored.observations if each["id"] == shown), None)
    article["tags"] = union(*(each.get("tags", ()) for each in stored.observations))
    article["matched_tickers"] = union(*(each.get("tickers", ()) for each in stored.observations))
    article.setdefault("analysis_due_since", time)
    article["grouping_due_since"] = time
    article.pop("analyzed_revision", None)  # a worker that has died since may have written mentions of another reading
    if article["status"] == "error":
        article["status"], article["analysis_attempts"] = "pending", 0
    return Parts(article, [{**each, "source_id": article["source_id"]} for each in stored.observations])


_BATCH = 100


@dataclass(frozen=True, slots=True)
class ArticleSplits:
    """Writes splits of articles."""

    store: Store
    clock: Clock

    async def target(self, article_id: str, source: str) -> str:
        """The id of the article that the source becomes. Raises NotFound if the source is not in the article, and
        Conflict if its link does not tell it from the others."""
        left = await self._served(article_id)
        known = left.attributions()
        if source not in known:
            raise NotFound(f"source: {source} is not in the article {article_id}")
        if len(known) == 1:
            raise Conflict(f"source: {source} is the only source of the article")
        link = link_of(known[source]["url"])
        to = id_with_link(left.article, link)
        if to == article_id or len(with_link(known, link)) == len(known):
            raise Conflict(f"source: the article has no other link than that of {source}")
        try:
            await self._read(to, article_id)
        except NotFound:
            raise Conflict(f"source: the article with the link of {source} was deleted") from None
        return to

    async def split(self, article_id: str, to: str, source: str) -> None:
        """Moves the source, with all that have its link, to the article `to`. Doing it again changes nothing."""

        async def once() -> None:
            left = await self._served(article_id)
            known = left.attributions()
            links = {link for link, pin in split_links(left.article).items() if pin == to}
            if source in known:
                links.add(link_of(known[source]["url"]))
            if not links:
                raise NotFound(f"source: {source} is not in the article {article_id}")
            if leaving := set().union(*(with_link(known, each) for each in links)):
                await self._move(left, to, leaving, is_split=True)

        await until_unchanged(once, f"article {article_id}")
        await self._lead_locators(article_id, to)

    async def take_back(self, article_id: str, to: str) -> None:
        """Returns all sources of the article `to`. Doing it again changes nothing."""

        async def once() -> None:
            await self._served(article_id)
            left = await self._served(to, article_id)
            if left.observations:
                await self._move(left, article_id, left.attributions().keys(), is_split=False)

        await until_unchanged(once, f"article {article_id}")
        await self._lead_locators(to, article_id)

    async def _move(self, left: Parts, to: str, leaving: Collection[str], *, is_split: bool) -> None:
        """Writes both articles. Raises ChangedMeanwhile if another worker wrote one of them: what was ingested
        meanwhile is to be moved too."""
        joined, time = await self._read(to, left.article["source_id"]), format_time(self.clock())
        joined_after, left_after = moved(left, joined, to, leaving, time, is_split=is_split)
        gone: list[Operation] = [
            Upsert(observation_tombstone(each, time)) for each in left.observations if each["source"] in leaving
        ]
        try:
            await self._write(joined, joined_after)
            await self._write(left, left_after, gone)
        except Conflict as error:
            raise ChangedMeanwhile(str(error)) from error

    async def _write(self, before: Parts | None, after: Parts, more: Collection[Operation] = ()) -> None:
        known = {each["id"]: each for each in before.observations} if before is not None else {}
        changed = [Upsert(each) for each in after.observations if each != known.get(each["id"])]
        article = Create(after.article) if before is None else Replace(after.article, before.article["_etag"])
        operations = [article, *changed, *more]  # its ETag decides a race; after a crash the observations are moved
        for start in range(0, len(operations), _BATCH):
            part = operations[start : start + _BATCH]
            await self.store.batch(ARTICLES.name, after.article["source_id"], part)

    async def _lead_locators(self, left: str, joined: str) -> None:
        """Lets the locators of the entries that have moved lead to the article that they are in."""

        def led(key: Key, found: Document | None) -> Document | None:
            return {**found, "source_id": joined} if found is not None and found.get("source_id") == left else None

        names = {
            locator_key(each["source"], identity)
            for each in await observations_of(self.store, joined)
            for identity in locator_identities(each["article_id"])
        }
        await change_many(self.store, LOCATORS.name, [(each, each) for each in sorted(names)], led)

    async def _served(self, source_id: str, other: str = "") -> Parts:
        found = await self._read(source_id, other)
        if found is None:
            raise NotFound(f"article: {source_id} has expired")
        return found

    async def _read(self, source_id: str, other: str = "") -> Parts | None:
        """None if there is no such article. Raises NotFound for one that was deleted, but not for one that is empty
        since its sources have returned to the article `other`."""
        found: Document | None = await self.store.read(ARTICLES.name, source_id, Article.ID)
        if found is None:
            return None
        if found.get("deleted_at") and other not in split_links(found).values():
            raise NotFound(f"article: {source_id} was deleted")
        return Parts(found, await observations_of(self.store, source_id))
