"""Locator aliases: which article an entry of a source is. They decide what is a duplicate.

services/articles forms the locator identities.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import ClassVar, Literal

from models.feed import ShortHash
from models.stored import StoredDocument
from models.values import IdPart, Sha256, SourceKey, Text, UnixSeconds, lives

ALIAS_KEPT = timedelta(days=30)
_BY_PRODUCT: str = "provider_product_id:"


def locator_key(provider: str, locator_identity: str) -> str:
    """Hashed, since an identity may have any characters. Providers share the key of a URL, but not that of a product
    id."""
    scope = provider if locator_identity.startswith(_BY_PRODUCT) else ""
    return "loc:" + hashlib.sha256(f"{scope}|{locator_identity}".encode()).hexdigest()[:32]


def document_key(locator_identity: str) -> str:
    return "doc:" + hashlib.sha256(locator_identity.encode()).hexdigest()[:32]


class LocatorAlias(StoredDocument):
    """A locator alias.

    (provider, locator identity) → article. Created before the article is written, so a crash may leave an alias without
    an article. `content_hash` is the hash of the entry's URL and publication time, `form_hash` that of the whole entry,
    as it was when it was ingested.
    """

    CONTAINER: ClassVar[str] = "locators"
    PARTITION_FIELD: ClassVar[str] = "locator"

    entity_type: Literal["LocatorAlias"] = "LocatorAlias"
    ttl_timestamp: UnixSeconds | None = lives(days=ALIAS_KEPT.days)
    provider: SourceKey
    locator_identity: Text
    source_id: IdPart
    content_hash: Sha256 | None = None
    form_hash: ShortHash | None = None
    data_product_id: IdPart | None = None

    @property
    def partition(self) -> str:
        return self.id

    @property
    def id(self) -> str:
        return locator_key(self.provider, self.locator_identity)


class DocumentAlias(LocatorAlias):
    """A locator alias of a full text.

    Locator identity → the document that has the text of this page, whatever entries lead to it.
    """

    data_product_id: IdPart

    @property
    def id(self) -> str:
        return document_key(self.locator_identity)
