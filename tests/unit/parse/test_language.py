"""Which language an article is in: by script and n-grams, and by its feed if these tell too little."""

import pytest

from benchmarks.quality.languages import FEWEST_WORDS, headlines, measure
from services.parse import language as rules
from services.parse.language import Decided, decide, with_languages

GERMAN = "Ausfall bei Microsoft: Teams und Outlook sind nicht erreichbar"
ENGLISH = "Microsoft confirms outage that affects Teams and Outlook users"
SHORT = "Windows Update"


def language(headline: str, text: str = "", declared: str = "", **history: int) -> str:
    return decide(headline, text, declared, history).language


def test_a_clear_text_is_in_its_language_whatever_its_feed_declares() -> None:
    assert decide(GERMAN, "", "en", {"en": 100}) == Decided("de", confident=True)
    assert decide(ENGLISH, "", "de", {"de": 100}) == Decided("en", confident=True)


@pytest.mark.parametrize(
    ("headline", "expected"),
    [
        ("GitHub Copilotの新機能を試してみた", "ja"),
        ("Streaming Serialization/Hydrationの改善", "ja"),
        ("東京証券取引所", "zh"),
        ("微软确认 Teams 和 Outlook 服务中断", "zh"),
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
    "headline",
    [
        "Xi Jinping (习近平) visits the new factory of Huawei in Shenzhen",
        "Shogun (将軍) tops the list of the most watched series of the year",
        "The Greek letter π appears in the source code of the new release",
    ],
)
def test_a_word_in_another_script_does_not_make_a_headline_foreign(headline: str) -> None:
    assert language(headline) == "en"


@pytest.mark.parametrize(
    "headline",
    [
        "Nvidia GeForce RTX 5070 Linux GPU compute performance",
        "Kubernetes 1.31 brings Docker Compose support to Visual Studio Code",
        "AMD Radeon RX 9070 XT benchmarks leak ahead of the launch",
        "Oracle buys Cerner for $28 billion",
    ],
)
def test_product_names_do_not_make_a_headline_foreign(headline: str) -> None:
    assert language(headline) == "en"


@pytest.mark.parametrize(
    ("headline", "expected"),
    [
        ("GitHub Copilot erhält neue Features für Visual Studio Code", "de"),
        ("Docker Desktop : le cloud arrive enfin dans Kubernetes", "fr"),
        ("Cómo desplegar una app en Kubernetes con Docker Compose", "es"),
        ("Como fazer deploy de um app no Kubernetes com Docker Compose", "pt"),
    ],
)
def test_english_words_do_not_make_a_headline_english(headline: str, expected: str) -> None:
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


def test_a_declaration_of_english_says_less_than_another() -> None:
    assert rules.DECLARED_ENGLISH < rules.DECLARED
    assert language("Neue Funktionen", declared="en") == "de"


@pytest.mark.parametrize("headline", ["0.2.0", "😀", "https://example.org/der-neue-ausfall-in-der-stadt", "@github"])
def test_what_says_nothing_is_of_unknown_language(headline: str) -> None:
    assert decide(headline, "", "", {}) == Decided("und", confident=False)
    assert language(headline, declared="de") == "de"
    assert language(headline, de=3, fr=2) == "de"


def test_the_text_tells_where_the_headline_does_not() -> None:
    text = "Die neue Version behebt einen Fehler, durch den sich das Programm beim Start beendete."
    assert language(SHORT, text) == "de"
    assert language("GitHub Copilot Workspace Preview", text) == "de"


def test_a_short_text_is_not_read() -> None:
    template = "submitted by /u/someone [link] [comments]"
    assert len(template) < rules.LEAST_TEXT
    assert decide("Nowa wersja programu", template, "", {}) == decide("Nowa wersja programu", "", "", {})


def test_only_the_start_of_a_text_is_read() -> None:
    start = ("Die Version behebt einen Fehler beim Start des Programms. " * 9)[: rules.TEXT_READ]
    assert decide(SHORT, f"{start}{ENGLISH * 9}", "", {}) == decide(SHORT, start, "", {})


def test_a_text_is_clear_from_some_letters_on() -> None:
    assert decide(GERMAN, "", "", {}).confident
    assert not decide("Der Ausfall", "", "", {}).confident
    assert decide(GERMAN, "", "", {}) == decide(GERMAN, "", "de", {"de": 9})


def test_the_history_counts_texts_and_forgets_old_ones() -> None:
    assert with_languages({}, {"de": 2}) == {"de": 2}
    assert with_languages({"de": 3, "en": 1}, {"en": 2}) == {"de": 3, "en": 3}
    assert with_languages({"de": 200}, {}) == {"de": 200}
    assert with_languages({"de": 200, "fr": 1}, {"en": 3}) == {"de": 100, "en": 1}
    assert sum(with_languages({}, {"de": 100_000}).values()) <= rules.MOST_IN_HISTORY


def test_the_constants() -> None:
    assert (rules.TEXT_READ, rules.LEAST_TEXT, rules.FEWEST_LETTERS) == (150, 60, 20)
    assert (rules.IDEOGRAPH, rules.HIRAGANA) == (8, 24)
    assert (rules.ENGLISH, rules.RARE, rules.DECLARED, rules.DECLARED_ENGLISH) == (6, 0.2, 8, 3)
    assert (rules.LEAST_SHARE, rules.LEAST_SHARE_ENGLISH) == (0.35, 0.25)
    assert (rules.LIKE_BEFORE, rules.CONFIDENT, rules.MOST_IN_HISTORY) == (40, 0.85, 200)


def test_headlines_full_of_product_names_are_recognised() -> None:
    measured = measure([each for each in headlines() if each.words >= FEWEST_WORDS])
    assert measured.headlines > 250
    assert all(precision >= 0.95 for precision, _ in measured.by_language.values())
    assert measured.english >= 0.98
    assert measured.lost == 0
    assert measured.taken <= 0.01
