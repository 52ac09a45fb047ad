"""Every view on demo data: at three widths and in both themes, without errors, for everybody, and by keyboard."""

from __future__ import annotations

import re

import pytest

from tests.browser.demo_app import DemoApp
from tests.browser.visitor import THEMES, WIDTHS, Browsers, Theme, paths_of
from tests.hosting import ROOT

VIEWS = re.findall(
    r'path: "([^"]*)"', (ROOT / "triggers" / "page" / "dashboard" / "views" / "index.js").read_text("utf-8")
)
MAX_REQUESTS = 60
MAX_OF_API = 12


def test_there_are_views() -> None:
    assert {"", "feeds", "quarantine", "runs", "health"} <= set(VIEWS)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_fits_and_meets_axe(app: DemoApp, browsers: Browsers, width: int, theme: Theme) -> None:
    found: dict[str, list[str]] = {}
    with browsers.visit(app, width=width, theme=theme) as visit:
        for pattern, path in paths_of(app, VIEWS).items():
            visit.open(path)
            found[pattern] = [*visit.overflow(), *visit.violations()]
            assert visit.page.title().endswith("toolpulse")
    assert {pattern: problems for pattern, problems in found.items() if problems} == {}


def test_a_view_needs_few_requests(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app) as visit:
        for path in paths_of(app, VIEWS).values():
            visit.requests.clear()
            visit.open(path)
            of_api = [each for each in visit.requests if "/api/v1/" in each]
            assert len(visit.requests) <= MAX_REQUESTS, path
            assert len(of_api) <= MAX_OF_API, of_api


def test_the_keyboard_reaches_everything_and_shows_where_it_is(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app) as visit:
        for path in ("/", "/feeds", "/quarantine", "/health"):
            visit.open(path)
            page = visit.page
            reached = []
            for _ in range(60):
                page.keyboard.press("Tab")
                focus = page.evaluate(
                    """() => {
                      const each = document.activeElement;
                      if (!each || each === document.body) return null;
                      const style = getComputedStyle(each);
                      const name = each.getAttribute("aria-label") || each.textContent.trim() || each.title
                        || each.labels?.[0]?.textContent || each.placeholder || "";
                      return {name: name.slice(0, 60), tag: each.tagName, visible: style.outlineStyle !== "none"
                        || style.boxShadow !== "none"};
                    }"""
                )
                if focus is None:
                    break
                reached.append(focus)
            assert reached[0]["name"] == "Skip to content"
            assert {"Overview", "Feeds", "Quarantine", "Runs", "Health"} <= {each["name"] for each in reached}
            assert [each for each in reached if not each["name"]] == []
            assert [each for each in reached if not each["visible"]] == []


def test_the_skip_link_and_navigation_move_the_focus_to_the_content(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app) as visit:
        visit.open("/")
        visit.page.keyboard.press("Tab")
        visit.page.keyboard.press("Enter")
        assert visit.page.evaluate("document.activeElement.id") == "main"
        visit.page.get_by_role("link", name="Runs", exact=True).focus()
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_url("**/api/dashboard/runs")
        visit.ready()
        assert visit.page.evaluate("document.activeElement.id") == "main"


def test_the_chosen_theme_wins_over_that_of_the_system_and_is_kept(app: DemoApp, browsers: Browsers) -> None:
    with browsers.visit(app, theme="light") as visit:
        visit.open("/runs")
        background = "getComputedStyle(document.documentElement).backgroundColor"
        before = visit.page.evaluate(background)
        visit.page.locator("summary", has_text="Settings").click()
        visit.page.get_by_label("Dark").check()
        assert visit.page.evaluate(background) != before
        visit.open("/runs")
        assert visit.page.evaluate(background) != before
