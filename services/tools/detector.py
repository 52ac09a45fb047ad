"""Which tools an article names, at which positions, and by which names. One pass finds all names of all tools.

Each name has an anchor, its rarest word. The detector intersects the words of a text with the anchors, and searches
the text for the names of the anchors found. Of names that overlap, the longest counts. A worker keeps the detector of
all active tools while the catalog stays the same (`Watchlist`).
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from models.mention import Match, MatchKind, MatchPart
from models.tool import Tool, normalize_name
from services.ports import Clock
from services.tools.ambiguity import MatchRule, match_rule, meaning, ticker_meaning
from services.tools.catalog import Catalog
from services.tools.matching import NormalizedText, Phrase, Span, has_unspaced, normalize, tokens, without_urls

MAX_MATCHES = 20
MAX_POSITIONS = 10
"""Of one name in the headline or in the text."""
MAX_OCCURRENCES = 1000
"""How many occurrences of one name in one text are checked: a text that repeats a name endlessly would take minutes."""
LONGEST_SHOWN = 120
SEPARATOR = " \x00 "
"""The text between headline and text, which no name contains."""
NO_ANCHOR = ""

EXCHANGES = (
    "amex|asx|bats|bit|bme|bse|bvmf|cboe|cse|cve|epa|etr|euronext|fra|hkex|hkg|jse|kosdaq|krx|lon|lse|nasdaq|neo|nse|"
    "nyse|nyse american|nyse arca|nyseamerican|nysearca|omx|otc|otcmkts|otcqb|otcqx|sehk|sgx|six|sse|sto|swx|szse|tpe|"
    "tse|tsx|tsxv|twse|tyo|xetra"
)
_CASHTAG = re.compile(r"(?<![\w$])\$([A-Za-z][A-Za-z0-9]{0,9}(?:[.\-][A-Za-z]{1,2})?)(?![\w$])")
# Some exchanges are words ("six: all of them"), so in a text they must be written in capitals.
_EXCHANGE_FORM = re.compile(
    rf"(?<![\w])(?:{EXCHANGES.upper()}|Nasdaq|Euronext|Xetra)\s?:\s?([A-Z0-9][A-Z0-9.\-]{{0,14}})(?!\w)"
)
BARE_TICKER = re.compile(r"[A-Z]{2,5}")
_EXCHANGE_TAG = re.compile(rf"(?:{EXCHANGES})\s?:\s?([A-Z0-9][A-Z0-9.\-]{{0,14}})", re.I)


class Reason(NamedTuple):
    """One detected name. A Match has the same fields, but validating a Match takes as long as finding the name."""

    name: str
    kind: MatchKind
    where: MatchPart


@dataclass(frozen=True, slots=True)
class Detected:
    """One tool in one article. The spans are those of its names, in the headline and in the text as they were given.

    `positions` are the first spans of each name. `tickers` are the tickers of the tool in headline or text. `cues` are
    why a name counts, by the name as written, for names that are also something else.
    """

    reasons: tuple[Reason, ...]
    headline_spans: tuple[Span, ...] = ()
    text_spans: tuple[Span, ...] = ()
    tickers: tuple[str, ...] = ()
    cues: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    positions: Mapping[Reason, Sequence[Span]] = field(default_factory=dict)

    @property
    def matches(self) -> tuple[Match, ...]:
        return tuple(
            Match(name=each.name, kind=each.kind, where=each.where, positions=tuple(self.positions.get(each, ())))
            for each in self.reasons
        )


@dataclass(frozen=True, slots=True)
class _Name:
    """One name of one tool, prepared for the search."""

    tool_id: str
    kind: MatchKind
    exact: str
    phrase: Phrase
    rule: MatchRule


class _Hit(NamedTuple):
    """A name in the normalized text, or a ticker in the original."""

    tool_id: str
    kind: MatchKind
    start: int
    end: int
    cues: tuple[str, ...] = ()


class Detector:
    """Finds the tools it was made with. A changed catalog needs a new detector."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools = {tool.tool_id: tool for tool in tools}
        names = [name for tool in self.tools.values() for name in (*_names(tool), *_bare_tickers(tool))]
        self._anchored = _anchored(names)
        self._anchors = frozenset(self._anchored)
        self._unspaced = any(map(has_unspaced, self._anchors))
        self._tickers: defaultdict[str, list[str]] = defaultdict(list)
        self._tagged: defaultdict[str, list[_Name]] = defaultdict(list)
        self._excluded_phrases: defaultdict[str, list[Phrase]] = defaultdict(list)
        self._excluded_articles: defaultdict[str, list[Phrase]] = defaultdict(list)
        for tool in self.tools.values():
            if tool.excluded:
                self._exclude(tool)
            for ticker in tool.tickers:
                self._tickers[ticker.upper()].append(tool.tool_id)
        for name in names:
            if name.kind not in ("KEYWORD", "TICKER"):
                self._tagged[normalize_name(name.exact)].append(name)

    def find(
        self, headline: str, text: str = "", tags: Sequence[str] = (), tickers: Sequence[str] = ()
    ) -> dict[str, Detected]:
        """The tools that the article names, by id. `tickers` are those that the sources gave."""
        whole = f"{headline}{SEPARATOR}{text}" if text else headline
        article = normalize(whole)
        hits = _longest(self._named(article, is_finance=bool(tickers)), len(article.text))
        if self._tickers:
            hits = _with_tickers(hits, self._tickers_in(article.original), article)
        tagged = self._in_tags(tags, tickers)
        if not hits and not tagged:
            return {}
        found: defaultdict[str, list[_Hit]] = defaultdict(list)
        for hit in sorted(hits, key=lambda each: (each.start, -each.end)):
            found[hit.tool_id].append(hit)
        return {
            tool_id: _detected(found.get(tool_id, ()), tagged.get(tool_id, ()), article, len(headline))
            for tool_id in dict.fromkeys((*found, *tagged))
            if not self._is_excluded(tool_id, article.text)
        }

    def _named(self, article: NormalizedText, *, is_finance: bool) -> list[_Hit]:
        candidates = list(self._anchored.get(NO_ANCHOR, ()))
        for anchor in self._anchors.intersection(tokens(article.text, unspaced=self._unspaced)):
            candidates += self._anchored[anchor]
        hits: list[_Hit] = []
        for name in candidates:
            excluded = self._excluded_spans(name.tool_id, article.text)
            for start, end in islice(name.phrase.occurrences(article.text), MAX_OCCURRENCES):
                if any(first < end and start < last for first, last in excluded):
                    continue
                if name.kind == "TICKER":
                    counts = ticker_meaning(name.exact, article, start, end, is_finance=is_finance)
                else:
                    counts = meaning(name.exact, name.rule, article, start, end)
                if counts.is_meant:
                    hits.append(_Hit(name.tool_id, name.kind, start, end, counts.cues))
        return hits

    def _exclude(self, tool: Tool) -> None:
        """A phrase that contains a name of the tool excludes that occurrence of the name, any other phrase excludes the
        whole article."""
        names = [Phrase.of(normalize_name(name)) for name in (*tool.names, *tool.keywords)]
        for phrase in map(normalize_name, tool.excluded):
            contains_name = any(name.is_in(phrase) for name in names)
            excluded = self._excluded_phrases if contains_name else self._excluded_articles
            excluded[tool.tool_id].append(Phrase.of(phrase))

    def _excluded_spans(self, tool_id: str, text: str) -> list[tuple[int, int]]:
        phrases = self._excluded_phrases.get(tool_id, ())
        return [span for phrase in phrases for span in islice(phrase.occurrences(text), MAX_OCCURRENCES)]

    def _is_excluded(self, tool_id: str, text: str) -> bool:
        return any(phrase.is_in(text) for phrase in self._excluded_articles.get(tool_id, ()))

    def _tickers_in(self, original: str) -> list[_Hit]:
        """The tickers with a sign or an exchange before them."""
        text = without_urls(original)
        found = list(_CASHTAG.finditer(text)) if "$" in text else []
        if ":" in text:
            found += _EXCHANGE_FORM.finditer(text)
        return [
            _Hit(tool_id, "TICKER", one.start(), one.end())
            for one in found
            for tool_id in self._tickers.get(one[1].upper().rstrip(".-"), ())
        ]

    def _in_tags(self, tags: Sequence[str], tickers: Sequence[str]) -> dict[str, list[Reason]]:
        found: defaultdict[str, list[Reason]] = defaultdict(list)
        for ticker in tickers:
            for tool_id in self._tickers.get(ticker.upper(), ()):
                found[tool_id].append(_tagged_with(ticker))
        for tag in tags:
            for form in (_CASHTAG.fullmatch(tag), _EXCHANGE_TAG.fullmatch(tag)):
                for tool_id in self._tickers.get(form[1].upper(), ()) if form else ():
                    found[tool_id].append(_tagged_with(tag))
            for name in self._tagged.get(normalize_name(tag), ()):
                if not name.rule.is_strict_in_tags or tag.strip() == name.exact:
                    found[name.tool_id].append(_tagged_with(tag))
        return found


