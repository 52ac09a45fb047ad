"""The verdict on a feed: its condition in one word, why, and since when. Pure.

`verdict_of` follows from the feed's document alone. `judged` writes it into a feed that is about to be saved, so that
all readers (API, health, metrics, command line) have the same verdict. The first rule that applies wins: what stops a
feed goes before what is wrong with its content, and that before what is only good to know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from models.feed import Feed, FeedVerdict
from models.values import format_time, parse_time
from services.feeds.volume import longest_explained

FAILING_AFTER = 3
"""So many errors in a row. Fewer pass by themselves more often than not."""
EMPTY_AFTER = timedelta(days=7)
STALE_AFTER = timedelta(days=180)
SLOW_MS = 5_000
"""The specification's threshold of `slow_fetch_detected`, on average over about ten fetches."""

BLOCKED = "blocked"
"""How the fingerprint begins of an error by which a server refuses programs."""
_FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a feed.

    `since` is when the condition began, if the feed's document says so; else it is when the verdict changed.
    """

    verdict: FeedVerdict
    reason: str
    since: datetime | None = None


def verdict_of(feed: Feed) -> Judgement:
    return next(_conditions(feed))


def is_block(status_code: int | None, fingerprint: str | None) -> bool:
    """Whether a server refuses programs by such an error."""
    return status_code == _FORBIDDEN or (fingerprint or "").startswith(BLOCKED)


def judged(feed: Feed, before: Feed | None = None, due: datetime | None = None) -> Feed:
    """The feed with its verdict, and with `due` as its next fetch if that is given. `before` is the feed as it was
    stored: an unchanged verdict keeps its `since`."""
    found = verdict_of(feed)
    unchanged = before.verdict_since if before is not None and before.verdict == found.verdict else None
    since = found.since or unchanged or feed.updated_at
    verdict = {"verdict": found.verdict, "verdict_since": since, "verdict_reason": found.reason}
    return feed.model_copy(update={**verdict, "next_fetch_time": parse_time(due or feed.next_fetch_time)})


def _conditions(feed: Feed) -> Iterator[Judgement]:
    """All conditions of the feed, in the order of precedence."""
    newest = feed.newest_article_at
    if not feed.enabled:
        yield _disabled(feed)
    if feed.consecutive_errors and is_block(feed.last_status_code, feed.last_error_fingerprint):
        yield Judgement("blocked", f"Its server refuses this app: {feed.last_error}.", feed.blocked_since)
    if feed.consecutive_errors >= FAILING_AFTER:
        text = f"The last {feed.consecutive_errors} fetches failed, the last with: {feed.last_error}."
        yield Judgement("failing", text, feed.failing_since)
    if feed.last_successful_fetch is None:
        yield Judgement("new", _why_new(feed), feed.created_at)
    if feed.empty_since is not None and _watched_until(feed) - feed.empty_since >= EMPTY_AFTER:
        yield Judgement("empty", f"Its feed document has no entries since {_day(feed.empty_since)}.", feed.empty_since)
    if newest is not None and _is_stale(feed, _watched_until(feed) - newest):
        yield Judgement("stale", f"It has the same old entries at each fetch; the newest is of {_day(newest)}.", newest)
    explained = longest_explained(feed.longest_gaps)
    if newest is not None and explained is not None and _watched_until(feed) - newest > explained:
        known, longest = len(feed.longest_gaps), timedelta(hours=max(feed.longest_gaps))
        text = f"Nothing new since {_day(newest)}; its longest gap on the last {known} days with articles was "
        yield Judgement("silent", f"{text}{_length(longest)}, which explains {_length(explained)}.", newest)
    if not feed.validators_trusted:
        text = "Its server called a changed feed document unmodified, so it is fetched whole each time."
        yield Judgement("lying", text)
    if feed.average_duration_ms is not None and feed.average_duration_ms > SLOW_MS:
        yield Judgement("slow", f"Its server takes {feed.average_duration_ms / 1000:.0f} s on average.")
    if feed.redirect_url is not None and feed.moved_at is not None:
        yield Judgement("moved", "It has moved, and is fetched from its new address, redirect_url.", feed.moved_at)
    yield Judgement("ok", _why_ok(feed))


def _disabled(feed: Feed) -> Judgement:
    """Feeds that are gone, or whose address is that of another, are disabled too."""
    reason = feed.disabled_reason
    if feed.disabled_by != "app":
        return Judgement("disabled", f"A person disabled it: {reason}.", feed.disabled_at)
    after = f"It is tried again at {format_time(feed.probe_at)}." if feed.probe_at else "It is not tried again."
    if feed.disabled_cause in ("gone", "not_found"):
        return Judgement("gone", f"Its server says that it does not exist: {reason}. {after}", feed.disabled_at)
    if feed.disabled_cause == "duplicate":
        return Judgement("moved", f"It is not fetched, since {reason}. {after}", feed.disabled_at)
    return Judgement("disabled", f"The app disabled it: {reason}. {after}", feed.disabled_at)


def _why_new(feed: Feed) -> str:
    if feed.last_error:
        return f"It could not be fetched yet: {feed.last_error}."
    return "It was not fetched yet." if feed.last_fetch_time is None else "It could not be fetched yet."


def _why_ok(feed: Feed) -> str:
    if feed.consecutive_errors:
        return f"The last fetch failed, and is tried again: {feed.last_error}."
    if feed.empty_since is not None:
        return f"It is fetched when due; its feed document has no entries since {_day(feed.empty_since)}."
    if feed.newest_article_at is None:
        return "It is fetched when due, and has brought no article yet."
    return "It is fetched when due, and brings articles as usual."


def _is_stale(feed: Feed, silent: timedelta) -> bool:
    return silent >= STALE_AFTER and all(silent > timedelta(hours=gap) for gap in feed.longest_gaps)


def _watched_until(feed: Feed) -> datetime:
    """Until when it is known that nothing new came: while fetches fail, nobody has looked."""
    return feed.last_successful_fetch or feed.created_at


def _day(moment: datetime) -> str:
    return format_time(moment)[:10]


def _length(span: timedelta) -> str:
    hours = span / timedelta(hours=1)
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"
