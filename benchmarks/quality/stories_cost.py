"""What the grouping of an article costs beside few and many stored articles, in one run.

Stored articles are written straight into the tables of the embedded store: their keys, and their members with the
stories that they are in. What is measured are messages of `group-headlines`, worked on as in the app.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks.quality.made_news import START, Made, Newsroom
from benchmarks.quality.near_duplicates import signed
from benchmarks.scale.counting import CountingStore
from models.story import GroupingKey, StoryMember, event_id
from models.values import format_time, unix_seconds
from services.ports import Store
from services.store.containers import ARTICLES, LOCATORS, STORIES
from services.store.sqlite import SqliteStore
from services.stories.candidates import latest
from services.stories.stage import GroupingAnnouncer, grouping_stage
from services.stories.writing import Grouping
from services.work.announcing import Announcer
from tests.builders import MemoryQueues, Watch
from tests.documents import article, reading

PER_DAY = 33_333
"""A million articles in the 30 days for which they are kept."""
MEASURED = 600
KEPT = timedelta(days=31)
LATEST = timedelta(hours=48)
"""The last article about an event is published this long after the first, at most."""
_ROW = "INSERT INTO {} (pk, id, body, etag, ts, expires) VALUES (?, ?, ?, ?, ?, ?)"


def name_of(number: int) -> str:
    return f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}{number:016x}"


def store_made(path: Path, made: Iterable[Made]) -> None:
    """Writes what the grouping would have stored of these articles."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("CREATE TABLE entries (key TEXT, minute INTEGER, name TEXT)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", _members(connection, made))
    keys = connection.execute("SELECT key, minute, name FROM entries ORDER BY key, minute, name")
    writer = connection.cursor()
    for key, entries in groupby(keys, itemgetter(0)):
        articles = latest({name: minute for _, minute, name in entries})
        named = GroupingKey(created_at=START, key=key, articles=articles)
        _insert(writer, LOCATORS.name, named.id, named.to_document())
    connection.execute("DROP TABLE entries")
    connection.execute("COMMIT")
    connection.close()


def _members(connection: sqlite3.Connection, made: Iterable[Made]) -> Iterator[tuple[str, int, str]]:
    begun: dict[int, tuple[str, str]] = {}
    writer = connection.cursor()
    like = StoryMember(
        created_at=START,
        day=START.date().isoformat(),
        source_id=f"dedup:{name_of(0)}",
        published_at=START,
        language="en",
        signature={},
    ).to_document()
    for number, each in enumerate(made):
        name, signature = name_of(number), signed(each)
        source_id = f"dedup:{name}"
        event, opening = begun.setdefault(each.event, (event_id(source_id, each.at), source_id))
        time = format_time(each.at)
        member = {
            **like,
            "id": source_id,
            "source_id": source_id,
            "day": each.at.date().isoformat(),
            "published_at": time,
            "publisher_id": each.publisher,
            "signature": signature.document(),
            "event_id": event,
            "opening": opening,
        }
        _insert(writer, STORIES.name, member["day"], member)
        yield from ((key, signature.minute, name) for key in signature.keys)


def _insert(writer: sqlite3.Cursor, container: str, partition: str, document: dict[str, Any]) -> None:
    document["ttl_timestamp"] = unix_seconds(START + 3 * KEPT)
    body = json.dumps(document, separators=(",", ":"))
    writer.execute(_ROW.format(container), (partition, document["id"], body, "e", 0, document["ttl_timestamp"]))


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one article."""

    stored: int
    milliseconds: float
    units: float
    operations: Counter[str]
    bytes_read: float


async def cost(stored: int, folder: Path, per_day: int) -> Cost:
    path = folder / f"{stored}.db"
    room = Newsroom(1, START)
    watch = Watch(START)
    store = SqliteStore(path, watch)
    await store.ensure_containers()
    await store.close()
    stream = room.news(per_day)
    store_made(path, islice(stream, stored))
    store = SqliteStore(path, watch)
    new = _in_order(islice(stream, 2 * MEASURED), room.now + LATEST, timedelta(days=1) / per_day)
    watch.now = new[-1].at + timedelta(minutes=1)
    await _arrive(store, new[:MEASURED], stored, watch)
    counting = CountingStore(store)
    await _grouped(counting, watch)
    operations = Counter(f"{each.container} {each.kind}" for each in counting.operations)
    units = sum(each.units for each in counting.operations)
    size = sum(each.size for each in counting.operations if each.kind in ("read", "query"))
    await _arrive(store, new[MEASURED:], stored + MEASURED, watch)
    begun = time.process_time()
    await _grouped(store, watch)
    seconds = time.process_time() - begun
    await store.close()
    path.unlink()
    return Cost(stored, seconds / MEASURED * 1000, units / MEASURED, operations, size / MEASURED)


def _in_order(made: Iterable[Made], start: datetime, each: timedelta) -> list[Made]:
    """These articles, published one after the other after all that are stored."""
    return [replace(one, at=start + number * each) for number, one in enumerate(made)]


async def _arrive(store: Store, new: Sequence[Made], first: int, watch: Watch) -> None:
    """New articles, analysed and due to be grouped."""
    documents = []
    for number, each in enumerate(new):
        due = watch.now - timedelta(hours=1) + timedelta(seconds=number)
        stored = article(
            dedup_key=name_of(first + number),
            created_at=each.at,
            timestamp=each.at,
            headline=each.headline,
            matched_tickers=(),
            publisher_id=each.publisher,
            language="en",
            canonical=reading(headline=each.headline, revision=f"r{number}", published_at=each.at),
            text_for_analysis=each.text or None,
            ttl_timestamp=unix_seconds(each.at + KEPT),
        )
        documents.append({**stored.to_document(), "grouping_due_since": format_time(due)})
    await store.write_many(ARTICLES.name, documents)


async def _grouped(store: Store, watch: Watch) -> None:
    """Works on the messages of all articles that are due."""
    queues, ids = MemoryQueues(), count()
    stage = grouping_stage(timedelta(minutes=5))
    announcer = GroupingAnnouncer(store, Announcer(queues), stage, MEASURED, watch)
    grouping = Grouping(store, announcer, watch, lambda: f"w{next(ids)}")
    while (await grouping.handle(())).done:
        pass


def show(sizes: Sequence[int]) -> None:
    logging.disable(logging.WARNING)
    print(
        "\nGrouping an article beside stored ones, all published at the same rate (units: request units of Cosmos DB):"
    )
    print(f"{'stored':>10}{'ms':>8}{'ratio':>7}{'units':>9}{'ratio':>7}{'KB read':>9}   operations")
    found: list[Cost] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            each = asyncio.run(cost(size, Path(folder), PER_DAY))
            found.append(each)
            first = found[0]
            ratios = each.milliseconds / first.milliseconds, each.units / first.units
            operations = ", ".join(f"{n / MEASURED:.2f} {kind}" for kind, n in each.operations.most_common(6))
            print(
                f"{each.stored:10}{each.milliseconds:8.2f}{ratios[0]:7.2f}{each.units:9.1f}{ratios[1]:7.2f}"
                f"{each.bytes_read / 1000:9.1f}   {operations}"
            )
