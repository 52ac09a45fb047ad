"""The feed that is registered under an address. It makes sure that no two feeds have one address in two spellings.

The callers normalize the URL.
"""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

from models.stored import StoredDocument
from models.values import SourceKey, Text


def address_key(url: str) -> str:
    """Hashed, since a URL may have characters that ids must not have. No feed id has a colon."""
    return f"url:{hashlib.sha256(url.encode()).hexdigest()[:32]}"


class FeedAddress(StoredDocument):
    """Created before the feed is written: after a crash it may name a feed that does not exist or has another URL."""

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
