"""The price of a fetch, by which all feeds together keep to the budget. services/feeds/schedule.py uses it."""

from __future__ import annotations

from typing import ClassVar, Literal

from models.stored import StoredDocument
from models.values import Amount


class FetchPrice(StoredDocument):
    """One document. `fetches_per_feed_hour` is what was spent before the price was last corrected, at `updated_at`."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "SCHEDULE"
    ID: ClassVar[str] = "fetch-price"

    entity_type: Literal["FetchPrice"] = "FetchPrice"
    factor: Amount = 1.0
    fetches_per_feed_hour: Amount = 0.0

    @property
    def partition(self) -> str:
        return self.PARTITION

    @property
    def id(self) -> str:
        return self.ID
