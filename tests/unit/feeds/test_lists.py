"""Whole lists of feeds at once."""

from pathlib import Path

import pytest

from models.errors import InvalidInput
from services.feeds.lists import apply_yaml, import_opml
from services.feeds.registry import FeedRegistry

SPECIFIED = Path(__file__).resolve().parents[3] / "config" / "feeds.yaml"


def opml(*outlines: str) -> bytes:
    return "\n".join(["<opml><body>", *outlines, "</body></opml>"]).encode()


async def test_an_import_tells_what_is_new_what_was_known_and_what_it_refused_by_line(registry: FeedRegistry) -> None:
    document = opml(
        '<outline text="A" xmlUrl="https://a.example/"/>',
        '<outline text="bad" xmlUrl="gopher://b.example/"/>',
        '<outline text="A again" xmlUrl="http://a.example"/>',
        '<outline text="%s" xmlUrl="https://c.example/"/>' % ("long " * 100),
        '<outline text="secret" xmlUrl="https://me:pw@d.example/"/>',
    )
    report = await import_opml(registry, document)
    assert (len(report.added), report.known) == (2, report.added[:1])
    assert [each.line for each in report.refused] == [3, 6]
    assert "http:// or https://" in report.refused[0].reason
    again = await import_opml(registry, document)
    assert (again.added, len(again.known), again.refused) == ((), 3, report.refused)
    feeds = [feed async for feed in registry.every()]
    assert sorted(feed.source_name[:9] for feed in feeds) == ["A", "long long"]


async def test_the_specifications_list_is_applied_once_and_then_holds(registry: FeedRegistry) -> None:
    report = await apply_yaml(registry, SPECIFIED.read_bytes())
    assert sorted(report.added) == ["bloomberg-markets", "cnbc-breaking", "reuters-world"]
    assert (await registry.get("cnbc-breaking")).priority_score == 1.5
    again = await apply_yaml(registry, SPECIFIED.read_bytes())
    assert (again.added, sorted(again.known), again.changed, again.refused) == ((), sorted(report.added), (), ())


async def test_a_known_feed_is_brought_in_line_with_what_the_list_says_and_with_nothing_else(
    registry: FeedRegistry,
) -> None:
    await apply_yaml(registry, b"feeds: [{id: a, url: 'https://a.example/', source_name: A, source_priority: 7}]")
    report = await apply_yaml(registry, b"feeds: [{url: 'https://a.example', source_name: B, enabled: false}]")
    assert report.changed == ("a",)
    feed = await registry.get("a")
    assert (feed.source_name, feed.enabled, feed.source_priority) == ("B", False, 7)


async def test_one_bad_entry_is_told_with_its_line_and_the_others_are_taken(registry: FeedRegistry) -> None:
    document = b"""
feeds:
  - url: "https://a.example/"
    source_name: A
  - url: "https://b.example/"
    source_name: B
    prio: 1
  - id: 7
    url: "https://c.example/"
    source_name: C
  - 1: 2
"""
    report = await apply_yaml(registry, document)
    assert len(report.added) == 1
    assert [each.line for each in report.refused] == [5, 8, 11]
    assert report.refused[0].reason.startswith("prio: no such field")


@pytest.mark.parametrize(
    "document",
    [b"", b"- a", b"a: 1", b"feeds: 7", b"feeds: [7]", b"feeds: {a: b}", b"{", b"feeds: !!python/object:os.system {}"],
)
async def test_what_is_no_list_of_feeds_is_refused_whole(registry: FeedRegistry, document: bytes) -> None:
    with pytest.raises(InvalidInput, match="feeds"):
        await apply_yaml(registry, document)


async def test_an_empty_list_is_a_list(registry: FeedRegistry) -> None:
    assert (await apply_yaml(registry, b"feeds:\n")).added == ()
