"""Precision and recall of detection on sentences with ambiguous names (scripts/names/labels.tsv), by kind.

Only the third that is held out of training counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from uuid import NAMESPACE_DNS, uuid5

from models.tool import Tool
from scripts.names.labels import Label, read_labels
from services.tools.detector import Detector
from tests.documents import NOW


@dataclass(frozen=True, slots=True)
class Rates:
    """Of names that were found, how many are meant; of names that are meant, how many were found."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    @property
    def f1(self) -> float:
        return 2 * self.right / max(1, 2 * self.right + self.wrong + self.missed)

    def __str__(self) -> str:
        return f"{self.precision:10.3f}{self.recall:8.3f}{self.f1:8.3f}{self.wrong:7}"


def measure(labels: Iterable[Label], detects: Callable[[str, str], bool]) -> Rates:
    right = wrong = missed = 0
    for label in labels:
        is_found = detects(label.name, label.text)
        right += is_found and label.is_meant
        wrong += is_found and not label.is_meant
        missed += not is_found and label.is_meant
    return Rates(right, wrong, missed)


def detects(name: str, text: str) -> bool:
    return bool(_detector(name).find(text))


@cache
def _detector(name: str) -> Detector:
    tool_id = str(uuid5(NAMESPACE_DNS, name))
    return Detector([Tool(created_at=NOW, tool_id=tool_id, primary_name=name)])


def report() -> None:
    held_out = [label for label in read_labels() if label.is_held_out]
    names = len({label.name for label in held_out})
    print(f"Ambiguous names: {len(held_out)} sentences held out of training, {names} names")
    print(f"{'':18}{'sentences':>10}{'meant':>7}{'precision':>11}{'recall':>8}{'wrong':>7}")
    groups: dict[str, list[Label]] = {"all": held_out}
    for origin in ("hn", "written"):
        groups[{"hn": "real headlines", "written": "written"}[origin]] = [
            label for label in held_out if label.origin == origin
        ]
    for kind in dict.fromkeys(label.kind for label in held_out if label.origin == "written"):
        groups[f"  {kind}"] = [label for label in held_out if label.kind == kind]
    for title, labels in groups.items():
        meant = sum(label.is_meant for label in labels)
        print(f"{title:18}{len(labels):>10}{meant:>7}{_shown(measure(labels, detects))}")


def _shown(rates: Rates) -> str:
    """Without names that are meant, only the number of names that were found wrongly says something."""
    if not rates.right + rates.missed:
        return f"{'':11}{'':8}{rates.wrong:>7}"
    return f"{rates.precision:>11.2f}{rates.recall:>8.2f}{rates.wrong:>7}"


if __name__ == "__main__":
    report()
