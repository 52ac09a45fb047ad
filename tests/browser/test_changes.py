"""What a person changes in the dashboard, and how it is undone. Each test leaves the demo as it found it."""

from __future__ import annotations

import base64
import json
import urllib.request
from typing import Any
from urllib.parse import urljoin

from playwright.sync_api import Page, Route, expect

from scripts.local_host.storage_rest import ACCOUNT
from services.feeds.lists import read_opml
from tests.browser.demo_app import DemoApp
from tests.browser.visitor import Browsers

MANY = 200
PATIENCE_MS = 60_000


def demo_url(app: DemoApp, path: str) -> str:
    """An address of the server of the demo's feeds."""
    return urljoin(str(app.get("feeds/demo-dev-wire")["url"]), path)


def drop_file(page: Page, name: str, text: str) -> None:
    files = page.evaluate_handle(
        """([name, text]) => {
          const files = new DataTransfer();
          files.items.add(new File([text], name, {type: "text/x-opml"}));
          return files;
        }""",
        [name, text],
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": files})


def test_feeds_of_a_dropped_opml_file_are_added(app: DemoApp, browsers: Browsers) -> None:
    new, known = demo_url(app, "/nothing/dropped"), demo_url(app, "/demo-dev-wire/feed")
    addresses = {"Dropped": new, "Known": known, "Wrong": "ftp://example.com/feed"}
    outlines = "".join(f'<outline type="rss" text="{text}" xmlUrl="{url}"/>' for text, url in addresses.items())
    opml = f'<opml version="2.0"><head/><body><outline text="News">{outlines}</outline></body></opml>'
    with browsers.visit(app) as visit:
        page = visit.page
        visit.open("/feeds")
        page.get_by_role("button", name="Add feeds").click()
        page.get_by_role("button", name="OPML file").click()
        drop_file(page, "feeds.opml", opml)
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("1 feed added, 1 known already")
        expect(dialog.get_by_role("listitem")).to_contain_text("must be an http:// or https:// URL")
        assert visit.violations() == []
        dialog.locator(".row").get_by_role("button", name="Close").click()
        expect(page.get_by_role("link", name="Dropped")).to_be_visible()
    (added,) = [each for each in app.get("feeds?limit=100")["items"] if each["url"] == new]
    assert added["tags"] == ["News"]
    app.send("DELETE", f"feeds/{added['feed_id']}")


def test_all_feeds_are_exported_as_opml(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app) as visit:
        visit.open("/feeds")
        with visit.page.expect_download() as waiting:
            visit.page.get_by_role("button", name="Export OPML").click()
        assert waiting.value.suggested_filename == "feeds.opml"
        exported = read_opml(waiting.value.path().read_bytes())
    there = app.get("feeds?limit=100")["items"]
    assert {each.fields["url"] for each in exported} == {each["url"] for each in there if each["kind"] == "feed"}


def test_a_feed_is_added_from_a_preset_with_its_values(app: DemoApp, browsers: Browsers) -> None:
    """The demo reaches this machine only: its own address takes the place of the one that the preset makes."""
    sent: list[Any] = []

    def add(route: Route) -> None:
        sent.append(route.request.post_data_json)
        own = {"url": demo_url(app, "/nothing/preset"), "source_name": "uv releases"}
        route.continue_(post_data=json.dumps(own))

    with browsers.visit(app) as visit:
        page = visit.page
        page.route("**/api/v1/feeds", add)
        visit.open("/feeds")
        page.get_by_role("button", name="Add feeds").click()
        page.get_by_role("button", name="Preset").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Kind").select_option("github-releases")
        dialog.get_by_label("owner of the repository").fill("no owner")
        expect(dialog.get_by_role("alert")).to_contain_text("astral-sh")
        dialog.get_by_label("owner of the repository").fill("astral-sh")
        expect(dialog.get_by_role("button", name="Add this feed")).to_be_disabled()
        dialog.get_by_label("name of the repository").fill("uv")
        assert visit.violations() == []
        dialog.get_by_role("button", name="Add this feed").click()
        expect(page.get_by_text("uv releases was added")).to_be_visible()
        expect(page.get_by_role("link", name="uv releases")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("link", name="uv releases")).to_have_count(0)
    assert sent == [{"preset": "github-releases", "values": {"owner": "astral-sh", "repository": "uv"}}]


def test_a_feed_is_edited_and_what_is_refused_stands_at_its_field(app: DemoApp, browsers: Browsers) -> None:
    before = app.get("feeds/demo-hardened")
    with browsers.visit(app, has_key=False, may_fail=True) as visit:
        page = visit.page
        visit.open("/feeds/demo-hardened")
        page.get_by_role("button", name="Edit").click()
        form = page.get_by_role("dialog")
        form.get_by_label("Tags").fill("Security, News/World")
        form.get_by_label("Priority").fill("0")
        form.get_by_role("button", name="Save").click()
        page.get_by_label("Key", exact=True).fill(app.management_key)
        page.get_by_role("button", name="Use this key").click()
        expect(form.get_by_role("alert")).to_contain_text("must be a number over 0")
        priority = form.get_by_label("Priority")
        expect(priority).to_have_attribute("aria-invalid", "true")
        expect(priority).to_be_focused()
        assert visit.violations() == []
        priority.fill("3")
        expect(form.get_by_role("alert")).to_have_count(0)
        form.get_by_role("button", name="Save").click()
        expect(page.get_by_text("News/World", exact=True)).to_be_visible()
        changed = app.get("feeds/demo-hardened")
        assert (changed["tags"], changed["priority"]) == (["News/World", "Security"], 3)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("News/World", exact=True)).to_have_count(0)
    after = app.get("feeds/demo-hardened")
    assert (after["tags"], after["priority"]) == (before["tags"], before["priority"])


