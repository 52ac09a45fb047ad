"""Telling a flood from news: many new ids over URLs and headlines that the feed had lately are no new articles. Pure.

A feed whose ids all change (http to https, a new publishing system) would otherwise come in once more as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.articles.identity import Candidate
from services.articles.recent import Recent

FEWEST = 10
KNOWN_SHARE = 0.5


def flood_of(unknown: Sequence[Candidate], recent: Recent) -> list[Candidate]:
    """Of the candidates that no locator knows, those to hold back: all with a new id, if most are old acquaintances."""
    new = [each for each in unknown if each.has_own_id and not recent.knows(each.id_mark)]
    if len(new) < FEWEST:
        return []
    known = sum(recent.knows(each.url_mark) or recent.knows(each.headline_mark) for each in new)
    return new if known >= KNOWN_SHARE * len(new) else []
