"""Which language an article is in: by script and n-grams, and by its feed if these tell too little."""

import pytest

from benchmarks.quality.languages import FEWEST_WORDS, headlines, measure
from services.parse import language as rules
from services.parse.language import (
    Evidence,
    _counts,
    choose,
    evidence_of,
    likelihoods,
    primary_subtag,
    with_languages,
)

GERMAN = "Ausfall bei Microsoft: Teams und Outlook sind nicht erreichbar"
ENGLISH = "Microsoft confirms outage that affects Teams and Outlook users"
SHORT = "Windows Update"


def language(headline: str, text: str = "", declared: str = "", **history: int) -> str:
    return choose(evidence_of(headline, text), declared, history)


def test_a_clear_text_is_in_its_language_whatever_its_feed_declares() -> None:
    assert language(GERMAN, declared="en", en=100) == "de"
    assert language(ENGLISH, declared="de", de=100) == "en"


@pytest.mark.parametrize(
    ("headline", "is_english"),
    [
        ("What we know of the outage that hit Slack", True),
        ("What we know: Was wir von dem Ausfall wissen und was nicht", False),
        ("Slack confirms outage of the service", False),
        (
            "The best of the day: Oracle Cerner Nvidia GeForce RTX GPU Linux Docker Kubernetes Copilot Copilot Azure",
            False,
        ),
        (
            "The state of the art is for all: les jeux sont faits et la France que le monde aime est dans une crise",
            False,
        ),
    ],
)
def test_a_text_with_many_common_english_words_needs_no_ngrams(headline: str, is_english: bool) -> None:
    evidence = evidence_of(headline, "")
    assert (evidence.clear == "en" and not evidence.shares) == is_english
    assert bool(evidence.shares) != is_english


@pytest.mark.parametrize(
    ("headline", "expected"),
    [
        ("GitHub Copilotの新機能を試してみた", "ja"),
        ("Streaming Serialization/Hydrationの改善", "ja"),
        ("東京証券取引所", "zh"),
        ("在 React 中使用 Service Worker", "zh"),
        ("마이크로소프트 팀즈 서비스 장애", "ko"),
        ("Διακοπή της υπηρεσίας της Microsoft", "el"),
        ("מיקרוסופט מאשרת תקלה", "he"),
        ("माइक्रोसॉफ्ट ने आउटेज की पुष्टि की", "hi"),
        ("ไมโครซอฟท์ยืนยันเหตุขัดข้อง", "th"),
        ("Майкрософт подтвердила сбой в работе", "ru"),
        ("مايكروسوفت تؤكد انقطاع الخدمة عن المستخدمين", "ar"),
    ],
)
def test_a_script_tells_its_language(headline: str, expected: str) -> None:
    assert language(headline) == expected


@pytest.mark.parametrize(
    ("headline", "expected"),
    [
        ("Xi Jinping (习近平) visits the new factory of Huawei in Shenzhen", "en"),
        ("The Greek letter π appears in the source code of the new release", "en"),
        ("Nvidia GeForce RTX 5070 Linux GPU compute performance", "en"),
        ("Oracle buys Cerner for $28 billion", "en"),
        ("GitHub Copilot erhält neue Features für Visual Studio Code", "de"),
        ("Docker Desktop : le cloud arrive enfin dans Kubernetes", "fr"),
    ],
)
def test_words_of_another_script_or_language_do_not_make_a_headline_foreign(headline: str, expected: str) -> None:
    assert language(headline) == expected


def test_a_short_headline_is_in_the_language_that_its_feed_had_before() -> None:
    assert language("Neue Version", de=50) == "de"
    assert language(SHORT, de=50) == "de"
    assert language(SHORT, en=50) == "en"
    assert language(SHORT, de=50, en=50) == "en"


