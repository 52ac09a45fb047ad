"""What a fetch costs now, so that all feeds together spend the budget; what it does is the schedule's."""

from __future__ import annotations

from typing import ClassVar, Literal

from models.stored import StoredDocument
from models.values import Amount


class FetchPrice(StoredDocument):
    """There is one. `updated_at` is when it was corrected, by the `fetches_per_feed_hour` that were spent till then."""

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
