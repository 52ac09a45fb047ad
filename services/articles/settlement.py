"""Writing what dedup.py decides: locators are claimed, articles created or joined, observations and hashes kept.

In an order that a crash anywhere leaves fit to be done again: locators, observations, articles, hashes. A race is
settled by the store: who comes second reads what is there, and decides anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from models.errors import Unavailable
from services.articles import canonical
from services.articles.canonical import Moment
from services.articles.dedup import Folded, Target, fold, strangers
from services.articles.identity import Source
from services.articles.together import Documents
from services.ports import Document
from services.store.containers import ARTICLES, LOCATORS

ROUNDS = 20
"""Of writing one article that others write too; in each, somebody got on."""

Groups = dict[str, list[Target]]


@dataclass(frozen=True, slots=True)
class Settlement:
    """One processing of one source's entries."""

    store: Documents
    source: Source
    now: Moment
    counted_until: str
    hashes_kept_seconds: int
    unsure: bool = False

    def is_in_doubt(self, document: Document) -> bool:
        """Whether a try wrote it that may have died before it saved the feed."""
        return str(document["updated_at"]) > self.counted_until

    async def settle(self, targets: Iterable[Target], renewed: Sequence[Document]) -> dict[str, Folded]:
        """Stores all of them, each under another locator. What came of each article, by its id."""
        groups = _grouped(targets)
        articles = await self._read(groups)
        apart = [each for key, group in groups.items() for each in strangers(articles[key], group, self.source)]
        groups = await self._claimed(_moved(groups, apart))
        articles |= await self._read(groups.keys() - articles.keys())
        folded = await self._written(groups, articles)
        for one in folded.values():
            if one.before is not None and one.before.get("deleted_at"):
                await self._forget(one.before)
        # Not of an entry that said nothing new: a date that drifts would leave one at every poll.
        told = {key: one for key, one in folded.items() if one.before is None or one.observations}
        hashes = [self._hash(key, target) for key, one in told.items() for target in one.targets]
        if hashes or renewed:
            await self.store.write_many(LOCATORS.name, [*hashes, *renewed])
        return folded

    async def _forget(self, deleted: Document) -> None:
        """It may have gone between the observation and the article: now, or in a try that died."""
        own = deleted["source_attribution"].get(self.source.key)
        days = (self.now.text, (own.get("scraped_at") if own else None) or self.now.text)
        for name in {canonical.observation_id(self.source.key, each) for each in days}:
            await self.store.delete(ARTICLES.name, deleted["source_id"], name)

    async def _read(self, source_ids: Iterable[str]) -> dict[str, Document | None]:
        wanted = list(source_ids)
        if not wanted:
            return {}
        found = await self.store.read_many(ARTICLES.name, [(each, canonical.ARTICLE_ID) for each in wanted])
        return dict(zip(wanted, found, strict=True))

    async def _claimed(self, groups: Groups) -> Groups:
        """The groups with every locator claimed; one that somebody else claimed first says where its entry goes."""
        wanted = [target for group in groups.values() for target in group if not target.claimed]
        if not wanted:
            return groups
        aliases = [canonical.alias(each.candidate, self.source, each.source_id, self.now) for each in wanted]
        won = await self.store.create_many(LOCATORS.name, aliases)
        lost = [alias["id"] for alias, created in zip(aliases, won, strict=True) if not created]
        if not lost:
            return groups
        theirs = await self.store.read_many(LOCATORS.name, [(each, each) for each in lost])
        elsewhere = {name: alias["source_id"] for name, alias in zip(lost, theirs, strict=True) if alias is not None}
        return _grouped(
            target._replace(source_id=elsewhere.get(target.candidate.locator_id, target.source_id))
            for group in groups.values()
            for target in group
        )

    async def _written(self, groups: Groups, articles: Mapping[str, Document | None]) -> dict[str, Folded]:
        """Creates and replaces the articles, again from what is there wherever somebody else wrote meanwhile."""
        done: dict[str, Folded] = {}
        for _ in range(ROUNDS):
            folded = {
                key: fold(articles[key], group, self.source, self.now, self.counted_until, unsure=self.unsure)
                for key, group in groups.items()
            }
            raced = await self._write(folded)
            done |= {key: one for key, one in folded.items() if key not in raced}
            if not raced:
                return done
            groups = {key: groups[key] for key in raced}
            articles = await self._read(raced)
        raise Unavailable(f"{len(groups)} articles kept changing", retry_after=1.0)

    async def _write(self, folded: Mapping[str, Folded]) -> set[str]:
        """The ids of the articles that somebody else was quicker to write.

        What a source said is there before an article counts on it: no entry may ever lead to it again.
        """
        new = [one.article for one in folded.values() if one.article is not None and one.before is None]
        observed = [each for one in folded.values() for each in one.observations]
        raced: set[str] = set()
        if new or observed:
            # An article goes with its observations: one transaction where the store has such.
            created = await self.store.create_many(ARTICLES.name, [*observed, *new])
            raced = {each["source_id"] for each, won in zip(new, created[len(observed) :], strict=True) if not won}
            there = [each for each, won in zip(observed, created, strict=False) if not won]
            await self._observe_again([each for each in there if each["source_id"] not in raced])
        return raced | await self._replaced(folded) | await self._deleted(folded)

    async def _deleted(self, folded: Mapping[str, Folded]) -> set[str]:
        """Those that were deleted while nothing but what was said of them was written: no ETag tells."""
        only_observed = [key for key, one in folded.items() if one.observations and one.article is None]
        found = await self._read(only_observed)
        return {key for key, article in found.items() if article is not None and article.get("deleted_at")}

    async def _replaced(self, folded: Mapping[str, Folded]) -> set[str]:
        """Writes the articles that were there before; the ids of those that somebody else has written since."""
        changes: list[tuple[Document, str]] = []
        for one in folded.values():
            if one.article is not None and one.before is not None:
                article = one.article if one.text_of is None else await self._with_text(one.article, one.text_of)
                changes.append((article, one.before["_etag"]))
        if not changes:
            return set()
        won = await self.store.replace_many(ARTICLES.name, changes)
        return {article["source_id"] for (article, _), is_ours in zip(changes, won, strict=True) if not is_ours}

    async def _with_text(self, article: Document, observation_id: str) -> Document:
        """The article with the text of the source that it now reads, which is in none of the hands here."""
        observed = await self.store.read(ARTICLES.name, article["source_id"], observation_id)
        return {**article, "text_for_analysis": observed.get("text") if observed else None}

    async def _observe_again(self, observations: list[Document]) -> None:
        """One a day: a later edit of the day, or a repeated try, writes over the first."""
        if not observations:
            return
        there = await self.store.read_many(ARTICLES.name, [(each["source_id"], each["id"]) for each in observations])
        changed = [
            {**new, "created_at": old["created_at"], "ttl_timestamp": old["ttl_timestamp"]} if old else new
            for new, old in zip(observations, there, strict=True)
            if old is None or (old["revision"] != new["revision"] and old["scraped_at"] <= self.now.text)
        ]
        if changed:
            await self.store.write_many(ARTICLES.name, changed)

    def _hash(self, source_id: str, target: Target) -> Document:
        return canonical.seen_hash(target.candidate, self.source, source_id, self.now, self.hashes_kept_seconds)


def _grouped(targets: Iterable[Target]) -> Groups:
    groups: Groups = {}
    for target in targets:
        groups.setdefault(target.source_id, []).append(target)
    return groups


def _moved(groups: Groups, apart: Sequence[Target]) -> Groups:
    """The groups with these entries under the article that their URL makes."""
    if not apart:
        return groups
    marks = {each.candidate.entry.mark for each in apart}
    return _grouped(
        target._replace(source_id=target.candidate.target(with_url=True), fixed=True)
        if target.candidate.entry.mark in marks
        else target
        for group in groups.values()
        for target in group
    )
