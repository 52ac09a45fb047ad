"""Who the demo's news are about and who publishes them. Every product, maker, ticker and outlet is invented."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    """`weight` is its usual share of the news, `mood` the share of these that is good; both may change over the
    month, to the second number."""

    name: str
    maker: str
    topic: str
    ticker: str | None = None
    weight: tuple[float, float] = (1.0, 1.0)
    mood: tuple[float, float] = (0.55, 0.55)


INCUMBENT = Product("Quorvia", "Quorvia Labs", "databases", "QRVA", (3.2, 1.2), (0.6, 0.35))
RIVAL = Product("Tarnwick DB", "Tarnwick", "databases", "TRNW", (0.3, 3.6), (0.55, 0.85))
LAUNCHED = Product("Lumenfold", "Ashmere Systems", "observability", "ASHM", (0.7, 1.0), (0.5, 0.6))
STRUCK = Product("Nimbry", "Nimbry Cloud", "cloud", "NMBY", (1.4, 1.4), (0.65, 0.7))
FINDER = Product("Velquist", "Velquist Security", "security", "VLQS", (0.8, 0.8), (0.6, 0.6))
LATEST = Product("Moorlight", "Moorlight AI", "ai", "MRLT", (1.8, 2.0), (0.6, 0.6))
PRODUCTS = (
    INCUMBENT,
    RIVAL,
    LAUNCHED,
    Product("Corvane", "Corvane Foundation", "languages", None, (1.0, 1.0), (0.7, 0.7)),
    Product("Pebblegrid", "Hexwharf", "cloud", "HXWF", (1.2, 1.3), (0.5, 0.6)),
    Product("Hexwharf Registry", "Hexwharf", "containers", "HXWF", (0.6, 0.6), (0.3, 0.3)),
    STRUCK,
    Product("Drossel CI", "Drossel Works", "ci", None, (0.9, 0.8), (0.4, 0.4)),
    Product("Ostrelle", "Ostrelle Project", "frontend", None, (0.8, 0.8), (0.75, 0.7)),
    FINDER,
    Product("Brambleform", "Ashmere Systems", "infrastructure", "ASHM", (0.5, 0.5), (0.25, 0.3)),
    Product("Kestrune", "Kestrune Project", "languages", None, (0.7, 0.7), (0.7, 0.65)),
    LATEST,
    Product("Sablewire", "Sablewire Networks", "networking", "SBLW", (0.5, 0.4), (0.5, 0.5)),
    Product("Fenwickjs", "Fenwick Collective", "frontend", None, (0.6, 0.5), (0.35, 0.3)),
    Product("Tolliver Queue", "Tolliver", "messaging", None, (0.15, 0.1), (0.6, 0.6)),
)


@dataclass(frozen=True, slots=True)
class Outlet:
    """`ending` follows its headlines. `repeats` is its share of the stories that others publish first."""

    id: str
    name: str
    ending: str
    form: str
    topics: tuple[str, ...] = ()
    repeats: float = 0.0
    priority: float = 1.0
    source_priority: int = 999
    behaviour: str = "well"
    """well, no_validators, slow, failing, gone, moved, not_a_feed, page"""

    def covers(self, product: Product) -> bool:
        return not self.topics or product.topic in self.topics


_CLOUD = ("cloud", "networking", "infrastructure")
OUTLETS = (
    Outlet("demo-dev-wire", "The Dev Wire", " - The Dev Wire", "rss", repeats=0.35, priority=2.0, source_priority=1),
    Outlet("demo-tickerline", "Tickerline", " | Tickerline", "rss", repeats=0.2, priority=1.5, source_priority=2),
    Outlet("demo-build-ledger", "The Build Ledger", "", "atom", repeats=0.2, source_priority=3),
    Outlet(
        "demo-rootcause", "Rootcause Report", " \u2013 Rootcause Report", "json", ("cloud", "observability", "ci"), 0.3
    ),
    Outlet("demo-cloudmast", "Cloudmast", " | Cloudmast", "atom", _CLOUD, 0.35),
    Outlet("demo-schema-daily", "Schema Daily", "", "rdf", ("databases", "messaging"), 0.35),
    Outlet("demo-patchnotes", "Patchnotes Club", "", "rss", ("languages", "frontend"), 0.3, behaviour="no_validators"),
    Outlet("demo-hardened", "Hardened Weekly", " - Hardened Weekly", "json", ("security", "containers"), 0.4),
    Outlet("demo-frontier", "Frontier Models", "", "atom", ("ai",), 0.4, behaviour="page"),
    Outlet("demo-slow-press", "The Slow Press", " - The Slow Press", "rss", repeats=0.08, behaviour="slow"),
    Outlet("demo-flaky-times", "Flaky Times", "", "rss", repeats=0.12, behaviour="failing"),
    Outlet("demo-last-post", "The Last Post", "", "rss", repeats=0.08, behaviour="gone"),
    Outlet("demo-new-address", "New Address Review", "", "rss", repeats=0.12, behaviour="moved"),
    Outlet("demo-brochure", "Brochureware", "", "rss", behaviour="not_a_feed"),
)
PUBLISHING = tuple(each for each in OUTLETS if each.behaviour != "not_a_feed")


def outlet_of(outlet_id: str) -> Outlet | None:
    return next((each for each in OUTLETS if each.id == outlet_id), None)
