"""Publishers' names at the end of headlines ("… - Reuters", "… | CNBC"): removed when known, so that copies are found.

A tail that nobody knows stays: it may be what the headline says. Nothing here lowers case or removes punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SEPARATORS = frozenset(
    ["-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "|", "\u00b7", "\u2022", "::"]
)
_LONGEST_NAME = 60
_DOMAIN = re.compile(
    r"(?:www\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)*?)\.(?:(?:com?|org|net)\.[a-z]{2}|com|org|net|info|news|[a-z]{2})"
)
_NOT_NAME = re.compile(r"[\W_]+")

PUBLISHERS = """
ABC News|Abnormal Returns|Al Jazeera|Al Jazeera English|AllAfrica|Android Authority|Android Central|Android Police|
AP|AP News|Apple Insider|AppleInsider|Ars Technica|Associated Press|The Associated Press|Axios|Barron's|
BBC|BBC News|BBC Sport|Benzinga|Bleeping Computer|BleepingComputer|Bloomberg|Bloomberg Law|Bloomberg News|
Boing Boing|Business Insider|Business Standard|Business Wire|BusinessWire|BuzzFeed|BuzzFeed News|CBC|CBC News|
CBS News|Channel NewsAsia|Chicago Tribune|Christian Science Monitor|CNA|CNBC|CNBC TV18|CNET|CNN|CNN Business|
CNN International|CoinDesk|Cointelegraph|Computer Weekly|ComputerWeekly|Computerworld|CSO Online|Daily Mail|
Daily Mirror|Dark Reading|Decrypt|Der Spiegel|Deutsche Welle|DevOps|Digital Trends|DW|Economic Times|
The Economic Times|El País|Electrek|Engadget|Entrepreneur|ESPN|Euronews|Evening Standard|Fast Company|
Financial Express|Financial Post|Financial Times|Finextra|FOX Business|Fox News|Forbes|Fortune|France 24|FT|
GeekWire|Gizmodo|GlobeNewswire|Globe and Mail|The Globe and Mail|Globes|Guardian|The Guardian|Hacker News|
Haaretz|HackerNoon|Harvard Business Review|Heise|Heise Online|Hindustan Times|How-To Geek|HuffPost|IGN|
Inc|Inc Magazine|India Today|The Independent|Independent|Indian Express|The Indian Express|InfoQ|InfoWorld|
InvestorPlace|Investopedia|Investor's Business Daily|Irish Examiner|Irish Times|The Irish Times|
ITPro|Japan Times|The Japan Times|Kiplinger|Korea Herald|Krebs on Security|Le Monde|Lifehacker|LiveMint|Livemint|Mint|
Los Angeles Times|LA Times|MacRumors|Marketplace|MarketBeat|MarketWatch|Mashable|Medical Xpress|Medium|Mirror|
MIT News|MIT Technology Review|Moneycontrol|Morningstar|Motley Fool|The Motley Fool|MSN|MSNBC|
Nasdaq|National Geographic|National Post|National Review|Nature|NBC News|NDTV|Network World|New Scientist|
New York Post|New York Times|The New York Times|NYT|Newsweek|New Yorker|The New Yorker|Nikkei Asia|NPR|
Ny Times|PC Gamer|PC World|PCMag|PCWorld|Phoronix|Phys|Politico|POLITICO|Polygon|PR Newswire|PRNewswire|
ProPublica|Quartz|Reuters|Rolling Stone|Salon|ScienceAlert|ScienceDaily|Scientific American|SecurityWeek|
Seeking Alpha|SiliconANGLE|Simply Wall St|Sky News|Sky Sports|Slashdot|Slate|South China Morning Post|SCMP|
Stack Overflow Blog|StockStory|Straits Times|The Straits Times|Stratechery|Sydney Morning Herald|
The Sydney Morning Herald|TechCrunch|TechRadar|TechRepublic|TechSpot|Tech Xplore|The Age|The Atlantic|
The Australian|The Block|The Conversation|The Daily Beast|The Economist|The Hacker News|The Hill|
The Hindu|The Information|The Intercept|The Next Web|TNW|The New Stack|The Register|The Street|TheStreet|
The Telegraph|The Times|The Times of India|Times of India|The Times of Israel|The Verge|The Wall Street Journal|
The Washington Post|TipRanks|Tom's Guide|Tom's Hardware|Toronto Star|UPI|US News|USA Today|U.S. News & World Report|
Variety|VentureBeat|Vice|Vox|Wall Street Journal|WSJ|Washington Post|Washington Times|Wccftech|Wired|WIRED|XDA|
XDA Developers|Yahoo|Yahoo Entertainment|Yahoo Finance|Yahoo News|Zacks|Zacks Investment Research|ZDNet|ZDNET|
9to5Google|9to5Mac
"""


def strip_publisher(headline: str, names: Iterable[str | None] = ()) -> str:
    """`headline` without a publisher's name at its end, if that is one of `names` or a well-known one.

    Names are compared without case, punctuation, a leading "the" and a domain's ending: "Reuters", "reuters.com" and
    "The Reuters" are one. What is left always holds a word, or nothing is removed. Twice at most: "… - Reuters | CNBC".
    """
    if _SEPARATORS.isdisjoint(headline.split(" ")):
        return headline
    own: set[str] | None = None
    for _ in range(2):
        head, tail = _last_tail(headline)
        if not tail or len(tail) > _LONGEST_NAME:
            break
        key = _key(tail)
        if key not in _PUBLISHERS:
            own = {_key(name) for name in names if name} if own is None else own
            if not key or key not in own:
                break
        if not any(character.isalnum() for character in head):
            break
        headline = head
    return headline


def _last_tail(headline: str) -> tuple[str, str]:
    words = headline.split(" ")
    for at in range(len(words) - 2, 0, -1):
        if words[at] in _SEPARATORS:
            return " ".join(words[:at]).rstrip(), " ".join(words[at + 1 :]).strip()
    return headline, ""


def _key(name: str) -> str:
    name = name.casefold().strip()
    domain = _DOMAIN.fullmatch(name)
    if domain is not None:
        name = domain[1]
    return _NOT_NAME.sub("", name.removeprefix("the "))


_PUBLISHERS = frozenset(_key(name) for name in PUBLISHERS.replace("\n", "").split("|"))
