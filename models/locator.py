"""Which article an identity at a source means, and which entries were seen: the authority on duplicates.

Locator identities are written by services/articles, which knows how URLs are normalised.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from models.stored import StoredDocument
from models.values import IdPart, Sha256, SourceKey, Text, UnixSeconds, lives, unix_seconds

ALIAS_KEPT = timedelta(days=30)
HASH_KEPT = timedelta(days=7)
_BY_PRODUCT: str = "provider_product_id:"
_BY_URL: str = "url:"


def locator_key(provider: str, locator_identity: str) -> str:
    """Hashed, as identities are outside text. A URL means the same at every provider, a product id only at its own."""
    scope = provider if locator_identity.startswith(_BY_PRODUCT) else ""
    return "loc:" + hashlib.sha256(f"{scope}|{locator_identity}".encode()).hexdigest()[:32]


def seen_key(source: str, content_hash: str) -> str:
    return f"seen:{source}:{content_hash[:32]}"


class _Locator(StoredDocument):
    CONTAINER: ClassVar[str] = "locators"
    PARTITION_FIELD: ClassVar[str] = "locator"
    KEPT: ClassVar[timedelta]

    @property
    def partition(self) -> str:
        return self.id

    def seen_again(self, now: datetime) -> Self:
        """Kept for another lifetime from `now` on."""
        return self.changed(now, ttl_timestamp=unix_seconds(now + self.KEPT))


class LocatorAlias(_Locator):
    """(provider, locator identity) → article. Claimed before the article is written, so it may dangle after a crash."""

    KEPT: ClassVar[timedelta] = ALIAS_KEPT

    entity_type: Literal["LocatorAlias"] = "LocatorAlias"
    ttl_timestamp: UnixSeconds | None = lives(days=ALIAS_KEPT.days)
    provider: SourceKey
    locator_identity: Text
    source_id: IdPart
    data_product_id: IdPart | None = None

    @property
    def id(self) -> str:
        return locator_key(self.provider, self.locator_identity)

    @model_validator(mode="after")
    def _identity_is_of_a_kind(self) -> Self:
        if not self.locator_identity.removeprefix(_BY_PRODUCT).removeprefix(_BY_URL) or not (
            self.locator_identity.startswith((_BY_PRODUCT, _BY_URL))
        ):
            raise ValueError(f"locator_identity must be {_BY_PRODUCT}<id> or {_BY_URL}<normalized URL>")
        return self


class SeenHash(_Locator):
    """An entry of a source that was taken in: in this revision, as part of this article."""

    KEPT: ClassVar[timedelta] = HASH_KEPT

    entity_type: Literal["SeenHash"] = "SeenHash"
    ttl_timestamp: UnixSeconds | None = lives(days=HASH_KEPT.days)
    source: SourceKey
    content_hash: Sha256
    revision: Text
    source_id: IdPart | None = None

    @property
    def id(self) -> str:
        return seen_key(self.source, self.content_hash)
