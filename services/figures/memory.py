"""Aggregates that this process served a moment ago. It only makes reads faster, and never outlives a generation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from models.cache import Period, SentimentCacheEntry
from services.figures.generations import Generations

MOST_ANSWERS = 20_000


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An entry as it is served: `name` is the tool's primary name, `body` its JSON, `etag` that of the body."""

    entry: SentimentCacheEntry
    name: str
    is_stale: bool
    body: bytes
    etag: str


class Memory:
    """Keyed by what the caller called the tool, so that a hit needs no look into the catalog.

    `seconds` is how long an answer is served without asking the store; 0 switches it off.
    """

    def __init__(self, generations: Generations, seconds: float) -> None:
        self._generations = generations
        self._lifetime = timedelta(seconds=seconds)
        self._answers: dict[tuple[str, Period], tuple[datetime, Aggregate]] = {}

    def get(self, text: str, period: Period, now: datetime) -> Aggregate | None:
        """None also for what has turned stale, or whose generation this process knows to be past."""
        held = self._answers.get((text, period))
        if held is None:
            return None
        since, answer = held
        entry = answer.entry
        young = timedelta(0) <= now - since < self._lifetime
        if young and entry.generation == self._generations.known(entry.tool_id) and not entry.is_stale(now):
            return answer
        del self._answers[text, period]
        return None

    def put(self, text: str, answer: Aggregate, asked_at: datetime) -> None:
        """`asked_at` is when the store was asked: the answer is no younger than that."""
        entry = answer.entry
        if not self._lifetime or answer.is_stale or entry.generation != self._generations.known(entry.tool_id):
            return
        while len(self._answers) >= MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]
        self._answers[text, entry.period] = (asked_at, answer)

    def forget(self, tool_id: str) -> None:
        for key in [key for key, (_, held) in self._answers.items() if held.entry.tool_id == tool_id]:
            del self._answers[key]
