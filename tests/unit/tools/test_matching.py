"""Text is normalized as names are, spans lead back to the original, and a phrase counts between its boundaries only."""

import unicodedata

import pytest

from services.tools.matching import Phrase, Span, normalize, without_urls


@pytest.mark.parametrize(
    ("original", "normalized"),
    [
        ("Go… and REST", "go... and rest"),
        ("e\u0301a Cafe\u0301\u00a0AU lait", "éa café au lait"),
        ("Größe GO", "grösse go"),
        ("ﬁne\u2028\u2028Go ™", "fine go tm"),
        ("Go\u0308", "gö"),
    ],
)
def test_a_text_with_odd_characters_is_normalized_as_each_alone_and_every_span_leads_back(
    original: str, normalized: str
) -> None:
    found = normalize(original)
    assert found.text == normalized
    for index, character in enumerate(normalized):
        start, end = found.original_span(index, index + 1)
        piece = unicodedata.normalize("NFKC", original[start:end]).casefold()
        assert character in unicodedata.normalize("NFC", piece) or character == " ", (index, original[start:end])


SPACES = "\n\t\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2003\u2028\u2029\u202f\u3000"


@pytest.mark.parametrize("space", SPACES)
def test_every_kind_of_space_becomes_a_plain_one(space: str) -> None:
    assert normalize(f"a{space}b").text == "a b"
    assert normalize(f"é{space}b").text == "é b"
    assert normalize(f"ﬁ{space} b").text == "fi b"


def test_urls_are_blanked_and_keep_their_length() -> None:
    text = "see https://go.dev/doc and HTTP://Go.dev now"
    assert without_urls(text) == "see " + " " * 18 + " and " + " " * 13 + " now"
    assert without_urls("no go.dev here") == "no go.dev here"


def test_a_span_ends_behind_its_last_character() -> None:
    found = normalize("a  b")
    assert (found.text, found.original_span(0, 1), found.original_span(2, 3)) == ("a b", Span(0, 1), Span(3, 4))
    assert normalize("plain").original_span(1, 3) == Span(1, 3)
    assert normalize("ﬁX").original_span(2, 3) == Span(1, 2)
    assert normalize("ﬁne").original_span(0, 2) == Span(0, 1), "one character of the original becomes two"


@pytest.mark.parametrize(
    ("phrase", "text", "count"),
    [
        ("node", "node node, (node) node! node", 5),
        ("node", "nodes unnode node_x node.js x.node my@node node+", 0),
        ("node", "node's node-based x-node", 3),
        ("c", "c c, (c)", 3),
        ("c", "c# c++ c-rich c's c&a a&c x'c obj-c .c c.x", 0),
        ("c++", "c++ c++20 c++x c+++ c++#", 2),
        (".net", ".net asp.net a .net, x..net", 2),
        ("微信", "腾讯微信支付", 1),
        ("ドッカー", "ドッカーを ドッカーコンテナ", 1),
        ("카카오", "카카오 카카오가 카카오톡은", 2),
        ("हिन्दी", "हिन्दी हिन्दीा", 1),
    ],
)
def test_how_often_a_phrase_stands_between_its_boundaries(phrase: str, text: str, count: int) -> None:
    found = list(Phrase.of(phrase).occurrences(text))
    assert len(found) == count
    assert all(text[start:end] == phrase for start, end in found)
    assert Phrase.of(phrase).is_in(text) == (count > 0)


KOREAN_ENDINGS = (
    "은 는 이 가 을 를 의 에 에서 에게 와 과 도 로 으로 만 까지 부터 보다 처럼 이나 나 라는 이라는 란 측 사 들 이다"
)


@pytest.mark.parametrize("ending", KOREAN_ENDINGS.split())
def test_a_korean_name_may_have_a_particle(ending: str) -> None:
    assert Phrase.of("카카오").is_in(f"카카오{ending} 오늘")
    assert not Phrase.of("카카오").is_in(f"카카오{ending}톡 오늘")