def _detected(
    hits: Sequence[_Hit], tagged: Sequence[Reason], article: NormalizedText, headline_length: int
) -> Detected:
    reasons: dict[Reason, list[Span]] = {}
    tickers: dict[str, None] = {}
    cues: dict[str, tuple[str, ...]] = {}
    spans: dict[MatchPart, list[Span]] = {"HEADLINE": [], "TEXT": []}
    for hit in hits:
        is_ticker = hit.kind == "TICKER"  # found in the original
        start, end = (hit.start, hit.end) if is_ticker else article.original_span(hit.start, hit.end)
        written = article.original[start:end]
        if is_ticker:
            tickers[_ticker_in(written)] = None
        part: MatchPart = "HEADLINE" if start < headline_length else "TEXT"
        offset = 0 if part == "HEADLINE" else headline_length + len(SEPARATOR)
        span = Span(start - offset, end - offset)
        spans[part].append(span)
        shown = " ".join(written.split())[:LONGEST_SHOWN]
        positions = reasons.setdefault(Reason(shown, hit.kind, part), [])
        if len(positions) < MAX_POSITIONS:
            positions.append(span)
        if hit.cues:
            cues.setdefault(shown, hit.cues)
    for each in tagged:
        reasons.setdefault(each, [])
    names = tuple(reasons)[:MAX_MATCHES]
    return Detected(names, tuple(spans["HEADLINE"]), tuple(spans["TEXT"]), tuple(tickers), cues, reasons)


