"""The text of a log line, as JSON or plain, and the levels that are logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from models.errors import UnreadableDocument
from services.logs import ROOT_LOGGER, configure, log_event, log_unreadable

LOGGER = logging.getLogger("toolpulse.test")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    levels = {name: logging.getLogger(name).level for name in (ROOT_LOGGER, "azure")}
    yield
    configure("INFO", structured=True)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_a_line_is_json_or_plain_text(caplog: pytest.LogCaptureFixture) -> None:
    configure("INFO", structured=True)
    log_event(LOGGER, logging.INFO, "fed", name="é", count=1)
    configure("INFO", structured=False)
    log_event(LOGGER, logging.INFO, "fed", name="é", count=1)
    assert caplog.messages == ['{"event": "fed", "name": "é", "count": 1}', "fed name=é count=1"]
    assert [record.__dict__["event"] for record in caplog.records] == ["fed", "fed"]


def test_lines_below_the_level_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("azure").setLevel(logging.NOTSET)
    configure("WARNING", structured=True)
    log_event(LOGGER, logging.INFO, "fed")
    assert caplog.messages == []
    assert logging.getLogger("azure").level == logging.WARNING
    assert (ROOT_LOGGER, logging.getLogger("toolpulse").level) == ("toolpulse", logging.WARNING)


def test_an_unreadable_document_is_logged_by_its_key(caplog: pytest.LogCaptureFixture) -> None:
    log_unreadable(UnreadableDocument("Feed", "a / feed", "why"))
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("toolpulse.stored", logging.ERROR)
    assert record.getMessage() == '{"event": "document_unreadable", "kind": "Feed", "key": "a / feed", "why": "why"}'
