"""The labelled sentences: does the name in the sentence mean the tool?

`labels.tsv` has one line for each name of a sentence. `origin` is `hn` for headlines of Hacker News (github
tamnd/hn-daily-index and mdfrahim1/Hacker-News-Posts, both CC0) and `written` for sentences written for this set; `kind`
is why the sentence is there. A third, by a hash of the sentence, is held out: no weight is trained on it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

LABELS = Path(__file__).with_name("labels.tsv")


@dataclass(frozen=True, slots=True)
class Label:
    origin: str
    kind: str
    name: str
    is_meant: bool
    text: str

    @property
    def is_held_out(self) -> bool:
        return hashlib.sha256(self.text.encode()).digest()[0] % 3 == 0


def read_labels() -> list[Label]:
    lines = LABELS.read_text("utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return [Label(origin, kind, name, meant == "yes", text) for origin, kind, name, meant, text in rows]
