"""How the dashboard feels with many tools and articles, in Chromium: times, requests, bytes, long tasks.

    python3 -m benchmarks.dashboard [--tools 500] [--articles 10000] [--feeds 50] [--data DIR] [--demo] [--port 7228]

Writes a month of articles with their mentions, counts and refreshes with the code of the app, serves it, and opens the
overview, the tool with the most mentions and the feeds. With --demo it serves the demo data instead, and waits until
these are complete. --data keeps the folder, and uses one that is filled already. Prints figures, asserts nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, sync_playwright

from models.article import Article, CanonicalReading, SourceAttribution
from models.mention import SentimentScore
from services import container
from services.articles.identity import dedup_key, normalize_headline
from services.feeds.form import new_feed
from services.mentions.due import RefreshMessage, mark_dirty
from services.ports import utc_now
from services.store.containers import ARTICLES, MENTIONS
from tests.browser.chromium import ARGUMENTS, executable
from tests.builders import MemoryQueues

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 5
DAYS = 30
WRITTEN_AT_ONCE = 500
POLARITY = {"positive": 0.75, "neutral": 0.0, "negative": -0.5}
ANALYZER = {"analyzer": "embedded", "analyzer_version": "benchmark"}

WATCH = """
window.__long = [];
new PerformanceObserver((list) => window.__long.push(...list.getEntries().map((each) => each.duration)))
  .observe({ type: "longtask", buffered: true });
