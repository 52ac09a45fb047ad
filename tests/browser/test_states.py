"""What a reader sees when the app is slow, fails, asks for a key, goes away and returns, or shows hostile texts."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from playwright.sync_api import Error, Route, expect

from tests.browser.demo_app import DemoApp
from tests.browser.visitor import VIEWS_WITH_TEXTS, Browsers, paths_of

HOSTILE = (
    "<img src=x onerror=window.owned=1><script>window.owned=1</script>",
    "\u202egnp.exe \u202b\u05d0\u05d1\u05d2 right to left",
    "x" * 10_000,
    "{{constructor.constructor('window.owned=1')()}} ${window.owned=1}",
)
LINK = "javascript:window.owned=1"
TEXTS = ("headline", "source_name", "title", "reason", "publisher", "tool", "name", "verdict_reason", "last_error")
LINKS = ("url", "feed_url", "site_url", "publisher_url")


def with_hostile_texts(value: Any, count: list[int]) -> Any:
    """The same JSON with hostile texts where feeds have texts, and hostile links where they have links."""
    if isinstance(value, list):
        return [with_hostile_texts(each, count) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {}
    for name, each in value.items():
        if name in TEXTS and isinstance(each, str):
            count[0] += 1
            changed[name] = HOSTILE[count[0] % len(HOSTILE)]
        elif name in LINKS and isinstance(each, str):
            changed[name] = LINK
        else:
            changed[name] = with_hostile_texts(each, count)
    return changed


@pytest.mark.parametrize("width", [360, 1440])
def test_hostile_texts_are_texts(app: DemoApp, browsers: Browsers, width: int) -> None:
    count = [0]

    def answer(route: Route) -> None:
        with contextlib.suppress(Error):  # the page has been left meanwhile
            response = route.fetch()
            route.fulfill(response=response, body=json.dumps(with_hostile_texts(response.json(), count)))

    with browsers.visit(app, width=width) as visit:
        visit.page.route("**/api/v1/**", answer)
        for path in paths_of(app, VIEWS_WITH_TEXTS).values():
            visit.open(path)
            assert visit.page.evaluate("window.owned") is None
            assert visit.page.locator("main img, main script, main iframe").count() == 0
            assert visit.page.locator("a[href^='javascript:' i]").count() == 0
            assert visit.overflow() == [], path
    assert count[0] > len(HOSTILE)


def test_a_slow_app_shows_a_skeleton_until_it_answers(app: DemoApp, browsers: Browsers) -> None:
    waiting: list[Route] = []
    answers = [False]

    def hold(route: Route) -> None:
        if answers[0]:
            route.continue_()
        else:
            waiting.append(route)

    with browsers.visit(app) as visit:
        visit.page.route("**/api/v1/feeds?**", hold)
        visit.page.goto(f"{app.url}/api/dashboard/feeds")
        expect(visit.page.locator(".skeleton").first).to_be_visible()
        expect(visit.page.get_by_role("table")).to_have_count(0)
        answers[0] = True
        for route in waiting:
            route.continue_()
        expect(visit.page.get_by_role("link", name="The Dev Wire")).to_be_visible()


@pytest.mark.parametrize("status", [500, 503])
def test_a_failing_app_says_what_failed_and_tries_again(app: DemoApp, browsers: Browsers, status: int) -> None:
    problem = {"title": "Out of order", "status": status, "detail": "the store is on fire", "correlation_id": "c0ffee"}

    def fail(route: Route) -> None:
        route.fulfill(status=status, content_type="application/problem+json", body=json.dumps(problem))

    with browsers.visit(app, may_fail=True) as visit:
        visit.page.route("**/api/v1/feeds?**", fail)
        visit.page.goto(f"{app.url}/api/dashboard/feeds")
        alert = visit.page.get_by_role("alert")
        expect(alert).to_contain_text("the store is on fire")
        assert visit.violations() == []
        visit.page.unroute("**/api/v1/feeds?**")
        alert.get_by_role("button", name="Try again").click()
        expect(visit.page.get_by_role("link", name="The Dev Wire")).to_be_visible()


def test_a_lost_connection_is_told_and_comes_back_without_a_reload(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app, may_fail=True) as visit:
        visit.open("/runs")
        visit.page.evaluate("window.before = true")
        app.kill()
        try:
            expect(visit.page.get_by_text("Connection lost")).to_be_visible()
            expect(visit.page.get_by_role("table")).to_be_visible()
            assert visit.violations() == []
        finally:
            app.start()
        expect(visit.page.get_by_text("Connection lost")).to_have_count(0, timeout=60_000)
        assert visit.page.evaluate("window.before") is True


def test_an_address_of_nothing_leads_back(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app, may_fail=True) as visit:
        visit.open_any("/no/such/view")
        visit.page.get_by_role("link", name="Go to the overview").click()
        visit.ready()
        visit.open_any("/feeds/no-such-feed")
        expect(visit.page.get_by_role("alert")).to_be_visible()
        assert visit.violations() == []


def test_the_management_key_is_asked_for_and_kept_in_the_session_only(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app, has_key=False, may_fail=True) as visit:
        page = visit.page
        page.goto(f"{app.url}/api/dashboard/quarantine")
        page.get_by_label("Key", exact=True).fill("wrong")
        page.get_by_role("button", name="Use this key").click()
        expect(page.get_by_text("does not take this management key")).to_be_visible()
        assert visit.violations() == []
        page.get_by_label("Key", exact=True).fill(app.management_key)
        page.get_by_role("button", name="Use this key").click()
        expect(page.get_by_role("link", name="New Address Review")).to_be_visible()
        assert page.evaluate("JSON.stringify(localStorage) + document.cookie").count(app.management_key) == 0
        assert all(app.management_key not in each for each in visit.requests)
