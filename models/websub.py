"""WebSub: what a feed shows of its subscription at a hub, and the subscription itself with its secrets."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from models.stored import StoredDocument
from models.values import Count, Flag, SourceKey, Text, Time, Value, WebUrl

WebSubState = Literal["named", "requested", "active", "refused", "unanswered", "leaving"]
"""named: the feed names a hub, which was not asked. requested: the hub was asked, and has not verified yet. active: it
has verified. refused: it said no. unanswered: it could not be asked, or does not verify; it is asked again. leaving:
the subscription is not wanted any more."""
WebSubMode = Literal["subscribe", "unsubscribe"]


class FeedWebSub(Value):
    """The subscription as the feed has it. `is_named`: the feed names this hub now. `next_at` is when the app has
    something to do, `missed_at` when a poll last found an article of which the hub should have told."""

    hub: WebUrl
    topic: WebUrl
    state: WebSubState = "named"
    is_named: Flag = True
    lease_ends: Time | None = None
    last_push: Time | None = None
    missed_at: Time | None = None
    next_at: Time | None = None


class FeedSubscription(StoredDocument):
    """One subscription at a hub, in the partition of its feed; it outlives the feed until the hub knows.

    `token` is the last part of the callback's path. It begins with the id of the feed, and the rest cannot be guessed.
    `secret` signs the pushes. Until `verify_until`, the hub may verify `mode`. `tries` counts requests without a
    verification. `websub_due_at` is when the hub is asked again.
    """

    CONTAINER: ClassVar[str] = "feeds"
    PARTITION_FIELD: ClassVar[str] = "feed_id"
    ID: ClassVar[str] = "websub"

    entity_type: Literal["FeedSubscription"] = "FeedSubscription"
    feed_id: SourceKey
    hub: WebUrl
    topic: WebUrl
    token: Text = Field(repr=False)
    secret: Text = Field(repr=False)
    mode: WebSubMode = "subscribe"
    tries: Count = 0
    verify_until: Time | None = None
    lease_ends: Time | None = None
    websub_due_at: Time

    @property
    def partition(self) -> str:
        return self.feed_id