"""
LOADED = """() => {
  const all = [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")];
  const api = all.filter((each) => each.name.includes("/api/v1/"));
  return {
    requests: all.length,
    kilobytes: all.reduce((sum, each) => sum + each.transferSize, 0) / 1000,
    api: api.map((each) => ({
      name: each.name.split("/api/v1/")[1], ms: each.responseEnd - each.requestStart, from: each.startTime,
      kilobytes: each.transferSize / 1000,
    })),
    long: window.__long,
  };
}"""
SCROLL = """async () => {
  const gaps = [];
  let last = performance.now();
  for (let frame = 0; frame < 120; frame += 1) {
    scrollBy(0, 120);
    await new Promise(requestAnimationFrame);
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  return gaps.sort((a, b) => a - b);
}"""
ACTED = """async (change) => {
  const begun = performance.now();
  change();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begun;
}"""
TYPE = f"""(round) => {{
  const input = document.querySelector("main input[type=search]");
  if (!input) return null;
  const text = ["1", "12", "123", "12", "1", ""][round];
  return ({ACTED})(() => {{ input.value = text; input.dispatchEvent(new Event("input", {{ bubbles: true }})); }});
}}"""
SORT = f"""(round) => {{
  const heads = document.querySelectorAll("main button.sort");
  return heads.length ? ({ACTED})(() => heads[round % heads.length].click()) : null;
}}"""
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"


def article_at(number: int, at: datetime, tool_names: str) -> Article:
    headline = f"Report {number}: what {tool_names} changed for its users"
    url = f"https://publisher-{number % 40}.example/{number}"
    source, words = f"source-{number % 50}", f"{tool_names} is a joy to use, people say. It was slow before."
    times: dict[str, Any] = {"published_at": at, "scraped_at": at}
    said = SourceAttribution(article_id=str(number), url=url, crawl_timestamp=at, original_headline=headline, **times)
    reading = CanonicalReading(
        source=source, observation_id=f"obs:{number}", headline=headline, url=url, revision="r1", **times
    )
    fields: dict[str, Any] = {
        **{"created_at": at, "updated_at": at, "timestamp": at, "headline": headline, "text_for_analysis": words},
        **{"dedup_key": dedup_key(normalize_headline(headline), at.date())},
        **{"normalized_headline": normalize_headline(headline), "canonical": reading},
        **{"sources": (source,), "source_attribution": {source: said}},
        **{"status": "analyzed", "sentiment": "neutral", "score": 0.9, "polarity": 0.0, "analyzed_at": at, **ANALYZER},
    }
    return Article(**fields)


def mention_of(tool_id: str, article: Article, number: int, chance: random.Random) -> SentimentScore:
    said = chance.choices(list(POLARITY), (5, 3, 2))[0]
    reading = article.canonical
    fields: dict[str, Any] = {
        **{"created_at": article.timestamp, "updated_at": article.timestamp, "published_at": article.timestamp},
        **{"tool_id": tool_id, "source_id": article.source_id, "sentiment": said, "score": 0.9, **ANALYZER},
        **{"polarity": POLARITY[said], "revision": "r1", "source": reading.source, "headline": article.headline},
        **{"url": reading.url, "publisher_id": f"publisher-{number % 40}.example"},
    }
    return SentimentScore(**fields)


async def fill(data: Path, tools: int, articles: int, feeds: int) -> None:
    """Tool 0 has a mention in every fifth article; the others have fewer, the higher their number is."""
    app = await container.build({"DATA_DIR": str(data), "STORE": "sqlite"}, queues=MemoryQueues())
    chance, now = random.Random(16), utc_now()
    try:
        added = [await app.tools.add({"primary_name": f"Quorvia {number:03}"}) for number in range(tools)]
        weights = [1 / (number + 4) for number in range(tools)]
        documents: list[Any] = []
        mentions: list[Any] = []
        moments: dict[str, list[datetime]] = {}
        for number in range(articles):
            at = (now - timedelta(seconds=chance.uniform(60, DAYS * 86400))).replace(microsecond=0)
            named = {*chance.choices(range(tools), weights, k=2), *([0] if number % 5 == 0 else [])}
            article = article_at(number, at, " and ".join(added[each].primary_name for each in sorted(named)))
            documents.append(article.to_document())
            for each in sorted(named):
                tool_id = added[each].tool_id
                mentions.append(mention_of(tool_id, article, number, chance).to_document())
                moments.setdefault(tool_id, []).append(at)
        for name, rows in ((ARTICLES.name, documents), (MENTIONS.name, mentions)):
            for start in range(0, len(rows), WRITTEN_AT_ONCE):
                await app.store.write_many(name, rows[start : start + WRITTEN_AT_ONCE])
        for number in range(feeds):
            about = {"url": f"http://127.0.0.1:9/{number}.xml", "source_name": f"Source {number}", "enabled": False}
            await app.feeds.registry.add(new_feed(about, now))
        await mark_dirty(app.store, moments, now)
        for message in (await app.figures.refresh.begin()).messages:
            await app.figures.refresh.work(RefreshMessage.from_message(message))
        print(f"{tools} tools, {articles} articles, {len(mentions)} mentions")
    finally:
        await app.close()


@contextmanager
def served(data: Path, port: int, *arguments: str) -> Iterator[str]:
    command = [sys.executable, "scripts/serve.py", "--port", str(port), "--data", str(data), *arguments]
    with (data / "host.log").open("wb") as log:
        host = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}/api"
            until(lambda: bool(rows_of(url)))
            yield url
        finally:
            host.terminate()
            host.wait()


def rows_of(url: str, period: str = "DAY_30") -> list[dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{url}/v1/sentiment/trends?period={period}&limit=500", timeout=60) as answer:
            return list(json.loads(answer.read())["items"])
    except OSError:
        return []


def until(ask: Callable[[], bool], seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not ask():
        if time.monotonic() > end:
            raise TimeoutError("the app does not answer, or its demo data are not complete")
        time.sleep(0.2)


def median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.0f} ms (at most {max(values):.0f})"


def opened(browser: Browser, url: str, shown: str) -> None:
    """Opens the page in a new profile ROUNDS times. The time ends when `shown` is visible and painted."""
    times, page = [], None
    for _ in range(ROUNDS):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.add_init_script(WATCH)
        page = context.new_page()
        page.goto(url, wait_until="commit")
        page.wait_for_selector(shown)
        times.append(page.evaluate(f"async () => {{ await ({PAINTED})(); return performance.now(); }}"))
        page.wait_for_load_state("networkidle")
        found = page.evaluate(LOADED)
        context.close()
    print(f"  first figures          {median(times)}")
    print(f"  requests               {found['requests']}, {found['kilobytes']:.0f} kB on the wire")
    print(f"  long tasks             {[round(each) for each in found['long']]} ms")
    for each in found["api"]:
        print(f"  {each['name'][:70]}: begun at {each['from']:.0f} ms, {each['ms']:.0f} ms, {each['kilobytes']:.1f} kB")


def felt(browser: Browser, url: str, shown: str) -> None:
    """Scrolls 120 frames; types into the search and chooses an order, if the page has these."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.add_init_script(WATCH)
    page.goto(url)
    page.wait_for_selector(shown)
    page.wait_for_load_state("networkidle")
    gaps = page.evaluate(SCROLL)
    print(f"  scrolling, each frame  {median(gaps)}, 95 % within {gaps[int(len(gaps) * 0.95)]:.0f} ms")
    for name, act in (("a letter in the search", TYPE), ("another order", SORT)):
        times = [page.evaluate(act, each) for each in range(6)]
        if times[0] is not None:
            print(f"  {name:22} {median(times)}")
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tools", type=int, default=500)
    parser.add_argument("--articles", type=int, default=10_000)
    parser.add_argument("--feeds", type=int, default=200)
    parser.add_argument("--data", type=Path, help="a folder that is kept; one that is filled is used as it is")
    parser.add_argument("--demo", action="store_true", help="measure the demo data instead")
    parser.add_argument("--port", type=int, default=7228)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = chosen.data or Path(folder)
        data.mkdir(parents=True, exist_ok=True)
        if not chosen.demo and not (data / "toolpulse.db").exists():
            asyncio.run(fill(data, chosen.tools, chosen.articles, chosen.feeds))
        with served(data, chosen.port, *(["--demo"] if chosen.demo else [])) as url, sync_playwright() as playwright:
            until(lambda: all(each["complete"] and each["total_mentions"] for each in rows_of(url)[:1]))
            most = max(rows_of(url), key=lambda row: row["total_mentions"])
            browser = playwright.chromium.launch(executable_path=executable(), args=ARGUMENTS)
            tool, mentions = most["tool_id"], most["total_mentions"]
            pages = {
                "overview": ("/dashboard", "table.tools tbody tr"),
                f"a tool with {mentions} mentions": (f"/dashboard/tools/{tool}", "ul.figures .tile-huge"),
                "feeds": ("/dashboard/feeds", "tbody tr"),
            }
            for name, (path, shown) in pages.items():
                print(f"{name}, at a load of {os.getloadavg()[0]:.1f}")
                opened(browser, url + path, shown)
                felt(browser, url + path, shown)
            browser.close()


if __name__ == "__main__":
    main()
