"""The prose of an article: its headline and text, with all else replaced by spaces of the same length. Pure.

Names of publishers, bylines, invitations to read, share or subscribe, code and stack traces say nothing about a tool.
Since the length stays, a place in the prose is the same place in the headline or text. Observations keep all.

What the texts of feeds have besides prose is described by expressions, which are searched in plain text on one line.
Every repetition in them has a limit, so that a hostile text takes no long time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from models.article import Article
from services.articles.identity import normalize_headline
from services.parse.text import FENCE, is_publisher, strip_publisher

_START = r"""(?:^\s*|(?<=[.!?:\u2026\])"\u201d\u00bb|]\s))"""
"""The start of a sentence."""
_END = r"[\s.!\u2026\u00bb\u203a>\u2192\u27f6\])]*$"
"""The end of the text, after a mark or arrow."""
_REST = r"[^.!?\u2026]{0,160}"
"""The rest of a sentence."""

_SITES = (
    "Facebook|Twitter|X|LinkedIn|Reddit|WhatsApp|Pinterest|Telegram|Instagram|Tumblr|Pocket|Hacker News|Mastodon|"
    "Bluesky|Threads|Flipboard|TikTok|YouTube|Google News|Email|E-mail"
)
_PLATFORMS = f"{_SITES}|Slack|Discord|Spotify|Apple Podcasts|Apple News|Google Podcasts|Twitch|Patreon"
_SITE = "(?:" + _SITES.replace(" ", r"\ ") + ")"
_PLATFORM = "(?:" + _PLATFORMS.replace(" ", r"\ ") + ")"
_POLITELY = r"(?:Please\ |You\ can\ (?:also\ )?|Click\ here\ to\ |Don['\u2019]t\ forget\ to\ )?"
_AGENCY = (
    r"(?:AP|AFP|Reuters|REUTERS|Bloomberg|UPI|dpa|PTI|ANI|IANS|Xinhua|CNN|CNBC|BBC|(?:The\ )?Associated\ Press|"
    r"Business\ ?Wire|BUSINESS\ ?WIRE|PR\ ?Newswire|PRNewswire|GLOBE\ ?NEWSWIRE|GlobeNewswire|ACCESSWIRE|RTTNews)"
)
_DASH = r"\s*(?:--?|[\u2013\u2014\u2212])\s"
_NAME = r"[A-Z][\w.'\u2019-]{0,20}[a-z]"
_PERSON = rf"{_NAME}\ (?:(?:[A-Z]\.|de|van|von|der|el|al|bin)\ ){{0,2}}{_NAME}(?:\ {_NAME})?"
_PEOPLE = rf"{_PERSON}(?:(?:,|\ and|\ &)\ {_PERSON}){{0,3}}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_PLACE = r"[A-Z][A-Za-z.'\u2019/-]{1,30}(?:,?\ [A-Z][A-Za-z.'\u2019/-]{0,30}){0,4}"


