"""How well ambiguous names are told apart, on the sentences that are held out of training."""

from __future__ import annotations

import pytest

from benchmarks.quality.names import detects, measure
from scripts.names.labels import LABELS, Label, read_labels
from scripts.names.train import as_text, main, trained


def test_the_weights_are_what_training_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert "as trained" in capsys.readouterr().out


def test_training_learns_what_a_cue_says_and_leaves_out_what_says_nothing() -> None:
    weights = trained([(("good", "idle"), True), (("bad", "idle"), False)] * 20)
    assert weights["good"] > 0 > weights["bad"]
    text = as_text({"good": 1.26, "bad": -0.5, "idle": 0.04, "(every name)": 0.0})
    assert text.splitlines()[1:] == ["+1.3 good", "+0.0 (every name)", "-0.5 bad"]


def test_names_are_told_apart_on_held_out_sentences() -> None:
    held_out = [label for label in read_labels() if label.is_held_out]
    rates = measure(held_out, detects)
    assert rates.precision >= 0.95
    assert rates.recall >= 0.92
    real = measure([label for label in held_out if label.origin == "hn"], detects)
    assert real.precision >= 0.95
    assert real.recall >= 0.90


def test_a_third_of_the_labels_is_held_out_and_each_name_stands_in_its_sentence() -> None:
    labels = read_labels()
    assert len(labels) >= 3900
    assert len({label.name for label in labels}) >= 600
    assert 0.30 < sum(label.is_held_out for label in labels) / len(labels) < 0.36
    assert len({(label.name, label.text) for label in labels}) == len(labels)
    assert all(label.name.casefold() in label.text.casefold() for label in labels)
    assert LABELS.read_text("utf-8").startswith("origin\tkind\tname\tmeant\ttext\n")
    assert Label("hn", "real", "Go", True, "a").is_held_out == Label("hn", "real", "Rust", False, "a").is_held_out
