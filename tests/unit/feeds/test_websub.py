"""The rules of subscriptions: when a hub is asked, what its answers mean, what a push does, how far polling slows."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Any

import pytest

from models.feed import Feed
from models.raw_item import Hub
from models.websub import FeedSubscription, FeedWebSub
from services.feeds.websub import (
    AFTER_REFUSAL,
    LEAVING_TRIES,
    LONGEST_LEASE,
    PUSH_GAP,
    RETRIES,
    SLOWEST,
    Verification,
    after_answer,
    after_poll,
    is_signed,
    named,
    next_step,
    pushed,
    slowed,
    verified,
)
from tests.documents import NOW, feed, feed_subscription

HUB = Hub("https://hub.example/", "https://www.reuters.com/feed")
OTHER = Hub("https://other.example/", "https://www.reuters.com/feed")
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def shown(**changes: Any) -> FeedWebSub:
    return FeedWebSub(**{"hub": HUB.url, "topic": HUB.topic, **changes})


def naming(**changes: Any) -> Feed:
    return feed(websub=shown(**changes))


def known(**changes: Any) -> FeedSubscription:
    return feed_subscription(**{"hub": HUB.url, "topic": HUB.topic, **changes})


def active(**changes: Any) -> FeedSubscription:
    return known(**{"lease_ends": NOW + DAY, "websub_due_at": NOW + 20 * HOUR, **changes})


def text() -> str:
    return "cannot-be-guessed"


def confirming(**changes: Any) -> Verification:
    fields = {"mode": "subscribe", "topic": HUB.topic, "challenge": "abc", "lease_seconds": 3600}
    return Verification(**{**fields, **changes})


# What a feed document names


def test_a_hub_that_a_feed_names_is_to_be_asked() -> None:
    found = named(None, HUB, NOW)
    assert found == shown(next_at=NOW)
    assert named(found, HUB, NOW + DAY) is found
    assert named(found, None, NOW) is None


def test_a_hub_that_is_named_no_more_is_left_and_may_come_back() -> None:
    gone = named(shown(state="active", lease_ends=NOW + DAY), None, NOW)
    assert gone is not None
    assert (gone.is_named, gone.next_at) == (False, NOW)
    assert named(gone, None, NOW + MINUTE) is gone
    again = named(gone, HUB, NOW + HOUR)
    assert again is not None
    assert (again.is_named, again.next_at) == (True, NOW + HOUR)
    assert named(shown(state="active"), OTHER, NOW) == shown(hub=OTHER.url, next_at=NOW)


def test_a_feed_says_when_there_is_something_to_do() -> None:
    assert feed().websub_due_at is None
    assert naming(next_at=NOW).websub_due_at == "2026-02-21T20:00:00Z"
    assert naming().websub_due_at is None
    disabled = {"enabled": False, "disabled_reason": "a person", "disabled_by": "person"}
    assert feed(websub=shown(state="active", next_at=NOW + DAY), **disabled).websub_due_at == "2026-02-21T20:00:00Z"
    assert feed(websub=shown(), **disabled).websub_due_at is None


# What is asked of a hub


def test_a_subscription_has_a_path_and_a_secret_that_cannot_be_guessed() -> None:
    step = next_step(naming(next_at=NOW), None, NOW, text)
    assert step is not None
    assert step.subscription is not None
    assert step.asked == "subscribe"
    assert (step.subscription.token, step.subscription.secret) == (
        "reuters-world.cannot-be-guessed",
        "cannot-be-guessed",
    )
    assert step.websub == shown(state="requested", next_at=NOW + RETRIES[0])
    assert "cannot-be-guessed" not in repr(step)


def test_nothing_is_asked_before_it_is_due() -> None:
    assert next_step(naming(next_at=NOW + 20 * HOUR), active(), NOW, text) is None


@pytest.mark.parametrize(("tries", "wait"), [(1, RETRIES[1]), (2, RETRIES[2]), (3, RETRIES[3]), (9, RETRIES[3])])
def test_a_hub_that_does_not_verify_is_asked_ever_less_often_on_the_same_path(tries: int, wait: timedelta) -> None:
    before = known(tries=tries, websub_due_at=NOW)
    step = next_step(naming(state="requested"), before, NOW, lambda: "other")
    assert step is not None
    assert step.subscription is not None
    assert step.websub is not None
    assert (step.subscription.token, step.subscription.websub_due_at) == (before.token, NOW + wait)
    assert step.websub.state == ("unanswered" if tries >= 2 else "requested")


def test_a_renewal_stays_active_while_the_lease_lasts() -> None:
    for ends, state in ((NOW + HOUR, "active"), (NOW, "requested")):
        step = next_step(naming(state="active"), active(lease_ends=ends, websub_due_at=NOW), NOW, text)
        assert step is not None
        assert step.websub is not None
        assert (step.asked, step.websub.state) == ("subscribe", state)


@pytest.mark.parametrize(
    "without",
    [
        None,
        naming(is_named=False),
        feed(),
        feed(websub=shown(state="active"), enabled=False, disabled_reason="x", disabled_by="person"),
        feed(websub=shown(hub=OTHER.url)),
    ],
)
def test_a_subscription_that_is_not_wanted_is_ended_and_given_up_after_some_tries(without: Feed | None) -> None:
    step = next_step(without, active(), NOW, text)
    assert step is not None
    assert step.subscription is not None
    assert (step.asked, step.subscription.mode, step.subscription.tries) == ("unsubscribe", "unsubscribe", 1)
    assert next_step(without, step.subscription, NOW, text) is None
    last = step.subscription.changed(NOW, tries=LEAVING_TRIES, websub_due_at=NOW)
    given_up = next_step(without, last, NOW, text)
    assert given_up is not None
    assert (given_up.subscription, given_up.asked) == (None, None)


def test_a_subscription_without_a_lease_is_forgotten_without_asking() -> None:
    for ends in (None, NOW):
        step = next_step(None, known(lease_ends=ends), NOW, text)
        assert step is not None
        assert (step.subscription, step.asked) == (None, None)


def test_another_hub_is_asked_once_the_first_one_is_left() -> None:
    step = next_step(feed(websub=shown(hub=OTHER.url, state="named")), known(), NOW, text)
    assert step is not None
    assert step.websub == shown(hub=OTHER.url, next_at=NOW)


def test_a_feed_that_is_enabled_again_while_it_leaves_subscribes_again() -> None:
    step = next_step(naming(state="leaving"), active(mode="unsubscribe", tries=2), NOW, text)
    assert step is not None
    assert step.subscription is not None
    assert (step.asked, step.subscription.tries) == ("subscribe", 1)


# What a hub answers


@pytest.mark.parametrize("status", [200, 202, 204, 302, 408, 429, 500, 503, None])
def test_an_answer_that_is_no_refusal_changes_nothing(status: int | None) -> None:
    assert after_answer(naming(), known(), status, NOW) is None


def test_a_refusal_is_shown_and_the_hub_is_asked_again_a_day_later() -> None:
    step = after_answer(naming(), known(), 403, NOW)
    assert step is not None
    assert step.websub == shown(state="refused", next_at=NOW + AFTER_REFUSAL)
    renewal = after_answer(naming(), active(), 403, NOW)
    assert renewal is not None
    assert renewal.websub is not None
    assert (renewal.websub.state, renewal.websub.lease_ends) == ("active", NOW + DAY)
    leaving = after_answer(None, active(mode="unsubscribe"), 404, NOW)
    assert leaving is not None
    assert leaving.subscription is None


def test_a_verification_begins_the_lease_that_the_hub_names() -> None:
    step = verified(naming(), known(tries=3), confirming(), NOW)
    assert step is not None
    assert step.subscription is not None
    assert (step.subscription.lease_ends, step.subscription.tries) == (NOW + HOUR, 0)
    assert step.websub == shown(state="active", lease_ends=NOW + HOUR, next_at=NOW + 48 * MINUTE)
    longest = verified(None, known(), confirming(lease_seconds=10**17), NOW)
    assert longest is not None
    assert longest.subscription is not None
    assert longest.subscription.lease_ends == NOW + LONGEST_LEASE


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic": "https://www.reuters.com/other"},
        {"mode": "unsubscribe"},
        {"mode": ""},
        {"challenge": ""},
        {"challenge": "x" * 2001},
        {"lease_seconds": None},
        {"lease_seconds": 0},
    ],
)
def test_a_verification_of_something_else_is_refused(wrong: dict[str, Any]) -> None:
    assert verified(naming(), known(), confirming(**wrong), NOW) is None


def test_a_verification_that_nobody_waits_for_is_refused() -> None:
    assert verified(naming(), known(verify_until=None), confirming(), NOW) is None
    assert verified(naming(), known(verify_until=NOW - MINUTE), confirming(), NOW) is None


def test_an_end_is_confirmed_only_if_it_was_asked_for() -> None:
    end = confirming(mode="unsubscribe", lease_seconds=None)
    assert verified(naming(state="active"), active(), end, NOW) is None
    step = verified(naming(state="leaving"), active(mode="unsubscribe"), end, NOW)
    assert step is not None
    assert (step.subscription, step.websub) == (None, shown(next_at=NOW))
    assert verified(naming(), active(mode="unsubscribe"), confirming(), NOW) is None


def test_a_hub_may_deny_at_any_time_but_only_its_own_topic() -> None:
    step = verified(naming(state="active"), active(), confirming(mode="denied", challenge=""), NOW)
    assert step is not None
    assert step.websub == shown(state="refused", next_at=NOW + AFTER_REFUSAL)
    assert verified(naming(), active(), confirming(mode="denied", topic="https://x.example/"), NOW) is None


# Pushes


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_a_push_is_signed_with_the_secret(method: str) -> None:
    one = known()
    digest = hmac.new(one.secret.encode(), b"body", getattr(hashlib, method)).hexdigest()
    assert is_signed(one, b"body", f"{method}={digest}")
    assert is_signed(one, b"body", f" {method.upper()}={digest.upper()}")
    assert not is_signed(one, b"other", f"{method}={digest}")
    assert not is_signed(known(secret="other"), b"body", f"{method}={digest}")


@pytest.mark.parametrize("signature", ["", "sha256=", "sha256", "md5=00", "=", "new=1", "sha256=é"])
def test_without_a_known_signature_a_push_is_nobodys(signature: str) -> None:
    assert not is_signed(known(), b"", signature)


def test_a_push_makes_the_feed_due_but_not_sooner_after_a_fetch_than_the_gap() -> None:
    late = {"next_fetch_time": NOW + HOUR, "websub": shown(state="active")}
    after = pushed(feed(**late), NOW)
    assert after is not None
    assert after.websub is not None
    assert (after.next_fetch_time, after.websub.last_push) == (NOW, NOW)
    just = pushed(feed(**late, last_fetch_time=NOW - timedelta(seconds=10)), NOW)
    assert just is not None
    assert just.next_fetch_time == NOW - timedelta(seconds=10) + PUSH_GAP
    assert pushed(just, NOW + timedelta(seconds=4)) is None
    assert pushed(just, NOW + timedelta(seconds=5)) is not None


def test_a_push_does_not_hurry_a_feed_that_fails_or_waits() -> None:
    for reason in ({"consecutive_errors": 1, "failing_since": NOW}, {"retry_after_until": NOW + DAY}):
        after = pushed(feed(next_fetch_time=NOW + HOUR, websub=shown(), **reason), NOW)
        assert after is not None
        assert after.next_fetch_time == NOW + HOUR
    assert pushed(feed(), NOW) is None
    assert pushed(feed(websub=shown(), enabled=False, disabled_reason="x", disabled_by="person"), NOW) is None


# Polling beside a hub


def wait(websub: FeedWebSub | None, minutes: float, new: int = 0) -> float:
    return (slowed(websub, NOW + minutes * MINUTE, new, NOW) - NOW) / MINUTE


def test_polling_slows_down_only_with_a_hub_that_has_told_of_something() -> None:
    trusted = {"state": "active", "lease_ends": NOW + DAY, "last_push": NOW - HOUR}
    assert [wait(shown(**trusted), each) for each in (5, 15, 40, 90)] == [20, SLOWEST / MINUTE, SLOWEST / MINUTE, 90]
    untrusted: list[dict[str, Any]] = [{"last_push": None}, {"lease_ends": NOW}, {"missed_at": NOW - HOUR}]
    for each in untrusted:
        assert wait(shown(**{**trusted, **each}), 15) == 15
    assert wait(None, 15) == 15
    assert wait(shown(**trusted, missed_at=NOW - 2 * DAY), 5) == 20


def test_a_fetch_that_finds_nothing_after_a_push_is_soon_repeated() -> None:
    fresh = shown(state="active", lease_ends=NOW + DAY, last_push=NOW - MINUTE)
    assert wait(fresh, 15) == 2
    assert wait(fresh, 1) == 1
    assert wait(fresh, 5, new=3) == 20


def test_after_a_push_during_a_fetch_or_right_before_it_the_feed_is_fetched_again() -> None:
    """Also if the fetch found something: the push may have told of something else."""
    for seconds, minutes in ((-5, 20), (-4, 0.5), (3, 0.5)):
        fresh = shown(state="active", lease_ends=NOW + DAY, last_push=NOW + timedelta(seconds=seconds))
        assert wait(fresh, 5, new=3) == minutes


def test_a_push_that_a_clock_ahead_has_noted_does_not_have_the_feed_fetched_again_and_again() -> None:
    ahead = shown(state="active", lease_ends=NOW + DAY, last_push=NOW + HOUR)
    assert [wait(ahead, 5, new) for new in (0, 3)] == [20, 20]
    after = pushed(feed(next_fetch_time=NOW, websub=ahead), NOW)
    assert after is not None
    assert after.websub is not None
    assert after.websub.last_push == NOW


def test_a_hub_that_missed_an_article_is_noticed() -> None:
    last = NOW - HOUR

    def missed(new: int, published: list[datetime], **changes: Any) -> bool:
        websub = shown(**{"state": "active", "last_push": NOW - DAY, **changes})
        after = after_poll(websub, new, published, last, NOW)
        assert after is not None
        return after.missed_at == NOW

    assert missed(1, [NOW - 30 * MINUTE])
    assert not missed(1, [NOW - 5 * MINUTE])
    assert not missed(1, [NOW - 2 * HOUR])
    assert not missed(0, [])
    assert not missed(1, [NOW - 30 * MINUTE], last_push=NOW - 20 * MINUTE)
    assert not missed(1, [NOW - 30 * MINUTE], state="requested")
    assert after_poll(None, 1, [], last, NOW) is None
