"""The clear texts of a feed document tell the language of the others."""

from services.articles.identity import in_languages
from tests.unit.articles.builders import candidate

GERMAN = [
    "Ausfall bei Microsoft: Teams und Outlook sind nicht erreichbar",
    "Neue Funktionen für das Programm sind jetzt für alle verfügbar",
]


def languages(*headlines: str, declared: str = "", history: dict[str, int] | None = None) -> list[str]:
    candidates = [
        candidate(number, headline=each, summary_html="", language=declared) for number, each in enumerate(headlines)
    ]
    found, _ = in_languages(candidates, history or {})
    assert [each._replace(language="") for each in found] == candidates
    return [each.language for each in found]


def test_clear_texts_of_the_same_document_tell() -> None:
    assert languages("0.2.0") == ["und"]
    assert languages("0.2.0", *GERMAN) == languages("0.2.0", *GERMAN, declared="en") == ["de", "de", "de"]


def test_the_history_tells() -> None:
    assert languages("0.2.0", history={"fr": 3}) == ["fr"]
    assert languages("0.2.0", *GERMAN, history={"fr": 3}) == ["fr", "de", "de"]


def test_clear_texts_are_counted() -> None:
    headlines = ["0.2.0", *GERMAN, "Microsoft confirms outage that affects Teams and Outlook users"]
    _, clear = in_languages([candidate(n, headline=each, summary_html="") for n, each in enumerate(headlines)], {})
    assert clear == {"de": 2, "en": 1}


def test_the_text_counts_too() -> None:
    text = "<p>Die neue Version behebt einen Fehler, durch den sich das Programm beim Start beendete.</p>"
    (found,), _ = in_languages([candidate(headline="0.2.0", summary_html=text)], {})
    assert found.language == "de"
