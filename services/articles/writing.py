"""Writes what entries do to their articles: locator aliases first, then articles with their observations, then hashes.

An article and its observations are one atomic batch. A crash between the three steps leaves a state from which the same
entries end up the same: an alias without an article is completed, an article without hashes is found by its alias.
Which article an entry matches is decided in matching.py, what changes in it in merge.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from models.article import Article, ArticleDocument
from models.errors import Unavailable
from models.observation import ObservationDocument
from services.articles import article_documents as documents
from services.articles.article_documents import Moment
from services.articles.identity import Source
from services.articles.merge import Attempt, Match, Merged, merge, other_articles
from services.ports import Create, Document, Operation, Replace, Store, Upsert
from services.store.containers import ARTICLES, LOCATORS

ROUNDS = 20
"""Tries to write an article that other workers write too. In each round, one of the workers has written."""

Groups = dict[str, list[Match]]


@dataclass(frozen=True, slots=True)
class ArticleWriter:
    """Writes the entries of one source within one attempt.

    `after_interruption`: an interrupted attempt may have written articles and not their hashes.
    """

    store: Store
    source: Source
    attempt: Attempt
    now: Moment
    hashes_kept_seconds: int
    after_interruption: bool = False

    async def write(self, matches: Iterable[Match], renewed: Sequence[Document]) -> dict[str, Merged]:
        """Writes the matches, and the `renewed` locators as they are. What became of each article, by its id.

        No two matches may have the same locator.
        """
        groups = _grouped(matches)
        articles = await self._read(groups)
        apart = [each for key, group in groups.items() for each in other_articles(articles[key], group, self.source)]
        groups = await self._claimed(_moved(groups, apart))
        articles |= await self._read(groups.keys() - articles.keys())
        merged = await self._merged_and_written(groups, articles)
        # No hash of an entry that changed nothing: a publication time that drifts would leave one at every poll.
        hashes = [
            self._hash(key, match)
            for key, one in merged.items()
            if one.before is None or one.observations or self.after_interruption
            for match in one.matches
        ]
        if hashes or renewed:
            await self.store.write_many(LOCATORS.name, [*hashes, *renewed])
        return merged

    async def _read(self, source_ids: Iterable[str]) -> dict[str, ArticleDocument | None]:
        wanted = list(source_ids)
        if not wanted:
            return {}
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in wanted])
        return dict(zip(wanted, cast("list[ArticleDocument | None]", found), strict=True))

    async def _claimed(self, groups: Groups) -> Groups:
        """The groups, every locator claimed. Where another worker claimed a locator first, its article is the match."""
        wanted = [match for group in groups.values() for match in group if not match.claimed]
        if not wanted:
            return groups
        aliases = [documents.alias(each.candidate, self.source, each.source_id, self.now) for each in wanted]
        created = await self.store.create_many(LOCATORS.name, aliases)
        lost = [alias["id"] for alias, won in zip(aliases, created, strict=True) if not won]
        if not lost:
            return groups
        theirs = await self.store.read_many(LOCATORS.name, [(each, each) for each in lost])
        claimed = {name: alias["source_id"] for name, alias in zip(lost, theirs, strict=True) if alias is not None}
        return _grouped(
            match._replace(source_id=claimed.get(match.candidate.locator_id, match.source_id))
            for group in groups.values()
            for match in group
        )

    async def _merged_and_written(
        self, groups: Groups, articles: Mapping[str, ArticleDocument | None]
    ) -> dict[str, Merged]:
        done: dict[str, Merged] = {}
        for _ in range(ROUNDS):
            observations = await self._observations_of_today(groups, articles)
            merged = {
                key: merge(articles[key], observations.get(key, {}), group, self.source, self.attempt, self.now)
                for key, group in groups.items()
            }
            raced = await self._written(merged)
            done |= {key: one for key, one in merged.items() if key not in raced}
            if not raced:
                return done
            groups = {key: groups[key] for key in raced}
            articles = await self._read(raced)
        raise Unavailable(f"{len(groups)} articles kept changing", retry_after=1.0)

    async def _observations_of_today(
        self, groups: Groups, articles: Mapping[str, ArticleDocument | None]
    ) -> dict[str, dict[str, ObservationDocument]]:
        """The stored observations that an edit would replace, by article and id."""
        name = documents.observation_id(self.source.key, self.now.text)
        keys = []
        for key, group in groups.items():
            article = articles[key]
            own = article["source_attribution"].get(self.source.key) if article is not None else None
            if own is None or own.get("scraped_at", "")[:10] != self.now.text[:10]:
                continue
            if any(own.get("revision") != match.candidate.revision for match in group):
                keys.append((key, name))
        if not keys:
            return {}
        found = cast("list[ObservationDocument | None]", await self.store.read_many(ARTICLES.name, keys))
        return {key: {name: stored} for (key, _), stored in zip(keys, found, strict=True) if stored is not None}

    async def _written(self, merged: Mapping[str, Merged]) -> set[str]:
        """Writes the changed articles; the ids of those that another worker wrote since they were read."""
        changed = await self._with_texts({key: one for key, one in merged.items() if one.article is not None})
        batches: list[tuple[str, list[Operation]]] = []
        for key, article in changed.items():
            one = merged[key]
            first = Create(article) if one.before is None else Replace(article, one.before["_etag"])
            batches.append((key, [first, *map(Upsert, one.observations)]))
        if not batches:
            return set()
        results = await self.store.batch_many(ARTICLES.name, batches)
        return {key for (key, _), result in zip(batches, results, strict=True) if isinstance(result, Exception)}

    async def _with_texts(self, changed: Mapping[str, Merged]) -> dict[str, ArticleDocument]:
        """The changed articles, each with the text of its canonical reading. Where another source's reading became the
        canonical one, the text is in that source's observation."""
        articles = {key: one.article for key, one in changed.items() if one.article is not None}
        wanted = [(key, one.text_in) for key, one in changed.items() if one.text_in is not None]
        if wanted:
            found = await self.store.read_many(ARTICLES.name, wanted)
            for (key, _), stored in zip(wanted, found, strict=True):
                articles[key] = {**articles[key], "text_for_analysis": stored.get("text") if stored else None}
        return articles

    def _hash(self, source_id: str, match: Match) -> Document:
        return documents.seen_hash(match.candidate, self.source, source_id, self.now, self.hashes_kept_seconds)


def _grouped(matches: Iterable[Match]) -> Groups:
    groups: Groups = {}
    for match in matches:
        groups.setdefault(match.source_id, []).append(match)
    return groups


def _moved(groups: Groups, apart: Sequence[Match]) -> Groups:
    """The groups, with each of `apart` under the article that its URL identifies."""
    if not apart:
        return groups
    moving = {each.candidate.entry.form_hash for each in apart}
    return _grouped(
        match._replace(source_id=match.candidate.source_id(with_url=True), certain=True)
        if match.candidate.entry.form_hash in moving
        else match
        for group in groups.values()
        for match in group
    )