def test_poison_messages_are_sent_again(app: DemoApp, browsers: Browsers) -> None:
    story = app.get("stories?limit=1")["items"][0]["event_id"]
    message = base64.b64encode(json.dumps({"event_ids": [story]}).encode()).decode()
    queue = f"{app.url}/{ACCOUNT}/generate-ideas-poison"
    for method, path, body in (
        ("PUT", "", b""),
        ("POST", "/messages", f"<QueueMessage><MessageText>{message}</MessageText></QueueMessage>".encode()),
    ):
        urllib.request.urlopen(urllib.request.Request(queue + path, body, method=method), timeout=300).close()
    with browsers.visit(app) as visit:
        page = visit.page
        visit.open("/health")
        page.get_by_text("Poison messages", exact=True).click()
        expect(page.get_by_text(story)).to_be_visible()
        assert visit.violations() == []
        page.get_by_role("button", name="Send again generate-ideas").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("1 message that failed five times goes back to generate-ideas")
        dialog.get_by_role("button", name="Send again").click()
        expect(page.get_by_text("1 message was sent again")).to_be_visible()
        expect(page.get_by_role("button", name="Send again generate-ideas")).to_have_count(0)
    assert {each["poison"] for each in app.get("queues")["items"]} == {0}


def test_a_review_that_is_decided_moves_to_what_was_decided(app: DemoApp, browsers: Browsers) -> None:
    """The copy of a feed brings more than it may in a day: its entries are held, and dropped."""
    fields = {"url": demo_url(app, "/demo-cloudmast/feed?copy"), "source_name": "Copy of Cloudmast", "daily_limit": 1}
    feed = app.send("POST", "feeds", {**fields, "feed_id": "demo-copy"})["feed_id"]
    try:
        app.send("POST", f"feeds/{feed}/fetch", {})
        app.until(lambda: feed in [each["subject"] for each in app.get("quarantine?status=PENDING")["items"]])
        with browsers.visit(app) as visit:
            page = visit.page
            visit.open("/quarantine")
            item = page.get_by_role("article", name="Copy of Cloudmast")
            item.get_by_role("region", name="Drop them").get_by_role("button", name="Choose").click()
            dialog = page.get_by_role("dialog")
            dialog.get_by_label("Your name").fill("Ada")
            dialog.get_by_label("Why").fill("a copy")
            dialog.get_by_role("button", name="Decide").click()
            expect(page.get_by_text("Decided for Copy of Cloudmast")).to_be_visible()
            expect(item).to_have_count(0)
            page.get_by_role("button", name="Dropped").click()
            expect(item).to_contain_text("Drop them, by Ada")
            expect(item).to_contain_text("a copy")
            assert visit.violations() == []
    finally:
        app.send("DELETE", f"feeds/{feed}")


