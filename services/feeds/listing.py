"""Lists feeds by filter, in one of several orders. The filters and orders are served by indexes (containers.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from models.feed import Feed, FeedVerdict, host_of_address, words_of_name
from models.request import FeedId, Request, each_once
from models.values import Flag
from services.feeds.form import Tag
from services.ports import Document, Listed, Page, Query, Store, Where, listed, listed_documents
from services.store.containers import FEEDS

ONLY_FEEDS = Where("entity_type", "eq", "Feed")

Sort = Literal["id", "name", "next_fetch", "last_success", "verdict"]
SORTS: tuple[Sort, ...] = get_args(Sort)

MAX_WORDS_ASKED = 10
MAX_IDS = 500
_LONGEST_TEXT = 200
_ORDERS: Mapping[Sort, tuple[str, str]] = {
    "name": ("by_name", "name_key"),
    "next_fetch": ("by_next_fetch", "next_fetch_time"),
    "last_success": ("by_last_success", "last_successful_fetch"),
    "verdict": ("by_verdict", "verdict"),
}
_WITHOUT = "without:"
"""Begins the cursors into the feeds that lack the value by which the list is sorted. They come last."""


def _host(text: str) -> str:
    host = host_of_address(f"https://{text.strip().lower()}")
    if not host or len(text) > _LONGEST_TEXT or any(each in text.strip() for each in "/?#@ "):
        raise ValueError("the name of a host, such as example.com; with its port, if that is not the usual one")
    return host


def _words(text: str) -> str:
    if len(text) > _LONGEST_TEXT or not 1 <= len(words_of_name(text)) <= MAX_WORDS_ASKED:
        raise ValueError(f"1 to {MAX_WORDS_ASKED} words of the name, at most {_LONGEST_TEXT} characters")
    return text


class FeedQuery(Request):
    """Which feeds: all of these conditions hold."""

    verdict: FeedVerdict = Field(default="ok", description="Feeds in this condition.", examples=["ok"])
    tag: Tag = Field(default="", description="Feeds with this tag.", examples=["Python"])
    host: Annotated[str, AfterValidator(_host), Field(json_schema_extra={"format": "host"})] = Field(
        default="",
        description="Feeds that are fetched from this host; with its port, if that is not the usual one.",
        examples=["example.com"],
    )
    enabled: Flag = Field(default=True, description="Feeds that are fetched, or feeds that are not.")
    text: Annotated[str, AfterValidator(_words), Field(json_schema_extra={"format": "words"})] = Field(
        default="",
        description=f"Feeds whose `source_name` or `title` has all these words, in any case, 1 to {MAX_WORDS_ASKED}.",
        examples=["Python"],
    )
    ids: Annotated[tuple[FeedId, ...], Field(min_length=1, max_length=MAX_IDS), AfterValidator(each_once)] = Field(
        default=(), description="These feeds."
    )


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """Which feeds. `ids`: none but these; None means any."""

    where: tuple[Where, ...] = (ONLY_FEEDS,)
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sorting:
    """An order of feeds."""

    by: Sort = "id"
    reverse: bool = False


EVERY_FEED = FeedFilter()
BY_ID = Sorting()


def feed_filter(fields: Mapping[str, Any]) -> FeedFilter:
    """The filter with the fields of FeedQuery. Raises InvalidInput that names the field and what is allowed."""
    given = FeedQuery.checked(fields).given()
    found = [ONLY_FEEDS]
    found += [Where(name, "eq", given[name]) for name in ("verdict", "enabled", "host") if name in given]
    if "tag" in given:
        found.append(Where("tags", "contains", given["tag"]))
    found += [Where("words", "contains", word) for word in words_of_name(given.get("text", ""))]
    return FeedFilter(tuple(found), given.get("ids"))


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
