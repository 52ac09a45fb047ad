"""A person's visit to the dashboard: a page that notes what must never happen, and what is asked of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.browser import chromium
from tests.browser.demo_app import DemoApp

Theme = Literal["light", "dark"]
WIDTHS = (320, 820, 1440)
"""A window of 1280 pixels has 320 of them at 400 percent."""
THEMES: tuple[Theme, ...] = ("light", "dark")
BASE = "/api/dashboard"
expect.set_options(timeout=20_000)
VIEWS_WITH_TEXTS = ("", "tools/:tool", "feeds", "feeds/:feed", "quarantine", "runs", "runs/:run", "health")
# A request that a test answers with an error, or that fails with the app, is reported by the browser as an error.
_OF_FAILED_REQUESTS = re.compile(r"Failed to load resource|net::ERR_")


@dataclass
class Visit:
    """`problems` are errors of the page and of its console, and requests to other places than the app."""

    app: DemoApp
    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Opens a view, and returns once it has its data."""
        self.page.goto(f"{self.app.url}{BASE}{path}")
        self.ready()

    def open_any(self, path: str) -> None:
        """Opens what may be no view."""
        self.page.goto(f"{self.app.url}{BASE}{path}")

    def ready(self) -> None:
        self.page.locator("h1").first.wait_for()
        expect(self.page.locator(".skeleton")).to_have_count(0)

    def overflow(self) -> list[str]:
        """The elements that make the page wider than the window; none if it is not."""
        found: list[str] = self.page.evaluate(
            """() => {
              const most = document.documentElement.clientWidth;
              if (document.documentElement.scrollWidth <= most) return [];
              return [...document.querySelectorAll("main *, header *")]
                .filter((each) => each.getBoundingClientRect().right > most + 1)
                .map((each) => `${each.tagName}.${each.className}`.slice(0, 80)).slice(0, 5).concat(["overflow"]);
            }"""
        )
        return found

    def violations(self) -> list[str]:
        """What axe-core finds against WCAG 2.2 AA and its best practices."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(chromium.AXE.read_text("utf-8"))
        report = self.page.evaluate(
            """() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
                                                  "best-practice"], resultTypes: ["violations"]})"""
        )
        return [
            f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
            for each in report["violations"]
        ]


@dataclass
class Browsers:
    browser: Browser

    @classmethod
    @contextmanager
    def opened(cls) -> Iterator[Browsers]:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium.executable(), args=chromium.ARGUMENTS, headless=True
            )
            try:
                yield cls(browser)
            finally:
                browser.close()

    @contextmanager
    def visit(
        self,
        app: DemoApp,
        *,
        width: int = 1280,
        theme: Theme = "light",
        has_key: bool = True,
        context: Mapping[str, Any] | None = None,
        may_fail: bool = False,
    ) -> Iterator[Visit]:
        """A visit, after which it must have had no problem. With `may_fail`, requests may fail."""
        opened = self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="Europe/Berlin",
            **(context or {}),
        )
        try:
            if has_key:
                stored = f"sessionStorage.setItem('toolpulse.management-key', '{app.management_key}')"
                opened.add_init_script(stored)
            page = opened.new_page()
            page.set_default_timeout(20_000)
            visit = Visit(app, page)
            page.on("pageerror", lambda error: visit.problems.append(f"error: {error}"))
            page.on("console", lambda message: _note(visit, message, may_fail=may_fail))
            page.on("request", lambda request: _follow(visit, request))
            yield visit
            assert visit.problems == []
        finally:
            opened.close()


def _note(visit: Visit, message: ConsoleMessage, *, may_fail: bool) -> None:
    if message.type not in ("error", "warning"):
        return
    if may_fail and _OF_FAILED_REQUESTS.search(message.text):
        return
    visit.problems.append(f"{message.type}: {message.text}")


def _follow(visit: Visit, request: Request) -> None:
    visit.requests.append(request.url)
    if not request.url.startswith((visit.app.url + "/", "data:", "blob:")):
        visit.problems.append(f"request to {request.url}")


def paths_of(app: DemoApp, patterns: Sequence[str]) -> dict[str, str]:
    """The path of one page of each view, by its pattern. A view of something new needs a value here."""
    run = app.get("runs?limit=1")["items"][0]["run_id"]
    story = app.get("stories?limit=1")["items"][0]["event_id"]
    article = app.get("articles?limit=1")["items"][0]["source_id"]
    values = {"tool": "Nimbry", "feed": "demo-new-address", "run": run, "story": story, "article": article}
    return {pattern: "/" + re.sub(r":(\w+)", lambda found: values[found[1]], pattern) for pattern in patterns}