def test_a_source_is_taken_out_of_an_article_and_the_figure_follows(app: DemoApp, browsers: Browsers) -> None:
    """News arrive meanwhile: so the figure is compared with the present one of the app, and the article is named."""
    article, tool, headline = shared_article(app)
    source = article["sources"][-1]
    name = article["source_attribution"][source]["source_name"] or app.get(f"feeds/{source}")["source_name"]

    def counted() -> int:
        return int(app.get(f"tools/{tool}/sentiment?period=DAY_30")["total_mentions"])

    def mentioning() -> set[str]:
        return {each["source_id"] for each in app.get(f"tools/{tool}/mentions?limit=100")["items"]}

    before = counted()
    with browsers.visit(app) as visit:
        page = visit.page
        visit.open(f"/tools/{tool}?period=DAY_30")
        shown = page.locator("li.article").filter(has_text=headline).first
        figure = page.locator(".tile", has_text="Mentions").locator(".tile-value")
        shown.get_by_role("button", name="Show what it says").click()
        sources = shown.get_by_role("region", name="Published by")
        sources.get_by_role("button", name=f"Take out {name}").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("becomes an article of its own")
        assert visit.violations() == []
        dialog.get_by_label("Your name").fill("Ada")
        with page.expect_response("**/split", timeout=PATIENCE_MS) as made:
            dialog.get_by_role("button", name="Take out").click()
        (own,) = made.value.json()["others"]
        expect(page.get_by_text("has an article of its own now")).to_be_visible(timeout=PATIENCE_MS)
        app.until(lambda: own in mentioning())
        app.until(lambda: counted() > before and figure.inner_text() == f"{counted():,}")
        assert source not in app.get(f"articles/{article['source_id']}")["sources"]
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone.")).to_be_visible(timeout=PATIENCE_MS)
        app.until(lambda: own not in mentioning())
        app.until(lambda: figure.inner_text() == f"{counted():,}")
    assert source in app.get(f"articles/{article['source_id']}")["sources"]


def shared_article(app: DemoApp) -> tuple[dict[str, Any], str, str]:
    """An article of several sources that mentions a tool, this tool, and the headline as it is shown."""
    for tool in app.get("sentiment/latest?period=DAY_30")["items"]:
        for each in app.get(f"tools/{tool['tool_id']}/mentions?limit=10")["items"]:
            article = app.get(f"articles/{each['source_id']}")
            if article["source_count"] > 1:
                return article, tool["tool_id"], each["headline"].strip()
    raise AssertionError("the demo has no article of several sources")


def test_of_many_feeds_only_what_changed_is_drawn_again(app: DemoApp, browsers: Browsers) -> None:
    rows = [
        {**each, "feed_id": f"feed-{number}", "source_name": f"Feed {number:03d}"}
        for number, each in enumerate((app.get("feeds?limit=100")["items"] * MANY)[:MANY])
    ]

    def answer(route: Route) -> None:
        route.fulfill(status=200, content_type="application/json", body=json.dumps({"items": rows, "next": None}))

    with browsers.visit(app) as visit:
        page = visit.page
        page.route("**/api/v1/feeds?**", answer)
        page.clock.install()
        visit.open("/feeds?sort=name")
        expect(page.get_by_role("link", name="Feed 040")).to_be_visible()
        # Only what is near the window is drawn.
        assert page.locator("tbody tr").count() < MANY
        page.evaluate(
            """() => {
              window.touched = new Set();
              const note = (changes) => changes.forEach(({target}) => {
                const cell = (target.closest ? target : target.parentElement).closest("td");
                // Times go on by themselves.
                if (cell && !cell.querySelector("time")) window.touched.add(cell.dataset.name ?? "choice or name");
              });
              new MutationObserver(note).observe(document.querySelector("tbody"),
                {subtree: true, childList: true, characterData: true});
            }"""
        )
        page.get_by_label("Choose Feed 001").check()
        expect(page.get_by_text("1 feed chosen")).to_be_visible()
        rows[2] = {**rows[2], "total_articles_fetched": 123_456}
        page.clock.fast_forward("00:20")
        expect(page.get_by_text("123,456")).to_be_visible()
        assert page.evaluate("[...window.touched]") == ["Articles"]
        expect(page.get_by_label("Choose Feed 001")).to_be_checked()
