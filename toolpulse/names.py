"""Names for ids, and ids for names. A tool, feed, article, story or run may be given by what a person knows of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from toolpulse.call import nearest_text
from toolpulse.client import Client, part
from toolpulse.failures import NOT_FOUND, WRONG_USAGE, Failure, Problem

_FEED_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ARTICLE_ID = re.compile(r"[a-z0-9._-]+:\S+", re.IGNORECASE)
_RUN_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f-]{36}")
_SHORTEST_PREFIX = 4
_LATEST = 500
_MAX_NAMED = 5


class Names:
    """Asks the app once for each kind of names."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @cached_property
    def tools(self) -> dict[str, dict[str, Any]]:
        return {each["tool_id"]: each for page in self._client.pages("tools", None) for each in page["items"]}

    @cached_property
    def feeds(self) -> dict[str, dict[str, Any]]:
        return {each["feed_id"]: each for page in self._client.pages("feeds", None) for each in page["items"]}

    # -- shown instead of ids

    def of_tool(self, tool_id: str | None) -> str:
        return str(self.tools[tool_id]["name"]) if tool_id in self.tools else tool_id or ""

    def of_feed(self, feed_id: str | None) -> str:
        return str(self.feeds[feed_id]["source_name"]) if feed_id in self.feeds else feed_id or ""

    def of_subject(self, subject: str | None) -> str:
        """That of a run, which is a feed, a tool or something else."""
        return self.of_tool(subject) if subject in self.tools else self.of_feed(subject)

    # -- accepted instead of ids

    def tool(self, given: str) -> str:
        """What stands for the tool in a path: its id. Raises Failure with the nearest name if there is none."""
        return part(self.tool_id(given))

    def tool_id(self, given: str) -> str:
        if not given.strip():
            raise Failure("tool: must be an id, name or alias", WRONG_USAGE)
        if "/" not in given:
            try:
                return str(self._client.get(f"tools/{part(given)}")["tool_id"])
            except Problem as problem:
                if problem.status != 404:
                    raise
        wanted = " ".join(given.split()).casefold()
        for each in self.tools.values():
            if wanted in (name.casefold() for name in _tool_names(each)):
                return str(each["tool_id"])
        known = [name for each in self.tools.values() for name in _tool_names(each)]
        raise Failure(f"there is no tool {given!r}{nearest_text(given, known) or _see('tools', known)}", NOT_FOUND)

    def feed(self, given: str) -> str:
        """The id of the feed with this id, name, title or URL."""
        if _FEED_ID.fullmatch(given):
            try:
                return str(self._client.get(f"feeds/{part(given)}")["feed_id"])
            except Problem as problem:
                if problem.status != 404:
                    raise
        wanted = given.casefold()
        found = [id_ for id_, each in self.feeds.items() if wanted in _feed_names(each)]
        if len(found) > 1:
            raise Failure(f"{given!r} is the name of several feeds: {', '.join(found)}; give an id", WRONG_USAGE)
        if not found:
            known = [name for each in self.feeds.values() for name in (each["feed_id"], each["source_name"])]
            raise Failure(f"there is no feed {given!r}{nearest_text(given, known) or _see('feeds', known)}", NOT_FOUND)
        return found[0]

    def subject(self, given: str) -> str:
        """The id of the feed or tool with this name; anything else as it is, such as the id of an article."""
        wanted = given.casefold()
        for id_, each in self.tools.items():
            if wanted in (name.casefold() for name in _tool_names(each)):
                return id_
        return next((id_ for id_, each in self.feeds.items() if wanted in _feed_names(each)), given)

    def article(self, given: str) -> str:
        """The id of the article, or of the only one whose headline or text has these words."""
        if _ARTICLE_ID.fullmatch(given):
            return given
        found = self._client.get("articles", text=given, limit=_MAX_NAMED)["items"]
        return _only(given, "article", [(each["source_id"], each["headline"]) for each in found])

    def story(self, given: str) -> str:
        """The id of the story, or of the only one with an article whose headline has these words."""
        if _ARTICLE_ID.fullmatch(given):
            return given
        found = self._client.get("stories", text=given, limit=_MAX_NAMED)["items"]
        return _only(given, "story", [(each["event_id"], each["headline"]) for each in found])

    def run(self, given: str) -> str:
        """The id of the run, of the latest one for `last`, or of the only recent one that begins so."""
        if _RUN_ID.fullmatch(given) and len(given) in (32, 36):
            return given
        latest = [each["run_id"] for each in self._client.get("runs", quiet=True, limit=_LATEST)["items"]]
        if given == "last" and latest:
            return str(latest[0])
        found = [each for each in latest if each.startswith(given)] if len(given) >= _SHORTEST_PREFIX else []
        if len(found) != 1:
            why = "several runs begin so" if found else "no recent run begins so"
            raise Failure(f"run {given!r}: {why}: see `toolpulse runs list --quiet`", NOT_FOUND)
        return str(found[0])


def _tool_names(tool: dict[str, Any]) -> list[str]:
    return [tool["tool_id"], tool["name"], *tool["aliases"]]


def _feed_names(feed: dict[str, Any]) -> set[str]:
    return {str(feed[name]).casefold() for name in ("feed_id", "source_name", "title", "url") if feed.get(name)}


def _see(what: str, known: Sequence[str]) -> str:
    return (
        f": see `toolpulse {what} list`" if known else f": there are no {what} yet, see `toolpulse {what} add --help`"
    )


def _only(given: str, what: str, found: Sequence[tuple[str, str]]) -> str:
    """The first of each pair is the id, the second the headline."""
    if not found:
        raise Failure(f"there is no {what} with the id or the words {given!r}", NOT_FOUND)
    if len(found) > 1:
        several = "".join(f"\n  {id_}  {headline}" for id_, headline in found)
        raise Failure(f"{given!r} may be several of these; give an id:{several}", WRONG_USAGE)
    return found[0][0]
