"""Made-up feeds for the benchmarks.

The same arguments give the same bytes. Two of three feeds are RSS, the others Atom. Of each feed's stories, one in
seven is also in two other feeds, in one of them with the name of the feed behind the headline.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from xml.sax.saxutils import escape

LATEST = datetime(2026, 6, 30, 12, tzinfo=UTC)
SHARED_EVERY = 7
NAMES = "Alder Apex Beacon Cobalt Delta Ember Fjord Granite Harbor Kestrel Lumen Nimbus Orchard Quartz Vertex Willow"
_KINDS = "Airlines Bank Biotech Energy Foods Labs Logistics Media Motors Networks Pharma Robotics Solar Steel Telecom"
_VERBS = "announces approves cuts defends delays expands halts launches loses rejects reviews unveils wins"
_THINGS = (
    "battery plant, rail contract, wage agreement, bond sale, data centre, vaccine trial, merger, trade pact, safety "
    "recall, pension reform, wind farm, satellite, housing programme, privacy ruling, chip factory, stadium bid"
)
_PLACES = "Accra Austin Bergen Cairo Dublin Hanoi Jakarta Lagos Lima Lisbon London Mumbai Nairobi Osaka Prague Seoul"
_SENTENCES = (
    "Officials described the results as encouraging.",
    "The figures were weaker than analysts had feared.",
    "Residents were promised a better service, and critics called the plan a serious mistake.",
    "A spokesperson declined to comment on the terrible delays.",
    "The agreement still needs the approval of the council.",
    "Demand has been excellent in every region since the first phase opened.",
    "Two people close to the matter said that negotiations ended badly last spring.",
)


@dataclass(frozen=True, slots=True)
class Entry:
    title: str
    link: str
    html: str
    published: datetime
    tag: str


def corpus(feeds: int, entries: int, seed: int = 1) -> dict[str, list[Entry]]:
    """The entries of each feed by its name, the newest first."""
    chance = random.Random(seed)
    found: dict[str, list[Entry]] = {f"feed-{number:04}": [] for number in range(feeds)}
    names = list(found)
    for number, name in enumerate(names):
        for place in range(entries):
            published = LATEST - timedelta(minutes=37 * place + chance.randrange(30))
            entry = _entry(chance, name, number * entries + place, published)
            found[name].append(entry)
            if place % SHARED_EVERY == 0:
                for step, ending in ((1, ""), (3, " - {}")):
                    other = names[(number + step) % feeds]
                    title = entry.title + ending.format(other)
                    copy = Entry(title, f"https://{other}.example/{name}/{place}", entry.html, published, entry.tag)
                    found[other].append(copy)
    return {name: sorted(own, key=lambda each: each.published, reverse=True)[:entries] for name, own in found.items()}


def _entry(chance: random.Random, feed: str, number: int, published: datetime) -> Entry:
    def one_of(words: str, separator: str | None = None) -> str:
        return chance.choice(words.split(separator)).strip()

    subject, place = f"{one_of(NAMES)} {one_of(_KINDS)}", one_of(_PLACES)
    title = f"{subject} {one_of(_VERBS)} {one_of(_THINGS, ', ')} in {place}, worth {number % 97 + 2} million"
    sentences = [f"{subject} in {place}, case {number}.", *chance.choices(_SENTENCES, k=chance.randrange(4, 24))]
    html = "".join(f"<p>{each}</p>" for each in sentences)
    return Entry(title, f"https://{feed}.example/{number}/story", html, published, one_of(_KINDS))


def rss(name: str, entries: Sequence[Entry]) -> str:
    items = "".join(
        f"<item><title>{escape(each.title)}</title><link>{each.link}</link><guid>{each.link}</guid>"
        f"<pubDate>{format_datetime(each.published)}</pubDate><category>{each.tag}</category>"
        f"<description>{escape(each.html)}</description></item>\n"
        for each in entries
    )
    site = f"<title>{name}</title><link>https://{name}.example/</link>"
    return f'<?xml version="1.0"?>\n<rss version="2.0"><channel>{site}{items}</channel></rss>\n'


def atom(name: str, entries: Sequence[Entry]) -> str:
    items = "".join(
        f'<entry><title>{escape(each.title)}</title><link href="{each.link}"/><id>{each.link}</id>'
        f'<updated>{each.published.isoformat()}</updated><category term="{each.tag}"/>'
        f'<content type="html">{escape(each.html)}</content></entry>\n'
        for each in entries
    )
    head = f"<title>{name}</title><id>https://{name}.example/</id><updated>{LATEST.isoformat()}</updated>"
    return f'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom">{head}{items}</feed>\n'


def write(folder: Path, feeds: int, entries: int, newest_left_out: int = 0) -> None:
    """One file for each feed. Without its newest entries, a feed can publish them later."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, own) in enumerate(corpus(feeds, entries).items()):
        form = atom if number % 3 == 2 else rss
        (folder / f"{name}.xml").write_text(form(name, own[newest_left_out:]), encoding="utf-8")
