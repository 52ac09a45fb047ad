"""The messages of ingestion: which feeds to fetch, or which held batch to let in; which articles to analyse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from models.errors import InvalidInput

MOST_FEEDS = 20
"""In one message: at ten fetches at once and the longest fetch twice over, a run ends well within its five minutes."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """One feed, and the claim under which it may be fetched."""

    feed_id: str
    claim_id: str


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """One run's work: either feeds, or the id of a held batch that a person let in."""

    run_id: str
    feeds: tuple[Claimed, ...] = ()
    held: str | None = None

    def to_message(self) -> str:
        message: dict[str, Any] = {"run_id": self.run_id}
        if self.held is not None:
            message["held"] = self.held
        else:
            message["feeds"] = [{"feed_id": each.feed_id, "claim_id": each.claim_id} for each in self.feeds]
        return json.dumps(message, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for what `to_message` never writes."""
        try:
            message = json.loads(text)
            run_id, held = message["run_id"], message.get("held")
            feeds = tuple(Claimed(each["feed_id"], each["claim_id"]) for each in message.get("feeds", ()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput("message", "must be a JSON object with run_id, and feeds or held") from error
        texts = (run_id, *(part for each in feeds for part in (each.feed_id, each.claim_id)))
        if not all(isinstance(part, str) and part for part in texts) or not isinstance(held, str | None):
            raise InvalidInput("message", "must name its run, feeds and claims by their ids")
        return cls(run_id, feeds, held)


MOST_ARTICLES = 100


def article_messages(source_ids: Sequence[str], most: int = MOST_ARTICLES) -> list[str]:
    """For `analyze-articles`: the articles that are new or changed, at most `most` a message."""
    return [
        json.dumps({"source_ids": source_ids[start : start + most]}, separators=(",", ":"))
        for start in range(0, len(source_ids), most)
    ]
