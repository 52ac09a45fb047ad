"""The verdict on a feed: its condition in one word, why, and since when. Pure.

`verdict_of` follows from the feed's document alone. `judged` writes it into a feed that is about to be saved, so that
all readers (API, health, metrics, command line) have the same verdict. The first rule that applies wins: what stops a
feed goes before what is wrong with its content, and that before what is only good to know.
"""

from __future__ import annotations

from collections.abc import Callable
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
_LONGEST_REASON = 600


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a feed.

    `since` is when the condition began, if the feed's document says so; else it is when the verdict changed.
    """

    verdict: FeedVerdict
    reason: str
    since: datetime | None = None


def verdict_of(feed: Feed) -> Judgement:
    found = next(each for rule in _RULES if (each := rule(feed)) is not None)
    return Judgement(found.verdict, found.reason[:_LONGEST_REASON], found.since)


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


def _disabled(feed: Feed) -> Judgement | None:
    if feed.enabled:
        return None
    reason = feed.disabled_reason
    if feed.disabled_by != "app":
        return Judgement("disabled", f"A person disabled it: {reason}.", feed.disabled_at)
    after = f"It is tried again at {format_time(feed.probe_at)}." if feed.probe_at else "It is not tried again."
    if feed.disabled_cause in ("gone", "not_found"):
        return Judgement("gone", f"Its server says that it does not exist: {reason}. {after}", feed.disabled_at)
    if feed.disabled_cause == "duplicate":
        return Judgement("moved", f"It is not fetched, since {reason}. {after}", feed.disabled_at)
    return Judgement("disabled", f"The app disabled it: {reason}. {after}", feed.disabled_at)


def _blocked(feed: Feed) -> Judgement | None:
    if not feed.consecutive_errors or not is_block(feed.last_status_code, feed.last_error_fingerprint):
        return None
    return Judgement("blocked", f"Its server refuses this app: {feed.last_error}.", feed.blocked_since)


def _failing(feed: Feed) -> Judgement | None:
    if feed.consecutive_errors < FAILING_AFTER:
        return None
    text = f"The last {feed.consecutive_errors} fetches failed, the last with: {feed.last_error}."
    return Judgement("failing", text, feed.failing_since)


def _new(feed: Feed) -> Judgement | None:
    if feed.last_successful_fetch is not None:
        return None
    if feed.last_error:
        text = f"It could not be fetched yet: {feed.last_error}."
    else:
        text = "It was not fetched yet." if feed.last_fetch_time is None else "It could not be fetched yet."
    return Judgement("new", text, feed.created_at)


def _empty(feed: Feed) -> Judgement | None:
    if feed.empty_since is None or _watched_until(feed) - feed.empty_since < EMPTY_AFTER:
        return None
    return Judgement("empty", f"Its feed document has no entries since {_day(feed.empty_since)}.", feed.empty_since)


def _stale(feed: Feed) -> Judgement | None:
    newest = feed.newest_article_at
    if newest is None:
        return None
    old = _watched_until(feed) - newest
    if old < STALE_AFTER or any(old <= timedelta(hours=gap) for gap in feed.longest_gaps):
        return None
    return Judgement("stale", f"It has the same old entries at each fetch; the newest is of {_day(newest)}.", newest)


def _silent(feed: Feed) -> Judgement | None:
    newest, explained = feed.newest_article_at, longest_explained(feed.longest_gaps)
    if newest is None or explained is None or _watched_until(feed) - newest <= explained:
        return None
    known, longest = len(feed.longest_gaps), timedelta(hours=max(feed.longest_gaps))
    text = f"Nothing new since {_day(newest)}; its longest gap on the last {known} days with articles was "
    return Judgement("silent", f"{text}{_length(longest)}, which explains {_length(explained)}.", newest)


def _lying(feed: Feed) -> Judgement | None:
    if feed.validators_trusted:
        return None
    return Judgement("lying", "Its server called a changed feed document unmodified, so it is fetched whole each time.")


def _slow(feed: Feed) -> Judgement | None:
    average_ms = feed.average_duration_ms
    if average_ms is None or average_ms <= SLOW_MS:
        return None
    return Judgement("slow", f"Its server takes {average_ms / 1000:.0f} s on average.")


def _moved(feed: Feed) -> Judgement | None:
    if feed.redirect_url is None or feed.moved_at is None:
        return None
    return Judgement("moved", "It has moved, and is fetched from its new address, redirect_url.", feed.moved_at)


def _ok(feed: Feed) -> Judgement:
    if feed.consecutive_errors:
        return Judgement("ok", f"The last fetch failed, and is tried again: {feed.last_error}.")
    if feed.empty_since is not None:
        return Judgement(
            "ok", f"It is fetched when due; its feed document has no entries since {_day(feed.empty_since)}."
        )
    if feed.newest_article_at is None:
        return Judgement("ok", "It is fetched when due, and has brought no article yet.")
    return Judgement("ok", "It is fetched when due, and brings articles as usual.")


_RULES: tuple[Callable[[Feed], Judgement | None], ...] = (
    _disabled,
    _blocked,
    _failing,
    _new,
    _empty,
    _stale,
    _silent,
    _lying,
    _slow,
    _moved,
    _ok,
)
"""In the order of precedence. `_disabled` also finds feeds that are gone, or whose address is that of another."""


def _watched_until(feed: Feed) -> datetime:
    """Until when it is known that nothing new came: while fetches fail, nobody has looked."""
    return feed.last_successful_fetch or feed.created_at


def _day(moment: datetime) -> str:
    return format_time(moment)[:10]


def _length(span: timedelta) -> str:
    hours = span / timedelta(hours=1)
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"
