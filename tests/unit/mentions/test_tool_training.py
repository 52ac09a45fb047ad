"""What the table of the tools is trained from, and how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.correction import JudgedPassage
from models.resources.corrections import labelled
from scripts.sentiment import corpus, tools, train
from scripts.sentiment.corpus import Labelled, places
from scripts.sentiment.tools import Plan
from services.mentions.analyzers.embedded import ToolJudge
from services.mentions.analyzers.port import Judgement, Passage
from services.mentions.analyzers.tables import ToolTable, Word, WordTable
from services.tools.matching import Span
from tests.documents import TOOL_ID, correction

CLASSES = {"beats": ("beat",), "ditches": ("leave",)}
WORDS = WordTable("", {"good": Word(product=2.0)}, {})


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
    sets = {"headlines": tools.examples(rows, WORDS, CLASSES)}
    model = tools.fit_both(sets, Plan({"headlines": 1.0}))
    assert {"joint", "joint -", "joint +", "joint -+", "joint +-"} <= model.weights.keys()
    found = {(example.text, example.tool): chances for example, chances in tools.judged(sets["headlines"], model)}
    judge = ToolJudge(WORDS, ToolTable("", model.temperature, {}, CLASSES, model.weights))
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