def test_a_short_headline_is_in_the_declared_language() -> None:
    assert language("Photo", declared="fr") == "fr"
    assert language("0.2.0", declared="ja") == "ja"
    assert language("Photo", declared="de", fr=50) == "fr"


@pytest.mark.parametrize("headline", ["0.2.0", "😀", "https://example.org/der-neue-ausfall-in-der-stadt", "@github"])
def test_what_says_nothing_is_of_unknown_language(headline: str) -> None:
    assert language(headline) == "und"
    assert language(headline, declared="de") == "de"
    assert language(headline, de=3, fr=2) == "de"


def test_the_text_tells_where_the_headline_does_not() -> None:
    text = "Die neue Version behebt einen Fehler, durch den sich das Programm beim Start beendete."
    assert language(SHORT, text) == "de"
    assert language("GitHub Copilot Workspace Preview", text) == "de"


def test_the_history_counts_texts_and_forgets_old_ones() -> None:
    assert with_languages({}, {"de": 2}) == {"de": 2}
    assert with_languages({"de": 3, "en": 1}, {"en": 2}) == {"de": 3, "en": 3}
    assert with_languages({"de": 200}, {}) == {"de": 200}
    assert with_languages({"de": 200, "fr": 1}, {"en": 3}) == {"de": 100, "en": 1}
    assert sum(with_languages({}, {"de": 100_000}).values()) <= rules.MAX_IN_HISTORY


def test_headlines_full_of_product_names_are_recognised() -> None:
    measured = measure([each for each in headlines() if each.words >= FEWEST_WORDS])
    assert measured.headlines > 250
    assert all(precision >= 0.95 for precision, _ in measured.by_language.values())
    assert measured.english >= 0.98
    assert measured.lost == 0
    assert measured.taken <= 0.01


def test_how_many_letters_a_character_stands_for() -> None:
    assert evidence_of("\u4e2d" + " abcd" * 2, "").clear == "zh", "eight for one"
    assert evidence_of("\u4e2d" + " abc" * 3, "").clear is None
    assert evidence_of("\u306e" + " abcd" * 6, "").clear == "ja", "24 for one Hiragana"
    assert evidence_of("\u306e" + " abcde" * 5, "").clear is None
    assert evidence_of("\u30d0" + " abcd" * 2, "").clear == "ja"
    assert evidence_of("\ud55c\uad6d\uae00\u4e2d\u4e2d", "").clear == "ko"
    assert evidence_of("\ud55c\u4e2d", "").clear == "zh", "not most"


def test_addresses_and_handles_are_not_read() -> None:
    nothing = Evidence(None, {}, plain=True)
    for headline in ("https://a.example/der", "www.der-ausfall.example", "der@ausfall.example", "@derausfall", "#der"):
        assert evidence_of(headline, "") == nothing


def of(**shares: float) -> Evidence:
    return Evidence(None, shares, plain=True)


def chosen(evidence: Evidence, declared: str = "", **history: int) -> str:
    return choose(evidence, declared, history)


def test_a_hint_multiplies_what_is_likely() -> None:
    assert chosen(of(de=0.5, fr=0.4)) == "de"
    assert chosen(of(de=0.79, fr=0.1), "fr") == "fr"
    assert chosen(of(de=0.81, fr=0.1), "fr") == "de"
    assert chosen(of(de=0.29, en=0.1), "en") == "en"
    assert chosen(of(de=0.31, en=0.1), "en") == "de"
    assert chosen(of(de=0.40, fr=0.01), fr=3) == "fr", "41 times"
    assert chosen(of(de=0.42, fr=0.01), fr=3) == "de"
    assert chosen(of(de=0.20, fr=0.01), fr=1, it=1) == "fr", "21 times"
    assert chosen(of(de=0.22, fr=0.01), fr=1, it=1) == "de"
    assert chosen(of(de=3.2, fr=0.01), "fr", fr=3) == "fr", "both"
    assert chosen(of(de=3.3, fr=0.01), "fr", fr=3) == "de"


