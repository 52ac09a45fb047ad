"""How well articles are grouped into stories: pairwise and B-cubed precision, recall and F1, beside a simple rule.

The stories come from the real grouping, in memory. By the simple rule, an article joins the story of the first
earlier article within 72 hours whose headline is much like its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path

from benchmarks.quality.made_news import Made, Newsroom
from benchmarks.quality.near_duplicates import signed, token_set
from models.story import SILENCE
from services.stories.candidates import latest, nearest_of_all
from services.stories.grouping import Known, decide_all
from services.stories.writing import PORTION

EVENTS = "headline_groups_events.tsv"
ALIKE = 70
"""The token-set ratio of the simple rule."""
ARTICLES, PER_DAY = 1500, 1500


def grouped(articles: Sequence[Made]) -> list[Hashable]:
    """The story of each article, by the grouping: in portions, in the order of publication."""
    known = [Known(f"dedup:{number:032x}", each.at, signed(each)) for number, each in enumerate(articles)]
    in_order, memory = sorted(known, key=lambda each: each.place), Memory()
    for start in range(0, len(in_order), PORTION):
        memory.add(in_order[start : start + PORTION])
    return [decision.event_id for each in known if (decision := memory.decided[each.source_id].decision)]


@dataclass
class Memory:
    """Articles that are grouped in memory, as services/stories groups those in the store."""

    keys: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    decided: dict[str, Known] = field(default_factory=dict)

    def add(self, due: Sequence[Known]) -> None:
        for each in due:
            self.decided.pop(each.source_id, None)
            for key in each.signature.keys:
                self.keys[key].pop(each.source_id, None)
        names = nearest_of_all(due, self.keys)
        self.decided |= decide_all(due, names, self.decided)
        for key in {key for each in due for key in each.signature.keys}:
            self.keys[key] = latest(self.keys[key])


def simply_grouped(articles: Sequence[Made]) -> list[Hashable]:
    """Compared are articles that share a word that few headlines have."""
    words = [frozenset(each.headline.lower().split()) for each in articles]
    common = {word for word, n in Counter(word for each in words for word in each).items() if n > len(articles) / 20}
    story: dict[int, int] = {}
    having: dict[str, list[int]] = defaultdict(list)
    for number in sorted(range(len(articles)), key=lambda number: articles[number].at):
        one = articles[number]
        others = sorted({other for word in words[number] - common for other in having[word]}, key=story.__getitem__)
        story[number] = number
        for other in others:
            two = articles[other]
            if one.at - two.at <= SILENCE and token_set(one.headline, two.headline) >= ALIKE:
                story[number] = story[other]
                break
        for word in words[number] - common:
            having[word].append(number)
    return [story[number] for number in range(len(articles))]


@dataclass(frozen=True, slots=True)
class Rates:
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / max(1e-9, self.precision + self.recall)

    def __str__(self) -> str:
        return f"{self.precision:7.3f}{self.recall:7.3f}{self.f1:7.3f}"


def pairwise(found: Sequence[Hashable], true: Sequence[Hashable]) -> Rates:
    """Of the pairs that are together, how many belong together; of those that do, how many are."""

    def pairs(groups: Iterable[Hashable]) -> int:
        return sum(n * (n - 1) // 2 for n in Counter(groups).values())

    right = pairs(zip(found, true, strict=True))
    return Rates(right / max(1, pairs(found)), right / max(1, pairs(true)))


def b_cubed(found: Sequence[Hashable], true: Sequence[Hashable]) -> Rates:
    """The mean over articles: of those in its story, how many belong there; of those that do, how many are there."""
    in_found, in_true, in_both = Counter(found), Counter(true), Counter(zip(found, true, strict=True))
    precision = sum(n * n / in_found[story] for (story, _), n in in_both.items())
    recall = sum(n * n / in_true[event] for (_, event), n in in_both.items())
    return Rates(precision / len(found), recall / len(found))


def real_headlines(data: Path) -> list[Made]:
    found = []
    for line in (data / EVENTS).read_text("utf-8").splitlines():
        event, time, _, host, headline = line.split("\t")
        found.append(Made(headline, "", host, datetime.fromisoformat(time), int(event[1:])))
    return found


def show(data: Path) -> None:
    print("\nStories: precision, recall and F1 by pairs of articles, and B-cubed; the similarity | the simple rule")
    made = list(islice(Newsroom(5).news(PER_DAY), ARTICLES))
    sets = {"made news, with leads": made, "made news, headlines alone": [_without_text(each) for each in made]}
    if (data / EVENTS).exists():
        sets["real headlines of events"] = real_headlines(data)
    print(f"{'':30}{'articles':>9}{'events':>8}{'pairs P':>9}{'R':>7}{'F1':>7}{'B3 P':>9}{'R':>7}{'F1':>7} |")
    for name, articles in sets.items():
        true = [each.event for each in articles]
        judged = (grouped(articles), simply_grouped(articles))
        shown = [f"{pairwise(found, true)}  {b_cubed(found, true)}" for found in judged]
        print(f"{name:30}{len(articles):9}{len(set(true)):8}  {shown[0]} |  {shown[1]}")


def _without_text(made: Made) -> Made:
    return replace(made, text="")
