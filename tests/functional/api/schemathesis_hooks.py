"""What schemathesis must know to make requests of the contract: the formats that are not of JSON Schema, and the rules
that join parameters, which OpenAPI cannot express."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.sax.saxutils import quoteattr

import schemathesis
from hypothesis import strategies as st

from scripts.demo.cast import PRODUCTS

NAMES = [product.name for product in PRODUCTS]
FEED = "https://example.com/listed.xml"
WORDS = st.text("abcdefgh ÄéшЖ日本", min_size=1, max_size=30).map(str.strip).filter(bool)
TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

for name, strategy in {
    "visible-text": WORDS,
    "single-line": WORDS,
    "words": st.sampled_from(["release", "outage report", "日本"]),
    "tag": st.sampled_from(["News", "News/World", "Ä b"]),
    "language": st.sampled_from(["en", "de", "und"]),
    "host": st.sampled_from(["example.com", "127.0.0.1:7199"]),
    "web-url": st.sampled_from(["https://example.com/feed.xml", "http://127.0.0.1:9/x"]),
    "analyzer": st.sampled_from(["embedded"]),
    "preset": st.sampled_from(["pypi-releases"]),
    "names": st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(",".join),
    "step": st.integers(1, 5).map(lambda days: (TODAY - timedelta(days=days)).strftime("%Y-%m-%d")),
    "cursor": st.just("none"),
    "opml": WORDS.map(lambda name: f"<opml><body><outline text={quoteattr(name)} xmlUrl='{FEED}'/></body></opml>"),
    "yaml-of-feeds": WORDS.map(lambda name: json.dumps({"feeds": [{"url": FEED, "source_name": name}]})),
    "yaml-of-tools": WORDS.map(lambda name: json.dumps({"tools": [{"name": name}]})),
}.items():
    schemathesis.openapi.format(name, strategy)


@schemathesis.serializer(
    "text/x-opml", "text/xml", "application/xml", "application/yaml", "application/x-yaml", "text/yaml"
)
def as_it_is(context: Any, value: Any) -> bytes:
    """A body that is a file is text already; schemathesis would write it as a value of XML or YAML."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """A request that is to be right obeys the rules that join its parameters, or depend on the settings of the app."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if isinstance(case.body, dict):
        case.body.pop("credential", None)  # the app has none of these settings
        case.body.pop("cursor", None)
        if case.body.get("name") in (case.body.get("aliases") or ()):
            del case.body["aliases"]  # names of a tool differ
        case.body.pop("name_rules", None)  # they are for names of the tool
        if case.operation.path.endswith("/review"):
            case.body["decision"] = "drop"  # the others depend on the item
        if case.body.get("preset") is not None:
            case.body |= {"preset": "pypi-releases", "values": {"package": "httpx"}}
    if case.query:
        _join(case.query, case.operation.path, is_linked=case.meta.phase.name.name == "STATEFUL")


def _join(query: dict[str, Any], path: str, *, is_linked: bool) -> None:
    if query.get("cursor") == "none" or not is_linked:
        query.pop("cursor", None)  # only a page makes one, and links lead to the page of it
    if "hours" in query:
        query.pop("period", None)  # both may be given if they agree
    if path.endswith("/movement"):
        query["from"], query["to"] = _ago(days=2), _ago(days=1)
    elif "from" in query:
        query.pop("days", None)
        if query.get("to", "~") <= query["from"]:
            del query["to"]
    else:
        query.pop("to", None)
    if "since" in query and "until" in query:
        query["since"], query["until"] = _ago(days=20), _ago(days=1)


def _ago(days: int) -> str:
    return (TODAY - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
