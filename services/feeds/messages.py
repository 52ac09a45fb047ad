"""The messages of `ingest-feeds`: which feeds to fetch, or which quarantined batch to ingest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

from models.errors import InvalidInput

MOST_FEEDS = 20
"""In one message: with ten fetches at once and the longest fetch twice over, a run ends well within five minutes."""


@dataclass(frozen=True, slots=True)
class ClaimedFeed:
    """One feed, and the claim under which it may be fetched."""

    feed_id: str
    claim_id: str


@dataclass(frozen=True, slots=True)
class IngestMessage:
    """The work of one run: either feeds, or the id of a batch that a person released from quarantine."""

    run_id: str
    feeds: tuple[ClaimedFeed, ...] = ()
    quarantine_id: str | None = None

    def to_message(self) -> str:
        message: dict[str, Any] = {"run_id": self.run_id}
        if self.quarantine_id is not None:
            message["held"] = self.quarantine_id
        else:
            message["feeds"] = [{"feed_id": each.feed_id, "claim_id": each.claim_id} for each in self.feeds]
        return json.dumps(message, separators=(",", ":"))

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for what `to_message` never writes."""
        try:
            message = json.loads(text)
            run_id, quarantine_id = message["run_id"], message.get("held")
            feeds = tuple(ClaimedFeed(each["feed_id"], each["claim_id"]) for each in message.get("feeds", ()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput("message", "must be a JSON object with run_id, and feeds or held") from error
        texts = (run_id, *(part for each in feeds for part in (each.feed_id, each.claim_id)))
        if not all(isinstance(part, str) and part for part in texts) or not isinstance(quarantine_id, str | None):
            raise InvalidInput("message", "must name its run, feeds and claims by their ids")
        return cls(run_id, feeds, quarantine_id)