class NotProse(NamedTuple):
    """An expression that finds what is not prose. `words`: a text without any of them has no match. Looking for a word
    takes a hundredth of the time."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _any_of(words: str, *patterns: str) -> NotProse:
    return NotProse(tuple(words.split("|")), re.compile("|".join(patterns), re.VERBOSE))


_AGGREGATORS = _any_of(
    "Article URL: |Comments URL: |# Comments: |Comments|submitted by",
    r"Article\ URL:\ \S+",
    r"Comments\ URL:\ \S+",
    r"(?<!\w)Points:\ \d+\ (?=\#)",
    r"\#\ Comments:\ \d+",
    r"^\s*Comments\s*$",
    r"(?:^|(?<=\s))Comments:\ \d+\s*$",
    r"submitted\ by\s+/?u/[\w-]+(?:\s+to\s+/?r/\w+)?(?:\s*\[link\])?(?:\s*\[(?:\d+\ )?comments?\])?",
)
_CUT_TEXTS = _any_of(
    " appeared | published | posted |Source: "
    "|[...]|[…]|(more|(More|(continued|(Continued|ead more|ead More|READ MORE|Read "
    "|eading|View |Click here|Full story|Full article",
    # WordPress names the whole title, which may have any mark in it.
    rf"{_START}The\ (?:post|article)\ .{{0,300}}?\ (?:first\ appeared|appeared\ first)\ (?:on|at|in)\ .{{1,120}}$",
    rf"{_START}(?:The|This)\ (?:post|article|story|piece|entry)\ [^.!?]{{0,120}}?(?:first\ appeared|appeared\ first|"
    rf"(?:was\ )?(?:first|originally)\ (?:published|posted|appeared)|was\ (?:published|posted))\ "
    rf"(?:on|at|in|by)\ .{{1,120}}$",
    rf"{_START}(?:First|Originally)\ (?:published|posted|appeared)\ (?:on|at|in|by)\ .{{1,120}}$",
    rf"{_START}Source:\ [^.!?]{{1,60}}{_END}",
    rf"\[(?:\.\.\.|\u2026)\]{_END}",
    rf"\((?:[Mm]ore|[Cc]ontinued|[Rr]ead\ more)(?:\.\.\.|\u2026)?\){_END}",
    rf"(?:{_START}|(?<=\u2026)|(?<=\.\.\.)|(?<=\s\s))(?:Continue\ [Rr]eading|Keep\ [Rr]eading|READ\ MORE|"
    rf"Read\ [Mm]ore(?=\s*$|\s+(?:of|at|on|about|here|from|in)\b|\s*[:.(\[\u00bb\u2192\u2026>])|"
    rf"Read\ (?:the\ )?(?:rest|full|entire|original|complete)\b|View\ (?:the\ )?(?:full|entire|original)\b|"
    rf"Click\ here\ (?:to|for)\b|Full\ (?:story|article)\b){_REST}{_END}",
    # An ending without a mark before it.
    rf"\b(?:Continue\ [Rr]eading|Read\ [Mm]ore|READ\ MORE)(?:\ \u2192|\ \u00bb|\u2026|\.\.\.)?{_END}",
)
_INVITATIONS = _any_of(
    "Share |Share:|Tweet |Pin |Save |Click to |View this|newsletter|mailing list|inbox|mail alert|RSS feed|podcast"
    "|oin our|oin the|the app|our app|free app|mobile app|" + "|".join(f" on {name}" for name in _PLATFORMS.split("|")),
    rf"\b(?:Share|Tweet|Pin|Save)\ (?:(?:this|it)\ )?(?:(?:article|post|story|page)\ )?(?:on|to|via|with)\ {_SITE}\b"
    rf"(?:(?:,|\ and|\ or)?\ (?:Share\ )?(?:(?:on|to|via)\ )?{_SITE}\b){{0,8}}(?:\ \(Opens\ in\ new\ window\))?",
    rf"\bShare(?:\ this)?:(?:,?\ {_SITE}\b){{1,8}}",
    rf"\b(?:Click\ to\ (?:share\ on\ {_SITE}|tweet)|Tweet\ this|View\ this\ post\ on\ {_SITE})\b"
    r"(?:\ \(Opens\ in\ new\ window\))?",
    rf"{_START}{_POLITELY}(?:"
    rf"(?:[Ll]isten|[Ss]ubscribe|[Jj]oin\ (?:us|the\ \w+|our\ \w+))\ (?:now\ )?on\ {_PLATFORM}\b|"
    rf"(?:[Ff]ollow|[Ff]ind|[Ll]ike|[Cc]onnect\ with)\ (?:us|me|him|her|them|@\w+|{_NAME}(?:\ {_NAME})?)\ "
    rf"on\ {_SITE}\b|"
    r"(?:[Ss]ign\ up|[Ss]ubscribe|[Jj]oin)\b[^.!?\u2026]{0,80}"
    r"\b(?:newsletters?|mailing\ list|inbox|e-?mail\ alerts?|RSS\ feed|podcast)\b|"
    r"(?:[Dd]ownload|[Gg]et)\ (?:the|our)\ (?:free\ |mobile\ )?app\b|"
    rf"[Jj]oin\ (?:our|the)\ {_PLATFORM}\ (?:server|community|channel|workspace|group)\b){_REST}(?:[.!]|$)",
)
_BYLINES = _any_of(
    "By |BY |) -|) \u2013|) \u2014|) \u2212|)--|/ -|/ \u2013|/ \u2014",
    rf"^\s*(?:By|BY)\ {_PEOPLE}(?:,\ (?:{_AGENCY}|[Ss]taff\ [Ww]riter|Contributor|Editor|Correspondent))?"
    rf"(?:\s+[|\u2022\u00b7/\u2013\u2014-]\s|\s(?=(?:Published|Updated|Posted)\b))",
    rf"^\s*(?:By|BY)\ {_PEOPLE}(?:,\ |\ \(|\ of\ |\ \|\ ){_AGENCY}\)?(?:{_DASH}|[.,:]\ |\s)",
    rf"^\s*(?:{_PLACE},?\ )?(?:{_MONTH}\ \d{{1,2}},?\ (?:\d{{4}},?\ )?)?(?:{_DASH})?[(/]\s?{_AGENCY}\s?[)/]{_DASH}",
)
_CREDITS = _any_of(
    "Reporting by|Written by|Posted by|Reported by|Edited by|Photo by|Photo:|Photo c"
    "|Photo C|Image by|Image:|Image c|Image C|Images:|Illustration by|Picture:|Copyright 2|Copyright (|\u00a9 2",
    rf"\(?Reporting\ by\ {_PERSON}[^.!?]{{0,200}}{_END}",
    rf"(?:^\s*|(?<=[.!?]\s))(?:Written|Posted|Reported|Edited)\ by\ {_PEOPLE}"
    rf"(?:,\ (?:{_AGENCY}|[Ss]taff\ [Ww]riter|Contributor|Editor))?(?:\s+[|\u2022\u00b7\u2013\u2014-]\s|[.]\s|{_END})",
    r"\b(?:Image|Photo|Picture|Illustration)s?(?:\ by|\ [Cc]redits?:?|\ courtesy\ of|:)\ [^.!?]{1,60}?"
    r"(?:/|\bvia\b|\bon\b|,)\ ?(?:Getty(?:\ Images)?|Unsplash|Shutterstock|iStock|Pexels|Pixabay|AFP|AP|Reuters|"
    r"Bloomberg|TechCrunch|The\ Verge)\b",
    rf"(?:\u00a9|Copyright)(?:\ \([Cc]\))?\ (?:19|20)\d\d\b[^.!?]{{0,80}}(?:\.?\ All\ rights\ reserved)?{_END}",
)
_FRAME = r"\bat\ (?:async\ |new\ )?[\w$.<>\[\]/@`+]{1,200}\ ?"
_TRACES = _any_of(
    "Traceback (most|.java:|.kt:|.scala:|.js:|.mjs:|.ts:|.tsx:|.jsx:|:line |(Native Method)|(Unknown Source)"
    "|(<anonymous>)|(node:|goroutine |.go:",
    # Python: from the first line to the exception behind the last frame.
    r"Traceback\ \(most\ recent\ call\ last\):.{0,3000}File\ \"[^\"]{1,300}\",\ line\ \d+.{0,300}?"
    r"\b[\w.]{0,80}(?:Error|Exception|Interrupt|Exit|Warning)\b(?::\ [^.]{0,200})?",
    # Java, JavaScript and C#: the exception before its first frame, then the frames.
    rf"\b(?:Exception\ in\ thread\ \"[^\"]{{1,100}}\"\ )?"
    rf"\b[A-Za-z][\w.]{{0,80}}(?:Exception|Error)\b(?::\ .{{0,300}}?)?"
    rf"(?=\ {_FRAME}\([^()]{{0,200}}\))",
    rf"{_FRAME}\([^()]{{0,200}}(?::\d+|Native\ Method|Unknown\ Source|<anonymous>)\)",
    rf"{_FRAME}\([^()]{{0,200}}\)\ in\ \S{{1,200}}:line\ \d+",
    r"\bat\ (?:file|https?|node|webpack)\S{1,200}:\d+:\d+",
    # Go.
    r"\b(?:panic:\ .{0,300}?)?goroutine\ \d+\ \[[\w\ ,.]{1,60}\]:",
    r"(?:[\w./*()]{1,200}\([^()]{0,100}\)\ )?/\S{1,200}\.go:\d+(?:\ \+0x[0-9a-f]+)?",
)

NOT_PROSE = (_AGGREGATORS, _CUT_TEXTS, _CUT_TEXTS, _INVITATIONS, _CREDITS, _BYLINES, _TRACES)
"""In the order in which they are blanked. Texts end twice: `... [...] The post X appeared first on Y.`"""


MAX_PUBLISHERS = 2
"""How many names are removed from one end of a headline: `… - Reuters | CNBC`."""
CODE_SYMBOLS = 0.04
"""The least share of symbols in code. Some feeds put their whole text into <pre>: that is prose."""
FEWEST_WORDS_OF_PROSE = 8

_SEPARATOR = re.compile(r"\s+(?:[-\u2010-\u2015|\u00b7\u2022\u00bb]|::)\s+")
_PREFIX = re.compile(r"(?P<name>[^:|\u2013\u2014]{2,60}?)(?P<separator>:\s+|\s+(?:[-\u2010-\u2015|\u00bb]|::)\s+)")
_SYMBOL = re.compile(r"[{}()\[\];=<>_$|\\#*/&~^]|--|::")


class Prose(NamedTuple):
    """The prose of a headline and a text."""

    headline: str
    text: str


def prose_of(article: Article, full_text: str | None = None) -> Prose:
    """The prose of the canonical reading, with `full_text` instead of the feed's text if there is one. The article is
    identified by its first headline without publishers' names, so that headline tells a name that only its feed's title
    has."""
    reading = article.canonical
    publishers = {reading.publisher, *(each.source_name for each in article.source_attribution.values())}
    identifying = article.normalized_headline if reading.headline == article.headline else ""
    text = (article.text_for_analysis or "") if full_text is None else full_text
    return prose_of_reading(reading.headline, text, publishers, reading.url, identifying)


def prose_of_reading(
    headline: str, text: str, publishers: Iterable[str | None], url: str, normalized_headline: str
) -> Prose:
    """The prose of one source's headline and text; for the other arguments see `headline_prose`."""
    return Prose(headline_prose(headline, publishers, url, normalized_headline), text_prose(text))


