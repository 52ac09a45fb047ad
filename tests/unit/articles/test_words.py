"""Which words an article is found by, and what the text of a search asks for."""

from datetime import timedelta

import pytest

from services.articles.reading import Articles, TextSearch, article_filter, article_words, text_search
from services.ports import Document
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, article, reading
from tests.unit.articles.test_reading import named
from tests.unit.conftest import Put


def test_an_article_is_found_by_its_headlines_and_its_text() -> None:
    canonical = reading(headline="Fed HOLDS rates")
    given = article(headline="Fed waits", canonical=canonical, text_for_analysis="In Zürich, rates rose 1.2 %.")
    assert article_words(given) == ("%", "1.2", "fed", "holds", "in", "rates", "rose", "waits", "zurich")
    assert article_words(article(headline="Fed", canonical=canonical)) == ("fed", "holds", "rates")


@pytest.mark.parametrize(
    ("text", "search"),
    [
        ("Fed Rates fed", TextSearch(("fed", "rates"))),
        ('fed "holds rates" now', TextSearch(("fed", "holds", "rates", "now"), (("holds", "rates"),))),
        ("\u201cholds rates\u201d", TextSearch(("holds", "rates"), (("holds", "rates"),))),
        ('"fed"', TextSearch(("fed",))),
        ('fed "holds rates', TextSearch(("fed", "holds", "rates"))),
        ('"a b" "c d" "a b"', TextSearch(("a", "b", "c", "d"), (("a", "b"), ("c", "d")))),
        ("人工智能", TextSearch(("人工", "工智", "智能"))),
    ],
)
def test_words_and_what_is_between_quotation_marks_are_searched(text: str, search: TextSearch) -> None:
    assert text_search(text) == search


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        ({"headline": "the Fed holds rates"}, True),
        ({"headline": "Fed holds", "canonical": {"headline": "rates"}}, False),
        ({"headline": "rates, holds", "canonical": "damaged", "text_for_analysis": "holds rates"}, True),
        ({"headline": "Fed", "canonical": {"headline": "it holds rates"}, "text_for_analysis": None}, True),
        ({"headline": "holds the rates"}, False),
    ],
)
def test_a_phrase_stands_in_one_text(found: Document, accepted: bool) -> None:
    assert text_search('"holds rates"').accepts(found) == accepted
    assert text_search("holds rates").accepts(found)


async def test_a_list_with_a_phrase_reads_on_until_its_page_is_full(store: SqliteStore, put: Put, watch: Watch) -> None:
    articles = Articles(store, watch)
    for number in range(9):
        order = "holds rates" if number % 4 == 0 else "rates holds"
        each = named(f"Fed number {number} {order}", NOW - timedelta(minutes=number))
        await put(each.changed(NOW, words=article_words(each)))
    pages, after = [], None
    while True:
        page = await articles.page(article_filter({"text": 'fed "holds rates"'}), 2, after)
        pages.append([each.headline.split()[2] for each in page.items])
        if (after := page.next) is None:
            break
    assert pages == [["0", "4"], ["8"]]
