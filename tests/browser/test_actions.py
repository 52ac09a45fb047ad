"""What a person does in the operations views. Each test leaves the demo as it found it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.demo_app import DemoApp
from tests.browser.visitor import Browsers


def url_of(app: DemoApp, feed_id: str) -> str:
    feed = app.get(f"feeds/{feed_id}")
    return str(feed.get("url") or feed["feed_url"])


def test_a_feed_is_added_after_a_look_at_what_is_there(app: DemoApp, browsers: Browsers) -> None:
    url = url_of(app, "demo-cloudmast")
    app.send("DELETE", "feeds/demo-cloudmast")
    try:
        with browsers.visit(app, has_key=False, may_fail=True) as visit:
            page = visit.page
            visit.open("/feeds")
            page.get_by_role("button", name="Add feeds").click()
            address = page.get_by_label("Address of a feed or web page")
            address.fill(url_of(app, "demo-brochure"))
            page.get_by_role("button", name="Look", exact=True).click()
            page.get_by_label("Key", exact=True).fill(app.management_key)
            page.get_by_role("button", name="Use this key").click()
            expect(
                page.get_by_text("There is no feed at this address").or_(page.get_by_text("there already"))
            ).to_be_visible()
            address.fill(url.removesuffix("feed"))
            page.get_by_role("button", name="Look", exact=True).click()
            expect(page.get_by_role("dialog")).to_contain_text("A web page that names its feed")
            assert visit.violations() == []
            expect(page.get_by_label("Name", exact=True)).to_have_value("Cloudmast")
            page.get_by_role("button", name="Add this feed").click()
            expect(page.get_by_text("Cloudmast was added")).to_be_visible()
            expect(page.get_by_role("link", name="Cloudmast")).to_be_visible()
            page.get_by_role("button", name="Undo").click()
            expect(page.get_by_role("link", name="Cloudmast")).to_have_count(0)
    finally:
        app.send("POST", "feeds", {"url": url, "source_name": "Cloudmast", "feed_id": "demo-cloudmast"})


def test_a_known_feed_and_an_address_without_one_are_told_before_adding(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app) as visit:
        page = visit.page
        visit.open("/feeds")
        page.get_by_role("button", name="Add feeds").click()
        address = page.get_by_label("Address of a feed or web page")
        address.fill(url_of(app, "demo-dev-wire"))
        page.get_by_role("button", name="Look", exact=True).click()
        expect(page.get_by_text("This feed is there already")).to_be_visible()
        address.fill(f"{url_of(app, 'demo-brochure')}")
        page.get_by_role("button", name="Look", exact=True).click()
        expect(page.get_by_role("dialog")).to_contain_text("already")
        address.fill(url_of(app, "demo-dev-wire") + "/nothing")
        page.get_by_role("button", name="Look", exact=True).click()
        expect(page.get_by_text("There is no feed at this address")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.evaluate("document.activeElement.textContent.trim()") == "Add feeds"


def test_many_feeds_are_changed_at_once_after_the_effect_is_told_and_back(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app) as visit:
        page = visit.page
        visit.open("/feeds")
        for name in ("Patchnotes Club", "Hardened Weekly"):
            page.get_by_label(f"Choose {name}").check()
        page.get_by_role("button", name="Disable", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("2 feeds are no longer fetched")
        assert app.get("feeds/demo-hardened")["enabled"] is True
        dialog.get_by_role("button", name="Disable").click()
        expect(page.get_by_text("2 feeds disabled")).to_be_visible()
        assert app.get("feeds/demo-hardened")["enabled"] is False
        row = page.get_by_role("row", name="Hardened Weekly")
        expect(row).to_contain_text("off")
        page.get_by_role("button", name="Undo").click()
        expect(row).not_to_contain_text("off")
    assert app.get("feeds/demo-hardened")["enabled"] is True


def test_a_choice_in_quarantine_says_what_it_would_do_before_it_is_made(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app) as visit:
        page = visit.page
        visit.open("/quarantine")
        choice = page.get_by_role("region", name="New articles")
        expect(choice).to_contain_text("articles are created")
        expect(page.get_by_role("region", name="The same articles under new ids")).to_contain_text(
            "no mention is added"
        )
        choice.get_by_role("button", name="Choose").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("A decision is final")
        expect(dialog.get_by_role("button", name="Decide")).to_be_disabled()
        assert visit.violations() == []
        dialog.get_by_role("button", name="Cancel").click()
    assert app.get("quarantine?status=PENDING")["items"]


def test_the_text_of_a_page_in_quarantine_can_be_read_as_text(app: DemoApp, browsers: Browsers) -> None:
    [batch, *_] = app.get("quarantine")["items"]
    held = {**batch, "kind": "DOCUMENT", "subject": "dedup:1", "payload": {"headline": "Ferry 4.2"}}
    held["manual_review_status"] = "PENDING"  # another test may have reviewed the batch
    found = {"finding": "QUARANTINED: no headline", "text": "<b>Welcome</b> to our site", "effects": {}}
    with browsers.visit(app) as visit:
        visit.page.route("**/api/v1/quarantine?*", lambda route: route.fulfill(json={"items": [held], "next": None}))
        visit.page.route("**/preview*", lambda route: route.fulfill(json=found))
        visit.open("/quarantine")
        item = visit.page.get_by_role("article", name="Ferry 4.2")
        item.get_by_text("Text of the page").click()
        expect(item.locator("pre")).to_have_text("<b>Welcome</b> to our site")
        expect(item).to_contain_text("QUARANTINED: no headline")
        expect(item.get_by_role("button", name="Try again")).to_be_visible()
        assert visit.violations() == []


def test_a_refresh_is_followed_in_its_run(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app) as visit:
        page = visit.page
        visit.open("/health")
        page.get_by_role("button", name="Refresh now").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Readers get the present figures meanwhile")
        dialog.get_by_role("button", name="Refresh now").click()
        page.get_by_role("button", name="Follow it").click()
        expect(page.get_by_role("heading", name="Refresh figures")).to_be_visible()
        expect(page.get_by_text("done", exact=True).first).to_be_visible(timeout=60_000)
