"""What a look at a URL says before it is registered as a feed."""

from datetime import UTC, datetime, timedelta

import pytest

from models.errors import InvalidInput
from models.resources.feeds import FeedPreview
from scripts.demo.cast import OUTLETS
from scripts.demo.formats import front_page, rss
from scripts.demo.newsroom import Newsroom
from services.articles.poll import SAMPLES, FeedPoller, found_in
from services.fetch.outcome import FetchRequest, FetchResult, FetchStatus, credentials_in
from services.parse.feed import parse
from tests.unit.articles.builders import no_tickers

NOW = datetime(2026, 2, 20, 20, 0, 7, tzinfo=UTC)
WIRE = OUTLETS[0]
ENTRIES = Newsroom(NOW, most=12).entries(WIRE, NOW)
BASE = "https://wire.example"
FEED = f"{BASE}/{WIRE.id}/feed"


class Site:
    """A fetcher of one outlet: its page, its feed, and nothing else."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        bodies = {
            FEED: ("application/rss+xml", rss(WIRE, ENTRIES, BASE)),
            f"{BASE}/{WIRE.id}/": ("text/html", front_page(WIRE, ENTRIES, BASE)),
        }
        if request.url not in bodies:
            return FetchResult(FetchStatus.NOT_FOUND, request.url, status_code=404, error="404: not found")
        kind, body = bodies[request.url]
        return FetchResult(FetchStatus.FETCHED, request.url, status_code=200, body=body.encode(), content_type=kind)


async def preview(registered: str | None = None, **fields: str) -> FeedPreview:
    """`registered`: the URL of a registered feed."""

    async def found(url: str) -> str | None:
        return "wire" if url == registered else None

    return await FeedPoller(Site(), {}, credentials_in({}), no_tickers, found).preview(fields, NOW)


async def test_a_feed_is_shown_with_its_newest_entries_and_the_feed_that_has_the_url() -> None:
    found = await preview(FEED, url=FEED)
    assert (found.is_feed, found.is_page, found.feed_id) == (True, False, "wire")
    assert (found.title, found.format, found.entries) == ("The Dev Wire", "rss20", 12)
    assert (found.newest_entry_at, found.oldest_entry_at) == (ENTRIES[0].published, ENTRIES[-1].published)
    assert [each.headline for each in found.samples] == [each.headline for each in ENTRIES[:SAMPLES]]
    assert (found.error_type, found.status_code) == (None, 200)


async def test_a_web_page_is_shown_as_the_feed_that_it_names() -> None:
    found = await preview(url=f"{BASE}/{WIRE.id}/")
    assert (found.is_feed, found.is_page, found.fetched_url) == (True, True, FEED)
    assert (found.url, found.feed_id) == (f"{BASE}/{WIRE.id}/", None)
    known = await preview(FEED, url=f"{BASE}/{WIRE.id}/")
    assert (known.is_feed, known.error_type) == (False, "duplicate")


async def test_a_url_without_a_feed_is_shown_with_the_reason() -> None:
    found = await preview(FEED, url=f"{BASE}/nothing")
    assert (found.is_feed, found.feed_id, found.entries, found.samples) == (False, None, 0, ())
    assert (found.error_type, found.error, found.status_code) == ("not_found", "404: not found", 404)


@pytest.mark.parametrize("fields", [{}, {"url": "javascript:alert(1)"}, {"url": FEED, "credential": "secret"}])
async def test_what_could_not_be_registered_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        await preview(FEED, **fields)


def test_dates_in_the_future_and_absent_ones_say_nothing_of_the_past() -> None:
    document = parse(rss(WIRE, ENTRIES, BASE).encode(), FEED, "application/rss+xml")
    undated = document.items[1]._replace(published=None, published_flag="missing")
    early = document.items[0]._replace(published=NOW + timedelta(days=1))
    found = found_in(type(document)("rss20", (undated, early, *document.items[2:4])), NOW)
    assert found["newest_entry_at"] == ENTRIES[2].published
    assert [each.published_at for each in found["samples"]][-1] is None
    assert found["entries"] == 4
