"""Writes what entries do to their articles: locator aliases first, then articles with their observations.

An article and its observations are one atomic batch. Articles are announced to analysis once they are written. After a
crash in between, ingesting the same entries again has the same result: an alias without an article gets its article.
matching.py decides which article an entry matches, merge.py what changes in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

from models.article import LOWEST_PRIORITY, Article, ObservationDocument
from models.errors import ChangedMeanwhile, Contended
from models.feed import SHORT_TEXT, Feed, FullTextChoice
from models.locator import ALIAS_KEPT
from services import deadline
from services.articles.identity import Candidate, SourceAttempt, without_text
from services.articles.matching import (
    Articles,
    Groups,
    KnownEntries,
    Match,
    flood_of,
    grouped,
    matches_of,
    pinned,
    separated,
)
from services.articles.merge import Merged, merge
from services.articles.sources import observation_id
from services.feeds.outcome import Ingested
from services.ports import Create, Document, Operation, Replace, Store, Upsert
from services.store.change import until_unchanged
from services.store.containers import ARTICLES, FEEDS, LOCATORS

ALIAS_SECONDS = int(ALIAS_KEPT.total_seconds())


class Asked(NamedTuple):
    """An article whose full text its feed or a person asks for. `revision` is that of the entry, `expires` the
    article's `ttl_timestamp`, as `language` is the article's."""

    source_id: str
    feed_id: str
    url: str
    revision: str
    expires: int | None
    language: str | None = None
    by: Literal["FEED", "PERSON"] = "FEED"


Discover = Callable[[Sequence[Asked]], Awaitable[None]]
"""Makes the documents of these articles due. A second call for the same articles changes nothing."""


def asks(choice: FullTextChoice, text: str | None) -> bool:
    """Whether a feed with this choice asks for the full text of an entry with this text."""
    return choice == "always" or (choice == "short" and (not text or len(text) < SHORT_TEXT))


def asked_for(merged: Iterable[Merged], attempt: SourceAttempt) -> list[Asked]:
    """The articles of an attempt whose full text is asked for, also those that the attempt has not changed: an earlier
    one may have died before it asked."""
    source, found = attempt.source, dict[str, Asked]()
    for one in merged:
        article = one.article or one.before
        if article is None or article.get("deleted_at") or article["canonical"]["source"] != source.key:
            continue
        if asks(source.full_text, article.get("text_for_analysis")):
            reading = article["canonical"]
            expires, language = article.get("ttl_timestamp"), article.get("language")
            found[article["source_id"]] = Asked(
                article["source_id"], source.key, reading["url"], reading["revision"], expires, language
            )
    return list(found.values())


class Announce(Protocol):
    """Sends messages for articles whose analysis is due. `feed_id` is None if they are announced again; `before` is the
    number of articles that the same poll has announced already. Raises Unavailable."""

    async def __call__(self, source_ids: Iterable[str], feed_id: str | None = None, before: int = 0) -> None: ...


def alias(candidate: Candidate, source_id: str, attempt: SourceAttempt) -> Document:
    """The locator alias that names the article of the entry's identity."""
    document: Document = {
        "id": candidate.locator_id,
        "locator": candidate.locator_id,
        "provider": attempt.source.key,
        "locator_identity": candidate.locator,
        "source_id": source_id,
        "content_hash": candidate.entry.content_hash,
        "form_hash": candidate.entry.form_hash,
    }
    attempt.stamp(document, "LocatorAlias", ALIAS_SECONDS)
    return document


@dataclass(frozen=True, slots=True)
class Writing:
    """What the writers of all attempts share.

    `announce` is called once for the articles of a portion, `discover` for those whose full text is asked for: after a
    crash in between, the next attempt calls it again. Attempts that lost a race write `in_turn`.
    """

    store: Store
    announce: Announce
    discover: Discover
    in_turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))


