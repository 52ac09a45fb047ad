"""Trains the two tables of the embedded analyzer, from texts, labels and word lists.

    python3 -m scripts.sentiment.train [DATA] [--check] [--corrections FILE]

DATA is the folder with the labelled sets that are not ours (docs/adr/0011-sentiment.md). FILE has what people said of
mentions, as `toolpulse corrections export` writes it. The same inputs give the same bytes. `--check` trains and
compares; without DATA, it only compares the hashes of the inputs inside the project with those that the table names,
and says so.
"""

from __future__ import annotations

import argparse
from hashlib import sha256
from pathlib import Path

from scripts.sentiment import corpus, general, tools
from scripts.sentiment.learning import packed
from services.mentions.analyzers import tables
from services.mentions.analyzers.tables import unpacked

OWN = (
    corpus.HEADLINES,
    corpus.MORE,
    corpus.TAUGHT,
    corpus.WRITTEN,
    corpus.TEMPLATES,
    tools.CLASSES,
    general.WORDS,
    general.EXAMPLES,
)


def train(data: Path, corrections: Path | None = None) -> dict[Path, str]:
    """The text of each table, by its file."""
    known = general.known_words()
    general_text = general.build(general.training_examples(general.read_sets(data), known), known, general.Plan())
    words = tables.parse_word_table(general_text)
    classes = tools.read_classes(tools.CLASSES.read_text(encoding="utf-8"))
    sets = {name: tools.examples(rows, words, classes) for name, rows in tools.training_sets(data, corrections).items()}
    inputs = (*OWN, *others(data), *([] if corrections is None else [corrections]))
    tool_text = tools.build(sets, classes, hashes(inputs), tools.PLAN)
    return {tables.WORD_TABLE: general_text, tables.TOOL_TABLE: tool_text}


def others(data: Path) -> list[Path]:
    """The inputs that are not ours."""
    return [data / corpus.TONES, *sorted(data.glob("sentiment_*.tsv"))]


def hashes(files: tuple[Path, ...]) -> dict[str, str]:
    """The hashes of the texts, by the name of the file without its compression."""
    return {file.name.removesuffix(".gz"): sha256(_content(file)).hexdigest() for file in files}


def _content(file: Path) -> bytes:
    return unpacked(file).encode() if file.suffix == ".gz" else file.read_bytes()


def changed_inputs() -> list[str]:
    """The inputs inside the project that have changed since the shipped table was trained."""
    named = tables.shipped_tools().inputs
    return [name for name, value in hashes(OWN).items() if named.get(name) != value]


def has_all(data: Path) -> bool:
    return (data / corpus.TONES).exists() and (data / corpus.WHOLE_TONES).exists()


def check(data: Path, corrections: Path | None = None) -> str:
    """What is wrong, or nothing."""
    if not has_all(data):
        print(f"{data} is not there: only the hashes of the inputs inside the project are compared")
        changed = changed_inputs()
        return f"changed since the training: {', '.join(changed)}" if changed else ""
    differing = [file.name for file, text in train(data, corrections).items() if unpacked(file) != text]
    return f"training gives another {' and '.join(differing)}" if differing else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=corpus.DATA)
    parser.add_argument("--check", action="store_true", help="compare with what is there, write nothing")
    parser.add_argument("--corrections", type=Path, metavar="FILE", help="labelled data of an app, NDJSON")
    arguments = parser.parse_args()
    if arguments.check:
        wrong = check(arguments.data, arguments.corrections)
        if wrong:
            raise SystemExit(wrong)
        print("the shipped tables are what the inputs give")
        return
    for file, text in train(arguments.data, arguments.corrections).items():
        file.write_bytes(packed(text))
        print(f"{file.name}: {len(text.encode())} bytes, {text.count(chr(10))} lines")


if __name__ == "__main__":
    main()
