"""Whatever a server sends has a counted, readable outcome on its feed, and affects no other feed.

From a real server on this machine through the real fetcher and pipeline. What a person reads is the feed's document.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.feed import Feed
from tests.functional.articles.world import World, item, rss
from tests.functional.fetch.conftest import Make, Request, Server, make, response, server  # noqa: F401

EACH = "<item><title>Story {0}</title><link>https://x.example/{0}</link>{1}</item>"


def document(*entries: str) -> bytes:
    return f"<rss version='2.0'><channel><title>News</title>{''.join(entries)}</channel></rss>".encode()


def entry(title: str = "A story as it is told", link: str = "https://x.example/1", more: str = "") -> str:
    return f"<item><title>{title}</title><link>{link}</link>{more}</item>"


def dated(text: str) -> bytes:
    return document(entry(more=f"<pubDate>{text}</pubDate>"))


MANY = document(*(EACH.format(number, "") for number in range(10_000)))
REFUSED: dict[str, tuple[bytes, str, str]] = {
    "HTML with status 200": (response(body=b"<!doctype html><html><body>Hi</body></html>"), "html", "a web page"),
    "empty": (response(body=b""), "empty", "the body is empty"),
    "a redirect loop": (response(302, b"", Location="/feed"), "redirect_loop", "in a circle"),
    "an error for people": (response(500, b"<html>oops"), "server_error:500", "has a problem"),
}
STORY = "A story as it is told"
NEVER = {"date_missing": 1}
READ: dict[str, tuple[bytes, list[str], dict[str, int], dict[str, int]]] = {
    "truncated": (
        document(*(EACH.format(number, "") for number in range(9)))[:330],
        [f"Story {number}" for number in range(4)],
        {"malformed": 1, "date_missing": 4},
        {"no_title": 1},
    ),
    "a relative link": (document(entry(link="/a/b")), [STORY], NEVER, {}),
    "a date in 1970": (dated("Thu, 01 Jan 1970 00:00:00 GMT"), [STORY], {}, {}),
    "a date in 2099": (dated("Thu, 01 Jan 2099 00:00:00 GMT"), [STORY], {}, {}),
    "yesterday": (dated("yesterday"), [STORY], {"date_unparsable": 1}, {}),
    "no date": (document(entry()), [STORY], NEVER, {}),
}
DATES = {
    "a date in 1970": ("1970-01-01T00:00:00Z", None),
    "a date in 2099": ("2026-02-21T20:01:00Z", "future"),
    "yesterday": ("2026-02-21T20:01:00Z", "unparsable"),
    "no date": ("2026-02-21T20:01:00Z", "missing"),
}


@pytest.fixture
async def good(world: World, server: Server) -> str:  # noqa: F811
    server.answers["/good"] = response(body=rss([item(1), item(2)]))
    return server.url("/good")


async def fetched(world: World, make: Make, good: str, url: str) -> Feed:  # noqa: F811
    """The bad feed after a message that named a good one, too. The good feed is as if it had been alone."""
    await world.add_feed("good", feed_url=good)
    await world.add_feed("bad", feed_url=url)
    worker = world.new_worker(shelf=make(retry_attempts=1))
    world.clock.forward(minutes=1)
    (batch,) = await worker.claims.claim_due(world.clock.now)
    assert set(batch.claimed) == {"good", "bad"}
    await worker.ingestion.ingest(batch.run_id)
    feed = await world.feed("good")
    assert (feed.last_error, feed.total_articles_fetched) == (None, 2)
    bad = await world.feed("bad")
    assert bad.next_fetch_time >= world.clock.now + timedelta(minutes=1)
    assert bad.enabled
    (run,) = await world.runs()
    assert run["status"] in ("SUCCEEDED", "PARTIAL")
    return bad


@pytest.mark.parametrize("what", REFUSED)
async def test_a_response_that_is_no_feed_is_an_error_of_its_feed_in_words(
    world: World,
    server: Server,  # noqa: F811
    make: Make,  # noqa: F811
    good: str,
    what: str,
) -> None:
    answer, fingerprint, words = REFUSED[what]
    server.answers["/feed"] = answer
    bad = await fetched(world, make, good, server.url())
    assert (bad.consecutive_errors, bad.last_error_fingerprint) == (1, fingerprint)
    assert words in str(bad.last_error)
    (attempt,) = [each for each in await world.attempts() if each["status"] == "FAILED"]
    assert attempt["error_message"] == bad.last_error


@pytest.mark.parametrize("what", READ)
async def test_the_readable_entries_of_a_bad_document_are_ingested_and_the_others_counted(
    world: World,
    server: Server,  # noqa: F811
    make: Make,  # noqa: F811
    good: str,
    what: str,
) -> None:
    body, headlines, warnings, skipped = READ[what]
    server.answers["/feed"] = response(body=body, Content_Type="application/rss+xml")
    bad = await fetched(world, make, good, server.url())
    assert (bad.last_error, bad.total_articles_fetched) == (None, len(headlines))
    assert (bad.parse_warnings, bad.entries_skipped) == (warnings, skipped)
    articles = [each for each in await world.articles() if each["sources"] == ["bad"]]
    assert [each["headline"] for each in articles] == headlines
    if what in DATES:
        assert [(each["timestamp"], each.get("published_flag")) for each in articles] == [DATES[what]]
    if what == "a relative link":
        assert articles[0]["canonical"]["url"] == server.url("/a/b")