def _ticker_in(written: str) -> str:
    return re.split(r"[:$]", written)[-1].strip().upper().rstrip(".-")


def _tagged_with(tag: str) -> Reason:
    return Reason(tag[:LONGEST_SHOWN], "SOURCE_TAG", "TAGS")


def _names(tool: Tool) -> list[_Name]:
    found: list[_Name] = []
    kinds: list[tuple[MatchKind, str]] = [("NAME", tool.primary_name)]
    kinds += [("ALIAS", alias) for alias in tool.aliases]
    kinds += [("KEYWORD", keyword) for keyword in tool.keywords]
    for kind, name in kinds:
        plain = normalize_name(name)
        others = tuple(each for each in (*tool.names, *tool.keywords) if normalize_name(each) != plain)
        rule = match_rule(name, tool.name_rules.get(name), others, is_keyword=kind == "KEYWORD")
        found.append(_Name(tool.tool_id, kind, " ".join(name.split()), Phrase.of(plain), rule))
    return found


def _bare_tickers(tool: Tool) -> list[_Name]:
    """The tickers that may stand without a sign or exchange before them: of two to five letters."""
    bare = [ticker.upper() for ticker in tool.tickers if BARE_TICKER.fullmatch(ticker.upper())]
    return [_Name(tool.tool_id, "TICKER", each, Phrase.of(normalize_name(each)), MatchRule()) for each in bare]


def _with_tickers(named: list[_Hit], marked: list[_Hit], article: NormalizedText) -> list[_Hit]:
    """All hits. A ticker without a sign or exchange counts if neither a name nor a marked ticker is there; its span
    becomes one of the original."""
    hits = [hit for hit in named if hit.kind != "TICKER"]
    taken = {(hit.tool_id, hit.start, hit.end) for hit in hits}
    for hit in named:
        if hit.kind == "TICKER" and (hit.tool_id, hit.start, hit.end) not in taken:
            start, end = article.original_span(hit.start, hit.end)
            if not any(each.start <= start and end <= each.end for each in marked):
                hits.append(hit._replace(start=start, end=end))
    return hits + marked


def _anchored(names: Iterable[_Name]) -> Mapping[str, list[_Name]]:
    """The names by their rarest word; names without a word, by NO_ANCHOR."""
    words = [(name, tokens(name.phrase.plain)) for name in names]
    uses = Counter(word for _, each in words for word in each)
    found: dict[str, list[_Name]] = {}
    for name, each in words:
        rarest = min(each, key=lambda word: (-min(len(word), 4), uses[word], -len(word), word), default=NO_ANCHOR)
        found.setdefault(rarest, []).append(name)
    return found


def _longest(hits: list[_Hit], length: int) -> list[_Hit]:
    """The hits without those that a longer hit overlaps, or an earlier hit of the same length. Several tools may have
    hits at one span."""
    if len(hits) < 2:
        return hits
    kept: list[_Hit] = []
    spans: set[tuple[int, int]] = set()
    occupied = bytearray(length)
    for hit in sorted(hits, key=lambda each: (each.start - each.end, each.start)):
        span = hit.start, hit.end
        if span in spans or occupied.find(1, *span) < 0:
            spans.add(span)
            occupied[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
            kept.append(hit)
    return kept


REBUILT_AFTER = timedelta(minutes=15)
"""The age at which a detector is built again even without an announcement: a worker may have died before it announced
its change. The search for the changed tool, which follows, announces it in any case."""


@dataclass(frozen=True, slots=True)
class _Built:
    """A detector that was built."""

    detector: Detector
    version: str | None
    since: datetime


class Watchlist:
    """The detector of all active tools, kept in memory while the catalog's version stays the same."""

    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        self._catalog = catalog
        self._clock = clock
        self._built: _Built | None = None
        self._building = asyncio.Lock()

    async def detector(self, *, anew: bool = False) -> Detector:
        """A detector with every change that was announced before this call; with `anew`, with every stored change."""
        version = await self._catalog.version()
        built = self._built
        if not anew and built is not None and self._is_current(built, version):
            return built.detector
        async with self._building:
            if anew or self._built is None or self._built is built or not self._is_current(self._built, version):
                since = self._clock()
                detector = await asyncio.to_thread(Detector, await self._catalog.active())
                self._built = _Built(detector, version, since)
            return self._built.detector

    async def tickers(self) -> tuple[str, ...]:
        """The tickers of all active tools, in order."""
        detector = await self.detector()
        return tuple(sorted({ticker for tool in detector.tools.values() for ticker in tool.tickers}))

    def _is_current(self, built: _Built, version: str | None) -> bool:
        return built.version == version and timedelta(0) <= self._clock() - built.since < REBUILT_AFTER
