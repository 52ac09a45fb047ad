"""What the tables are trained from, and how. What training writes can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.correction import JudgedPassage
from models.resources.corrections import labelled
from scripts.sentiment import corpus, tools, train
from scripts.sentiment.corpus import Labelled, places
from scripts.sentiment.general import Plan, build, examples, forms, read_set, read_words
from services.mentions.analyzers.embedded import ToolJudge
from services.mentions.analyzers.general import judge
from services.mentions.analyzers.port import Judgement, Passage
from services.mentions.analyzers.tables import ToolTable, Word, WordTable, parse_word_table
from services.tools.matching import Span
from tests.documents import TOOL_ID, correction

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


CLASSES = {"beats": ("beat",), "ditches": ("leave",)}
TOOL_WORDS = WordTable("", {"good": Word(product=2.0)}, {})


def row(text: str, **labels: str) -> Labelled:
    return Labelled(
        text,
        {name: places(text, name) for name in labels},
        {name: corpus.LABELS[each] for name, each in labels.items()},
    )


@pytest.mark.soak
def test_corrections_of_one_passage_with_a_sentiment_are_trained_from(tmp_path: Path) -> None:
    passages = (JudgedPassage(text="Quorvia beats Tarnwick", names=((0, 7),), other_names=((14, 22),)),)
    several = (*passages, JudgedPassage(text="So Quorvia wins.", names=((3, 10),)))
    held_out = next(each.text for each in corpus.headlines() if each.is_test)
    rows = [
        correction(passages=passages, verdict="positive", label="positive"),
        correction(passages=passages, verdict="not_this_tool", label=None),
        correction(passages=several),
        correction(passages=(JudgedPassage(text="Only a tag"),)),
        correction(passages=(JudgedPassage(text=held_out, names=((0, 1),)),)),
    ]
    file = tmp_path / "labels.ndjson"
    file.write_text("".join(json.dumps(labelled(each)) + "\n" for each in rows))
    one, of_held_out = corpus.corrections(file)
    assert one == Labelled(
        "Quorvia beats Tarnwick",
        {TOOL_ID: (Span(0, 7),), corpus.OTHER_TOOLS: (Span(14, 22),)},
        {TOOL_ID: corpus.LABELS["positive"]},
    )
    (tmp_path / corpus.TONES).write_text("")
    (tmp_path / corpus.WHOLE_TONES).write_text("")
    assert of_held_out.text == held_out
    sets = tools.training_sets(tmp_path, file)
    assert (sets["corrections"], sets.keys()) == ([one], tools.PLAN.sets.keys())


def test_a_tool_is_judged_beside_the_others_as_in_training() -> None:
    texts = [f"Foo {verb} Bar {number}" for number in range(12) for verb in ("beats", "loses")]
    rows = [row(text, Foo="p" if "beats" in text else "n", Bar="n" if "beats" in text else "p") for text in texts]
    sets = {"headlines": tools.examples(rows, TOOL_WORDS, CLASSES)}
    model = tools.fit_both(sets, tools.Plan({"headlines": 1.0}))
    assert {"joint", "joint -", "joint +", "joint -+", "joint +-"} <= model.weights.keys()
    found = {(example.text, example.tool): chances for example, chances in tools.judged(sets["headlines"], model)}
    judge = ToolJudge(TOOL_WORDS, ToolTable("", model.temperature, {}, CLASSES, model.weights))
    for each in rows:
        for tool, judgement in judge.judge(Passage(each.text, each.names)).items():
            assert isinstance(judgement, Judgement)
            chances = found[each.text, tool]
            assert judgement.score == pytest.approx(max(chances), abs=1e-4)
            assert ("negative", "neutral", "positive")[each.labels[tool]] == judgement.sentiment


@pytest.mark.soak
def test_nothing_of_the_held_out_third_is_trained_on() -> None:
    held_out = {each.text for each in corpus.headlines() if each.is_test}
    assert 0.31 < len(held_out) / len(corpus.headlines()) < 0.36
    assert not held_out & {each.text for each in corpus.headlines() if not each.is_test}


def test_the_shipped_table_was_trained_from_the_inputs_of_the_project() -> None:
    assert train.changed_inputs() == []
