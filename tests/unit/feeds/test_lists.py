"""Whole lists of feeds, registered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from models.feed import Feed
from services.feeds.lists import apply_yaml, import_opml
from services.feeds.registry import FeedRegistry
from services.fetch.outcome import credentials_in
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW
from triggers.opml import write_opml

SPECIFIED = (Path(__file__).resolve().parents[2] / "data" / "specifications" / "ingestion.yaml").read_bytes()
"""Section 4.1 of the ingestion specification, whose feeds have `id`."""


def ids(feeds: Iterable[Feed]) -> list[str]:
    return sorted(each.feed_id for each in feeds)


def opml(*outlines: str) -> bytes:
    return "\n".join(["<opml><body>", *outlines, "</body></opml>"]).encode()


async def test_an_import_reports_new_known_and_refused_feeds_by_line(registry: FeedRegistry) -> None:
    document = opml(
        '<outline text="A" xmlUrl="https://a.example/"/>',
        '<outline text="bad" xmlUrl="gopher://b.example/"/>',
        '<outline text="A again" xmlUrl="http://a.example"/>',
        '<outline text="%s" xmlUrl="https://c.example/"/>' % ("long " * 100),
        '<outline text="secret" xmlUrl="https://me:pw@d.example/"/>',
    )
    report = await import_opml(registry, document, NOW)
    assert ([each.source_name[:9] for each in report.added], report.known) == (["A", "long long"], ())
    assert [(each.line, each.source_name) for each in report.refused] == [(3, "bad"), (6, "secret")]
    assert "http:// or https://" in report.refused[0].reason
    again = await import_opml(registry, document, NOW)
    assert (again.added, ids(again.known), again.refused) == ((), ids(report.added), report.refused)
    feeds = await registry.every()
    assert sorted(feed.source_name[:9] for feed in feeds) == ["A", "long long"]


async def test_the_specifications_list_is_applied_once(registry: FeedRegistry) -> None:
    report = await apply_yaml(registry, SPECIFIED, NOW)
    assert ids(report.added) == ["bloomberg-markets", "cnbc-breaking", "reuters-world"]
    assert (await registry.get("cnbc-breaking")).priority_score == 1.5
    again = await apply_yaml(registry, SPECIFIED, NOW)
    assert (again.added, ids(again.known), again.changed, again.refused) == ((), ids(report.added), (), ())


async def test_a_known_feed_is_changed_in_the_fields_of_the_list_only(
    registry: FeedRegistry,
) -> None:
    first = b"feeds: [{feed_id: a, url: 'https://a.example/', source_name: A, source_priority: 7}]"
    await apply_yaml(registry, first, NOW)
    report = await apply_yaml(registry, b"feeds: [{url: 'https://a.example', source_name: B, enabled: false}]", NOW)
    assert ids(report.changed) == ["a"]
    feed = await registry.get("a")
    assert (feed.source_name, feed.enabled, feed.source_priority) == ("B", False, 7)


async def test_a_bad_entry_is_reported_with_its_line_and_the_others_are_registered(registry: FeedRegistry) -> None:
    document = b"""
feeds:
  - url: "https://a.example/"
    source_name: A
  - url: "https://b.example/"
    source_name: B
    prio: 1
  - feed_id: 7
    url: "https://c.example/"
    source_name: C
  - 1: 2
"""
    report = await apply_yaml(registry, document, NOW)
    assert len(report.added) == 1
    assert [each.line for each in report.refused] == [5, 8, 11]
    assert report.refused[0].reason.startswith("prio: no such field")


async def test_a_feed_in_several_folders_is_one_feed_with_all_their_tags_and_its_site(registry: FeedRegistry) -> None:
    document = opml(
        '<outline text="News"><outline text="A" xmlUrl="https://a.example/" category="/B"/></outline>',
        '<outline text="C"><outline text="again" xmlUrl="feed://a.example" htmlUrl="https://site.example/"/></outline>',
        '<outline text="D" xmlUrl="feed:https://d.example/rss" htmlUrl="no site"/>',
    )
    report = await import_opml(registry, document, NOW)
    assert [(each.feed_url, each.source_name, each.tags, each.site_url) for each in report.added] == [
        ("https://a.example/", "A", ("B", "C", "News"), "https://site.example/"),
        ("https://d.example/rss", "D", (), None),
    ]
    assert (report.known, report.refused) == ((), ())


async def test_an_export_that_is_imported_elsewhere_gives_the_same_feeds(
    registry: FeedRegistry, store: SqliteStore, watch: Watch
) -> None:
    document = opml(
        '<outline text="News"><outline text="World">',
        '<outline text="A" xmlUrl="https://a.example/" category="/B/C,D" htmlUrl="https://site.example/"/>',
        '</outline></outline><outline text="E" xmlUrl="https://e.example/"/>',
    )
    first = (await import_opml(registry, document, NOW)).added
    export = write_opml(first, NOW)
    for each in first:
        await registry.remove(each.feed_id)
    again = await import_opml(registry, export, NOW)

    def shown(feeds: Iterable[Feed]) -> Sequence[object]:
        return sorted((each.feed_id, each.source_name, each.tags, each.site_url) for each in feeds)

    assert (shown(again.added), again.known, again.refused) == (shown(first), (), ())


async def test_outlines_with_too_many_or_too_long_tags_are_refused_and_the_others_added(registry: FeedRegistry) -> None:
    many = ",".join(f"t{number}" for number in range(21))
    document = opml(
        f'<outline text="A" xmlUrl="https://a.example/" category="{many}"/>',
        "<outline text='%s'>" % ("long " * 30) + '<outline text="B" xmlUrl="https://b.example/"/></outline>',
        '<outline text="C" xmlUrl="https://c.example/"/>',
    )
    report = await import_opml(registry, document, NOW)
    assert [(each.line, each.reason[:5]) for each in report.refused] == [(2, "tags:"), (3, "tags:")]
    assert [each.source_name for each in report.added] == ["C"]


async def test_an_entry_whose_credential_is_no_setting_is_refused_by_name(store: SqliteStore, watch: Watch) -> None:
    registry = FeedRegistry(store, watch, credentials_in({"FEED_CREDENTIAL_A": "basic a:b"}))
    document = b"""
feeds:
  - {url: "https://a.example/", source_name: A, credential: FEED_CREDENTIAL_A}
  - {url: "https://b.example/", source_name: B, credential: FEED_CREDENTIAL_B}
"""
    report = await apply_yaml(registry, document, NOW)
    assert [each.source_name for each in report.added] == ["A"]
    assert [(each.line, "FEED_CREDENTIAL_B" in each.reason) for each in report.refused] == [(4, True)]
