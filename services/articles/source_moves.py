"""Writes the move of a source from one article to another, so that it can be done again wherever it stopped.

First the source is in the article that it goes to, with its observations; then, in one batch, it leaves the other one;
then its locators lead to where it is. Each article is written by its ETag: what is ingested meanwhile is read again and
moved too. The article that it left says where it is (`moved_sources`): ingestion that found that article follows.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from models.article import Article, ArticleDocument, JoinRule
from models.errors import ChangedMeanwhile, Conflict, NotFound
from models.locator import locator_key, seen_key
from models.observation import ObservationDocument, RemovedObservation
from models.values import format_time
from services.articles.attributions import is_listed
from services.articles.contention import ROUNDS, wait_seconds
from services.articles.identity import content_hash, locator_identities
from services.articles.moving import (
    Key,
    destination,
    in_article,
    keys_of,
    latest_attribution,
    new_article,
    not_older,
    own_attribution,
    with_present_time,
    with_source,
    without_source,
)
from services.articles.observations import observations_of
from services.parse.urls import normalize_url
from services.ports import Clock, Create, Delete, Document, Operation, Replace, Store, Upsert
from services.store.containers import ARTICLES, LOCATORS

_BATCH = 100


@dataclass(frozen=True, slots=True)
class Move:
    """`source` goes from the article `left` to the article `joined`. `key` makes that article, if it is to be made.
    `is_first`: the source was the first one of `joined`."""

    source: str
    left: str
    joined: str
    key: Key | None = None
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class SourceMoves:
    store: Store
    clock: Clock
    chance: Callable[[], float] = random.random

    async def key_for(self, article: ArticleDocument, source: str) -> Key:
        """The key of the article that the source becomes. Raises NotFound if the source is not in the article."""
        own = own_attribution(article, await observations_of(self.store, article["source_id"], source), source)
        if own is None:
            raise NotFound(f"source: {source} is not in the article {article['source_id']}")
        first, second = keys_of(article, own, source)
        taken = await self._article(f"dedup:{first.dedup_key}")
        is_free = taken is None or (taken.get("deleted_at") and destination(taken, source) == article["source_id"])
        return first if is_free else second

    async def move(self, move: Move) -> None:
        """Moves the source with what is stored of it. Doing it again changes nothing. Raises NotFound if neither
        article has the source."""
        for round_no in range(ROUNDS):
            try:
                if await self._moved(move):
                    break
            except (Conflict, ChangedMeanwhile):
                await asyncio.sleep(wait_seconds(round_no, self.chance()))
        else:
            raise ChangedMeanwhile(f"article {move.left} keeps changing: try again")
        await self._move_locators(move)

    async def _moved(self, move: Move) -> bool:
        """One try. True if nothing is left to be moved."""
        left = await self._article(move.left)
        if left is None:
            raise NotFound(f"article: {move.left} has expired")
        observations = await observations_of(self.store, move.left)
        own = [each for each in observations if each["source"] == move.source]
        time = format_time(self.clock())
        is_done = left.get("moved_sources", {}).get(move.source) == move.joined
        if is_done and not own and (left.get("deleted_at") or not is_listed(left, move.source)):
            for source_id in (move.left, move.joined):
                await self._retime(source_id)
            return True
        if left.get("deleted_at") and not is_done:
            raise NotFound(f"article: {move.left} was deleted")
        if not own:
            raise NotFound(f"source: {move.source} is not in the article {move.left}")
        await self._join(move, await self._article(move.joined), left, own, time)
        after = without_source(left, observations, move.source, move.joined, time)
        gone: list[Operation] = [Delete(each["id"], each["_etag"]) for each in own]
        gone += [Upsert(_removal(each, self.clock())) for each in own]
        await self.store.batch(ARTICLES.name, move.left, [Replace(after, left["_etag"]), *gone])
        return False  # what was written to the article meanwhile is read in the next round

    async def _join(
        self,
        move: Move,
        joined: ArticleDocument | None,
        left: ArticleDocument,
        own: Sequence[ObservationDocument],
        time: str,
    ) -> None:
        """Writes the source into the article that it goes to."""
        attribution = own_attribution(left, own, move.source)
        assert attribution is not None
        rule: JoinRule | None = own[0].get("joined_by") if move.key is None else "person"  # type: ignore[assignment]
        operation: Operation
        if joined is None or (joined.get("deleted_at") and move.key is not None):
            if move.key is None:
                raise NotFound(f"article: {move.joined} has expired")
            after = new_article(attribution, own, move.source, move.key, time)
            if joined is not None:
                after["tool_ids_ever_detected"] = joined.get("tool_ids_ever_detected", [])
                after["grouping_corrections"] = joined.get("grouping_corrections", [])
            operation = Create(after) if joined is None else Replace(after, joined["_etag"])
        elif joined.get("deleted_at"):
            raise NotFound(f"article: {move.joined} was deleted")
        else:
            there = await observations_of(self.store, move.joined, move.source)
            known = own_attribution(joined, there, move.source)
            attribution = latest_attribution(known, attribution, rule)
            own = not_older(own, there)
            after = with_source(joined, attribution, own or there, move.source, time, is_first=move.is_first)
            operation = Replace(after, joined["_etag"])
        copies = [Upsert(each) for each in in_article(own, after, move.source)]
        await self.store.batch(ARTICLES.name, move.joined, [operation, *copies])

    async def _retime(self, source_id: str) -> None:
        """Lets the further sources be found by the time of the article, which is that of its first source."""
        article, observations = await self._article(source_id), await observations_of(self.store, source_id)
        if article is None or article.get("deleted_at") or not article.get("has_further_sources"):
            return
        changed = with_present_time(article, observations)
        for start in range(0, len(changed), _BATCH):
            part = [Replace(each, each["_etag"]) for each in changed[start : start + _BATCH]]
            await self.store.batch(ARTICLES.name, source_id, part)

    async def _move_locators(self, move: Move) -> None:
        """Lets the aliases and hashes of the source's entries lead to where the source is. The alias of a URL that
        another source of the article has too stays: ingestion follows `moved_sources` then."""
        own = await observations_of(self.store, move.joined, move.source)
        rest = await observations_of(self.store, move.left)
        kept = {_normalized(each["url"]) for each in rest}
        names = set()
        for each in own:
            for identity in locator_identities(each["article_id"]):
                if identity.removeprefix("url:") not in kept:
                    names.add(locator_key(move.source, identity))
            for published in ("", each["published_at"]):
                names.add(seen_key(move.source, content_hash(each["url"], published)))
        for name in sorted(names):
            await self._lead(name, move)

    async def _lead(self, name: str, move: Move) -> None:
        for _ in range(ROUNDS):
            found = await self.store.read(LOCATORS.name, name, name)
            if found is None or found.get("source_id") != move.left:
                return
            try:
                await self.store.replace(LOCATORS.name, {**found, "source_id": move.joined}, found["_etag"])
            except ChangedMeanwhile:
                continue
            return

    async def _article(self, source_id: str) -> ArticleDocument | None:
        found: Document | None = await self.store.read(ARTICLES.name, source_id, Article.ID)
        return cast("ArticleDocument | None", found)


def _normalized(url: str) -> str:
    try:
        return normalize_url(url)
    except ValueError:
        return url


def _removal(observation: ObservationDocument, now: datetime) -> Document:
    return RemovedObservation(
        created_at=now,
        updated_at=now,
        ttl_timestamp=observation.get("ttl_timestamp"),
        source_id=observation["source_id"],
        source=observation["source"],
        observed_day=observation["observed_day"],
        deleted_at=now,
    ).to_document()
