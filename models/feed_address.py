"""Which feed has an address: the authority on two feeds never being the same one, however their URLs are spelled.

The spelling is normalised by whoever writes it; nothing here knows how.
"""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

from models.stored import StoredDocument
from models.values import SourceKey, Text


def address_key(url: str) -> str:
    """Hashed, as a URL is outside text; no feed's id has a colon."""
    return f"url:{hashlib.sha256(url.encode()).hexdigest()[:32]}"


class FeedAddress(StoredDocument):
    """Claimed before the feed is written, so after a crash it may name a feed that is not there, or is elsewhere."""

    CONTAINER: ClassVar[str] = "feeds"
    PARTITION_FIELD: ClassVar[str] = "feed_id"
    ID: ClassVar[str] = "address"

    entity_type: Literal["FeedAddress"] = "FeedAddress"
    url: Text
    holder: SourceKey

    @property
    def partition(self) -> str:
        return address_key(self.url)

    @property
    def id(self) -> str:
        return self.ID