def test_the_likeliest_language_must_be_likely() -> None:
    assert chosen(of(de=0.35, fr=0.33, it=0.32)) == "de"
    assert chosen(of(de=0.34, fr=0.33, it=0.33)) == "und"
    assert chosen(of(en=0.25, **dict.fromkeys(("de", "fr", "it", "es", "pt"), 0.15))) == "en"
    assert chosen(of(en=0.24, **dict.fromkeys(("de", "fr", "it", "es"), 0.19))) == "und"
    assert chosen(of(en=0.34, fr=0.33, it=0.33)._replace(plain=False)) == "und"
    assert chosen(of(de=7.0, fr=6.9, it=6.1)) == "de", "shares need not sum to 1"
    assert chosen(of(de=7.0, fr=6.9, it=6.9)) == "und"


def test_without_a_likely_language_the_strongest_hint_counts_but_for_declared_english() -> None:
    unlikely = of(**dict.fromkeys(("de", "fr", "it", "es", "pt", "nl", "sv", "da"), 1.0), tr=0.001, en=0.001)
    assert chosen(unlikely, "tr") == "tr"
    assert chosen(unlikely, tr=2, pl=1) == "tr"
    assert chosen(unlikely, "en") == "und"
    assert chosen(unlikely, "en", en=3) == "en"
    assert chosen(of(), "en") == "en", "nothing speaks against it"
    assert chosen(of()) == "und"


def test_a_text_is_clear_from_twenty_letters_on() -> None:
    assert evidence_of("St\u00f6rung ist nun behoben", "").clear == "de", "20 letters"
    assert evidence_of("Der Fehler ist behoben", "").clear is None, "19 letters"
    assert evidence_of("\u1300" * rules.FEWEST_LETTERS, "") == Evidence(None, {}, plain=False)


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("EN", "en"),
        (" de-AT\n", "de"),
        ("pt_BR", "pt"),
        ("zh-Hans-CN", "zh"),
        ("nb", "no"),
        ("nn-NO", "no"),
        ("eng", "en"),
        ("jp", "ja"),
        ("haw", "haw"),
        ("en-" + "x" * 97, "en"),
    ],
)
def test_the_language_of_a_tag(tag: str, language: str) -> None:
    assert primary_subtag(tag) == language


@pytest.mark.parametrize(
    "tag", ["", "und", "mul", "zxx", "mis", "english", "e", "en us", "en;q=0.5", "-en", "en-" + "x" * 98, "ja" * 60]
)
def test_a_tag_that_names_no_language(tag: str) -> None:
    assert primary_subtag(tag) == ""


def test_capitals_alone_change_nothing() -> None:
    assert likelihoods(GERMAN.upper()) == likelihoods(GERMAN.lower())
    assert sum(likelihoods(GERMAN).values()) == pytest.approx(1)


@pytest.mark.parametrize("text", ["", "3", "4.7.1", "\ud800", "新機能"])
def test_a_text_without_a_known_n_gram_has_no_likely_language(text: str) -> None:
    assert likelihoods(text) == {}


def test_the_longest_known_n_gram_that_ends_at_a_byte_counts() -> None:
    rows = {b"ab": 0, b"abc": 1, b"bc": 2, b"cd": 3, b"abcde": 4, b"xabcde": 5}
    assert _counts(b"xabcdeab", rows) == {0: 2, 1: 1, 3: 1, 4: 1}


@pytest.mark.parametrize(
    ("text", "language", "share"),
    [
        ("Störung", "de", 0.263077162),
        ("Störung", "sv", 0.219235482),
        ("the the the the", "en", 0.885286871),
        ("Störung und die Störung und die Störung", "sv", 0.000223702541),
    ],
)
def test_the_shares_are_the_same_everywhere(text: str, language: str, share: float) -> None:
    assert likelihoods(text)[language] == pytest.approx(share, rel=1e-6)
