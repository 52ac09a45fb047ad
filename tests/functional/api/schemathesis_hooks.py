"""What schemathesis must know to make requests of the contract: the formats that are not of JSON Schema, and the rules
that join parameters, which OpenAPI cannot express."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import schemathesis
from hypothesis import strategies as st

from scripts.demo.cast import PRODUCTS
from triggers.http_feeds import OPML_EXAMPLE

NAMES = [product.name for product in PRODUCTS]
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
}.items():
    schemathesis.openapi.format(name, strategy)
for media_type in ("text/x-opml", "text/xml", "application/xml"):
    schemathesis.openapi.media_type(media_type, st.just(OPML_EXAMPLE.encode()))


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """A request that is to be right obeys the rules that join its parameters."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return case
    if isinstance(case.body, dict) and case.body.get("preset") is not None:
        case.body["values"] = {"package": "httpx"}  # the values that this preset has
    query = case.query
    if not query:
        return case
    if query.get("cursor") == "none" or case.meta.phase.name.name != "STATEFUL":
        query.pop("cursor", None)  # only a page makes one: links lead to pages with a cursor
    if "hours" in query:
        query.pop("period", None)  # both may be given if they agree
    if "shift_hours" in query or case.operation.path.endswith("/movement"):
        query["from"], query["to"] = (_ago(days=2), _ago(days=1))
    elif "from" in query:
        query.pop("days", None)
        if query.get("to", "~") <= query["from"]:
            del query["to"]
    else:
        query.pop("to", None)
    if "since" in query and "until" in query:
        query["since"], query["until"] = (_ago(days=20), _ago(days=1))
    return case


def _ago(days: int) -> str:
    return (TODAY - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
