"""What the table of the tools is trained from, and how."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from models.correction import JudgedPassage
from scripts.sentiment import corpus, tools, train
from scripts.sentiment.corpus import Labelled, places
from scripts.sentiment.learning import Descent, Row, learn, softmax
from scripts.sentiment.tools import Example, Plan
from services.mentions.analyzers.embedded import ToolJudge
from services.mentions.analyzers.port import Judgement, Passage
from services.mentions.analyzers.tables import ToolTable, Word, WordTable
from services.mentions.corrections import labelled
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


ROWS = [
    row("Foo beats Bar", Foo="p", Bar="n"),
    row("Foo beats Bar again", Foo="p", Bar="n"),
    row("Bar beats Foo today", Bar="p", Foo="n"),
    row("Foo ditches Bar", Foo="0", Bar="n"),
    row("Bar ditches Foo today", Bar="0", Foo="n"),
    row("Foo is here", Foo="0"),
    row("Bar is here", Bar="0"),
] * 6


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


def test_the_model_learns_what_is_said_about_each_tool() -> None:
    sets = {"one": tools.examples(ROWS, WORDS, CLASSES)}
    judge = ToolJudge(WORDS, ToolTable("", 1.0, {}, CLASSES, tools.fit(sets, Plan({"one": 1.0}))))
    found = judge.judge(Passage("Qux beats Zig", {"qux": (Span(0, 3),), "zig": (Span(10, 13),)}))
    assert [each.sentiment for each in found.values() if isinstance(each, Judgement)] == ["positive", "negative"]


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


def test_a_table_without_a_second_judgement_judges_each_tool_for_itself() -> None:
    judge = ToolJudge(WORDS, ToolTable("", 1.0, {}, CLASSES, {"n ^ T wins": (0.0, 3.0)}))
    names = {"foo": (Span(0, 3),), "bar": (Span(13, 16),)}
    found = judge.judge(Passage("Foo wins and Bar", names))
    assert [each.sentiment for each in found.values() if isinstance(each, Judgement)] == ["positive", "neutral"]


def test_each_text_is_judged_by_weights_learned_without_it() -> None:
    texts = [f"Foo text {number}" for number in range(40)]
    rows = [row(text, Foo="p" if number % 2 else "n") for number, text in enumerate(texts)]
    found = tools.cross_validate({"headlines": tools.examples(rows, WORDS, {})}, Plan({"headlines": 1.0}))
    assert sorted(example.text for example, _ in found["headlines"]) == sorted(texts)


def test_the_temperature_fits_the_labels() -> None:
    example = Example("t", "T", 2, {})
    wrong = Example("t", "T", 0, {})
    sure = [0.04, 0.06, 0.9]
    assert tools.temperature_of([(example, sure)] * 10) == 0.6
    assert tools.temperature_of([(example, sure)] * 6 + [(wrong, sure)] * 4) == 2.0


def test_classes_are_read_with_the_forms_of_their_words() -> None:
    found = tools.read_classes("# comment\n[fall]\nsink/v drop_in\n[leave]\nsink\n")
    assert found["sinking"] == ("fall",)
    assert found["drop in"] == ("fall",)
    assert found["sink"] == ("fall", "leave")


WANTED = ((1.0, 0.0), (0.0, 0.0), (0.0, 1.0))
"""The probabilities of negative and positive that stand for each label."""


def chances(row: Row, weights: Sequence[tuple[float, float]]) -> list[float]:
    known = [weights[feature] for feature in row.features]
    return softmax([sum(each[0] for each in known), 0.0, sum(each[1] for each in known)])


def test_learning_separates_what_can_be_separated() -> None:
    rows = [Row(1.0, WANTED[label], (0, label + 1), (1.0, 1.0)) for label in range(3)] * 10
    weights = learn(rows, 4, Descent(epochs=20, pull=0.1))
    for label, each in enumerate(rows[:3]):
        found = chances(each, weights)
        assert max(found) == found[label] > 0.7


def test_learning_comes_near_to_wanted_probabilities() -> None:
    rows = [Row(1.0, (0.5, 0.2), (0,), (1.0,))] * 200
    assert chances(rows[0], learn(rows, 1, Descent())) == pytest.approx([0.5, 0.3, 0.2], abs=0.02)


def test_an_example_wants_its_label_or_the_probabilities_that_a_model_gave() -> None:
    assert [Example("t", "T", label, {}).wanted for label in range(3)] == list(WANTED)
    assert Example("t", "T", 2, {}, (0.1, 0.7)).wanted == (0.1, 0.7)
    assert Example("t", "T", 1, {}, (0.0, 0.0)).wanted == (0.0, 0.0)


def test_a_feature_needs_five_uses() -> None:
    texts = [f"Foo wins {'often' if number < 5 else 'seldom' if number < 9 else ''}" for number in range(12)]
    weights = tools.fit({"one": tools.examples([row(each, Foo="p") for each in texts], WORDS, {})}, Plan({"one": 1.0}))
    assert "w often" in weights
    assert "w seldom" not in weights


@pytest.mark.soak
def test_nothing_of_the_held_out_third_is_trained_on() -> None:
    held_out = {each.text for each in corpus.headlines() if each.is_test}
    assert 0.31 < len(held_out) / len(corpus.headlines()) < 0.36
    assert not held_out & {each.text for each in corpus.headlines() if not each.is_test}


def test_the_shipped_table_was_trained_from_the_inputs_of_the_project() -> None:
    assert train.changed_inputs() == []