@dataclass(frozen=True, slots=True)
class ArticleWriter:
    """Writes the entries of one attempt.

    `known` are the entries that the feed had lately, `present` the URLs of all entries in the feed document. `flood`
    are the candidates that are to be quarantined.
    """

    shared: Writing
    attempt: SourceAttempt
    known: KnownEntries
    present: Collection[str] = ()
    done: Ingested = field(default_factory=Ingested, init=False)
    flood: list[Candidate] = field(default_factory=list, init=False)

    async def write(self, candidates: Sequence[Candidate]) -> None:
        """Stores what is new or changed among the candidates. Each must be another form of an entry."""
        known = self.known
        aliases = await self._aliases(candidates)
        unknown = [each for each in candidates if each.locator_id not in aliases]
        flood = flood_of(unknown, known, self.attempt.source)
        # An entry that the feed knows has outlived its article if its alias has expired.
        dropped = {each.locator_id for each in (*flood, *(each for each in unknown if known.has(each.id_hash)))}
        wanted = [each for each in candidates if each.locator_id not in dropped]
        matches = matches_of(wanted, aliases, self.attempt.source, self.attempt.at)
        merged = await self._write(matches)
        merged += await self._with_changed_priority(merged)
        new = [each.matches[0].candidate for each in merged if each.is_new_to_source]
        done = self.done
        done.due |= {each.matches[0].source_id for each in merged if each.makes_analysis_due}
        done.new += len(new)
        done.created += sum(each.before is None and each.article is not None for each in merged)
        done.published += tuple(each.published for each in new if each.flag is None)
        self.flood.extend(map(without_text, flood))

    async def _aliases(self, candidates: Sequence[Candidate]) -> dict[str, Document]:
        """The aliases of the candidates' locators, by locator. That of an entry which has returned unchanged is
        renewed: it keeps the entry from becoming a new article, for as long as the source repeats it."""
        forms = {each.locator_id: each.entry.form_hash for each in candidates if not self.known.has(each.id_hash)}
        locators = list(dict.fromkeys(each.locator_id for each in candidates))
        stored = await self.shared.store.read_many(LOCATORS.name, [(each, each) for each in locators])
        aliases = {key: found for key, found in zip(locators, stored, strict=True) if found is not None}
        now = self.attempt.seconds
        renewed = [
            (key, [Replace({**each, "ttl_timestamp": now + ALIAS_SECONDS}, each["_etag"])])
            for key, each in aliases.items()
            if each["ttl_timestamp"] - now < ALIAS_SECONDS // 2 and each.get("form_hash", "") == forms.get(key)
        ]
        if renewed:  # a person's change of an alias wins
            await self.shared.store.batch_many(LOCATORS.name, renewed)
        return aliases

    async def _with_changed_priority(self, merged: Sequence[Merged]) -> list[Merged]:
        """Writes the changed articles again if the source's priority was changed while they were written.

        The workflow that applies a changed priority searches for the source's articles after the change. An article
        that is written later is found here instead.
        """
        changed = {one.matches[0].source_id: one.matches for one in merged if one.article}
        again = [match._replace(certain=True, claimed=True) for matches in changed.values() for match in matches]
        if not again:
            return []
        source = self.attempt.source
        feed = await self.shared.store.read(FEEDS.name, source.key, Feed.ID)
        priority = source.priority if feed is None else int(feed.get("source_priority", LOWEST_PRIORITY))
        if priority == source.priority:
            return []
        with_present_priority = replace(source, priority=priority)
        writer = replace(self, attempt=replace(self.attempt, source=with_present_priority))
        written = await writer._write(again)
        return written + await writer._with_changed_priority(written)

    async def _write(self, matches: Iterable[Match]) -> list[Merged]:
        """Writes the matches. Returns a Merged for each article, and another one for an article that was written
        twice."""
        groups = grouped(matches)
        articles = await known_articles(self.shared.store, groups)
        groups = await self._claimed(separated(groups, articles, self.attempt.source.key, self.present))
        groups, articles = await followed(self.shared.store, groups, articles)
        merged = await self._merged_and_written(groups, articles)
        if self.attempt.source.full_text != "never":
            await self.shared.discover(asked_for(merged, self.attempt))
        return merged

    async def _claimed(self, groups: Groups) -> Groups:
        """The groups, every locator claimed. Where another worker claimed a locator first, its article is the match."""
        wanted = [match for group in groups.values() for match in group if not match.claimed]
        if not wanted:
            return groups
        aliases = [alias(each.candidate, each.source_id, self.attempt) for each in wanted]
        created = await self.shared.store.create_many(LOCATORS.name, aliases)
        lost = [alias["id"] for alias, won in zip(aliases, created, strict=True) if not won]
        if not lost:
            return groups
        theirs = await self.shared.store.read_many(LOCATORS.name, [(each, each) for each in lost])
        claimed = {name: found for name, found in zip(lost, theirs, strict=True) if found is not None}
        return grouped(
            match
            if (found := claimed.get(match.candidate.locator_id)) is None
            else match._replace(source_id=found["source_id"], claimed_by=found["provider"])
            for group in groups.values()
            for match in group
        )

    async def _merged_and_written(self, groups: Groups, articles: Articles) -> list[Merged]:
        """Writes until nothing is left to be written."""
        done: list[Merged] = []
        waiting, known = groups, articles

        async def once() -> None:
            nonlocal waiting, known
            async with nullcontext(True) if known else deadline.turn(self.shared.in_turn) as has_turn:
                if not has_turn:
                    raise Contended("articles: other sources write them", retry_after=1.0)
                if not known:
                    waiting, known = await followed(self.shared.store, waiting, {})
                stored = await self._observations_to_replace(waiting, known)
                merged = {
                    key: merge(known[key], stored.get(key), group, self.attempt) for key, group in waiting.items()
                }
                raced = await self._written(merged)
            done.extend(one for key, one in merged.items() if key not in raced)
            waiting, known = {key: waiting[key] for key in raced}, {}
            if raced:
                raise ChangedMeanwhile(f"{len(raced)} articles were written meanwhile")

        while waiting:
            await until_unchanged(once, f"{len(waiting)} articles")
        due = dict.fromkeys(one.matches[0].source_id for one in done if one.makes_analysis_due)
        await self.shared.announce(due, self.attempt.source.key, len(self.done.due))
        return done

    async def _observations_to_replace(self, groups: Groups, articles: Articles) -> dict[str, ObservationDocument]:
        """The stored observations that an edit would replace, by article."""
        source, today = self.attempt.source.key, self.attempt.time[:10]
        keys = []
        for key, group in groups.items():
            own = (articles[key] or {}).get("source_attribution", {}).get(source)
            if own is None or own["scraped_at"][:10] != today:
                continue
            if any(own["revision"] != match.candidate.revision for match in group):
                keys.append((key, observation_id(source, today)))
        stored = await self.shared.store.read_many(ARTICLES.name, keys) if keys else []
        return {key: each for (key, _), each in zip(keys, stored, strict=True) if each is not None}

    async def _written(self, merged: Mapping[str, Merged]) -> set[str]:
        """Writes the changed articles; the ids of those that another worker wrote since they were read."""
        texts = await self._texts(merged)
        batches: list[tuple[str, list[Operation]]] = []
        for key, one in merged.items():
            if one.article is None:
                continue
            article = one.article if key not in texts else {**one.article, "text_for_analysis": texts[key]}
            written = Create(article) if one.before is None else Replace(article, one.before["_etag"])
            observed = [] if one.observation is None else [Upsert(one.observation)]
            batches.append((key, [written, *observed]))
        if not batches:
            return set()
        results = await self.shared.store.batch_many(ARTICLES.name, batches)
        return {key for (key, _), result in zip(batches, results, strict=True) if isinstance(result, Exception)}

    async def _texts(self, merged: Mapping[str, Merged]) -> dict[str, str | None]:
        """The texts of the articles whose canonical reading became another source's, which is in that source's
        observation."""
        wanted = [(key, one.text_in) for key, one in merged.items() if one.text_in is not None]
        found = await self.shared.store.read_many(ARTICLES.name, wanted) if wanted else []
        texts = zip(wanted, found, strict=True)
        return {key: stored.get("text") if stored else None for (key, _), stored in texts}


async def known_articles(store: Store, source_ids: Iterable[str]) -> Articles:
    """What is stored of these articles."""
    wanted = list(source_ids)
    if not wanted:
        return {}
    found = await store.read_many(ARTICLES.name, [(each, Article.ID) for each in wanted])
    return dict(zip(wanted, found, strict=True))


async def followed(store: Store, groups: Groups, known: Articles) -> tuple[Groups, Articles]:
    """The groups, those with links that were split off as groups of the articles that they went to; and these
    articles, read unless they are `known`."""
    while True:
        known |= await known_articles(store, groups.keys() - known.keys())
        if (after := pinned(groups, known)) is groups:
            return groups, {key: known[key] for key in groups}
        groups = after
