"""The events of the specification, as they are on the queues of a running app, and what follows from the last one.

The app runs once for each event, with the function that would consume it disabled, so that its messages stay.
"""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import aiohttp

from tests.functional.flow.feeds import Entry, Feeds, serving
from tests.functional.stories.world import LEAD, OUTAGE
from tests.hosting import running_host

SECONDS = 60
OUTLETS = ("alpha", "beta", "gamma")


def publish(feeds: Feeds) -> None:
    """Three feeds of one story, and of three other articles each."""
    for outlet in OUTLETS:
        others = [
            Entry(f"{outlet} on {topic}: a report of {topic} with numbers", f"https://www.{outlet}.com/{topic}")
            for topic in ("gardens", "bridges", "harbours")
        ]
        story = Entry(f"{OUTAGE}, says {outlet}", f"https://www.{outlet}.com/story", LEAD)
        feeds.publish(outlet, [story, *others])


class App:
    def __init__(self, data: Path, feeds: Feeds) -> None:
        self.data = data
        self.feeds = feeds

    async def messages_of(self, queue: str, *, without: str) -> list[dict[str, Any]]:
        """The messages of the queue, from an app without this function."""
        settings = {
            "DATA_DIR": str(self.data),
            "ALLOW_PRIVATE_ADDRESSES": "true",
            f"AzureWebJobs.{without}.Disabled": "true",
        }
        async with (
            running_host(data=self.data, settings=settings) as host,
            aiohttp.ClientSession(host.url) as session,
        ):
            await self._add(session)
            for _ in range(SECONDS * 5):
                async with session.get(f"/devstoreaccount1/{queue}/messages?peekonly=true&numofmessages=32") as answer:
                    text = await answer.text()
                    found = ElementTree.fromstring(text).iter("MessageText") if answer.status == 200 else []
                if messages := [json.loads(base64.b64decode(each.text or "")) for each in found]:
                    return messages
                await asyncio.sleep(0.2)
        raise AssertionError(host.printed())

    async def _add(self, session: aiohttp.ClientSession) -> None:
        """Adds the tool and the feeds, if they are not there, and fetches what is due."""
        await session.post("/api/v1/tools", json={"name": "Hexwharf"})
        for outlet in OUTLETS:
            await session.post(
                "/api/v1/feeds", json={"url": self.feeds.url(outlet), "source_name": outlet, "feed_id": outlet}
            )
        await session.post("/admin/functions/ingest_due_feeds?wait=1", json={})

    async def signals(self) -> list[dict[str, Any]]:
        settings = {"DATA_DIR": str(self.data), "ALLOW_PRIVATE_ADDRESSES": "true"}
        async with (
            running_host(data=self.data, settings=settings) as host,
            aiohttp.ClientSession(host.url) as session,
        ):
            for _ in range(SECONDS * 5):
                async with session.get("/api/v1/tools/hexwharf/signals") as answer:
                    if found := (await answer.json())["items"]:
                        (signal,) = found
                        async with session.get(f"/api/v1/stories/{signal['event_id']}") as story:
                            return [signal, await story.json()]
                await asyncio.sleep(0.2)
        raise AssertionError(host.printed())


async def test_each_event_is_on_its_queue_with_the_payload_of_the_specification(tmp_path: Path) -> None:
    async with serving() as feeds:
        publish(feeds)
        app = App(tmp_path, feeds)
        new = await app.messages_of("analyze-articles", without="analyze_articles")
        group = await app.messages_of("group-headlines", without="group_headlines")
        ideas = await app.messages_of("generate-ideas", without="generate_ideas")
        signal, story = await app.signals()
    assert {each["event"] for each in new} == {"articles.new"}
    assert {each["feed_id"] for each in new} <= set(OUTLETS)
    assert all(each.keys() == {"event", "feed_id", "article_ids", "count"} for each in new)
    assert all(each["count"] == len(each["article_ids"]) > 0 for each in new)

    for grouping in group:
        assert grouping.keys() == {"event", "article_ids", "trigger_reason", "ungrouped_count"}
        assert (grouping["event"], grouping["trigger_reason"]) == ("processing.group_headlines", "threshold_reached")
        assert grouping["ungrouped_count"] >= 10
        assert grouping["ungrouped_count"] >= len(set(grouping["article_ids"])) > 0, "it names those just analysed"

    assert all(each.keys() == {"event", "event_ids", "trigger_reason"} for each in ideas)
    assert {(each["event"], each["trigger_reason"]) for each in ideas} == {
        ("processing.generate_ideas", "events_updated")
    }
    assert signal["event_id"] in {event for each in ideas for event in each["event_ids"]}
    assert (signal["kind"], signal["after"]["publishers"], story["article_count"]) == ("NEW", 3, 3)
