"""How well and how fast the text of a page is found: ours against other extractors, on pages with a known text.

    python benchmarks/extract.py

Words found and words wanted are compared with their numbers: F1 is the harmonic mean of precision and recall.
trafilatura and readability-lxml are measured where they are installed (they are no dependencies). Ours is measured
without the start of its process, and with it.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.extract_pages import Page, pages
from services.documents.extract_page import read_page
from services.documents.extraction import PageReader
from services.documents.judging import normalized
from services.documents.profiles import GENERAL

Extract = Callable[[Page], str]


def main() -> None:
    every = list(pages())
    print(f"{len(every)} pages of {len({page.site for page in every})} kinds of sites")
    print(f"{'':34}{'F1':>8}{'precision':>11}{'recall':>8}{'lowest F1':>11}{'median ms':>11}")
    for name, extract in extractors().items():
        report(name, extract, every)
    started = time.perf_counter()
    asyncio.run(PageReader().read(every[0].html.encode(), "utf-8", GENERAL))
    print(f"ours with the start of its process: {(time.perf_counter() - started) * 1e3:.0f} ms for a page")


def extractors() -> dict[str, Extract]:
    found: dict[str, Extract] = {"ours": ours, "resiliparse as it comes": bare}
    if find_spec("trafilatura"):
        trafilatura = import_module("trafilatura")
        found["trafilatura"] = lambda page: trafilatura.extract(page.html, include_comments=False) or ""
    if find_spec("readability"):
        readability, html = import_module("readability"), import_module("lxml.html")
        found["readability-lxml"] = lambda page: html.fromstring(
            readability.Document(page.html).summary(html_partial=True)
        ).text_content()
    return found


def ours(page: Page) -> str:
    return normalized(read_page(page.html.encode())["text"], page.headline)[0]


def bare(page: Page) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(page.html, main_content=True, alt_texts=False)


def report(name: str, extract: Extract, every: list[Page]) -> None:
    extract(every[0])  # imports and tables
    scores, times = [], []
    for page in every:
        started = time.process_time()
        text = extract(page)
        times.append(time.process_time() - started)
        scores.append(score(text, page.text))
    f1, precision, recall = (statistics.mean(each) for each in zip(*scores, strict=True))
    lowest, median = min(each[0] for each in scores), statistics.median(times) * 1e3
    print(f"{name:34}{f1:8.3f}{precision:11.3f}{recall:8.3f}{lowest:11.3f}{median:11.2f}")


def score(found: str, wanted: str) -> tuple[float, float, float]:
    ours, theirs = words(found), words(wanted)
    hits = (ours & theirs).total()
    precision, recall = hits / max(1, ours.total()), hits / theirs.total()
    return 2 * precision * recall / max(1e-9, precision + recall), precision, recall


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


if __name__ == "__main__":
    main()
