"""Folding keeps the way back, whatever stands between plain letters."""

import unicodedata

import pytest

from services.tools.folding import fold


@pytest.mark.parametrize(
    ("original", "folded"),
    [
        ("Go… and REST", "go... and rest"),
        ("e\u0301a Cafe\u0301\u00a0AU lait", "éa café au lait"),
        ("Größe GO", "grösse go"),
        ("ﬁne\u2028\u2028Go ™", "fine go tm"),
        ("Go\u0308", "gö"),
    ],
)
def test_a_text_with_odd_characters_folds_as_each_alone_and_every_place_leads_back(original: str, folded: str) -> None:
    found = fold(original)
    assert found.text == folded
    for place, character in enumerate(folded):
        start, end = found.place(place, place + 1)
        piece = unicodedata.normalize("NFKC", original[start:end]).casefold()
        assert character in unicodedata.normalize("NFC", piece) or character == " ", (place, original[start:end])
