"""An outlet's entries as RSS 2.0, RSS 1.0, Atom or JSON Feed. The same entries always give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

from scripts.demo.cast import Outlet
from scripts.demo.newsroom import Entry

Writer = Callable[[Outlet, Sequence[Entry], str], str]
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def link(entry: Entry, base: str) -> str:
    """An outlet links to its own page; half of the stories of small outlets link to the first outlet's page."""
    first = entry.story.reports[0][0]
    if first != entry.outlet.id and entry.outlet.topics and not entry.story.is_retold:
        return f"{base}/{first}/{entry.story.slug}?utm_source={entry.outlet.id}&utm_medium=rss"
    return f"{base}/{entry.outlet.id}/{entry.story.slug}{'.html' if entry.is_renewed else ''}"


def _site(outlet: Outlet) -> str:
    """The address that the outlet names as its own. All are served from one host, which publishes nothing."""
    return f"https://{outlet.id}.example/"


def _guid(entry: Entry) -> str:
    return f"{entry.outlet.id}{'/v2/' if entry.is_renewed else '-'}{entry.story.key}"


def _tags(entry: Entry) -> list[str]:
    product = entry.story.product
    return [entry.story.tag, product.topic, *([product.ticker] if product.ticker else [])]


def _html(entry: Entry) -> str:
    return f"<p>{escape(entry.summary)}</p>"


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def rss(outlet: Outlet, entries: Sequence[Entry], base: str) -> str:
    items = "".join(
        f"<item><title>{escape(each.headline)}</title><link>{escape(link(each, base))}</link>"
        f'<guid isPermaLink="false">{_guid(each)}</guid>'
        f"<pubDate>{format_datetime(each.published, usegmt=True)}</pubDate>"
        f'<source url="{_site(outlet)}">{escape(outlet.name)}</source>'
        f"<description>{escape(_html(each))}</description>"
        + "".join(f"<category>{escape(tag)}</category>" for tag in _tags(each))
        + "</item>\n"
        for each in entries
    )
    return (
        f'{_XML}<rss version="2.0"><channel><title>{escape(outlet.name)}</title><link>{base}/{outlet.id}/</link>'
        f"<description>News of invented tools</description><ttl>1</ttl>\n{items}</channel></rss>\n"
    )


def rdf(outlet: Outlet, entries: Sequence[Entry], base: str) -> str:
    items = "".join(
        f'<item rdf:about="{escape(_site(outlet) + _guid(each))}"><title>{escape(each.headline)}</title>'
        f"<link>{escape(link(each, base))}</link><description>{escape(_html(each))}</description>"
        f"<dc:date>{_iso(each.published)}</dc:date>"
        + "".join(f"<dc:subject>{escape(tag)}</dc:subject>" for tag in _tags(each))
        + "</item>\n"
        for each in entries
    )
    return (
        f'{_XML}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="{base}/{outlet.id}/">'
        f"<title>{escape(outlet.name)}</title><link>{base}/{outlet.id}/</link>"
        f"<description>News of invented tools</description></channel>\n{items}</rdf:RDF>\n"
    )


def atom(outlet: Outlet, entries: Sequence[Entry], base: str) -> str:
    items = "".join(
        f"<entry><id>tag:demo.invalid,2026:{_guid(each)}</id><title>{escape(each.headline)}</title>"
        f'<link href="{escape(link(each, base))}"/><published>{_iso(each.published)}</published>'
        f"<updated>{_iso(each.updated)}</updated>"
        f'<summary type="html">{escape(_html(each))}</summary>'
        + "".join(f'<category term="{escape(tag)}"/>' for tag in _tags(each))
        + "</entry>\n"
        for each in entries
    )
    updated = max((each.updated for each in entries), default=None)
    return (
        f'{_XML}<feed xmlns="http://www.w3.org/2005/Atom"><title>{escape(outlet.name)}</title>'
        f'<id>tag:demo.invalid,2026:{outlet.id}</id><link href="{base}/{outlet.id}/"/>'
        + (f"<updated>{_iso(updated)}</updated>" if updated else "")
        + f"\n{items}</feed>\n"
    )


def json_feed(outlet: Outlet, entries: Sequence[Entry], base: str) -> str:
    items = [
        {
            "id": _guid(each),
            "url": link(each, base),
            "title": each.headline,
            "content_html": _html(each),
            "date_published": _iso(each.published),
            "date_modified": _iso(each.updated),
            "tags": _tags(each),
        }
        for each in entries
    ]
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": outlet.name,
        "home_page_url": f"{base}/{outlet.id}/",
        "items": items,
    }
    return json.dumps(feed, ensure_ascii=False, indent=1)


FORMATS: dict[str, tuple[str, Writer]] = {
    "rss": ("application/rss+xml", rss),
    "rdf": ("application/rdf+xml", rdf),
    "atom": ("application/atom+xml", atom),
    "json": ("application/feed+json", json_feed),
}


def front_page(outlet: Outlet, entries: Sequence[Entry], base: str) -> str:
    """A page for people, which names its feed unless the outlet has none."""
    kind = FORMATS[outlet.form][0]
    alternate = f'<link rel="alternate" type="{kind}" title="{escape(outlet.name)}" href="feed">'
    items = "".join(f'<li><a href="{escape(link(each, base))}">{escape(each.headline)}</a></li>' for each in entries)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(outlet.name)}</title>'
        + (alternate if outlet.behaviour != "not_a_feed" else "")
        + f"</head><body><h1>{escape(outlet.name)}</h1><ul>{items}</ul></body></html>\n"
    )


def article_page(entry: Entry) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(entry.headline)}</title></head>'
        f"<body><article><h1>{escape(entry.story.headline)}</h1>"
        f'<time datetime="{_iso(entry.published)}">{_iso(entry.published)}</time>{_html(entry)}'
        "</article></body></html>\n"
    )
