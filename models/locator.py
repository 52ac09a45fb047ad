"""Locator aliases (the article of a source's entry) and seen hashes (the entries that were ingested).

They decide what is a duplicate. services/articles forms the locator identities.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import ClassVar, Literal

from models.stored import StoredDocument
from models.values import IdPart, Sha256, SourceKey, Text, UnixSeconds, lives

ALIAS_KEPT = timedelta(days=30)
HASH_KEPT = timedelta(days=7)
_BY_PRODUCT: str = "provider_product_id:"


def locator_key(provider: str, locator_identity: str) -> str:
    """Hashed, since an identity may have any characters. Providers share the key of a URL, but not that of a product
    id."""
    scope = provider if locator_identity.startswith(_BY_PRODUCT) else ""
    return "loc:" + hashlib.sha256(f"{scope}|{locator_identity}".encode()).hexdigest()[:32]


def document_key(locator_identity: str) -> str:
    return "doc:" + hashlib.sha256(locator_identity.encode()).hexdigest()[:32]


def seen_key(source: str, content_hash: str) -> str:
    return f"seen:{source}:{content_hash[:32]}"


class _Locator(StoredDocument):
    """A document of the container `locators`."""

    CONTAINER: ClassVar[str] = "locators"
    PARTITION_FIELD: ClassVar[str] = "locator"

    @property
    def partition(self) -> str:
        return self.id


class LocatorAlias(_Locator):
    """A locator alias.

    (provider, locator identity) → article. Created before the article is written, so a crash may leave an alias without
    an article.
    """

    entity_type: Literal["LocatorAlias"] = "LocatorAlias"
    ttl_timestamp: UnixSeconds | None = lives(days=ALIAS_KEPT.days)
    provider: SourceKey
    locator_identity: Text
    source_id: IdPart
    data_product_id: IdPart | None = None

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


class SeenHash(_Locator):
    """An entry that was ingested: its source, its form (`revision`), and its article."""

    entity_type: Literal["SeenHash"] = "SeenHash"
    ttl_timestamp: UnixSeconds | None = lives(days=HASH_KEPT.days)
    source: SourceKey
    content_hash: Sha256
    revision: Text
    source_id: IdPart | None = None

    @property
    def id(self) -> str:
        return seen_key(self.source, self.content_hash)
