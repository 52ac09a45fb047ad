"""Pages are read in a process with limits: hostile ones end, and the app goes on."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from services.documents import pages
from services.documents.judging import NotRead, PageContent
from services.documents.pages import PageReader, ReaderStopped
from services.documents.profiles import GENERAL, Profile

PAGE = (
    "<html><head><title>T</title><base href='https://b.example/'><link rel='x Canonical' href='/c'>"
    "<link rel=amphtml href=/a><meta name=Robots content='noindex'></head>"
    "<body><h1>A <b>headline</b></h1><div class=text><p>One.</p><p>Two.</p></div><div class=more><p>Three.</p></div>"
)


async def read(html: str, profile: Profile = GENERAL, seconds: float = 20.0) -> PageContent | NotRead:
    return await PageReader(seconds).read(html.encode(), "utf-8", profile)


async def test_a_page_is_read_with_its_headings_and_metadata() -> None:
    page = await read(PAGE)
    assert isinstance(page, PageContent)
    assert (page.title, page.headings, page.encoding) == ("T", ["A headline"], "utf-8")
    assert (page.canonical, page.amphtml, page.base) == ("/c", "/a", "https://b.example/")
    assert page.meta == {"robots": "noindex"}
    assert page.main_found
    assert page.free


def profile(main: str, *drop: str) -> Profile:
    return Profile(id="p", version=1, hosts=("b.example",), main=main, drop=drop)


async def test_a_profile_selects_the_text_and_drops_parts() -> None:
    page = await read(PAGE, profile("div", ".more"))
    assert isinstance(page, PageContent)
    assert page.text.split() == ["One.", "Two."]
    missing = await read(PAGE, profile(".nothing"))
    assert isinstance(missing, PageContent)
    assert not missing.main_found
    assert not missing.text


@pytest.mark.slow
async def test_a_page_that_hangs_the_parser_is_ended() -> None:
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    found = await read(f"<p {attributes}>text</p>", seconds=3.0)
    assert found == NotRead("EXTRACTION_TOO_SLOW")


@pytest.mark.parametrize("html", ["", "<" * 50_000, "<b>" * 100_000, "\x00" * 1000, "<table><tr><td>" * 2000])
async def test_odd_pages_are_read(html: str) -> None:
    assert isinstance(await read(html), PageContent)


async def test_the_text_is_composed_where_it_can_be_ended() -> None:
    page = await read("<article><h1>T</h1><p>Cafe\u0301 and more of it.</p></article>")
    assert isinstance(page, PageContent)
    assert "Caf\u00e9" in page.text


@pytest.mark.slow
async def test_combining_marks_in_a_row_hold_up_their_process_only() -> None:
    found = await read("<article><p>a" + "\u0301\u0323" * 99_000)
    assert isinstance(found, NotRead) or unicodedata.is_normalized("NFC", found.text)


async def test_a_selector_that_cannot_be_read_fails_the_page_alone() -> None:
    assert await read(PAGE, GENERAL.model_copy(update={"main": "p[["})) == NotRead("EXTRACTION_FAILED")


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
async def test_a_process_that_is_ended_with_the_app_says_nothing_of_the_page(
    signal: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ctrl-C in a terminal, or the end of a service, ends all processes together."""
    program = tmp_path / "program.py"
    # A shell starts what runs in its background with SIGINT ignored.
    default = f"signal.signal(signal.{signal}, signal.SIG_DFL)"
    program.write_text(f"import os, signal\n{default}\nos.kill(os.getpid(), signal.{signal})\nsignal.pause()\n")
    monkeypatch.setattr(pages, "_PROGRAM", program)
    with pytest.raises(ReaderStopped, match="ended with -"):
        await read(PAGE)
