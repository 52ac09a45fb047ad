"""Lists feeds by filter, in one of several orders. The filters and orders are served by indexes (containers.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from models.errors import InvalidInput
from models.feed import Feed, host_of_address, words_of_name
from models.verdict import VERDICTS
from services.feeds.form import checked_tag, is_feed_id
from services.ports import Document, Listed, Page, Query, Store, Where, listed, listed_documents
from services.store.containers import FEEDS

ONLY_FEEDS = Where("entity_type", "eq", "Feed")

FILTERS = ("verdict", "tag", "host", "enabled", "text")
"""The filters of a list. A feed is listed if it meets all that are given."""

Sort = Literal["id", "name", "next_fetch", "last_success", "verdict"]
SORTS: tuple[Sort, ...] = get_args(Sort)

MOST_WORDS_ASKED = 10
MOST_IDS = 500
_LONGEST_TEXT = 200
_ORDERS: Mapping[Sort, tuple[str, str]] = {
    "name": ("by_name", "name_key"),
    "next_fetch": ("by_next_fetch", "next_fetch_time"),
    "last_success": ("by_last_success", "last_successful_fetch"),
    "verdict": ("by_verdict", "verdict"),
}
_WITHOUT = "without:"
"""Begins the cursors into the feeds that lack the value by which the list is sorted. They come last."""


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """Which feeds. `ids`: none but these; None means any."""

    where: tuple[Where, ...] = (ONLY_FEEDS,)
    ids: tuple[str, ...] | None = None

    @property
    def is_all(self) -> bool:
        return len(self.where) == 1 and self.ids is None


@dataclass(frozen=True, slots=True)
class Sorting:
    by: Sort = "id"
    reverse: bool = False


EVERY_FEED = FeedFilter()
BY_ID = Sorting()


def feed_filter(given: Mapping[str, Any]) -> FeedFilter:
    """The filters by their names, `enabled` as true or false. `ids` is a list of ids.

    Raises InvalidInput that names the filter and what is allowed.
    """
    found = [ONLY_FEEDS]
    for name, value in given.items():
        if name == "verdict":
            if value not in VERDICTS:
                raise InvalidInput(name, f"one of {', '.join(VERDICTS)}")
            found.append(Where("verdict", "eq", value))
        elif name == "enabled":
            if not isinstance(value, bool):
                raise InvalidInput(name, "true or false")
            found.append(Where("enabled", "eq", value))
        elif name == "tag":
            found.append(Where("tags", "contains", checked_tag(value)))
        elif name == "host":
            found.append(Where("host", "eq", _host(value)))
        elif name == "text":
            found += [Where("words", "contains", word) for word in _words(value)]
        elif name != "ids":
            raise InvalidInput(str(name), f"no such filter; there are {', '.join((*FILTERS, 'ids'))}")
    return FeedFilter(tuple(found), _ids(given["ids"]) if "ids" in given else None)


def accepts(by: FeedFilter, document: Document) -> bool:
    """Whether a stored feed meets the filter, as the store decides it."""
    return all(
        each.value in document.get(each.field, ()) if each.op == "contains" else document.get(each.field) == each.value
        for each in by.where
    ) and (by.ids is None or document["feed_id"] in by.ids)


async def feeds_page(
    store: Store, by: FeedFilter, sorting: Sorting, limit: int, after: str | None = None
) -> Listed[Feed]:
    """One page of feeds. `by` has no ids. Feeds without the value that the list is sorted by come last, by id."""
    query = Query(by.where, reverse=sorting.reverse, limit=limit, may_be_stale=True)
    if sorting.by == "id":
        return _listed(await store.query(FEEDS.name, replace(query, order=_order_by_id(by), after=after)))
    order, field = _ORDERS[sorting.by]
    without = replace(query, where=(*by.where, Where(field, "missing")), reverse=False)
    if after is not None and after.startswith(_WITHOUT):
        return await _without(store, replace(without, after=after.removeprefix(_WITHOUT) or None))
    page = _listed(await store.query(FEEDS.name, replace(query, order=order, after=after)))
    if page.next is not None:
        return page
    rest = await _without(store, replace(without, limit=max(1, limit - len(page.items) - len(page.unreadable))))
    if len(page.items) + len(page.unreadable) >= limit:
        return replace(page, next=_WITHOUT if rest.items or rest.unreadable else None)
    return Listed([*page.items, *rest.items], rest.next, (*page.unreadable, *rest.unreadable))


def _order_by_id(by: FeedFilter) -> str | None:
    """An order whose first field the filter fixes is an order by id, and its index finds just these feeds."""
    fixed = {each.field for each in by.where if each.op == "eq"}
    return next((order for order, field in (("by_host", "host"), ("by_verdict", "verdict")) if field in fixed), None)


async def _without(store: Store, query: Query) -> Listed[Feed]:
    page = _listed(await store.query(FEEDS.name, query))
    return replace(page, next=_WITHOUT + page.next if page.next is not None else None)


def _listed(page: Page) -> Listed[Feed]:
    return listed(page, Feed.from_document, "feed_id")


async def feeds_of(store: Store, by: FeedFilter, limit: int, after: str | None = None) -> Listed[Feed]:
    """The feeds that meet the filter, by id: exactly as they are stored now. With `ids`, all of them at once."""
    if by.ids is not None:
        found = await store.read_many(FEEDS.name, [(each, Feed.ID) for each in by.ids])
        wanted = [each for each in found if each is not None and accepts(by, each)]
        return listed_documents(wanted, Feed.from_document, "feed_id")
    return _listed(await store.query(FEEDS.name, Query(by.where, order=_order_by_id(by), limit=limit, after=after)))


def _host(value: Any) -> str:
    text = value.strip().lower() if isinstance(value, str) else ""
    host = host_of_address(f"https://{text}")
    if not host or len(text) > _LONGEST_TEXT or any(each in text for each in "/?#@ "):
        raise InvalidInput(
            "host", "the name of a host, such as example.com; with its port, if that is not the usual one"
        )
    return host


def _words(value: Any) -> list[str]:
    words = words_of_name(value) if isinstance(value, str) and len(value) <= _LONGEST_TEXT else []
    if not 1 <= len(words) <= MOST_WORDS_ASKED:
        raise InvalidInput("text", f"1 to {MOST_WORDS_ASKED} words of the name, at most {_LONGEST_TEXT} characters")
    return words


def _ids(value: Any) -> tuple[str, ...]:
    ids: Iterable[Any] = value if isinstance(value, list | tuple) else ()
    found = tuple(dict.fromkeys(each for each in ids if is_feed_id(each)))
    if not found or len(found) > MOST_IDS or not all(is_feed_id(each) for each in ids):
        raise InvalidInput("ids", f"a list of 1 to {MOST_IDS} ids of feeds")
    return found