def headline_prose(
    headline: str, publishers: Iterable[str | None] = (), url: str = "", normalized_headline: str = ""
) -> str:
    """The headline without publishers' names at its ends. `publishers` are those of the article, `url` is its address.

    `normalized_headline` is the one that identifies the article, without the name and title of the feed: what it lacks
    at the end is such a name.
    """
    # Here, an arrow separates too; it has the same length.
    start, end = 0, len(strip_publisher(headline.replace("\u00bb", "|"), (*publishers, *_site_names(url))))
    for tail in list(_SEPARATOR.finditer(headline))[-MAX_PUBLISHERS:] if normalized_headline else ():
        if normalize_headline(headline[: tail.start()]) == normalized_headline:
            end = min(end, tail.start())
    for _ in range(MAX_PUBLISHERS):
        head = _PREFIX.match(headline, start, end)
        if head is None or not _is_prefix(head["name"], head["separator"]):
            break
        start = head.end()
    if not any(character.isalnum() for character in headline[start:end]):
        return headline
    return " " * start + headline[start:end] + " " * (len(headline) - end)


def text_prose(text: str) -> str:
    """The text without all that is not its prose."""
    text = _without_fences(text)
    for each in NOT_PROSE:
        if any(map(text.__contains__, each.words)):
            text = each.pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _is_prefix(name: str, separator: str) -> bool:
    """Whether a headline begins with a publisher. `GitLab: ...` in GitLab's own feed names the product, and
    `Axios: ...` may be about a library: so only well-known names count, and before a colon only those of several words
    or in capitals."""
    return is_publisher(name) and (" " in name or name.isupper() or not separator.startswith(":"))


def _site_names(url: str) -> list[str]:
    """The name of the site in an address: `techcrunch` of `https://www.techcrunch.com/2026/…`."""
    try:
        labels = (urlsplit(url).hostname or "").split(".")
    except ValueError:
        return []
    names = [each for each in labels[:-1] if each not in ("co", "com", "org", "net")][-1:]
    return [form for each in names for form in (each, each.removeprefix("the"))]


def _without_fences(text: str) -> str:
    """Blanks code between fences, which stand for <pre>. A fence without its end is one that was cut off."""
    if FENCE not in text:
        return text
    parts = text.split(FENCE)
    parts[1::2] = [" " * len(each) if _is_code(each) else each for each in parts[1::2]]
    return (" " * len(FENCE)).join(parts)


def _is_code(block: str) -> bool:
    few = len(block.split()) < FEWEST_WORDS_OF_PROSE
    return few or len(_SYMBOL.findall(block)) >= CODE_SYMBOLS * len(block)
