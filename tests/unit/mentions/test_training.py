"""Training is reproducible, and what it writes can be read."""

from pathlib import Path

import pytest

from scripts.sentiment.general import Plan, build, examples, forms, read_set, read_words
from services.mentions.analyzers.general import judge
from services.mentions.analyzers.tables import WordTable, parse_word_table

OWN = "[product 2]\nsplendid\n[market -1]\ntumble/v\n[negator]\nnot\n[neutralise]\nshare\n"
ROWS = [
    ("positive", "a splendid release"),
    ("positive", "splendid work, really"),
    ("negative", "sales tumble again"),
    ("negative", "not splendid at all"),
    ("neutral", "the release is out"),
    ("neutral", "work goes on"),
]


def table_of(rows: list[tuple[str, str]]) -> str:
    known = read_words(OWN, {"share": 1.2, "awful": -2.5})
    words = WordTable("", known, {})
    return build({"one": examples(rows, words), "two": examples(rows[::-1], words)}, known, Plan(least_texts=1))


def test_a_trained_table_judges_what_it_was_taught() -> None:
    table = parse_word_table(table_of(ROWS * 5))
    assert judge("a splendid thing", table).sentiment == "positive"
    assert judge("prices tumbled", table).sentiment == "negative"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("surge/v", ["surge", "surges", "surged", "surging"]),
        ("rally/v", ["rally", "rallies", "rallied", "rallying"]),
        ("slip/v", ["slip", "slips", "slipped", "slipping"]),
        ("crash/v", ["crash", "crashes", "crashed", "crashing"]),
        ("enjoy/v", ["enjoy", "enjoys", "enjoyed", "enjoying"]),
        ("flaw/n", ["flaw", "flaws"]),
        ("bounce/v_back", ["bounce back", "bounces back", "bounced back", "bouncing back"]),
        ("in_the_red", ["in the red"]),
    ],
)
def test_words_are_written_once_and_known_in_their_forms(entry: str, expected: list[str]) -> None:
    assert forms(entry) == expected


def test_a_set_with_an_unknown_label_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "sentiment_odd.tsv"
    file.write_text("meh\tsome text\n")
    with pytest.raises(SystemExit, match=r"sentiment_odd\.tsv"):
        read_set(file)
