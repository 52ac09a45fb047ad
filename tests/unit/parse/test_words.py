"""The words of a text, as they are compared and searched."""

import pytest

from services.parse.text import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fed HOLDS rates", ["fed", "holds", "rates"]),
        ("Crédit Suisse\u2019s Zürich", ["credit", "suisse", "zurich"]),
        ("node.js 1.2 for 1,250 users", ["node", "js", "1.2", "for", "1250", "users"]),
        ("up 3 %", ["up", "3", "%"]),
        ("人工智能 in Berlin", ["人工", "工智", "智能", "in", "berlin"]),
        ("中", ["中"]),
        ("— … !", []),
    ],
)
def test_words_are_folded_and_scripts_without_spaces_give_pairs(text: str, words: list[str]) -> None:
    assert words_of(text) == words
