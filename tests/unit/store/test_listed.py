"""A page is read as models; documents that cannot be read are named, and do not hide the others."""

import logging

import pytest

from models.errors import UnreadableDocument
from services.ports import Document, Listed, Page, listed, listed_documents


def read(document: Document) -> int:
    if "n" not in document:
        raise UnreadableDocument("Number", document["id"], "has no n")
    return int(document["n"])


def test_a_page_is_listed_as_models_with_its_cursor() -> None:
    page = Page([{"id": "a", "n": 1}, {"id": "b", "n": 2}], next="cursor")
    assert listed(page, read, "id") == Listed([1, 2], "cursor", ())


def test_unreadable_documents_are_named_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    page = Page([{"id": "a"}, {"id": "b", "n": 2}, {"id": "c", "name": "C"}])
    with caplog.at_level(logging.ERROR, "toolpulse"):
        assert listed(page, read, "name") == Listed([2], None, ("a", "C"))
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert "document_unreadable" in caplog.text
    assert "has no n" in caplog.text


def test_documents_that_do_not_exist_are_left_out() -> None:
    documents = [None, {"id": "a"}, {"id": "b", "n": 2}]
    assert listed_documents(documents, read, "id") == Listed([2], None, ("a",))
