"""Pairs of real headlines (UCI, 2014) of different hosts within 72 hours, and whether both are one article.

The headlines lie beside the project; real_headlines.tsv has labels of their pairs: a hash of both headlines, and 1 for
the same article. One reader judged each pair by its headlines alone, not by the articles: those of one agency's text,
as far as their wording tells, are the same; short headlines that many write of one event are not. Pairs whose links
are alike are the same whatever their headlines say. Doubtful pairs are left out, equal headlines are the same, and
pairs that are less alike than those in the file are not counted. Whole events are held out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path

from benchmarks.quality.made_news import Made

EVENTS = "headline_groups_events.tsv"
HELD_OUT = {6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 19, 21, 23, 25, 26, 27, 29, 31, 33}
WITHIN = timedelta(hours=72)
_SERIES = re.compile(r"\bAP (?:Top )?News\b", re.IGNORECASE)


def real_pairs(data: Path) -> Iterator[tuple[Made, Made, bool, bool]]:
    """Each pair, whether it is the same article, and whether it is held out."""
    labels = dict(line.split("\t") for line in Path(__file__).with_suffix(".tsv").read_text("utf-8").splitlines())
    articles: list[tuple[int, Made]] = []
    for line in (data / EVENTS).read_text("utf-8").splitlines():
        name, time, _, host, headline = line.split("\t")
        articles.append((int(name[1:]), Made(headline, "", host, datetime.fromisoformat(time))))
    for (event, one), (_, other) in combinations(articles, 2):
        if one.publisher == other.publisher or abs(one.at - other.at) > WITHIN:
            continue
        is_equal = _plain(one) == _plain(other)
        label = labels.get(pair_hash(one.headline, other.headline))
        if label is not None or is_equal:
            same = label == "1" if label is not None else not _SERIES.search(one.headline)
            yield one, other, same, event in HELD_OUT


def pair_hash(one: str, other: str) -> str:
    return hashlib.sha256("\t".join(sorted((one, other))).encode()).hexdigest()[:12]


def _plain(made: Made) -> list[str]:
    return re.findall(r"\w+", made.headline.lower())
