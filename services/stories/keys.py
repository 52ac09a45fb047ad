"""The documents of one key: the articles that have it, in the order of publication. Pure.

A key that few articles have is one document. When it has more than MOST_IN_PART articles, the earlier half of them
moves into a part, a document of its own in the same partition; a part that grows is halved too. So each document stays
small, and what is near to an article in time is found in one document or two, however many articles have the key.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from models.story import KEY_KEPT, GroupingKey
from models.values import format_time, unix_seconds
from services.ports import Create, Document, Operation, Replace, Upsert

MOST_IN_PART = 256

Entry = tuple[int, str]
"""The minute of an article's publication, and its dedup_key: sorts by publication."""


def key_id(key: str) -> str:
    """The partition of the documents of the key, and the id of the one with the latest articles."""
    return f"group:{key}"


def minute_of(moment: datetime) -> int:
    return int(moment.timestamp()) // 60


def splits_of(latest: Document | None) -> tuple[str, ...]:
    """Where each document of the key begins, in order; the first one begins before all."""
    return () if latest is None else tuple(latest.get("splits", ()))


def ids_of(key: str, splits: Sequence[str]) -> list[str]:
    """The documents of the key, in the order of their articles."""
    return [*(_part_id(key, start) for start in ("", *splits[:-1])), key_id(key)] if splits else [key_id(key)]


def place(splits: Sequence[str], entry: Entry) -> int:
    """The number of the document in which the entry is."""
    return bisect_right(splits, _text(entry))


def minute_of_split(split: str) -> int:
    return int(split.partition(":")[0])


def is_split(value: object) -> bool:
    return isinstance(value, str) and value.partition(":")[0].isdecimal()


def entries_of(document: Document | None) -> list[Entry]:
    """In order."""
    return [] if document is None else sorted((minute, name) for name, minute in document["articles"].items())


def changed(
    key: str,
    stored: Mapping[str, Document | None],
    added: Collection[Entry],
    removed: Collection[Entry],
    now: datetime,
) -> list[Operation]:
    """The writes, in one batch, after which the key names the `added` articles and none of the `removed` ones. `stored`
    has the latest document and those in which these entries are, by id."""
    latest = stored.get(key_id(key))
    splits = splits_of(latest)
    ids = ids_of(key, splits)
    operations: list[Operation] = []
    begun: list[str] = []
    latest_entries: list[Entry] | None = None
    for number in sorted({place(splits, each) for each in (*added, *removed)}):
        document = stored.get(ids[number])
        before = entries_of(document)
        after = sorted({*before}.difference(removed).union(each for each in added if place(splits, each) == number))
        if after == before:
            continue
        pieces = _halved(after, now)
        begun += [_text(piece[0]) for piece in pieces[1:]]
        if number == len(splits):
            latest_entries = pieces.pop()
            starts = [splits[-1] if splits else "", *(_text(piece[0]) for piece in pieces[1:])]
            operations += [_part(key, start, piece, now) for start, piece in zip(starts, pieces, strict=False)]
        else:
            operations.append(_written(key, ids[number], document, pieces[0], now))
            operations += [_part(key, _text(piece[0]), piece, now) for piece in pieces[1:]]
    if latest_entries is not None or begun:
        entries = entries_of(latest) if latest_entries is None else latest_entries
        every = _without_expired(sorted((*splits, *begun)), now)
        operations.append(_written(key, key_id(key), latest, entries, now, every))
    return operations


def _halved(entries: list[Entry], now: datetime) -> list[list[Entry]]:
    """In pieces of at most MOST_IN_PART entries, without those of articles that have expired."""
    if len(entries) <= MOST_IN_PART:
        return [entries]
    oldest = minute_of(now - 2 * KEY_KEPT)
    living = [each for each in entries if each[0] >= oldest]
    pieces: list[list[Entry]] = []
    half = MOST_IN_PART // 2
    while len(living) - half * len(pieces) > MOST_IN_PART:
        pieces.append(living[half * len(pieces) : half * (len(pieces) + 1)])
    return [*pieces, living[half * len(pieces) :]]


def _without_expired(splits: list[str], now: datetime) -> tuple[str, ...]:
    """Without the splits before which, and after which, all articles have expired."""
    oldest = minute_of(now - 2 * KEY_KEPT)
    while len(splits) > 1 and minute_of_split(splits[1]) < oldest:
        del splits[0]
    return tuple(splits)


def _part(key: str, start: str, entries: Sequence[Entry], now: datetime) -> Operation:
    return Upsert(_new(key, start, entries, now).to_document())


def _written(
    key: str, name: str, before: Document | None, entries: Sequence[Entry], now: datetime, splits: tuple[str, ...] = ()
) -> Operation:
    if before is None:
        start = None if name == key_id(key) else name.removeprefix(_part_id(key, ""))
        return Create({**_new(key, start, entries, now).to_document(), **_with_splits(splits)})
    changes = {
        "articles": {name: minute for minute, name in entries},
        "ttl_timestamp": unix_seconds(now + KEY_KEPT),
        "updated_at": format_time(now),
    }
    return Replace({**before, **changes, **_with_splits(splits)}, before["_etag"])


def _with_splits(splits: tuple[str, ...]) -> dict[str, list[str]]:
    return {"splits": list(splits)} if splits else {}


def _new(key: str, start: str | None, entries: Sequence[Entry], now: datetime) -> GroupingKey:
    articles = {name: minute for minute, name in entries}
    return GroupingKey(created_at=now, updated_at=now, key=key, part=start, articles=articles)


def _text(entry: Entry) -> str:
    return f"{max(entry[0], 0):010d}:{entry[1]}"


def _part_id(key: str, start: str) -> str:
    return f"{key_id(key)}:{start}"
