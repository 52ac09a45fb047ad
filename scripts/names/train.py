"""Trains the weights of the cues that decide about ambiguous names (services/tools/words/weights.txt).

    python3 -m scripts.names.train            write the weights
    python3 -m scripts.names.train --check    compare only: exit code 1 if they differ

Logistic regression with a quadratic penalty. The same labels and lists give the same weights.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from models.tool import normalize_name
from scripts.names.labels import Label, read_labels
from services.tools.cues import cues
from services.tools.lexicon import sense_of
from services.tools.matching import Phrase, normalize

ROOT = Path(__file__).resolve().parent.parent.parent
WEIGHTS = ROOT / "services" / "tools" / "words" / "weights.txt"
BASIS = "(every name)"
PENALTY = 0.3
ROUNDS = 400
STEP = 0.5
MIN_WEIGHT = 0.1
"""A cue with a smaller weight is left out."""

Example = tuple[tuple[str, ...], bool]


def examples(labels: Iterable[Label]) -> list[Example]:
    """The cues at each place of each name. A sentence in which some places may mean the tool and others not is left
    out."""
    found: list[Example] = []
    for label in labels:
        places = _cues_of(label)
        if not label.is_meant or len(places) == 1:
            found += [(each, label.is_meant) for each in places]
    return found


def _cues_of(label: Label) -> list[tuple[str, ...]]:
    plain = normalize_name(label.name)
    sense = sense_of(plain)
    if sense is None:
        return []
    article = normalize(label.text)
    return [cues(sense, label.name, article, *span) for span in Phrase.of(plain).occurrences(article.text)]


def trained(given: Sequence[Example]) -> dict[str, float]:
    names = sorted({cue for found, _ in given for cue in found})
    index = {name: n for n, name in enumerate(names)}
    # The last weight is the basis: it counts for every example.
    rows = [([index[cue] for cue in found] + [len(names)], 1.0 if meant else 0.0) for found, meant in given]
    weights = [0.0] * (len(names) + 1)
    squares = [1e-8] * len(weights)
    for _ in range(ROUNDS):
        gradient = [PENALTY * weight for weight in weights[:-1]] + [0.0]
        for row, meant in rows:
            total = math.fsum(weights[n] for n in row)  # `sum` differs between versions of Python
            error = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total)))) - meant
            for n in row:
                gradient[n] += error
        for n, slope in enumerate(gradient):
            squares[n] += slope * slope
            weights[n] -= STEP * slope / math.sqrt(squares[n])
    return dict(zip((*names, BASIS), weights, strict=True))


def as_text(weights: dict[str, float]) -> str:
    """The file's text, the strongest evidence for a name first."""
    kept = [(round(weight, 1), cue) for cue, weight in weights.items() if cue == BASIS or abs(weight) >= MIN_WEIGHT]
    lines = [f"{weight:+.1f} {cue}" for weight, cue in sorted(kept, key=lambda pair: (-pair[0], pair[1]))]
    head = "# What each cue says for (+) or against (-) a name. Trained by scripts/names/train.py: do not edit."
    return "\n".join([head, *lines]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare the file with what training gives")
    given = parser.parse_args(arguments)
    text = as_text(trained(examples(label for label in read_labels() if not label.is_held_out)))
    if given.check:
        is_same = WEIGHTS.is_file() and WEIGHTS.read_text("utf-8") == text
        print("the weights of ambiguous names are", "as trained" if is_same else "not what training gives")
        return 0 if is_same else 1
    WEIGHTS.write_text(text, "utf-8")
    print(f"wrote {WEIGHTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
